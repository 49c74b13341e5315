"""Streams of Gemini: however they are cut, the same content, the same text, the same problems."""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from google import genai
from google.genai import types
from hypothesis import given, settings
from hypothesis import strategies as st

from hansard import rawjson
from hansard.dialects.dialect import Ask
from hansard.dialects.events import (
    CallComplete,
    CallDelta,
    CallStarted,
    NativeEvent,
    StreamEvent,
    TextDelta,
    ThoughtDelta,
    UsageReported,
)
from hansard.dialects.gemini import Gemini
from hansard.messages import Message, ToolCall

if TYPE_CHECKING:
    from hansard.dialects.dialect import Answer

GEMINI = Gemini()
WIRE = Path(__file__).parents[2] / "data" / "wire" / "gemini"
STREAMS = sorted(path.name for path in WIRE.glob("*.sse"))


def wire(name: str) -> bytes:
    return (WIRE / f"{name.removesuffix('.sse')}.sse").read_bytes()


def read(*chunks: bytes) -> tuple[list[StreamEvent], Answer]:
    reader = GEMINI.stream()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events, reader.close()


def shown(events: list[StreamEvent]) -> str:
    return "".join([event.text for event in events])


def message(answer: Answer) -> Message:
    assert answer.raw is not None
    return GEMINI.message(answer.raw)


# -- what is put together -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("text", '[{"text":"Once upon a tim\\u00e9, in Tōkyō — the end."}]'),
        ("spaced", '[{"text":"Hello"}]'),
        (
            "thoughts_and_calls",
            (
                '[{"text":"**Weather** in two cities.","thought":true},{"text":"Looking it up."},'
                '{"functionCall":{"name":"get_weather","args":{"city":"Tokyo","k":1.50}},'
                '"thoughtSignature":"RXRZ-_w="},'
                '{"functionCall":{"name":"get_weather","args":{"city":"Paris","k":1e5}}},'
                '{"functionCall":{"id":"x","name":"search_flights","args":{}}},{"text":""}]'
            ),
        ),
        (
            "signed_texts",
            (
                '[{"text":"a"},{"text":"b","thoughtSignature":"c2lnMQ=="},{"text":"cd"},'
                '{"text":"","thoughtSignature":"c2lnMg=="}]'
            ),
        ),
        ("last_chunk_without_parts", '[{"text":"Hi there"}]'),
        ("last_chunk_without_content", '[{"text":"Hi"}]'),
        ("last_chunk_only_usage", '[{"text":"Hi there"}]'),
        ("surrogates", '[{"text":"smile \\ud83d\\ude00 and half \\ud83d \\\\ \\" done"}]'),
        (
            "code_execution",
            (
                '[{"text":"Computing. "},'
                '{"executableCode":{"language":"PYTHON","code":"print(1)"}},'
                '{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\\n"}},'
                '{"text":"It is 1."}]'
            ),
        ),
        (
            "image",
            (
                '[{"inlineData":{"mimeType":"image/png","data":"ZHJhZnQ="},"thought":true},'
                '{"text":"Here: "},{"inlineData":{"mimeType":"image/png","data":"ZmluYWw="},'
                '"thoughtSignature":"c2ln"}]'
            ),
        ),
        ("grounded", '[{"text":"Spain won. 2-1."}]'),
        ("two_candidates", '[{"text":"one two"}]'),
        ("safety_midway", '[{"text":"The recipe"}]'),
        ("no_last_blank", '[{"text":"ab"}]'),
        ("bare_array", '[{"text":"ab"}]'),
    ],
)
def test_a_whole_stream_makes_one_valid_content(name: str, parts: str) -> None:
    _, answer = read(wire(name))
    assert answer.valid
    assert not answer.cut
    assert answer.raw == b'{"role":"model","parts":' + parts.encode() + b"}"


def test_unknown_fields_are_kept_and_those_of_the_content_count_as_they_came_last() -> None:
    _, answer = read(wire("unknown_fields"))
    assert answer.raw == (
        b'{"role":"model","parts":[{"text":"a","novel":{"n":1e5}},{"text":"b"},'
        b'{"hologram":{"z":1,"a":2}},{"text":"c","thought":null},{"text":"de","thought":false}],'
        b'"mood":"keen"}'
    )


@pytest.mark.parametrize(
    ("name", "finish", "finish_raw"),
    [
        ("text", "stop", "STOP"),
        ("thoughts_and_calls", "tool_calls", "STOP"),
        ("last_chunk_without_content", "length", "MAX_TOKENS"),
        ("safety_midway", "filtered", "SAFETY"),
        ("blocked", "filtered", "SAFETY"),
        ("error_midway", None, None),
    ],
)
def test_the_finish_is_the_one_that_came(name: str, finish: str, finish_raw: str) -> None:
    _, answer = read(wire(name))
    assert (answer.finish, answer.finish_raw) == (finish, finish_raw)


def test_usage_is_that_of_the_last_chunk_that_has_any() -> None:
    _, answer = read(wire("last_chunk_only_usage"))
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (11, 7)
    assert answer.usage.raw == (
        b'{"promptTokenCount":11,"candidatesTokenCount":7,"totalTokenCount":18}'
    )
    _, earlier = read(wire("last_chunk_without_content"))
    assert earlier.usage is not None
    assert earlier.usage.output_tokens == 1
    assert (earlier.model, earlier.response_id) == ("gemini-2.5-flash", "r-1")


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("error_midway", ["cut", "provider_error"]),
        ("error_bare", ["cut", "provider_error"]),
        ("error_first", ["cut", "provider_error"]),
        ("blocked", ["blocked"]),
        ("empty", ["cut", "no_answer"]),
        ("malformed_event", ["malformed_event"]),
        ("partial_arguments", ["bad_arguments"]),
    ],
)
def test_what_went_wrong_is_a_problem_of_the_answer(name: str, codes: list[str]) -> None:
    _, answer = read(wire(name))
    assert list(dict.fromkeys(problem.code for problem in answer.problems)) == codes
    assert not answer.valid


@pytest.mark.parametrize("name", ["error_midway", "error_bare"])
def test_what_came_before_an_error_is_kept(name: str) -> None:
    _, answer = read(wire(name))
    assert message(answer).text == "Hi"
    assert any("Internal" in p.detail or "overloaded" in p.detail for p in answer.problems)


def test_the_word_that_ends_other_streams_is_not_malformed() -> None:
    _, answer = read(wire("text"), b"data: [DONE]\n\n")
    assert answer.valid


def test_a_byte_order_mark_is_no_line_of_its_own() -> None:
    assert read(b"\xef\xbb\xbf" + wire("text")) == read(wire("text"))


def test_a_finish_reason_that_says_nothing_is_no_end() -> None:
    body = wire("text").replace(b"STOP", b"FINISH_REASON_UNSPECIFIED")
    answer = read(body)[1]
    assert answer.cut
    assert answer.finish is None


# -- events -------------------------------------------------------------------------------------


def test_text_and_thoughts_are_told_as_they_come_and_calls_when_they_are_whole() -> None:
    events, answer = read(wire("thoughts_and_calls"))
    paris = ToolCall("", "get_weather", '{"city":"Paris","k":1e5}', 1)
    assert events[:4] == [
        ThoughtDelta("**Weather**"),
        ThoughtDelta(" in two cities."),
        TextDelta("Looking "),
        TextDelta("it up."),
    ]
    assert events[7:10] == [
        CallStarted(1, "", "get_weather"),
        CallDelta(1, paris.arguments),
        CallComplete(paris),
    ]
    told = [event.call for event in events if isinstance(event, CallComplete)]
    assert tuple(told) == message(answer).tool_calls


def test_each_text_is_told_by_the_chunk_that_brings_it() -> None:
    reader = GEMINI.stream()
    told = [shown(reader.feed(event + b"\n\n")) for event in wire("text").split(b"\n\n")[:-1]]
    assert told == ["Once", " upon a timé", ", in Tōkyō —", " the end."]


def test_the_halves_of_a_pair_are_told_together() -> None:
    events, _ = read(wire("surrogates"))
    assert shown(events) == 'smile \U0001f600 and half \ud83d \\ " done'


def test_usage_is_told_when_the_model_is_done() -> None:
    events, answer = read(wire("text"))
    assert [event for event in events if isinstance(event, UsageReported)] == [events[-1]]
    assert events[-1] == UsageReported(answer.usage)  # type: ignore[arg-type]


def test_what_only_gemini_streams_is_told_as_it_is_spelled() -> None:
    events, _ = read(wire("grounded"))
    assert NativeEvent("groundingMetadata", b'{"webSearchQueries":["euro 2024"]}') in events
    events, _ = read(wire("unknown_fields"))
    natives = [event for event in events if isinstance(event, NativeEvent)]
    assert [event.kind for event in natives] == ["wonder", "cosmos", "hologram"]


def test_a_call_in_pieces_is_never_told_as_a_call() -> None:
    events, _ = read(wire("partial_arguments"))
    assert not [event for event in events if isinstance(event, CallStarted | CallComplete)]


# -- cuts ---------------------------------------------------------------------------------------


def chunks(body: bytes, cuts: list[int]) -> list[bytes]:
    at = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    return [body[start:end] for start, end in pairwise(at)]


@pytest.mark.parametrize("name", STREAMS)
@settings(max_examples=25)
@given(cuts=st.lists(st.integers(0, 1 << 16), max_size=8))
def test_no_cutting_of_the_bytes_changes_anything(name: str, cuts: list[int]) -> None:
    body = wire(name)
    assert read(*chunks(body, cuts)) == read(body)
    windows = body.replace(b"\n", b"\r\n")
    assert read(*chunks(windows, cuts)) == read(body)


@pytest.mark.parametrize("name", STREAMS)
def test_one_byte_at_a_time_tells_the_same(name: str) -> None:
    body = wire(name)
    assert read(*[body[at : at + 1] for at in range(len(body))]) == read(body)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_cut_after_any_byte_never_raises_and_keeps_what_was_shown(name: str) -> None:
    body = wire(name)
    for end in range(len(body)):
        events, answer = read(body[:end])
        if shown(events):
            assert message(answer).text.startswith(shown(events))
        assert answer.cut == ("cut" in [problem.code for problem in answer.problems])


ENDED = [
    name
    for name in STREAMS
    if not name.startswith(("error", "empty", "bare", "last_chunk_only", "no_last"))
]


@pytest.mark.parametrize("name", ENDED)
def test_a_stream_cut_before_its_last_event_says_so(name: str) -> None:
    events = wire(name).split(b"\n\n")[:-1]
    for count in range(len(events)):
        reader = GEMINI.stream()
        reader.feed(b"".join([event + b"\n\n" for event in events[:count]]))
        assert reader.cut
        answer = reader.close()
        assert answer.cut
        assert not answer.valid
        assert answer.finish is None
    assert not read(wire(name))[1].cut


@given(st.lists(st.text(max_size=9), max_size=9), st.lists(st.integers(0, 1 << 16), max_size=5))
def test_any_text_in_any_pieces_is_put_together(pieces: list[str], cuts: list[int]) -> None:
    body = b"".join(
        [
            b'data: {"candidates":[{"content":{"parts":[{"text":%b}],"role":"model"}}]}\n\n'
            % rawjson.quote(piece)
            for piece in pieces
        ]
    )
    body += b'data: {"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}\n\n'
    events, answer = read(*chunks(body, cuts))
    assert message(answer).text.encode("utf-16", "surrogatepass") == "".join(pieces).encode(
        "utf-16", "surrogatepass"
    )
    assert shown(events).encode("utf-16", "surrogatepass") == "".join(pieces).encode(
        "utf-16", "surrogatepass"
    )


HOSTILE = [
    b"data: 5\n\n",
    b'data: "text"\n\n',
    b"data: null\n\n",
    b'data: {"candidates":null}\n\n',
    b'data: {"candidates":{"content":1}}\n\n',
    b'data: {"candidates":[7,null,{"content":7},{"content":{"parts":{}}}]}\n\n',
    b'data: {"candidates":[{"content":{"parts":[7,null,{"text":7},{"text":["a"]}]}}]}\n\n',
    b'data: {"candidates":[{"content":{"parts":[{"text":"\xff"}],"role":"model"}}]}\n\n',
    b'data: {"candidates":[{"content":{"parts":[{"text":"a"}],"role":7},"finishReason":7}]}\n\n',
    b'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":'
    + b"[" * 5000
    + b"]" * 5000
    + b"}\n\n",
    b'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":'
    + b"[" * 300
    + b"]" * 300
    + b"}\n\n",
    b'data: {"usageMetadata":7,"modelVersion":[],"error":7}\n\n',
    b"<html>busy</html>\n",
]


@pytest.mark.parametrize("event", HOSTILE)
def test_odd_events_are_problems_and_never_spoil_the_rest(event: bytes) -> None:
    first, *rest = wire("text").split(b"\n\n")
    events, answer = read(first + b"\n\n", event, b"\n\n".join(rest))
    assert shown(events).endswith(", in Tōkyō — the end.")
    assert message(answer).text.endswith(", in Tōkyō — the end.")


# -- the official client ------------------------------------------------------------------------


def official(name: str) -> list[types.Content]:
    """Let the official client read the same bytes into its own history."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        assert str(request.url).endswith(GEMINI.request(Ask("m", stream=True)).path)
        return httpx2.Response(200, content=wire(name))

    transport = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = genai.Client(api_key="none", http_options=types.HttpOptions(httpx_client=transport))
    chat = client.chats.create(model="m")
    for _ in chat.send_message_stream("Hi"):
        pass
    return chat.get_history()[1:]


def joined(contents: list[types.Content]) -> list[types.Part]:
    """Join what the official client leaves in pieces: texts that are alike and carry nothing."""
    parts = [part for content in contents for part in content.parts or []]
    bare = groupby(parts, lambda part: part if carries(part) else part.thought)
    together: list[types.Part] = []
    for key, group in bare:
        run = list(group)
        if isinstance(key, types.Part):
            together += run
        else:
            text = "".join([part.text or "" for part in run])
            together.append(types.Part(text=text, thought=key))
    return together


def carries(part: types.Part) -> bool:
    known: dict[str, Any] = part.model_dump(exclude_none=True)
    return not known.keys() <= {"text", "thought"} or "text" not in known


SAME = [
    "text",
    "thoughts_and_calls",
    "signed_texts",
    "last_chunk_without_parts",
    "last_chunk_without_content",
    "last_chunk_only_usage",
    "code_execution",
    "image",
    "grounded",
    "safety_midway",
    "no_last_blank",
]


@pytest.mark.parametrize("name", SAME)
def test_the_official_client_hears_the_same_parts(name: str) -> None:
    """It keeps a content for each chunk, which is its mistake: here they are one."""
    _, answer = read(wire(name))
    assert answer.raw is not None
    ours = types.Content.model_validate(json.loads(answer.raw))
    assert joined([ours]) == joined(official(name))
    assert joined([ours]) == ours.parts


def test_the_official_client_mixes_candidates_and_we_do_not() -> None:
    assert [part.text for part in joined(official("two_candidates"))] == ["onedue two"]
    assert message(read(wire("two_candidates"))[1]).text == "one two"


def test_the_official_client_drops_what_it_does_not_know_and_we_do_not() -> None:
    theirs = [part.model_dump(exclude_none=True) for part in joined(official("unknown_fields"))]
    assert "novel" not in str(theirs)
    assert "hologram" not in str(theirs)
    assert b'"novel":{"n":1e5}' in message(read(wire("unknown_fields"))[1]).raw
    assert b'{"hologram":{"z":1,"a":2}}' in message(read(wire("unknown_fields"))[1]).raw


@pytest.mark.parametrize("name", ["last_chunk_without_parts", "last_chunk_only_usage"])
def test_a_last_chunk_with_nothing_to_say_does_not_spoil_the_answer(name: str) -> None:
    """The official client drops the whole turn from what it sends next."""
    assert read(wire(name))[1].valid
