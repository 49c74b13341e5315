"""Streamed Chat Completions: whatever the cuts, one message; whatever the server, no surprise."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.dialects.events import (
    CallComplete,
    CallDelta,
    CallStarted,
    NativeEvent,
    RefusalDelta,
    TextDelta,
    ThoughtDelta,
    UsageReported,
)
from hansard.dialects.openai_chat import OpenAIChat
from hansard.messages import Media, Text, Thought, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.dialects.dialect import Answer
    from hansard.dialects.events import StreamEvent
    from hansard.messages import Message

WIRE = Path(__file__).parents[2] / "data" / "wire" / "openai_chat"
STREAMS = sorted(path.stem.removeprefix("stream_") for path in WIRE.glob("stream_*.sse"))
UNFINISHED = frozenset({"done_without_finish", "error_midway", "error_vllm"})
"""Streams in which no server ever says that it is done."""

chat = OpenAIChat()
names = st.sampled_from(STREAMS)


@cache
def wire(name: str) -> bytes:
    return (WIRE / f"stream_{name}.sse").read_bytes()


def run(chunks: Iterable[bytes]) -> tuple[list[StreamEvent], Answer]:
    reader = chat.stream()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events, reader.close()


@cache
def whole(name: str) -> tuple[list[StreamEvent], Answer]:
    return run([wire(name)])


def message(name: str) -> Message:
    raw = whole(name)[1].raw
    assert raw is not None
    return chat.message(raw)


def chunk(delta: str, finish: str | None = None) -> bytes:
    reason = json.dumps(finish)
    choice = f'{{"index":0,"delta":{delta},"finish_reason":{reason}}}'
    return f'data: {{"choices":[{choice}]}}\n\n'.encode("utf-8", "surrogatepass")


def said(events: list[StreamEvent]) -> dict[str, str]:
    """Everything that was shown, joined."""
    shown: dict[str, str] = {}
    for event in events:
        match event:
            case TextDelta(text):
                key, more = "text", text
            case ThoughtDelta(thought):
                key, more = "thought", thought
            case RefusalDelta(refusal):
                key, more = "refusal", refusal
            case CallDelta(position, arguments):
                key, more = f"call {position}", arguments
            case _:
                continue
        shown[key] = shown.get(key, "") + more
    return shown


# -- one message, whatever the cuts -----------------------------------------------------------


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_becomes_one_message_in_one_spelling(name: str) -> None:
    expected = WIRE / f"stream_{name}.json"
    raw = whole(name)[1].raw
    if raw is None:
        assert not expected.exists()
    else:
        assert raw == expected.read_bytes().removesuffix(b"\n")


@given(names, st.data())
def test_how_the_bytes_are_cut_changes_nothing(name: str, data: st.DataObject) -> None:
    stream = wire(name)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    places = list(zip([0, *cuts], [*cuts, len(stream)], strict=True))
    events, answer = run([stream[begin:end] for begin, end in places])
    assert answer == whole(name)[1]
    assert events == whole(name)[0]


@pytest.mark.parametrize("name", STREAMS)
def test_one_byte_at_a_time_changes_nothing(name: str) -> None:
    stream = wire(name)
    assert run([stream[i : i + 1] for i in range(len(stream))]) == whole(name)


@pytest.mark.parametrize("name", STREAMS)
def test_line_ends_of_the_other_kind_change_nothing(name: str) -> None:
    assert run([wire(name).replace(b"\n", b"\r\n")]) == whole(name)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_without_its_last_line_ends_gives_the_same_answer(name: str) -> None:
    assert run([wire(name).rstrip(b"\n")])[1] == whole(name)[1]


@pytest.mark.parametrize("name", STREAMS)
def test_closing_twice_is_harmless(name: str) -> None:
    reader = chat.stream()
    reader.feed(wire(name))
    assert reader.close() is reader.close()


# -- a cut stream is recognized ---------------------------------------------------------------


def boundaries(stream: bytes) -> list[int]:
    return [i + 2 for i in range(len(stream)) if stream.startswith(b"\n\n", i)]


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_cut_at_any_event_is_known_to_be_cut(name: str) -> None:
    stream = wire(name)
    reason = stream.rfind(b'"finish_reason":"')
    reason = stream.rfind(b'"finish_reason": "') if reason < 0 else reason
    finished = stream.index(b"\n\n", reason) + 2 if reason >= 0 else len(stream) + 1
    assert (reason < 0) == (name in UNFINISHED)
    for end in [0, *boundaries(stream)]:
        _, answer = run([stream[:end]])
        assert answer.cut == (end < finished)
        assert ("cut" in [problem.code for problem in answer.problems]) == answer.cut


@given(names, st.data())
def test_a_stream_cut_anywhere_gives_what_came_and_never_raises(
    name: str, data: st.DataObject
) -> None:
    stream = wire(name)
    events, answer = run([stream[: data.draw(st.integers(0, len(stream)))]])
    everything = said(whole(name)[0])
    assert all(everything[key].startswith(text) for key, text in said(events).items())
    assert answer.raw is None or chat.message(answer.raw).raw == answer.raw


def test_done_without_a_finish_reason_is_a_cut() -> None:
    """Proxies send it after whatever happened to the server behind them."""
    _, answer = whole("done_without_finish")
    assert answer.cut
    assert answer.raw == b'{"role":"assistant","content":"Half a sen"}'


def test_nothing_at_all_is_a_cut_and_no_answer() -> None:
    _, answer = run([])
    assert answer.raw is None
    assert [problem.code for problem in answer.problems] == ["cut", "no_answer"]


def test_a_call_that_was_cut_is_never_called_complete() -> None:
    stream = wire("parallel_calls")
    end = stream.index(b"Tokyo")
    events, answer = run([stream[:end]])
    assert not [event for event in events if isinstance(event, CallComplete)]
    assert [problem.code for problem in answer.problems] == ["cut", "bad_arguments"]


def test_of_an_answer_that_grew_too_long_only_whole_calls_are_complete() -> None:
    events, answer = whole("length")
    complete = [event.call.name for event in events if isinstance(event, CallComplete)]
    assert complete == ["now"]
    assert [problem.code for problem in answer.problems] == ["bad_arguments"]


# -- events -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({*STREAMS} - {"error_vllm", "surrogates"}))
def test_what_was_shown_is_what_is_stored(name: str) -> None:
    shown = said(whole(name)[0])
    stored = message(name)
    assert shown.get("text", "") == stored.text
    assert shown.get("thought", "") == stored.thought_text
    assert shown.get("refusal") == stored.refusal
    if name != "old_function_call":
        for call in stored.tool_calls:
            assert shown.get(f"call {call.position}", "") == call.arguments


def test_half_a_character_is_shown_when_its_other_half_comes() -> None:
    events, _ = whole("surrogates")
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    assert texts == ["smile ", "😀, half ", "\ud83d and Aé", " end "]
    assert message("surrogates").text == "smile 😀, half \ud83d and Aé end \ud83c"


@pytest.mark.parametrize("name", STREAMS)
def test_every_event_has_text_that_can_be_printed_as_it_comes(name: str) -> None:
    texts = [event.text for event in whole(name)[0]]
    assert "".join(texts) == said(whole(name)[0]).get("text", "")


def test_calls_are_told_as_they_begin_grow_and_end() -> None:
    events, _ = whole("parallel_calls")
    assert events[:-1] == [
        CallStarted(0, "call_1", "get_weather"),
        CallDelta(0, '{"ci'),
        CallDelta(0, 'ty":'),
        CallDelta(0, '"Tokyo"}'),
        CallStarted(1, "call_2", "get_weather"),
        CallDelta(1, '{"city":"Paris"}'),
        CallComplete(ToolCall("call_1", "get_weather", '{"city":"Tokyo"}', 0)),
        CallComplete(ToolCall("call_2", "get_weather", '{"city":"Paris"}', 1)),
    ]


def test_usage_is_told_when_it_comes_and_is_part_of_the_answer() -> None:
    events, answer = whole("plain")
    (reported,) = [event.usage for event in events if isinstance(event, UsageReported)]
    assert answer.usage == reported
    assert (reported.input_tokens, reported.output_tokens) == (19, 10)
    assert reported.raw is not None
    assert reported.raw in wire("plain")


def test_of_figures_that_come_again_and_again_the_last_ones_count() -> None:
    first = chunk('{"content":"a"}').replace(b"]}", b'],"usage":{"prompt_tokens":1}}')
    last = chunk("{}", "stop").replace(b"]}", b'],"usage":{"prompt_tokens":3}}')
    nothing = b'data: {"choices":[],"usage":null}\n\n'
    _, answer = run([first, last, nothing])
    assert answer.usage is not None
    assert answer.usage.input_tokens == 3


def test_the_same_reasoning_under_two_names_is_shown_once() -> None:
    events, answer = run(
        [chunk('{"reasoning":"Hm","reasoning_content":"Hm"}'), chunk('{"content":"2"}', "stop")]
    )
    assert said(events) == {"thought": "Hm", "text": "2"}
    assert answer.raw == (
        b'{"role":"assistant","content":"2","reasoning":"Hm","reasoning_content":"Hm"}'
    )


# -- what servers do --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "finish", "codes"),
    [
        ("plain", "stop", []),
        ("parallel_calls", "tool_calls", []),
        ("gaps_and_repeats", "tool_calls", []),
        ("refusal", "refused", []),
        ("custom_call", "tool_calls", []),
        ("old_function_call", "tool_calls", []),
        ("deepseek", "tool_calls", []),
        ("deepseek_no_thought", "tool_calls", []),
        ("openrouter", "stop", []),
        ("openrouter_summary", "stop", []),
        ("gemini_calls", "tool_calls", []),
        ("gemini_signed_text", "stop", []),
        ("one_index_for_all", "tool_calls", []),
        ("without_ids", "tool_calls", []),
        ("spaced", "tool_calls", []),
        ("surrogates", "stop", []),
        ("content_parts", "stop", []),
        ("unknown_fields", "stop", []),
        ("audio", "stop", []),
        ("azure", "filtered", []),
        ("length", "length", ["bad_arguments"]),
        ("empty", "stop", ["empty"]),
        ("error_midway", None, ["provider_error", "cut"]),
        ("error_openrouter", "other", ["provider_error"]),
        ("error_vllm", None, ["provider_error", "cut"]),
        ("done_without_finish", None, ["cut"]),
        ("malformed", "stop", ["malformed_event"]),
    ],
)
def test_every_stream_is_judged(name: str, finish: str | None, codes: list[str]) -> None:
    _, answer = whole(name)
    assert answer.finish == finish
    assert [problem.code for problem in answer.problems] == codes


def test_all_streams_at_hand_are_judged() -> None:
    (table,) = [
        mark.args[1]
        for mark in test_every_stream_is_judged.pytestmark  # type: ignore[attr-defined]
    ]
    assert sorted(row[0] for row in table) == STREAMS


def test_calls_keep_their_order_over_gaps_and_repeats() -> None:
    assert message("gaps_and_repeats").tool_calls == (
        ToolCall("call_x", "first", '{"a":1e5}', 0),
        ToolCall("call_y", "second", "{}", 1),
    )


def test_empty_reasoning_before_calls_is_kept_for_deepseek_demands_it() -> None:
    assert b'"reasoning_content":""' in message("deepseek_no_thought").raw


def test_reasoning_items_go_on_by_kind_until_they_are_signed() -> None:
    """OpenRouter gives all of them one index while it streams, or none."""
    assert message("openrouter").thoughts == (
        Thought("Six by nine?", "c2ln"),
        Thought("Again.", "bW9yZQ=="),
        Thought(redacted="gAAA"),
    )
    assert message("openrouter_summary").thoughts == (
        Thought("**Adding**"),
        Thought(redacted="gAAB"),
    )


def test_reasoning_items_of_another_index_are_others() -> None:
    item = '{{"reasoning_details":[{{"type":"reasoning.text","text":"{}","index":{}}}]}}'
    _, answer = run(
        [chunk(item.format(text, index)) for text, index in [("a", 0), ("b", 0), ("c", 1)]]
    )
    assert answer.raw is not None
    assert chat.message(answer.raw).thoughts == (Thought("ab"), Thought("c"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"type":"reasoning.text","text":"a"}', '{"type":"reasoning.summary","summary":"a"}'),
        (
            '{"type":"reasoning.encrypted","data":"a","index":0}',
            '{"type":"reasoning.encrypted","data":"a","index":0}',
        ),
        ('{"type":"reasoning.text","text":"a"}', '{"type":"new","text":"a"}'),
        ('{"type":"reasoning.text","text":"a","id":"1"}', '{"type":"reasoning.text","id":"2"}'),
        ('"a"', '{"type":"reasoning.text","text":"a"}'),
    ],
)
def test_reasoning_items_that_are_no_text_of_one_kind_stay_apart(first: str, second: str) -> None:
    item = '{{"reasoning_details":[{}]}}'
    _, answer = run([chunk(item.format(first)), chunk(item.format(second), "stop")])
    assert answer.raw is not None
    assert answer.raw.endswith(f'"reasoning_details":[{first},{second}]}}'.encode())


def test_gemini_s_signatures_come_back_on_the_call_or_the_text_that_has_them() -> None:
    first, second = message("gemini_calls").tool_calls
    assert first.thought_signature == "CpcBAXLI2nzX/A+b=="
    assert second == ToolCall("function-call-2", "get_weather", '{"city":"Paris"}', 1)
    assert message("gemini_signed_text").parts == (Text("Bring an umbrella.", "EqQBCqEB+/=="),)


def test_what_comes_for_a_call_without_id_or_index_belongs_to_the_last_one() -> None:
    extra = message("gemini_calls").extra
    assert dict(extra) == {"tool_calls[1].extra_content.google.trace": "late"}


def test_calls_without_an_index_go_on_by_their_id() -> None:
    piece = '{{"tool_calls":[{{"id":"{}","function":{{"name":"{}","arguments":"{}"}}}}]}}'
    spoken = [("a", "f", "["), ("b", "g", "{"), ("a", "", "]"), ("b", "", "}")]
    _, answer = run([chunk(piece.format(*each)) for each in spoken] + [chunk("{}", "tool_calls")])
    assert answer.raw is not None
    assert chat.message(answer.raw).tool_calls == (
        ToolCall("a", "f", "[]", 0),
        ToolCall("b", "g", "{}", 1),
    )


def test_a_call_of_the_old_kind_is_told_when_it_is_whole() -> None:
    events, _ = whole("old_function_call")
    call = ToolCall("function_call", "get_weather", '{"city":"Oslo"}')
    assert events == [CallComplete(call)]


def test_of_a_call_only_its_arguments_are_told() -> None:
    function = '{"name":"f","arguments":"{}","note":"why"}'
    events, answer = run([chunk(f'{{"tool_calls":[{{"id":"c","function":{function}}}]}}')])
    assert said(events) == {"call 0": "{}"}
    assert answer.raw is not None
    assert dict(chat.message(answer.raw).extra) == {"tool_calls[0].function.note": "why"}


def test_an_id_that_comes_late_belongs_to_the_call_that_has_none() -> None:
    _, answer = run(
        [
            chunk('{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":""}}]}'),
            chunk('{"tool_calls":[{"index":0,"id":"call_1","function":{"arguments":"{}"}}]}'),
            chunk("{}", "tool_calls"),
        ]
    )
    assert answer.raw is not None
    assert chat.message(answer.raw).tool_calls == (ToolCall("call_1", "f", "{}"),)


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        (['"name":"f","arguments":""', '"name":"f","arguments":"{}"'], "{}"),
        (['"name":"f","arguments":"{}"', '"arguments":"\\n"'], "{}\n"),
        (['"name":"f","arguments":"{}"', '"name":"f","arguments":""'], "{}"),
        (['"name":"f","arguments":"{"', '"name":"f","arguments":"}"'], "{}"),
    ],
)
def test_a_call_without_an_id_goes_on_until_another_begins(
    pieces: list[str], arguments: str
) -> None:
    call = '{{"tool_calls":[{{"index":0,"type":"function","function":{{{}}}}}]}}'
    _, answer = run([chunk(call.format(piece)) for piece in pieces])
    assert answer.raw is not None
    assert chat.message(answer.raw).tool_calls == (ToolCall("", "f", arguments),)


def test_fields_nobody_knows_are_kept_with_their_numbers_as_spelled() -> None:
    assert b'"mood":"calm","score":2.50,"seen":[1e5,-0.0,{"k":[]}]' in message("unknown_fields").raw


def test_what_only_this_server_streams_is_told_as_it_was_spelled() -> None:
    events, _ = whole("unknown_fields")
    told = [(event.kind, event.raw) for event in events if isinstance(event, NativeEvent)]
    assert told[:4] == [
        ("mood", b'"cal"'),
        ("score", b"1.50"),
        ("seen", b"[1e5]"),
        ("meta", b'{"a":"x","n":1}'),
    ]


def test_sound_is_told_piece_by_piece_and_its_words_are_shown() -> None:
    events, _ = whole("audio")
    assert said(events) == {"text": "Hi there"}
    assert NativeEvent("audio", b'{"data":"AAEC"}') in events
    sound, words = message("audio").parts
    assert sound == Media("audio", base64="UklGRgAAEC", file_id="audio_1")
    assert words == Text("Hi there")


def test_arguments_of_a_call_that_never_began_are_kept() -> None:
    piece = '{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}'
    events, answer = run([chunk(piece), chunk("{}", "tool_calls")])
    assert said(events) == {"call 0": "{}"}
    assert answer.raw is not None
    assert chat.message(answer.raw).tool_calls == (ToolCall("", "", "{}"),)


def test_a_call_may_begin_with_its_id_alone() -> None:
    begun = '{"tool_calls":[{"index":0,"id":"call_1","type":"function"}]}'
    more = '{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}'
    events, answer = run([chunk(begun), chunk(more), chunk("{}", "tool_calls")])
    assert said(events) == {"call 0": "{}"}
    assert answer.raw is not None
    assert chat.message(answer.raw).tool_calls == (ToolCall("call_1", "", "{}"),)


@pytest.mark.parametrize("index", ["null", '"0"'])
def test_a_choice_without_a_usable_index_is_the_first(index: str) -> None:
    odd = chunk('{"content":"x"}').replace(b'"index":0', f'"index":{index}'.encode())
    assert said(run([odd])[0]) == {"text": "x"}


def test_only_the_first_choice_is_the_answer() -> None:
    other = chunk('{"content":"no"}', "stop").replace(b'"index":0', b'"index":1')
    odd = chunk('{"content":"no \\ud83d"}', "stop").replace(b'"index":0', b'"index":1')
    events, answer = run([chunk('{"content":"yes"}'), other, odd, chunk("{}", "stop")])
    assert said(events) == {"text": "yes"}
    assert answer.raw == b'{"role":"assistant","content":"yes"}'


@pytest.mark.parametrize("role", ['"role":null,', '"role":"",', ""])
def test_an_answer_whose_role_never_came_is_the_assistant_s(role: str) -> None:
    _, answer = run([chunk(f'{{{role}"content":"x"}}', "stop")])
    assert answer.raw is not None
    assert answer.valid
    assert json.loads(answer.raw) == {"role": "assistant", "content": "x"}


# -- broken events ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b'{"choices":[{"index":0,"delta":{"content":"\xff"}}]}',
        b'{"choices":[{"index":0,"delta":{"x":["\xff"]}}]}',
        b'{"\xff":1}',
        b'{"choices":[{"index":0,"delta":{"tool_calls":[7]}}]}',
        b'{"x":' + b"[" * 3000 + b"]" * 3000 + b"}",
    ],
)
def test_a_broken_event_is_a_problem_and_the_rest_is_kept(event: bytes) -> None:
    broken = b"data: " + event + b"\n\n"
    events, answer = run([chunk('{"content":"a"}'), broken, chunk('{"content":"b"}', "stop")])
    assert [problem.code for problem in answer.problems] == ["malformed_event"]
    assert answer.raw == b'{"role":"assistant","content":"ab"}'
    assert said(events) == {"text": "ab"}


def test_a_message_nested_too_deep_is_a_problem_and_not_an_exception() -> None:
    _, answer = run([chunk('{"x":' + "[" * 300 + "]" * 300 + "}", "stop")])
    assert answer.raw is None
    assert "malformed_event" in [problem.code for problem in answer.problems]


@pytest.mark.parametrize(
    "event",
    [
        b'{"choices":null,"x":"\\ud83d"}',
        b'{"choices":[],"usage":7,"id":7,"model":[]}',
        b'{"choices":[{"index":null,"delta":null,"finish_reason":""}]}',
        b'{"choices":[{"index":0,"delta":"x","finish_reason":null}]}',
        b'{"choices":[{"delta":{"tool_calls":null,"function_call":null,"content":null}}]}',
        b"{}",
        b"",
    ],
)
def test_an_odd_event_that_says_nothing_changes_nothing(event: bytes) -> None:
    odd = b"data: " + event + b"\n\n"
    _, answer = run([chunk('{"content":"a"}'), odd, chunk('{"content":"b"}', "stop")])
    assert answer.valid
    assert answer.raw is not None
    assert chat.message(answer.raw).text == "ab"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "id", "index", "function", "name", "arguments"]), inner
        )
    ),
    max_leaves=5,
)
odd_deltas = st.dictionaries(
    st.sampled_from(
        [
            "role",
            "content",
            "refusal",
            "tool_calls",
            "function_call",
            "reasoning",
            "reasoning_content",
            "reasoning_details",
            "extra_content",
            "other",
        ]
    ),
    json_values,
)


@given(st.lists(odd_deltas, max_size=4))
def test_no_delta_is_too_odd(deltas: list[dict[str, Any]]) -> None:
    chunks = [chunk(json.dumps(delta)) for delta in deltas]
    _, answer = run([*chunks, chunk("{}", "stop")])
    assert not answer.cut
    assert answer.raw is None or chat.message(answer.raw).raw == answer.raw


@given(st.lists(st.text(st.characters(exclude_categories=())), min_size=1))
def test_text_cut_between_any_two_characters_comes_together_again(pieces: list[str]) -> None:
    text = "".join(pieces)
    units = [json.dumps(unit) for unit in pieces]
    events, answer = run([chunk(f'{{"content":{unit}}}') for unit in units])
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert answer.raw is not None
    assert chat.message(answer.raw).text == joined
    assert joined.startswith(said(events).get("text", ""))


# -- as the official client sees it ---------------------------------------------------------------

ELSEWHERE = {
    "content_parts": "it takes content for a string",
    "custom_call": "it fails on calls of custom tools",
    "error_midway": "it raises, and what came so far is lost",
    "error_openrouter": "it raises, and what came so far is lost",
    "error_vllm": "it does not know this kind of error",
    "gaps_and_repeats": "it takes the index for a position",
    "gemini_calls": "it cannot do without an index",
    "gemini_signed_text": "it joins the repeated role: assistantassistant",
    "malformed": "it raises, and what came so far is lost",
    "one_index_for_all": "it joins two calls into one",
    "openrouter": "it joins repeated roles and formats, and items of different kinds",
    "openrouter_summary": "it cannot do without an index",
    "surrogates": "it decodes pieces one by one, so that halves never meet",
    "unknown_fields": "it adds numbers up",
    "without_ids": "it joins calls and their repeated names",
}
"""Where the official client's message differs from ours, and why ours is right."""


OFFICIAL_FAILURES = (
    openai.APIError,
    AssertionError,
    AttributeError,
    IndexError,
    RuntimeError,
    TypeError,
    UserWarning,
    ValueError,
)


def official_message(stream: bytes) -> dict[str, Any]:
    """Let the official client put the same bytes together."""

    def respond(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=stream)

    with (
        httpx2.Client(transport=httpx2.MockTransport(respond)) as http,
        openai.OpenAI(
            api_key="none", base_url="http://server.invalid/v1", max_retries=0, http_client=http
        ) as client,
        client.chat.completions.stream(model="m", messages=[]) as events,
    ):
        events.until_done()
        completion = events.current_completion_snapshot
    put_together = completion.choices[0].message.to_dict(warnings=False)
    for call in put_together.get("tool_calls") or []:  # type: ignore[attr-defined]
        del call["index"]
        call.get("function", {}).pop("parsed_arguments", None)
    return {k: v for k, v in put_together.items() if v is not None and k != "parsed"}


def our_message(name: str) -> dict[str, Any]:
    raw = whole(name)[1].raw
    return {k: v for k, v in json.loads(raw or b"{}").items() if v is not None}


@pytest.mark.parametrize("name", sorted({*STREAMS} - {*ELSEWHERE}))
def test_the_official_client_puts_the_same_message_together(name: str) -> None:
    assert official_message(wire(name)) == our_message(name)


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_where_the_official_client_differs_it_still_does(name: str) -> None:
    try:
        different = official_message(wire(name)) != our_message(name)
    except OFFICIAL_FAILURES:
        different = True
    assert different, f"no longer true: {ELSEWHERE[name]}"
