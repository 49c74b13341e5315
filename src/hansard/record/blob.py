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
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar
from zlib import crc32

import msgspec

from .. import rawjson
from ..dialects.dialect import splice_body
from ..errors import DecodeError
from ..messages import Finish, Role, Usage
from .context import Context, Line, Stored
from .entries import (
    Author,
    Compaction,
    Said,
    decode_entries,
    encode_entries,
    spell,
)
from .record import Record
from .turns import TurnHead, ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..dialects.dialect import Dialect

__all__ = ["LoadedRoot", "read", "write"]

_START = re.compile(
    rb'\{"version":2,"dialect":("(?:[^"\\\x00-\x1f]|\\.)*+"),"id":("(?:[^"\\\x00-\x1f]|\\.)*+"),'
    rb'"size":(0|[1-9][0-9]{0,14}),"crc":"([0-9a-f]{8})","messages":\['
)
_END = re.compile(rb',"sum":"([0-9a-f]{8})"\}')
_END_SIZE = 18

_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},]', re.DOTALL)
_STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_UNCOUNTED_MAX = 1 << 20
"""How many elements may be taken apart without having been counted."""

_Count = Annotated[int, msgspec.Meta(ge=0)]


class LineHead(msgspec.Struct, frozen=True, array_like=True):
    """What the blob says of one message, beside the message."""

    seq: int
    turn: int
    at_us: int
    role: Role
    author: Author | Literal["compaction"]
    items: Annotated[int, msgspec.Meta(ge=1)] = 1
    finish: Finish | None = None
    usage: tuple[int, int, int, int, int] | None = None
    pin: bool = False
    stands_for: tuple[int, int, str] | None = None


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
    compacted_us: int | None = None


_RAW_MEMBERS = ("heads", "turns", "open")
_DEPTH_MAX = rawjson.DEPTH_MAX + 4
"""The rest is an object, with an array of entries in it, and these can hold arrays of messages."""

_decode_rest = msgspec.json.Decoder(_Rest).decode


class LoadedRoot(Stored):
    """The messages of a blob of version 2."""

    def __init__(self, dialect: Dialect, messages: memoryview, rest: _Rest, crc: int) -> None:
        super().__init__(dialect, messages, rest.count, tidy=rest.tidy, plain=rest.plain)
        self.rest = rest
        self.crc = crc
        self.seen = min(rest.processed, rest.count)
        self.tokens = rest.tokens
        self.compacted_us = rest.compacted_us

    def lines(self) -> Sequence[Line]:
        heads = _decoded(self.rest.heads, list[LineHead])
        count = sum([head.items for head in heads])
        odd = count > _UNCOUNTED_MAX if self.dialect.itemized else len(heads) != count
        if odd or len(heads) != self.count or _has_more(self.messages, count):
            raise _unlike_headers()
        items = self.items()
        if len(items) != count:
            raise _unlike_headers()
        lines = []
        start = 0
        for head in heads:
            raw = self.dialect.unsplice(items[start : start + head.items])
            lines.append(_line(head, raw, self.dialect))
            start += head.items
        return lines

    def turns(self) -> list[TurnHead]:
        """The closed turns that were known when the blob was written."""
        return [*_decoded(self.rest.turns, list[TurnHead]), *self.hollow()]

    def hollow(self) -> list[TurnHead]:
        """The last of them, where it left no message."""
        return [] if self.rest.hollow is None else [self.rest.hollow]


def _unlike_headers() -> DecodeError:
    return DecodeError("expected a header for each message", reason="corrupt_blob")


def _has_more(messages: bytes | memoryview, count: int) -> bool:
    """Whether there are more messages than that, found out before memory is spent on them."""
    if bytes(messages).count(b",") < _UNCOUNTED_MAX:
        return False
    deep = found = 0
    for mark in _MARK.finditer(messages):
        step = _STEPS.get(mark[0], 0)
        deep += step
        found += deep == 0 and mark[0] == b","
        if found >= count:
            return True
    return False


Decoded = TypeVar("Decoded")


def _decoded(raw: msgspec.Raw, kind: type[Decoded]) -> Decoded:
    """Decode headers. Lone surrogates, which msgspec refuses, can be in names that others gave."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return msgspec.convert(rawjson.value(rawjson.compact(bytes(raw))), kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise DecodeError(f"expected headers: {error}", reason="corrupt_blob") from None


def _line(head: LineHead, raw: bytes, dialect: Dialect) -> Line:
    """Make the entry of a loaded message anew."""
    if head.stands_for is not None:
        first, last, strategy = head.stands_for
        messages = (msgspec.Raw(raw),)
        return Line(
            Compaction(
                seq=head.seq,
                turn=head.turn,
                at_us=head.at_us,
                first=first,
                last=last,
                messages=messages,
                strategy=strategy,
            ),
            raw,
            dialect.project(raw),
        )
    said = Said(
        seq=head.seq,
        turn=head.turn,
        at_us=head.at_us,
        role=head.role,
        author="append" if head.author == "compaction" else head.author,
        raw=msgspec.Raw(raw),
        pin=head.pin,
        finish=head.finish,
        usage=Usage(*head.usage) if head.usage else None,
    )
    return Line(said, raw, dialect.project(raw), head.pin)


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
        heads=_grown(loaded.rest.heads if loaded else None, _heads(added, record.dialect)),
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


def _heads(lines: Iterable[Line], dialect: Dialect) -> list[LineHead]:
    return [_head(line, dialect) for line in lines]


def _head(line: Line, dialect: Dialect) -> LineHead:
    entry = line.entry
    items = len(rawjson.elements(line.raw)) if dialect.itemized else 1
    if isinstance(entry, Said):
        usage = None if entry.usage is None else _figures(entry.usage)
        return LineHead(
            entry.seq,
            entry.turn,
            entry.at_us,
            entry.role,
            entry.author,
            items,
            entry.finish,
            usage,
            line.pin,
        )
    role = dialect.read(line.raw).role
    if isinstance(entry, Compaction):
        stands_for = (entry.first, entry.last, entry.strategy)
        return LineHead(
            entry.seq, entry.turn, entry.at_us, role, "compaction", items, stands_for=stands_for
        )
    return LineHead(entry.seq, entry.turn, entry.at_us, role, "tool", items, pin=line.pin)


def _figures(usage: Usage) -> tuple[int, int, int, int, int]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )


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
