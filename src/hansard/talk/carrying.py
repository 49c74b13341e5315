"""Carrying a conversation over from another dialect: its messages, and which turns they are of.

A turn that is open there cannot be gone on with here: its calls and results are in the other
dialect's words. It is ended first, and that is a loss. Turns that are over stay known by their
ids, so that nothing runs a second time; but the words of their input cannot be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .. import neutral
from ..dialects.dialect import Loss
from ..messages import Message
from ..record.context import Context, Line, Root, has_calls
from ..record.entries import Compaction, Said
from ..record.record import Record
from ..record.turns import ended
from .decisions import abandon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..dialects.dialect import Dialect
    from ..messages import Role
    from ..neutral import Converted
    from ..record.entries import Author, Entry
    from ..record.turns import TurnHead

__all__ = ["carry"]


class _Carried(Root):
    """The messages of a conversation that was carried over, and the turns that they are of."""

    def __init__(self, dialect: Dialect, lines: Sequence[Line], turns: Sequence[TurnHead]) -> None:
        self.count = len(lines)
        self.tidy = not any([has_calls(dialect, line.raw) for line in lines])
        self._dialect = dialect
        self._lines = lines
        self._turns = turns

    def lines(self) -> Sequence[Line]:
        return self._lines

    def segment(self) -> bytes:
        sent = [line.sent for line in self._lines if line.sent is not None]
        return b",".join([self._dialect.splice(raw) for raw in sent])

    def turns(self) -> Sequence[TurnHead]:
        return self._turns


def carry(record: Record, dialect: Dialect) -> tuple[Record, Converted]:
    """Say a conversation in another dialect; what it cost is told with it."""
    over = abandon(record)
    lines = [line for line in over.context.lines() if line.sent is not None]
    converted = neutral.convert(
        [Message(over.dialect, line.sent or b"") for line in lines], dialect
    )
    carried = _lines(converted, lines, dialect)
    shown = {over.turn_number, *[line.entry.turn for line in carried]}
    heads = [*over.start.root.turns(), *ended(over.entries())]
    turns = [msgspec.structs.replace(head, input_digest="") for head in heads]
    root = _Carried(dialect, carried, [head for head in turns if head.number in shown])
    root.seen = sum([at < over.context.seen for at in converted.sources])
    made = Record(
        record.conversation,
        dialect,
        start=Context(root),
        base=len(carried),
        turn_number=over.turn_number,
    )
    if record.turn is None or record.phase == "answered":
        return made, converted
    loss = Loss(len(lines), "turn", _cost(answered=record.turn.answered))
    report = neutral.LossReport([*converted.report, loss])
    return made, msgspec.structs.replace(converted, report=report)


def _cost(*, answered: bool) -> str:
    left = "calls that wait are answered as interrupted" if answered else "its prompt is left out"
    return f"a turn that is open cannot go on in another dialect: it is over, and {left}"


def _lines(converted: Converted, lines: Sequence[Line], dialect: Dialect) -> list[Line]:
    """Give each message the place, the turn and the time of the one that it stems from."""
    said = list(zip(converted.messages, converted.sources, strict=True))
    answers = {source: at for at, (message, source) in enumerate(said) if _is_answer(message)}
    made: list[Line] = []
    for at, (message, source) in enumerate(said):
        entry = lines[source].entry
        answer = entry if isinstance(entry, Said) and answers.get(source) == at else None
        heard = Said(
            seq=at,
            turn=entry.turn,
            at_us=entry.at_us,
            role=message.role,
            author=_author(message.role, entry),
            raw=msgspec.Raw(message.raw),
            pin=lines[source].pin,
            finish=answer.finish if answer else None,
            usage=answer.usage if answer else None,
        )
        made.append(Line(heard, message.raw, dialect.project(message.raw), heard.pin))
    return made


def _is_answer(message: Message) -> bool:
    return message.role == "assistant"


def _author(role: Role, entry: Entry) -> Author:
    """Who said what stems from an entry."""
    if isinstance(entry, Said) and (entry.author != "model" or role == "assistant"):
        return entry.author
    return "append" if isinstance(entry, Said | Compaction) else "tool"
