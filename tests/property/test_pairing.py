"""Repair mends whatever is torn, changes nothing else, and a second time changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hansard
from hansard.dialects.pairing import answers, cut_points, repair
from hansard.messages import ToolCall, ToolResult, assistant, user
from tests.support.conversations import DIALECTS, add_odd, wire_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

    from hansard.dialects.dialect import Dialect

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)

Kind = Literal["hello", "hi", "calls", "results", "results and words", "thought", "wire"]
KINDS: tuple[Kind, ...] = ("hello", "hi", "calls", "results", "results and words", "wire")


def histories(dialect: Dialect) -> SearchStrategy[list[bytes]]:
    """Messages in an order that no turn of ours would leave: torn, doubled, turned round."""
    names = ["a", "b", "c", "\ud800"] if dialect.name != "gemini" else ["a", "b", ""]
    ids = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=dialect.name != "gemini")
    message = st.builds(
        lambda kind, names, number: _message(dialect, kind, names, number),
        st.sampled_from(KINDS),
        ids,
        st.integers(0, 999),
    )
    return st.lists(message, max_size=10)


def _message(dialect: Dialect, kind: Kind, ids: Sequence[str], number: int) -> bytes:
    calls = [ToolCall(name, f"f{name}", "{}", at) for at, name in enumerate(ids)]
    if kind == "hello":
        return dialect.say(user("Hello"))[0].raw
    if kind == "hi":
        return add_odd(dialect, dialect.say(assistant("Hi"))[0].raw)
    if kind == "calls":
        return dialect.say(assistant(*calls))[0].raw
    if kind == "wire":
        known = wire_messages(dialect.name)
        return known[number % len(known)]
    fragments = [dialect.result(call, call.answer(f"{number}")) for call in calls]
    then = dialect.say(user("and"))[0].raw
    framed = dialect.frame(fragments, [then] if kind == "results and words" else [])
    return framed[number % len(framed)]


def is_answer(dialect: Dialect, raw: bytes) -> bool:
    return hansard.Message(dialect, raw).role == "assistant"


def exchanges(
    dialect: Dialect, messages: Sequence[bytes]
) -> list[tuple[list[ToolCall], list[ToolResult]]]:
    """For each stretch from one answer to the next: what is called and what is answered in it.

    Where messages merge, what the model says in a row is one answer.
    """
    stretches: list[tuple[list[ToolCall], list[ToolResult]]] = [([], [])]
    last_was_answer = False
    for raw in messages:
        message = hansard.Message(dialect, raw)
        answer = is_answer(dialect, raw)
        if answer and not (dialect.merges and last_was_answer):
            stretches.append(([], []))
        calls, results = stretches[-1]
        calls += message.tool_calls
        results += message.tool_results
        last_was_answer = answer
    return stretches


def pairs(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> int:
    """How many calls can have a result of their own: by id, or by name where one has no id."""
    taken: dict[int, int] = {}

    def seat(at: int, seen: set[int]) -> bool:
        for place, result in enumerate(results):
            if place in seen or not answers(result, calls[at]):
                continue
            seen.add(place)
            if place not in taken or seat(taken[place], seen):
                taken[place] = at
                return True
        return False

    return sum([seat(at, set()) for at in range(len(calls))])


@each_dialect
def test_after_repair_every_call_has_one_result_and_every_result_its_call(
    dialect: Dialect,
) -> None:
    @given(histories(dialect))
    def mended(messages: list[bytes]) -> None:
        for calls, results in exchanges(dialect, repair(dialect, messages).messages):
            assert pairs(calls, results) == len(calls) == len(results)

    mended()


@each_dialect
def test_repair_is_idempotent_and_always_the_same(dialect: Dialect) -> None:
    @given(histories(dialect), st.booleans())
    def again(messages: list[bytes], pending: bool) -> None:
        once = repair(dialect, messages, pending=pending)
        assert repair(dialect, list(messages), pending=pending) == once
        twice = repair(dialect, once.messages, pending=pending)
        assert twice.messages == once.messages
        assert twice.repairs == ()
        assert (once.repairs == ()) == (once.messages == tuple(messages))

    again()


@each_dialect
def test_what_is_no_result_is_kept_byte_for_byte_and_in_order(dialect: Dialect) -> None:
    @given(histories(dialect))
    def kept(messages: list[bytes]) -> None:
        mended = iter(repair(dialect, messages).messages)
        for raw in messages:
            if not dialect.split_results(raw)[0] and is_answer(dialect, raw):
                assert raw in mended  # Consumes up to there: the order is kept too.

    kept()


@each_dialect
def test_no_word_is_lost(dialect: Dialect) -> None:
    @given(histories(dialect))
    def words(messages: list[bytes]) -> None:
        mended = repair(dialect, messages).messages
        before = [hansard.Message(dialect, raw).text for raw in messages]
        after = [hansard.Message(dialect, raw).text for raw in mended]
        assert "".join(after) == "".join(before)

    words()


@each_dialect
def test_what_comes_later_does_not_change_what_was_mended_before_an_answer(
    dialect: Dialect,
) -> None:
    hi = dialect.say(assistant("Hi"))[0].raw

    @given(histories(dialect), histories(dialect))
    def grows(before: list[bytes], after: list[bytes]) -> None:
        if dialect.merges:
            # The results of an answer may come after another one, which is the same answer here.
            after = [raw for raw in after if not dialect.split_results(raw)[0]]
        short = repair(dialect, before).messages
        long = repair(dialect, [*before, hi, *after]).messages
        assert long[: len(short)] == short
        assert long[len(short)] == hi

    grows()


@each_dialect
def test_with_pending_only_the_last_answer_is_left_open(dialect: Dialect) -> None:
    calls = dialect.say(assistant(ToolCall("p", "f"), ToolCall("q", "f", "{}", 1)))[0].raw

    @given(histories(dialect))
    def open_end(messages: list[bytes]) -> None:
        waiting = repair(dialect, [*messages, calls], pending=True)
        assert waiting.messages == (*repair(dialect, messages).messages, calls)

    open_end()


@each_dialect
def test_a_cut_leaves_nothing_torn(dialect: Dialect) -> None:
    @given(histories(dialect))
    def cut(messages: list[bytes]) -> None:
        mended = repair(dialect, messages).messages
        for point in cut_points(dialect, mended):
            for part in (mended[:point], mended[point:]):
                assert repair(dialect, part).repairs == ()

    cut()
