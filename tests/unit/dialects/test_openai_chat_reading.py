"""Chat Completions, read: every kind of part, every role, and what no view covers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.dialects.openai_chat import OpenAIChat
from hansard.messages import Media, Native, Refusal, Text, Thought, ToolCall, ToolResult

if TYPE_CHECKING:
    from hansard.messages import Message

WIRE = Path(__file__).parents[2] / "data" / "wire" / "openai_chat"

chat = OpenAIChat()


def wire(name: str) -> bytes:
    return (WIRE / f"{name}.json").read_bytes()


def stored(name: str) -> Message:
    return chat.message(wire(f"message_{name}"))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("plain", (Text("Hello! How can I help you today?"),)),
        ("empty", ()),
        ("refusal", (Refusal("I can't help with that."),)),
        ("system", (Text("You are terse."),)),
        ("developer", (Text("Be terse."), Text(" Be kind."))),
        (
            "parallel_calls",
            (
                ToolCall("call_wT9x", "get_weather", '{"city": "Tokyo"}', 0),
                ToolCall("call_wP0a", "get_weather", '{"city":"Paris","unit":"C"}', 1),
                ToolCall("call_none", "now", "", 2),
            ),
        ),
        (
            "custom_call",
            (ToolCall("call_c1", "run_python", "print('hi')\n# not JSON", custom=True),),
        ),
        (
            "old_function_call",
            (ToolCall("function_call", "get_weather", '{\n  "city": "Oslo"\n}'),),
        ),
        ("object_arguments", (ToolCall("0", "get_weather", '{"city":"Rome","days":1e0}'),)),
        ("deepseek_call", (ToolCall("call_00_Ab9", "get_date", "{}"),)),
        (
            "deepseek_reasoning",
            (Thought("Compare 9.11 and 9.8: the tenths decide.\n"), Text("9.11 is smaller.")),
        ),
        (
            "openrouter_reasoning",
            (
                Thought("First, the question.", "c2lnLWE="),
                Thought("Then the answer."),
                Thought(redacted="gAAAAABo=="),
                Text("42"),
            ),
        ),
        (
            "openrouter_image",
            (Media("image", "image/png", "iVBORw0KGgo="),),
        ),
        (
            "gemini_calls",
            (
                ToolCall(
                    "function-call-1180",
                    "get_weather",
                    '{"city":"Tokyo"}',
                    0,
                    "CpcBAXLI2nzX/A+b==",
                ),
                ToolCall("function-call-1181", "get_weather", '{"city":"Paris"}', 1),
            ),
        ),
        ("gemini_signed_text", (Text("Bring an umbrella.", "EqQBCqEB+/=="),)),
        (
            "vertex_call",
            (ToolCall("function-call-7", "bash", '{"command":"ls"}', 0, "AY89a18="),),
        ),
        (
            "audio",
            (
                Media("audio", base64="UklGRiQAAABXQVZF", file_id="audio_abc123"),
                Text("Hi there!"),
            ),
        ),
        (
            "cited_parts",
            (
                Text("The tower is 330 m tall."),
                Text(" It was finished in 1889."),
                Refusal("I will not say who paid."),
                Native("citation_block", b'{"type":"citation_block","spans":[[0,24],[25,50]]}'),
                Native("content", b'"a bare string"'),
            ),
        ),
        (
            "user_parts",
            (
                Text("What is in these?"),
                Media("image", url="https://example.org/cat.png"),
                Media("image", "image/jpeg", "/9j/4AAQSkZJRg=="),
                Media("image", url="https://example.org/bare.png"),
                Media("audio", "audio/wav", "UklGRg=="),
                Media("file", file_id="file-9Xy"),
                Media("file", "application/pdf", "JVBERi0xLjQ=", name="report.pdf"),
                Native(
                    "video_url",
                    b'{"type":"video_url","video_url":{"url":"https://example.org/clip.mp4"}}',
                ),
                Native("image_url", b'{"type":"image_url"}'),
                Text(""),
            ),
        ),
        (
            "parts_with_extras",
            (
                Text("a"),
                Refusal("b"),
                Media("image", url="data:text/plain,not%20base64"),
                Media("audio", "audio/wav", "UklGRg=="),
                Media("file", file_id="file-1"),
            ),
        ),
        ("tool", (ToolResult("call_wT9x", content=(Text('{"temperature": 12}'),)),)),
        (
            "tool_parts",
            (
                ToolResult(
                    "call_wP0a",
                    "get_weather",
                    (
                        Text("8 degrees"),
                        Text(", rain"),
                        Native("chart", b'{"type":"chart","points":[1.50]}'),
                    ),
                ),
            ),
        ),
        ("tool_empty", (ToolResult("call_none"),)),
        (
            "old_function_result",
            (ToolResult("function_call", "get_weather", (Text("-4 degrees, snow"),)),),
        ),
        (
            "odd_types",
            (
                Native("content", b"7"),
                Native("content", b'{"a":1}'),
                ToolCall("", "", "", 0),
                ToolCall("", "", "", 1),
            ),
        ),
    ],
)
def test_every_kind_of_part_reads_as_what_it_means(name: str, parts: tuple[object, ...]) -> None:
    assert stored(name).parts == parts


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("system", "system"),
        ("developer", "system"),
        ("user_parts", "user"),
        ("plain", "assistant"),
        ("without_role", "assistant"),
        ("tool", "tool"),
        ("old_function_result", "tool"),
        ("unknown_role", "user"),
    ],
)
def test_every_role_reads_as_one_of_four(name: str, role: str) -> None:
    assert stored(name).role == role


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("plain", {"annotations": []}),
        ("parallel_calls", {}),
        ("custom_call", {}),
        ("old_function_call", {}),
        ("old_function_result", {}),
        (
            "cited_parts",
            {
                "content[1].sources": [{"url": "https://example.org/tower", "confidence": 0.5}],
                "confidence": 1.5,
            },
        ),
        ("audio", {"annotations": [], "audio.expires_at": 1729018505}),
        ("deepseek_call", {"tool_calls[0].index": 0}),
        (
            "openrouter_reasoning",
            {
                "reasoning_details[0].format": "anthropic-claude-v1",
                "reasoning_details[0].index": 0,
                "reasoning_details[1].format": "openai-responses-v1",
                "reasoning_details[1].index": 1,
                "reasoning_details[2].id": "rs_01",
                "reasoning_details[2].format": "openai-responses-v1",
                "reasoning_details[2].index": 2,
            },
        ),
        ("openrouter_image", {"images[0].index": 0}),
        ("gemini_calls", {}),
        ("gemini_signed_text", {"extra_content.google.thought": False}),
        ("object_arguments", {"tool_calls[0].function.description": None}),
        (
            "user_parts",
            {
                "name": "ada",
                "content[1].image_url.detail": "low",
                "content[9].cache_control": {"type": "ephemeral"},
            },
        ),
        ("tool_parts", {"cached": True}),
        (
            "parts_with_extras",
            {
                "content[0].annotations": [100.0],
                "content[1].category": "c",
                "content[2].image_url.detail": "high",
                "content[2].alt": "d",
                "content[3].input_audio.rate": 8000,
                "content[3].loud": True,
                "content[4].file.pages": [1, 2],
                "content[4].cited": 1.5,
            },
        ),
        ("unknown_role", {"stars": 2}),
        (
            "odd_types",
            {
                "refusal": False,
                "reasoning_content": {"text": "?"},
                "tool_calls[0]": 1,
                "tool_calls[1].id": 5,
                "tool_calls[1].function": "f",
                "audio": "beep",
                "extra_content": 0,
            },
        ),
    ],
)
def test_what_no_view_covers_is_extra_by_its_path(name: str, extra: dict[str, object]) -> None:
    assert dict(stored(name).extra) == extra


def test_extra_keeps_values_that_are_hard_to_parse() -> None:
    extra = stored("odd_spelling").extra
    assert extra["big"] == 123456789012345678901234567890
    assert extra["huge"] == float("inf")
    assert extra['key "quoted" \ud800'] == [True, False, None]
    assert extra[""] == 0
    assert stored("odd_spelling").text == "tab\tslash/ <tag> é é 🜁 😀 half \ud83d and \udc00"


def test_reasoning_beside_items_that_cannot_be_read_is_read() -> None:
    raw = (
        b'{"role":"assistant","content":"2","reasoning":"1+1",'
        b'"reasoning_details":[{"type":"reasoning.encrypted","data":"gA"}]}'
    )
    assert chat.message(raw).thoughts == (Thought("1+1"), Thought(redacted="gA"))


@pytest.mark.parametrize(
    "part",
    [
        b'{"type":"file"}',
        b'{"type":"file","file":{"filename":"a"}}',
        b'{"type":"image_url"}',
        b"[]",
    ],
)
def test_a_part_that_says_nothing_known_is_kept_native(part: bytes) -> None:
    (read,) = chat.message(b'{"role":"user","content":[' + part + b"]}").parts
    assert isinstance(read, Native)
    assert read.raw == part


@pytest.mark.parametrize(
    ("sound", "media"),
    [
        (b'{"id":"a"}', Media("audio", file_id="a")),
        (b'{"data":"UklG"}', Media("audio", base64="UklG")),
    ],
)
def test_sound_may_come_with_its_data_or_its_id_alone(sound: bytes, media: Media) -> None:
    raw = b'{"role":"assistant","content":null,"audio":' + sound + b"}"
    assert chat.message(raw).parts == (media,)


def test_empty_reasoning_is_no_thought_but_stays_in_the_message() -> None:
    message = stored("deepseek_call")
    assert not message.has_thoughts
    assert b'"reasoning_content":""' in message.raw


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "id", "function", "name"]) | st.text(), inner
        )
    ),
    max_leaves=8,
)
odd_messages = st.dictionaries(
    st.sampled_from(
        [
            "role",
            "content",
            "refusal",
            "tool_calls",
            "tool_call_id",
            "function_call",
            "audio",
            "images",
            "name",
            "reasoning",
            "reasoning_content",
            "reasoning_details",
            "extra_content",
            "other",
        ]
    ),
    json_values | st.sampled_from(["assistant", "tool", "user", "function"]),
)


@given(odd_messages)
def test_no_object_is_too_odd_to_read(odd: dict[str, Any]) -> None:
    raw = json.dumps(odd).encode()
    message = chat.message(raw)
    assert message.role in ("system", "user", "assistant", "tool")
    assert isinstance(message.text, str)
    assert all(path for path in message.extra)
    assert chat.project(message.raw) is not None
    assert chat.split_results(message.raw)[1] in (None, message.raw)
    assert chat.may_have_calls(message.raw) or not (message.tool_calls or message.tool_results)


texts = st.none() | st.text()
calls = st.fixed_dictionaries(
    {},
    optional={
        "id": texts,
        "type": st.sampled_from(["function", "custom"]),
        "function": st.fixed_dictionaries({}, optional={"name": texts, "arguments": texts}),
        "custom": st.none() | st.just({"name": "run", "input": "1"}),
        "extra_content": st.none() | st.just({"google": {"thought_signature": "s"}}),
    },
)
usual_messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool"])},
    optional={
        "content": texts,
        "refusal": texts,
        "tool_calls": st.none() | st.lists(calls),
        "reasoning_content": texts,
        "function_call": st.none() | st.just({"name": "now", "arguments": "{}"}),
        "annotations": st.just([]),
    },
)


@given(usual_messages | odd_messages)
def test_a_usual_message_reads_as_it_does_member_by_member(said: dict[str, Any]) -> None:
    said.pop("images", None)
    message = chat.message(json.dumps(said).encode())
    # No images at all are none, and are more than is usual.
    odd = chat.message(json.dumps({**said, "images": []}).encode())
    extra = {path: found for path, found in odd.extra.items() if path != "images"}
    assert (message.role, message.parts, message.extra) == (odd.role, odd.parts, extra)
