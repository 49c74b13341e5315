"""From messages, heard one by one, to the neutral records of their rounds.

A round is what was said to the model since its last answer, the answer, and the results of its
calls. Every message goes into one payload, in order: that of its round, or of the state for what
nobody has answered yet. What was said among the results is of the next round, its message not.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID, uuid5

from msgspec.structs import replace

from .. import rawjson
from ..dialects.pairing import match
from ..errors import InvalidMessage
from ..messages import Refusal, Text, ToolResult
from .records import ConversationMessage, ConversationState, ConversationTurn, ToolCallRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from ..messages import Message, Part, ToolCall
    from ..record.entries import PromptIdentity

__all__ = ["Heard", "Rounds", "is_input", "words"]

_NAMESPACE = UUID("0f5b7a52-5f0c-4c0a-9d6e-6f2f3c1c7d11")
"""Under which all ids of the view are made. Never to be changed."""


class Heard(NamedTuple):
    """A message, and what its records are made from: a key for the ids, and a time.

    ``turn_id`` is that of the turn on the record; ``ended`` says when calls did, by position.
    """

    message: Message
    key: str
    at: datetime
    turn_id: str | None = None
    ended: Mapping[int, datetime] | None = None


def words(message: Message) -> list[Part]:
    """Give what is in a message besides results."""
    return [part for part in message.parts if not isinstance(part, ToolResult)]


def is_input(message: Message) -> bool:
    """Whether a message says something to the model that is no result, be it nothing at all."""
    return bool(words(message)) or not message.tool_results


class _Round:
    """A round while it is heard."""

    def __init__(self, answer: Heard, inputs: list[Heard], messages: list[Message]) -> None:
        self.answer = answer
        self.inputs = inputs
        self.messages = [*messages, answer.message]
        self.results: list[tuple[Heard, ToolResult]] = []


class Rounds:
    """Hears messages in order, and makes the records of them."""

    def __init__(self, conversation: str, evaluation_id: str) -> None:
        self._conversation = conversation
        self._evaluation_id = evaluation_id
        self._rounds: list[_Round] = []
        self._inputs: list[Heard] = []
        self._messages: list[Message] = []
        self._keys: Counter[str] = Counter()

    def hear(self, heard: Heard) -> None:
        """Take in the next message."""
        message = heard.message
        results = message.tool_results
        if message.role == "assistant":
            self._rounds.append(_Round(heard, self._inputs, self._messages))
            self._inputs, self._messages = [], []
        else:
            self._messages.append(message)
            if is_input(message) or not self._rounds:
                self._inputs.append(heard)
        if results and self._rounds:
            last = self._rounds[-1]
            last.results += [(heard, result) for result in results]
            last.messages += self._messages
            self._messages = []

    def state(self, prompt: PromptIdentity, system: str, at: datetime) -> ConversationState:
        """Make the state. To be asked for once, after all messages."""
        return ConversationState(
            evaluation_id=self._evaluation_id,
            prompt_ns=prompt.namespace,
            prompt_key=prompt.key,
            system_message=ConversationMessage(
                "system", system, created_at=at, message_id=self._id("system")
            ),
            turns=tuple([self._turn(number, each) for number, each in enumerate(self._rounds, 1)]),
            created_at=at,
            state_id=self._id("state"),
            input_messages=self._said(self._inputs, orphans=not self._rounds),
            provider_payload=_payload(self._messages),
            prompt_digest=prompt.digest,
        )

    def _turn(self, number: int, heard: _Round) -> ConversationTurn:
        answer = heard.answer
        calls = [
            replace(call, id=call.id or f"call_{number}_{call.position}")
            for call in answer.message.tool_calls
        ]
        return ConversationTurn(
            turn_number=number,
            assistant_message=ConversationMessage(
                "assistant",
                _text(answer.message.parts),
                tuple([ToolCallRecord(call.id, call.name, call.arguments) for call in calls]),
                created_at=answer.at,
                message_id=self._id(answer.key),
            ),
            tool_messages=self._tool_messages(heard, calls),
            provider_payload=_payload(heard.messages),
            evaluation_id=answer.turn_id or self._evaluation_id,
            created_at=answer.at,
            input_messages=self._said(heard.inputs, orphans=number == 1),
        )

    # -- messages -------------------------------------------------------------------------------

    def _said(self, inputs: Iterable[Heard], *, orphans: bool) -> tuple[ConversationMessage, ...]:
        """Make the records of what was said to the model, with results before the first answer."""
        said: list[ConversationMessage] = []
        for heard in inputs:
            results = heard.message.tool_results if orphans else ()
            said += [self._tool_message(heard, result) for result in results]
            if words(heard.message) or not results:
                said.append(self._input(heard))
        return tuple(said)

    def _input(self, heard: Heard) -> ConversationMessage:
        return ConversationMessage(
            "system" if heard.message.role == "system" else "user",
            _text(heard.message.parts),
            created_at=heard.at,
            message_id=self._id(heard.key),
        )

    def _tool_messages(
        self, heard: _Round, calls: Sequence[ToolCall]
    ) -> tuple[ConversationMessage, ...]:
        """Make the tool messages, in the order in which the results stand."""
        found = match(heard.answer.message.tool_calls, [result for _, result in heard.results])
        answered = {at: call for call, at in zip(calls, found, strict=True) if at is not None}
        return tuple(
            [
                self._answering(heard.answer.key, answered[at], each, result)
                if at in answered
                else self._tool_message(each, result)
                for at, (each, result) in enumerate(heard.results)
            ]
        )

    def _answering(
        self, answer: str, call: ToolCall, heard: Heard, result: ToolResult
    ) -> ConversationMessage:
        """Make a tool message that keeps its id and time, whatever its result is framed with."""
        ended = heard.ended or {}
        return ConversationMessage(
            "tool",
            result.text,
            tool_call_id=call.id,
            name=call.name or result.name or None,
            created_at=ended.get(call.position, heard.at),
            message_id=self._id(f"{answer} call {call.position}"),
        )

    def _tool_message(self, heard: Heard, result: ToolResult) -> ConversationMessage:
        return ConversationMessage(
            "tool",
            result.text,
            tool_call_id=result.call_id,
            name=result.name or None,
            created_at=heard.at,
            message_id=self._id(f"{heard.key} result"),
        )

    def _id(self, key: str) -> UUID:
        self._keys[key] += 1
        nth = self._keys[key]
        name = rawjson.dump([self._conversation, key if nth == 1 else f"{key} again {nth}"])
        return uuid5(_NAMESPACE, name.decode())


def _text(parts: Iterable[Part]) -> str:
    """Give what is said, also where it is a refusal."""
    return "".join([part.text for part in parts if isinstance(part, Text | Refusal)])


def _payload(messages: Sequence[Message]) -> dict[str, object] | None:
    """Carry native messages: the dialect, and each message as a string of its JSON."""
    dialects = sorted({message.dialect for message in messages})
    if len(dialects) > 1:
        raise InvalidMessage(
            f"expected one dialect in a round, found {' and '.join(dialects)}; "
            "convert(messages, to) brings them into one"
        )
    if not dialects:
        return None
    return {"dialect": dialects[0], "messages": [message.raw.decode() for message in messages]}
