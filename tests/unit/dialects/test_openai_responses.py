"""Responses: what is read, said, asked and judged, and that no token of it changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseInputParam
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)

from hansard import rawjson
from hansard.dialects.dialect import Ask, Loss, ToolSpec
from hansard.dialects.openai_responses import OpenAIResponses
from hansard.dialects.pairing import repair
from hansard.errors import DecodeError, Invalid, Unsayable
from hansard.messages import (
    Draft,
    Media,
    Message,
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

WIRE = Path(__file__).parents[2] / "data" / "wire" / "openai_responses"
MESSAGES = sorted(path.stem for path in WIRE.glob("message_*.json"))
ANSWERS = sorted(path.stem for path in WIRE.glob("answer_*.json"))

responses = OpenAIResponses()


def wire(name: str) -> bytes:
    return (WIRE / f"{name}.json").read_bytes()


def stored(name: str) -> Message:
    return responses.message(wire(f"message_{name}"))


def tight(raw: bytes) -> bytes:
    """Remove the white space outside of strings, by another way than the library's."""
    return re.sub(rb'("(?:[^"\\]|\\.)*")|\s+', lambda found: found[1] or b"", raw)


def itemized(raw: bytes) -> bytes:
    return raw if raw.startswith(b"[") else b"[" + raw + b"]"


def said(draft: Draft) -> list[Any]:
    (message,) = responses.say(draft)
    items: list[Any] = json.loads(message.raw)
    return items


# -- verbatim ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_keeps_every_token_as_it_was_spelled(name: str) -> None:
    assert responses.message(wire(name)).raw == itemized(tight(wire(name)))


@pytest.mark.parametrize("name", MESSAGES)
def test_reading_a_message_changes_none_of_its_bytes(name: str) -> None:
    message = responses.message(wire(name))
    _ = (message.parts, dict(message.extra), message.text, message.tool_calls, message.thoughts)
    assert message.raw == itemized(tight(wire(name)))


def test_a_lone_item_is_wrapped_and_spliced_without_the_brackets() -> None:
    message = responses.message(b' {"role": "user", "content": "hi"} ')
    assert message.raw == b'[{"role":"user","content":"hi"}]'
    assert responses.splice(message.raw) == b'{"role":"user","content":"hi"}'
    assert responses.unsplice([b'{"role":"user","content":"hi"}']) == message.raw


def test_a_request_takes_the_items_of_all_messages_as_they_are_and_in_order() -> None:
    raws = [responses.splice(responses.message(wire(name)).raw) for name in MESSAGES]
    body = responses.request(Ask("gpt-5-mini", raws)).body
    spliced = b",".join([itemized(tight(wire(name)))[1:-1] for name in MESSAGES])
    assert body.endswith(b',"input":[' + spliced + b"]}")


def test_messages_may_come_as_views_on_a_page_and_several_joined() -> None:
    page = memoryview(b'{"role":"user","content":"a"},{"role":"assistant","content":"b"}')
    body = OpenAIResponses(stateless=False).request(Ask("m", [page, b'{"id":"x"}'])).body
    assert body == b'{"model":"m","input":[' + bytes(page) + b',{"id":"x"}]}'


@pytest.mark.parametrize("name", sorted({*ANSWERS} - {"answer_odd_output"}))
def test_the_message_of_an_answer_is_a_slice_of_its_body(name: str) -> None:
    answer = responses.parse(wire(name))
    assert answer.raw is None or answer.raw in tight(wire(name))


def test_of_an_output_with_odd_elements_the_items_are_kept_and_the_answer_is_not_valid() -> None:
    answer = responses.parse(wire("answer_odd_output"))
    assert [problem.code for problem in answer.problems] == ["malformed_event"]
    assert answer.raw is not None
    assert answer.raw[1:-1] in tight(wire("answer_odd_output"))
    assert responses.message(answer.raw).text == "High tide is at 09:12."


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(), json_values, max_size=4), min_size=1, max_size=4))
def test_any_answer_can_be_stored_and_sent_again_byte_for_byte(items: list[Any]) -> None:
    body = json.dumps({"output": items, "status": "completed"}, indent=1).encode()
    answer = responses.parse(body)
    assert answer.raw is not None
    message = responses.message(answer.raw)
    assert message.raw == tight(body)[len(b'{"output":') : -len(b',"status":"completed"}')]
    sent = responses.request(Ask("m", [responses.splice(message.raw)])).body
    assert sent.endswith(message.raw + b"}")


@pytest.mark.parametrize(
    "raw", [b"[]", b'"hi"', b"7", b"null", b"[null]", b'[{"role":"user"},"hi"]', b"[[]]"]
)
def test_what_is_no_array_of_objects_is_no_message(raw: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        responses.message(raw)
    assert caught.value.reason == "corrupt_message"
    assert caught.value.dialect == "openai-responses"


# -- reading ----------------------------------------------------------------------------------


EVERY_ITEM = [
    Thought("Look first."),
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "computer_call",
    Media("image", "image/webp", "aW1hZ2U="),
    "image_generation_call",
    "local_shell_call",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_call",
    "tool_search_call",
    "tool_search_output",
    "program",
    "program_output",
    "compaction",
    "hologram_call",
    ToolCall("call_a", "tide", '{"port":"Leith","day":1e0}'),
    ToolCall("call_b", "sql", "select 1;", 1, custom=True),
    Text("One moment."),
    "output_hologram",
]


def test_every_item_reads_as_a_neutral_part_or_as_itself() -> None:
    parts = stored("every_item").parts
    assert [part.kind if isinstance(part, Native) else part for part in parts] == EVERY_ITEM
    raws = rawjson.elements(stored("every_item").raw)
    natives = [part.raw for part in parts if isinstance(part, Native)]
    assert all(raw in raws for raw in natives[:-1])
    assert natives[-1] == b'{"type":"output_hologram","cells":[0.10]}'


def test_everything_a_user_can_send_reads_as_what_it_is() -> None:
    assert stored("user").parts == (
        Text("What is on these?"),
        Media("image", "image/png", "iVBORw0KGgo="),
        Media("image", url="https://example.com/b.png"),
        Media("image", file_id="file-image"),
        Media("file", "application/pdf", "JVBERi0=", name="a.pdf"),
        Media("file", url="https://example.com/c.pdf"),
        Media("file", file_id="file-doc"),
        Media("audio", "audio/wav", "UklGRg=="),
        Native("input_hologram", b'{"type":"input_hologram","cells":[1.50]}'),
        Native(
            "input_image",
            b'{"type":"input_image","image_url":null,"file_id":null,"detail":"auto"}',
        ),
    )


def test_results_of_all_shapes_read_in_order() -> None:
    assert stored("results").tool_results == (
        ToolResult("call_a", "", (Text('{"high": "09:12"}'),)),
        ToolResult("call_c", position=1),
        ToolResult(
            "call_d",
            "",
            (Text("see "), Media("image", url="https://example.com/t.png"), Text("chart")),
            position=2,
        ),
        ToolResult("call_b", "sql", (Text("1"),), position=3),
    )
    assert stored("results").tool_call_id == "call_a"


def test_the_summaries_of_a_reasoning_item_are_the_paragraphs_of_one_signed_thought() -> None:
    message = stored("reasoned")
    assert message.thoughts == (
        Thought(
            "**Comparing cities**\n\nTokyo is warmer.\n\n**Answering**\n\nShort is better.",
            "gAAAAABo_reasoned==",
        ),
    )
    assert message.thought_signatures == ("gAAAAABo_reasoned==",)
    assert message.text == "Tokyo is 12°C, Paris 8°C. Take a coat."


def test_reasoning_that_cannot_be_read_is_reasoning_too() -> None:
    message = responses.message(b'[{"type":"reasoning","summary":[],"encrypted_content":"gA=="}]')
    assert message.has_thoughts
    assert message.thought_text == ""


def test_reasoning_within_a_message_is_a_thought_and_no_text() -> None:
    message = responses.message(
        b'{"role":"assistant","content":[{"type":"reasoning_text","text":"Hm."},'
        b'{"type":"output_text","text":"Yes."}]}'
    )
    assert (message.thought_text, message.text) == ("Hm.", "Yes.")


def test_a_refusal_reads_as_one() -> None:
    assert stored("refusal").refusal == "I can't help with that."
    assert stored("refusal").text == ""


@pytest.mark.parametrize(
    ("raw", "role"),
    [
        (b'{"role":"user","content":"a"}', "user"),
        (b'{"role":"system","content":"a"}', "system"),
        (b'{"role":"developer","content":"a"}', "system"),
        (b'{"role":"critic","content":"a"}', "user"),
        (b'{"type":"message","role":"assistant","content":[]}', "assistant"),
        (b'{"type":"function_call_output","call_id":"c","output":""}', "tool"),
        (b'{"type":"computer_call_output","call_id":"c","output":{}}', "tool"),
        (b'{"type":"mcp_approval_response","approve":true}', "user"),
        (b'{"type":"function_call","call_id":"c","name":"f","arguments":""}', "assistant"),
        (b'{"type":"reasoning","summary":[]}', "assistant"),
        (b'{"type":"hologram_call"}', "assistant"),
        (b'{"type":"compaction","encrypted_content":"gA"}', "assistant"),
        (b'[{"type":"shell_call"},{"type":"shell_call_output"}]', "assistant"),
        (b'[{"type":"reasoning"},{"role":"user","content":"a"}]', "assistant"),
        (b'[{"role":"user","content":"a"},{"type":"compaction"}]', "user"),
        (b'[{"type":"custom_tool_call_output"},{"role":"user","content":"a"}]', "user"),
    ],
)
def test_every_message_has_the_role_of_whoever_speaks_in_it(raw: bytes, role: str) -> None:
    assert responses.message(raw).role == role


def test_what_no_view_covers_is_extra_by_its_path() -> None:
    assert dict(stored("reasoned").extra) == {
        "[0].id": "rs_0b7c",
        "[0].status": "completed",
        "[1].id": "msg_0b7c",
        "[1].status": "completed",
        "[1].phase": "final_answer",
        "[1].content[0].annotations": [
            {
                "type": "url_citation",
                "start_index": 0,
                "end_index": 5,
                "url": "https://example.com/a",
                "title": "A",
            }
        ],
        "[1].content[0].logprobs": [],
        "[1].content[0].confidence": 1.5,
        "[1].content[1].annotations": [],
        "[1].content[1].logprobs": [],
        "[1].provenance": {"b": 1e5, "a": [1.5, 0, 12345678901234567890]},
    }


def test_a_result_has_extra_too_and_a_native_item_has_none() -> None:
    assert dict(stored("results").extra) == {
        "[0].id": None,
        "[0].status": "completed",
        "[2].output[1].detail": "auto",
        "[3].verdict": {"ok": True},
    }
    assert not any(path.startswith("[20]") for path in stored("every_item").extra)


def test_lone_surrogates_are_read_and_kept() -> None:
    message = stored("surrogates")
    assert message.text == "half \ud83d and A é é / done"
    assert message.extra["[0].zz_\udc00"] == "\ud800"


def test_odd_types_read_as_something() -> None:
    parts = stored("odd_types").parts
    assert parts == (
        Native("content", b"null"),
        Native("content", b"5"),
        Native("content", b'"loose"'),
        Native("content", b'{"type":7}'),
        Text(""),
        Refusal(""),
        Thought(""),
        ToolCall("", "", '{"a":1.0}'),
        ToolResult("", "", (Native("content", b'{"free":"form"}'),)),
        Native("item_reference", b'{"id":"msg_elsewhere"}'),
    )
    assert stored("odd_types").tool_calls[0].parsed == {"a": 1.0}


@given(json_values)
def test_no_item_is_too_odd_to_read(odd: object) -> None:
    kinds = ["message", "reasoning", "function_call", "custom_tool_call", "function_call_output"]
    members = ["role", "content", "summary", "arguments", "input", "output", "call_id", "name"]
    items: list[Any] = [{"type": kind} | dict.fromkeys(members, odd) for kind in kinds]
    parts = [
        {"type": kind, "text": odd, "image_url": odd} for kind in ("input_text", "input_image")
    ]
    items.append({"role": "user", "content": [*parts, odd]})
    message = responses.message(json.dumps(items).encode())
    assert len(message.tool_calls) == 2
    assert message.role == "assistant"
    _ = dict(message.extra)


# -- saying -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draft", "items"),
    [
        (
            user("hi"),
            b'[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]',
        ),
        (
            user(
                "look",
                image(b"png", "image/png"),
                image(url="https://e.org/a.png"),
                image(file_id="file-1"),
            ),
            (
                b'[{"type":"message","role":"user","content":[{"type":"input_text","text":"look"},'
                b'{"type":"input_image","image_url":"data:image/png;base64,cG5n","detail":"auto"},'
                b'{"type":"input_image","image_url":"https://e.org/a.png","detail":"auto"},'
                b'{"type":"input_image","file_id":"file-1","detail":"auto"}]}]'
            ),
        ),
        (
            user(
                file(b"pdf", "application/pdf", name="a.pdf"),
                file(b"?", "text/plain"),
                file(url="https://e.org/a.pdf"),
                file(file_id="file-2"),
            ),
            (
                b'[{"type":"message","role":"user","content":['
                b'{"type":"input_file","filename":"a.pdf",'
                b'"file_data":"data:application/pdf;base64,cGRm"},'
                b'{"type":"input_file","filename":"file","file_data":"data:text/plain;base64,Pw=="},'
                b'{"type":"input_file","file_url":"https://e.org/a.pdf"},'
                b'{"type":"input_file","file_id":"file-2"}]}]'
            ),
        ),
        (
            system("be brief", "be kind"),
            (
                b'[{"type":"message","role":"system","content":['
                b'{"type":"input_text","text":"be brief"},'
                b'{"type":"input_text","text":"be kind"}]}]'
            ),
        ),
        (
            assistant("Well.", "Let me see.", ToolCall("call_a", "tide", '{"port":"Leith"}')),
            (
                b'[{"type":"message","role":"assistant","content":"Well."},'
                b'{"type":"message","role":"assistant","content":"Let me see."},'
                b'{"type":"function_call","call_id":"call_a","name":"tide",'
                b'"arguments":"{\\"port\\":\\"Leith\\"}"}]'
            ),
        ),
        (
            assistant(ToolCall("call_a", "sql", "select 1;", custom=True), ToolCall("b", "f", "")),
            (
                b'[{"type":"custom_tool_call","call_id":"call_a","name":"sql","input":"select 1;"},'
                b'{"type":"function_call","call_id":"b","name":"f","arguments":"{}"}]'
            ),
        ),
        (
            assistant(Thought("Hm.", "gAAA=="), "Yes."),
            (
                b'[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],'
                b'"encrypted_content":"gAAA=="},'
                b'{"type":"message","role":"assistant","content":"Yes."}]'
            ),
        ),
        (
            assistant(Refusal("No.")),
            b'[{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}]',
        ),
        (
            Draft("tool", (ToolResult("call_a", "tide", (Text("09:12"),)), Text("Go on."))),
            (
                b'[{"type":"function_call_output","call_id":"call_a","output":"09:12"},'
                b'{"type":"message","role":"user",'
                b'"content":[{"type":"input_text","text":"Go on."}]}]'
            ),
        ),
        (
            assistant("a", Native("output_x", b'{"type":"output_x"}'), Refusal("No.")),
            (
                b'[{"type":"message","role":"assistant","content":"a"},'
                b'{"type":"message","role":"assistant","content":[{"type":"output_x"},'
                b'{"type":"refusal","refusal":"No."}]}]'
            ),
        ),
        (
            user("a", Native("x", b'{ "type": "input_x", "n": 1.50 }'), Native("y", b'{"id":"r"}')),
            (
                b'[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},'
                b'{"type":"input_x","n":1.50}]},{"id":"r"}]'
            ),
        ),
    ],
)
def test_a_draft_is_said_in_one_spelling(draft: Draft, items: bytes) -> None:
    assert [message.raw for message in responses.say(draft)] == [items]


@pytest.mark.parametrize(
    "draft",
    [
        user("a", image(b"x", "image/png"), file(b"y", "text/plain", name="y.txt"), "b"),
        assistant(
            Thought("Hm.", "gA=="),
            "Yes.",
            Refusal("No."),
            ToolCall("c", "f", '{"a":1.50}'),
            ToolCall("d", "g", "x\ud800", 1, custom=True),
        ),
        system("a", "b"),
        Draft("tool", (ToolResult("c", "", (Text("a"), Text("b"))), ToolResult("d", position=1))),
        assistant(Native("web_search_call", b'{"type":"web_search_call","id":"ws_1"}')),
        user('é😀\u2028\x00\ud800 "q" \\'),
    ],
)
def test_what_was_said_reads_as_what_was_meant(draft: Draft) -> None:
    (message,) = responses.say(draft)
    assert (message.role, message.parts) == (draft.role, draft.parts)


@pytest.mark.parametrize(
    ("draft", "lost", "left"),
    [
        (user(audio(b"x", "audio/wav"), "hi"), ["audio"], 1),
        (user(Media("video", "video/mp4", "AA=="), "hi"), ["video"], 1),
        (user(Thought("hm"), "hi"), ["thought"], 1),
        (user(ToolCall("c", "f"), "hi"), ["toolcall"], 1),
        (user(Refusal("no"), "hi"), ["refusal"], 1),
        (user(Text("hi", "sig")), ["thought_signature"], 1),
        (assistant(Thought("hm"), "hi"), ["thought"], 1),
        (assistant(Thought(redacted="x"), "hi"), ["thought"], 1),
        (assistant(Thought("hm", "sig", redacted="x")), ["thought"], 1),
        (assistant(image(b"x", "image/png"), "hi"), ["image"], 1),
        (assistant(ToolCall("c", "f", "{}", 0, "sig")), ["thought_signature"], 1),
        (assistant(Native("odd", b"[1]"), "hi"), ["odd"], 1),
        (Draft("tool", (ToolResult("c", "f", (Text("no"),), is_error=True),)), ["is_error"], 1),
        (Draft("tool", (ToolResult("c", "f", (audio(b"x", "audio/wav"),)),)), ["audio"], 1),
        (user(Thought("hm")), ["thought"], 0),
    ],
)
def test_what_has_no_words_is_listed_and_the_rest_is_said(
    draft: Draft, lost: list[str], left: int
) -> None:
    composition = responses.compose(draft)
    assert [loss.part for loss in composition.losses] == lost
    assert all(loss.message == 0 and loss.reason for loss in composition.losses)
    assert len(composition.messages) == left
    with pytest.raises(Unsayable) as caught:
        responses.say(draft)
    assert caught.value.losses == composition.losses


def test_a_foreign_draft_loses_signatures_thoughts_and_natives_and_says_so() -> None:
    draft = assistant(
        Thought("secret", "sig_t"),
        Text("Yes.", "sig_x"),
        Native("server_tool_use", b'{"type":"server_tool_use"}'),
        ToolCall("toolu:1", "tide", "{}", 0, "sig_c"),
    )
    composition = responses.compose(draft, foreign=True)
    lost = [loss.part for loss in composition.losses]
    assert lost == ["thought", "thought_signature", "server_tool_use", "thought_signature"]
    (raw,) = composition.messages
    assert b"sig_" not in raw
    assert b"secret" not in raw
    assert [item["type"] for item in json.loads(raw)] == ["message", "function_call"]


@pytest.mark.parametrize("call_id", ["", "toolu:1", "c" * 65, "call_1"])
def test_a_foreign_call_and_its_result_stay_a_pair_also_of_a_custom_tool(call_id: str) -> None:
    call = ToolCall(call_id, "sql", "select 1;", 2, custom=True)
    result = ToolResult(call_id, "sql", (Text("1"),), position=2)
    said_call = responses.compose(assistant(call), foreign=True)
    said_result = responses.compose(Draft("tool", (result,)), foreign=True)
    assert said_call.losses == (Loss(0, "toolcall", "it is said as a call of a function"),)
    assert not said_result.losses
    calls = Message(responses, said_call.messages[0]).tool_calls
    assert calls[0].parsed == {"input": "select 1;"}
    assert responses.paired(calls, said_result.messages)
    assert repair(responses, [*said_call.messages, *said_result.messages]).repairs == ()


@given(st.text(), st.text(max_size=80))
def test_a_foreign_id_fits_the_alphabet_and_the_length_that_openai_takes(
    foreign_id: str, seed: str
) -> None:
    call_id = responses.call_id(foreign_id, seed)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id)
    assert responses.call_id(foreign_id, seed) == call_id
    assert responses.call_id(call_id, seed) == call_id


@given(st.sets(st.text(alphabet="ab.:_", min_size=0, max_size=3) | st.text(), max_size=20))
def test_different_foreign_ids_stay_different(foreign_ids: set[str]) -> None:
    assert len({responses.call_id(each, "s") for each in foreign_ids}) == len(foreign_ids)


# -- results ----------------------------------------------------------------------------------


CALL = ToolCall("call_a", "tide")
CUSTOM = ToolCall("call_b", "sql", "select 1;", 1, custom=True)


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ("09:12", b'"09:12"'),
        ("", b'""'),
        ({"high": "09:12"}, b'"{\\"high\\":\\"09:12\\"}"'),
        (
            [Text("see"), Text("see"), image(url="https://e.org/t.png")],
            (
                b'[{"type":"input_text","text":"see"},{"type":"input_text","text":"see"},'
                b'{"type":"input_image","image_url":"https://e.org/t.png","detail":"auto"}]'
            ),
        ),
        (Native("x", b'{"type":"input_x"}'), b'[{"type":"input_x"}]'),
    ],
)
def test_a_result_is_the_output_item_of_its_call(result: object, output: bytes) -> None:
    assert responses.result(CALL, CALL.answer(result)) == (
        b'{"type":"function_call_output","call_id":"call_a","output":' + output + b"}"
    )


def test_a_custom_tool_has_output_of_its_own_kind() -> None:
    assert responses.result(CUSTOM, CUSTOM.answer("1")) == (
        b'{"type":"custom_tool_call_output","call_id":"call_b","output":"1"}'
    )


def test_a_result_without_content_is_still_a_result() -> None:
    raw = responses.result(CALL, ToolResult("call_a"))
    assert raw == b'{"type":"function_call_output","call_id":"call_a","output":""}'


@pytest.mark.parametrize("content", [audio(b"x", "audio/wav"), Native("x", b'{"type":"program"}')])
def test_what_a_result_cannot_hold_is_refused_with_its_name(content: Media | Native) -> None:
    with pytest.raises(Unsayable, match=content.kind):
        responses.result(CALL, ToolResult("call_a", "", (Text("a"), content)))


def test_results_go_into_one_message_in_call_order_and_what_was_said_after_it() -> None:
    fragments = [responses.result(call, call.answer("1")) for call in (CALL, CUSTOM)]
    then = responses.say(user("Go on."))[0].raw
    framed = responses.frame(fragments, [then])
    assert framed == (b"[" + b",".join(fragments) + b"]", then)
    assert responses.message(framed[0]).role == "tool"
    assert responses.frame([], [then]) == (then,)


def test_an_interrupted_call_has_one_result_for_ever() -> None:
    assert responses.interrupted(CUSTOM) == responses.interrupted(CUSTOM)
    assert b"custom_tool_call_output" in responses.interrupted(CUSTOM)


def test_results_are_taken_out_of_a_message_byte_for_byte() -> None:
    raw = stored("results").raw
    fragments, rest = responses.split_results(raw)
    assert [fragment.call_id for fragment in fragments] == ["call_a", "call_c", "call_d", "call_b"]
    assert responses.frame([fragment.raw for fragment in fragments]) == (raw,)
    assert rest is None
    mixed = b"[" + raw[1:-1] + b',{"role":"user","content":"hi"}]'
    assert responses.split_results(mixed) == (fragments, b'[{"role":"user","content":"hi"}]')


@pytest.mark.parametrize("name", ["reasoned", "user", "every_item", "compacted"])
def test_other_messages_hold_no_result(name: str) -> None:
    raw = stored(name).raw
    assert responses.split_results(raw) == ((), raw)


def test_calls_are_paired_when_each_has_one_output_of_its_kind_before_the_next_answer() -> None:
    first, second = [responses.result(call, call.answer("1")) for call in (CALL, CUSTOM)]
    wrong = responses.result(ToolCall("call_b", "sql"), CUSTOM.answer("1"))
    meanwhile = responses.say(user("Well?"))[0].raw
    answer = responses.say(assistant("So."))[0].raw
    calls = (CALL, CUSTOM)

    def paired(*messages: list[bytes] | bytes) -> bool:
        after = [raw if isinstance(raw, bytes) else rawjson.join_array(raw) for raw in messages]
        return responses.paired(calls, after)

    assert paired([first, second])
    assert paired([second, first])
    assert paired(meanwhile, [first], [second], answer)
    assert not paired([first])
    assert not paired([first], answer, [second])
    assert not paired([first, wrong])
    assert not paired([first, second, second])


def test_repair_answers_a_forgotten_custom_call_in_its_own_kind() -> None:
    answer = responses.say(assistant(CALL, CUSTOM))[0].raw
    results = responses.frame([responses.result(CALL, CALL.answer("1"))])
    mended = repair(responses, [answer, *results])
    assert [each.what for each in mended.repairs] == ["interrupted"]
    assert responses.paired((CALL, CUSTOM), mended.messages[1:])
    assert repair(responses, mended.messages).repairs == ()


@pytest.mark.parametrize("name", MESSAGES)
def test_calls_and_results_are_never_overlooked(name: str) -> None:
    message = responses.message(wire(name))
    has = bool(message.tool_calls or message.tool_results)
    assert responses.may_have_calls(message.raw) or not has


def test_plain_messages_are_told_apart_without_reading_them() -> None:
    assert not responses.may_have_calls(stored("reasoned").raw)
    assert not responses.may_have_calls(stored("user").raw)


# -- what is not sent back --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        (
            (
                b'[{"type":"shell_call_output","output":[{"stdout":"","created_by":"s"},7],'
                b'"created_by":"s","call_id":"c"}]'
            ),
            b'[{"type":"shell_call_output","output":[{"stdout":""},7],"call_id":"c"}]',
        ),
        (
            b'[{"type":"compaction","encrypted_content":"gA","created_by":"u"}]',
            b'[{"type":"compaction","encrypted_content":"gA"}]',
        ),
        (
            b'[{"type":"custom_tool_call_output","call_id":"c","output":"","status":"completed"}]',
            b'[{"type":"custom_tool_call_output","call_id":"c","output":""}]',
        ),
        (
            b'[{"type":"reasoning","status":null,"summary":[]},{"role":"assistant","content":"a"}]',
            b'[{"type":"reasoning","summary":[]},{"role":"assistant","content":"a"}]',
        ),
        (
            (
                b'[{"type":"web_search_call"},{"type":"reasoning","summary":[]},'
                b'{"type":"reasoning","summary":[]}]'
            ),
            b'[{"type":"web_search_call"}]',
        ),
    ],
)
def test_what_the_api_returns_but_refuses_is_cut_and_nothing_twice(raw: bytes, sent: bytes) -> None:
    assert responses.project(raw) == sent
    assert responses.project(sent) == sent


@pytest.mark.parametrize("name", sorted({*MESSAGES} - {"message_every_item", "message_compacted"}))
def test_nothing_else_is_ever_cut(name: str) -> None:
    raw = responses.message(wire(name)).raw
    assert responses.project(raw) == raw


@pytest.mark.parametrize(
    "raw",
    [
        b'[{"type":"reasoning","id":"rs_1","summary":[],"status":"completed"}]',
        b'[{"type":"function_call_output","call_id":"c","output":"","status":"completed"}]',
        b'[{"role":"user","content":"created_by \\"reasoning\\""}]',
        b'[{"type":"program","code":"","nested":{"created_by":"x"}}]',
    ],
)
def test_what_only_looks_like_it_stays(raw: bytes) -> None:
    assert responses.project(raw) == raw


# -- asking -----------------------------------------------------------------------------------


TIDE = ToolSpec(
    "tide",
    "When is high tide?",
    {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
)
SEARCH = ToolSpec("web_search", native=b'{"type":"web_search","search_context_size":"low"}')
SQL = ToolSpec("sql", native=b'{"type":"custom","name":"sql","description":"Run SQL"}')
HELLO = responses.splice(responses.say(user("hi"))[0].raw)


def test_a_request_says_everything_in_its_place() -> None:
    ask = Ask(
        "gpt-5-mini",
        [HELLO],
        [system("Be brief."), system("Be", " kind.")],
        [TIDE, SEARCH],
        "tide",
        {"type": "object", "properties": {}, "additionalProperties": False},
        "tides",
        stream=True,
        parameters={"reasoning": {"effort": "low"}, "text": {"verbosity": "low"}},
    )
    request = responses.request(ask)
    assert request.path == "/responses"
    assert request.headers == (("content-type", "application/json"),)
    assert request.body == (
        b'{"model":"gpt-5-mini","instructions":"Be brief.\\n\\nBe kind.",'
        b'"tools":[{"type":"function","name":"tide","description":"When is high tide?",'
        b'"parameters":{"type":"object","properties":{"port":{"type":"string"}},'
        b'"required":["port"]},"strict":false},'
        b'{"type":"web_search","search_context_size":"low"}],'
        b'"tool_choice":{"type":"function","name":"tide"},'
        b'"text":{"format":{"type":"json_schema","name":"tides",'
        b'"schema":{"type":"object","properties":{},"additionalProperties":false},'
        b'"strict":true},"verbosity":"low"},'
        b'"stream":true,"store":false,"include":["reasoning.encrypted_content"],'
        b'"reasoning":{"effort":"low"},"input":[' + HELLO + b"]}"
    )


@pytest.mark.parametrize(
    ("parameters", "members"),
    [
        ({"store": True}, {"store": True}),
        ({"store": None}, {"store": None}),
        ({"include": []}, {"include": []}),
        (
            {"include": ["message.output_text.logprobs"]},
            {"include": ["message.output_text.logprobs"]},
        ),
        ({"model": "other"}, {"model": "other"}),
        ({"instructions": "Mine."}, {"instructions": "Mine."}),
        ({"text": None}, {"text": None}),
        ({"text": {"format": {"type": "text"}}}, {"text": {"format": {"type": "text"}}}),
        (
            {"text": {"format": {"strict": False, "description": "d"}}},
            {
                "text": {
                    "format": {
                        "type": "json_schema",
                        "name": "answer",
                        "schema": {},
                        "strict": False,
                        "description": "d",
                    }
                }
            },
        ),
        ({"temperature": 0.70}, {"temperature": 0.7}),
    ],
)
def test_parameters_win_over_what_the_dialect_says(
    parameters: dict[str, Any], members: dict[str, Any]
) -> None:
    ask = Ask("m", [HELLO], [system("Be brief.")], output={}, parameters=parameters)
    body = responses.request(ask).body
    plain = responses.request(Ask("m", [HELLO], [system("Be brief.")], output={})).body
    assert json.loads(body) == json.loads(plain) | members
    assert len(rawjson.members(body)) == len(rawjson.fields(body))
    assert rawjson.members(body)[-1][0] == "input"


def test_a_stateful_use_sends_neither_store_nor_include() -> None:
    body = OpenAIResponses(stateless=False).request(Ask("m", [HELLO])).body
    assert body == b'{"model":"m","input":[' + HELLO + b"]}"


def test_messages_are_no_parameter() -> None:
    with pytest.raises(Invalid, match="input"):
        responses.request(Ask("m", [HELLO], parameters={"input": "hi"}))


def test_system_text_that_cannot_be_said_is_not_left_out_silently() -> None:
    with pytest.raises(Unsayable, match="image"):
        responses.request(Ask("m", [HELLO], [system("like this", image(b"x", "image/png"))]))


@pytest.mark.parametrize("strict", [True, False, None])
def test_a_tool_is_strict_only_where_it_says_so(*, strict: bool | None) -> None:
    body = responses.request(Ask("m", [HELLO], tools=[ToolSpec("f", strict=strict)])).body
    assert json.loads(body)["tools"][0]["strict"] is bool(strict)


@pytest.mark.parametrize(
    ("choice", "said_as"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("tide", {"type": "function", "name": "tide"}),
        ("sql", {"type": "custom", "name": "sql"}),
        ("web_search", {"type": "web_search"}),
    ],
)
def test_every_tool_is_chosen_as_what_it_is(choice: str, said_as: object) -> None:
    ask = Ask("m", [HELLO], tools=[TIDE, SEARCH, SQL], tool_choice=choice)
    assert json.loads(responses.request(ask).body)["tool_choice"] == said_as


def test_each_request_is_a_prefix_of_the_next() -> None:
    messages = [responses.splice(responses.message(wire(name)).raw) for name in MESSAGES]
    bodies = [
        responses.request(Ask("m", messages[:end], [system("S")], [TIDE])).body
        for end in range(1, len(messages) + 1)
    ]
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier.removesuffix(b"]}") + b",")


def test_a_conversation_without_messages_is_still_a_request() -> None:
    assert json.loads(responses.request(Ask("m")).body)["input"] == []


# -- the official types -----------------------------------------------------------------------


FORBID = pydantic.ConfigDict(extra="forbid")
OFFICIAL_INPUT = pydantic.TypeAdapter(ResponseInputParam, config=FORBID)
OFFICIAL_BODY = pydantic.TypeAdapter(list[ResponseCreateParamsNonStreaming], config=FORBID)
OFFICIAL_STREAM = pydantic.TypeAdapter(list[ResponseCreateParamsStreaming], config=FORBID)


def exhausted(value: object) -> object:
    """Walk through what the official types check only when somebody iterates."""
    if isinstance(value, dict):
        return {key: exhausted(part) for key, part in value.items()}
    if isinstance(value, str | int | float | None):
        return value
    assert isinstance(value, Iterable)
    return [exhausted(part) for part in value]


def accepted(items: list[Any]) -> object:
    return exhausted(OFFICIAL_INPUT.validate_python(items))


def test_the_official_types_are_strict_enough_to_refuse_nonsense() -> None:
    for item in (
        {"type": "message", "role": "user", "content": [{"type": "input_text", "txt": "a"}]},
        {"type": "message", "role": "user", "content": [{"type": "output_text", "text": "a"}]},
        {"type": "function_call_output", "call_id": "c", "output": {"a": 1}},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "txt": "a"}]},
    ):
        with pytest.raises(pydantic.ValidationError):
            accepted([item])


@pytest.mark.parametrize(
    "draft",
    [
        user("a", image(b"x", "image/png"), image(file_id="f"), image(url="https://e.org/a")),
        user(file(b"x", "application/pdf"), file(file_id="f"), file(url="https://e.org/a")),
        system("a", "b"),
        assistant("a", "b", ToolCall("c", "f", "{}"), ToolCall("d", "g", "x", custom=True)),
        Draft(
            "tool", (ToolResult("c"), ToolResult("d", "", (Text("a"), image(b"x", "image/png"))))
        ),
    ],
)
def test_the_official_types_accept_all_that_is_said(draft: Draft) -> None:
    assert accepted(said(draft)) == said(draft)


@pytest.mark.parametrize(
    "draft", [assistant(Refusal("No.")), assistant(Thought("Hm.", "gA=="), "Yes.")]
)
def test_only_ids_that_nobody_but_the_provider_can_give_are_missed_by_the_official_types(
    draft: Draft,
) -> None:
    given_by_the_provider = [
        {"id": "given", "status": "completed"} | item
        if "content" in item
        else {"id": "given"} | item
        for item in said(draft)[:1]
    ]
    assert accepted(given_by_the_provider)
    with pytest.raises(pydantic.ValidationError):
        accepted(said(draft)[:1])


@pytest.mark.parametrize("stream", [False, True])
def test_the_official_types_accept_all_that_is_asked(*, stream: bool) -> None:
    ask = Ask(
        "gpt-5-mini",
        [HELLO],
        [system("Be brief.")],
        [TIDE, SEARCH, SQL],
        "sql",
        {"type": "object"},
        stream=stream,
        parameters={"reasoning": {"effort": "low"}, "text": {"verbosity": "low"}, "store": None},
    )
    body = json.loads(responses.request(ask).body)
    official = OFFICIAL_STREAM if stream else OFFICIAL_BODY
    assert exhausted(official.validate_python([body])) == [body]


@pytest.mark.parametrize(
    "name", ["text", "calls", "length", "refusal", "compaction", "llama_cpp", "filtered"]
)
def test_the_official_types_accept_answers_that_go_back(name: str) -> None:
    raw = responses.parse(wire(f"answer_{name}")).raw
    assert raw is not None
    sent = responses.project(raw)
    assert sent is not None
    items = json.loads(sent)
    for item in items:
        if item["type"] == "custom_tool_call":
            del item["status"]  # The API says it and takes it; the official types lack it.
        if item.get("role") == "user":
            del item["id"]  # Likewise.
    assert accepted(items) == items


def test_the_official_types_accept_every_item_that_they_know_once_projected() -> None:
    sent = responses.project(stored("every_item").raw)
    assert sent is not None
    items = [item for item in json.loads(sent) if item["type"] != "hologram_call"]
    items[-1]["content"].pop()
    items[0]["id"] = "rs_1"
    assert accepted(items) == items


# -- answers ----------------------------------------------------------------------------------


JUDGED: dict[str, tuple[str | None, str | None, list[str]]] = {
    "text": ("stop", "completed", []),
    "calls": ("tool_calls", "completed", []),
    "refusal": ("refused", "completed", []),
    "length": ("length", "max_output_tokens", []),
    "filtered": ("filtered", "content_filter", []),
    "steered": ("other", "steered", []),
    "llama_cpp": ("stop", "completed", []),
    "odd_spelling": ("stop", "completed", []),
    "compaction": ("stop", None, []),
    "bad_arguments": ("tool_calls", "completed", ["bad_arguments"]),
    "cut_call": ("length", "max_output_tokens", ["bad_arguments"]),
    "incomplete_unsaid": ("other", "incomplete", ["incomplete"]),
    "reasoning_only": ("length", "max_output_tokens", ["empty"]),
    "empty": ("stop", "completed", ["empty"]),
    "empty_message": ("stop", "completed", ["empty"]),
    "no_output": ("stop", "completed", ["no_answer"]),
    "odd_output": ("stop", "completed", ["malformed_event"]),
    "queued": ("other", "queued", ["no_answer"]),
    "blocked": ("filtered", "content_filter", ["blocked"]),
    "failed": ("other", "failed", ["provider_error"]),
    "cancelled": ("other", "cancelled", ["provider_error"]),
    "overflow": ("overflow", "failed", ["provider_error"]),
    "error": ("other", None, ["provider_error"]),
    "error_llama_cpp": ("overflow", None, ["provider_error"]),
}


@pytest.mark.parametrize("name", JUDGED)
def test_every_answer_is_judged(name: str) -> None:
    finish, finish_raw, codes = JUDGED[name]
    answer = responses.parse(wire(f"answer_{name}"))
    assert (answer.finish, answer.finish_raw) == (finish, finish_raw)
    assert [problem.code for problem in answer.problems] == codes
    assert answer.valid is not bool(codes)
    assert answer.cut is ("cut" in codes)


def test_all_answers_at_hand_are_judged() -> None:
    assert {f"answer_{name}" for name in JUDGED} == {*ANSWERS}


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("failed", "server_error: The model failed to generate a response."),
        (
            "error",
            (
                "invalid_request_error: string_above_max_length: "
                "Invalid 'input[2].call_id': string too long."
            ),
        ),
    ],
)
def test_the_provider_s_own_words_say_what_failed(name: str, detail: str) -> None:
    assert responses.parse(wire(f"answer_{name}")).problems[0].detail == detail


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (b"[]", ["no_answer"]),
        (b"null", ["no_answer"]),
        (b"{}", ["no_answer"]),
        (b'{"error":"down"}', ["provider_error"]),
        (b'{"error":7,"output":null}', ["provider_error"]),
        (b'{"error":null,"output":{}}', ["empty"]),
        (b'{"output":[{}]}', []),
    ],
)
def test_odd_bodies_are_judged_too(body: bytes, codes: list[str]) -> None:
    assert [problem.code for problem in responses.parse(body).problems] == codes


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"output":[', b'{"a":"\xff"}'])
def test_only_what_is_not_json_raises(body: bytes) -> None:
    with pytest.raises(DecodeError):
        responses.parse(body)


def test_an_answer_without_status_or_usage_is_whole() -> None:
    answer = responses.parse(b'{"output":[{"role":"assistant","type":"message","content":"a"}]}')
    assert answer.valid
    assert (answer.finish, answer.finish_raw, answer.usage) == ("stop", None, None)


def test_usage_means_the_same_as_elsewhere_and_keeps_the_provider_s_figures() -> None:
    usage = responses.parse(wire("answer_text")).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (75, 1186, 1261)
    assert (usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (64, 8, 1024)
    odd = responses.parse(wire("answer_odd_spelling")).usage
    assert odd is not None
    assert odd.raw == b'{"input_tokens":3,"output_tokens":4,"odd":1e400}'


def test_an_answer_names_its_model_and_its_id() -> None:
    answer = responses.parse(wire("answer_text"))
    assert (answer.model, answer.response_id) == ("gpt-5-mini-2025-08-07", "resp_1")
