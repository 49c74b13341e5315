"""The neutral view of a record, and of native messages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from hansard.dialects.openai_chat import OpenAIChat
from hansard.dialects.registry import dialect
from hansard.errors import InvalidMessage
from hansard.messages import Refusal, Text, Thought, ToolCall, assistant, image, system, user
from hansard.neutral import (
    ConversationMessage,
    ConversationState,
    conversation_state,
    state_messages,
    state_of_messages,
)
from hansard.record.context import curated
from hansard.record.entries import PromptIdentity
from hansard.record.record import Record
from tests.unit.neutral.recording import Recording, time_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

CHAT, ANTHROPIC, GEMINI = dialect("openai"), dialect("anthropic"), dialect("gemini")
DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")
PROMPT = PromptIdentity("support", "answer", "digest")
CALLS = assistant("Looking.", ToolCall("c1", "search", '{"q": 1.50}'), ToolCall("c2", "book"))


def two_turns(name: str) -> Recording:
    """Record a turn with a round of two calls, and one that was begun."""
    made = Recording(dialect(name))
    made.begin("t1", PROMPT)
    made.said("hi")
    answer = made.answered(CALLS)
    made.ended(answer, 1, "booked")
    made.said("be brief", "append")
    made.ended(answer, 0, "found")
    made.answered(assistant("Done."))
    made.end()
    made.begin("t2")
    made.said("thanks")
    return made


def records(state: ConversationState) -> list[ConversationMessage]:
    """Give all messages of a state, the system's first."""
    return [
        state.system_message,
        *[
            each
            for turn in state.turns
            for each in (*turn.input_messages, turn.assistant_message, *turn.tool_messages)
        ],
        *state.input_messages,
    ]


@pytest.mark.parametrize("name", DIALECTS)
class TestARecord:
    def test_every_answer_is_a_turn_with_what_led_to_it_and_what_its_tools_gave(
        self, name: str
    ) -> None:
        state = conversation_state(two_turns(name).record, system="Be terse.")
        first, second = state.turns
        assert state.system_message.content == "Be terse."
        assert [(each.role, each.content) for each in first.input_messages] == [("user", "hi")]
        assert first.assistant_message.content == "Looking."
        asked = first.assistant_message.tool_calls
        assert [(call.call_id, call.name) for call in asked] == [("c1", "search"), ("c2", "book")]
        assert [(each.tool_call_id, each.name, each.content) for each in first.tool_messages] == [
            ("c1", "search", "found"),
            ("c2", "book", "booked"),
        ]
        assert [each.content for each in second.input_messages] == ["be brief"]
        assert (second.assistant_message.content, second.tool_messages) == ("Done.", ())
        assert [each.content for each in state.input_messages] == ["thanks"]

    def test_times_are_those_of_the_entries(self, name: str) -> None:
        state = conversation_state(two_turns(name).record)
        first, second = state.turns
        assert first.input_messages[0].created_at == time_of(1)
        assert state.created_at == state.system_message.created_at == time_of(0)
        assert first.created_at == first.assistant_message.created_at == time_of(2)
        assert [each.created_at for each in first.tool_messages] == [time_of(5), time_of(3)]
        assert [each.created_at for each in second.input_messages] == [time_of(4)]
        assert state.input_messages[0].created_at == time_of(9)

    def test_the_same_record_always_gives_the_same_view(self, name: str) -> None:
        one, other = (conversation_state(two_turns(name).record) for _ in range(2))
        assert one == other
        ids = [each.message_id for each in records(one)]
        assert len(set(ids)) == len(ids)

    def test_a_message_keeps_its_id_and_its_time_while_the_record_grows(self, name: str) -> None:
        seen: dict[tuple[str, str | None, str], tuple[UUID, datetime]] = {}
        made = two_turns(name)
        for stage in made.stages[1:]:
            for each in records(conversation_state(stage)):
                key = (each.role, each.tool_call_id, each.content)
                stamp = (each.message_id, each.created_at)
                assert seen.setdefault(key, stamp) == stamp
        assert len(seen) == len(records(conversation_state(made.record)))

    def test_a_round_that_waits_is_shown_with_the_results_it_has(self, name: str) -> None:
        waiting = two_turns(name).stages[5]
        assert [call.id for call in waiting.pending] == ["c1"]
        state = conversation_state(waiting)
        (turn,) = state.turns
        assert [(each.tool_call_id, each.content) for each in turn.tool_messages] == [
            ("c2", "booked")
        ]
        assert [each.content for each in state.input_messages] == ["be brief"]
        assert state.provider_payload is not None

    def test_so_is_what_was_said_while_it_waits(self, name: str) -> None:
        made = Recording(dialect(name))
        made.begin("t1")
        answer = made.answered(CALLS)
        made.said("one moment", "append")
        made.unknown(answer, 0)
        state = conversation_state(made.record)
        assert state.turns[0].tool_messages == ()
        assert [each.content for each in state.input_messages] == ["one moment"]
        assert [message.text for message in state_messages(state)][1:] == ["one moment"]

    def test_an_outcome_that_came_too_late_is_not_when_its_call_ended(self, name: str) -> None:
        made = Recording(dialect(name))
        made.begin("t1")
        answer = made.answered(CALLS)
        made.ended(answer, 1, "booked")
        ended = made.end("failed")
        made.ended(answer, 0, "late")
        (turn,) = conversation_state(made.record).turns
        assert [each.created_at for each in turn.tool_messages] == [time_of(ended), time_of(2)]
        assert "late" not in turn.tool_messages[0].content

    def test_all_payloads_together_are_the_conversation(self, name: str) -> None:
        record = two_turns(name).record
        state = conversation_state(record)
        lines = [line.raw for line in curated(record.context)]
        assert [message.raw for message in state_messages(state)] == lines

    def test_compaction_changes_nothing(self, name: str) -> None:
        made = two_turns(name)
        before = conversation_state(made.record)
        made.answered(assistant("Bye."))
        made.end()
        made.compact(0, 8, "They looked and booked.")
        after = conversation_state(made.record)
        assert after.turns[:2] == before.turns
        assert after.turns[2].assistant_message.content == "Bye."

    def test_a_turn_that_came_to_nothing_is_not_in_it(self, name: str) -> None:
        made = two_turns(name)
        made.end("failed")
        state = conversation_state(made.record)
        assert state.input_messages == ()
        assert state.provider_payload is None
        assert state.turns == conversation_state(two_turns(name).record).turns


def test_words_that_a_dialect_adds_to_results_are_of_the_time_of_the_frame() -> None:
    class Remarking(OpenAIChat):
        """Says something after the results."""

        name = "remarking"

        def frame(
            self, fragments: Sequence[bytes], then: Sequence[bytes] = ()
        ) -> tuple[bytes, ...]:
            remark = b'{"role":"user","content":"These are the results."}'
            return (*super().frame(fragments), remark, *then)

    made = Recording(Remarking())
    made.begin("t1")
    answer = made.answered(assistant(ToolCall("c1", "f")))
    ended = made.ended(answer, 0, "found")
    made.said("and then?")
    remark, words = conversation_state(made.record).input_messages
    assert (remark.content, remark.created_at) == ("These are the results.", time_of(ended))
    assert (words.content, words.created_at) == ("and then?", time_of(ended + 1))
    assert remark.message_id != words.message_id


class TestIdentity:
    def test_the_prompt_is_that_of_the_last_turn_which_names_one(self) -> None:
        state = conversation_state(two_turns("openai").record)
        assert (state.prompt_ns, state.prompt_key) == ("support", "answer")

    def test_another_prompt_may_be_given(self) -> None:
        other = PromptIdentity("sales", "offer")
        state = conversation_state(two_turns("openai").record, prompt=other)
        assert (state.prompt_ns, state.prompt_key) == ("sales", "offer")

    def test_turns_carry_the_id_of_the_turn_on_the_record(self) -> None:
        state = conversation_state(two_turns("openai").record)
        assert state.evaluation_id == "conversation"
        assert [turn.evaluation_id for turn in state.turns] == ["t1", "t1"]
        given = conversation_state(two_turns("openai").record, evaluation_id="e")
        assert given.evaluation_id == "e"

    def test_other_conversations_have_other_ids(self) -> None:
        one = conversation_state(Record("one", CHAT))
        other = conversation_state(Record("other \ud800", CHAT))
        assert one.state_id != other.state_id
        assert one.system_message.message_id != other.system_message.message_id

    def test_an_empty_record_is_an_empty_state(self) -> None:
        state = conversation_state(Record("conversation", CHAT))
        assert state.turns == ()
        assert state.input_messages == ()
        assert state.created_at == datetime(1970, 1, 1, tzinfo=UTC)
        assert state_messages(state) == ()


class TestMessages:
    AT = datetime(2024, 2, 29, tzinfo=UTC)

    def test_a_refusal_is_what_the_assistant_said_and_a_thought_is_not(self) -> None:
        said = CHAT.compose(assistant(Thought("hm"), Text("Well. "), Refusal("No."))).messages
        messages = [CHAT.message(raw) for raw in said]
        state = state_of_messages(messages, conversation="c", at=self.AT)
        assert state.turns[0].assistant_message.content == "Well. No."

    def test_a_message_without_words_has_a_record_too(self) -> None:
        messages = CHAT.say(user(image(b"x", "image/png")))
        state = state_of_messages(messages, conversation="c", at=self.AT)
        assert [(each.role, each.content) for each in state.input_messages] == [("user", "")]

    def test_a_system_message_in_the_middle_keeps_its_role(self) -> None:
        messages = [*CHAT.say(assistant("a")), *CHAT.say(system("S"))]
        state = state_of_messages(messages, conversation="c", at=self.AT)
        assert [each.role for each in state.input_messages] == ["system"]

    def test_calls_without_ids_are_given_some_that_their_results_share(self) -> None:
        asked = (
            b'{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},'
            b'{"functionCall":{"name":"f","args":{"n":1.50}}}]}'
        )
        gave = (
            b'{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":"1"}}},'
            b'{"functionResponse":{"name":"f","response":{"result":"2"}}}]}'
        )
        messages = [GEMINI.message(asked), GEMINI.message(gave)]
        (turn,) = state_of_messages(messages, conversation="c", at=self.AT).turns
        made = [call.call_id for call in turn.assistant_message.tool_calls]
        assert made == ["call_1_0", "call_1_1"]
        assert turn.assistant_message.tool_calls[1].arguments == '{"n":1.50}'
        assert [each.tool_call_id for each in turn.tool_messages] == made

    def test_a_result_before_any_answer_is_an_input(self) -> None:
        messages = [CHAT.message(b'{"role":"tool","tool_call_id":"c9","content":"late"}')]
        state = state_of_messages(messages, conversation="c", at=self.AT)
        (record,) = state.input_messages
        assert (record.role, record.tool_call_id, record.content) == ("tool", "c9", "late")
        answered = [*messages, *CHAT.say(assistant("ok"))]
        state = state_of_messages(answered, conversation="c", at=self.AT)
        assert state.turns[0].input_messages == (record,)

    def test_results_in_one_message_have_ids_of_their_own(self) -> None:
        result = b'{"type":"tool_result","tool_use_id":"c9","content":"late"}'
        message = ANTHROPIC.message(b'{"role":"user","content":[%b,%b]}' % (result, result))
        one, other = state_of_messages([message], conversation="c", at=self.AT).input_messages
        assert one.message_id != other.message_id

    def test_a_round_in_two_dialects_is_refused(self) -> None:
        messages = [*CHAT.say(user("hi")), *ANTHROPIC.say(assistant("ok"))]
        with pytest.raises(InvalidMessage, match="anthropic and openai"):
            state_of_messages(messages, conversation="c", at=self.AT)

    def test_rounds_in_different_dialects_are_not(self) -> None:
        messages = [*CHAT.say(assistant("a")), *ANTHROPIC.say(user("hi"))]
        state = state_of_messages(messages, conversation="c", at=self.AT)
        assert state_messages(state) == tuple(messages)
