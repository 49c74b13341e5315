"""From a neutral state back to messages: the very same, or in the words of another dialect."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from ..dialects.dialect import Loss, name_of
from ..dialects.registry import dialect as registered
from ..errors import DecodeError, Invalid, UnknownDialect
from ..messages import Draft, Message, Text, ToolCall, ToolResult
from .convert import Converted, LossReport, convert
from .rounds import is_input

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..dialects.dialect import Dialect
    from ..messages import Part
    from .exchanges import Source
    from .records import ConversationMessage, ConversationState

__all__ = ["resume", "state_messages"]


def state_messages(state: ConversationState) -> tuple[Message, ...]:
    """Give the native messages that a state carries, byte for byte, each in its own dialect.

    Raises `Invalid` where a turn carries none, `UnknownDialect` or `DecodeError` where they
    cannot be read; `resume` then goes by the neutral records.
    """
    messages: list[Message] = []
    carried = _Carried()
    for stretch in _stretches(state):
        native = _native(stretch.payload, None)
        if native:
            carried.take_native(stretch, native)
        elif carried.unsaid(stretch):
            raise Invalid(
                f"expected native messages in the payload of {stretch.name}, found none; "
                "resume(state, dialect) says its records anew"
            )
        messages += native
    return tuple(messages)


def resume(state: ConversationState, dialect: Dialect) -> Converted:
    """Give the messages with which a conversation goes on in a dialect, without the system text.

    In the dialect that the state carries, these are the very same messages and nothing is lost.
    Of a turn that carries no native messages, or none that can be read here, the neutral records
    are said. Calls that wait for results are left open.
    """
    carried = _Carried()
    for stretch in _stretches(state):
        try:
            native = _native(stretch.payload, dialect)
        except (DecodeError, UnknownDialect) as error:
            reason = f"only the text and the calls of {stretch.name} are known: {error}"
            carried.losses.append(Loss(len(carried.sources), name_of("message"), reason))
            native = []
        if native:
            carried.take_native(stretch, native)
        else:
            carried.take_records(stretch)
    converted = convert(carried.sources, dialect, pending=True)
    report = sorted([*carried.losses, *converted.report], key=lambda loss: loss.message)
    return replace(converted, report=LossReport(report))


# -- what a state carries -------------------------------------------------------------------------

_Payload: TypeAlias = "Mapping[str, Any] | None"


class _Stretch(NamedTuple):
    """A turn, or at the end what nobody has answered."""

    name: str
    payload: _Payload
    inputs: tuple[ConversationMessage, ...]
    round: tuple[ConversationMessage, ...] = ()


def _stretches(state: ConversationState) -> Iterator[_Stretch]:
    for turn in state.turns:
        said = (turn.assistant_message, *turn.tool_messages)
        name = f"turn {turn.turn_number}"
        yield _Stretch(name, turn.provider_payload, turn.input_messages, said)
    yield _Stretch("the last input", state.provider_payload, state.input_messages)


class _Carried:
    """What is to be said, stretch by stretch: messages where there are any, else records.

    What was said among the results of a round has its record in the next one, but its message in
    that round. Where only one of the two goes by its messages, it is said once all the same.
    """

    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.losses: list[Loss] = []
        self._native = True
        self._among_results: list[str] = []

    def take_native(self, stretch: _Stretch, native: Sequence[Message]) -> None:
        """Say a stretch in its own messages."""
        before = list(takewhile(lambda message: message.role != "assistant", native))
        if not self._native:
            self._say(stretch.inputs[: max(0, len(stretch.inputs) - len(before))])
        self.sources += native
        self._native = True
        after = native[len(before) + 1 :]
        self._among_results = [message.text for message in after if is_input(message)]

    def take_records(self, stretch: _Stretch) -> None:
        """Say a stretch by its records."""
        self._say(self.unsaid(stretch))
        self._native = False
        self._among_results = []

    def unsaid(self, stretch: _Stretch) -> list[ConversationMessage]:
        """Give the records of a stretch, but for what was said among the results before."""
        inputs = list(stretch.inputs)
        for text in self._among_results:
            if inputs and inputs[0].content == text:
                del inputs[0]
        return [*inputs, *stretch.round]

    def _say(self, records: Iterable[ConversationMessage]) -> None:
        self.sources += [draft for record in records for draft in _drafts(record)]


def _is_native(payload: _Payload) -> bool:
    """Whether a payload has native messages, and is not something else that a caller put there."""
    return payload is not None and {"dialect", "messages"} <= payload.keys()


def _native(payload: _Payload, known: Dialect | None) -> list[Message]:
    """Read the native messages of a payload; none where it has none."""
    if payload is None or not _is_native(payload):
        return []
    name, texts = payload["dialect"], payload["messages"]
    if not isinstance(name, str) or not isinstance(texts, list | tuple):
        raise _refused(f"a dialect and a list, found {type(name).__name__}, {type(texts).__name__}")
    speaks = known if known is not None and known.name == name else registered(name)
    messages: list[Message] = []
    for text in texts:
        if not isinstance(text, str):
            raise _refused(f"messages as strings of JSON, found {type(text).__name__}")
        messages.append(speaks.message(text.encode("utf-8", "surrogatepass")))
    return messages


def _refused(found: str) -> DecodeError:
    return DecodeError(f"expected in provider_payload {found}", reason="corrupt_payload")


def _drafts(record: ConversationMessage) -> list[Draft]:
    """Say a neutral record: its text, its calls, or the result that it is."""
    text = (Text(record.content),) if record.content else ()
    parts: tuple[Part, ...] = text
    if record.role == "tool":
        parts = (ToolResult(record.tool_call_id or "", record.name or "", text),)
    for position, call in enumerate(record.tool_calls):
        parts = (*parts, ToolCall(call.call_id, call.name, call.arguments, position))
    return [Draft(record.role, parts)] if parts else []
