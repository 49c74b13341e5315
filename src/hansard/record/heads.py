"""Messages that are kept joined, each with a small header beside it.

So are those of the blob and those in a store's pages kept: the messages exactly as they stand in a
request, and what else is known of each in a header. They are taken apart when somebody looks.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import msgspec

from .. import rawjson
from ..errors import DecodeError
from ..messages import Finish, Role, Usage
from .context import Line, Stored
from .entries import Author, Compaction, Said, Time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..dialects.dialect import Dialect

__all__ = ["Headed", "LineHead", "decoded", "heads_of"]

_MARK = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},]', re.DOTALL)
_STEPS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}
_UNCOUNTED_MAX = 1 << 20
"""How many elements may be taken apart without having been counted."""


@rawjson.prepared
class LineHead(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of one message, beside the message."""

    seq: int
    turn: int
    at_us: Time
    role: Role
    author: Author | Literal["compaction"]
    items: Annotated[int, msgspec.Meta(ge=1)] = 1
    finish: Finish | None = None
    usage: tuple[int, int, int, int, int] | None = None
    pin: bool = False
    stands_for: tuple[int, int, str] | None = None


class Headed(Stored):
    """Messages that were loaded together, with a header for each."""

    @abstractmethod
    def heads(self) -> list[LineHead]:
        """The headers, in the order of the messages."""

    def lines(self) -> Sequence[Line]:
        heads = self.heads()
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


def decoded(raw: bytes | msgspec.Raw, kind: type[Decoded]) -> Decoded:
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


def heads_of(lines: Iterable[Line], dialect: Dialect) -> list[LineHead]:
    """Give the headers to be kept of messages."""
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
