"""Streamed Anthropic answers: however the bytes are cut, and wherever they end."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import rawjson
from hansard.dialects.anthropic import Anthropic
from hansard.dialects.events import (
    CallComplete,
    CallDelta,
    CallStarted,
    NativeEvent,
    TextDelta,
    ThoughtDelta,
    UsageReported,
)
from hansard.errors import DecodeError
from hansard.messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.dialects.dialect import Answer
    from hansard.dialects.events import StreamEvent
    from hansard.rawjson import JSON

WIRE = Path(__file__).parents[2] / "data" / "wire" / "anthropic"
STREAMS = {path.stem: path.read_bytes() for path in sorted(WIRE.glob("*.sse"))}
DIALECT = Anthropic()
each_stream = pytest.mark.parametrize("name", STREAMS)


def read(*chunks: bytes) -> tuple[Answer, list[StreamEvent]]:
    stream = DIALECT.stream()
    events = [event for chunk in chunks for event in stream.feed(chunk)]
    return stream.close(), events


def content(answer: Answer) -> list[dict[str, Any]]:
    assert answer.raw is not None
    blocks: list[dict[str, Any]] = json.loads(answer.raw)["content"]
    return blocks


def codes(answer: Answer) -> list[str]:
    return [problem.code for problem in answer.problems]


def shown(events: Iterable[StreamEvent]) -> tuple[str, str, str]:
    """Everything that was shown, put together: text, thoughts, arguments."""
    listed = list(events)
    return (
        "".join([event.text for event in listed]),
        "".join([event.thought for event in listed if isinstance(event, ThoughtDelta)]),
        "".join([event.arguments for event in listed if isinstance(event, CallDelta)]),
    )


def events_of(name: str) -> list[bytes]:
    return [event + b"\n\n" for event in STREAMS[name].split(b"\n\n") if event]


def spelled(*events: dict[str, Any]) -> bytes:
    return b"".join([b"data: " + json.dumps(event).encode() + b"\n\n" for event in events])


TEXT_DELTA = (
    b'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}\n\n'
)
START = {"type": "message_start", "message": {"role": "assistant", "content": []}}
END = {"type": "message_stop"}


def begin(index: int, **block: JSON) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, **delta: JSON) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


# -- cutting the bytes ------------------------------------------------------------------------


@each_stream
def test_one_byte_at_a_time_gives_the_same_answer_and_events(name: str) -> None:
    """Every cut at once."""
    data = STREAMS[name]
    whole = read(data)
    assert read(*[data[at : at + 1] for at in range(len(data))]) == whole


@each_stream
@given(cuts=st.lists(st.integers(0, 4000), max_size=8))
def test_any_chunks_give_the_same_answer_and_events(name: str, cuts: list[int]) -> None:
    """How the network cut it is nobody's business."""
    data = STREAMS[name]
    edges = [0, *sorted(cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(edges)]
    assert read(*chunks) == read(data)


@each_stream
def test_other_line_ends_and_lines_between_change_nothing(name: str) -> None:
    """CRLF, comments, and a missing last blank line."""
    data = STREAMS[name]
    whole = read(data)
    assert read(data.replace(b"\n", b"\r\n")) == whole
    assert read(b": hello\n\n" + data.replace(b"\n\n", b"\n: beat\n\n")) == whole
    assert read(data.rstrip(b"\n"))[0] == whole[0]


@each_stream
def test_an_end_at_any_event_is_noticed_and_never_raises(name: str) -> None:
    """Only ``message_stop`` is an end."""
    events = events_of(name)
    for count in range(len(events)):
        answer, _ = read(*events[:count])
        assert answer.cut
        assert "cut" in codes(answer)
        assert not answer.valid


@each_stream
def test_an_end_at_any_byte_never_raises_and_keeps_a_readable_message(name: str) -> None:
    """What came so far is JSON that this dialect reads, and that compaction leaves alone."""
    data = STREAMS[name]
    for end in range(0, len(data), 7):
        raw = read(data[:end])[0].raw
        if raw is not None:
            assert DIALECT.message(raw).raw == raw


@each_stream
def test_closing_twice_gives_the_same_answer(name: str) -> None:
    """Also early."""
    stream = DIALECT.stream()
    stream.feed(STREAMS[name][:500])
    assert stream.close() is stream.close()


@each_stream
def test_what_is_shown_is_what_the_message_says(name: str) -> None:
    """Text and thoughts, as they came, add up to those of the message."""
    answer, events = read(STREAMS[name])
    assert answer.raw is not None
    message = DIALECT.message(answer.raw)
    text, thought, _ = shown(events)
    assert (text, thought) == (message.text, message.thought_text)


# -- what is assembled --------------------------------------------------------------------------


def test_text_is_shown_as_it_comes_and_joined_in_the_end() -> None:
    """One event for each piece."""
    answer, events = read(STREAMS["text"])
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert pieces == ["On Great ", "Whernside, ", " “above” Nidderdale — 谷.", "\n😀"]
    assert (
        answer.raw
        == (
            '{"role":"assistant","content":[{"type":"text","text":'
            '"On Great Whernside,  “above” Nidderdale — 谷.\\n😀"}]}'
        ).encode()
    )
    assert (answer.finish, answer.finish_raw, answer.valid) == ("stop", "end_turn", True)
    assert (answer.model, answer.response_id) == ("claude-test-1", "msg_01stream")


def test_calls_come_in_pieces_and_whole() -> None:
    """Arguments keep their spelling but for white space between tokens."""
    answer, events = read(STREAMS["tools"])
    first = ToolCall("toolu_01", "get_weather", '{"city":"Leeds","days":1.50}', 0)
    second = ToolCall("toolu_02", "get_weather", '{"city":"Paris"}', 1)
    calls = [event for event in events if isinstance(event, CallStarted | CallComplete)]
    assert calls == [
        CallStarted(0, "toolu_01", "get_weather"),
        CallComplete(first),
        CallStarted(1, "toolu_02", "get_weather"),
        CallComplete(second),
    ]
    assert shown(events)[2] == '{"city": "Leeds", "days": 1.50}{"city":"Paris"}'
    assert answer.raw is not None
    assert DIALECT.message(answer.raw).tool_calls == (first, second)
    assert b'"input":{"city":"Leeds","days":1.50}' in answer.raw


def test_usage_is_reported_twice_and_the_last_figures_count() -> None:
    """They are totals: they replace what came before, and leave alone what they do not name."""
    answer, events = read(STREAMS["tools"])
    reports = [event.usage for event in events if isinstance(event, UsageReported)]
    assert [usage.output_tokens for usage in reports] == [1, 89]
    assert answer.usage == reports[-1]
    assert (reports[-1].input_tokens, reports[-1].reasoning_tokens) == (4320, 30)
    assert reports[-1].raw is not None
    assert b'"service_tier":"standard"' in reports[-1].raw


def test_a_null_figure_replaces_nothing() -> None:
    """The stream of odd things has one."""
    usage = read(STREAMS["odd"])[0].usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (3, 9)


def test_thinking_appends_and_its_signature_is_assigned() -> None:
    """Also where no thinking is shown at all."""
    answer, events = read(STREAMS["thinking"])
    assert content(answer)[0] == {
        "type": "thinking",
        "thinking": "Two cities.",
        "signature": "EqQBCkYIARgCKkA=",
    }
    assert shown(events)[1] == "Two cities."
    assert content(read(STREAMS["thinking_omitted"])[0])[0]["signature"] == "EuYBCkQYAiJAf3k="
    twice = read(STREAMS["odd"])[0].raw
    assert twice is not None
    assert b'"signature":"second"' in twice


def test_citations_gather_wherever_they_come() -> None:
    """Before, between and after the words, with or without a list to begin with."""
    answer, events = read(STREAMS["web_search"])
    _, _, listed, bare = content(answer)
    assert [citation["cited_text"] for citation in listed["citations"]] == ["Whernside", "Great"]
    assert [citation["type"] for citation in bare["citations"]] == ["char_location"]
    natives = [event.kind for event in events if isinstance(event, NativeEvent)]
    assert natives == [
        "server_tool_use",
        "web_search_tool_result",
        "citations_delta",
        "citations_delta",
        "citations_delta",
    ]


def test_a_server_tools_input_is_joined_and_is_no_call() -> None:
    """It is shown whole, as a native event."""
    answer, events = read(STREAMS["web_search"])
    assert content(answer)[0]["input"] == {"query": "Nidd"}
    assert not [event for event in events if isinstance(event, CallStarted | CallDelta)]


def test_without_pieces_the_input_is_what_the_block_began_with() -> None:
    """Nothing came, or only empty strings."""
    answer, events = read(STREAMS["no_arguments"])
    assert [block["input"] for block in content(answer)] == [{}, {}]
    complete = [event.call.arguments for event in events if isinstance(event, CallComplete)]
    assert complete == ["{}", "{}"]


def test_a_compaction_is_assigned_and_shown_whole() -> None:
    """Its summary may be null until then."""
    answer, events = read(STREAMS["compaction"])
    block = {"type": "compaction", "content": "So far: the Nidd.", "encrypted_content": "EsoBCio="}
    assert content(answer)[0] == block
    natives = {event.kind: event.raw for event in events if isinstance(event, NativeEvent)}
    assert json.loads(natives["compaction"]) == block
    assert b"context_management" in natives["message_delta"]


def test_a_fallback_names_the_model_that_answered() -> None:
    """As the complete answer would."""
    assert read(STREAMS["fallback"])[0].model == "claude-test-2"


def test_nothing_that_nobody_knew_is_lost() -> None:
    """Members of blocks and of deltas, kinds of blocks, deltas and events; spelled as they were."""
    answer, events = read(STREAMS["odd"])
    assert answer.raw == (
        rb'{"role":"assistant","content":[{"text":"Begin \ud83d\ude00 \u00e9 \/ half \ud800 on.",'
        rb'"type":"text","mood":1.50,"zone":[1e5],"score":1E+2,"glow":{"lux":2.0},"hint":"loud"},'
        rb'{"type":"hologram","beam":[1.0],"caption":"hello"},'
        rb'{"type":"thinking","thinking":"","signature":"second"},'
        rb'{"type":"tool_use","id":"toolu_01","name":"say","input":{"text":"\ud800 '
        + "é".encode()
        + rb' ","n":1e5},"caller":{"type":"direct"}}]}'
    )
    assert answer.valid
    natives = [event.kind for event in events if isinstance(event, NativeEvent)]
    assert natives == [
        "message_start",
        "text_delta",
        "text_delta",
        "glow_delta",
        "sparkle",
        "hologram_delta",
        "hologram_delta",
        "hologram",
        "thinking_delta",
        "message_delta",
    ]


def test_the_count_for_a_progress_bar_is_shown_and_stays_out_of_the_message() -> None:
    """The API would refuse the block with it."""
    answer, events = read(STREAMS["odd"])
    assert answer.raw is not None
    assert b"estimated_tokens" not in answer.raw
    assert any(
        b'"estimated_tokens":50' in event.raw for event in events if isinstance(event, NativeEvent)
    )


def test_a_pair_of_surrogates_that_was_cut_apart_meets_again() -> None:
    """Half of it is held back; a half that stays alone is shown with what comes next."""
    _, events = read(STREAMS["odd"])
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert pieces == ["Be", "gin ", "😀 é / ", "half ", "\ud800 on", "."]


def test_half_a_pair_that_was_held_back_is_shown_before_plain_words() -> None:
    """Words without an escape take a shorter way, and still wait their turn."""
    head = spelled(START, begin(0, type="text", text=""))
    _, events = read(head, TEXT_DELTA % rb'"a \ud83d"', TEXT_DELTA % b'"b"', spelled(END))
    assert shown(events)[0] == "a \ud83db"


@given(pieces=st.lists(st.text(max_size=8), max_size=8), ascii_only=st.booleans())
def test_any_text_is_joined_as_it_was_spelled(pieces: list[str], *, ascii_only: bool) -> None:
    """Escaped or not, no piece is decoded and spelled anew."""
    literals = [
        json.dumps(text, ensure_ascii=ascii_only).encode("utf-8", "replace") for text in pieces
    ]
    deltas = [TEXT_DELTA % literal for literal in literals]
    answer, events = read(spelled(START, begin(0, type="text", text="")), *deltas, spelled(END))
    joined = rawjson.join_strings(literals)
    assert answer.raw == b'{"role":"assistant","content":[{"type":"text","text":' + joined + b"}]}"
    assert shown(events)[0] == rawjson.unquote(joined)


# -- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "finish", "problems"),
    [
        ("empty", "stop", ["empty"]),
        ("empty_text", "tool_calls", []),
        ("paused", "paused", []),
        ("refused", "refused", []),
        ("blocked", "refused", ["blocked"]),
        ("cut_input", None, ["cut", "bad_arguments"]),
        ("bad_input", "length", ["bad_arguments"]),
        ("list_input", "tool_calls", ["bad_arguments"]),
        ("error", None, ["cut", "provider_error"]),
    ],
)
def test_a_streamed_answer_is_judged(name: str, finish: str | None, problems: list[str]) -> None:
    """As a complete one would be."""
    answer, _ = read(STREAMS[name])
    assert (answer.finish, codes(answer)) == (finish, problems)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("cut_input", '{"city": "Paris", "price": 12'),
        ("bad_input", '{"path": "a.txt", "text": "Once up'),
    ],
)
def test_a_cut_input_is_kept_as_far_as_it_came(name: str, arguments: str) -> None:
    """As a string, which no input can be. What was whole before it stays whole."""
    answer, events = read(STREAMS[name])
    assert content(answer)[-1]["input"] == arguments
    assert answer.raw is not None
    call = DIALECT.message(answer.raw).tool_calls[-1]
    assert call.arguments == arguments
    with pytest.raises(DecodeError):
        _ = call.parsed
    finished = [event.call.id for event in events if isinstance(event, CallComplete)]
    assert call.id not in finished


def test_an_error_in_mid_stream_keeps_what_came_before() -> None:
    """It was paid for."""
    answer, _ = read(STREAMS["error"])
    assert content(answer) == [{"type": "text", "text": "On Gr"}]
    assert answer.problems[-1].detail == "overloaded_error: Overloaded"


@pytest.mark.parametrize(
    "broken",
    [
        b"data: {\n\n",
        b"data: []\n\n",
        TEXT_DELTA % b"7",
        TEXT_DELTA % b"null",
        TEXT_DELTA % b'"\xff"',
        TEXT_DELTA % b'"\\n\xff"',
        TEXT_DELTA % b'"\n"',
        b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}\n\n',
        spelled(piece(5, type="text_delta", text="x")),
        spelled(piece(5, type="signature_delta", signature="x")),
        spelled({"type": "content_block_stop", "index": 5}),
        spelled(begin(0, type="text", text="again")),
        spelled({"type": "content_block_start", "index": 1, "content_block": 7}),
        b'data: {"type":"content_block_start","index":1,"content_block":{"type":"x","a":'
        + b"[" * 252
        + b"]" * 252
        + b"}}\n\n",
    ],
)
def test_a_broken_event_is_a_problem_and_the_rest_goes_on(broken: bytes) -> None:
    """Nothing is raised, nothing else is lost, and the message stays one that can be stored."""
    answer, events = read(
        spelled(START, begin(0, type="text", text=""), piece(0, type="text_delta", text="a")),
        broken,
        spelled(piece(0, type="text_delta", text="b\n"), END),
    )
    assert codes(answer) == ["malformed_event"]
    assert shown(events)[0] == "ab\n"
    assert content(answer) == [{"type": "text", "text": "ab\n"}]


ODD = st.recursive(
    st.none()
    | st.integers(0, 2)
    | st.sampled_from(["text", "text_delta", "tool_use", "\ud800", ""]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["type", "text", "input", "usage", "id"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)
KINDS = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "error",
    "x",
]
ODD_EVENT = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS)},
    optional={
        "index": st.integers(0, 1),
        "message": ODD,
        "content_block": ODD,
        "delta": ODD,
        "usage": ODD,
        "error": ODD,
    },
)


@given(st.lists(ODD_EVENT, max_size=8))
def test_no_event_however_odd_makes_the_reader_raise(events: list[dict[str, Any]]) -> None:
    """And whatever comes of it is a message that can be stored."""
    answer, _ = read(spelled(*events, END))
    assert answer.raw is None or DIALECT.message(answer.raw).raw == answer.raw


def test_an_input_that_nests_too_deep_is_kept_as_text() -> None:
    """The message around it must stay one that can be stored."""
    deep = '{"a":' + "[" * 252 + "]" * 252 + "}"
    answer, _ = read(
        spelled(START, begin(0, type="tool_use", id="t", name="f", input={})),
        spelled(piece(0, type="input_json_delta", partial_json=deep), END),
    )
    assert codes(answer) == ["bad_arguments"]
    assert content(answer)[0]["input"] == deep
    assert answer.raw is not None
    assert DIALECT.message(answer.raw).raw == answer.raw


def test_blocks_stand_where_their_index_says() -> None:
    """Even if a server starts them in another order."""
    answer, _ = read(
        spelled(START, begin(1, type="text", text="b"), begin(0, type="text", text="a"), END)
    )
    assert [block["text"] for block in content(answer)] == ["a", "b"]


def test_a_message_may_begin_with_content() -> None:
    """Nobody does that today; it would not be lost."""
    start = {"type": "message_start", "message": {"content": [{"type": "text", "text": "a"}]}}
    answer, events = read(spelled(start, piece(0, type="text_delta", text="b"), END))
    assert content(answer) == [{"type": "text", "text": "ab"}]
    assert shown(events)[0] == "ab"


def test_a_stream_of_nothing_is_no_answer() -> None:
    """Nor is one that ends after the greeting."""
    assert codes(read(b"")[0]) == ["cut", "no_answer"]
    answer, _ = read(spelled(START))
    assert (answer.raw, codes(answer)) == (None, ["cut", "no_answer"])


def test_a_done_mark_of_other_servers_is_passed_over() -> None:
    """It comes after the end."""
    assert read(STREAMS["text"] + b"data: [DONE]\n\n") == read(STREAMS["text"])


# -- beside the official client ---------------------------------------------------------------


def official(data: bytes, *, beta: bool = False) -> list[dict[str, Any]]:
    """Let the official client read the same bytes, and give the content that it put together."""

    def respond(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    with (
        httpx2.Client(transport=httpx2.MockTransport(respond)) as http,
        anthropic.Anthropic(api_key="none", http_client=http, max_retries=0) as client,
    ):
        messages = client.beta.messages if beta else client.messages
        asked: Any = [{"role": "user", "content": "x"}]
        with messages.stream(model="m", max_tokens=1, messages=asked) as stream:
            message = stream.get_final_message()
    return [block.to_dict(mode="json", warnings=False) for block in message.content]


@pytest.mark.parametrize(
    "name",
    [
        "text",
        "tools",
        "thinking",
        "thinking_omitted",
        "web_search",
        "no_arguments",
        "empty_text",
        "empty",
        "paused",
        "refused",
        "blocked",
        "list_input",
    ],
)
def test_the_official_client_puts_the_same_content_together(name: str) -> None:
    """From the same bytes."""
    assert content(read(STREAMS[name])[0]) == official(STREAMS[name])


@pytest.mark.parametrize("name", ["compaction", "fallback"])
def test_the_official_client_agrees_on_what_is_in_beta(name: str) -> None:
    """It has a client of its own for that."""
    assert content(read(STREAMS[name])[0]) == official(STREAMS[name], beta=True)


@pytest.mark.parametrize("name", ["cut_input", "bad_input"])
def test_the_official_client_completes_what_was_cut_and_this_does_not(name: str) -> None:
    """The difference is on purpose: half a call is no call."""
    theirs, ours = official(STREAMS[name]), content(read(STREAMS[name])[0])
    assert theirs[:-1] == ours[:-1]
    assert isinstance(theirs[-1]["input"], dict)
    assert isinstance(ours[-1]["input"], str)
    assert not read(STREAMS[name])[0].valid


def test_the_official_client_loses_what_it_does_not_know_in_a_delta() -> None:
    """The other difference on purpose. What a block begins with, both keep."""
    data = named(
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}},
        begin(0, type="text", text="", mood=1.5),
        piece(0, type="text_delta", text="a", score=1),
        piece(0, type="glow_delta", glow={"lux": 2}),
        END,
    )
    (theirs,), (ours,) = official(data), content(read(data)[0])
    assert theirs == {"type": "text", "text": "a", "mood": 1.5}
    assert ours == {**theirs, "score": 1, "glow": {"lux": 2}}


def named(*events: dict[str, Any]) -> bytes:
    """Spell events with their names, without which the official client does not see them."""
    lines = [b"event: " + event["type"].encode() + b"\n" + spelled(event) for event in events]
    return b"".join(lines)


def test_the_official_client_gives_up_on_half_a_surrogate_pair_in_an_input() -> None:
    """It is legal JSON, and here it is kept as it was spelled."""
    with pytest.raises(ValueError, match="hex escape"):
        official(STREAMS["odd"])
    assert read(STREAMS["odd"])[0].valid


def test_the_official_client_raises_in_mid_stream_where_this_keeps_the_answer() -> None:
    """Both say that the provider was overloaded."""
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        official(STREAMS["error"])
    assert not read(STREAMS["error"])[0].valid
