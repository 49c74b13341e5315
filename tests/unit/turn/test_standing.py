"""How a call stands: by what is on the record of it, its tool and the rules, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import pytest

from hansard.turn.standing import STANDINGS, Doing, Standing, callers_calls, look
from tests.unit.turn.rounds import Turn, asking, made, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.turn.standing import Look


def decides(_: object) -> str:
    return "found out"


def nothing(turn: Turn) -> Turn:
    return turn


def lost(turn: Turn) -> Turn:
    return turn.intend().lose()


def approved(turn: Turn) -> Turn:
    return turn.decide("approved")


def denied(turn: Turn) -> Turn:
    return turn.decide("denied")


def not_run(turn: Turn) -> Turn:
    return lost(turn).decide("not_run")


@dataclass
class Case:
    """A call, what its tool says, and what is on the record of it; and how it stands then."""

    standing: Standing
    recorded: Callable[[Turn], Turn] = nothing
    options: dict[str, Any] | None = None
    rules: dict[str, Any] | None = None
    name: str = "act"
    arguments: str = '{"n":1}'

    def look(self) -> Look:
        tool = made("act", **(self.options or {}))
        turn = Turn().begin().answer(asking("a", self.name, self.arguments))
        assert turn.record.turn is not None
        self.recorded(turn)
        round_ = turn.record.turn.round
        assert round_ is not None
        return look(turn.calls[0], round_, rules_of(tool, **(self.rules or {})))


ASKS = {"needs_approval": True}
CALLERS = {"run": None}
HANDED_OVER = {"run_tools": False}

CASES = {
    "nothing happened": Case("ready, once"),
    "nothing happened, and once is the tool's own": Case("ready, once", options={"policy": "once"}),
    "a transaction": Case("ready, once", options={"policy": "transactional"}),
    "it only reads": Case("ready", options={"policy": "reads"}),
    "it has a key": Case("ready", options={"policy": "keyed"}),
    "the chat's policy": Case("ready", rules={"default_policy": "reads"}),
    "the tool's policy goes before the chat's": Case(
        "ready, once", options={"policy": "once"}, rules={"default_policy": "reads"}
    ),
    "it started": Case("in doubt", Turn.intend),
    "it is unknown": Case("in doubt", lost),
    "it started, and nobody runs tools here": Case("in doubt", Turn.intend, rules=HANDED_OVER),
    "it started, and was approved before": Case(
        "in doubt", lambda turn: turn.decide("approved").intend(), ASKS
    ),
    "it started, and its tool knows how to find out": Case(
        "in doubt, its tool decides", Turn.intend, {"on_unknown": decides}
    ),
    "it is unknown, and its tool knows how to find out": Case(
        "in doubt, its tool decides", lost, {"on_unknown": decides}
    ),
    "it did not start, though its tool could find out": Case(
        "ready, once", options={"on_unknown": decides}
    ),
    "it started in a transaction that is gone": Case(
        "ready", Turn.intend, {"policy": "transactional"}, {"transactions": True}
    ),
    "it started, and there was no transaction to be had": Case(
        "in doubt", Turn.intend, {"policy": "transactional"}
    ),
    "it started, and only reads": Case("ready", Turn.intend, {"policy": "reads"}),
    "it started, and has a key": Case("ready", Turn.intend, {"policy": "keyed"}),
    "it was found not to have run": Case("ready, once", not_run),
    "it was found not to have run, and was asked about before": Case("ready, once", not_run, ASKS),
    "no such tool": Case("no such tool", name="other"),
    "no such tool, and nobody runs tools here": Case(
        "the caller's", name="other", rules=HANDED_OVER
    ),
    "no such tool any more, and it started": Case("in doubt", Turn.intend, name="other"),
    "no such tool any more, and what started may start again": Case(
        "no such tool", Turn.intend, name="other", rules={"default_policy": "keyed"}
    ),
    "denied": Case("denied", denied, ASKS),
    "denied, though its arguments do not fit": Case("denied", denied, ASKS, arguments="{}"),
    "nobody runs tools here": Case("the caller's", rules=HANDED_OVER),
    "a tool without run": Case("the caller's", options=CALLERS),
    "a tool without run, whatever the arguments": Case(
        "the caller's", options=CALLERS, arguments="{}"
    ),
    "arguments of another type": Case("unfit", arguments='{"n":"one"}'),
    "arguments that are no JSON": Case("unfit", arguments='{"n":'),
    "arguments that do not fit are not asked about": Case("unfit", options=ASKS, arguments="{}"),
    "it needs approval": Case("unapproved", options=ASKS),
    "it needs approval for these arguments": Case(
        "unapproved", options={"needs_approval": lambda given: given["n"] == 1}
    ),
    "it needs no approval for these arguments": Case(
        "ready, once", options={"needs_approval": lambda given: given["n"] > 1}
    ),
    "it cannot tell whether it needs approval": Case(
        "unapproved", options={"needs_approval": lambda given: given["m"]}
    ),
    "it has approval": Case("ready, once", approved, ASKS),
    "it has approval, and only reads": Case("ready", approved, {**ASKS, "policy": "reads"}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_call_stands_as_the_record_and_its_tool_say(case: Case) -> None:
    assert case.look().standing == case.standing


def test_every_row_of_the_table_is_reached() -> None:
    """But for two of which the machine knows by itself: it needs no look at the call."""
    by_itself = {"running", "no round left"}
    assert {case.standing for case in CASES.values()} == set(STANDINGS) - by_itself


def test_the_table_has_all_standings_and_all_that_can_be_done() -> None:
    assert set(STANDINGS) == set(get_args(Standing))
    assert set(STANDINGS.values()) == set(get_args(Doing))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_look_has_the_answer_or_what_is_to_be_run_and_never_both(case: Case) -> None:
    seen = case.look()
    doing = STANDINGS[seen.standing]
    assert (seen.result is not None) == (doing == "answer")
    assert (seen.invocation is not None) == (doing in ("run", "intend, run"))


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (CASES["no such tool"], "tool not found: other. There are: act."),
        (CASES["denied"], "was denied"),
        (CASES["arguments of another type"], "n"),
        (CASES["arguments that are no JSON"], "not JSON"),
    ],
    ids=["no such tool", "denied", "unfit", "not JSON"],
)
def test_what_cannot_run_is_an_error_result_that_says_why(case: Case, words: str) -> None:
    result = case.look().result
    assert result is not None
    assert result.is_error
    assert words in result.text


def test_a_denial_tells_the_model_the_reason() -> None:
    def deny(turn: Turn) -> Turn:
        return turn.decide("denied", reason="too dear")

    result = Case("denied", deny, ASKS).look().result
    assert result is not None
    assert "too dear" in result.text


def test_what_is_to_be_run_has_the_arguments_of_the_call() -> None:
    invocation = Case("ready, once", arguments='{"n":7}').look().invocation
    assert invocation is not None
    assert invocation.arguments == {"n": 7}


# -- the caller's ---------------------------------------------------------------------------------


def test_the_callers_calls_are_those_without_run_that_have_no_result() -> None:
    rules = rules_of(made("act"), made("yours", run=None))
    turn = Turn().begin().call("yours", "act", "yours", "yours")
    turn.result(2)
    assert [call.id for call in callers_calls(turn.record, rules)] == ["a", "d"]


def test_all_calls_are_the_callers_where_no_tools_are_run() -> None:
    turn = Turn().begin().call("act", "nobody")
    rules = rules_of(made("act"), run_tools=False)
    assert [call.id for call in callers_calls(turn.record, rules)] == ["a", "b"]


@pytest.mark.parametrize("turn", [Turn(), Turn().begin(), Turn().begin().answer("Hello.")])
def test_where_no_round_is_open_there_are_no_calls(turn: Turn) -> None:
    assert callers_calls(turn.record, rules_of(run_tools=False)) == ()
