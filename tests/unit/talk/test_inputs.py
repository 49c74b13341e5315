"""What a caller says: sorted into leading system text, messages and results; results paired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard import Invalid, InvalidMessage, Unsayable, assistant, event, system, user
from hansard.messages import Media, Text, ToolCall, ToolResult
from hansard.talk.inputs import is_of, messages_of, pair, read_inputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.talk.inputs import Input, Inputs

OPENAI = hansard.dialect("openai")
DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")


def native(role: str, text: str, dialect: Any = OPENAI) -> Any:
    [message] = dialect.say({"user": user, "system": system, "assistant": assistant}[role](text))
    return message


def words(inputs: Inputs) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message, _ in inputs.messages]


# -- sorting --------------------------------------------------------------------------------------


def test_leading_system_text_is_told_from_what_is_stored() -> None:
    given: list[Input] = [system("One."), system("Two."), user("Hello"), system("Three."), "Bye"]
    inputs = read_inputs(given, (), OPENAI)
    assert [draft.text for draft in inputs.system] == ["One.", "Two."]
    assert words(inputs) == [("user", "Hello"), ("system", "Three."), ("user", "Bye")]


def test_a_native_system_message_leads_too() -> None:
    inputs = read_inputs([native("system", "Be terse."), "Hello"], (), OPENAI)
    assert [(draft.role, draft.text) for draft in inputs.system] == [("system", "Be terse.")]
    assert words(inputs) == [("user", "Hello")]


def test_a_result_is_no_message_after_which_system_text_would_be_stored() -> None:
    result = ToolResult("a")
    inputs = read_inputs([result, system("Be terse."), "Well?"], (), OPENAI)
    assert [draft.text for draft in inputs.system] == ["Be terse."]
    assert words(inputs) == [("user", "Well?")]
    assert inputs.results == (result,)


def test_an_event_is_the_users() -> None:
    assert words(read_inputs([event("A bell rings.")], (), OPENAI)) == [("user", "A bell rings.")]


def test_results_are_kept_in_order_wherever_they_stand() -> None:
    one, two = ToolResult("a"), ToolResult("b")
    inputs = read_inputs([one, "Be brief.", two], (), OPENAI)
    assert inputs.results == (one, two)
    assert words(inputs) == [("user", "Be brief.")]


def test_nothing_is_nothing() -> None:
    inputs = read_inputs([], (), OPENAI)
    assert (inputs.system, inputs.messages, inputs.results) == ((), (), ())


@pytest.mark.parametrize(
    ("default", "found"),
    [
        ("Be terse.", ["Be terse."]),
        (system("Be terse."), ["Be terse."]),
        (["One.", system("Two."), Text("Three.")], ["One.", "Two.", "Three."]),
        ("", []),
        ((), []),
        (["", "One."], ["One."]),
    ],
)
def test_where_no_system_text_leads_the_default_does(default: Any, found: list[str]) -> None:
    inputs = read_inputs(["Hello"], default, OPENAI)
    assert [(draft.role, draft.text) for draft in inputs.system] == [
        ("system", text) for text in found
    ]


def test_leading_system_text_stands_in_for_all_of_the_default() -> None:
    inputs = read_inputs([system("Mine.")], ["One.", "Two."], OPENAI)
    assert [draft.text for draft in inputs.system] == ["Mine."]


# -- messages -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_native_message_is_taken_as_it_is(dialect: str) -> None:
    spoken = hansard.dialect(dialect)
    message = native("user", "Hello", spoken)
    [(taken, pin)] = messages_of([message], spoken)
    assert taken is message
    assert not pin


def test_a_native_message_of_another_dialect_is_refused_with_what_to_do() -> None:
    message = native("user", "Hello", hansard.dialect("gemini"))
    with pytest.raises(InvalidMessage, match=r"of openai, found one of gemini.*convert"):
        messages_of([message], OPENAI)


def test_a_pin_goes_with_every_message_that_a_draft_becomes() -> None:
    results = (ToolResult("a", content=(Text("1"),)), ToolResult("b", content=(Text("2"),)))
    said = messages_of([user(*results, "And?", pin=True), "Hello"], OPENAI)
    assert [pin for _, pin in said] == [True, True, True, False]


@pytest.mark.parametrize("odd", [["Hello"], None, 7, b"Hello", {"role": "user"}])
def test_what_is_no_message_is_refused_by_its_type(odd: Any) -> None:
    with pytest.raises(InvalidMessage, match=f"found {type(odd).__name__}"):
        read_inputs([odd], (), OPENAI)


def test_a_result_is_no_message_to_be_stored_by_itself() -> None:
    with pytest.raises(InvalidMessage, match="found ToolResult"):
        messages_of([ToolResult("a")], OPENAI)


def test_what_the_dialect_has_no_words_for_is_refused() -> None:
    film = Media("video", "video/mp4", base64="AAAA")
    with pytest.raises(Unsayable):
        read_inputs([user(film)], (), OPENAI)


# -- pairing --------------------------------------------------------------------------------------


def calls_of(*ids: str, name: str = "") -> list[ToolCall]:
    return [ToolCall(each, name or f"f{at}", "{}", at) for at, each in enumerate(ids)]


def paired(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> list[tuple[int, str]]:
    """Give the position of each call, with the text of its result."""
    return [(call.position, result.text) for call, result in pair(calls, results)]


def result(call_id: str, text: str, *, name: str = "", position: int = 0) -> ToolResult:
    return ToolResult(call_id, name, (Text(text),), position=position)


def test_results_made_for_calls_are_theirs_in_any_order_and_come_in_that_of_the_calls() -> None:
    calls = calls_of("a", "b", "c")
    given = [call.answer(call.id) for call in calls]
    for order in (given, given[::-1], [given[1], given[2], given[0]]):
        assert paired(calls, order) == [(0, "a"), (1, "b"), (2, "c")]


def test_calls_whose_ids_repeat_are_told_apart_by_position() -> None:
    one, two = calls_of("same", "same", name="f")
    given = [two.answer("two"), one.answer("one")]
    assert paired([one, two], given) == [(0, "one"), (1, "two")]


def test_calls_without_ids_are_told_apart_by_position() -> None:
    one, two = calls_of("", "", name="f")
    assert paired([one, two], [two.answer("two"), one.answer("one")]) == [(0, "one"), (1, "two")]


def test_results_made_by_hand_are_found_by_id() -> None:
    given = [result("b", "two"), result("a", "one")]
    assert paired(calls_of("a", "b"), given) == [(0, "one"), (1, "two")]


def test_results_made_by_hand_for_ids_that_repeat_go_in_order() -> None:
    given = [result("same", "one"), result("same", "two")]
    assert paired(calls_of("same", "same"), given) == [(0, "one"), (1, "two")]


def test_results_made_by_hand_for_calls_without_ids_are_found_by_name() -> None:
    given = [result("", "two", name="f1"), result("", "one", name="f0")]
    assert paired(calls_of("", ""), given) == [(0, "one"), (1, "two")]


def test_a_position_that_is_wrong_does_not_hide_an_id_that_is_right() -> None:
    given = [result("a", "one", position=1), result("b", "two", position=0)]
    assert paired(calls_of("a", "b"), given) == [(0, "one"), (1, "two")]


def test_a_result_made_for_a_call_goes_before_one_that_only_fits() -> None:
    one, two = calls_of("same", "same", name="f")
    given = [result("same", "by hand", name="f", position=5), two.answer("made for two")]
    assert paired([one, two], given) == [(0, "by hand"), (1, "made for two")]


def test_no_calls_and_no_results_are_no_pairs() -> None:
    assert pair([], []) == []


@pytest.mark.parametrize(
    ("call", "given", "same"),
    [
        (ToolCall("a", "f", position=1), ToolResult("a", "f", position=1), True),
        (ToolCall("a", "f", position=1), ToolResult("a", "", position=1), True),
        (ToolCall("a", "f", position=1), ToolResult("a", "f", position=0), False),
        (ToolCall("a", "f", position=1), ToolResult("b", "f", position=1), False),
        (ToolCall("a", "f", position=1), ToolResult("a", "g", position=1), False),
    ],
)
def test_a_result_is_of_a_call_by_place_and_id_and_by_its_name_if_it_has_one(
    call: ToolCall, given: ToolResult, same: bool
) -> None:
    assert is_of(given, call) is same


# -- results that do not fit ----------------------------------------------------------------------


def refusal(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> str:
    with pytest.raises(Invalid) as error:
        pair(calls, results)
    return str(error.value)


def test_every_missing_result_is_named() -> None:
    calls = calls_of("a", "b", "c")
    words = refusal(calls, [calls[1].answer("two")])
    assert "no result for f0 (a)" in words
    assert "no result for f2 (c)" in words
    assert "(b)" not in words
    assert "nothing recorded" in words


def test_a_doubled_result_is_named() -> None:
    [call] = calls_of("a")
    words = refusal([call], [call.answer("one"), call.answer("two")])
    assert "a second result: 'a'" in words
    assert "no result" not in words


@pytest.mark.parametrize("at", [0, 1])
def test_a_second_result_of_one_call_is_not_given_to_another_with_the_same_id(at: int) -> None:
    calls = calls_of("same", "same", name="f")
    words = refusal(calls, [calls[at].answer("one"), calls[at].answer("another")])
    assert "a second result: 'same'" in words
    assert "no result for f (same)" in words


def test_a_second_result_of_a_call_without_an_id_is_not_given_to_another() -> None:
    calls = calls_of("", "", name="f")
    assert "no result for f ()" in refusal(calls, [calls[1].answer("one"), calls[1].answer("two")])


def test_a_result_given_twice_is_doubled() -> None:
    [call] = calls_of("a")
    given = call.answer("one")
    assert "a second result: 'a'" in refusal([call], [given, given])


def test_an_unknown_result_is_named_by_its_id() -> None:
    [call] = calls_of("a")
    words = refusal([call], [call.answer("one"), result("z", "odd")])
    assert "a result for no pending call: 'z'" in words


def test_an_unknown_result_without_an_id_is_named_by_its_name() -> None:
    [call] = calls_of("a")
    words = refusal([call], [call.answer("one"), result("", "odd", name="nobody")])
    assert "a result for no pending call: 'nobody'" in words


def test_an_unknown_result_is_no_second_one_where_calls_have_no_ids() -> None:
    [call] = calls_of("")
    words = refusal([call], [call.answer("one"), result("", "odd", name="nobody")])
    assert "a result for no pending call: 'nobody'" in words


def test_all_that_is_wrong_is_named_at_once() -> None:
    calls = calls_of("a", "b")
    words = refusal(calls, [calls[0].answer("1"), calls[0].answer("2"), result("z", "odd")])
    for part in ("no result for f1 (b)", "a second result: 'a'", "no pending call: 'z'"):
        assert part in words


def test_results_where_nothing_waits_are_refused() -> None:
    assert "no pending call: 'a'" in refusal([], [result("a", "one")])
