"""Entries for the place where a record ends: each says what has happened, and can be applied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import pytest

from hansard.dialects.dialect import Answer, Problem
from hansard.errors import InvalidTransition, Unsayable
from hansard.messages import Media, Usage, system, user
from hansard.record.entries import INTERRUPTED, Attempt, Outcome, PromptIdentity, Said
from hansard.turn import writing
from tests.unit.turn.rounds import Turn, asking

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.record.entries import Entry

NOW_US = 1_700_000_000_000_000
DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")

MADE: dict[str, Callable[[Turn], Entry]] = {
    "answer": lambda turn: writing.answer(turn.record, turn.given("Hi"), at_us=NOW_US),
    "no answer": lambda turn: writing.answer(turn.record, Answer(None), at_us=NOW_US),
    "interrupted": lambda turn: writing.interrupted(turn.record, turn.given("H"), at_us=NOW_US),
    "attempt": lambda turn: writing.attempt(turn.record, "Overloaded", "busy", at_us=NOW_US),
    "end": lambda turn: writing.end(turn.record, "failed", at_us=NOW_US),
}
OF_CALLS: dict[str, Callable[[Turn], Entry]] = {
    "intent": lambda turn: writing.intent(turn.record, turn.calls[1], at_us=NOW_US),
    "outcome": lambda turn: writing.outcome(
        turn.record, turn.calls[1], turn.calls[1].answer("done"), at_us=NOW_US
    ),
    "unknown": lambda turn: writing.unknown(turn.record, turn.calls[1], at_us=NOW_US),
    "decision": lambda turn: writing.decision(turn.record, turn.calls[1], "approved", at_us=NOW_US),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("made", MADE.values(), ids=MADE.keys())
def test_every_entry_stands_where_the_record_ends_and_may_follow(
    made: Callable[[Turn], Entry], dialect: str
) -> None:
    turn = Turn(dialect=dialect).begin()
    entry = made(turn)
    assert (entry.seq, entry.turn, entry.at_us) == (turn.record.length, 1, NOW_US)
    assert turn.apply(entry).record.entry(entry.seq) is entry


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("made", OF_CALLS.values(), ids=OF_CALLS.keys())
def test_every_entry_about_a_call_names_its_answer_place_and_id(
    made: Callable[[Turn], Entry], dialect: str
) -> None:
    turn = Turn(dialect=dialect).begin().call("act", "act")
    answer = turn.record.length - 1
    entry = made(turn)
    assert (entry.seq, entry.turn, entry.at_us) == (turn.record.length, 1, NOW_US)
    call = entry.call  # type: ignore[union-attr]
    assert (call.answer, call.position, call.id) == (answer, 1, turn.calls[1].id)
    turn.apply(entry)


def test_what_names_a_call_can_be_applied_only_to_the_round_that_has_it() -> None:
    turn, other = Turn().begin().call("act"), Turn().begin()
    entry = writing.intent(other.record, turn.calls[0], at_us=0)
    with pytest.raises(InvalidTransition):
        turn.apply(entry)


# -- beginning ------------------------------------------------------------------------------------


def test_a_turn_has_the_next_number_and_says_what_it_is_begun_with() -> None:
    turn = Turn().begin().answer("Hi.")
    turn.apply(writing.end(turn.record, "done", at_us=0))
    prompt = PromptIdentity("shop", "greet", "d1")
    entry = writing.begin(
        turn.record, "t9", at_us=NOW_US, prompt=prompt, input_digest="i1", preamble="p1"
    )
    assert (entry.turn, entry.turn_id) == (2, "t9")
    assert (entry.prompt, entry.input_digest, entry.preamble) == (prompt, "i1", "p1")
    turn.apply(entry)


def test_messages_follow_each_other_with_role_author_and_pin() -> None:
    turn = Turn().begin()
    dialect = turn.record.dialect
    [[terse], [hello]] = (dialect.say(draft) for draft in (system("Be terse."), user("Hello")))
    given = [(terse, True), (hello, False)]
    entries = writing.said(turn.record, given, "append", at_us=NOW_US)
    assert [(entry.role, entry.author, entry.pin) for entry in entries] == [
        ("system", "append", True),
        ("user", "append", False),
    ]
    assert [bytes(entry.raw) for entry in entries] == [message.raw for message, _ in given]
    assert turn.apply(*entries).record.length == entries[-1].seq + 1


def test_no_messages_are_no_entries() -> None:
    assert writing.said(Turn().record, [], "input", at_us=0) == ()


# -- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_is_the_models_own_bytes_with_how_it_ended_and_what_it_cost(
    dialect: str,
) -> None:
    turn = Turn(dialect=dialect).begin()
    given = turn.given("Hi", finish="length")
    entry = writing.answer(turn.record, given, at_us=0)
    assert isinstance(entry, Said)
    assert bytes(entry.raw) == given.raw
    assert (entry.role, entry.author) == ("assistant", "model")
    assert (entry.finish, entry.usage, entry.problems) == ("length", Usage(10, 5), ())
    assert not entry.cut


def test_an_invalid_answer_has_the_codes_of_its_problems() -> None:
    turn = Turn().begin()
    given = Answer(turn.given("Hi").raw, problems=(Problem("cut"), Problem("empty")), cut=True)
    entry = writing.answer(turn.record, given, at_us=0)
    assert isinstance(entry, Said)
    assert entry.problems == ("cut", "empty")
    assert entry.cut


def test_an_answer_without_a_message_is_an_attempt_that_was_answered() -> None:
    given = Answer(None, usage=Usage(7), problems=(Problem("blocked", "SAFETY"),))
    entry = writing.answer(Turn().begin().record, given, at_us=0)
    assert isinstance(entry, Attempt)
    assert (entry.error, entry.detail, entry.usage) == ("blocked", "SAFETY", Usage(7))
    assert entry.answered


def test_nothing_at_all_is_no_answer() -> None:
    entry = writing.answer(Turn().begin().record, Answer(None), at_us=0)
    assert isinstance(entry, Attempt)
    assert (entry.error, entry.detail) == ("no_answer", "")


def test_what_came_of_an_answer_that_was_left_is_interrupted_first_of_all() -> None:
    turn = Turn().begin()
    given = Answer(turn.given("H").raw, problems=(Problem("cut"),))
    entry = writing.interrupted(turn.record, given, at_us=0)
    assert isinstance(entry, Said)
    assert entry.problems == (INTERRUPTED, "cut")
    assert entry.cut


@pytest.mark.parametrize("raw", [True, False], ids=["a message", "no message"])
def test_an_answer_that_was_left_is_no_failure_of_the_model(raw: bool) -> None:
    turn = Turn().begin()
    given = Answer(turn.given("H").raw if raw else None, problems=(Problem("cut"),))
    turn.apply(writing.interrupted(turn.record, given, at_us=0))
    assert turn.record.turn is not None
    assert turn.record.turn.failures == 0
    assert turn.record.phase == "asking"


def test_an_attempt_to_which_nobody_answered_counts_for_nothing() -> None:
    turn = Turn().begin()
    entry = writing.attempt(turn.record, "Overloaded", "busy", at_us=0)
    assert (entry.error, entry.detail, entry.answered) == ("Overloaded", "busy", False)
    turn.apply(entry)
    assert turn.record.turn is not None
    assert turn.record.turn.failures == 0


# -- calls ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("is_error", "status"), [(False, "ok"), (True, "error")])
def test_an_outcome_is_the_result_in_the_dialects_words(
    dialect: str,
    is_error: bool,
    status: str,
) -> None:
    turn = Turn(dialect=dialect).begin().call("act")
    [call] = turn.calls
    result = call.answer("done", is_error=is_error)
    entry = writing.outcome(turn.record, call, result, at_us=0)
    assert entry.status == status
    assert bytes(entry.raw) == turn.record.dialect.result(call, result)


def test_a_result_that_the_dialect_has_no_words_for_is_refused() -> None:
    turn = Turn(dialect="openai").begin().call("act")
    [call] = turn.calls
    film = Media("video", "video/mp4", base64="AAAA")
    with pytest.raises(Unsayable):
        writing.outcome(turn.record, call, call.answer(film), at_us=0)


def test_an_unknown_call_has_no_result_and_goes_on_waiting() -> None:
    turn = Turn().begin().call("act").intend()
    entry = writing.unknown(turn.record, turn.calls[0], at_us=0)
    assert isinstance(entry, Outcome)
    assert (entry.status, bytes(entry.raw)) == ("unknown", b"null")
    assert turn.apply(entry).record.pending == turn.calls


def test_entries_that_go_together_stand_one_after_the_other() -> None:
    turn = Turn().begin().answer(*[asking(each, "act") for each in "abc"])
    one, two, three = turn.calls
    entries = (
        writing.outcome(turn.record, one, one.answer("done"), at_us=0, ahead=0),
        writing.intent(turn.record, two, at_us=0, ahead=1),
        writing.outcome(turn.record, three, three.answer("done"), at_us=0, ahead=2),
    )
    assert [entry.seq - turn.record.length for entry in entries] == [0, 1, 2]
    assert turn.apply(*entries).record.pending == (two,)


Verdict = Literal["approved", "denied", "settled", "not_run"]


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_a_decision_says_what_was_decided_by_whom_and_why(verdict: Verdict) -> None:
    turn = Turn().begin().call("act")
    entry = writing.decision(turn.record, turn.calls[0], verdict, at_us=0, by="Ada", reason="so")
    assert (entry.verdict, entry.by, entry.reason) == (verdict, "Ada", "so")


# -- ending ---------------------------------------------------------------------------------------


def test_an_end_says_how_and_why() -> None:
    entry = writing.end(Turn().begin().record, "failed", at_us=0, error="empty cut")
    assert (entry.status, entry.error) == ("failed", "empty cut")
