"""Chat Completions, said: one spelling for every draft, and every loss listed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.dialects.dialect import Loss
from hansard.dialects.openai_chat import OpenAIChat
from hansard.errors import Unsayable
from hansard.messages import (
    Draft,
    Native,
    Refusal,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    assistant,
    audio,
    file,
    image,
    system,
    user,
)

chat = OpenAIChat()


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        (system("Be brief."), '{"role":"system","content":"Be brief."}'),
        (user("Hi"), '{"role":"user","content":"Hi"}'),
        (user(""), '{"role":"user","content":""}'),
        (
            user("a", "b"),
            '{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}',
        ),
        (
            user("See", image(url="https://example.org/a.png")),
            (
                '{"role":"user","content":[{"type":"text","text":"See"},'
                '{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}'
            ),
        ),
        (
            user(image(b"\xff\xd8", "image/jpeg")),
            (
                '{"role":"user","content":[{"type":"image_url",'
                '"image_url":{"url":"data:image/jpeg;base64,/9g="}}]}'
            ),
        ),
        (
            user(audio(b"RIFF", "audio/x-wav")),
            (
                '{"role":"user","content":[{"type":"input_audio",'
                '"input_audio":{"data":"UklGRg==","format":"wav"}}]}'
            ),
        ),
        (
            user(audio(b"ID3", "audio/mpeg")),
            (
                '{"role":"user","content":[{"type":"input_audio",'
                '"input_audio":{"data":"SUQz","format":"mp3"}}]}'
            ),
        ),
        (
            user(file(b"%PDF", "application/pdf", name="a.pdf")),
            (
                '{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf",'
                '"file_data":"data:application/pdf;base64,JVBERg=="}}]}'
            ),
        ),
        (
            user(file(file_id="file-1")),
            '{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}',
        ),
        (
            user("x", Native("video_url", b'{"type":"video_url","video_url":{"url":"u"}}')),
            (
                '{"role":"user","content":[{"type":"text","text":"x"},'
                '{"type":"video_url","video_url":{"url":"u"}}]}'
            ),
        ),
        (assistant("Hello."), '{"role":"assistant","content":"Hello."}'),
        (
            assistant(Refusal("No"), Refusal(".")),
            '{"role":"assistant","content":null,"refusal":"No."}',
        ),
        (
            assistant(Thought("Hm"), Thought("m."), "Yes."),
            '{"role":"assistant","content":"Yes.","reasoning_content":"Hmm."}',
        ),
        (
            assistant(Thought(""), ToolCall("call_1", "now")),
            (
                '{"role":"assistant","content":null,"reasoning_content":"","tool_calls":'
                '[{"id":"call_1","type":"function","function":{"name":"now","arguments":"{}"}}]}'
            ),
        ),
        (
            assistant(Thought("Hm", redacted="gAAA"), "Yes."),
            (
                '{"role":"assistant","content":"Yes.","reasoning_details":'
                '[{"type":"reasoning.text","text":"Hm"},'
                '{"type":"reasoning.encrypted","data":"gAAA"}]}'
            ),
        ),
        (
            assistant(Thought("Hm", "c2ln"), Thought(redacted="gAAA"), "Yes."),
            (
                '{"role":"assistant","content":"Yes.","reasoning_details":'
                '[{"type":"reasoning.text","text":"Hm","signature":"c2ln"},'
                '{"type":"reasoning.encrypted","data":"gAAA"}]}'
            ),
        ),
        (
            assistant("Rain.", ToolCall("a", "f", '{"x": 1e5}', 0, "c2ln"), ToolCall("b", "g", "")),
            (
                '{"role":"assistant","content":"Rain.","tool_calls":[{"id":"a","type":"function",'
                '"function":{"name":"f","arguments":"{\\"x\\": 1e5}"},'
                '"extra_content":{"google":{"thought_signature":"c2ln"}}},'
                '{"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}'
            ),
        ),
        (
            assistant(Text("Rain.", "c2ln")),
            (
                '{"role":"assistant","content":"Rain.",'
                '"extra_content":{"google":{"thought_signature":"c2ln"}}}'
            ),
        ),
        (
            assistant(ToolCall("c", "run", "print(1)", custom=True)),
            (
                '{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom",'
                '"custom":{"name":"run","input":"print(1)"}}]}'
            ),
        ),
        (
            assistant(ToolCall("function_call", "f", "{}")),
            '{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}',
        ),
        (
            assistant(audio(file_id="audio_1")),
            '{"role":"assistant","content":null,"audio":{"id":"audio_1"}}',
        ),
        (user("\ud83d\ude00 \ud83d"), '{"role":"user","content":"\\ud83d\\ude00 \\ud83d"}'),
    ],
)
def test_a_draft_is_said_in_one_spelling(draft: Draft, said: str) -> None:
    composition = chat.compose(draft)
    assert composition.losses == ()
    assert [raw.decode() for raw in composition.messages] == [said]


@pytest.mark.parametrize(
    "draft",
    [
        user("a", image(url="u"), file(b"x", "a/b", name="n"), audio(b"y", "audio/wav")),
        assistant(Thought("a"), "b", Refusal("c"), ToolCall("1", "f", "{}", 0, "s")),
        assistant(Thought("a", "s"), Thought(redacted="r"), Text("b"), Text("c", "t")),
        assistant(ToolCall("1", "f", "text", 0, custom=True), ToolCall("2", "g", "[1]", 1)),
        assistant(ToolCall("function_call", "f", "{}")),
        Draft("tool", (ToolResult("1", content=(Text("a"), Native("n", b'{"type":"n"}'))),)),
    ],
)
def test_what_was_said_reads_as_what_was_meant(draft: Draft) -> None:
    (message,) = chat.say(draft)
    assert message.parts == draft.parts
    assert message.role == draft.role


def test_results_in_a_draft_are_messages_of_their_own_and_come_first() -> None:
    draft = user("Be brief.", ToolResult("a", content=(Text("1"),)), ToolResult("b"))
    assert [message.raw for message in chat.say(draft)] == [
        b'{"role":"tool","tool_call_id":"a","content":"1"}',
        b'{"role":"tool","tool_call_id":"b","content":""}',
        b'{"role":"user","content":"Be brief."}',
    ]


@pytest.mark.parametrize(
    ("draft", "lost", "said"),
    [
        (system(image(url="u")), ["image"], []),
        (system("Be kind.", image(url="u")), ["image"], ["Be kind."]),
        (user(file(url="https://example.org/a.pdf")), ["file"], []),
        (user(image(file_id="file-1")), ["image"], []),
        (user(audio(url="https://example.org/a.wav")), ["audio"], []),
        (user("a", Thought("b")), ["thought"], ["a"]),
        (user(Text("a", "c2ln")), ["thought_signature"], ["a"]),
        (assistant("a", image(url="u")), ["image"], ["a"]),
        (assistant(audio(b"x", "audio/wav"), "a"), ["audio"], ["a"]),
        (assistant(Text("a", "1"), Text("b", "2")), ["thought_signature"], ["a", "b"]),
        (Draft("tool", (ToolResult("1", content=(Text("a"),), is_error=True),)), ["is_error"], []),
        (Draft("tool", (ToolResult("1", content=(image(url="u"),)),)), ["image"], []),
    ],
)
def test_what_has_no_words_is_listed_and_the_rest_is_said(
    draft: Draft, lost: list[str], said: list[str]
) -> None:
    composition = chat.compose(draft)
    assert [loss.part for loss in composition.losses] == lost
    assert {loss.message for loss in composition.losses} == {0}
    messages = [chat.message(raw) for raw in composition.messages]
    texts = [part.text for message in messages for part in message.parts if isinstance(part, Text)]
    assert texts == said
    with pytest.raises(Unsayable) as caught:
        chat.say(draft)
    assert caught.value.losses == composition.losses
    assert caught.value.dialect == "openai"


@pytest.mark.parametrize(
    "draft",
    [user(image(file_id="f")), assistant(Native("x", b"{}")), assistant(Thought("only this"))],
)
def test_of_a_foreign_draft_with_nothing_sayable_no_message_is_left(draft: Draft) -> None:
    composition = chat.compose(draft, foreign=True)
    assert composition.messages == ()
    assert len(composition.losses) == 1


def test_a_foreign_draft_loses_signatures_thoughts_and_natives_and_says_so() -> None:
    draft = assistant(
        Thought("secret", "c2ln"),
        Thought(redacted="gAAA"),
        Text("Sunny.", "c2ln"),
        Native("server_tool_use", b'{"type":"server_tool_use"}'),
        ToolCall("toolu_1", "f", "{}", 0, "c2ln"),
    )
    composition = chat.compose(draft, foreign=True)
    lost = sorted(loss.part for loss in composition.losses)
    assert lost == [
        "server_tool_use",
        "thought",
        "thought",
        "thought_signature",
        "thought_signature",
    ]
    assert [raw.decode() for raw in composition.messages] == [
        (
            '{"role":"assistant","content":[{"type":"text","text":"Sunny."}],"tool_calls":[{"id":"toolu_1",'
            '"type":"function","function":{"name":"f","arguments":"{}"}}]}'
        )
    ]


def test_a_foreign_call_and_its_result_stay_a_pair() -> None:
    call = ToolCall("weather.tokyo/1", "get_weather", "{}", 1)
    nameless = ToolCall("", "now", "{}", 2)
    (said,) = chat.compose(assistant(call, nameless), foreign=True).messages
    answers = Draft("tool", (call.answer("12"), nameless.answer("noon")))
    results = chat.compose(answers, foreign=True).messages
    calls = chat.message(said).tool_calls
    assert chat.paired(calls, results)
    assert len({call.id for call in calls}) == 2


@pytest.mark.parametrize(
    ("media_type", "spelled"),
    [
        ("audio/wav", "wav"),
        ("audio/x-wav", "wav"),
        ("audio/wave", "wav"),
        ("audio/vnd.wave", "wav"),
        ("audio/mpeg", "mp3"),
        ("audio/mp3", "mp3"),
        ("audio/ogg; codecs=opus", "ogg"),
    ],
)
def test_the_format_of_sound_is_said_in_the_server_s_word(media_type: str, spelled: str) -> None:
    (raw,) = chat.compose(user(audio(b"x", media_type))).messages
    assert raw.endswith(f'"format":"{spelled}"}}}}]}}'.encode())


@given(st.text(), st.text(min_size=1))
def test_a_foreign_id_fits_the_longest_that_openai_takes(foreign_id: str, seed: str) -> None:
    mapped = chat.call_id(foreign_id, seed)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", mapped)
    assert chat.call_id(foreign_id, seed) == mapped
    assert chat.call_id(mapped, "other") == mapped


@given(st.lists(st.text(min_size=30), unique=True) | st.lists(st.text(min_size=1), unique=True))
def test_different_foreign_ids_stay_different(foreign_ids: list[str]) -> None:
    assert len({chat.call_id(each, "f_0") for each in foreign_ids}) == len(foreign_ids)


def test_a_call_without_an_id_is_given_one_that_tells_where_it_stood() -> None:
    mapped = chat.call_id("", "now_2")
    assert mapped.startswith("call_now_2_")
    assert mapped != chat.call_id("", "now_3")
    assert mapped != chat.call_id("call_now_2", "x")


def test_no_foreign_id_is_taken_for_a_call_of_the_old_kind() -> None:
    assert chat.call_id("function_call", "f_0") != "function_call"


def test_a_loss_can_be_compared() -> None:
    assert chat.compose(user(image(file_id="f"))).losses == (
        Loss(0, "image", "expected url or base64, found file_id"),
    )
