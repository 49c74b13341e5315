"""Which calls are open where messages are items, and calls may be answered in their own message."""

from __future__ import annotations

import pytest

from hansard.dialects.openai_responses import OpenAIResponses
from hansard.dialects.pairing import cut_points, repair

responses = OpenAIResponses()

USER = b'[{"role":"user","content":"hi"}]'
DONE = b'[{"type":"message","role":"assistant","content":"ok"}]'


def call(call_id: str) -> bytes:
    return b'{"type":"function_call","call_id":"%s","name":"f","arguments":"{}"}' % call_id.encode()


def result(call_id: str) -> bytes:
    return b'{"type":"function_call_output","call_id":"%s","output":"x"}' % call_id.encode()


def items(*said: bytes) -> bytes:
    return b"[" + b",".join(said) + b"]"


@pytest.mark.parametrize("pending", [True, False])
def test_an_imported_history_that_answers_its_own_calls_needs_no_repair(*, pending: bool) -> None:
    history = [USER, items(call("a"), result("a"), call("b"), result("b")), USER]
    for messages in (history, history[:2]):
        repaired = repair(responses, messages, pending=pending)
        assert (list(repaired.messages), repaired.repairs) == (messages, ())


def test_only_the_call_that_its_message_leaves_open_is_answered_as_interrupted() -> None:
    repaired = repair(responses, [items(call("a"), result("a"), call("b")), USER])
    assert [(mend.what, mend.call_id) for mend in repaired.repairs] == [("interrupted", "b")]


def test_a_history_may_be_cut_after_a_message_that_answers_all_its_calls() -> None:
    assert cut_points(responses, [USER, items(call("a"), result("a")), USER, DONE]) == [0, 2]


def test_a_history_is_not_cut_where_a_message_with_results_leaves_another_call_open() -> None:
    half = items(call("a"), result("a"), call("b"))
    assert cut_points(responses, [USER, half, USER, items(result("b")), DONE, USER]) == [0, 5]
