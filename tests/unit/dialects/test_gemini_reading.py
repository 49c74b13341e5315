"""Reading Gemini: every kind of part, fields that nobody knew, and whether an answer is valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import rawjson
from hansard.dialects.dialect import Ask
from hansard.dialects.gemini import Gemini
from hansard.errors import DecodeError
from hansard.messages import (
    Draft,
    Media,
    Message,
    Native,
    Text,
    Thought,
    ToolCall,
    ToolResult,
)

if TYPE_CHECKING:
    from hansard.rawjson import JSON

GEMINI = Gemini()
WIRE = Path(__file__).parents[2] / "data" / "wire" / "gemini"
CONTENTS = sorted(path.name for path in WIRE.glob("content_*.json"))
ANSWERS = sorted(path.name for path in WIRE.glob("answer_*.json"))
SKIP = "skip_thought_signature_validator"


def wire(name: str) -> bytes:
    return (WIRE / name).read_bytes()


def content(name: str) -> Message:
    return GEMINI.message(wire(f"content_{name}.json"))


def said(draft: Draft) -> bytes:
    (message,) = GEMINI.say(draft)
    return message.raw


def body_of(ask: Ask) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(GEMINI.request(ask).body)
    return parsed


# -- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONTENTS)
def test_a_message_keeps_every_token_and_loses_only_white_space(name: str) -> None:
    raw = GEMINI.message(wire(name)).raw
    assert raw == rawjson.compact(wire(name))
    assert raw in GEMINI.request(Ask("m", [GEMINI.splice(raw)])).body


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("user_text", "user"),
        ("parallel_calls", "assistant"),
        ("results", "tool"),
        ("results_and_text", "user"),
        ("odd_shapes", "user"),
        ("without_parts", "assistant"),
    ],
)
def test_the_role_says_who_speaks(name: str, role: str) -> None:
    assert content(name).role == role


def test_a_user_who_says_nothing_is_no_tool() -> None:
    assert GEMINI.message(b'{"role":"user","parts":[]}').role == "user"


def test_calls_have_raw_arguments_and_the_signature_of_their_part() -> None:
    first, second = content("parallel_calls").tool_calls
    assert first == ToolCall(
        "fc-1",
        "get_weather",
        '{"city":"Tōkyō","limit":1e5,"price":1.50}',
        0,
        "EtYDCtMDAdHtim-_Zm9yIHN1cmU=",
    )
    assert (second.id, second.position, second.thought_signature) == ("fc-2", 1, None)
    assert content("parallel_calls").thought_signatures == ("EtYDCtMDAdHtim-_Zm9yIHN1cmU=",)


def test_calls_without_ids_or_with_the_same_one_are_told_apart_by_position() -> None:
    calls = content("calls_without_ids").tool_calls
    assert [call.id for call in calls] == ["", "", "same", "same"]
    assert [call.position for call in calls] == [0, 1, 2, 3]
    assert [call.parsed for call in calls] == [{}, {}, {"n": 1}, {"n": 2}]


def test_results_read_as_text_errors_and_json() -> None:
    results = content("results").tool_results
    assert [result.call_id for result in results] == [
        "fc-1",
        "",
        "",
        "fc-3",
        "fc-4",
        "fc-5",
        "fc-6",
    ]
    assert [result.text for result in results] == [
        '{"temperature":12,"unit":"C","odd":1e5}',
        "8 °C, rain",
        "12 °C",
        "sold out",
        '{"code":17}',
        "",
        "{}",
    ]
    assert [result.is_error for result in results] == [False] * 3 + [True] * 2 + [False] * 2
    assert [result.position for result in results] == list(range(7))


def test_a_result_shows_media_beside_its_text() -> None:
    (result,) = content("result_with_media").tool_results
    assert result.text == "see the image"
    assert result.content[1:] == (
        Media("image", "image/png", "iVBORw0KGgo=", name="screen.png"),
        Media("file", "text/plain", url="https://example.com/files/log.txt"),
        Native("hologram", b'{"hologram":{"volume":[1,2,3]}}'),
    )


def test_thoughts_are_apart_from_text_and_signatures_stay_with_their_parts() -> None:
    message = content("thoughts")
    assert message.parts == (
        Thought("The user wants rhymes.", "c2lnLXRob3VnaHQ="),
        Text("Roses "),
        Text("are red.", "c2lnLXRleHQ="),
        Text("", "c2lnLWVtcHR5"),
        Thought(""),
        Text("", "c2lnLWFsb25l"),
    )
    assert message.text == "Roses are red."
    assert not message.extra


OWN_FILE = "https://generativelanguage.googleapis.com/v1beta/files/abc-123"
"""A file uploaded to Gemini, as the API names it."""


@pytest.mark.parametrize(
    ("uri", "own"),
    [
        (OWN_FILE, True),
        ("https://generativelanguage.googleapis.com/files/abc", True),
        ("https://generativelanguage.googleapis.com/v1beta/files/abc:download?alt=media", True),
        ("https://generativelanguage.googleapis.com/v1beta/models/files", False),
        ("https://generativelanguage.googleapis.com/v1beta/files/", False),
        ("https://generativelanguage.googleapis.com/v1beta/x?of=/files/abc", False),
        ("https://generativelanguage.googleapis.com.example.org/v1beta/files/abc", False),
        ("https://example.org/https://generativelanguage.googleapis.com/files/abc", False),
        ("gs://bucket/files/abc", False),
        ("https://www.youtube.com/watch?v=9hE5-98ZeCg", False),
    ],
)
def test_a_file_that_lies_with_gemini_is_known_by_its_id_and_any_other_by_its_address(
    uri: str, own: bool
) -> None:
    part = b'{"fileData":{"mimeType":"application/pdf","fileUri":"%s"}}' % uri.encode()
    message = GEMINI.message(b'{"role":"user","parts":[' + part + b"]}")
    (media,) = message.parts
    assert isinstance(media, Media)
    assert (media.file_id, media.url) == ((uri, None) if own else (None, uri))
    (back,) = GEMINI.say(Draft("user", message.parts))
    assert back.raw == message.raw


def test_media_keep_their_base64_as_it_was_spelled() -> None:
    _, photo, sound, film, report = content("media").parts
    assert photo == Media("image", "image/jpeg", "_9j_4AAQ-w")
    assert sound == Media("audio", "audio/wav", "UklGRg==")
    assert isinstance(film, Media)
    assert (film.kind, film.url) == ("video", "https://www.youtube.com/watch?v=9hE5-98ZeCg")
    assert isinstance(report, Media)
    assert (report.kind, report.name) == ("file", "report.pdf")
    assert (report.url, report.file_id) == (None, OWN_FILE)
    assert content("media").extra["parts[3].videoMetadata"] == {
        "startOffset": "40s",
        "endOffset": "80s",
        "fps": 1.5,
    }


def test_an_image_that_was_only_thought_of_is_no_part_of_the_answer() -> None:
    message = content("image_made")
    assert message.has_thoughts
    assert [part for part in message.parts if isinstance(part, Media)] == [
        Media("image", "image/png", "ZmluYWw=", thought_signature="c2lnLWltYWdl")
    ]
    assert "parts[0].inlineData" in message.extra


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("code_execution", ["executableCode", "codeExecutionResult"]),
        ("server_tools", ["toolCall", "toolResponse"]),
        ("unknown_fields", ["hologram"]),
    ],
)
def test_what_only_gemini_can_say_is_native(name: str, kinds: list[str]) -> None:
    message = content(name)
    natives = [part for part in message.parts if isinstance(part, Native)]
    assert [native.kind for native in natives] == kinds
    assert all(native.raw in message.raw for native in natives)


def test_fields_that_nobody_knew_are_found_by_their_path() -> None:
    assert dict(content("unknown_fields").extra) == {
        "zeta": {"b": 1, "a": 1e5},
        "parts[0].confidence": 0.9,
        "parts[0].partMetadata": {"source": "kb"},
        "parts[1].functionCall.mood": "keen",
        "parts[1].extraSeal": "x",
        "parts[4].inlineData.checksum": "9e",
        "alpha": None,
    }


def test_the_other_spelling_of_names_that_the_wire_takes_reads_the_same() -> None:
    message = content("snake_case")
    assert message.parts == (
        ToolCall("c-1", "f", '{"a":1}', 0, "c2ln"),
        Media("image", "image/png", "AAAA"),
        Media("file", "text/plain", url="gs://bucket/a.txt", name="a.txt"),
    )
    assert not message.extra


def test_parts_of_odd_shapes_are_read_as_far_as_they_go() -> None:
    parts = content("odd_shapes").parts
    assert [type(part) for part in parts[:7]] == [Native] * 7
    assert parts[7:9] == (ToolCall("", "", "[1]"), ToolResult("", "", (Text('"bare"'),)))
    assert parts[10] == Text("plain")


@pytest.mark.parametrize("name", ["results", "thoughts", "code_execution", "user_text"])
def test_what_is_covered_by_a_view_is_nothing_extra(name: str) -> None:
    assert not content(name).extra


@pytest.mark.parametrize("raw", [b"[]", b'"hi"', b"null", b'{"role":"user","parts":{"text":"a"}}'])
def test_what_can_be_no_content_is_refused(raw: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        GEMINI.message(raw)
    assert (caught.value.reason, caught.value.dialect) == ("corrupt_message", "gemini")


# -- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "finish", "problems"),
    [
        ("text", "stop", []),
        ("calls", "tool_calls", []),
        ("unknown_fields", "other", []),
        ("without_finish", None, []),
        ("without_role", "stop", []),
        ("length", "length", []),
        ("signature_only", "stop", []),
        ("continuation", "paused", []),
        ("grounded", "stop", []),
        ("two_candidates", "stop", []),
        ("blocked", "filtered", ["blocked"]),
        ("no_candidates", None, ["no_answer"]),
        ("safety", "filtered", ["no_answer"]),
        ("length_no_parts", "length", ["empty"]),
        ("empty_part", "stop", ["empty"]),
        ("malformed_call", "malformed", ["empty"]),
        ("bad_arguments", "tool_calls", ["bad_arguments"]),
        ("partial_arguments", "tool_calls", ["bad_arguments"]),
        ("error", None, ["provider_error"]),
        ("error_array", None, ["provider_error"]),
        ("odd_shapes", None, ["no_answer"]),
    ],
)
def test_an_answer_is_judged(name: str, finish: str | None, problems: list[str]) -> None:
    answer = GEMINI.parse(wire(f"answer_{name}.json"))
    assert answer.finish == finish
    assert [problem.code for problem in answer.problems] == problems
    assert answer.valid is (not problems)
    assert not answer.cut


def test_every_answer_that_was_collected_is_judged_here() -> None:
    marker = test_an_answer_is_judged.pytestmark[0]  # type: ignore[attr-defined]
    assert [f"answer_{case[0]}.json" for case in sorted(marker.args[1])] == ANSWERS


@pytest.mark.parametrize("name", ANSWERS)
def test_the_content_of_an_answer_is_a_slice_of_it(name: str) -> None:
    raw = GEMINI.parse(wire(name)).raw
    if raw is not None and name != "answer_without_role.json":
        assert raw in rawjson.compact(wire(name))
    if raw is not None:
        assert GEMINI.message(raw).role == "assistant"


def test_a_content_without_a_role_is_the_models() -> None:
    answer = GEMINI.parse(wire("answer_without_role.json"))
    assert answer.raw == b'{"role":"model","parts":[{"text":"who am I?"}]}'


def test_the_candidate_that_was_asked_for_is_the_first() -> None:
    answer = GEMINI.parse(wire("answer_two_candidates.json"))
    assert answer.raw is not None
    assert Message(GEMINI, answer.raw).text == "first"


def test_usage_has_one_meaning_and_keeps_the_figures_as_they_came() -> None:
    answer = GEMINI.parse(wire("answer_text.json"))
    usage = answer.usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (1227, 32)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (1024, 24)
    assert usage.raw is not None
    assert json.loads(usage.raw)["totalTokenCount"] == usage.total_tokens
    assert (answer.model, answer.response_id) == ("gemini-3-flash", "kP3taKPdE9-vz7IPs6Wp0Ac")


def test_the_providers_word_for_an_error_is_in_the_problem() -> None:
    (problem,) = GEMINI.parse(wire("answer_error.json")).problems
    assert problem.detail == "429 RESOURCE_EXHAUSTED: Resource has been exhausted."


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"candidates":', b'"\xff"'])
def test_only_what_is_not_json_raises(body: bytes) -> None:
    with pytest.raises(DecodeError):
        GEMINI.parse(body)


@pytest.mark.parametrize("body", [b"[]", b"7", b'"hi"', b"null", b"{}", b'{"candidates":[null]}'])
def test_json_that_is_no_answer_is_a_problem(body: bytes) -> None:
    assert [problem.code for problem in GEMINI.parse(body).problems] == ["no_answer"]


# -- anything at all --------------------------------------------------------------------------

WORDS = [
    "candidates",
    "content",
    "parts",
    "role",
    "model",
    "text",
    "thought",
    "thoughtSignature",
    "functionCall",
    "function_call",
    "functionResponse",
    "inlineData",
    "fileData",
    "mimeType",
    "data",
    "id",
    "name",
    "args",
    "response",
    "result",
    "error",
    "index",
    "finishReason",
    "promptFeedback",
    "blockReason",
    "usageMetadata",
    "promptTokenCount",
    "willContinue",
    "novel",
]

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "STOP", "user", "model", "\ud83d", *WORDS]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=12,
)
parts = st.lists(
    st.dictionaries(st.sampled_from(WORDS), anything, max_size=3) | anything, max_size=4
)


@given(st.dictionaries(st.sampled_from(WORDS), anything) | anything)
def test_no_json_makes_an_answer_raise(answer: JSON) -> None:
    body = rawjson.dump(answer)
    found = GEMINI.parse(body)
    assert found.valid == (not found.problems)
    reader = GEMINI.stream()
    reader.feed(b"data: " + body + b"\n\n")
    reader.close()


@given(parts)
def test_no_part_makes_a_content_raise(made: list[JSON]) -> None:
    content = {"role": "model", "parts": made}
    message = GEMINI.message(rawjson.dump(content))
    assert len(message.parts) == len(made)
    fragments, rest = GEMINI.split_results(message.raw)
    assert len(fragments) == len(message.tool_results)
    assert rest is None or not GEMINI.message(rest).tool_results
    projected = GEMINI.project(message.raw)
    assert projected == message.raw or any(mark in message.raw for mark in GEMINI.cut_marks)
    assert projected is None or GEMINI.message(projected).text == message.text
    answer = GEMINI.parse(rawjson.dump({"candidates": [{"content": content}]}))
    reader = GEMINI.stream()
    reader.feed(b"data: " + rawjson.dump({"candidates": [{"content": content}]}) + b"\n\n")
    streamed = reader.close()
    assert answer.raw == message.raw
    assert streamed.raw is not None
    assert GEMINI.message(streamed.raw).text == message.text
    assert GEMINI.message(streamed.raw).tool_calls == message.tool_calls
