"""Every way to make one small change somewhere inside a JSON value.

`variants` walks a compact value and yields it once for each change at each place. The changes
are those that a provider makes without asking: a field nobody knew, a part of a new kind, a
value of another type.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "MARK",
    "bounded",
    "odd_value",
    "spaced",
    "unknown_element",
    "unknown_member",
    "variants",
]

MARK = "zz_unknown"
"""A name that no dialect knows."""

_MEMBER = b'"' + MARK.encode() + b'":1.50e5'
_ELEMENT = b'{"type":"' + MARK.encode() + b'",' + _MEMBER + b"}"
_ODD = (b"null", b"true", b"-7", b"1e400", b'""', b'"zz"', b'"\\ud800"', b"[]", b"[null]", b"{}")


def variants(raw: bytes, change: Callable[[bytes], Iterable[bytes]]) -> Iterator[bytes]:
    """Give ``raw`` with every change made to one of the values in it, its own included."""
    yield from change(raw)
    if raw.startswith(b"{"):
        members = rawjson.members(raw)
        for place, (key, part) in enumerate(members):
            for changed in variants(part, change):
                yield rawjson.join_object([*members[:place], (key, changed), *members[place + 1 :]])
    elif raw.startswith(b"["):
        parts = rawjson.elements(raw)
        for place, part in enumerate(parts):
            for changed in variants(part, change):
                yield rawjson.join_array([*parts[:place], changed, *parts[place + 1 :]])


def unknown_member(raw: bytes) -> Iterable[bytes]:
    """An object with a member that nobody knows, at its end and at its beginning."""
    if raw == b"{}":
        yield b"{" + _MEMBER + b"}"
    elif raw.startswith(b"{"):
        yield raw[:-1] + b"," + _MEMBER + b"}"
        yield b"{" + _MEMBER + b"," + raw[1:]


def unknown_element(raw: bytes) -> Iterable[bytes]:
    """An array with an element of a kind that nobody knows, at its end."""
    if raw.startswith(b"["):
        changed = rawjson.join_array([*rawjson.elements(raw), _ELEMENT])
        try:
            yield rawjson.compact(changed)
        except DecodeError:  # It was as deep as it may be.
            return


def odd_value(raw: bytes) -> Iterable[bytes]:
    """Values of all types in the place of another."""
    return [odd for odd in _ODD if odd != raw]


def bounded(found: Iterable[bytes], limit: int) -> list[bytes]:
    """All of it, or where that is too much a selection that is always the same."""
    listed = list(found)
    chance = random.Random(limit)  # noqa: S311 -- always the same, and no secret
    return listed if len(listed) <= limit else chance.sample(listed, limit)


def spaced(raw: bytes) -> bytes:
    """The same value with white space between all its tokens."""
    if raw.startswith(b"{"):
        inside = b" ,\n".join(
            [rawjson.quote(key) + b" :\t" + spaced(part) for key, part in rawjson.members(raw)]
        )
        return b" {\r\n" + inside + b" } "
    if raw.startswith(b"["):
        return b" [ " + b" , ".join([spaced(part) for part in rawjson.elements(raw)]) + b"\n] "
    return raw
