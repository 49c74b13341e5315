"""Chat Completions: no token changes, results find their calls, requests say what was asked."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic
import pytest
from openai.types.chat.completion_create_params import CompletionCreateParams

from hansard.dialects.dialect import Ask, ToolSpec
from hansard.dialects.openai_chat import OpenAIChat
from hansard.errors import DecodeError, Invalid, Unsayable
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

if TYPE_CHECKING:
    from hansard.messages import Message
    from hansard.rawjson import JSON

WIRE = Path(__file__).parents[2] / "data" / "wire" / "openai_chat"
MESSAGES = sorted(path.stem for path in WIRE.glob("message_*.json"))
ANSWERS = sorted(path.stem for path in WIRE.glob("answer_*.json"))

chat = OpenAIChat()


def wire(name: str) -> bytes:
    return (WIRE / f"{name}.json").read_bytes()


def stored(name: str) -> Message:
    return chat.message(wire(f"message_{name}"))


def tight(raw: bytes) -> bytes:
    """Remove the white space outside of strings, by another way than the library's."""
    return re.sub(rb'("(?:[^"\\]|\\.)*")|\s+', lambda found: found[1] or b"", raw)


# -- verbatim ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_keeps_every_token_as_it_was_spelled(name: str) -> None:
    assert chat.message(wire(name)).raw == tight(wire(name))


@pytest.mark.parametrize("name", MESSAGES)
def test_reading_a_message_changes_none_of_its_bytes(name: str) -> None:
    message = chat.message(wire(name))
    _ = (message.parts, dict(message.extra), message.text, message.tool_calls, message.thoughts)
    assert message.raw == tight(wire(name))


def test_a_request_takes_the_messages_as_they_are_and_in_order() -> None:
    raws = [chat.splice(chat.message(wire(name)).raw) for name in MESSAGES]
    body = chat.request(Ask("gpt-5-mini", raws)).body
    assert body.endswith(b',"messages":[' + b",".join(map(tight, map(wire, MESSAGES))) + b"]}")


def test_messages_may_come_as_views_on_a_page_and_several_joined() -> None:
    page = memoryview(b'{"role":"user","content":"a"},{"role":"assistant","content":"b"}')
    last = b'{"role":"user","content":"c"}'
    body = chat.request(Ask("m", [page, last])).body
    assert body == b'{"model":"m","messages":[' + bytes(page) + b"," + last + b"]}"


@pytest.mark.parametrize("name", ANSWERS)
def test_the_message_of_an_answer_is_a_slice_of_its_body(name: str) -> None:
    answer = chat.parse(wire(name))
    assert answer.raw is None or answer.raw in tight(wire(name))


def test_white_space_around_tokens_of_an_answer_is_all_that_goes() -> None:
    assert chat.parse(wire("answer_spaced")).raw == (
        b'{"role":"assistant","content":"a  b","n":[1.50,1e5,{}]}'
    )


def test_an_answer_can_be_stored_and_sent_again() -> None:
    raw = chat.parse(wire("answer_openrouter")).raw
    assert raw is not None
    assert chat.message(raw).raw == raw
    assert raw in chat.request(Ask("m", [chat.splice(raw)])).body


@pytest.mark.parametrize("raw", [b"[]", b'"user"', b"7", b"null", b"[{}]"])
def test_what_is_no_object_is_no_message(raw: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        chat.message(raw)
    assert caught.value.reason == "corrupt_message"


# -- results ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "raw"),
    [
        ("12", b'{"role":"tool","tool_call_id":"c","content":"12"}'),
        ("", b'{"role":"tool","tool_call_id":"c","content":""}'),
        ({"t": 1.5}, b'{"role":"tool","tool_call_id":"c","content":"{\\"t\\":1.5}"}'),
        (None, b'{"role":"tool","tool_call_id":"c","content":"null"}'),
        (
            [Text("a"), Text("b")],
            (
                b'{"role":"tool","tool_call_id":"c","content":'
                b'[{"type":"text","text":"a"},{"type":"text","text":"b"}]}'
            ),
        ),
        (
            Native("chart", b'{"type":"chart","n":1.50}'),
            b'{"role":"tool","tool_call_id":"c","content":[{"type":"chart","n":1.50}]}',
        ),
    ],
)
def test_a_result_is_a_message_of_its_own(result: object, raw: bytes) -> None:
    call = ToolCall("c", "f")
    assert chat.result(call, call.answer(result)) == raw


def test_an_empty_result_is_still_a_result() -> None:
    call = ToolCall("c", "f")
    raw = chat.result(call, ToolResult("c"))
    assert raw == b'{"role":"tool","tool_call_id":"c","content":""}'
    assert chat.paired([call], [raw])


def test_an_image_cannot_be_a_result() -> None:
    call = ToolCall("c", "f")
    with pytest.raises(Unsayable, match="image"):
        chat.result(call, call.answer(image(url="u")))


def test_a_call_of_the_old_kind_is_answered_in_the_old_way() -> None:
    (call,) = stored("old_function_call").tool_calls
    raw = chat.result(call, call.answer("-4 degrees, snow"))
    assert raw == stored("old_function_result").raw
    assert chat.paired([call], [raw])


def test_results_go_out_in_call_order_and_what_came_meanwhile_after_them() -> None:
    later = b'{"role":"user","content":"Be brief."}'
    assert chat.frame([b"1", b"2"], [later]) == (b"1", b"2", later)
    assert chat.frame([b"1"]) == (b"1",)


def test_an_interrupted_call_has_one_result_for_ever() -> None:
    call = ToolCall("c", "f", position=3)
    assert chat.interrupted(call) == chat.interrupted(call)
    assert chat.message(chat.interrupted(call)).tool_call_id == "c"


@pytest.mark.parametrize("name", ["tool", "tool_parts", "tool_empty", "old_function_result"])
def test_a_result_message_is_all_result(name: str) -> None:
    message = stored(name)
    (fragment,), rest = chat.split_results(message.raw)
    assert rest is None
    assert fragment.raw == message.raw
    assert fragment.call_id == message.tool_call_id


@pytest.mark.parametrize("name", ["plain", "parallel_calls", "user_parts", "unknown_role"])
def test_other_messages_hold_no_result(name: str) -> None:
    raw = stored(name).raw
    assert chat.split_results(raw) == ((), raw)


def test_calls_are_paired_only_when_each_has_its_result_right_after() -> None:
    calls = stored("parallel_calls").tool_calls
    results = [chat.result(call, call.answer("ok")) for call in calls]
    between = b'{"role":"user","content":"Hello?"}'
    assert chat.paired(calls, results)
    assert chat.paired(calls, [*results[::-1], between])
    assert not chat.paired(calls, results[:2])
    assert not chat.paired(calls, [results[0], results[1], results[1]])
    assert not chat.paired(calls, [between, *results])


@pytest.mark.parametrize("name", MESSAGES)
def test_calls_and_results_are_never_overlooked(name: str) -> None:
    message = stored(name.removeprefix("message_"))
    has_calls = bool(message.tool_calls or message.tool_results)
    assert chat.may_have_calls(message.raw) or not has_calls


def test_plain_messages_are_told_apart_without_reading_them() -> None:
    assert not chat.may_have_calls(stored("plain").raw)


# -- the send projection ----------------------------------------------------------------------


def test_of_sound_only_the_id_is_sent_back() -> None:
    projected = chat.project(stored("audio").raw)
    assert projected == (
        b'{"role":"assistant","content":null,"refusal":null,"annotations":[],'
        b'"audio":{"id":"audio_abc123"}}'
    )
    assert chat.project(projected) == projected


@pytest.mark.parametrize("name", [name for name in MESSAGES if name != "message_audio"])
def test_nothing_else_is_ever_changed(name: str) -> None:
    raw = chat.message(wire(name)).raw
    assert chat.project(raw) is raw


@pytest.mark.parametrize(
    ("raw", "projected"),
    [
        (b'{"role":"assistant"}', b'{"role":"assistant","content":""}'),
        (b'{"role":"user"}', b'{"role":"user","content":""}'),
        (b'{"role":"system"}', b'{"role":"system","content":""}'),
        (b'{"role":"developer"}', b'{"role":"developer","content":""}'),
        (
            b'{"tool_call_id":"c","role":"tool"}',
            b'{"tool_call_id":"c","role":"tool","content":""}',
        ),
        (
            b'{"role":"tool","tool_call_id":"c"}',
            b'{"role":"tool","tool_call_id":"c","content":""}',
        ),
        (
            b'{"role":"tool","name":"f","tool_call_id":"c"}',
            b'{"role":"tool","name":"f","tool_call_id":"c","content":""}',
        ),
    ],
)
def test_content_that_a_state_of_version_1_left_out_is_sent_as_empty(
    raw: bytes, projected: bytes
) -> None:
    assert chat.project(raw) == projected
    assert chat.project(projected) == projected
    assert any([mark in raw for mark in chat.cut_marks])


@pytest.mark.parametrize(
    "raw",
    [
        b'{"role":"critic"}',
        b'{"role":"assistant","tool_calls":[]}',
        b'{"role":"assistant","refusal":"No."}',
        b'{"role":"user","content":"x","audio":{"id":"a","data":"b"}}',
        b'{"role":"assistant","content":"x","meta":{"audio":{"id":"a","data":"b"}}}',
        b'{"role":"assistant","content":"x","audio":{"data":"b"}}',
    ],
)
def test_sound_elsewhere_or_without_an_id_and_absent_content_beside_more_stay(raw: bytes) -> None:
    assert chat.project(raw) == raw


# -- asking -----------------------------------------------------------------------------------

WEATHER = ToolSpec(
    "get_weather",
    "Current weather for a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    strict=True,
)
CUSTOM = ToolSpec("run", native=b'{"type":"custom","custom":{"name":"run"}}')
HELLO = b'{"role":"user","content":"Hello"}'


def test_a_request_says_everything_in_its_place() -> None:
    request = chat.request(
        Ask(
            "gpt-5-mini",
            [HELLO],
            system=[system("Be terse.")],
            tools=[WEATHER, ToolSpec("now")],
            tool_choice="get_weather",
            output={"type": "object", "additionalProperties": False},
            output_name="place",
            stream=True,
            parameters={"temperature": 0.7, "max_completion_tokens": 9},
        )
    )
    assert request.path == "/chat/completions"
    assert request.headers == (("content-type", "application/json"),)
    assert request.body.decode() == (
        '{"model":"gpt-5-mini",'
        '"tools":[{"type":"function","function":{"name":"get_weather",'
        '"description":"Current weather for a city.","parameters":{"type":"object",'
        '"properties":{"city":{"type":"string"}},"required":["city"]},"strict":true}},'
        '{"type":"function","function":{"name":"now",'
        '"parameters":{"type":"object","properties":{}}}}],'
        '"tool_choice":{"type":"function","function":{"name":"get_weather"}},'
        '"response_format":{"type":"json_schema","json_schema":{"name":"place",'
        '"schema":{"type":"object","additionalProperties":false},"strict":true}},'
        '"stream":true,"stream_options":{"include_usage":true},'
        '"temperature":0.7,"max_completion_tokens":9,'
        '"messages":[{"role":"system","content":"Be terse."},{"role":"user","content":"Hello"}]}'
    )


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"model": "other"}, {"model": "other"}),
        ({"stream_options": {"include_obfuscation": False}}, {}),
        ({"stream_options": {"include_usage": False}}, {}),
        ({"stream_options": None}, {"stream_options": None}),
        (
            {"response_format": {"type": "json_object"}},
            {"response_format": {"type": "json_object"}},
        ),
        ({"tool_choice": "none"}, {"tool_choice": "none"}),
    ],
)
def test_parameters_win_over_what_the_dialect_says(
    parameters: dict[str, Any], expected: dict[str, Any]
) -> None:
    ask = Ask(
        "m",
        [HELLO],
        tool_choice="auto",
        output={"type": "object", "additionalProperties": False},
        stream=True,
        parameters=parameters,
    )
    body = json.loads(chat.request(ask).body)
    merged = {"include_usage": True} | (parameters.get("stream_options") or {})
    wanted = {"stream_options": merged} | expected
    assert {key: body[key] for key in wanted} == wanted


def test_messages_are_no_parameter() -> None:
    with pytest.raises(Invalid, match="messages"):
        chat.request(Ask("m", parameters={"messages": []}))


def test_more_than_one_answer_cannot_be_asked_for() -> None:
    with pytest.raises(Invalid, match="n=2"):
        chat.request(Ask("m", [HELLO], parameters={"n": 2}))
    assert b'"n":1,' in chat.request(Ask("m", [HELLO], parameters={"n": 1})).body


def test_system_text_that_cannot_be_said_is_not_left_out_silently() -> None:
    with pytest.raises(Unsayable, match="image"):
        chat.request(Ask("m", [HELLO], system=[system("Look", image(url="u"))]))


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_a_general_choice_of_tools_is_one_word(choice: str) -> None:
    assert json.loads(chat.request(Ask("m", tool_choice=choice)).body)["tool_choice"] == choice


def test_a_custom_tool_is_chosen_as_what_it_is() -> None:
    body = json.loads(chat.request(Ask("m", [HELLO], tools=[CUSTOM], tool_choice="run")).body)
    assert body["tools"] == [{"type": "custom", "custom": {"name": "run"}}]
    assert body["tool_choice"] == {"type": "custom", "custom": {"name": "run"}}


def test_each_request_is_a_prefix_of_the_next() -> None:
    raws = [chat.splice(chat.message(wire(name)).raw) for name in MESSAGES]
    asks = [
        Ask("m", raws[:count], system=[system("s")], tools=[WEATHER], parameters={"top_p": 0.5})
        for count in range(1, len(raws) + 1)
    ]
    bodies = [chat.request(ask).body for ask in asks]
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}"))


def test_a_conversation_without_messages_is_still_a_request() -> None:
    assert chat.request(Ask("m")).body == b'{"model":"m","messages":[]}'


# -- as the official client sees it -----------------------------------------------------------

official = pydantic.TypeAdapter(
    CompletionCreateParams, config=pydantic.ConfigDict(extra="forbid", strict=True)
)
COMPATIBLE = ("reasoning_content", "reasoning_details", "extra_content")


def exhaust(value: object) -> None:
    """Go through what pydantic validates only when it is iterated."""
    if isinstance(value, dict):
        for item in value.values():
            exhaust(item)
    elif not isinstance(value, str | bytes | int | float | None):
        for item in value:  # type: ignore[attr-defined]
            exhaust(item)


def without_compatible(value: JSON) -> JSON:
    """Leave out what only compatible servers have, which the official types do not know."""
    if isinstance(value, dict):
        return {k: without_compatible(v) for k, v in value.items() if k not in COMPATIBLE}
    return [without_compatible(item) for item in value] if isinstance(value, list) else value


def officially_valid(ask: Ask) -> None:
    body = chat.request(ask).body
    exhaust(official.validate_python(without_compatible(json.loads(body))))


def test_the_official_types_are_strict_enough_to_refuse_nonsense() -> None:
    with pytest.raises(pydantic.ValidationError):
        officially_valid(Ask("m", [b'{"role":"tool","content":"a","tool_call_id":"c","x":1}']))
    with pytest.raises(pydantic.ValidationError):
        officially_valid(Ask("m", [b'{"role":"assistant","content":[{"type":"image_url"}]}']))


@pytest.mark.parametrize(
    "draft",
    [
        system("a"),
        system("a", "b"),
        user("a"),
        user("a", image(url="u"), image(b"x", "image/png")),
        user(audio(b"x", "audio/wav"), file(b"y", "application/pdf"), file(file_id="f")),
        assistant("a", "b", Refusal("c")),
        assistant(Thought("a"), Text("b", "c2ln"), ToolCall("1", "f", "{}", 0, "c2ln")),
        assistant(ToolCall("1", "f", "x", custom=True), audio(file_id="audio_1")),
        assistant(ToolCall("function_call", "f", "{}")),
        Draft("tool", (ToolResult("1"), ToolResult("2", content=(Text("a"), Text("b"))))),
    ],
)
def test_the_official_types_accept_all_that_is_said(draft: Draft) -> None:
    officially_valid(Ask("m", chat.compose(draft).messages))


@pytest.mark.parametrize("stream", [True, False])
def test_the_official_types_accept_all_that_is_asked(*, stream: bool) -> None:
    ask = Ask(
        "gpt-5-mini",
        [HELLO],
        system=[system("s")],
        tools=[WEATHER, CUSTOM],
        tool_choice="run",
        output={"type": "object", "additionalProperties": False},
        stream=stream,
        parameters={"temperature": 0.5, "reasoning_effort": "low"},
    )
    officially_valid(ask)


@pytest.mark.parametrize("name", ["plain", "parallel_calls", "custom_call", "refusal", "tool"])
def test_the_official_types_accept_stored_messages_of_their_own(name: str) -> None:
    raw = stored(name).raw.replace(b',"annotations":[]', b"")
    officially_valid(Ask("m", [raw]))
