"""The neutral records: what they take, what they refuse, and their JSON."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Literal
from uuid import UUID

import pytest
from msgspec.structs import replace

from hansard.errors import DecodeError, Invalid, InvalidMessage, InvalidState
from hansard.neutral import (
    ConversationMessage,
    ConversationState,
    ConversationTurn,
    ToolCallRecord,
)

if TYPE_CHECKING:
    from collections.abc import Callable

AT = datetime(2024, 2, 29, 12, 30, 0, 250, tzinfo=UTC)
ONE = UUID("11111111-2222-4333-8444-555555555555")
NATIVE = '{"role":"user","zz":1e5,"n":1.50,"content":"\\ud800","big":18446744073709551616}'


CALL = ToolCallRecord("c1", "search", '{"b": 1.50, "a": 1e5}')


def said(role: Literal["system", "assistant", "user"], content: str = "hi") -> ConversationMessage:
    """Make a message at a known time."""
    return ConversationMessage(role, content, created_at=AT, message_id=ONE)


ASKED = replace(said("assistant", "looking"), tool_calls=(CALL,))
FOUND = ConversationMessage("tool", "found \ud800", (), "c1", "search", AT, ONE)


def turn(number: int = 1) -> ConversationTurn:
    """Make a round with one call and its result, at a known time."""
    return ConversationTurn(number, ASKED, (FOUND,), None, "e", AT)


def state(*turns: ConversationTurn) -> ConversationState:
    """Make a state at a known time."""
    return ConversationState("e", "ns", "key", said("system", "Be terse."), turns, AT, ONE)


PAYLOAD = {"dialect": "openai", "messages": [NATIVE], "more": {"b": 1, "a": 2}}
FULL = replace(
    state(
        replace(turn(1), provider_payload=PAYLOAD),
        replace(turn(2), input_messages=(said("user"), said("system"))),
    ),
    input_messages=(said("user", "and now?"),),
)


class TestMaking:
    def test_a_message_without_time_and_id_is_given_both(self) -> None:
        one, other = ConversationMessage("user", "a"), ConversationMessage("user", "a")
        assert one.created_at.tzinfo is UTC
        assert one.message_id != other.message_id
        assert one.created_at <= other.created_at

    def test_turns_and_states_are_given_theirs_too(self) -> None:
        made = ConversationTurn(1, said("assistant"))
        assert made.created_at.tzinfo is UTC
        assert UUID(made.evaluation_id).version == 4
        bare = ConversationState("e", "ns", "key", said("system"))
        assert bare.created_at.tzinfo is UTC
        assert bare.state_id != ConversationState("e", "ns", "key", said("system")).state_id

    def test_the_fields_of_a_message_are_those_of_the_seed_in_their_order(self) -> None:
        made = ConversationMessage("tool", "a", (CALL,), "c", "f", AT, ONE)
        assert (made.role, made.content, made.tool_calls) == ("tool", "a", (CALL,))
        assert (made.tool_call_id, made.name) == ("c", "f")
        assert (made.created_at, made.message_id) == (AT, ONE)

    def test_a_time_of_another_zone_is_kept_as_the_same_instant_in_utc(self) -> None:
        zone = timezone(timedelta(hours=5, minutes=45))
        made = ConversationMessage("user", "a", created_at=AT.astimezone(zone))
        assert made.created_at == AT
        assert made.created_at.tzinfo is UTC

    @pytest.mark.parametrize(
        "make",
        [
            lambda at: ConversationMessage("user", "a", created_at=at),
            lambda at: ConversationTurn(1, ASKED, created_at=at),
            lambda at: ConversationState("e", "ns", "key", said("system"), created_at=at),
            lambda at: replace(FULL, created_at=at),
        ],
        ids=["message", "turn", "state", "replaced"],
    )
    def test_a_time_without_a_zone_is_refused(self, make: Callable[[datetime], object]) -> None:
        with pytest.raises(InvalidMessage, match="expected a time with its zone"):
            make(datetime(2024, 2, 29))  # noqa: DTZ001 - that is what is refused

    def test_a_time_outside_of_what_utc_can_say_is_refused(self) -> None:
        first = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))
        with pytest.raises(InvalidMessage, match="UTC"):
            ConversationMessage("user", "a", created_at=first)

    def test_a_role_that_nobody_has_is_refused(self) -> None:
        with pytest.raises(InvalidMessage, match="robot"):
            ConversationMessage("robot", "a")  # type: ignore[arg-type]

    @pytest.mark.parametrize("numbers", [(2,), (1, 3), (1, 1), (2, 1)])
    def test_turns_with_gaps_are_refused(self, numbers: tuple[int, ...]) -> None:
        with pytest.raises(InvalidState, match="without gaps"):
            state(*[turn(number) for number in numbers])

    @pytest.mark.parametrize("number", [0, -1])
    def test_a_turn_is_numbered_from_one(self, number: int) -> None:
        with pytest.raises(InvalidState, match="from 1"):
            turn(number)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: ConversationTurn(1, said("user")),
            lambda: ConversationTurn(1, said("assistant"), (said("user"),)),
            lambda: ConversationState("e", "ns", "key", said("user")),
        ],
        ids=["answer", "result", "system"],
    )
    def test_a_message_in_the_place_of_another_role_is_refused(
        self, make: Callable[[], object]
    ) -> None:
        with pytest.raises(InvalidMessage, match="expected a message of role"):
            make()

    def test_records_are_frozen_and_can_be_copied_and_pickled(self) -> None:
        with pytest.raises(AttributeError):
            FULL.turns = ()  # type: ignore[misc]
        assert copy.deepcopy(FULL) == FULL
        assert pickle.loads(pickle.dumps(FULL)) == FULL  # noqa: S301 - made on this line


class TestJSON:
    def test_what_was_spelled_is_read_as_equal(self) -> None:
        assert ConversationState.from_json(FULL.to_json()) == FULL
        assert ConversationState.from_json(FULL.to_json().encode()) == FULL

    def test_times_are_iso_8601_and_arguments_the_text_that_they_were(self) -> None:
        parsed = json.loads(FULL.to_json())
        assert parsed["created_at"] == "2024-02-29T12:30:00.000250Z"
        call = parsed["turns"][0]["assistant_message"]["tool_calls"][0]
        assert call["arguments"] == '{"b": 1.50, "a": 1e5}'

    def test_native_messages_survive_whoever_decodes_and_encodes_the_json_again(self) -> None:
        elsewhere = json.dumps(json.loads(FULL.to_json()), sort_keys=True, indent=2)
        again = ConversationState.from_json(elsewhere)
        assert again == FULL
        payload = again.turns[0].provider_payload
        assert payload is not None
        assert payload["messages"] == [NATIVE]

    def test_half_a_surrogate_pair_in_a_text_is_kept(self) -> None:
        again = ConversationState.from_json(FULL.to_json())
        assert again.turns[0].tool_messages[0].content == "found \ud800"

    def test_fields_nobody_knows_are_left_out_but_those_of_a_payload_kept(self) -> None:
        parsed = json.loads(FULL.to_json())
        parsed["zz_new"] = parsed["turns"][0]["zz_new"] = 1
        parsed["turns"][0]["provider_payload"]["zz_new"] = {"kept": [True]}
        again = ConversationState.from_json(json.dumps(parsed))
        payload = again.turns[0].provider_payload
        assert payload is not None
        assert payload["zz_new"] == {"kept": [True]}
        assert "zz_new" not in json.loads(again.to_json())

    def test_what_may_be_left_out_is_read_as_nothing(self) -> None:
        parsed = json.loads(state().to_json())
        for name in ("turns", "input_messages", "provider_payload"):
            del parsed[name]
        del parsed["system_message"]["tool_calls"]
        assert ConversationState.from_json(json.dumps(parsed)) == state()


def changed(*path: str | int, to: object) -> str:
    """Spell `FULL` with one value changed; ``...`` takes it out."""
    parsed = json.loads(FULL.to_json())
    at = parsed
    for step in path[:-1]:
        at = at[step]
    if to is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = to
    return json.dumps(parsed)


MALFORMED: list[tuple[str | bytes, str, str]] = [
    ("", "not_json", ""),
    ("{", "not_json", ""),
    ("{}{}", "not_json", ""),
    (b"\xff", "not_utf8", ""),
    ('"\ud800"', "not_utf8", ""),
    ("[" * 300 + "]" * 300, "too_deep", ""),
    ("null", "corrupt_state", "$"),
    ("[]", "corrupt_state", "$"),
    ('"state"', "corrupt_state", "$"),
    ("{}", "corrupt_state", "$.created_at"),
    (changed("prompt_ns", to=...), "corrupt_state", "$"),
    (changed("prompt_key", to=5), "corrupt_state", "$.prompt_key"),
    (changed("evaluation_id", to=None), "corrupt_state", "$.evaluation_id"),
    (changed("state_id", to=...), "corrupt_state", "$.state_id"),
    (changed("state_id", to="one"), "corrupt_state", "$.state_id"),
    (changed("created_at", to="yesterday"), "corrupt_state", "$.created_at"),
    (changed("created_at", to="2024-02-29T12:30:00"), "corrupt_state", "$"),
    (changed("created_at", to="0001-01-01T00:00:00+05:00"), "corrupt_state", "$"),
    (changed("created_at", to=1709209800), "corrupt_state", "$.created_at"),
    (changed("system_message", to=...), "corrupt_state", "$"),
    (changed("system_message", "role", to="user"), "corrupt_state", "$"),
    (changed("system_message", "role", to="robot"), "corrupt_state", "$.system_message.role"),
    (changed("system_message", "content", to=None), "corrupt_state", "$.system_message.content"),
    (changed("turns", to={}), "corrupt_state", "$.turns"),
    (changed("turns", 0, to=None), "corrupt_state", "$.turns[0]"),
    (changed("turns", 0, to=...), "corrupt_state", "$"),
    (changed("turns", 0, "turn_number", to=2), "corrupt_state", "$"),
    (changed("turns", 0, "turn_number", to=0), "corrupt_state", "$.turns[0]"),
    (changed("turns", 0, "turn_number", to="1"), "corrupt_state", "$.turns[0].turn_number"),
    (changed("turns", 0, "created_at", to=...), "corrupt_state", "$.turns[0].created_at"),
    (changed("turns", 0, "evaluation_id", to=...), "corrupt_state", "$.turns[0].evaluation_id"),
    (changed("turns", 0, "assistant_message", to=...), "corrupt_state", "$.turns[0]"),
    (
        changed("turns", 1, "input_messages", 1, "message_id", to=...),
        "corrupt_state",
        "$.turns[1].input_messages[1].message_id",
    ),
    (
        changed("turns", 0, "tool_messages", 0, "tool_call_id", to=7),
        "corrupt_state",
        "$.turns[0].tool_messages[0].tool_call_id",
    ),
    (
        changed("turns", 0, "assistant_message", "tool_calls", 0, "arguments", to={}),
        "corrupt_state",
        "$.turns[0].assistant_message.tool_calls[0].arguments",
    ),
    (
        changed("turns", 0, "provider_payload", to=[]),
        "corrupt_state",
        "$.turns[0].provider_payload",
    ),
    (changed("input_messages", to="hello"), "corrupt_state", "$.input_messages"),
]


@pytest.mark.parametrize(("data", "reason", "path"), MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_json_raises_one_typed_error_that_says_where(
    data: str | bytes, reason: str, path: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        ConversationState.from_json(data)
    assert (caught.value.reason, caught.value.path) == (reason, path)
    assert not isinstance(caught.value, Invalid)
