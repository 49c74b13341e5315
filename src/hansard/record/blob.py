"""Version 2 of the opaque blob: a record's context as one JSON text, every byte of it kept.

    {"version":2,"dialect":…,"id":…,"size":…,"crc":…,"messages":[…],"heads":[…],…,"sum":…}

``messages`` are the closed context's messages exactly as they stand in a request, so that the
stretch between the brackets (``size`` bytes) goes into the next request as it is. ``heads`` has a
small header for each of them, ``turns`` one for each closed turn, ``open`` the entries of an open
turn, whole. ``crc`` and ``sum`` are checksums of the messages and of all the rest: they say that
these are the bytes that were written, so that loading need not look at any message. A message is
parsed, and then fully checked, when somebody looks at it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated
from zlib import crc32

import msgspec

from .. import rawjson
from ..dialects.dialect import splice_body
from ..errors import DecodeError
from .context import Context
from .entries import Time, decode_entries, encode_entries, spell
from .heads import Headed, LineHead, decoded, heads_of
from .record import Record
from .turns import TurnHead, ended

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..dialects.dialect import Dialect
    from .context import Line

__all__ = ["LoadedRoot", "read", "write"]

_START = re.compile(
    rb'\{"version":2,"dialect":("(?:[^"\\\x00-\x1f]|\\.)*+"),"id":("(?:[^"\\\x00-\x1f]|\\.)*+"),'
    rb'"size":(0|[1-9][0-9]{0,14}),"crc":"([0-9a-f]{8})","messages":\['
)
_END = re.compile(rb',"sum":"([0-9a-f]{8})"\}')
_END_SIZE = 18

_Count = Annotated[int, msgspec.Meta(ge=0)]


_NOTHING = msgspec.Raw(b"[]")


class _Rest(msgspec.Struct, frozen=True, omit_defaults=True):
    """``hollow`` is the last closed turn where it left no message: one may still be appended."""

    count: _Count
    next: _Count
    heads: msgspec.Raw
    turns: msgspec.Raw = _NOTHING
    hollow: TurnHead | None = None
    open: msgspec.Raw = _NOTHING
    turn: _Count = 0
    processed: _Count = 0
    tidy: bool = True
    plain: bool = True
    tokens: int | None = None
    compacted_us: Time | None = None


_RAW_MEMBERS = ("heads", "turns", "open")
_DEPTH_MAX = rawjson.DEPTH_MAX + 4
"""The rest is an object, with an array of entries in it, and these can hold arrays of messages."""

_decode_rest = msgspec.json.Decoder(_Rest).decode


class LoadedRoot(Headed):
    """The messages of a blob of version 2."""

    def __init__(self, dialect: Dialect, messages: memoryview, rest: _Rest, crc: int) -> None:
        super().__init__(dialect, messages, rest.count, tidy=rest.tidy, plain=rest.plain)
        self.rest = rest
        self.crc = crc
        self.seen = min(rest.processed, rest.count)
        self.tokens = rest.tokens
        self.compacted_us = rest.compacted_us

    def heads(self) -> list[LineHead]:
        return decoded(self.rest.heads, list[LineHead])

    def turns(self) -> list[TurnHead]:
        """The closed turns that were known when the blob was written."""
        return [*decoded(self.rest.turns, list[TurnHead]), *self.hollow()]

    def hollow(self) -> list[TurnHead]:
        """The last of them, where it left no message."""
        return [] if self.rest.hollow is None else [self.rest.hollow]


# -- writing ----------------------------------------------------------------------------------


def write(record: Record) -> bytes:
    """Spell a record as a blob of version 2."""
    dialect, context = record.dialect, record.closed
    loaded = context.root if isinstance(context.root, LoadedRoot) else None
    added = context.added() if loaded else context.lines()
    new = b",".join([dialect.splice(line.raw) for line in added])
    pieces = [piece for piece in (loaded.messages if loaded else b"", new) if piece]
    start = b'{"version":2,"dialect":%b,"id":%b,"size":%d,"crc":"%08x","messages":[' % (
        rawjson.quote(dialect.name),
        rawjson.quote(record.conversation),
        sum(map(len, pieces)) + (len(pieces) > 1),
        _crc(loaded, new),
    )
    end = b"],%b" % _rest(record, added, loaded)[1:-1]
    return splice_body(start, pieces, b'%b,"sum":"%08x"}' % (end, crc32(end, crc32(start))))


def _rest(record: Record, added: list[Line], loaded: LoadedRoot | None) -> bytes:
    context = record.closed
    opened = list(record.entries(record.turn.begin.seq)) if record.turn else []
    turn = opened[0].turn - 1 if opened else record.turn_number
    shown = {line.entry.turn for line in added}
    closed = _closed_turns(record, loaded)
    turns = [head for head in closed if head.number in shown]
    hollow = [head for head in closed if head.number == turn and turn not in shown]
    rest = _Rest(
        count=context.count,
        next=opened[0].seq if opened else record.length,
        heads=_grown(loaded.rest.heads if loaded else None, heads_of(added, record.dialect)),
        turns=_grown(loaded.rest.turns if loaded else None, turns),
        hollow=hollow[0] if hollow else None,
        open=msgspec.Raw(encode_entries(opened)) if opened else _NOTHING,
        turn=turn,
        processed=context.seen,
        tidy=context.tidy and not context.repaired,
        plain=_plain(loaded, added),
        tokens=context.tokens,
        compacted_us=context.compacted_us,
    )
    return spell(rest)


def _plain(loaded: LoadedRoot | None, added: list[Line]) -> bool:
    """Whether all messages are sent as they stand here."""
    before = loaded is None or loaded.rest.plain
    return before and all([line.sent is line.raw for line in added])


def _crc(loaded: LoadedRoot | None, new: bytes) -> int:
    """Checksum the messages, going on from that of the loaded ones."""
    if loaded is None or not loaded.messages:
        return crc32(new)
    return crc32(new, crc32(b",", loaded.crc)) if new else loaded.crc


def _grown(loaded: msgspec.Raw | None, new: Sequence[LineHead | TurnHead]) -> msgspec.Raw:
    """Lengthen a JSON array without taking it apart."""
    if loaded is not None and not new:
        return loaded
    added = spell(new)
    if loaded is None or loaded == _NOTHING:
        return msgspec.Raw(added)
    return msgspec.Raw(b"%b,%b" % (bytes(loaded)[:-1], added[1:]))


def _closed_turns(record: Record, loaded: LoadedRoot | None) -> list[TurnHead]:
    """The closed turns in their order, but for those that stay in the blob that was loaded."""
    root = record.start.root
    known = root.turns() if loaded is None or root is not loaded else loaded.hollow()
    return [*known, *ended(record.entries())]


# -- reading ----------------------------------------------------------------------------------


def read(data: bytes, find: Callable[[str], Dialect]) -> Record:
    """Read a blob of version 2; ``find`` gives the dialect of a name.

    Raises `DecodeError` with the reason ``not_a_state``, ``corrupt_blob`` or ``checksum``.
    """
    start = _START.match(data)
    if start is None:
        raise DecodeError("expected a blob of version 2", reason="not_a_state")
    view = memoryview(data)
    messages = view[start.end() : start.end() + int(start[3])]
    end = view[start.end() + len(messages) : -_END_SIZE]
    last = _END.fullmatch(data, max(len(data) - _END_SIZE, 0))
    if last is None or bytes(end[:2]) != b"],":
        raise DecodeError("expected a whole blob, found a part of one", reason="corrupt_blob")
    crc = crc32(messages)
    rest_crc = crc32(end, crc32(view[: start.end()]))
    if crc != int(start[4], 16) or rest_crc != int(last[1], 16):
        raise DecodeError(
            "expected the bytes that were written, found others: was the state kept in a column "
            "that rewrites JSON?",
            reason="checksum",
        )
    return _record(start, messages, b"".join((b"{", end[2:], b"}")), crc, find)


def _record(
    start: re.Match[bytes],
    messages: memoryview,
    end: bytes,
    crc: int,
    find: Callable[[str], Dialect],
) -> Record:
    try:
        rest = _decode_rest(end)
    except (msgspec.DecodeError, RecursionError):
        rest = _decode_rest_odd(end)
    if not all([bytes(memoryview(raw)[:1]) == b"[" for raw in (rest.heads, rest.turns, rest.open)]):
        raise DecodeError("expected headers, turns and entries in arrays", reason="corrupt_blob")
    dialect = find(_name(start[1]))
    record = Record(
        _name(start[2]),
        dialect,
        start=Context(LoadedRoot(dialect, messages, rest, crc)),
        base=rest.next,
        turn_number=rest.turn,
    )
    if rest.open == _NOTHING:
        return record
    for entry in decode_entries(rawjson.compact(bytes(rest.open), depth_max=_DEPTH_MAX - 1)):
        record = record.apply(entry)
    return record


def _name(literal: bytes) -> str:
    """Read a string that the start of a blob holds; most are as plain as can be."""
    if literal.isascii() and b"\\" not in literal:
        return literal[1:-1].decode()
    return rawjson.unquote(rawjson.compact(literal))


def _decode_rest_odd(end: bytes) -> _Rest:
    """Decode the rest of a blob in which something holds lone surrogates."""
    try:
        fields = rawjson.fields(rawjson.compact(end, depth_max=_DEPTH_MAX))
        members = {
            key: msgspec.Raw(part) if key in _RAW_MEMBERS else rawjson.value(part)
            for key, part in fields.items()
        }
        return msgspec.convert(members, _Rest)
    except (msgspec.ValidationError, UnicodeEncodeError, DecodeError) as error:
        raise DecodeError(f"expected a blob of version 2: {error}", reason="corrupt_blob") from None
