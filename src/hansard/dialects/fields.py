"""Reading members that may be absent, null, or of an odd type: they all read as nothing.

What is left when everything known has been read is `Extra`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from .. import rawjson

if TYPE_CHECKING:
    from ..rawjson import JSON

__all__ = [
    "TEXT",
    "Around",
    "Extra",
    "Known",
    "count",
    "object_at",
    "objects_at",
    "present",
    "text_at",
]


def present(fields: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out the members that are null."""
    return {key: raw for key, raw in fields.items() if raw != b"null"}


def text_at(fields: dict[str, bytes], key: str) -> str:
    """The string under a key."""
    raw = fields.get(key, b"")
    return rawjson.unquote(raw) if raw.startswith(b'"') else ""


def object_at(fields: dict[str, bytes], key: str) -> dict[str, bytes]:
    """The object under a key, as its members."""
    raw = fields.get(key, b"")
    return rawjson.fields(raw) if raw.startswith(b"{") else {}


def objects_at(fields: dict[str, bytes], key: str) -> list[dict[str, bytes]]:
    """The objects in the array under a key, each as its members."""
    raw = fields.get(key, b"")
    if not raw.startswith(b"["):
        return []
    return [rawjson.fields(item) for item in rawjson.elements(raw) if item.startswith(b"{")]


class Around(msgspec.Struct, frozen=True):
    """What stands around a message: some members of an object, and which of them to leave out.

    ``entry`` is what stands around it in the object that holds it, in an array ``under`` its key.
    """

    fields: Mapping[str, bytes]
    but: Collection[str]
    under: str = ""
    entry: Around | None = None

    def spell(self) -> bytes | None:
        """Spell it, without what is null; None where nothing is left."""
        left_out = {*self.but, self.under}
        said = {
            key: raw for key, raw in self.fields.items() if raw != b"null" and key not in left_out
        }
        if self.entry is not None and (entry := self.entry.spell()) is not None:
            said[self.under] = b"[" + entry + b"]"
        return rawjson.join_object(said) if said else None


def count(figures: JSON, key: str) -> int:
    """The whole number under a key of a parsed object."""
    found = figures.get(key) if isinstance(figures, dict) else None
    return int(found) if isinstance(found, _NUMBERS) and abs(found) < _COUNT_END else 0


_NUMBERS = (int, float)
_COUNT_END = 1 << 63
"""Where a figure stops being a count: infinity, which is how huge numbers read, has no integer."""


TEXT = b'"n'
"""A member that is read where it is a string; null says nothing. Others list more first bytes."""

Known: TypeAlias = "bytes | Mapping[str, Known] | Callable[[dict[str, bytes]], Known | None]"
"""What is read of a value: of a scalar the first bytes it may have; of an object, or of each
object in an array, its members; or a function that chooses by the members, None for all of it."""


class Extra(Mapping[str, "JSON"]):
    """The parts of a message that are not known, parsed, by path. Looked for when asked for."""

    def __init__(self, raw: bytes, known: Known) -> None:
        self._raw = raw
        self._known = known

    @cached_property
    def _found(self) -> dict[str, JSON]:
        return {path: rawjson.value(raw) for path, raw in _unknown(self._raw, self._known, "")}

    def __getitem__(self, path: str) -> JSON:
        return self._found[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"Extra({self._found!r})"


def _unknown(raw: bytes, known: Known, path: str) -> Iterable[tuple[str, bytes]]:
    if isinstance(known, bytes):
        if raw[:1] not in known:
            yield path, raw
    elif raw.startswith(b"["):
        for index, element in enumerate(rawjson.elements(raw)):
            yield from _unknown(element, known, f"{path}[{index}]")
    elif raw.startswith(b"{"):
        yield from _unknown_members(rawjson.fields(raw), known, path)
    elif raw != b"null" and not (callable(known) and known({}) is None):
        yield path, raw


def _unknown_members(
    fields: dict[str, bytes], known: Known, path: str
) -> Iterable[tuple[str, bytes]]:
    chosen = known(fields) if callable(known) else known
    if not isinstance(chosen, Mapping):
        return
    for key, raw in fields.items():
        where = f"{path}.{key}" if path else key
        if key in chosen:
            yield from _unknown(raw, chosen[key], where)
        else:
            yield where, raw
