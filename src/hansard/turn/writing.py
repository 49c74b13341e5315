"""The entries that say what has happened, made for the place where a record ends.

Each function gives what is to be put on the record together. Nothing here decides anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from ..record.entries import (
    INTERRUPTED,
    Attempt,
    CallKey,
    Decision,
    Intent,
    Outcome,
    Said,
    TurnBegin,
    TurnEnd,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..dialects.dialect import Answer
    from ..messages import Message, ToolCall, ToolResult
    from ..record.entries import Author, PromptIdentity
    from ..record.record import Record

__all__ = [
    "answer",
    "attempt",
    "begin",
    "decision",
    "end",
    "intent",
    "interrupted",
    "outcome",
    "said",
    "unknown",
]


def begin(
    record: Record,
    turn_id: str,
    *,
    at_us: int,
    prompt: PromptIdentity | None = None,
    input_digest: str = "",
    preamble: str | None = None,
) -> TurnBegin:
    """A turn starts."""
    return TurnBegin(
        seq=record.length,
        turn=record.turn_number + 1,
        at_us=at_us,
        turn_id=turn_id,
        prompt=prompt,
        input_digest=input_digest,
        preamble=preamble,
    )


def said(
    record: Record,
    messages: Sequence[tuple[Message, bool]],
    author: Author,
    *,
    at_us: int,
) -> tuple[Said, ...]:
    """Somebody said these messages; each comes with whether it is pinned."""
    return tuple(
        [
            Said(
                seq=record.length + at,
                turn=record.turn_number,
                at_us=at_us,
                role=message.role,
                author=author,
                raw=msgspec.Raw(message.raw),
                pin=pin,
            )
            for at, (message, pin) in enumerate(messages)
        ]
    )


def answer(record: Record, given: Answer, *, at_us: int) -> Said | Attempt:
    """The model answered, validly or not; or it did, and there is no message in it."""
    codes = tuple([problem.code for problem in given.problems])
    if given.raw is None:
        return Attempt(
            seq=record.length,
            turn=record.turn_number,
            at_us=at_us,
            error=codes[0] if codes else "no_answer",
            detail=given.problems[0].detail if given.problems else "",
            answered=True,
            usage=given.usage,
        )
    return Said(
        seq=record.length,
        turn=record.turn_number,
        at_us=at_us,
        role="assistant",
        author="model",
        raw=msgspec.Raw(given.raw),
        finish=given.finish,
        usage=given.usage,
        problems=codes,
        cut=given.cut,
    )


def interrupted(record: Record, given: Answer, *, at_us: int) -> Said | Attempt:
    """The model was answering when whoever read it left, or the connection was lost."""
    made = answer(record, given, at_us=at_us)
    if isinstance(made, Said):
        return msgspec.structs.replace(made, problems=(INTERRUPTED, *made.problems), cut=True)
    return msgspec.structs.replace(made, error=INTERRUPTED, answered=False)


def attempt(record: Record, error: str, detail: str, *, at_us: int) -> Attempt:
    """A call of the model to which nobody answered."""
    return Attempt(
        seq=record.length, turn=record.turn_number, at_us=at_us, error=error, detail=detail
    )


def intent(record: Record, call: ToolCall, *, at_us: int, ahead: int = 0) -> Intent:
    """A call that must not run twice is about to start; ``ahead`` entries come before this one."""
    return Intent(
        seq=record.length + ahead, turn=record.turn_number, at_us=at_us, call=_named(record, call)
    )


def outcome(
    record: Record, call: ToolCall, result: ToolResult, *, at_us: int, ahead: int = 0
) -> Outcome:
    """A call has ended with a result. Raises `Unsayable` where the dialect cannot say it."""
    return Outcome(
        seq=record.length + ahead,
        turn=record.turn_number,
        at_us=at_us,
        call=_named(record, call),
        status="error" if result.is_error else "ok",
        raw=msgspec.Raw(record.dialect.result(call, result)),
    )


def unknown(record: Record, call: ToolCall, *, at_us: int) -> Outcome:
    """A call has started, and nobody can say what became of it."""
    return Outcome(
        seq=record.length,
        turn=record.turn_number,
        at_us=at_us,
        call=_named(record, call),
        status="unknown",
    )


def decision(
    record: Record,
    call: ToolCall,
    verdict: Literal["approved", "denied", "settled", "not_run"],
    *,
    at_us: int,
    by: str = "",
    reason: str = "",
) -> Decision:
    """Somebody decided about a call."""
    return Decision(
        seq=record.length,
        turn=record.turn_number,
        at_us=at_us,
        call=_named(record, call),
        verdict=verdict,
        by=by,
        reason=reason,
    )


def end(
    record: Record,
    status: Literal["done", "failed", "abandoned"],
    *,
    at_us: int,
    error: str = "",
) -> TurnEnd:
    """The turn is over."""
    return TurnEnd(
        seq=record.length, turn=record.turn_number, at_us=at_us, status=status, error=error
    )


def _named(record: Record, call: ToolCall) -> CallKey:
    round_ = record.turn.round if record.turn else None
    return CallKey(round_.answer.seq if round_ else -1, call.position, call.id)
