"""What a caller says in one call: leading system text, messages, results of tools.

Leading system messages are given afresh with each call and are not stored; those after the first
other message are, in their place. Results are no messages here: they are placed by their calls.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..dialects.pairing import match
from ..errors import Invalid, InvalidMessage
from ..messages import Draft, Message, ToolResult, system, user

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..dialects.dialect import Dialect
    from ..messages import Content, ToolCall

__all__ = ["Input", "Inputs", "is_of", "messages_of", "pair", "read_inputs"]

Input: TypeAlias = "str | Draft | Message | ToolResult"
"""Text, which is the user's; a draft; a native message; the result of a call."""


class Inputs(msgspec.Struct, frozen=True):
    """What is said, sorted. Each message comes with whether it is pinned."""

    system: tuple[Draft, ...] = ()
    messages: tuple[tuple[Message, bool], ...] = ()
    results: tuple[ToolResult, ...] = ()


def read_inputs(
    given: Sequence[Input], default: str | Draft | Sequence[Content | Draft], dialect: Dialect
) -> Inputs:
    """Sort what a caller gave. ``default`` is the leading system text where it gave none.

    Raises `Unsayable` for what the dialect has no words for, `InvalidMessage` for what is none.
    """
    results = tuple([each for each in given if isinstance(each, ToolResult)])
    said = [each for each in given if not isinstance(each, ToolResult)] if results else given
    leading = list(takewhile(_is_system, said))
    return Inputs(
        tuple([_draft(each) for each in leading]) or _system(default),
        messages_of(said[len(leading) :], dialect),
        results,
    )


def messages_of(given: Iterable[Input], dialect: Dialect) -> tuple[tuple[Message, bool], ...]:
    """Say messages in a dialect, each with whether it is pinned."""
    said: list[tuple[Message, bool]] = []
    for each in given:
        if isinstance(each, Message):
            said.append((_own(each, dialect), False))
        else:
            draft = _draft(each)
            said.extend([(message, draft.pin) for message in dialect.say(draft)])
    return tuple(said)


def _is_system(given: object) -> bool:
    return isinstance(given, Draft | Message) and given.role == "system"


def _draft(given: Input) -> Draft:
    if isinstance(given, Draft):
        return given
    if isinstance(given, str):
        return user(given)
    if isinstance(given, Message):
        return Draft(given.role, given.parts)
    raise InvalidMessage(
        f"expected messages, found {type(given).__name__}: give them one by one, as "
        "send(state, user('…'), event('…'))"
    )


def _system(default: str | Draft | Sequence[Content | Draft]) -> tuple[Draft, ...]:
    parts = [default] if isinstance(default, str | Draft) else default
    return tuple([each if isinstance(each, Draft) else system(each) for each in parts if each])


def _own(message: Message, dialect: Dialect) -> Message:
    if message.dialect != dialect.name:
        raise InvalidMessage(
            f"expected a message of {dialect.name}, found one of {message.dialect}: carry it over "
            "with hansard.neutral.convert first"
        )
    return message


# -- results ------------------------------------------------------------------------------------


def pair(
    calls: Sequence[ToolCall], results: Sequence[ToolResult]
) -> list[tuple[ToolCall, ToolResult]]:
    """Give each call that waits its result, by position and id, else by whichever it has.

    Raises `Invalid`, which names them all, where a result is missing, doubled or of no such call.
    """
    pairs: list[tuple[ToolCall, ToolResult]] = []
    left_calls, loose, over = list(calls), list[ToolResult](), list[ToolResult]()
    for result in results:
        exact = [call for call in calls if is_of(result, call)]
        if exact and exact[0] in left_calls:
            pairs.append((exact[0], result))
            left_calls.remove(exact[0])
        elif exact and _names_its_call(result):
            over.append(result)
        else:
            loose.append(result)
    places = match(left_calls, loose)
    pairs += [
        (call, loose[place])
        for call, place in zip(left_calls, places, strict=True)
        if place is not None
    ]
    missing = [call for call, place in zip(left_calls, places, strict=True) if place is None]
    over += [result for place, result in enumerate(loose) if place not in places]
    if missing or over:
        raise Invalid(_unpaired(missing, over, pairs))
    return sorted(pairs, key=lambda each: each[0].position)


def is_of(result: ToolResult, call: ToolCall) -> bool:
    """Whether a result was made for this very call."""
    same = call.position == result.position and call.id == result.call_id
    return same and result.name in ("", call.name)


def _names_its_call(result: ToolResult) -> bool:
    """Whether a result could be of one call alone, as it was made by it, or says all of it."""
    return bool(result.position or (result.call_id and result.name))


def _unpaired(
    missing: Sequence[ToolCall],
    over: Sequence[ToolResult],
    pairs: Sequence[tuple[ToolCall, ToolResult]],
) -> str:
    answered = {call.id for call, _ in pairs}
    found = [f"no result for {call.name} ({call.id})" for call in missing]
    for result in over:
        second = result.call_id and result.call_id in answered
        what = "a second result" if second else "a result for no pending call"
        found.append(f"{what}: {result.call_id or result.name!r}")
    return f"expected one result for each pending call, found {'; '.join(found)}; nothing recorded"
