"""The neutral records: a conversation in plain text, in nobody's words and on nobody's wire.

They are a view. What was really said is in ``provider_payload``, as native messages, each a JSON
string that holds the message's own JSON text. So a payload is plain JSON and yet verbatim:
whoever decodes and encodes it again (a snapshot, another program, PostgreSQL's jsonb) sees a
string, and cannot touch the numbers, the order of keys or the escapes inside. Spliced in as JSON
it would be a little shorter, and the first `json.loads` would rewrite it.

Times are aware and kept in UTC. Turns are numbered from 1 without gaps. Public constructors make
up a time and an id where none are given; reading JSON never does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec.structs import force_setattr

from .. import clock, rawjson
from ..errors import DecodeError, InvalidMessage, InvalidState

__all__ = ["ConversationMessage", "ConversationState", "ConversationTurn", "ToolCallRecord"]


class ToolCallRecord(msgspec.Struct, frozen=True):
    """A call that the assistant made. ``arguments`` is the JSON text as the model wrote it."""

    call_id: str
    name: str
    arguments: str


class ConversationMessage(msgspec.Struct, frozen=True):
    """One message. ``content`` is its text; of an answer without thoughts, of a tool the result.

    ``tool_call_id`` and ``name`` are of tool messages: the call they answer, and its tool.
    """

    role: Literal["system", "assistant", "user", "tool"]
    content: str
    tool_calls: tuple[ToolCallRecord, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    created_at: datetime = msgspec.field(default_factory=clock.now)
    message_id: UUID = msgspec.field(default_factory=clock.new_id)

    def __post_init__(self) -> None:
        if self.role not in _ROLES:
            raise InvalidMessage(f"expected a role among {', '.join(_ROLES)}, found {self.role!r}")
        force_setattr(self, "created_at", _utc(self.created_at))


class ConversationTurn(msgspec.Struct, frozen=True):
    """One round: what was said to the model, its answer, and the results of the tools it called.

    A turn with calls that have fewer tool messages is still under way.
    """

    turn_number: int
    assistant_message: ConversationMessage
    tool_messages: tuple[ConversationMessage, ...] = ()
    provider_payload: Mapping[str, Any] | None = None
    evaluation_id: str = msgspec.field(default_factory=lambda: str(clock.new_id()))
    created_at: datetime = msgspec.field(default_factory=clock.now)
    input_messages: tuple[ConversationMessage, ...] = ()

    def __post_init__(self) -> None:
        if self.turn_number < 1:
            raise InvalidState(
                f"expected turns numbered from 1, found {self.turn_number}", reason="turn_number"
            )
        _expect_role("assistant", self.assistant_message)
        for message in self.tool_messages:
            _expect_role("tool", message)
        force_setattr(self, "created_at", _utc(self.created_at))


@rawjson.prepared
class ConversationState(msgspec.Struct, frozen=True):
    """A whole conversation.

    ``input_messages`` were said since the last answer, and ``provider_payload`` has them as native
    messages; both are empty in a conversation where the model spoke last. ``prompt_digest`` covers
    the words of the prompt, as far as that is known.
    """

    evaluation_id: str
    prompt_ns: str
    prompt_key: str
    system_message: ConversationMessage
    turns: tuple[ConversationTurn, ...] = ()
    created_at: datetime = msgspec.field(default_factory=clock.now)
    state_id: UUID = msgspec.field(default_factory=clock.new_id)
    input_messages: tuple[ConversationMessage, ...] = ()
    provider_payload: Mapping[str, Any] | None = None
    prompt_digest: str = ""

    def __post_init__(self) -> None:
        _expect_role("system", self.system_message)
        for expected, turn in enumerate(self.turns, 1):
            if turn.turn_number != expected:
                raise InvalidState(
                    f"expected turns numbered from 1 without gaps, found {turn.turn_number} "
                    f"in the place of {expected}",
                    reason="turn_number",
                )
        force_setattr(self, "created_at", _utc(self.created_at))

    def to_json(self) -> str:
        """Spell it as JSON, which `from_json` reads back as an equal state.

        Times are ISO 8601 in UTC; arguments and native messages stay the text that they are.
        """
        return rawjson.dump(msgspec.to_builtins(self)).decode()

    @classmethod
    def from_json(cls, data: str | bytes) -> ConversationState:
        """Read what `to_json` spelled.

        Raises `DecodeError` for everything else, also where a time or an id is missing, since
        this would have to make one up. Fields it does not know are left out on purpose: they
        belong to a view, which is made anew from the record; the truth is in the payloads, of
        which everything is kept.
        """
        raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        parsed = rawjson.value(rawjson.compact(raw))
        missing = next(_missing(cls, parsed, "$"), None)
        if missing is not None:
            raise _refused(f"Object missing required field - at `{missing}`", missing)
        try:
            return msgspec.convert(parsed, cls)
        except msgspec.ValidationError as error:
            found = _PATH.search(str(error))
            raise _refused(str(error), found[1] if found else "$") from None


_ROLES = ("system", "assistant", "user", "tool")
_PATH = re.compile(r"`(\$[^`]*)`")

_STAMPS: dict[type, tuple[str, ...]] = {
    ConversationMessage: ("created_at", "message_id"),
    ConversationTurn: ("created_at", "evaluation_id"),
    ConversationState: ("created_at", "state_id"),
}
"""What a constructor makes up and JSON must have."""

_ONE: dict[type, dict[str, type]] = {
    ConversationMessage: {},
    ConversationTurn: {"assistant_message": ConversationMessage},
    ConversationState: {"system_message": ConversationMessage},
}
_MANY: dict[type, dict[str, type]] = {
    ConversationMessage: {},
    ConversationTurn: {
        "tool_messages": ConversationMessage,
        "input_messages": ConversationMessage,
    },
    ConversationState: {
        "turns": ConversationTurn,
        "input_messages": ConversationMessage,
    },
}
"""Which records stand in which, alone and in lists."""


def _utc(at: datetime) -> datetime:
    if at.utcoffset() is None:
        raise InvalidMessage(
            f"expected a time with its zone, found {at.isoformat()}; "
            "datetime.now(UTC) is one, and .replace(tzinfo=…) makes one"
        )
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise InvalidMessage(f"expected a time that UTC knows, found {at.isoformat()}") from None


def _expect_role(role: str, message: ConversationMessage) -> None:
    if message.role != role:
        raise InvalidMessage(f"expected a message of role {role}, found {message.role}")


def _missing(kind: type, raw: object, path: str) -> Iterator[str]:
    """Find the stamps that are not there. What has another shape is left to msgspec."""
    if not isinstance(raw, dict):
        return
    for name in _STAMPS[kind]:
        if name not in raw:
            yield f"{path}.{name}"
    for name, inner in _ONE[kind].items():
        yield from _missing(inner, raw.get(name), f"{path}.{name}")
    for name, inner in _MANY[kind].items():
        below = raw.get(name)
        for index, item in enumerate(below if isinstance(below, list) else ()):
            yield from _missing(inner, item, f"{path}.{name}[{index}]")


def _refused(detail: str, path: str) -> DecodeError:
    return DecodeError(
        f"expected a conversation state: {detail}; take it from ConversationState.to_json()",
        reason="corrupt_state",
        path=path,
    )
