"""Entries for a conversation that comes from elsewhere: from a neutral state, or further on.

What was in another dialect is said anew, and what that cost is told. A turn that is open stays
open: its answers are answers again and results are outcomes of their calls, so that what has run
does not run again. What a provider reported of tokens is not taken along, as they were another's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .. import neutral
from ..dialects.pairing import match
from ..messages import Draft, Message, ToolResult
from ..record.entries import (
    CallKey,
    Compaction,
    Decision,
    Intent,
    Outcome,
    PromptIdentity,
    Rewind,
    Said,
)
from ..record.record import Record
from ..record.slices import Events, since
from ..turn import writing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..dialects.dialect import Dialect
    from ..neutral import ConversationState, LossReport
    from ..record.entries import Author, Entry

__all__ = ["moved", "rebuilt", "said_anew"]


def moved(entries: Iterable[Entry], by: int, turns: int, *, first: int = 0) -> list[Entry]:
    """The same entries further on, behind so many others and so many turns.

    What is before the entry ``first`` stays where it is, for those that speak of it.
    """
    return [_moved(entry, by, turns, first) for entry in entries]


def _moved(entry: Entry, by: int, turns: int, first: int) -> Entry:
    def place(seq: int) -> int:
        return seq + by if seq >= first else seq

    changes: dict[str, object] = {"seq": entry.seq + by, "turn": entry.turn + turns}
    if isinstance(entry, Outcome | Intent | Decision):
        call = entry.call
        changes["call"] = CallKey(place(call.answer), call.position, call.id)
    elif isinstance(entry, Compaction):
        changes |= {"first": place(entry.first), "last": place(entry.last)}
    elif isinstance(entry, Rewind):
        changes["to"] = place(entry.to)
    return msgspec.structs.replace(entry, **changes)


def said_anew(record: Record, dialect: Dialect, *, at_us: int) -> tuple[Record, LossReport]:
    """Say a whole record in another dialect: its slices, its messages, and a turn that is open."""
    events = Events()
    for entry in record.entries():
        events.take(entry)
    made = Record(record.conversation, dialect)
    for event in since(None, events.last) or ():
        made = made.apply(msgspec.structs.replace(event, seq=made.length, turn=0))
    state = neutral.conversation_state(record)
    turn = record.turn
    last = state.turns[-1].evaluation_id if state.turns else state.evaluation_id
    made, losses = rebuilt(
        made,
        state,
        turn_id=turn.begin.turn_id if turn else last,
        at_us=at_us,
        goes_on=turn is not None,
    )
    round_ = turn.round if turn else None
    for call in made.pending if round_ else ():
        if round_ is not None and call.position in round_.intents:
            made = made.apply(writing.intent(made, call, at_us=at_us))
    return made, losses


def rebuilt(
    record: Record, state: ConversationState, *, turn_id: str, at_us: int, goes_on: bool
) -> tuple[Record, LossReport]:
    """Put what was said in a state on a record, in which nothing was said so far.

    The last of it is a turn of that id, with the state's prompt; one that ``goes_on`` is left open
    where it waits for an answer or for results.
    """
    dialect = record.dialect
    converted = neutral.resume(state, dialect)
    messages = converted.messages
    finals = [-1, *[at for at, message in enumerate(messages) if _is_final(message)]]
    left = messages[finals[-1] + 1 :]
    begins = finals[-1] + 1 if left and goes_on else ([-1, *finals])[-2] + 1
    for message in messages[:begins]:
        record = record.apply(_said(record, message, at_us))
    ends = len(messages) if left and goes_on else finals[-1] + 1
    if ends > begins:
        prompt = PromptIdentity(state.prompt_ns, state.prompt_key, state.prompt_digest)
        begin = writing.begin(record, turn_id, at_us=at_us, prompt=prompt)
        record = _in_turn(record.apply(begin), messages[begins:ends], at_us)
        if record.phase == "answered":
            record = record.apply(writing.end(record, "done", at_us=at_us))
    for message in messages[ends:]:
        record = record.apply(_said(record, message, at_us))
    return record, converted.report


def _is_final(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls


def _said(record: Record, message: Message, at_us: int) -> Said:
    author: Author = "model" if message.role == "assistant" else "append"
    if message.tool_results and author != "model":
        author = "tool"
    return Said(
        seq=record.length,
        turn=record.turn_number,
        at_us=at_us,
        role=message.role,
        author="input" if record.turn and author == "append" else author,
        raw=msgspec.Raw(message.raw),
    )


def _in_turn(record: Record, messages: Sequence[Message], at_us: int) -> Record:
    """Say messages in a turn: results of pending calls are outcomes there."""
    for message in messages:
        results = message.tool_results
        calls = record.pending
        if message.role == "assistant" or not results or not calls:
            record = record.apply(_said(record, message, at_us))
            continue
        words = tuple([part for part in message.parts if not isinstance(part, ToolResult)])
        for said in record.dialect.say(Draft("user", words)) if words else ():
            record = record.apply(_said(record, said, at_us))
        for call, place in zip(calls, match(calls, results), strict=True):
            if place is not None:
                outcome = writing.outcome(record, call, results[place], at_us=at_us)
                record = record.apply(outcome)
    return record
