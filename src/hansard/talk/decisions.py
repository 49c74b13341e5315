"""What people decide about calls: that they may run, or may not, or what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .. import clock
from ..errors import Invalid
from ..tools import results
from ..turn import writing
from ..turn.standing import STANDINGS, look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages import ToolCall
    from ..record.record import Record
    from ..turn.rules import Rules
    from ..turn.standing import Doing

__all__ = ["decide", "settle"]


def decide(
    record: Record,
    rules: Rules,
    calls: Sequence[ToolCall | str],
    verdict: Literal["approved", "denied"],
    *,
    by: str = "",
    reason: str = "",
) -> Record:
    """Record a verdict about calls that wait for approval; about all of them if none is named.

    Raises `Invalid` for a call that does not wait for that.
    """
    waiting = _waiting(record, rules, "wait for approval")
    for call in [_named(waiting, given) for given in calls] or _some(waiting):
        entry = writing.decision(record, call, verdict, at_us=clock.now_us(), by=by, reason=reason)
        record = record.apply(entry)
    return record


def settle(
    record: Record,
    rules: Rules,
    call: ToolCall | str,
    result: object = None,
    *,
    not_run: bool = False,
    by: str = "",
) -> Record:
    """Record what became of a call that may have run. Raises `Invalid` for any other call."""
    known = _named(_waiting(record, rules, "wait for settlement"), call)
    if not_run and result is not None:
        raise Invalid(
            "expected a result or not_run=True, found both: a call that did not run has none"
        )
    verdict: Literal["settled", "not_run"] = "not_run" if not_run else "settled"
    record = record.apply(writing.decision(record, known, verdict, at_us=clock.now_us(), by=by))
    if not_run:
        return record
    given = results.answer(known, result)
    return record.apply(writing.outcome(record, known, given, at_us=clock.now_us()))


def _waiting(record: Record, rules: Rules, doing: Doing) -> list[ToolCall]:
    round_ = record.turn.round if record.turn else None
    if round_ is None:
        return []
    seen = [(call, look(call, round_, rules)) for call in round_.pending]
    return [call for call, found in seen if STANDINGS[found.standing] == doing]


def _some(waiting: Sequence[ToolCall]) -> Sequence[ToolCall]:
    if not waiting:
        raise Invalid("expected a call that waits for this, found none in this conversation")
    return waiting


def _named(waiting: Sequence[ToolCall], given: ToolCall | str) -> ToolCall:
    """Find a call by itself or by its id. Raises `Invalid` where there is none, or more."""
    if isinstance(given, str):
        found = [call for call in waiting if call.id == given]
    else:
        found = [call for call in waiting if call == given]
    if len(found) != 1:
        shown = given if isinstance(given, str) else given.id
        names = ", ".join([f"{call.name} ({call.id})" for call in waiting]) or "none"
        raise Invalid(
            f"expected one call that waits for this, found {len(found)} for {shown!r}; those that "
            f"wait: {names}"
        )
    return found[0]
