"""Which result belongs to which call, and what to do about those that belong to none.

A provider refuses a history in which a call has no result, or a result no call; one such orphan
makes a conversation unusable for good. `repair` makes any list of messages legal again. It changes
nothing that is in order, gives the same for the same, and a second time changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import msgspec

from ..messages import Message, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..messages import ToolCall
    from .dialect import Dialect, Fragment

__all__ = ["Repair", "Repaired", "Result", "answers", "cut_points", "match", "repair"]


class Repair(msgspec.Struct, frozen=True):
    """One thing that was mended: where, what, and for which call.

    ``message`` is the index of the answer whose call it is, or of the message where an orphaned
    result stood.
    """

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
        after = list(enumerate(messages[start:end], start))
        mended += _exchange(dialect, answer, after, at, repairs)
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
    goes_on = False
    for at, raw in enumerate(messages):
        reading = dialect.read(raw)
        results = any(isinstance(part, ToolResult) for part in reading.parts)
        if reading.role == "user" and not results and not open_calls:
            points.append(at)
        if reading.role == "assistant":
            open_calls = bool(_open_calls(dialect, raw)) or (goes_on and open_calls)
        elif results:
            open_calls = _more_results(dialect, messages, at + 1)
        goes_on = dialect.merges and reading.role == "assistant"
    return points


def _more_results(dialect: Dialect, messages: Sequence[bytes], at: int) -> bool:
    """Whether results come before the next answer."""
    after = messages[at : _next_answer(dialect, messages, at)]
    return any(dialect.split_results(raw)[0] for raw in after)


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
    """The index after an answer. Where messages merge, several in a row are one."""
    while dialect.merges and at < len(messages) and _is_answer(dialect, messages[at]):
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
    after: Sequence[tuple[int, bytes]],
    at: int,
    repairs: list[Repair],
) -> list[bytes]:
    """Mend an answer with calls, and what was said until the next answer, with its indexes."""
    mended: list[bytes] = []
    found = [fragment for _, raw in after for fragment in dialect.split_results(raw)[0]]
    parts = [
        (place, *_without_own_results(dialect, raw, place, repairs))
        for place, raw in enumerate(answer, at)
    ]
    asked: list[tuple[int, ToolCall]] = []
    for index, (place, said, calls) in enumerate(parts):
        mended.append(said)
        later = [call for _, _, more in parts[index + 1 :] for call in more]
        if asked or _waits(dialect, calls, later, found) or index == len(parts) - 1:
            asked += [(place, call) for call in calls]
        elif calls:
            mended += _answered(dialect, [(place, call) for call in calls], (), repairs)
    return [*mended, *_answered(dialect, asked, after, repairs)]


def _waits(
    dialect: Dialect,
    calls: Sequence[ToolCall],
    later: Sequence[ToolCall],
    found: Sequence[Fragment],
) -> bool:
    """Whether any result is left for calls when those that were made later have theirs.

    If not, nobody had waited for them any more when the later ones were made.
    """
    if not any(_match(dialect, calls, found)):
        return False
    left = _match(dialect, later, found).count(None)
    return _match(dialect, [*calls, *later], found).count(None) < left + len(calls)


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
    asked: Sequence[tuple[int, ToolCall]],
    after: Sequence[tuple[int, bytes]],
    repairs: list[Repair],
) -> Sequence[bytes]:
    """Put the results of an answer's calls right after it, followed by what else was said.

    Every call comes with the index of its message, and so does what follows.
    """
    calls = [call for _, call in asked]
    split = [(place, *dialect.split_results(raw)) for place, raw in after]
    stood = [(place, fragment) for place, fragments, _ in split for fragment in fragments]
    matched = _match(dialect, calls, [fragment for _, fragment in stood])
    used = {id(fragment) for fragment in matched if fragment is not None}
    orphans = [(place, fragment) for place, fragment in stood if id(fragment) not in used]
    missing = [one for one, fragment in zip(asked, matched, strict=True) if fragment is None]
    said = [raw for _, raw in after]
    if not orphans and not missing and dialect.paired(calls, said):
        return said
    repairs += [Repair(place, "interrupted", call.id) for place, call in missing]
    repairs += [Repair(place, "orphan_result", orphan.call_id) for place, orphan in orphans]
    if not orphans and not missing:
        repairs += [Repair(place, "moved_result", call.id) for place, call in asked]
    fragments = [
        dialect.interrupted(call) if fragment is None else fragment.raw
        for call, fragment in zip(calls, matched, strict=True)
    ]
    return dialect.frame(fragments, [rest for _, _, rest in split if rest is not None])


def _match(
    dialect: Dialect, calls: Sequence[ToolCall], found: Sequence[Fragment]
) -> list[Fragment | None]:
    """Find each call's result among those that the dialect takes for an answer to it."""

    def paired(fragment: Fragment, call: ToolCall) -> bool:
        return dialect.paired([call], dialect.frame([fragment.raw]))

    places = match(calls, found, paired)
    return [None if place is None else found[place] for place in places]


# -- which result answers which call --------------------------------------------------------------


class Result(Protocol):
    """A result, in native words or neutral ones. What is not known of it is empty."""

    @property
    def call_id(self) -> str:
        """The id of the call that it answers."""
        ...

    @property
    def name(self) -> str:
        """The name of the tool that was called."""
        ...


Given = TypeVar("Given", bound=Result)


def answers(result: Result, call: ToolCall) -> bool:
    """Whether a result may be that of a call: by id, or by name where one of them has no id."""
    if call.id and result.call_id:
        return result.call_id == call.id
    return result.name == call.name or (not result.name and result.call_id == call.id)


def match(
    calls: Sequence[ToolCall],
    results: Sequence[Given],
    fits: Callable[[Given, ToolCall], bool] = answers,
) -> list[int | None]:
    """Find for each call the index of its result. No result is given to two calls.

    Calls with an id choose first, since fewer results will do for them. Of what ``fits``, those
    whose id and name are a call's own are given before those of its id alone, and these before
    any other, so that names tell results apart where ids repeat.
    """
    left = dict(enumerate(results))
    found: dict[int, int] = {}
    for has_id in (True, False):
        asking = [at for at, call in enumerate(calls) if bool(call.id) is has_id]
        for is_near in (_has_id_and_name, _has_id, _is_any):
            for at in asking:
                if at in found:
                    continue
                for index, result in left.items():
                    if is_near(result, calls[at]) and fits(result, calls[at]):
                        found[at] = index
                        del left[index]
                        break
    return [found.get(at) for at in range(len(calls))]


def _is_any(_result: Result, _call: ToolCall) -> bool:
    return True


def _has_id(result: Result, call: ToolCall) -> bool:
    return result.call_id == call.id


def _has_id_and_name(result: Result, call: ToolCall) -> bool:
    return result.call_id == call.id and result.name == call.name
