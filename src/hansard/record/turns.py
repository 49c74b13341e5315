"""The turns of a record, as far back as it goes: also those that only a blob knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from .. import rawjson
from .entries import TurnBegin, TurnEnd

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .entries import Entry
    from .record import Record

__all__ = ["TurnHead", "closed_turn", "ended", "entries_of", "turn_at"]


@rawjson.prepared
class TurnHead(msgspec.Struct, frozen=True, array_like=True):
    """What is known of a closed turn wherever its entries are not at hand.

    ``error`` is that of its `TurnEnd`: what a turn that has failed has failed of.
    """

    number: int
    turn_id: str
    input_digest: str
    status: Literal["done", "failed", "abandoned"]
    error: str = ""


def closed_turn(record: Record, turn_id: str) -> TurnHead | None:
    """The turn that was given this id, if it is over; the last one, if several were."""
    found = [head for head in ended(record.entries()) if head.turn_id == turn_id]
    return found[-1] if found else record.start.root.turn(turn_id)


def turn_at(record: Record, seq: int) -> TurnHead | None:
    """The turn that began with an entry, if it is over and its entries are at hand."""
    if seq < record.base:
        return record.start.root.turn_at(seq)
    return next(ended(record.entries(seq)), None)


def ended(entries: Iterable[Entry]) -> Iterator[TurnHead]:
    """The turns that begin and end among entries, in order."""
    begins: dict[int, TurnBegin] = {}
    for entry in entries:
        if isinstance(entry, TurnBegin):
            begins[entry.turn] = entry
        elif isinstance(entry, TurnEnd) and entry.turn in begins:
            begin = begins[entry.turn]
            yield TurnHead(entry.turn, begin.turn_id, begin.input_digest, entry.status, entry.error)


def entries_of(record: Record, number: int) -> tuple[Entry, ...]:
    """The entries of one turn; where it began in a blob, what that had of it comes first."""
    here: list[Entry] = []
    for seq in range(record.length - 1, record.base - 1, -1):
        entry = record.entry(seq)
        if entry.turn < number:
            break
        if entry.turn == number:
            here.append(entry)
    here.reverse()
    if here and isinstance(here[0], TurnBegin):
        return tuple(here)
    return (*record.start.root.entries_of(number), *here)
