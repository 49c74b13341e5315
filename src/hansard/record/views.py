"""Views: what a record looks like to different readers. Each is a function of the entries.

- `comprehensive`: every message that was ever said, valid or not, also what was rewound.
- `curated`: the messages of valid turns, as if nothing had been compacted.
- `context`: the messages that stand for the conversation now, repaired: what a model is sent.
- `repairs`: what had to be mended for that.

The neutral view is `hansard.neutral`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages import Message
from . import context as chain
from .entries import Outcome, Said, TurnBegin, TurnEnd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..dialects.dialect import Dialect
    from ..dialects.pairing import Repair
    from .entries import Entry
    from .record import Record

__all__ = ["comprehensive", "context", "curated", "repairs"]


def context(record: Record) -> tuple[Message, ...]:
    """The messages that the next request would carry, repaired and projected."""
    dialect = record.dialect
    repaired = record.context.mend(dialect, pending=bool(record.pending)).messages
    sent = [dialect.project(raw) for raw in repaired]
    return tuple([Message(dialect, raw) for raw in sent if raw is not None])


def repairs(record: Record) -> tuple[Repair, ...]:
    """What had to be mended so that a provider takes the context."""
    context = record.context
    if context.tidy:
        return context.repaired
    return context.mend(record.dialect, pending=bool(record.pending)).repairs


def curated(record: Record) -> tuple[Message, ...]:
    """The messages of valid turns, in order, verbatim."""
    return tuple([Message(record.dialect, line.raw) for line in chain.curated(record.context)])


def comprehensive(record: Record) -> tuple[Message, ...]:
    """Every message that is here, in the order in which they were said.

    Results stand where their round ended, and those of an open round at the end. What is not here
    is what nobody said: the answers for interrupted calls.
    """
    dialect = record.dialect
    loaded = [line.raw for line in record.start.lines()]
    said = _said(record.entries(), dialect)
    return tuple([Message(dialect, raw) for raw in (*loaded, *said)])


def _said(entries: Iterator[Entry], dialect: Dialect) -> Iterator[bytes]:
    """Walk through entries, putting results into messages where their round ends."""
    answer = -1
    pending = 0
    in_turn = False
    results: dict[int, Outcome] = {}
    waiting: list[bytes] = []
    for entry in entries:
        if isinstance(entry, Said):
            if pending and entry.author != "model":
                waiting.append(bytes(entry.raw))
                continue
            yield bytes(entry.raw)
            if in_turn and entry.author == "model" and not entry.problems:
                answer, pending = entry.seq, len(Message(dialect, bytes(entry.raw)).tool_calls)
        elif isinstance(entry, Outcome) and pending and entry.call.answer == answer:
            if entry.status != "unknown":
                results.setdefault(entry.call.position, entry)
        elif isinstance(entry, TurnBegin | TurnEnd):
            in_turn = isinstance(entry, TurnBegin)
        if pending and (len(results) == pending or isinstance(entry, TurnEnd)):
            yield from _framed(results, waiting, dialect)
            results, waiting, pending = {}, [], 0
    yield from _framed(results, waiting, dialect)


def _framed(
    results: dict[int, Outcome], waiting: list[bytes], dialect: Dialect
) -> tuple[bytes, ...]:
    fragments = [bytes(results[position].raw) for position in sorted(results)]
    return dialect.frame(fragments, waiting) if fragments else tuple(waiting)
