"""Which error an error is, as providers and the servers that imitate them word it."""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard import dialect
from hansard.dialects.failures import OVERFLOW_MARKS, WORDS_MAX, read_failure
from hansard.errors import (
    ContextOverflow,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
)

DIALECTS = sorted(hansard.dialects())


def bare(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def error(**fields: object) -> bytes:
    return bare(error=fields)


TOO_LONG = {
    "OpenAI": (
        400,
        error(
            message="This model's maximum context length is 8 tokens.",
            code="context_length_exceeded",
        ),
    ),
    "OpenAI Responses": (
        400,
        error(message="Your input exceeds the context window of this model.", code=None),
    ),
    "OpenAI, in other words": (400, error(message="It exceeds the model's context window.")),
    "Anthropic": (400, error(message="prompt is too long: 9 tokens > 8 maximum")),
    "Anthropic, with the answer": (
        400,
        error(message="input length and `max_tokens` exceed context limit: 5 + 4 > 8"),
    ),
    "Anthropic, in bytes": (413, error(type="request_too_large", message="Request exceeds 32 MB")),
    "Gemini": (
        400,
        error(
            code=400,
            status="INVALID_ARGUMENT",
            message="The input token count (9) exceeds the maximum number of tokens allowed (8).",
        ),
    ),
    "Gemini on Vertex": (
        400,
        error(message="the input token count is 9 but model only supports up to 8."),
    ),
    "llama.cpp": (
        400,
        error(
            code=400,
            type="exceed_context_size_error",
            message="the request exceeds the available context size, try increasing it",
        ),
    ),
    "llama-cpp-python": (400, error(message="Requested tokens (9) exceed context window of 8")),
    "vLLM": (
        400,
        bare(
            object="error",
            message="This model's maximum context length is 8 tokens. You requested 9 tokens.",
            type="BadRequestError",
            code=400,
        ),
    ),
    "vLLM, the prompt": (
        400,
        error(
            message="The decoder prompt (length 9) is longer than the maximum model length of 8."
        ),
    ),
    "SGLang": (
        400,
        bare(
            object="error",
            message="The input (9 tokens) is longer than the model's context length (8 tokens).",
            type="BadRequestError",
            param=None,
            code=400,
        ),
    ),
    "Ollama": (400, b'{"error":"the input length exceeds the context length"}'),
    "Ollama's cloud": (400, b'{"error":"prompt too long; exceeded max context length by 1"}'),
    "LM Studio": (
        400,
        bare(error="The number of tokens to keep is greater than the context length."),
    ),
    "TGI": (
        422,
        bare(
            error="Input validation error: `inputs` must have less than 8 tokens. Given: 9",
            error_type="validation",
        ),
    ),
    "TGI, with the answer": (
        422,
        b'{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8."}',
    ),
    "xAI": (
        400,
        bare(
            code="invalid",
            error="This model's maximum prompt length is 8 but the request contains 9 tokens.",
        ),
    ),
    "Mistral": (
        400,
        bare(
            object="error",
            message="9 tokens are too large for model with 8 maximum context length",
            type="invalid_request_error",
        ),
    ),
    "Moonshot": (400, error(message="Your request exceeded model token limit: 8")),
    "MiniMax": (400, error(message="invalid params, context window exceeds limit")),
    "Bedrock": (400, b'{"message":"Input is too long for requested model."}'),
    "Cohere": (400, b'{"message":"too many tokens: size limit exceeded by 1 tokens."}'),
    "OpenRouter, of another": (
        400,
        error(
            message="Provider returned error",
            metadata={"raw": '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}'},
        ),
    ),
    "a proxy, without a word": (413, b"<html>Request Entity Too Large</html>"),
}


@pytest.mark.parametrize("spoken", DIALECTS)
@pytest.mark.parametrize(("status", "body"), TOO_LONG.values(), ids=TOO_LONG)
def test_a_request_that_is_too_long_is_known_by_whoever_says_so(
    spoken: str, status: int, body: bytes
) -> None:
    failure = dialect(spoken).failure(status, body)

    assert type(failure) is ContextOverflow
    assert "compact the conversation and go on" in str(failure)


def test_every_mark_of_a_request_that_is_too_long_is_somebodys() -> None:
    said = [body.decode().lower() for _, body in TOO_LONG.values()]

    assert not [mark for mark in OVERFLOW_MARKS if not any(mark in body for body in said)]


NOT_TOO_LONG = {
    "tokens a minute": (
        429,
        error(message="Request too large: Limit 8 tokens per minute", code="rate_limit_exceeded"),
        RateLimited,
    ),
    "too many tokens a minute": (429, error(message="too many tokens: wait"), RateLimited),
    "a key": (401, error(message="maximum context length of whom?"), NotAuthorized),
    "the answer's limit": (
        400,
        error(message="max_tokens: 9 > 8, which is the maximum allowed number of output tokens"),
        ProviderError,
    ),
    "a long name": (400, error(message="tools[0].name: string too long"), ProviderError),
}


@pytest.mark.parametrize(("status", "body", "kind"), NOT_TOO_LONG.values(), ids=NOT_TOO_LONG)
def test_other_limits_are_not_taken_for_a_request_that_is_too_long(
    status: int, body: bytes, kind: type[ProviderError]
) -> None:
    for spoken in DIALECTS:
        assert type(dialect(spoken).failure(status, body)) is kind


CODES = [
    (200, error(type="overloaded_error"), Overloaded),
    (400, error(type="authentication_error"), NotAuthorized),
    (400, error(message="Your credit balance is too low to go on."), NotAuthorized),
    (402, b"", NotAuthorized),
    (403, error(code=403, status="PERMISSION_DENIED"), NotAuthorized),
    (
        400,
        error(status="INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}]),
        NotAuthorized,
    ),
    (429, error(code="insufficient_quota"), NotAuthorized),
    (429, b"slow down", RateLimited),
    (429, b"[" + error(status="RESOURCE_EXHAUSTED") + b"]", RateLimited),
    (404, error(type="not_found_error"), ProviderError),
    (418, b"", ProviderError),
    *[(status, b"", Overloaded) for status in (500, 501, 502, 503, 504, 507, 520, 529, 599)],
]


@pytest.mark.parametrize(("status", "body", "kind"), CODES)
def test_codes_and_statuses_tell_the_kind(
    status: int, body: bytes, kind: type[ProviderError]
) -> None:
    assert type(read_failure("openai", (), status, body)) is kind


def test_a_dialect_of_ones_own_can_have_marks_of_its_own() -> None:
    class Own(type(dialect("openai"))):  # type: ignore[misc]
        overflow_marks = ("zu lang",)

    assert type(Own().failure(400, error(message="Das ist ZU LANG"))) is ContextOverflow
    assert type(dialect("openai").failure(400, error(message="Das ist ZU LANG"))) is ProviderError


def test_a_failure_says_what_was_expected_what_was_found_and_what_to_do() -> None:
    body = error(message="Rate limit\nreached", type="requests", code="rate_limit_exceeded")
    failure = dialect("openai").failure(429, body, {"Retry-After": "7"})

    assert str(failure) == (
        "expected an answer of openai, found too many requests or tokens (HTTP 429, "
        "rate_limit_exceeded): try later, or send less (it asks for 7 s); it says: "
        '"Rate limit reached"'
    )
    assert (failure.status, failure.code, failure.retry_after_s) == (429, "rate_limit_exceeded", 7)
    assert failure.body == body


RETRY_INFO = {
    "status": "RESOURCE_EXHAUSTED",
    "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
    ],
}


@pytest.mark.parametrize(
    ("headers", "body", "asked_s"),
    [
        ({}, b"", None),
        ({"retry-after": "7"}, b"", 7.0),
        ({"RETRY-AFTER": "7.5"}, b"", 7.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, b"", 0.25),
        ({"retry-after": "inf"}, b"", None),
        ({"retry-after": "-1"}, b"", None),
        ({"retry-after": "soon"}, b"", None),
        ({}, error(**RETRY_INFO), 34.5),
        ({"retry-after": "7"}, error(**RETRY_INFO), 7.0),
        ({}, error(details=[{"retryDelay": "long"}]), None),
    ],
)
def test_how_long_to_wait_is_read_in_whichever_way_it_is_said(
    headers: dict[str, str], body: bytes, asked_s: float | None
) -> None:
    assert read_failure("gemini", (), 429, body, headers).retry_after_s == asked_s


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijklmnop1234",
        "sk-ant-api03-abcdefghijklmnop",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz",
        "Bearer abc.def",
        "gsk_abcdefghijklmnop",
        "sk-abcde***************wxyz",
    ],
)
def test_what_looks_like_a_key_is_not_repeated(key: str) -> None:
    failure = dialect("openai").failure(401, error(message=f"Wrong key: {key}. See the docs."))

    assert "Wrong key: ***" in str(failure)
    assert key not in str(failure)


@given(
    status=st.integers(0, 999),
    body=st.binary()
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["error", "message", "type", "code", "status", "details", "detail"])
                | st.text(max_size=3),
                inner,
            )
        ),
    ).map(lambda value: json.dumps(value).encode()),
    headers=st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms"]), st.text()),
)
def test_any_bytes_are_some_error_on_one_printable_line(
    status: int, body: bytes, headers: dict[str, str]
) -> None:
    for spoken in DIALECTS:
        failure = dialect(spoken).failure(status, body, headers)

        assert isinstance(failure, ProviderError)
        assert failure.body == body
        assert str(failure).isprintable()
        assert len(str(failure)) < WORDS_MAX + 500
        assert failure.retry_after_s is None or failure.retry_after_s >= 0
        assert pickle.loads(pickle.dumps(failure)).args == failure.args  # noqa: S301 - ours
