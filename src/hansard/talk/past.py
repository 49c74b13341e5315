"""Turns that are over: what is known of them when they are asked for again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import errors
from ..record.entries import Said
from ..record.transitions import KEEPS
from ..record.turns import TurnHead, ended, entries_of

if TYPE_CHECKING:
    from ..record.record import Record

__all__ = ["is_left", "last_turn", "raise_again"]


def last_turn(record: Record) -> TurnHead | None:
    """The turn before, where no turn is open; None if nobody was ever asked.

    A blob of version 1 knows of answers, and of no turns: those are made up.
    """
    heads = [*record.start.root.turns(), *ended(record.entries())]
    if heads and heads[-1].number == record.turn_number:
        return heads[-1]
    number = record.turn_number
    return TurnHead(number, "", "", "done") if _is_answered(record, number) else None


def is_left(record: Record, head: TurnHead) -> bool:
    """Whether a turn has left more in the conversation than what was appended meanwhile."""
    if head.status == "done":
        return True
    return KEEPS[head.status, _is_answered(record, head.number)] == "all"


def _is_answered(record: Record, number: int) -> bool:
    """Whether the model has given a turn a valid answer."""
    said = [entry for entry in entries_of(record, number) if isinstance(entry, Said)]
    return any([entry.author == "model" and not entry.problems for entry in said])


def raise_again(head: TurnHead) -> None:
    """Raise again the error with which a provider ended a turn, as far as it is known."""
    kind = getattr(errors, head.error, None) if head.status == "failed" else None
    if isinstance(kind, type) and issubclass(kind, errors.ProviderError):
        raise kind(
            "expected a turn with an answer, found one that the provider has refused to go on "
            "with, and nobody was asked again: say something else with send(…)"
        )
