"""Which result belongs to which call, and what to do about those that belong to none.

A provider refuses a history in which a call has no result, or a result no call; one such orphan
makes a conversation unusable for good. `repair` makes any list of messages legal again. It changes
nothing that is in order, gives the same for the same, and a second time changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from ..messages import Message, ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages import ToolCall
    from .dialect import Dialect, Fragment

__all__ = ["Repair", "Repaired", "cut_points", "repair"]


class Repair(msgspec.Struct, frozen=True):
    """One thing that was mended: where, what, and for which call."""

    message: int
    what: Literal["interrupted", "orphan_result", "moved_result"]
    call_id: str


class Repaired(msgspec.Struct, frozen=True):
    """Messages that a provider accepts, and what was done to make them so."""

    messages: tuple[bytes, ...]
    repairs: tuple[Repair, ...] = ()


def repair(dialect: Dialect, messages: Sequence[bytes], *, pending: bool = False) -> Repaired:
    """Give every call one result, right after it, and drop results that answer nothing.

    A call without a result is answered as interrupted. With ``pending``, the calls of the last
    answer are left open: their results are still to come.
    """
    mended: list[bytes] = []
    repairs: list[Repair] = []
    at = 0
    while at < len(messages):
        if not _calls(dialect, messages[at]):
            mended += _without_results(dialect, messages[at], at, repairs)
            at += 1
            continue
        start = _end_of_answer(dialect, messages, at + 1)
        end = _next_answer(dialect, messages, start)
        waits = pending and start == len(messages)
        answer = messages[at : start - waits]
        mended += _exchange(dialect, answer, messages[start:end], at, repairs)
        mended += messages[start - waits : start]
        at = end
    return Repaired(tuple(mended), tuple(repairs))


def cut_points(dialect: Dialect, messages: Sequence[bytes]) -> list[int]:
    """Where a list of messages may be cut: before a user's message, with no call left open.

    A cut at ``n`` keeps ``messages[n:]``. Parallel calls stay whole, results with their calls,
    and thoughts with the answer that they belong to.
    """
    points = []
    open_calls = False
    for at, raw in enumerate(messages):
        reading = dialect.read(raw)
        results = any(isinstance(part, ToolResult) for part in reading.parts)
        if reading.role == "user" and not results and not open_calls:
            points.append(at)
        if reading.role == "assistant":
            open_calls = bool(_open_calls(dialect, raw))
        elif results:
            open_calls = _more_results(dialect, messages, at + 1)
    return points


def _more_results(dialect: Dialect, messages: Sequence[bytes], at: int) -> bool:
    return at < len(messages) and bool(dialect.split_results(messages[at])[0])


def _calls(dialect: Dialect, raw: bytes) -> tuple[ToolCall, ...]:
    return Message(dialect, raw).tool_calls if dialect.may_have_calls(raw) else ()


def _open_calls(dialect: Dialect, raw: bytes) -> list[ToolCall]:
    """The calls of a message that are not answered within it, as items may be."""
    calls = _calls(dialect, raw)
    within = dialect.split_results(raw)[0] if calls else ()
    if not within:
        return list(calls)
    matched = _match(dialect, calls, within)
    return [call for call, one in zip(calls, matched, strict=True) if one is None]


def _end_of_answer(dialect: Dialect, messages: Sequence[bytes], at: int) -> int:
    """The index after an answer. Where messages are items, several in a row are one answer."""
    while dialect.itemized and at < len(messages) and _is_answer(dialect, messages[at]):
        at += 1
    return at


def _next_answer(dialect: Dialect, messages: Sequence[bytes], at: int) -> int:
    """The index of the next message by the model, or the end."""
    while at < len(messages) and not _is_answer(dialect, messages[at]):
        at += 1
    return at


def _is_answer(dialect: Dialect, raw: bytes) -> bool:
    """Whether a message is the model's, or at least calls something, whoever it claims to be."""
    message = Message(dialect, raw)
    return message.role == "assistant" or bool(message.tool_calls)


def _without_results(
    dialect: Dialect, raw: bytes, at: int, repairs: list[Repair]
) -> tuple[bytes, ...]:
    """Take out of a message the results that answer nothing."""
    if not dialect.may_have_calls(raw):
        return (raw,)
    orphans, rest = dialect.split_results(raw)
    if not orphans:
        return (raw,)
    repairs += [Repair(at, "orphan_result", orphan.call_id) for orphan in orphans]
    return () if rest is None else (rest,)


def _exchange(
    dialect: Dialect,
    answer: Sequence[bytes],
    after: Sequence[bytes],
    at: int,
    repairs: list[Repair],
) -> list[bytes]:
    """Mend an answer with calls, and what was said until the next answer."""
    mended: list[bytes] = []
    calls: list[ToolCall] = []
    found = [fragment for raw in after for fragment in dialect.split_results(raw)[0]]
    for place, raw in enumerate(answer, at):
        said, asked = _without_own_results(dialect, raw, place, repairs)
        mended.append(said)
        calls += asked
        last = place == at + len(answer) - 1
        if calls and not last and not any(_match(dialect, calls, found)):
            mended += _answered(dialect, calls, (), place, repairs)
            calls = []
    return [*mended, *_answered(dialect, calls, after, at, repairs)]


def _without_own_results(
    dialect: Dialect, raw: bytes, at: int, repairs: list[Repair]
) -> tuple[bytes, list[ToolCall]]:
    """Take out of an answer what it cannot hold, and give the calls that it leaves open.

    Items may stand in one message with the results of their calls.
    """
    calls = list(_calls(dialect, raw))
    within, rest = dialect.split_results(raw)
    matched = _match(dialect, calls, within)
    if dialect.itemized and len(within) == len(calls) - matched.count(None):
        return raw, [call for call, one in zip(calls, matched, strict=True) if one is None]
    repairs += [Repair(at, "orphan_result", orphan.call_id) for orphan in within]
    return raw if rest is None else rest, calls


def _answered(
    dialect: Dialect,
    calls: Sequence[ToolCall],
    after: Sequence[bytes],
    at: int,
    repairs: list[Repair],
) -> Sequence[bytes]:
    """Put the results of an answer's calls right after it, followed by what else was said."""
    split = [dialect.split_results(raw) for raw in after]
    found = [fragment for fragments, _ in split for fragment in fragments]
    matched = _match(dialect, calls, found)
    used = {id(fragment) for fragment in matched if fragment is not None}
    orphans = [fragment for fragment in found if id(fragment) not in used]
    missing = [call for call, fragment in zip(calls, matched, strict=True) if fragment is None]
    if not orphans and not missing and dialect.paired(calls, after):
        return after
    repairs += [Repair(at, "interrupted", call.id) for call in missing]
    repairs += [Repair(at, "orphan_result", orphan.call_id) for orphan in orphans]
    if not orphans and not missing:
        repairs += [Repair(at, "moved_result", call.id) for call in calls]
    fragments = [
        dialect.interrupted(call) if fragment is None else fragment.raw
        for call, fragment in zip(calls, matched, strict=True)
    ]
    return dialect.frame(fragments, [rest for _, rest in split if rest is not None])


def _match(
    dialect: Dialect, calls: Sequence[ToolCall], found: Sequence[Fragment]
) -> list[Fragment | None]:
    """Find each call's result: by its id, or else by what the dialect takes for an answer."""
    left = list(found)
    matched: dict[int, Fragment] = {}
    # Calls with an id choose first, since fewer results will do for them.
    for at in sorted(range(len(calls)), key=lambda at: not calls[at].id):
        call = calls[at]
        for fragment in sorted(left, key=lambda fragment: fragment.call_id != call.id):
            if dialect.paired([call], dialect.frame([fragment.raw])):
                matched[at] = fragment
                left.remove(fragment)
                break
    return [matched.get(at) for at in range(len(calls))]
