"""Keys of effects: the same for the same thing, over every retry and resume, and for it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard import clock
from hansard.messages import ToolCall
from hansard.state import load, save
from hansard.turn import writing
from hansard.turn.effects import (
    Append,
    AskTool,
    CallModel,
    Finish,
    RunTool,
    Wait,
    call_key,
    model_key,
)
from hansard.turn.machine import next_effects
from tests.unit.turn.rounds import Turn, asking, made, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable


def keys(turn: Turn) -> list[str]:
    return [call_key(turn.record, call) for call in turn.calls]


# -- of calls -------------------------------------------------------------------------------------


def test_the_key_of_a_call_stays_whatever_is_put_on_the_record_of_it() -> None:
    turn = Turn().begin().call("act", "act")
    before = keys(turn)
    turn.decide("approved").intend()
    assert keys(turn) == before
    turn.lose()
    assert keys(turn) == before
    turn.decide("not_run").result(1)
    assert keys(turn) == before


@pytest.mark.parametrize("dialect", ["openai", "openai-responses", "anthropic", "gemini"])
def test_the_key_of_a_call_stays_when_the_conversation_is_kept_and_loaded(dialect: str) -> None:
    turn = Turn(dialect=dialect).begin().call("act", "act").intend()
    before = keys(turn)
    other = load(bytes(save(turn.record)), turn.record.dialect, conversation=clock.new_name())
    assert other.record.length == turn.record.length
    turn.record = other.record
    assert keys(turn) == before


def test_calls_of_one_answer_have_different_keys_even_where_their_ids_repeat() -> None:
    turn = Turn().begin().answer(asking("same", "act"), asking("same", "act"))
    assert len(set(keys(turn))) == 2


def test_calls_without_ids_have_different_keys() -> None:
    turn = Turn(dialect="gemini").begin().answer(asking("", "act"), asking("", "act"))
    assert [call.id for call in turn.calls] == ["", ""]
    assert len(set(keys(turn))) == 2


def test_the_same_call_in_the_next_answer_has_another_key() -> None:
    turn = Turn().begin().call("act")
    first = keys(turn)
    turn.result().call("act")
    assert keys(turn) != first


def test_the_same_call_in_another_turn_has_another_key() -> None:
    turn = Turn().begin().call("act")
    first = keys(turn)
    turn.result().answer("Done.")
    turn.apply(writing.end(turn.record, "done", at_us=0)).begin().call("act")
    assert keys(turn) != first


def test_the_same_call_in_another_conversation_has_another_key() -> None:
    assert keys(Turn("c0").begin().call("act")) != keys(Turn("c1").begin().call("act"))


def test_a_call_with_another_id_in_the_same_place_has_another_key() -> None:
    one, other = (Turn().begin().answer(asking(each, "act")) for each in ("a", "b"))
    assert keys(one) != keys(other)


def test_an_id_that_no_encoding_knows_has_a_key_too() -> None:
    record = Turn().begin().call("act").record
    assert len(call_key(record, ToolCall("\ud800", "act"))) == 32


def test_the_key_of_a_call_is_the_one_that_its_tool_is_run_and_asked_by() -> None:
    turn = Turn().begin().call("act", "act").intend()
    rules = rules_of(made("act", on_unknown=lambda _: "found"))
    _, *starts = next_effects(turn.record, rules)
    assert [type(effect) for effect in starts] == [AskTool, RunTool]
    assert [effect.key for effect in starts] == keys(turn)


# -- of the others --------------------------------------------------------------------------------


def test_each_answer_that_a_turn_has_had_gives_the_next_call_of_the_model_another_key() -> None:
    turn = Turn().begin()
    answers: list[Callable[[], Turn]] = [
        lambda: turn.answer("", problems="empty"),
        lambda: turn.answer("", problems="empty"),
        lambda: turn.call("act").result(),
        lambda: turn.answer("", problems="empty"),
        lambda: turn.answer("Wait…", finish="paused"),
    ]
    seen = [model_key(turn.record), *[model_key(answer().record) for answer in answers]]
    assert len(set(seen)) == len(seen)


def test_a_call_of_the_model_that_nobody_answered_keeps_its_key() -> None:
    turn = Turn().begin()
    before = model_key(turn.record)
    turn.apply(writing.attempt(turn.record, "Overloaded", "", at_us=0))
    assert model_key(turn.record) == before
    turn.apply(writing.interrupted(turn.record, turn.given("He"), at_us=0))
    assert model_key(turn.record) == before


def test_turns_have_keys_of_their_own() -> None:
    turn = Turn()
    assert model_key(turn.record) != model_key(turn.begin().record)


def test_an_append_is_known_by_the_place_that_it_takes() -> None:
    turn = Turn().begin().call("act")
    [append, _] = next_effects(turn.record, rules_of(made("act")))
    assert isinstance(append, Append)
    assert append.key == f"append:{turn.record.length}"


def test_effects_of_different_kinds_never_share_a_key() -> None:
    turn = Turn().begin()
    [model] = next_effects(turn.record, rules_of())
    assert isinstance(model, CallModel)
    append, run = next_effects(turn.call("act").record, rules_of(made("act")))
    assert len({model.key, append.key, run.key, Wait.key, Finish.key}) == 5


# -- waiting --------------------------------------------------------------------------------------


def test_a_wait_tells_which_calls_wait_for_what() -> None:
    one, two, three = asking("a", "x"), asking("b", "y"), asking("c", "z")
    wait = Wait(((one, "result"), (two, "approval"), (three, "result")))
    assert wait.waiting_for("result") == (one, three)
    assert wait.waiting_for("approval") == (two,)
    assert wait.waiting_for("settlement") == ()
