"""Who says what, message by message."""

from __future__ import annotations

from hansard.dialects.registry import dialect
from hansard.messages import Text, ToolCall, ToolResult, assistant, user
from hansard.neutral.exchanges import exchanges, utterances


def call(call_id: str, name: str = "f") -> ToolCall:
    """Make a call."""
    return ToolCall(call_id, name)


def result(call_id: str, name: str = "f") -> ToolResult:
    """Make a result."""
    return ToolResult(call_id, name)


def test_results_in_an_answer_end_it_and_what_follows_is_another() -> None:
    said = assistant(Text("a"), call("c1"), result("c1"), Text("b"))
    heard = list(utterances(0, said))
    assert [each.role for each in heard] == ["assistant", "tool", "assistant"]
    first, second = exchanges(heard)
    assert [asked.id for _, asked in first.calls] == ["c1"]
    assert [given.call_id for _, given in first.results] == ["c1"]
    assert [each.words for each in second.answer] == [(Text("b"),)]


def test_what_comes_before_the_first_answer_is_an_exchange_without_one() -> None:
    heard = [
        each
        for at, said in enumerate([user("a"), assistant("b"), assistant("c")])
        for each in utterances(at, said)
    ]
    first, second = exchanges(heard)
    assert (first.answer, len(first.after)) == ((), 1)
    assert [each.index for each in second.answer] == [1, 2]


def test_the_items_of_one_message_are_told_apart_by_who_says_them() -> None:
    raw = (
        b'[{"role":"user","content":"hi"},{"type":"reasoning","summary":[]},'
        b'{"role":"assistant","content":"a"},{"type":"function_call_output","call_id":"c"}]'
    )
    heard = list(utterances(4, dialect("openai-responses").message(raw)))
    assert [(each.index, each.role) for each in heard] == [
        (4, "user"),
        (4, "assistant"),
        (4, "tool"),
    ]
