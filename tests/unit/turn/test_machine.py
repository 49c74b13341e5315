"""What is done next: a record in each situation, and calls in each standing, give these effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import pytest

from hansard.turn import writing
from hansard.turn.effects import Append, RunTool, call_key, model_key
from hansard.turn.machine import SITUATIONS, Situation, next_effects, situation
from hansard.turn.rules import Rules
from hansard.turn.standing import STANDINGS
from tests.unit.turn.rounds import Turn, asking, made, rules_of, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.turn.standing import Standing

TOOLS = (
    made("read", policy="reads"),
    made("book", policy="once"),
    made("book_known", policy="once", on_unknown=lambda _: "found"),
    made("move", policy="transactional"),
    made("asked", policy="once", needs_approval=True),
    made("yours", run=None),
)
RULES = rules_of(*TOOLS, transactions=True)


def ended(status: Any = "failed") -> Turn:
    turn = Turn().begin()
    if status == "done":
        turn.answer("Hi.")
    return turn.apply(writing.end(turn.record, status, at_us=0))


def failed(times: int, problems: str = "empty") -> Turn:
    turn = Turn().begin()
    for _ in range(times):
        turn.answer("", problems=problems)
    return turn


def rounds(count: int, *names: str) -> Turn:
    """Play rounds that are over, and then one with these calls, if any."""
    turn = Turn().begin()
    for _ in range(count):
        turn.call("read").result()
    return turn.call(*names) if names else turn


# -- situations -----------------------------------------------------------------------------------

Case = tuple[Situation, "Callable[[], Turn]", "dict[str, Any]", list[str]]

CASES: dict[str, Case] = {
    "nothing was ever said": ("over", Turn, {}, ["finish"]),
    "the turn is done": ("over", lambda: ended("done"), {}, ["finish"]),
    "the turn has failed": ("over", lambda: ended("failed"), {}, ["finish"]),
    "the turn was abandoned": ("over", lambda: ended("abandoned"), {}, ["finish"]),
    "the model has answered": (
        "answered",
        lambda: Turn().begin().answer("Hi."),
        {},
        ["append end done"],
    ),
    "it has answered in the last round": (
        "answered",
        lambda: rounds(2).answer("Hi."),
        {"rounds_max": 3},
        ["append end done"],
    ),
    "a turn has begun": ("to ask", lambda: Turn().begin(), {}, ["model"]),
    "all calls have results": ("to ask", lambda: rounds(1), {}, ["model"]),
    "the model has paused": (
        "to ask",
        lambda: Turn().begin().answer("Wait…", finish="paused"),
        {},
        ["model"],
    ),
    "an answer was invalid": ("to ask", lambda: failed(1), {}, ["model"]),
    "as many answers were invalid as are asked again": (
        "to ask",
        lambda: failed(2),
        {"retries": 2},
        ["model"],
    ),
    "an answer was blocked, and a later one only empty": (
        "to ask",
        lambda: failed(1, "blocked").answer("", problems="empty"),
        {},
        ["model"],
    ),
    "one more answer was invalid": (
        "out of tries",
        lambda: failed(3, "cut empty"),
        {"retries": 2},
        ["append end failed cut empty"],
    ),
    "one answer was invalid, and none is asked again": (
        "out of tries",
        lambda: failed(1),
        {"retries": 0},
        ["append end failed empty"],
    ),
    "the first answer was blocked": (
        "blocked",
        lambda: failed(1, "blocked"),
        {},
        ["append end failed blocked"],
    ),
    "the last of too many answers was blocked": (
        "blocked",
        lambda: failed(2).answer("", problems="blocked"),
        {"retries": 0},
        ["append end failed blocked"],
    ),
    "calls are pending": ("calls pending", lambda: rounds(0, "read"), {}, ["run a"]),
    "calls are pending in the round before the last": (
        "calls pending",
        lambda: rounds(1, "read"),
        {"rounds_max": 3},
        ["run a"],
    ),
    "the last round has calls": (
        "out of rounds",
        lambda: rounds(2, "read", "book"),
        {"rounds_max": 3},
        ["append outcome a, outcome b"],
    ),
    "the last round has its results": (
        "out of rounds",
        lambda: rounds(3),
        {"rounds_max": 3},
        ["append end failed too_many_rounds"],
    ),
    "the model has paused too often": (
        "out of rounds",
        lambda: Turn().begin().answer("…", finish="paused").answer("…", finish="paused"),
        {"rounds_max": 2},
        ["append end failed too_many_rounds"],
    ),
    "a call of the last round has started": (
        "out of rounds",
        lambda: rounds(2, "read", "book", "read").intend(1),
        {"rounds_max": 3},
        ["append outcome a, outcome c"],
    ),
    "only what has started is left of the last round": (
        "out of rounds",
        lambda: rounds(2, "read", "book").intend(1).result(0),
        {"rounds_max": 3},
        ["wait b for settlement"],
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_is_done_in_each_situation(case: Case) -> None:
    name, turn, options, effects = case
    record, rules = turn().record, rules_of(*TOOLS, **options)
    assert situation(record, rules) == name
    assert shown(next_effects(record, rules)) == effects


def test_every_row_of_the_table_of_situations_is_reached() -> None:
    assert {name for name, *_ in CASES.values()} == set(SITUATIONS) == set(get_args(Situation))


def test_answers_for_calls_beyond_the_limit_of_rounds_say_so() -> None:
    turn = rounds(0, "read")
    [append] = next_effects(turn.record, rules_of(*TOOLS, rounds_max=1), at_us=9)
    assert isinstance(append, Append)
    [outcome] = append.entries
    assert outcome.at_us == 9
    assert b"limit of rounds" in bytes(outcome.raw)  # type: ignore[union-attr]
    assert turn.apply(outcome).record.phase == "asking"


def test_failures_count_from_the_last_valid_answer_on() -> None:
    turn = failed(2).call("read").result().answer("", problems="empty")
    assert situation(turn.record, rules_of(retries=1)) == "to ask"


def test_new_entries_have_the_time_that_is_passed_in() -> None:
    [append] = next_effects(Turn().begin().answer("Hi.").record, RULES, at_us=123)
    assert isinstance(append, Append)
    assert [entry.at_us for entry in append.entries] == [123]


def test_the_same_question_has_the_same_answer() -> None:
    record = rounds(1, "read", "book", "asked", "yours", "nobody").record
    assert shown(next_effects(record, RULES)) == shown(next_effects(record, RULES))


# -- standings ------------------------------------------------------------------------------------

STOOD: dict[Standing, tuple[Callable[[], Turn], list[str]]] = {
    "no round left": (lambda: rounds(10, "read"), ["append outcome a"]),
    "running": (lambda: rounds(0, "book").intend(), []),
    "in doubt": (lambda: rounds(0, "book").intend(), ["wait a for settlement"]),
    "in doubt, its tool decides": (lambda: rounds(0, "book_known").intend(), ["ask a"]),
    "no such tool": (lambda: rounds(0, "nobody"), ["append outcome a"]),
    "denied": (lambda: rounds(0, "asked").decide("denied"), ["append outcome a"]),
    "the caller's": (lambda: rounds(0, "yours"), ["wait a for result"]),
    "unfit": (
        lambda: Turn().begin().answer(asking("a", "read", '{"n":"x"}')),
        ["append outcome a"],
    ),
    "unapproved": (lambda: rounds(0, "asked"), ["wait a for approval"]),
    "ready": (lambda: rounds(0, "read"), ["run a"]),
    "ready, once": (lambda: rounds(0, "book"), ["append intent a", "run a"]),
}


@pytest.mark.parametrize("standing", STANDINGS)
def test_what_is_done_about_a_call_in_each_standing(standing: Standing) -> None:
    turn, effects = STOOD[standing]
    record = turn().record
    key = call_key(record, record.pending[0])
    running = {key} if standing == "running" else frozenset[str]()
    assert shown(next_effects(record, RULES, running)) == effects


# -- what is in flight ----------------------------------------------------------------------------


def test_what_is_running_is_left_alone_and_the_rest_is_seen_to() -> None:
    record = rounds(0, "book", "read", "book").intend(0).record
    running = {call_key(record, record.pending[0])}
    assert shown(next_effects(record, RULES, running)) == ["append intent c", "run b", "run c"]


def test_after_a_crash_what_was_running_is_judged_by_its_policy() -> None:
    turn = rounds(0, "book", "read", "move", "book_known").intend(0).intend(2).intend(3)
    assert shown(next_effects(turn.record, RULES)) == ["run b", "ask d"]


def test_the_model_is_not_called_twice_at_once() -> None:
    record = Turn().begin().record
    assert next_effects(record, RULES, {model_key(record)}) == ()


def test_beyond_the_limit_of_rounds_what_is_running_is_waited_for() -> None:
    record = rounds(0, "book").intend().record
    running = {call_key(record, record.pending[0])}
    assert next_effects(record, rules_of(*TOOLS, rounds_max=1), running) == ()


def test_keys_of_other_effects_hide_nothing() -> None:
    record = rounds(0, "read").record
    assert shown(next_effects(record, RULES, {"model:1:0:0", "another"})) == ["run a"]


# -- the order of effects -------------------------------------------------------------------------


def test_what_is_to_be_recorded_comes_in_one_append_and_before_anything_starts() -> None:
    turn = rounds(0, "book", "nobody", "read", "book", "asked").decide("denied", 4)
    effects = next_effects(turn.record, RULES)
    assert shown(effects) == [
        "append intent a, outcome b, intent d, outcome e",
        "run a",
        "run c",
        "run d",
    ]
    turn.apply(*effects[0].entries)  # type: ignore[union-attr]


@pytest.mark.parametrize("other", ["read", "book", "nobody", "book_known"])
def test_nobody_is_waited_for_while_anything_else_can_be_done(other: str) -> None:
    turn = rounds(0, "asked", other, "yours")
    if other == "book_known":
        turn.intend(1)
    effects = shown(next_effects(turn.record, RULES))
    assert effects
    assert not [effect for effect in effects if effect.startswith("wait")]


def test_nobody_is_waited_for_while_anything_runs() -> None:
    record = rounds(0, "asked", "read").record
    assert next_effects(record, RULES, {call_key(record, record.pending[1])}) == ()


def test_all_that_wait_are_waited_for_together() -> None:
    turn = rounds(0, "asked", "read", "yours", "book").result(1).intend(3)
    assert shown(next_effects(turn.record, RULES)) == [
        "wait a for approval, c for result, d for settlement"
    ]


# -- limits ---------------------------------------------------------------------------------------


def runs(turn: Turn, rules: Rules, *running: int) -> list[str]:
    record = turn.record
    keys = {call_key(record, turn.calls[at]) for at in running}
    effects = next_effects(record, rules, keys)
    return [effect.call.id for effect in effects if isinstance(effect, RunTool)]


def test_no_more_tools_run_at_once_than_may() -> None:
    turn = rounds(0, *["read"] * 5)
    rules = rules_of(*TOOLS, concurrent_max=2)
    assert runs(turn, rules) == ["a", "b"]
    assert runs(turn, rules, 0) == ["b"]
    assert runs(turn, rules, 0, 1) == []
    assert runs(turn.result(0), rules, 1) == ["c"]


def test_where_no_place_is_free_nobody_looks_at_the_other_calls() -> None:
    """A thousand calls would be looked at a thousand times each."""
    asked: list[object] = []
    look = made("act", policy="reads", needs_approval=asked.append)
    turn = rounds(0, *["act"] * 5)
    assert runs(turn, rules_of(look, concurrent_max=2)) == ["a", "b"]
    assert len(asked) == 2


def test_a_call_that_finds_no_place_is_not_intended_either() -> None:
    turn = rounds(0, "book", "book")
    effects = next_effects(turn.record, rules_of(*TOOLS, concurrent_max=1))
    assert shown(effects) == ["append intent a", "run a"]


def test_asking_a_tool_what_became_of_a_call_takes_a_place_too() -> None:
    turn = rounds(0, "book_known", "read").intend()
    assert shown(next_effects(turn.record, rules_of(*TOOLS, concurrent_max=1))) == ["ask a"]


def test_answers_and_waits_take_no_place() -> None:
    turn = rounds(0, "nobody", "yours", "read")
    rules = rules_of(*TOOLS, concurrent_max=1)
    assert shown(next_effects(turn.record, rules)) == ["append outcome a", "run c"]


def test_no_more_calls_of_one_tool_run_at_once_than_it_allows() -> None:
    tools = (made("act", max_concurrent=2, policy="reads"), made("read", policy="reads"))
    turn = rounds(0, "act", "act", "act", "read")
    assert runs(turn, rules_of(*tools)) == ["a", "b", "d"]
    assert runs(turn, rules_of(*tools), 0) == ["b", "d"]
    assert runs(turn, rules_of(*tools), 0, 1) == ["d"]


def test_transactional_calls_run_alone() -> None:
    """What others came to could not be recorded while one has the database to itself."""
    both = [made(name, policy="transactional") for name in ("move", "pay")]
    rules = rules_of(*both, made("read", policy="reads"), transactions=True)
    turn = rounds(0, "move", "pay", "read", "move")
    assert runs(turn, rules) == ["a"]
    assert runs(turn, rules, 1) == []
    assert runs(turn, rules, 2) == []
    assert runs(turn.intend(0).result(0), rules) == ["b"]


def test_transactional_calls_run_one_at_a_time_also_where_the_chat_makes_them_so() -> None:
    rules = rules_of(made("move"), default_policy="transactional", transactions=True)
    assert runs(rounds(0, "move", "move"), rules) == ["a"]


def test_where_there_are_no_transactions_such_calls_run_side_by_side() -> None:
    rules = rules_of(made("move", policy="transactional"))
    assert runs(rounds(0, "move", "move"), rules) == ["a", "b"]
