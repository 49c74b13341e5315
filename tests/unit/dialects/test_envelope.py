"""What stands around an answer is kept as it was spelled, whether it came whole or streamed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hansard import rawjson
from hansard.dialects.dialect import Answer
from hansard.dialects.registry import dialect

WIRE = Path(__file__).parents[2] / "data" / "wire"
FOLDERS = {
    "openai": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
NAMES = sorted(FOLDERS)


def sse(*events: str) -> bytes:
    return "".join([f"data: {event}\n\n" for event in events]).encode()


def parsed(name: str, body: str) -> bytes | None:
    return dialect(name).parse(body.encode()).envelope


def streamed(name: str, body: bytes) -> Answer:
    reader = dialect(name).stream()
    reader.feed(body)
    return reader.close()


def recorded(name: str) -> list[Answer]:
    """Every answer at hand of a provider."""
    folder = WIRE / FOLDERS[name]
    bodies = [path.read_bytes() for path in sorted(folder.glob("answer_*.json"))]
    streams = [path.read_bytes() for path in sorted(folder.glob("*.sse"))]
    return [
        *[dialect(name).parse(body) for body in bodies],
        *[streamed(name, body) for body in streams],
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_envelope_is_a_compact_object_without_the_message(name: str) -> None:
    envelopes = [answer.envelope for answer in recorded(name)]
    assert any(envelopes)
    for envelope in filter(None, envelopes):
        assert rawjson.compact(envelope) == envelope
        around = json.loads(envelope)
        assert not around.keys() & {"content", "role", "output", "usage", "usageMetadata"}
        (entry,) = around.get("candidates") or around.get("choices") or [{}]
        assert not entry.keys() & {"message", "delta", "content"}


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_says_nothing_around_itself_has_no_envelope(name: str) -> None:
    assert parsed(name, "{}") is None
    assert streamed(name, b"").envelope is None


# -- whole bodies -----------------------------------------------------------------------------


def test_chat_completions_say_which_server_and_tier_answered() -> None:
    body = (
        '{"id": "c1", "system_fingerprint": "fp_\\u0031", "service_tier": "flex", "usage": {},'
        ' "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"},'
        ' "finish_reason": "stop", "zz": 1.50}]}'
    )
    assert parsed("openai", body) == (
        b'{"id":"c1","system_fingerprint":"fp_\\u0031","service_tier":"flex",'
        b'"choices":[{"finish_reason":"stop","zz":1.50}]}'
    )


def test_responses_say_their_own_fields_and_nothing_that_repeats_the_request() -> None:
    body = (
        '{"id":"r1","status":"completed","instructions":"long","tools":[{}],"error":null,'
        '"service_tier":"default","created_at":1e9,"output":[],"usage":{}}'
    )
    assert parsed("openai-responses", body) == (
        b'{"id":"r1","status":"completed","service_tier":"default","created_at":1e9}'
    )


def test_anthropic_says_container_stop_details_and_context_management() -> None:
    body = (
        '{"id":"m1","role":"assistant","content":[],"stop_reason":"refusal","stop_sequence":null,'
        '"stop_details":{"category":"x"},"container":{"id":"c"},'
        '"context_management":{"applied_edits":[]},"usage":{}}'
    )
    assert parsed("anthropic", body) == (
        b'{"id":"m1","stop_reason":"refusal","stop_details":{"category":"x"},'
        b'"container":{"id":"c"},"context_management":{"applied_edits":[]}}'
    )


def test_gemini_says_ratings_grounding_and_continuation() -> None:
    body = (
        '{"candidates":[{"content":{"role":"model","parts":[{"text":"a"}]},"finishReason":"STOP",'
        '"safetyRatings":[{"p":1.0}],"groundingMetadata":{"q":[]},"index":0}],'
        '"modelVersion":"g","continuationToken":"t","usageMetadata":{}}'
    )
    assert parsed("gemini", body) == (
        b'{"modelVersion":"g","continuationToken":"t","candidates":[{"finishReason":"STOP",'
        b'"safetyRatings":[{"p":1.0}],"groundingMetadata":{"q":[]}}]}'
    )


# -- streams ----------------------------------------------------------------------------------


def test_a_chat_stream_says_it_in_the_chunks_that_begin_and_end_it() -> None:
    answer = streamed(
        "openai",
        sse(
            '{"id":"c1","system_fingerprint":"fp_1","choices":[{"delta":{"content":"a"}}]}',
            '{"id":"c1","choices":[{"delta":{},"finish_reason":"stop","zz":1.50}]}',
            '{"id":"c1","service_tier":"flex","timings":{"ms": 1e1},"choices":[],"usage":null}',
            "[DONE]",
        ),
    )
    assert answer.valid
    assert json.loads(answer.envelope or b"") == {
        "id": "c1",
        "system_fingerprint": "fp_1",
        "service_tier": "flex",
        "timings": {"ms": 10.0},
        "choices": [{"finish_reason": "stop", "zz": 1.5}],
    }
    assert b'"timings":{"ms":1e1}' in (answer.envelope or b"")


def test_a_responses_stream_says_it_when_it_begins_and_what_came_of_it_when_it_ends() -> None:
    begun = '{"type":"response.created","response":{"id":"r1","service_tier":"auto","status":"a"}}'
    assert streamed("openai-responses", sse(begun)).envelope == (
        b'{"id":"r1","service_tier":"auto"}'
    )
    ended = '{"type":"response.completed","response":{"id":"r1","service_tier":"flex","output":[]}}'
    assert streamed("openai-responses", sse(begun, ended)).envelope == (
        b'{"id":"r1","service_tier":"flex","status":"completed"}'
    )


def test_an_anthropic_stream_says_it_in_its_start_and_its_delta() -> None:
    answer = streamed(
        "anthropic",
        sse(
            '{"type":"message_start","message":{"id":"m1","role":"assistant","content":[],'
            '"container":{"id":"a"},"stop_reason":null}}',
            '{"type":"message_delta","delta":{"stop_reason":"refusal","container":{"id":"b"},'
            '"stop_details":{"category":"x"}},"context_management":{"applied_edits":[]}}',
            '{"type":"message_stop"}',
        ),
    )
    assert answer.envelope == (
        b'{"id":"m1","container":{"id":"b"},"stop_reason":"refusal",'
        b'"stop_details":{"category":"x"},"context_management":{"applied_edits":[]}}'
    )


def test_a_gemini_stream_says_what_its_chunks_said_last() -> None:
    text = '{"candidates":[{"content":{"parts":[{"text":"a"}]},"safetyRatings":[%s]}],%s}'
    last = (
        '{"candidates":[{"finishReason":"STOP","groundingMetadata":{"q":[]}}],'
        '"continuationToken":"t"}'
    )
    answer = streamed(
        "gemini",
        sse(text % ("1", '"modelVersion":"g"'), text % ("2.0", '"modelVersion":"\\u0067"'), last),
    )
    assert answer.valid
    assert answer.envelope == (
        b'{"modelVersion":"\\u0067","continuationToken":"t","candidates":[{"safetyRatings":[2.0],'
        b'"groundingMetadata":{"q":[]},"finishReason":"STOP"}]}'
    )


# -- whose answer it is -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("openai", '{"choices":[{"message":{"role":"zz","content":"a"},"finish_reason":"stop"}]}'),
        ("openai-responses", '{"output":[{"type":"message","role":"user","content":"a"}]}'),
        ("anthropic", '{"role":"user","content":[{"type":"text","text":"a"}]}'),
        ("gemini", '{"candidates":[{"content":{"role":"user","parts":[{"text":"a"}]}}]}'),
    ],
)
def test_an_answer_of_anybody_but_the_assistant_is_not_valid(name: str, body: str) -> None:
    answer = dialect(name).parse(body.encode())
    assert [problem.code for problem in answer.problems] == ["wrong_role"]
