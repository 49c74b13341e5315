"""Points of a conversation: to go back to, and to fork from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .. import clock
from ..errors import Invalid, InvalidTransition
from ..record.entries import Mark, Rewind
from ..record.pages import page_of

if TYPE_CHECKING:
    from ..record.pages import Head
    from ..record.record import Record

__all__ = ["forked", "marked", "point", "rewound"]


def marked(record: Record, name: str) -> Record:
    """Put a mark where a conversation stands."""
    mark = Mark(seq=record.length, turn=record.turn_number, at_us=clock.now_us(), name=name)
    return record.apply(mark)


def point(record: Record, to: int | str) -> int:
    """The entry before which a point is: that of the last mark of a name, or one by its number."""
    if isinstance(to, int):
        return to
    marks = [entry for entry in record.entries() if isinstance(entry, Mark)]
    found = [mark.seq for mark in marks if mark.name == to]
    if not found:
        names = ", ".join(sorted({mark.name for mark in marks})) or "none"
        raise Invalid(f"expected a mark, found none named {to!r}; there are: {names}")
    return found[-1]


def rewound(record: Record, to: int) -> Record:
    """Let a conversation go on from where it stood before an entry."""
    rewind = Rewind(seq=record.length, turn=record.turn_number, at_us=clock.now_us(), to=to)
    return record.apply(rewind)


def forked(head: Head, record: Record, at: int | None) -> tuple[Head, int | None]:
    """Give where a fork begins, and to which entry it then has to go back, if to any.

    It shares what its context needs, up to where it parts. Where that has been written anew since,
    it shares all there is, and goes back.
    """
    if record.turn is not None:
        raise InvalidTransition(
            "expected a conversation between turns, found one with an open turn: resume it or "
            "abandon it, then fork"
        )
    parts = head.seq if at is None else at
    lineage = (*[one for one in head.lineage if one[1] < parts], (head.writer(parts - 1), parts))
    child = msgspec.structs.replace(head, incarnation=clock.new_name(), lineage=lineage)
    if parts == head.seq:
        return child, None
    back = rewound(record, parts)
    page, there = page_of(head, record, back, [back.entry(record.length)], "")
    if page.body:
        lineage = (*head.lineage, (head.incarnation, head.seq))
        return msgspec.structs.replace(child, lineage=lineage), parts
    before = record.entry(parts - 1).turn if parts else 0
    return (
        msgspec.structs.replace(
            there,
            incarnation=child.incarnation,
            lineage=lineage,
            seq=parts,
            spans=tuple([(first, min(end, parts)) for first, end in there.spans if first < parts]),
            turn=before,
        ),
        None,
    )
