"""From a state back to messages, in the same dialect and in another."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from hansard.dialects.registry import dialect
from hansard.errors import DecodeError, Invalid, UnknownDialect
from hansard.messages import Text, Thought, ToolCall, ToolResult, assistant, user
from hansard.neutral import (
    ConversationMessage,
    ConversationState,
    ConversationTurn,
    ToolCallRecord,
    conversation_state,
    resume,
    state_messages,
    state_of_messages,
)
from tests.unit.neutral.recording import Recording

if TYPE_CHECKING:
    from hansard.messages import Message

CHAT, ANTHROPIC, GEMINI = dialect("openai"), dialect("anthropic"), dialect("gemini")
AT = datetime(2024, 2, 29, tzinfo=UTC)
SIGNED = assistant(Thought("hm", "c2ln"), Text("Looking."), ToolCall("c1", "f", '{"q":1.50}'))


def conversation() -> list[Message]:
    """Say two rounds in Anthropic's words, with words of the user among the results."""
    (asked,) = ANTHROPIC.say(SIGNED)
    (call,) = asked.tool_calls
    words = [message.raw for message in ANTHROPIC.say(user("be brief"))]
    framed = ANTHROPIC.frame([ANTHROPIC.result(call, call.answer("found"))], words)
    return [
        *ANTHROPIC.say(user("hi")),
        asked,
        *[ANTHROPIC.message(raw) for raw in framed],
        *ANTHROPIC.say(assistant(Thought("so", "c2ln"), Text("Done."))),
        *ANTHROPIC.say(user("thanks")),
    ]


def state() -> ConversationState:
    """View that conversation."""
    return state_of_messages(conversation(), conversation="c", at=AT)


def without_payload(whole: ConversationState, *numbers: int) -> ConversationState:
    """Take the native messages out of some turns."""
    turns = [
        replace(turn, provider_payload=None) if turn.turn_number in numbers else turn
        for turn in whole.turns
    ]
    return replace(whole, turns=tuple(turns))


class TestTheSameDialect:
    def test_it_goes_on_with_the_very_same_messages(self) -> None:
        resumed = resume(state(), ANTHROPIC)
        assert resumed.messages == tuple(conversation())
        assert not resumed.report

    def test_a_waiting_round_goes_on_with_the_results_it_has(self) -> None:
        made = Recording(ANTHROPIC)
        made.begin("t1")
        made.said("hi")
        answer = made.answered(assistant(ToolCall("c1", "f"), ToolCall("c2", "g")))
        made.ended(answer, 1, "found")
        for to in (ANTHROPIC, CHAT):
            resumed = resume(conversation_state(made.record), to)
            assert [message.role for message in resumed.messages] == ["user", "assistant", "tool"]
            assert resumed.messages[-1].tool_call_id == "c2"
            assert not resumed.repairs

    def test_nothing_that_was_said_before_a_result_is_said_once(self) -> None:
        hi, asked, framed, *_ = conversation()
        empty = ANTHROPIC.message(b'{"role":"user","content":""}')
        said = (hi, asked, empty, framed)
        whole = state_of_messages(said, conversation="c", at=AT)
        assert state_messages(whole) == said
        assert resume(whole, ANTHROPIC).messages == said


class TestAnotherDialect:
    def test_it_goes_on_with_a_report(self) -> None:
        resumed = resume(state(), CHAT)
        assert [message.role for message in resumed.messages] == [
            *["user", "assistant", "tool", "user", "assistant", "user"]
        ]
        assert [(loss.message, loss.part) for loss in resumed.report] == [
            *[(1, "thought"), (3, "thought")]
        ]


class TestWithoutNativeMessages:
    def test_a_state_made_by_hand_is_said_from_its_records(self) -> None:
        call = ToolCallRecord("c1", "search", '{"q": 1.50}')
        answer = ConversationMessage("assistant", "Looking.", (call,))
        found = ConversationMessage("tool", "found", tool_call_id="c1", name="search")
        asked = (ConversationMessage("user", "hi"),)
        by_hand = ConversationState(
            "e",
            "ns",
            "key",
            ConversationMessage("system", "S"),
            (ConversationTurn(1, answer, (found,), {"id": "resp_1"}, input_messages=asked),),
        )
        resumed = resume(by_hand, GEMINI)
        assert not resumed.report
        assert [message.role for message in resumed.messages] == ["user", "assistant", "tool"]
        (said,) = resumed.messages[1].tool_calls
        assert (said.id, said.name, said.arguments) == ("c1", "search", '{"q":1.50}')
        (result,) = resumed.messages[2].tool_results
        assert result == ToolResult("c1", "search", (Text("found"),))
        with pytest.raises(Invalid, match="turn 1, found none"):
            state_messages(by_hand)

    def test_messages_of_a_dialect_that_nobody_knows_here_are_said_from_the_records(self) -> None:
        raw = state().to_json().replace('"dialect":"anthropic"', '"dialect":"gone"')
        gone = ConversationState.from_json(raw)
        resumed = resume(gone, CHAT)
        assert [message.text for message in resumed.messages] == [
            *["hi", "Looking.", "", "be brief", "Done.", "thanks"]
        ]
        reasons = [loss.reason for loss in resumed.report]
        assert len(reasons) == 3
        assert reasons[0].startswith("only the text and the calls of turn 1 are known")
        with pytest.raises(UnknownDialect):
            state_messages(gone)

    @pytest.mark.parametrize(
        "payload",
        [
            {"dialect": "anthropic", "messages": ["{"]},
            {"dialect": "anthropic", "messages": ["[]"]},
            {"dialect": "anthropic", "messages": [{"role": "user"}]},
            {"dialect": "anthropic", "messages": "{}"},
            {"dialect": None, "messages": []},
            {"dialect": "anthropic", "messages": ['"\ud800"']},
        ],
        ids=range(6),
    )
    def test_native_messages_that_cannot_be_read_cost_only_their_turn(
        self, payload: dict[str, object]
    ) -> None:
        first, second = state().turns
        broken = replace(state(), turns=(first, replace(second, provider_payload=payload)))
        resumed = resume(broken, ANTHROPIC)
        assert resumed.messages[:3] == tuple(conversation()[:3])
        assert resumed.messages[3].text == "Done."
        assert resumed.messages[4] == conversation()[4]
        assert [(loss.message, loss.part) for loss in resumed.report] == [(3, "message")]
        with pytest.raises(DecodeError):
            state_messages(broken)

    @pytest.mark.parametrize("numbers", [(1,), (2,), (1, 2)])
    def test_what_was_said_among_results_is_said_once(self, numbers: tuple[int, ...]) -> None:
        resumed = resume(without_payload(state(), *numbers), ANTHROPIC)
        spoken = "".join(
            [message.text for message in resumed.messages if message.role != "assistant"]
        )
        assert spoken == "hibe briefthanks"

    def test_what_was_said_among_results_and_is_not_answered_is_said_once(self) -> None:
        whole = state_of_messages(conversation()[:3], conversation="c", at=AT)
        assert [each.content for each in whole.input_messages] == ["be brief"]
        assert whole.provider_payload is None
        assert state_messages(whole) == tuple(conversation()[:3])
        assert resume(whole, ANTHROPIC).messages == tuple(conversation()[:3])
        spoken = [message.text for message in resume(without_payload(whole, 1), CHAT).messages]
        assert spoken.count("be brief") == 1

    def test_the_same_words_said_again_are_said_again(self) -> None:
        later = [
            *[*ANTHROPIC.say(assistant("again")), *ANTHROPIC.say(user("again"))],
            *[*ANTHROPIC.say(assistant("Yes.")), *ANTHROPIC.say(user("be brief"))],
            *ANTHROPIC.say(assistant("No.")),
        ]
        whole = state_of_messages([*conversation()[:3], *later], conversation="c", at=AT)
        for numbers in [(2, 3), (3, 4), (2, 3, 4), (4,)]:
            resumed = resume(without_payload(whole, *numbers), ANTHROPIC)
            spoken = [message.text for message in resumed.messages if message.role != "assistant"]
            assert "".join(spoken) == "hibe briefagainbe brief"
