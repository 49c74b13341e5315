"""Chat Completions, judged: whether an answer is valid, why it ended and what it cost."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.dialects.openai_chat import OpenAIChat
from hansard.errors import DecodeError

if TYPE_CHECKING:
    from hansard.rawjson import JSON

WIRE = Path(__file__).parents[2] / "data" / "wire" / "openai_chat"
ANSWERS = sorted(path.stem for path in WIRE.glob("answer_*.json"))

chat = OpenAIChat()


def wire(name: str) -> bytes:
    return (WIRE / f"{name}.json").read_bytes()


def tight(raw: bytes) -> bytes:
    """Remove the white space outside of strings, by another way than the library's."""
    return re.sub(rb'("(?:[^"\\]|\\.)*")|\s+', lambda found: found[1] or b"", raw)


@pytest.mark.parametrize(
    ("name", "finish", "finish_raw", "codes"),
    [
        ("plain", "stop", "stop", []),
        ("calls", "tool_calls", "tool_calls", []),
        ("calls_under_stop", "tool_calls", "stop", []),
        ("refusal", "refused", "stop", []),
        ("length", "length", "length", []),
        ("cut_arguments", "length", "length", ["bad_arguments"]),
        ("filtered", "filtered", "content_filter", ["blocked"]),
        ("filtered_late", "filtered", "content_filter", []),
        ("empty", "length", "length", ["empty"]),
        ("no_choice", None, None, ["no_answer"]),
        ("error", None, None, ["provider_error"]),
        ("error_gemini", None, None, ["provider_error"]),
        ("error_openrouter", "other", "error", ["provider_error"]),
        ("error_vllm", None, None, ["provider_error"]),
        (
            "stopped_deepseek",
            "other",
            "insufficient_system_resource",
            ["provider_error"],
        ),
        ("openrouter", "stop", "stop", []),
        ("unheard_of_finish", "other", "eos", []),
        ("spaced", "stop", "stop", []),
    ],
)
def test_every_answer_is_judged(
    name: str, finish: str | None, finish_raw: str | None, codes: list[str]
) -> None:
    answer = chat.parse(wire(f"answer_{name}"))
    assert [problem.code for problem in answer.problems] == codes
    assert answer.valid == (not codes)
    assert (answer.finish, answer.finish_raw, answer.cut) == (finish, finish_raw, False)


def test_all_answers_at_hand_are_judged() -> None:
    (table,) = [
        mark.args[1]
        for mark in test_every_answer_is_judged.pytestmark  # type: ignore[attr-defined]
    ]
    assert sorted(f"answer_{row[0]}" for row in table) == ANSWERS


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("error", "tokens: rate_limit_exceeded: Rate limit reached for gpt-5-mini"),
        (
            "error_gemini",
            "400: Function call is missing a thought_signature in functionCall parts.",
        ),
        ("error_openrouter", "502: Upstream disconnected"),
        (
            "error_vllm",
            "BadRequestError: 400: This model's maximum context length is 4096 tokens.",
        ),
        ("stopped_deepseek", "the model was stopped: insufficient_system_resource"),
    ],
)
def test_the_provider_s_own_words_say_what_failed(name: str, detail: str) -> None:
    assert chat.parse(wire(f"answer_{name}")).problems[0].detail == detail


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        (b'{"error":"quota"}', ["provider_error"]),
        (b'{"error":null,"choices":[{"message":{"content":"x"}}]}', []),
        (b'{"choices":[{"message":{"role":"assistant","content":null}}]}', ["empty"]),
        (b'{"choices":[{"message":{"content":[]}}]}', ["empty"]),
        (b'{"choices":[{"message":{"content":[{"type":"text","text":""}]}}]}', ["empty"]),
        (b'{"choices":[{"message":{"content":[{"type":"new"}]}}]}', []),
        (b'{"choices":[{"message":{"content":"","audio":{"id":"a"}}}]}', []),
        (b'{"choices":[{"message":{"content":"","tool_calls":[]}}]}', ["empty"]),
        (b'{"choices":[{"message":null}]}', ["no_answer"]),
        (b'{"choices":[{"finish_reason":"error","message":{"content":"x"}}]}', ["provider_error"]),
        (b'{"choices":null}', ["no_answer"]),
        (b"[]", ["no_answer"]),
        (b"null", ["no_answer"]),
    ],
)
def test_odd_bodies_are_judged_too(body: bytes, codes: list[str]) -> None:
    assert [problem.code for problem in chat.parse(body).problems] == codes


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (b'"quota"', "quota"),
        (b"7", "7"),
        (b"{}", "{}"),
        (b'{"message":"no","code":null,"type":null}', "no"),
        (b'{"message":"no","code":503}', "503: no"),
        (b'{"reason":"x"}', '{"reason":"x"}'),
    ],
)
def test_an_error_is_told_in_whatever_shape_it_has(error: bytes, detail: str) -> None:
    (problem,) = chat.parse(b'{"error":' + error + b"}").problems
    assert (problem.code, problem.detail) == ("provider_error", detail)


@pytest.mark.parametrize("body", [b"", b"<html>502</html>", b'{"choices":[', b"{}{}", b'"\xff"'])
def test_only_what_is_not_json_raises(body: bytes) -> None:
    with pytest.raises(DecodeError):
        chat.parse(body)


def test_usage_means_the_same_for_all_servers_and_keeps_their_own_words() -> None:
    usage = chat.parse(wire("answer_plain")).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (1117, 46, 1163)
    assert (usage.cached_tokens, usage.reasoning_tokens) == (1024, 32)
    assert usage.raw is not None
    assert usage.raw in tight(wire("answer_plain"))
    openrouter = chat.parse(wire("answer_openrouter")).usage
    assert openrouter is not None
    assert (openrouter.cached_tokens, openrouter.cache_write_tokens) == (3, 2)
    assert b'"cost":0.00201500' in (openrouter.raw or b"")
    deepseek = chat.parse(wire("answer_empty")).usage
    assert deepseek is not None
    assert (deepseek.cached_tokens, deepseek.reasoning_tokens) == (4, 40)


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ("null", None),
        ("7", None),
        ("{}", 0),
        ('{"prompt_tokens":null}', 0),
        ('{"prompt_tokens":"7"}', 0),
        ('{"prompt_tokens":7.0}', 7),
        ('{"prompt_tokens":1e999}', 0),
    ],
)
def test_odd_figures_count_as_nothing(usage: str, tokens: int | None) -> None:
    body = f'{{"choices":[{{"message":{{"content":"x"}}}}],"usage":{usage}}}'
    found = chat.parse(body.encode()).usage
    assert (None if found is None else found.input_tokens) == tokens


def test_an_answer_names_its_model_and_its_id() -> None:
    answer = chat.parse(wire("answer_plain"))
    assert answer.model == "gpt-5-mini-2025-08-07"
    assert answer.response_id == "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT"


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


@given(odd_messages, json_values, json_values)
def test_no_body_is_too_odd_to_judge(odd: JSON, choices: JSON, error: JSON) -> None:
    for body in (
        {"choices": [{"message": odd, "finish_reason": choices}], "usage": choices},
        {"choices": choices, "error": error, "usage": odd, "model": choices},
        choices,
    ):
        assert chat.parse(json.dumps(body).encode()).cut is False
