"""Snapshots: where a conversation stands, and, spelled as JSON, all that it is.

A snapshot of a session is a position, and costs next to nothing. Its JSON stands by itself: the
entries, which are the truth, and what is in the slices, for people and other programs to read.

    {"version": 1, "conversation", "incarnation", "seq", "dialect", "digest",
     "slices": [{"slice_type", "item_type", "items"}], "entries": [...]}

The digest is that of the entries as they are spelled. So whoever parses the JSON and writes it
anew, with other numbers or another order, is noticed. Names in it are names: nothing is imported.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from .. import rawjson
from ..dialects import registry
from ..errors import DecodeError, InvalidTransition, SnapshotRestoreError, UnknownDialect
from ..neutral import ConversationState, conversation_state
from ..record.entries import decode_entries, encode_entries, spell
from ..record.loading import replay
from ..record.pages import Revision
from ..record.slices import SliceItems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..record.entries import Entry
    from ..record.record import Record

__all__ = ["Snapshot"]

_VERSION = 1
_DEPTH_MAX = rawjson.DEPTH_MAX + 6


@rawjson.prepared
class _Shape(msgspec.Struct, frozen=True):
    """What must be there. What else is there is kept with the text."""

    version: int
    conversation: str
    incarnation: str
    seq: int
    dialect: str
    digest: str
    slices: tuple[SliceItems, ...]
    entries: msgspec.Raw


class Snapshot:
    """A conversation as it was at one moment: ``revision`` says which.

    It can be given to `Session.restore`, there or elsewhere. What it is made of is read when it is
    first asked for; `to_json` needs it.
    """

    def __init__(
        self,
        conversation: str,
        revision: Revision,
        dialect: str,
        slices: Sequence[SliceItems],
        *,
        read: Callable[[], Sequence[Entry]],
        text: str | None = None,
    ) -> None:
        self.conversation = conversation
        self.revision = revision
        self.dialect = dialect
        self.slices = tuple(slices)
        self._read = read
        self._text = text

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entries up to there."""
        return tuple(self._read())

    @property
    def is_whole(self) -> bool:
        """Whether the entries are at hand already."""
        return self._text is not None or "entries" in self.__dict__

    def record(self) -> Record:
        """Give the record that the entries lead to.

        Raises `SnapshotRestoreError` where they lead nowhere, or its dialect is not known here.
        """
        try:
            dialect = registry.dialect(self.dialect)
            return replay(self.revision.incarnation, dialect, self.entries)
        except UnknownDialect as error:
            raise _refused("a dialect that is known here", str(error), "unknown_dialect") from error
        except (InvalidTransition, DecodeError) as error:
            raise _refused("entries that can follow each other", str(error), "entries") from error

    def state(self) -> ConversationState | None:
        """The conversation in neutral records; None where nothing was said."""
        state = conversation_state(self.record())
        return state if state.turns or state.input_messages else None

    def to_json(self) -> str:
        """Spell it, so that it stands by itself; `from_json` reads that anywhere.

        Keep it as text. What the provider said is in it as it was said, every number as spelled.
        """
        if self._text is not None:
            return self._text
        entries = encode_entries([*self.entries])
        members = {
            "version": _VERSION,
            "conversation": self.conversation,
            "incarnation": self.revision.incarnation,
            "seq": self.revision.seq,
            "dialect": self.dialect,
            "digest": _digest(entries),
        }
        spelled = {name: spell(value) for name, value in members.items()}
        spelled |= {"slices": spell(self.slices), "entries": entries}
        return rawjson.join_object(spelled).decode()

    @classmethod
    def from_json(cls, data: str | bytes) -> Snapshot:
        """Read what `to_json` spelled, and check it.

        Raises `SnapshotRestoreError` for everything else.
        """
        shape, text = _read(data)
        entries = _entries(shape)
        revision = Revision(shape.incarnation, shape.seq)
        made = cls(
            shape.conversation,
            revision,
            shape.dialect,
            shape.slices,
            read=lambda: entries,
            text=text,
        )
        if shape.dialect in registry.dialects():
            made.record()
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Snapshot):
            return NotImplemented
        return self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)

    @property
    def _place(self) -> tuple[object, ...]:
        return self.conversation, self.revision, self.dialect

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        return f"<Snapshot of {self.conversation!r} at entry {self.revision.seq}>"


def _read(data: str | bytes) -> tuple[_Shape, str]:
    if not isinstance(data, str | bytes):
        raise _refused("JSON as text", type(data).__name__, "not_json")
    try:
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
        compact = rawjson.compact(raw, depth_max=_DEPTH_MAX)
        members = rawjson.fields(compact) if compact.startswith(b"{") else None
    except DecodeError as error:
        raise _refused("JSON", str(error), error.reason) from None
    if members is None:
        raise _refused("a JSON object", compact[:20].decode(errors="replace"), "not_object")
    version = members.get("version", b"none")
    if version != spell(_VERSION):
        raise _refused(f"version {_VERSION}", version[:20].decode(errors="replace"), "version")
    return _shape(members), raw.decode()


def _shape(members: dict[str, bytes]) -> _Shape:
    """Take the members apart. `msgspec.Raw` would let lone surrogates in names stand in the way."""
    try:
        given: dict[str, object] = {
            name: msgspec.Raw(raw) if name == "entries" else _value(name, raw)
            for name, raw in members.items()
        }
        shape = msgspec.convert(given, _Shape)
    except (msgspec.ValidationError, UnicodeEncodeError, DecodeError) as error:
        raise _refused("the members of a snapshot", str(error), "shape") from None
    if shape.seq < 0 or not shape.conversation or (shape.seq > 0 and not shape.incarnation):
        raise _refused("a conversation, its incarnation and its length", "less", "shape")
    return shape


def _value(name: str, raw: bytes) -> object:
    """Parse a member, but for the items of slices, which nobody here need know."""
    if name != "slices" or not raw.startswith(b"["):
        return rawjson.value(raw)
    rows = []
    for row in rawjson.elements(raw):
        parts = rawjson.fields(row) if row.startswith(b"{") else {}
        items = parts.pop("items", b"null")
        values: dict[str, object] = {key: rawjson.value(part) for key, part in parts.items()}
        if items.startswith(b"["):
            values["items"] = [msgspec.Raw(item) for item in rawjson.elements(items)]
        rows.append(values)
    return rows


def _entries(shape: _Shape) -> tuple[Entry, ...]:
    raw = bytes(shape.entries)
    if _digest(raw) != shape.digest:
        raise _refused(
            "the entries as they were spelled", "others: keep the JSON as text", "digest"
        )
    try:
        entries = decode_entries(raw)
    except DecodeError as error:
        raise _refused("entries", str(error), "entries") from None
    in_order = all([entry.seq == at for at, entry in enumerate(entries)])
    if len(entries) != shape.seq or not in_order:
        raise _refused(f"entries 0 to {shape.seq - 1}", f"{len(entries)} of them", "entries")
    return tuple(entries)


def _digest(raw: bytes) -> str:
    return blake2b(raw, digest_size=16).hexdigest()


def _refused(expected: str, found: str, reason: str) -> SnapshotRestoreError:
    return SnapshotRestoreError(
        f"expected in a snapshot {expected}, found {found}; nothing was changed: clear the "
        "checkpoint that it is from, and begin again",
        reason=reason,
    )
