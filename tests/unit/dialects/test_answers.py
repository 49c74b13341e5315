"""What holds for the answers of every dialect, each in its own words."""

from __future__ import annotations

import pytest

import hansard
from hansard import Ask

NOTHING = {
    "openai": b'{"choices":[{"message":{"role":"assistant","content":%b},"finish_reason":"stop"}]}',
    "openai-responses": b'{"status":"completed","output":[{"type":"message","role":"assistant",'
    b'"content":[{"type":"output_text","text":%b}]}]}',
    "anthropic": b'{"role":"assistant","content":[{"type":"text","text":%b}],'
    b'"stop_reason":"end_turn"}',
    "gemini": b'{"candidates":[{"content":{"role":"model","parts":[{"text":%b}]},'
    b'"finishReason":"STOP"}]}',
}


@pytest.mark.parametrize("name", NOTHING)
def test_an_answer_that_says_nothing_is_empty(name: str) -> None:
    """It cannot be sent back, and the prompt before it would stand without an answer."""
    answer = hansard.dialect(name).parse(NOTHING[name] % b'""')
    assert [problem.code for problem in answer.problems] == ["empty"]
    assert hansard.dialect(name).parse(NOTHING[name] % b'" "').valid


@pytest.mark.parametrize("signed", [b'"text":"","thoughtSignature":"cw=="', b'"zz":""'])
def test_a_part_with_a_signature_or_something_unknown_says_something(signed: bytes) -> None:
    body = NOTHING["gemini"].replace(b'"text":%b', signed)
    assert hansard.dialect("gemini").parse(body).valid


@pytest.mark.parametrize("name", NOTHING)
def test_leading_system_text_of_nothing_is_not_said(name: str) -> None:
    dialect = hansard.dialect(name)
    if name != "openai":  # Where it is a message like others.
        ask = Ask("m", [], [hansard.system("")])
        assert dialect.request(ask) == dialect.request(Ask("m"))
