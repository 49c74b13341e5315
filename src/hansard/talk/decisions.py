"""What people decide about calls: that they may run, or may not, or what became of them.

What can be decided is for the record to say: which calls are pending, which have started, what was
decided before. Tools and options change; that does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .. import clock
from ..errors import Invalid
from ..tools import results
from ..turn import writing
from ..turn.standing import look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages import ToolCall
    from ..record.record import Record, Round
    from ..turn.rules import Rules

__all__ = ["abandon", "decide", "settle"]


def decide(
    record: Record,
    rules: Rules,
    calls: Sequence[ToolCall | str],
    verdict: Literal["approved", "denied"],
    *,
    by: str = "",
    reason: str = "",
) -> Record:
    """Record a verdict about calls that have not started; if none is named, about all that wait.

    Which calls wait for a verdict is for the ``rules`` to say. Raises `Invalid` for a call that
    has started, or that somebody has decided about.
    """
    open_ = [call for call in record.pending if _is_undecided(_round(record), call)]
    for call in [_named(open_, given) for given in calls] or _waiting(record, open_, rules):
        entry = writing.decision(record, call, verdict, at_us=clock.now_us(), by=by, reason=reason)
        record = record.apply(entry)
    return record


def settle(
    record: Record,
    call: ToolCall | str,
    result: object = None,
    *,
    not_run: bool = False,
    by: str = "",
) -> Record:
    """Record what became of a call that may have run. Raises `Invalid` for any other call."""
    started = [call for call in record.pending if _has_started(_round(record), call)]
    known = _named(started, call)
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


def abandon(record: Record) -> Record:
    """End a turn that is open, without finishing it. Nothing happens where none is."""
    if record.turn is None:
        return record
    status: Literal["done", "abandoned"] = "done" if record.phase == "answered" else "abandoned"
    return record.apply(writing.end(record, status, at_us=clock.now_us()))


def _round(record: Record) -> Round:
    """The round whose calls are pending."""
    assert record.turn is not None  # noqa: S101 - no call is pending elsewhere
    assert record.turn.round is not None  # noqa: S101 - as before
    return record.turn.round


def _has_started(round_: Round, call: ToolCall) -> bool:
    return call.position in round_.intents or round_.outcome(call) is not None


def _is_undecided(round_: Round, call: ToolCall) -> bool:
    """Whether a call has not started, and nobody has said whether it may."""
    decision = round_.decision(call)
    decided = decision is not None and decision.verdict in ("approved", "denied")
    return not decided and not _has_started(round_, call)


def _waiting(record: Record, calls: Sequence[ToolCall], rules: Rules) -> Sequence[ToolCall]:
    """Those of the calls that wait for a verdict. Raises `Invalid` where none does."""
    seen = [(call, look(call, _round(record), rules)) for call in calls]
    waiting = [call for call, found in seen if found.standing == "unapproved"]
    if not waiting:
        raise Invalid(
            "expected a call that waits for approval, found none in this conversation: name the "
            "calls, or give the tools= that the turn was begun with"
        )
    return waiting


def _named(calls: Sequence[ToolCall], given: ToolCall | str) -> ToolCall:
    """Find a call by itself or by its id. Raises `Invalid` where there is none, or more."""
    if isinstance(given, str):
        found = [call for call in calls if call.id == given]
    else:
        found = [call for call in calls if call == given]
    if len(found) != 1:
        shown = given if isinstance(given, str) else given.id
        names = ", ".join([f"{call.name} ({call.id})" for call in calls]) or "none"
        raise Invalid(
            f"expected one call that waits for this, found {len(found)} for {shown!r}; those that "
            f"wait: {names}"
        )
    return found[0]
