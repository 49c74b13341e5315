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
    TurnBegin,
    TurnEnd,
    decode_entries,
    encode_entries,
    spell,
)
from .record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..dialects.dialect import Dialect

__all__ = ["LoadedRoot", "TurnHead", "read", "write"]

_START = re.compile(
    rb'\{"version":2,"dialect":("(?:[^"\\]|\\.)*+"),"id":("(?:[^"\\]|\\.)*+"),'
    rb'"size":(0|[1-9][0-9]{0,14}),"crc":"([0-9a-f]{8})","messages":\['
)
_END = re.compile(rb',"sum":"([0-9a-f]{8})"\}')
_END_SIZE = 18

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


class TurnHead(msgspec.Struct, frozen=True, array_like=True):
    """What the blob says of one closed turn."""

    number: int
    turn_id: str
    input_digest: str
    status: Literal["done", "failed", "abandoned"]


_NOTHING = msgspec.Raw(b"[]")


class _Rest(msgspec.Struct, frozen=True, omit_defaults=True):
    count: _Count
    next: _Count
    heads: msgspec.Raw
    turns: msgspec.Raw = _NOTHING
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
        items = self.items()
        odd = not self.dialect.itemized and len(heads) != len(items)
        if odd or sum([head.items for head in heads]) != len(items) or len(heads) != self.count:
            raise DecodeError("expected a header for each message", reason="corrupt_blob")
        lines = []
        start = 0
        for head in heads:
            raw = self.dialect.unsplice(items[start : start + head.items])
            lines.append(_line(head, raw, self.dialect))
            start += head.items
        return lines


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
    return Line(said, raw, dialect.project(raw))


# -- writing ----------------------------------------------------------------------------------


def write(record: Record) -> bytes:
    """Spell a record as a blob of version 2."""
    dialect, context = record.dialect, record.closed
    loaded = context.root if isinstance(context.root, LoadedRoot) else None
    added = context.added() if loaded else context.lines()
    new = [dialect.splice(line.raw) for line in added]
    crc = _crc(loaded, new)
    pieces: list[bytes | memoryview] = [*new]
    if loaded and loaded.messages:
        pieces.insert(0, loaded.messages)
    start = b'{"version":2,"dialect":%b,"id":%b,"size":%d,"crc":"%08x","messages":[' % (
        rawjson.quote(dialect.name),
        rawjson.quote(record.conversation),
        sum([len(piece) + 1 for piece in pieces]) - bool(pieces),
        crc,
    )
    end = b"]," + _rest(record, added, loaded)[1:]
    return splice_body(
        start, pieces, b'%b,"sum":"%08x"}' % (end[:-1], crc32(end[:-1], crc32(start)))
    )


def _rest(record: Record, added: list[Line], loaded: LoadedRoot | None) -> bytes:
    context = record.closed
    opened = list(record.entries(record.turn.begin.seq)) if record.turn else []
    rest = _Rest(
        count=context.count,
        next=opened[0].seq if opened else record.length,
        heads=_grown(loaded.rest.heads if loaded else None, _heads(added, record.dialect)),
        turns=_grown(loaded.rest.turns if loaded else None, _turns(record, added, loaded)),
        open=msgspec.Raw(encode_entries(opened)) if opened else _NOTHING,
        turn=opened[0].turn - 1 if opened else record.turn_number,
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


def _crc(loaded: LoadedRoot | None, pieces: list[bytes]) -> int:
    """Checksum the messages, going on from that of the loaded ones."""
    crc, first = (loaded.crc, not loaded.messages) if loaded else (0, True)
    for piece in pieces:
        crc = crc32(piece, crc if first else crc32(b",", crc))
        first = False
    return crc


def _grown(loaded: msgspec.Raw | None, new: Sequence[LineHead | TurnHead]) -> msgspec.Raw:
    """Lengthen a JSON array without taking it apart."""
    if loaded is not None and not new:
        return loaded
    known = bytes(loaded)[1:-1] if loaded is not None else b""
    added = spell(new)[1:-1]
    return msgspec.Raw(b"[" + known + (b"," if known and added else b"") + added + b"]")


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
            entry.pin,
        )
    role = dialect.read(line.raw).role
    if isinstance(entry, Compaction):
        stands_for = (entry.first, entry.last, entry.strategy)
        return LineHead(
            entry.seq, entry.turn, entry.at_us, role, "compaction", items, stands_for=stands_for
        )
    return LineHead(entry.seq, entry.turn, entry.at_us, role, "tool", items)


def _figures(usage: Usage) -> tuple[int, int, int, int, int]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )


def _turns(record: Record, added: list[Line], loaded: LoadedRoot | None) -> list[TurnHead]:
    """The closed turns that ``added`` shows, those from an earlier blob first."""
    shown = {line.entry.turn for line in added}
    begins: dict[int, TurnBegin] = {}
    root = record.start.root
    earlier = root.rest.turns if isinstance(root, LoadedRoot) and root is not loaded else _NOTHING
    heads = _decoded(earlier, list[TurnHead])
    for entry in record.entries():
        if isinstance(entry, TurnBegin):
            begins[entry.turn] = entry
        elif isinstance(entry, TurnEnd) and entry.turn in begins:
            begin = begins[entry.turn]
            heads.append(TurnHead(entry.turn, begin.turn_id, begin.input_digest, entry.status))
    return [head for head in heads if head.number in shown]


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
    end = data[start.end() + len(messages) : -_END_SIZE]
    last = _END.fullmatch(data, max(len(data) - _END_SIZE, 0))
    if last is None or not end.startswith(b"],"):
        raise DecodeError("expected a whole blob, found a part of one", reason="corrupt_blob")
    crc = crc32(messages)
    rest_crc = crc32(end, crc32(view[: start.end()]))
    if crc != int(start[4], 16) or rest_crc != int(last[1], 16):
        raise DecodeError(
            "expected the bytes that were written, found others: was the state kept in a column "
            "that rewrites JSON?",
            reason="checksum",
        )
    return _record(start, messages, b"{%b}" % end[2:], crc, find)


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
    dialect = find(rawjson.unquote(rawjson.compact(start[1])))
    record = Record(
        rawjson.unquote(rawjson.compact(start[2])),
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
