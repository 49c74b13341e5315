"""Every call has one result, right after it, and every result its call; nothing else changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import hansard
from hansard.dialects.pairing import Repair, Repaired, cut_points, match, repair
from hansard.messages import ToolCall, ToolResult, assistant, user
from tests.support.conversations import (
    DIALECTS,
    FOLDERS,
    answered,
    calling,
    result_of,
    said_by_user,
    wire_messages,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.dialects.dialect import Dialect

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
each_other = pytest.mark.parametrize(
    "dialect", [each for each in DIALECTS if not each.itemized], ids=lambda dialect: dialect.name
)

openai = hansard.dialect("openai")
responses = hansard.dialect("openai-responses")
anthropic = hansard.dialect("anthropic")
gemini = hansard.dialect("gemini")


def framed(dialect: Dialect, answer: bytes, *texts: str, then: Sequence[bytes] = ()) -> list[bytes]:
    """The results of an answer's first calls."""
    calls = hansard.Message(dialect, answer).tool_calls
    results = [dialect.result(call, call.answer(text)) for call, text in zip(calls, texts)]  # noqa: B905
    return list(dialect.frame(results, then))


def read(dialect: Dialect, messages: Sequence[bytes]) -> list[str]:
    """What is said, in short: ``user:Hi``, ``call:a``, ``result:a:done``."""
    shown = []
    for raw in messages:
        message = hansard.Message(dialect, raw)
        shown += [f"call:{call.id}" for call in message.tool_calls]
        shown += [f"result:{one.call_id}:{one.text[:11]}" for one in message.tool_results]
        shown += [f"{message.role}:{message.text}"] if message.text else []
    return shown


def untouched(messages: Sequence[bytes]) -> Repaired:
    return Repaired(tuple(messages))


# -- what is in order -------------------------------------------------------------------------


@each_dialect
def test_what_is_in_order_is_given_back_as_it_is(dialect: Dialect) -> None:
    both = calling(dialect, "a", "b")
    messages = [
        said_by_user(dialect),
        both,
        *framed(dialect, both, "1", "2"),
        calling(dialect, "a"),
        *framed(dialect, calling(dialect, "a"), "3", then=[said_by_user(dialect, "Be brief")]),
        answered(dialect),
        said_by_user(dialect),
    ]
    assert repair(dialect, messages) == untouched(messages)


@each_dialect
def test_nothing_needs_no_repair(dialect: Dialect) -> None:
    assert repair(dialect, []).messages == ()


@pytest.mark.parametrize("name", FOLDERS)
def test_messages_without_calls_and_results_are_never_touched(name: str) -> None:
    dialect = hansard.dialect(name)
    plain = [
        raw
        for raw in wire_messages(name)
        if not hansard.Message(dialect, raw).tool_calls and not dialect.split_results(raw)[0]
    ]
    assert len(plain) > 9
    assert repair(dialect, plain) == untouched(plain)


@each_dialect
def test_a_repeated_id_belongs_to_the_nearest_call(dialect: Dialect) -> None:
    """Ids that providers give can repeat in a conversation."""
    call = calling(dialect, "a")
    messages = [call, *framed(dialect, call, "1"), call, *framed(dialect, call, "2")]
    assert repair(dialect, messages) == untouched(messages)


# -- calls without results --------------------------------------------------------------------


@each_dialect
def test_a_call_without_a_result_is_answered_as_interrupted(dialect: Dialect) -> None:
    call = calling(dialect, "a")
    mended = repair(
        dialect, [said_by_user(dialect), call, answered(dialect), said_by_user(dialect)]
    )
    assert mended.repairs == (Repair(1, "interrupted", "a"),)
    assert read(dialect, mended.messages) == [
        "user:Hello",
        "call:a",
        "result:a:This call w",
        "assistant:Hi",
        "user:Hello",
    ]


@each_dialect
def test_one_of_several_calls_without_a_result_is_answered_in_its_place(dialect: Dialect) -> None:
    both = calling(dialect, "a", "b", "c")
    (result,) = dialect.frame([fragment_of(dialect, both, 1, "two")])
    mended = repair(dialect, [both, result])
    assert mended.repairs == (Repair(0, "interrupted", "a"), Repair(0, "interrupted", "c"))
    calls = hansard.Message(dialect, both).tool_calls
    assert dialect.paired(calls, mended.messages[1:])
    ids = [line.split(":")[1] for line in read(dialect, mended.messages) if "result" in line]
    assert ids == ["a", "b", "c"]


def fragment_of(dialect: Dialect, answer: bytes, position: int, text: str) -> bytes:
    call = hansard.Message(dialect, answer).tool_calls[position]
    return dialect.result(call, call.answer(text))


@each_dialect
def test_the_calls_of_the_last_answer_may_be_left_open(dialect: Dialect) -> None:
    messages = [calling(dialect, "a"), said_by_user(dialect), calling(dialect, "b", "c")]
    mended = repair(dialect, messages, pending=True)
    assert mended.repairs == (Repair(0, "interrupted", "a"),)
    assert mended.messages[-1] == messages[-1]
    assert len(repair(dialect, messages).repairs) == 3


@each_dialect
def test_calls_are_not_left_open_when_something_was_said_after_them(dialect: Dialect) -> None:
    messages = [calling(dialect, "a"), said_by_user(dialect)]
    assert repair(dialect, messages, pending=True) == repair(dialect, messages)


# -- results without calls --------------------------------------------------------------------


@each_dialect
def test_a_result_without_a_call_is_left_out(dialect: Dialect) -> None:
    orphan = result_of(dialect, calling(dialect, "x"), 0)
    hello, hi = said_by_user(dialect), answered(dialect)
    mended = repair(dialect, [orphan, hello, hi, orphan])
    assert mended.messages == (hello, hi)
    assert [(each.message, each.what) for each in mended.repairs] == [
        (0, "orphan_result"),
        (3, "orphan_result"),
    ]


@each_dialect
def test_a_second_result_of_the_same_call_is_left_out(dialect: Dialect) -> None:
    call = calling(dialect, "a")
    messages = [call, *framed(dialect, call, "1"), *framed(dialect, call, "2"), answered(dialect)]
    mended = repair(dialect, messages)
    assert read(dialect, mended.messages) == ["call:a", "result:a:1", "assistant:Hi"]


@each_dialect
def test_what_stands_beside_an_orphan_is_kept(dialect: Dialect) -> None:
    call = calling(dialect, "x")
    beside = framed(dialect, call, "1", then=[said_by_user(dialect, "Be brief")])
    mended = repair(dialect, [answered(dialect), *beside])
    assert read(dialect, mended.messages) == ["assistant:Hi", "user:Be brief"]


@each_dialect
def test_a_result_before_its_call_is_no_result_of_it(dialect: Dialect) -> None:
    call = calling(dialect, "a")
    (result,) = framed(dialect, call, "1")
    mended = repair(dialect, [result, call, said_by_user(dialect)])
    assert {each.what for each in mended.repairs} == {"orphan_result", "interrupted"}
    assert read(dialect, mended.messages)[:2] == ["call:a", "result:a:This call w"]


@each_dialect
def test_an_orphan_is_named_with_the_message_where_it_stands(dialect: Dialect) -> None:
    """Not with the answer before it, which has nothing to do with it."""
    call = calling(dialect, "a")
    done = framed(dialect, call, "1")
    hello, orphan = said_by_user(dialect), result_of(dialect, calling(dialect, "x"), 0)
    mended = repair(dialect, [hello, call, *done, hello, orphan, hello])
    assert mended.repairs == (Repair(4, "orphan_result", "x"),)


@each_dialect
def test_an_orphan_beside_an_interrupted_call_is_named_apart_from_it(dialect: Dialect) -> None:
    hello, orphan = said_by_user(dialect), result_of(dialect, calling(dialect, "x"), 0)
    mended = repair(dialect, [hello, calling(dialect, "a"), hello, orphan])
    assert {(each.message, each.what) for each in mended.repairs} == {
        (1, "interrupted"),
        (3, "orphan_result"),
    }


# -- results in the wrong place ---------------------------------------------------------------


@pytest.mark.parametrize("dialect", [openai, anthropic, gemini], ids=lambda each: each.name)
def test_results_move_to_right_after_their_calls(dialect: Dialect) -> None:
    call = calling(dialect, "a")
    (result,) = framed(dialect, call, "1")
    mended = repair(dialect, [call, said_by_user(dialect, "wait"), result, answered(dialect)])
    assert read(dialect, mended.messages)[:2] == ["call:a", "result:a:1"]
    assert "user:wait" in read(dialect, mended.messages)
    assert [each.what for each in mended.repairs] == ["moved_result"]
    assert repair(dialect, mended.messages) == untouched(mended.messages)


def test_gemini_wants_the_results_of_one_answer_in_one_message() -> None:
    both = calling(gemini, "a", "b")
    spread = [result_of(gemini, both, 0, "1"), result_of(gemini, both, 1, "2")]
    mended = repair(gemini, [both, *spread])
    assert mended.messages == (both, *framed(gemini, both, "1", "2"))
    assert [each.what for each in mended.repairs] == ["moved_result"] * 2


def test_results_of_a_model_that_gives_no_ids_are_found_by_name() -> None:
    calls = gemini.say(assistant(ToolCall("", "f", "{}"), ToolCall("", "g", "{}", 1)))[0].raw
    first, second = hansard.Message(gemini, calls).tool_calls
    swapped = [gemini.result(second, second.answer(2)), gemini.result(first, first.answer(1))]
    in_order = [calls, *gemini.frame(swapped)]
    assert repair(gemini, in_order) == untouched(in_order)
    mended = repair(gemini, [calls, *gemini.frame(swapped[:1])])
    assert [each.what for each in mended.repairs] == ["interrupted"]
    assert swapped[0] in mended.messages[1]


def test_results_without_ids_are_found_where_servers_give_none() -> None:
    """Some compatible servers leave ids empty; the calls are answered in their order."""
    calls = openai.say(assistant(ToolCall("", "f", "{}"), ToolCall("", "f", "{}", 1)))[0].raw
    messages = [calls, *framed(openai, calls, "1", "2")]
    assert repair(openai, messages) == untouched(messages)
    mended = repair(openai, messages[:2])
    assert [each.what for each in mended.repairs] == ["interrupted"]
    assert repair(openai, mended.messages) == untouched(mended.messages)


def test_a_result_of_the_wrong_kind_answers_nothing() -> None:
    """A custom tool's call wants a custom tool's output; the API refuses any other."""
    call = ToolCall("a", "f", "text", custom=True)
    (said,) = responses.say(assistant(call))
    plain = responses.frame([responses.result(ToolCall("a", "f"), call.answer("1"))])
    mended = repair(responses, [said.raw, *plain])
    assert {each.what for each in mended.repairs} == {"interrupted", "orphan_result"}
    assert repair(responses, mended.messages) == untouched(mended.messages)


def test_where_ids_repeat_the_name_says_whose_a_result_is() -> None:
    calls = gemini.say(assistant(ToolCall("a", "f", "{}"), ToolCall("a", "g", "{}", 1)))[0].raw
    first, second = hansard.Message(gemini, calls).tool_calls
    of_g = gemini.result(second, second.answer("of g"))
    mended = repair(gemini, [calls, *gemini.frame([of_g])])
    interrupted = gemini.interrupted(first)
    assert mended.messages == (calls, *gemini.frame([interrupted, of_g]))
    assert mended.repairs == (Repair(0, "interrupted", "a"),)


def test_the_calls_with_ids_choose_first() -> None:
    """Else a call without one takes a result that was the only one for another."""
    calls = gemini.say(assistant(ToolCall("", "f", "{}"), ToolCall("x", "f", "{}", 1)))[0].raw
    first, second = hansard.Message(gemini, calls).tool_calls
    results = [
        gemini.result(ToolCall("", "f"), first.answer("for x")),
        gemini.result(ToolCall("z", "f"), second.answer("for nobody's id")),
    ]
    messages = [calls, *gemini.frame(results)]
    assert gemini.paired((first, second), messages[1:])
    assert repair(gemini, messages) == untouched(messages)


# -- items taken in one by one ------------------------------------------------------------------


def item(raw: str) -> bytes:
    return responses.message(raw.encode()).raw


FIRST = item('{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}')
SECOND = item('{"type":"function_call","call_id":"b","name":"f","arguments":"{}"}')
FIRST_DONE = item('{"type":"function_call_output","call_id":"a","output":"1"}')
SECOND_DONE = item('{"type":"function_call_output","call_id":"b","output":"2"}')
THOUGHT = item('{"type":"reasoning","id":"rs_1","summary":[]}')


def joined(*messages: bytes) -> bytes:
    return b"[" + b",".join([raw[1:-1] for raw in messages]) + b"]"


@pytest.mark.parametrize(
    "messages",
    [
        [FIRST, SECOND, FIRST_DONE, SECOND_DONE],
        [THOUGHT, FIRST, SECOND, SECOND_DONE, FIRST_DONE, answered(responses)],
        [FIRST, answered(responses), FIRST_DONE],
        [joined(FIRST, SECOND), SECOND_DONE, FIRST_DONE],
        [joined(FIRST, SECOND, FIRST_DONE), SECOND_DONE],
        [joined(said_by_user(responses), FIRST, FIRST_DONE, answered(responses))],
    ],
)
def test_where_messages_are_items_their_borders_mean_nothing(messages: list[bytes]) -> None:
    assert repair(responses, messages) == untouched(messages)


def test_a_lone_call_item_without_a_result_is_answered_right_after_it() -> None:
    mended = repair(responses, [FIRST, SECOND, SECOND_DONE])
    assert read(responses, mended.messages) == [
        "call:a",
        "result:a:This call w",
        "call:b",
        "result:b:2",
    ]
    assert mended.repairs == (Repair(0, "interrupted", "a"),)


def test_a_result_inside_an_answer_that_did_not_ask_for_it_is_left_out() -> None:
    mended = repair(responses, [joined(FIRST, SECOND_DONE), said_by_user(responses)])
    assert read(responses, mended.messages) == ["call:a", "result:a:This call w", "user:Hello"]


@each_other
def test_answers_in_a_row_each_want_their_results_at_once(dialect: Dialect) -> None:
    first, second = calling(dialect, "a"), calling(dialect, "b")
    mended = repair(dialect, [first, second, *framed(dialect, second, "2")])
    assert read(dialect, mended.messages) == [
        "call:a",
        "result:a:This call w",
        "call:b",
        "result:b:2",
    ]


def test_where_answers_in_a_row_are_one_their_results_come_after_the_last() -> None:
    """Anthropic's API takes neighbours of one role for one message, and so do transcripts."""
    first, second = calling(anthropic, "a"), calling(anthropic, "b")
    both = framed(anthropic, calling(anthropic, "a", "b"), "1", "2")
    messages = [said_by_user(anthropic), first, second, *both, answered(anthropic)]
    assert repair(anthropic, messages) == untouched(messages)


def test_no_cut_parts_answers_in_a_row_from_the_results_of_all_their_calls() -> None:
    first, second = calling(anthropic, "a"), calling(anthropic, "b")
    both = framed(anthropic, calling(anthropic, "a", "b"), "1", "2")
    hello = said_by_user(anthropic)
    assert cut_points(anthropic, [hello, first, second, *both, hello]) == [0, 4]
    assert cut_points(anthropic, [hello, first, answered(anthropic), hello, *both, hello]) == [0, 5]


@pytest.mark.parametrize("dialect", [anthropic, responses], ids=lambda each: each.name)
def test_a_repeated_id_belongs_to_the_nearest_of_answers_in_a_row(dialect: Dialect) -> None:
    """Else what the first call was answered with would change when the second gets its result."""
    call = calling(dialect, "a")
    mended = repair(dialect, [call, call, *framed(dialect, call, "1")])
    assert read(dialect, mended.messages) == [
        "call:a",
        "result:a:This call w",
        "call:a",
        "result:a:1",
    ]
    assert mended.repairs == (Repair(0, "interrupted", "a"),)
    both = [call, call, *framed(dialect, call, "1"), *framed(dialect, call, "2")]
    assert repair(dialect, both) == untouched(both)


def test_only_the_last_of_two_answers_in_a_row_is_left_open() -> None:
    first, second = calling(anthropic, "a"), calling(anthropic, "b")
    mended = repair(anthropic, [first, second], pending=True)
    assert read(anthropic, mended.messages) == ["call:a", "result:a:This call w", "call:b"]
    assert mended.repairs == (Repair(0, "interrupted", "a"),)


def test_an_answer_that_calls_nothing_stays_beside_one_that_does() -> None:
    """The API takes neighbours of one role for one message."""
    call = calling(anthropic, "a")
    messages = [said_by_user(anthropic), answered(anthropic), call, *framed(anthropic, call, "1")]
    assert repair(anthropic, messages) == untouched(messages)


# -- which result answers which call ----------------------------------------------------------


def call_of(call_id: str, name: str = "f") -> ToolCall:
    return ToolCall(call_id, name)


def answer_to(call_id: str, name: str = "f") -> ToolResult:
    return ToolResult(call_id, name)


@pytest.mark.parametrize(
    ("calls", "results", "matched"),
    [
        ([call_of("a"), call_of("b")], [answer_to("b"), answer_to("a")], [1, 0]),
        ([call_of("a"), call_of("a")], [answer_to("a"), answer_to("a")], [0, 1]),
        ([call_of("a"), call_of("b")], [answer_to("b")], [None, 0]),
        ([call_of(""), call_of("")], [answer_to(""), answer_to("")], [0, 1]),
        ([call_of("", "f"), call_of("", "g")], [answer_to("", "g"), answer_to("", "f")], [1, 0]),
        ([call_of("a", "f"), call_of("", "f")], [answer_to("", "f"), answer_to("a", "f")], [1, 0]),
        ([call_of("", "f"), call_of("a", "f")], [answer_to("", "f"), answer_to("z", "f")], [1, 0]),
        ([call_of("a", "f"), call_of("a", "g")], [answer_to("a", "g")], [None, 0]),
        (
            [call_of("a", "f"), call_of("a", "g")],
            [answer_to("a", "g"), answer_to("a", "f")],
            [1, 0],
        ),
        ([call_of("a", "f"), call_of("a", "g")], [answer_to("a", ""), answer_to("a", "f")], [1, 0]),
        ([call_of("", "f"), call_of("", "f")], [answer_to("z", "f"), answer_to("", "f")], [1, 0]),
        ([call_of("a", "f")], [answer_to("", "f")], [0]),
        ([call_of("a", "f")], [answer_to("b", "f")], [None]),
        ([call_of("a", "f")], [answer_to("", "g")], [None]),
        ([call_of("", "f")], [answer_to("", "")], [0]),
        ([call_of("a", "f")], [answer_to("", "")], [None]),
        ([], [answer_to("a")], []),
    ],
    ids=range(17),
)
def test_a_result_is_found_by_id_or_by_name_where_an_id_is_missing(
    calls: list[ToolCall], results: list[ToolResult], matched: list[int | None]
) -> None:
    assert match(calls, results) == matched


def test_whoever_knows_better_says_which_results_fit() -> None:
    calls, results = [call_of("a"), call_of("b")], [answer_to("a"), answer_to("b")]
    assert match(calls, results, lambda result, call: result.call_id != call.id) == [1, 0]
    assert match(calls, results, lambda result, call: False) == [None, None]  # noqa: ARG005


# -- growing ----------------------------------------------------------------------------------


@each_dialect
def test_what_was_mended_before_an_answer_is_mended_the_same_after_it(dialect: Dialect) -> None:
    """So a provider's cache finds what it was sent before."""
    call = calling(dialect, "a", "b")
    (one,) = dialect.frame([fragment_of(dialect, call, 1, "two")])
    before = [one, said_by_user(dialect), call, one, said_by_user(dialect, "and?")]
    after = [answered(dialect), said_by_user(dialect), calling(dialect, "c")]
    short, long = repair(dialect, before), repair(dialect, before + after)
    assert long.messages[: len(short.messages)] == short.messages
    assert long.repairs[: len(short.repairs)] == short.repairs


# -- where to cut -----------------------------------------------------------------------------


@each_dialect
def test_cuts_are_before_what_a_user_says(dialect: Dialect) -> None:
    hello, hi = said_by_user(dialect), answered(dialect)
    assert cut_points(dialect, [hello, hi, hello, hello, hi]) == [0, 2, 3]
    assert cut_points(dialect, []) == []


@each_dialect
def test_no_cut_parts_calls_from_their_results(dialect: Dialect) -> None:
    hello, hi, both = said_by_user(dialect), answered(dialect), calling(dialect, "a", "b")
    results = framed(dialect, both, "1", "2", then=[said_by_user(dialect, "Be brief")])
    messages = [hello, both, *results, hi, hello]
    points = cut_points(dialect, messages)
    assert points[0] == 0
    assert points[-1] == len(messages) - 1
    for point in points:
        assert repair(dialect, messages[point:]).repairs == ()


@each_dialect
def test_a_call_that_waits_allows_no_cut_after_it(dialect: Dialect) -> None:
    hello = said_by_user(dialect)
    assert cut_points(dialect, [hello, calling(dialect, "a"), hello]) == [0]


@pytest.mark.parametrize("name", FOLDERS)
def test_no_cut_of_collected_messages_tears_anything_apart(name: str) -> None:
    dialect = hansard.dialect(name)
    messages = repair(dialect, wire_messages(name)).messages
    points = cut_points(dialect, messages)
    assert points
    for point in points:
        assert repair(dialect, messages[point:]) == untouched(messages[point:])
        assert hansard.Message(dialect, messages[point]).role == "user"


def test_a_system_message_is_no_place_to_cut() -> None:
    messages = [b'{"role":"system","content":"x"}', said_by_user(openai), answered(openai)]
    assert cut_points(openai, messages) == [1]


def test_drafts_of_a_user_with_results_in_them_are_no_place_to_cut() -> None:
    call = ToolCall("a", "f")
    (said,) = anthropic.say(user(call.answer("1"), "and more"))
    assert cut_points(anthropic, [calling(anthropic, "a"), said.raw]) == []
