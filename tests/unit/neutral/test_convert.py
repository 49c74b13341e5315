"""From one dialect into another: what it looks like there, and what is listed as lost."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

import pytest

from hansard import rawjson
from hansard.dialects.anthropic import Anthropic
from hansard.dialects.dialect import Loss
from hansard.dialects.openai_chat import OpenAIChat
from hansard.dialects.pairing import Repair
from hansard.dialects.registry import dialect
from hansard.messages import (
    Draft,
    Message,
    Native,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    assistant,
    file,
    image,
    system,
    user,
)
from hansard.neutral import LossReport, convert

if TYPE_CHECKING:
    from hansard.dialects.dialect import Composition
    from hansard.neutral import Converted
    from hansard.rawjson import JSON

CHAT, RESPONSES = dialect("openai"), dialect("openai-responses")
ANTHROPIC, GEMINI = dialect("anthropic"), dialect("gemini")


def chat(*messages: object) -> list[Message]:
    """Make messages of Chat Completions."""
    return [CHAT.message(rawjson.dump(message)) for message in messages]


def call(call_id: str, arguments: str = "{}", name: str = "f") -> JSON:
    """Make a call of Chat Completions."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(*calls: JSON) -> JSON:
    """Make an answer of Chat Completions with calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(call_id: str, content: str = "done") -> JSON:
    """Make a result of Chat Completions."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def shown(converted: Converted) -> list[JSON]:
    """Give what came out, parsed."""
    return [json.loads(message.raw) for message in converted.messages]


def lost(converted: Converted) -> list[tuple[int, str]]:
    """Give where something was lost, and what."""
    return [(loss.message, loss.part) for loss in converted.report]


HI = {"role": "user", "content": "hi"}
PARALLEL = chat(
    HI,
    asked(call("c1", '{"q":1.50}', "search"), call("c2", "{}", "book")),
    result("c2", "booked"),
    result("c1", "found"),
    {"role": "user", "content": "be brief"},
)


def test_messages_of_the_target_are_given_back_as_they_are() -> None:
    messages = chat({"role": "zz", "content": 5, "odd": {"n": 1.50}}, asked(call("c")), HI)
    converted = convert(messages, CHAT)
    assert [id(each) for each in converted.messages] == [id(each) for each in messages]
    assert not converted.report
    assert not converted.repairs


def test_nothing_becomes_nothing() -> None:
    assert convert([], GEMINI).messages == ()


class TestRounds:
    def test_anthropic_has_all_results_in_call_order_before_what_the_user_says(self) -> None:
        converted = convert(PARALLEL, ANTHROPIC)
        assert not converted.report
        assert shown(converted) == [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": 1.5}},
                    {"type": "tool_use", "id": "c2", "name": "book", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "found"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "booked"},
                    {"type": "text", "text": "be brief"},
                ],
            },
        ]
        assert b'{"q":1.50}' in converted.messages[1].raw

    def test_gemini_has_them_in_one_content_with_the_names_of_their_calls(self) -> None:
        converted = convert(PARALLEL, GEMINI)
        assert not converted.report
        assert [message.role for message in converted.messages] == ["user", "assistant", "user"]
        results = converted.messages[2].tool_results
        assert [(each.name, each.text) for each in results] == [
            ("search", "found"),
            ("book", "booked"),
        ]
        assert converted.messages[2].text == "be brief"

    def test_responses_has_items_of_outputs_and_then_the_words(self) -> None:
        converted = convert(PARALLEL, RESPONSES)
        assert not converted.report
        assert [[item.get("type") for item in said] for said in shown(converted)] == [  # type: ignore[union-attr]
            ["message"],
            ["function_call", "function_call"],
            ["function_call_output", "function_call_output"],
            ["message"],
        ]

    def test_chat_has_a_message_for_each_result(self) -> None:
        there = convert(PARALLEL, GEMINI).messages
        assert [message.role for message in convert(there, CHAT).messages] == [
            *["user", "assistant", "tool", "tool", "user"]
        ]

    def test_words_that_came_before_the_results_go_after_them(self) -> None:
        early = chat(asked(call("c1")), HI, result("c1"))
        assert [part.role for part in convert(early, RESPONSES).messages] == [
            *["assistant", "tool", "user"]
        ]

    def test_a_call_that_nobody_answered_is_answered_as_interrupted(self) -> None:
        converted = convert(chat(HI, asked(call("c1"), call("c2")), result("c2"), HI), ANTHROPIC)
        assert converted.repairs == (Repair(1, "interrupted", "c1"),)
        first, second = converted.messages[2].tool_results
        assert (first.call_id, first.is_error) == ("c1", True)
        assert (second.call_id, second.text) == ("c2", "done")

    def test_a_result_of_no_call_is_listed(self) -> None:
        converted = convert(chat(HI, result("c9"), asked(call("c1")), result("c1")), GEMINI)
        assert lost(converted) == [(1, "toolresult")]
        assert len(converted.messages) == 3

    def test_calls_that_wait_are_left_open_when_asked_and_keep_the_results_they_have(self) -> None:
        waiting = chat(HI, asked(call("c1"), call("c2")), result("c2"), HI)
        converted = convert(waiting, ANTHROPIC, pending=True)
        assert not converted.repairs
        assert [each.call_id for each in converted.messages[2].tool_results] == ["c2"]
        closed = convert([*waiting, *chat({"role": "assistant", "content": "ok"})], ANTHROPIC)
        assert len(closed.repairs) == 1

    def test_only_calls_of_the_last_answer_can_wait(self) -> None:
        waiting = chat(HI, asked(call("c1")), HI, asked(call("c2")))
        converted = convert(waiting, GEMINI, pending=True)
        assert converted.repairs == (Repair(1, "interrupted", "c1"),)
        assert [each.id for each in converted.messages[-1].tool_calls] == ["c2"]
        own = GEMINI.say(user("hi"))
        assert len(convert([*waiting, *own], GEMINI, pending=True).repairs) == 2

    def test_answers_that_follow_each_other_are_one(self) -> None:
        said = chat(HI, {"role": "assistant", "content": "Let me see."}, asked(call("c1")))
        converted = convert([*said, *chat(result("c1"))], GEMINI)
        assert [message.role for message in converted.messages] == ["user", "assistant", "tool"]
        assert converted.messages[1].text == "Let me see."
        assert [each.name for each in converted.messages[1].tool_calls] == ["f"]

    def test_they_are_one_too_when_nothing_is_left_of_what_stood_between(self) -> None:
        said = chat({"role": "assistant", "content": "a"})
        between = [*chat(result("c9")), *chat({"role": "user", "content": [{"type": "zz"}]})]
        converted = convert([*chat(HI), *said, *between, *said], ANTHROPIC)
        assert [message.role for message in converted.messages] == ["user", "assistant"]
        assert lost(converted) == [(2, "toolresult"), (3, "zz")]

    def test_items_of_several_speakers_in_one_message_are_told_apart(self) -> None:
        items: JSON = [
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "done"},
            {"type": "message", "role": "assistant", "content": "ok"},
            {"role": "user", "content": "thanks"},
        ]
        converted = convert([RESPONSES.message(rawjson.dump(items))], CHAT)
        assert [(message.role, message.text) for message in converted.messages] == [
            *[("user", "hi"), ("assistant", ""), ("tool", ""), ("assistant", "ok")],
            ("user", "thanks"),
        ]
        assert not converted.repairs

    def test_calls_of_separate_items_are_one_parallel_call(self) -> None:
        lone = [
            b'{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}',
            b'{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"}',
            b'{"type":"function_call_output","call_id":"c1","output":"one"}',
            b'{"type":"function_call_output","call_id":"c2","output":"two"}',
        ]
        converted = convert([RESPONSES.message(raw) for raw in lone], CHAT)
        assert [message.role for message in converted.messages] == ["assistant", "tool", "tool"]
        assert not converted.repairs


class TestIds:
    def test_an_id_that_repeats_becomes_two_and_its_results_go_along(self) -> None:
        twice = chat(*[asked(call("c1")), result("c1", "one"), asked(call("c1"))])
        converted = convert([*twice, *chat(result("c1", "two"))], RESPONSES)
        results = [each for message in converted.messages for each in message.tool_results]
        calls = [each for message in converted.messages for each in message.tool_calls]
        assert [each.id for each in calls] == ["c1", "c1_2"]
        assert [(each.call_id, each.text) for each in results] == [("c1", "one"), ("c1_2", "two")]

    def test_where_an_id_repeats_a_result_goes_to_the_call_of_its_name(self) -> None:
        calls = [ToolCall("a", "f", "{}", 0), ToolCall("a", "g", "{}", 1)]
        (asked_twice,) = GEMINI.say(assistant(*calls))
        results = [GEMINI.result(each, each.answer(f"of {each.name}")) for each in calls]
        (answered,) = GEMINI.frame(results[::-1])
        converted = convert([asked_twice, GEMINI.message(answered)], CHAT)
        found = [each for message in converted.messages for each in message.tool_results]
        assert [(each.call_id, each.text) for each in found] == [("a", "of f"), ("a_2", "of g")]

    def test_a_new_id_is_not_one_that_another_call_has(self) -> None:
        calls = asked(call("c1"), call("c1_2"), call("c1"))
        converted = convert(chat(calls), RESPONSES)
        assert [each.id for each in converted.messages[0].tool_calls] == ["c1", "c1_2", "c1_3"]

    def test_ids_are_brought_into_the_targets_alphabet(self) -> None:
        converted = convert(chat(HI, asked(call("a/b")), result("a/b")), ANTHROPIC)
        (made,) = converted.messages[1].tool_calls
        assert made.id == ANTHROPIC.call_id("a/b", "1")
        assert converted.messages[2].tool_call_id == made.id

    def test_calls_without_ids_are_given_some_and_paired_by_name(self) -> None:
        contents: list[JSON] = [
            {"role": "user", "parts": [{"text": "hi"}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"name": name, "args": {}}} for name in ("f", "g", "f")],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": name, "response": {"result": said}}}
                    for name, said in (("g", "2"), ("f", "1"), ("f", "3"))
                ],
            },
        ]
        converted = convert([GEMINI.message(rawjson.dump(each)) for each in contents], CHAT)
        made = [each.id for each in converted.messages[1].tool_calls]
        assert len(set(made)) == 3
        assert [message.tool_call_id for message in converted.messages[2:]] == made
        assert [message.tool_results[0].text for message in converted.messages[2:]] == [*"123"]
        assert not converted.repairs

    def test_a_dialect_that_makes_the_same_of_all_ids_is_no_endless_loop(self) -> None:
        class Stubborn(OpenAIChat):
            name = "stubborn"

            def call_id(self, foreign_id: str, seed: str) -> str:
                assert foreign_id or seed
                return "always"

        converted = convert(chat(asked(call("a"), call("b"))), Stubborn())
        assert [each.id for each in converted.messages[0].tool_calls] == ["always", "always"]


class TestRoles:
    def test_a_system_message_in_the_middle_is_framed_where_there_is_no_other_way(self) -> None:
        said = chat(HI, {"role": "assistant", "content": "ok"}, {"role": "system", "content": "S"})
        assert convert(said, ANTHROPIC).messages[2].text == "<system>\nS\n</system>"
        assert convert(said, GEMINI).messages[2].role == "user"
        assert convert(said, RESPONSES).messages[2].role == "system"

    @pytest.mark.parametrize("name", ["anthropic", "gemini"])
    def test_where_the_user_must_begin_a_remark_goes_before_the_assistant(self, name: str) -> None:
        greeting = chat({"role": "assistant", "content": "Hello!"}, HI)
        converted = convert(greeting, dialect(name))
        assert [message.role for message in converted.messages] == ["user", "assistant", "user"]
        assert "begins with these words of the assistant" in converted.messages[0].text
        assert not converted.report

    def test_whether_the_user_must_begin_has_nothing_to_do_with_system_messages(self) -> None:
        class Newest(Anthropic):
            """Takes system messages in mid-conversation."""

            name = "newest"
            system_midway = True

        class Stern(OpenAIChat):
            """Takes them too, and no conversation that the assistant begins."""

            name = "stern"
            user_first = True

        class Lenient(Anthropic):
            """Takes none, and lets anybody begin."""

            name = "lenient"
            user_first = False

        greeting = [assistant("Hello!"), user("hi")]
        for kind in (Newest, Stern):
            first, *rest = convert(greeting, kind()).messages
            assert (first.role, [message.text for message in rest]) == ("user", ["Hello!", "hi"])
            assert first.text.startswith("<system>")
        assert len(convert(greeting, Lenient()).messages) == 2

    def test_where_anybody_may_begin_nothing_is_added(self) -> None:
        greeting = chat({"role": "assistant", "content": "Hello!"}, HI)
        assert len(convert(greeting, RESPONSES).messages) == 2


class TestLosses:
    def test_thoughts_and_signatures_stay_where_they_came_from(self) -> None:
        blocks: JSON = [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "ok"},
        ]
        message = {"role": "assistant", "content": blocks}
        converted = convert([ANTHROPIC.message(rawjson.dump(message))], RESPONSES)
        assert lost(converted) == [(0, "thought")]
        assert b"hm" not in converted.messages[0].raw

    def test_what_only_the_provider_can_say_is_listed_by_its_kind(self) -> None:
        search: JSON = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
        text: JSON = {"type": "message", "role": "assistant", "content": "ok"}
        converted = convert([RESPONSES.message(rawjson.dump([search, text]))], CHAT)
        assert lost(converted) == [(0, "web_search_call")]
        assert converted.messages[0].text == "ok"

    def test_unknown_fields_are_listed_by_their_path_unless_they_say_nothing(self) -> None:
        said = {"role": "user", "content": [{"type": "text", "text": "hi", "confidence": 0.5}]}
        more: dict[str, object] = {
            "annotations": [],
            "zz_null": None,
            "zz_empty": {},
            "name": "Ada",
            "zz_no": False,
        }
        converted = convert(chat(said | more), GEMINI)
        assert lost(converted) == [(0, "content[0].confidence"), (0, "name"), (0, "zz_no")]
        assert "only openai knows this field" in str(converted.report)

    @pytest.mark.parametrize(
        ("source", "target"),
        [
            ("openai", "openai-responses"),
            ("anthropic", "openai"),
            ("openai-responses", "gemini"),
            ("gemini", "anthropic"),
        ],
    )
    def test_a_file_that_lies_with_its_provider_does_not_leave_it(
        self, source: str, target: str
    ) -> None:
        file_id = "file-1"
        if source == "gemini":
            file_id = "https://generativelanguage.googleapis.com/v1beta/files/file-1"
        messages = dialect(source).say(user("see", file(file_id=file_id)))
        converted = convert(messages, dialect(target))
        assert (0, "file") in lost(converted)
        assert converted.messages[0].text == "see"
        assert b"file-1" not in converted.messages[0].raw

    def test_an_address_that_only_the_provider_opens_does_not_leave_it_either(self) -> None:
        parts: JSON = [
            {"fileData": {"mimeType": "image/png", "fileUri": uri}}
            for uri in ("gs://bucket/a.png", "https://example.com/b.png")
        ]
        message = GEMINI.message(rawjson.dump({"role": "user", "parts": parts}))
        converted = convert([message], RESPONSES)
        assert lost(converted) == [(0, "image")]
        assert [part.url for part in converted.messages[0].parts if hasattr(part, "url")] == [
            "https://example.com/b.png"
        ]

    def test_media_inside_of_a_result_is_listed_where_results_are_text(self) -> None:
        seen = ToolResult("c1", "f", (Text("see"), image(b"x", "image/png"), Native("zz", b"{}")))
        raws = ANTHROPIC.compose(assistant(ToolCall("c1", "f"))).messages
        raws += ANTHROPIC.compose(Draft("tool", (seen,))).messages
        converted = convert([ANTHROPIC.message(raw) for raw in raws], CHAT)
        assert [part for _, part in lost(converted)] == ["content", "image"]
        assert converted.messages[1].tool_results[0].text == "see"

    def test_losses_have_the_same_names_whoever_noticed_them(self) -> None:
        """A custom call, lost by the target, and a result, lost on the way, are parts like any."""
        custom: JSON = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
        said = chat(HI, asked(custom), result("c1"), result("c9"))
        for target in (ANTHROPIC, GEMINI, RESPONSES):
            assert lost(convert(said, target)) == [(1, "toolcall"), (3, "toolresult")]

    @pytest.mark.parametrize("arguments", ['{"a":', "plain", "[1]"])
    def test_arguments_that_are_no_object_are_said_as_one_where_they_must_be(
        self, arguments: str
    ) -> None:
        converted = convert(chat(HI, asked(call("c1", arguments)), result("c1")), ANTHROPIC)
        assert lost(converted) == [(1, "toolcall")]
        assert converted.messages[1].tool_calls[0].parsed == {"input": arguments}
        assert converted.messages[2].tool_call_id == "c1"

    def test_a_custom_call_and_its_result_go_along_as_those_of_a_function(self) -> None:
        custom: JSON = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
        for target in (ANTHROPIC, GEMINI, RESPONSES):
            converted = convert(chat(HI, asked(custom), result("c1", "a.txt")), target)
            assert [at for at, _ in lost(converted)] == [1]
            assert converted.messages[1].tool_calls[0].parsed == {"input": "ls"}
            assert converted.messages[2].tool_results[0].text == "a.txt"

    def test_a_call_that_cannot_be_said_at_all_takes_its_result_with_it(self) -> None:
        class Mute(OpenAIChat):
            """Says no calls."""

            name = "mute"

            def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
                kept = [part for part in draft.parts if not isinstance(part, ToolCall)]
                return super().compose(Draft(draft.role, tuple(kept)), foreign=foreign)

        converted = convert(chat(HI, asked(call("c1")), result("c1"), HI), Mute())
        assert [message.role for message in converted.messages] == ["user", "user"]
        assert lost(converted)[-1] == (2, "toolresult")

    def test_what_is_lost_of_answers_that_become_one_is_listed_where_it_was(self) -> None:
        first = {"role": "assistant", "content": "a", "reasoning_content": "hm"}
        second = {"role": "assistant", "content": "b", "reasoning_content": "so"}
        converted = convert(chat(HI, first, second), ANTHROPIC)
        assert lost(converted) == [(1, "thought"), (2, "thought")]
        assert converted.messages[1].text == "ab"


class TestMixtures:
    def test_what_is_in_the_targets_words_is_not_touched(self) -> None:
        own = [
            ANTHROPIC.message(raw)
            for draft in (user("mine"), assistant(Thought("hm", "c2ln"), Text("ok")))
            for raw in ANTHROPIC.compose(draft).messages
        ]
        converted = convert([*PARALLEL, *own, *chat(HI)], ANTHROPIC)
        assert converted.messages[3:5] == tuple(own)
        assert converted.messages[5].text == "hi"
        assert not converted.report

    def test_new_ids_are_none_that_the_targets_own_messages_have(self) -> None:
        own = ANTHROPIC.say(assistant(ToolCall("c1", "f")))
        converted = convert([*PARALLEL, *own], ANTHROPIC)
        ids = [each.id for message in converted.messages for each in message.tool_calls]
        assert ids == ["c1_2", "c2", "c1"]

    def test_no_remark_goes_before_an_assistant_in_the_targets_own_words(self) -> None:
        own = ANTHROPIC.say(assistant("Hello!"))
        assert convert([*own, *chat(HI)], ANTHROPIC).messages[:1] == own

    def test_drafts_are_said_too(self) -> None:
        converted = convert([user("hi"), assistant("ok"), *chat(HI), system("S")], GEMINI)
        assert [message.text for message in converted.messages] == [
            *["hi", "ok", "hi", "<system>\nS\n</system>"]
        ]


class TestTheReport:
    REPORT = LossReport([Loss(3, "thought", "it is private"), Loss(4, "image", "no pictures")])

    def test_it_is_true_when_something_is_lost_and_reads_well(self) -> None:
        assert self.REPORT
        assert not LossReport()
        assert str(self.REPORT).splitlines() == [
            "lost or said otherwise: 2",
            "  message 3, thought: it is private",
            "  message 4, image: no pictures",
        ]

    def test_it_can_be_pickled(self) -> None:
        again = pickle.loads(pickle.dumps(self.REPORT))  # noqa: S301 - made on this line
        assert again == self.REPORT
        assert str(again) == str(self.REPORT)
