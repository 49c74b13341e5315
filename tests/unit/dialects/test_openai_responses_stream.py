"""Streamed Responses: the items as they were done, and what came of those that never were."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import rawjson
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
from hansard.dialects.openai_responses import OpenAIResponses
from hansard.messages import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard.dialects.dialect import Answer
    from hansard.dialects.events import StreamEvent
    from hansard.rawjson import JSON

WIRE = Path(__file__).parents[2] / "data" / "wire" / "openai_responses"
STREAMS = sorted(path.stem for path in WIRE.glob("*.sse"))

responses = OpenAIResponses()


def wire(name: str) -> bytes:
    return (WIRE / f"{name}.sse").read_bytes()


def read(pieces: Iterable[bytes]) -> tuple[Answer, list[StreamEvent]]:
    reader = responses.stream()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return reader.close(), events


def answer_to(name: str) -> Answer:
    return read([wire(name)])[0]


def events_of(name: str) -> list[StreamEvent]:
    return read([wire(name)])[1]


def sse(*events: str) -> bytes:
    return "".join([f"data: {event}\n\n" for event in events]).encode()


def cut_after(*events: str) -> Answer:
    answer, _ = read([sse(*events)])
    assert answer.cut
    assert "cut" in [problem.code for problem in answer.problems]
    return answer


def shown(events: Iterable[StreamEvent]) -> str:
    return "".join([event.text for event in events])


# -- the answer -------------------------------------------------------------------------------


JUDGED: dict[str, tuple[str | None, list[str], str]] = {
    "text": ("stop", [], "High tide is at 09:12."),
    "calls": ("tool_calls", [], ""),
    "searched": ("stop", [], "High tide is at 09:12. "),
    "server_tools": ("stop", [], "At 09:12."),
    "compaction": ("stop", [], "As I said."),
    "refusal": ("refused", [], ""),
    "length": ("length", [], "High tide is"),
    "llama_cpp": ("stop", [], "Hello! I'm here to help with any kind of creative"),
    "open_reasoning": ("stop", [], "At 09:12."),
    "only_done": ("tool_calls", [], "All at once.High tide is at 09:12."),
    "one_index_for_all": ("stop", [], "One. Two."),
    "surrogates": ("stop", [], 'é 😀 é \ud83d? 🎉\n"x"'),
    "terminal_empty": ("stop", [], "At 09:12."),
    "terminal_null": ("stop", [], "At 09:12."),
    "terminal_only": ("tool_calls", [], "High tide is at 09:12."),
    "terminal_fills": ("stop", [], "At 09:12."),
    "terminal_differs": ("stop", [], "At 09:12."),
    "malformed": ("stop", ["malformed_event"], "Known words."),
    "failed": ("other", ["provider_error"], "High tide"),
    "error": ("other", ["provider_error"], "High tide"),
    "error_nested": ("overflow", ["provider_error"], ""),
    "error_bare": ("other", ["provider_error"], ""),
}


@pytest.mark.parametrize("name", JUDGED)
def test_every_stream_is_judged_and_all_its_text_is_shown(name: str) -> None:
    finish, codes, text = JUDGED[name]
    answer, events = read([wire(name)])
    assert (answer.finish, answer.cut) == (finish, False)
    assert [problem.code for problem in answer.problems] == codes
    assert shown(events) == text
    assert answer.raw is None or responses.message(answer.raw).text == text


def test_all_streams_at_hand_are_judged() -> None:
    assert {*JUDGED} == {*STREAMS}


def done_items(name: str) -> list[bytes]:
    """Slice the items of ``output_item.done`` from the stream, in the order of their index."""
    found = []
    for line in wire(name).split(b"\n"):
        if line.startswith(b'data: {"type":"response.output_item.done"'):
            fields = rawjson.fields(rawjson.compact(line.removeprefix(b"data: ")))
            found.append((int(fields.get("output_index", b"0")), fields["item"]))
    return [item for _, item in sorted(found, key=lambda pair: pair[0])]


@pytest.mark.parametrize(
    "name",
    sorted({*STREAMS} - {"terminal_only", "terminal_fills", "failed", "error", "surrogates"}),
)
def test_the_message_is_the_items_as_they_were_done(name: str) -> None:
    items = done_items(name)
    assert answer_to(name).raw == (rawjson.join_array(items) if items else None)


def test_white_space_between_tokens_of_an_item_goes_and_nothing_else() -> None:
    assert answer_to("surrogates").raw == (
        b'[{"id":"msg_u","type":"message","status":"completed","content":[{"type":"output_text",'
        b'"annotations":[],"text":"\xc3\xa9 \\ud83d\\ude00 \\u00e9 \\ud83d? \xf0\x9f\x8e\x89\\n'
        b'\\"x\\"","w":1.50}],"role":"assistant"}]'
    )


def test_reasoning_is_taken_from_its_own_done_event_and_not_from_the_terminal_one() -> None:
    raw = answer_to("terminal_differs").raw
    assert raw is not None
    assert Message(responses, raw).thought_signatures == ("gAAAAABo_final_rs==",)
    assert b"gAAAAA_partial" not in raw


def test_items_that_were_never_done_are_taken_from_the_terminal_event_in_their_places() -> None:
    raw = answer_to("terminal_fills").raw
    assert raw is not None
    kinds = [item["type"] for item in json.loads(raw)]
    assert kinds == ["reasoning", "web_search_call", "message"]
    last_event = wire("terminal_fills").split(b"data: ")[-1].strip()
    output = rawjson.fields(rawjson.fields(last_event)["response"])["output"]
    assert rawjson.elements(raw)[1:] == rawjson.elements(output)[1:]


def test_usage_model_and_id_come_from_the_terminal_event() -> None:
    answer = answer_to("text")
    assert answer.usage is not None
    assert answer.usage.reasoning_tokens == 1024
    assert (answer.model, answer.response_id) == ("gpt-5-mini-2025-08-07", "resp_s1")


def test_the_error_of_a_stream_is_told_in_the_provider_s_words_and_what_came_is_kept() -> None:
    answer = answer_to("error")
    assert answer.problems[0].detail == "rate_limit_exceeded: Rate limit reached."
    assert answer.raw is not None
    assert json.loads(answer.raw)[0]["status"] == "incomplete"
    assert (answer.model, answer.response_id) == ("gpt-5-mini-2025-08-07", "resp_s1")


def test_a_completed_answer_with_an_unfinished_item_is_not_valid() -> None:
    answer, _ = read(
        [
            sse(
                '{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}',
                '{"type":"response.completed","response":{"output":null}}',
            )
        ]
    )
    assert [problem.code for problem in answer.problems] == ["malformed_event"]
    assert responses.message(answer.raw or b"").text == "Hi"


# -- how it was cut into pieces, and where it broke off ---------------------------------------


@pytest.mark.parametrize("name", STREAMS)
def test_byte_by_byte_and_with_other_line_ends_it_is_the_same(name: str) -> None:
    body = wire(name)
    whole = read([body])
    crlf = body.replace(b"\n", b"\r\n")
    assert read([crlf]) == whole
    for each in (body, crlf):
        assert read([each[at : at + 1] for at in range(len(each))]) == whole


@given(st.sampled_from(STREAMS), st.data())
def test_however_it_is_cut_into_pieces_it_is_the_same(name: str, data: st.DataObject) -> None:
    body = wire(name)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    bounds = zip([0, *cuts], [*cuts, len(body)], strict=True)
    assert read([body[start:end] for start, end in bounds]) == read([body])


@pytest.mark.parametrize("name", STREAMS)
def test_broken_off_after_any_event_it_says_so_and_keeps_what_came(name: str) -> None:
    events = wire(name).split(b"\n\n")[:-1]
    whole, _ = read([wire(name)])
    text = responses.message(whole.raw).text if whole.raw else ""
    for end in range(len(events)):
        answer, told = read([b"\n\n".join(events[:end]) + b"\n\n"])
        ended = any(b'"type":"response.completed"' in event for event in events[:end])
        assert answer.cut is not ended
        assert not (answer.cut and answer.valid)
        assert text.startswith(shown(told))
        if answer.raw is not None and answer.cut:
            said = responses.message(answer.raw).text
            assert said.removesuffix("\ud83d") == shown(told)


def test_a_stream_without_any_event_is_cut_and_has_no_message() -> None:
    answer, events = read([b": hello\n\n"])
    assert (answer.cut, answer.raw, events) == (True, None, [])


def test_the_end_marker_of_other_servers_is_no_end() -> None:
    assert cut_after('{"type":"response.output_text.delta","delta":"Hi"}', "[DONE]").raw


ADDED = (
    '{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1",'
    '"type":"message","phase":"final_answer","status":"in_progress","content":[],'
    '"role":"assistant","zz":1.50}}'
)
PART = (
    '{"type":"response.content_part.added","output_index":0,"content_index":0,'
    '"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"","zz":1e5}}'
)


def delta(text: str, **more: JSON) -> str:
    event = {"type": "response.output_text.delta", "output_index": 0, "content_index": 0}
    return json.dumps({**event, "delta": text, "logprobs": [], "obfuscation": "x", **more})


def test_text_that_was_cut_off_is_a_message_marked_incomplete_with_all_that_was_known() -> None:
    assert cut_after(ADDED, PART, delta("High "), delta("ti\ud83d"), delta("\ude00")).raw == (
        b'[{"id":"msg_1","type":"message","phase":"final_answer","status":"incomplete",'
        b'"content":[{"type":"output_text","annotations":[],"logprobs":[],'
        b'"text":"High ti\\ud83d\\ude00","zz":1e5}],"role":"assistant","zz":1.50}]'
    )


def test_of_bare_deltas_a_message_is_made_too() -> None:
    assert cut_after(delta("High ", item_id="msg_1"), delta("tide", item_id="msg_1")).raw == (
        b'[{"id":"msg_1","type":"message","content":[{"type":"output_text","annotations":[],'
        b'"text":"High tide"}],"role":"assistant","status":"incomplete"}]'
    )


def test_a_part_that_was_done_is_kept_as_it_was_done() -> None:
    done = (
        '{"type": "response.content_part.done", "output_index": 0, "content_index": 0, '
        '"part": {"type": "output_text", "text": "A.", "annotations": [1.50]}}'
    )
    raw = cut_after(ADDED, PART, delta("A."), done, delta("B", content_index=1)).raw or b""
    content = rawjson.fields(rawjson.elements(raw)[0])["content"]
    assert content == (
        b'[{"type":"output_text","text":"A.","annotations":[1.50]},'
        b'{"type":"output_text","annotations":[],"text":"B"}]'
    )


def test_annotations_that_came_are_kept() -> None:
    cited = (
        '{"type":"response.output_text.annotation.added","output_index":0,"content_index":0,'
        '"annotation":{"type":"url_citation","url":"https://e.org","n":%s}}'
    )
    raw = cut_after(ADDED, PART, delta("A."), cited % "1.0", cited % "2.0").raw or b""
    assert (
        b'"annotations":[{"type":"url_citation","url":"https://e.org","n":1.0},'
        b'{"type":"url_citation","url":"https://e.org","n":2.0}]'
    ) in raw


def test_a_call_that_was_cut_off_is_kept_but_can_never_be_taken_for_whole() -> None:
    answer = cut_after(
        '{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call",'
        '"call_id":"call_a","name":"tide","arguments":"","status":"in_progress"}}',
        '{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}',
    )
    assert answer.raw == (
        b'[{"type":"function_call","call_id":"call_a","name":"tide","arguments":"{}",'
        b'"status":"incomplete"}]'
    )
    assert [problem.code for problem in answer.problems] == ["cut", "bad_arguments"]


def test_reasoning_and_custom_input_that_were_cut_off_are_kept() -> None:
    answer = cut_after(
        '{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,'
        '"delta":"Hm."}',
        '{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,'
        '"delta":"So."}',
        '{"type":"response.custom_tool_call_input.delta","output_index":1,"item_id":"ctc",'
        '"delta":"select"}',
    )
    assert answer.raw == (
        b'[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."},'
        b'{"type":"summary_text","text":"So."}],"status":"incomplete"},'
        b'{"id":"ctc","type":"custom_tool_call","input":"select"}]'
    )


def test_a_native_item_that_was_cut_off_is_kept_as_it_was_added() -> None:
    item = '{"id":"ws_1","type":"web_search_call","status":"in_progress","n":1.50}'
    added = '{"type":"response.output_item.added","output_index":0,"item":%s}'
    assert cut_after(added % item).raw == f"[{item}]".encode()


def test_a_part_of_a_kind_that_nobody_knows_is_kept_as_it_was_added() -> None:
    added = (
        '{"type":"response.content_part.added","output_index":0,"content_index":0,'
        '"part":{"type":"output_hologram","cells":[1.50]}}'
    )
    raw = cut_after(ADDED, added).raw or b""
    assert b'"content":[{"type":"output_hologram","cells":[1.50]}]' in raw


def test_an_item_that_is_done_again_replaces_itself_and_another_one_does_not() -> None:
    done = '{"type":"response.output_item.done","output_index":0,"item":%s}'
    first, again, other = '{"id":"a","n":1}', '{"id":"a","n":2}', '{"id":"b","n":3}'
    raw = cut_after(done % first, done % first, done % again, done % other).raw
    assert raw == f"[{again},{other}]".encode()


def test_a_proxy_that_gives_new_ids_each_time_does_not_double_a_call() -> None:
    call = '{"id":"%s","type":"function_call","call_id":"call_a","name":"f","arguments":"{}"}'
    answer, events = read(
        [
            sse(
                '{"type":"response.output_item.done","output_index":3,"item":%s}' % (call % "x"),
                '{"type":"response.output_item.done","output_index":4,"item":null}',
                '{"type":"response.completed","response":{"output":[%s]}}' % (call % "y"),
            )
        ]
    )
    assert answer.raw == f"[{call % 'x'}]".encode()
    assert len([event for event in events if isinstance(event, CallComplete)]) == 1


def test_a_message_of_which_nothing_came_is_no_message() -> None:
    assert cut_after(ADDED).raw is None


def test_items_without_index_go_by_their_ids_and_without_either_to_the_last() -> None:
    added = '{"type":"response.output_item.added","item":{"id":"%s","type":"message","role":"a"}}'
    said = '{"type":"response.output_text.delta","delta":"%s"%s}'
    raw = cut_after(
        added % "a",
        said % ("1", ""),
        added % "b",
        said % ("2", ',"item_id":"b"'),
        said % ("3", ',"item_id":"a"'),
        said % ("4", ""),
    ).raw
    assert responses.message(raw or b"").text == "1324"


def test_a_delta_that_is_no_utf8_is_a_problem_and_leaves_no_trace() -> None:
    broken = b'data: {"type":"response.output_text.delta","delta":"\xff"}\n\n'
    answer, events = read([sse(delta("A")), broken, sse(delta("B"))])
    assert shown(events) == "AB"
    assert responses.message(answer.raw or b"").text == "AB"
    assert [problem.code for problem in answer.problems] == ["malformed_event", "cut"]


def test_a_cut_answer_too_deep_to_be_stored_is_a_problem_and_no_exception() -> None:
    deep = "[" * 253 + "]" * 253
    part = PART.replace('"zz":1e5', f'"zz":{deep}')
    answer = cut_after(part, delta("Hi"))
    assert answer.raw is None
    assert [problem.code for problem in answer.problems] == ["cut", "malformed_event"]


# -- events -----------------------------------------------------------------------------------


def test_thoughts_and_text_come_as_they_are_said_and_usage_at_the_end() -> None:
    events = events_of("text")
    assert [event for event in events if isinstance(event, ThoughtDelta | TextDelta)] == [
        ThoughtDelta("**Looking"),
        ThoughtDelta(" up** the"),
        ThoughtDelta(" tide."),
        ThoughtDelta("\n\n**Answering**"),
        ThoughtDelta(" now."),
        TextDelta("High"),
        TextDelta(" tide"),
        TextDelta(" is"),
        TextDelta(" at"),
        TextDelta(" 09:12"),
        TextDelta("."),
    ]
    assert isinstance(events[-1], UsageReported)
    assert len(events) == 12


@pytest.mark.parametrize("name", ["text", "open_reasoning", "only_done", "terminal_only"])
def test_the_thoughts_that_were_shown_are_the_thoughts_of_the_answer(name: str) -> None:
    answer, events = read([wire(name)])
    thoughts = [event.thought for event in events if isinstance(event, ThoughtDelta)]
    assert "".join(thoughts) == responses.message(answer.raw or b"").thought_text


def test_text_is_shown_with_the_bytes_that_bring_it() -> None:
    reader = responses.stream()
    told = [reader.feed(event + b"\n\n") for event in wire("text").split(b"\n\n")]
    at = [index for index, events in enumerate(told) if shown(events)]
    assert len(at) == 6
    assert at == list(range(at[0], at[0] + 6))


def test_calls_are_told_from_their_beginning_to_their_end() -> None:
    first = ToolCall("call_a", "tide", '{"port":"Leith"}')
    second = ToolCall("call_b", "tide", '{"port":"Oban"}', 1)
    custom = ToolCall("call_c", "sql", "select 1;", 2, custom=True)
    assert events_of("calls")[:-1] == [
        CallStarted(0, "call_a", "tide"),
        CallDelta(0, '{"'),
        CallDelta(0, "port"),
        CallDelta(0, '":"'),
        CallDelta(0, "Leith"),
        CallDelta(0, '"}'),
        CallComplete(first),
        CallStarted(1, "call_b", "tide"),
        CallDelta(1, '{"port"'),
        CallDelta(1, ':"Oban"}'),
        CallComplete(second),
        CallStarted(2, "call_c", "sql"),
        CallDelta(2, "select"),
        CallDelta(2, " 1;"),
        CallComplete(custom),
    ]


def test_a_call_that_came_whole_is_told_all_the_same() -> None:
    calls = [event for event in events_of("only_done") if not event.text]
    assert calls[:3] == [
        CallStarted(0, "call_a", "tide"),
        CallDelta(0, '{"port":"Leith"}'),
        CallComplete(ToolCall("call_a", "tide", '{"port":"Leith"}')),
    ]


def test_a_refusal_is_told_as_such() -> None:
    events = events_of("refusal")
    assert events[:-1] == [
        RefusalDelta("I can't"),
        RefusalDelta(" help"),
        RefusalDelta(" with that."),
    ]


def test_what_only_this_provider_streams_is_passed_on_as_it_was_spelled() -> None:
    natives = [event for event in events_of("searched") if isinstance(event, NativeEvent)]
    assert [event.kind.removeprefix("response.") for event in natives] == [
        "output_item.added",
        "web_search_call.in_progress",
        "web_search_call.searching",
        "web_search_call.completed",
        "output_item.done",
        "output_text.annotation.added",
    ]
    assert all(event.raw in wire("searched") for event in natives)
    assert [event.kind for event in events_of("malformed") if isinstance(event, NativeEvent)] == [
        "response.hologram.delta"
    ]


def test_half_of_a_pair_is_not_shown_before_the_other_half() -> None:
    said = [event.text for event in events_of("surrogates") if event.text]
    assert said == ["é ", "😀 é", " ", "\ud83d?" + " 🎉", '\n"x"']


# -- the official client ----------------------------------------------------------------------


def official(body: bytes) -> list[Any]:
    """Give the output that the official client puts together from the same bytes."""
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, content=body))
    with (
        httpx2.Client(transport=transport) as http_client,
        openai.OpenAI(
            api_key="none", base_url="http://example.invalid/v1", http_client=http_client
        ) as client,
        client.responses.stream(model="m", input="hi") as stream,
    ):
        output = stream.get_final_response().output
        return [without_parsed(item.to_dict(mode="json")) for item in output]


def without_parsed(item: object) -> object:
    """Leave out what the official client adds: parsed text and arguments."""
    if isinstance(item, dict):
        added = ("parsed", "parsed_arguments")
        return {key: without_parsed(part) for key, part in item.items() if key not in added}
    return [without_parsed(part) for part in item] if isinstance(item, list) else item


@pytest.mark.parametrize(
    "name",
    [
        "text",
        "calls",
        "searched",
        "server_tools",
        "compaction",
        "refusal",
        "open_reasoning",
        "terminal_null",
    ],
)
def test_the_official_client_puts_together_the_same(name: str) -> None:
    raw = answer_to(name).raw
    assert raw is not None
    assert official(wire(name)) == json.loads(raw)


def test_the_official_client_forgets_the_items_where_the_terminal_event_is_empty() -> None:
    assert official(wire("terminal_empty")) == []
    assert len(json.loads(answer_to("terminal_empty").raw or b"")) == 2


def test_the_official_client_takes_the_words_of_the_terminal_event() -> None:
    ours = json.loads(answer_to("terminal_differs").raw or b"")
    theirs = official(wire("terminal_differs"))
    assert [item["id"] for item in theirs] == [item["id"] for item in ours]
    assert "encrypted_content" in ours[0]
    assert "encrypted_content" not in theirs[0]


@pytest.mark.parametrize("name", ["length", "failed", "error"])
def test_the_official_client_gives_nothing_for_what_is_not_completed(name: str) -> None:
    with pytest.raises((RuntimeError, openai.APIError)):
        official(wire(name))
    assert answer_to(name).raw is not None


@pytest.mark.parametrize("name", ["llama_cpp", "one_index_for_all", "only_done"])
def test_the_official_client_fails_where_a_server_leaves_out_what_openai_sends(name: str) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011 -- whatever it stumbles over
        official(wire(name))
    assert answer_to(name).valid
