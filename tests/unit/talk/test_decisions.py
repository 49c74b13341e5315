"""Decisions: each is taken about calls that wait for it, and about no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hansard import Invalid, Media, ToolCall
from hansard.record import views
from hansard.record.entries import Decision, Outcome, TurnEnd
from hansard.talk.decisions import abandon, decide, settle
from hansard.turn.machine import next_effects
from tests.unit.turn.rounds import Turn, asking, made, rules_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.record.record import Record

TOOLS = (
    made("book"),
    made("asked", needs_approval=True),
    made("read", policy="reads"),
    made("known", on_unknown=lambda _: "found"),
    made("move", policy="transactional"),
)
RULES = rules_of(*TOOLS)


def decisions(record: Record) -> Iterator[Any]:
    return (entry for entry in record.entries() if isinstance(entry, Decision))


def next_of(record: Record) -> list[str]:
    return shown(next_effects(record, RULES))


# -- abandoning -----------------------------------------------------------------------------------


def test_a_turn_that_is_answered_is_done_and_not_abandoned() -> None:
    ended = abandon(Turn().begin().answer("Hello.").record)
    last = ended.entry(ended.length - 1)
    assert isinstance(last, TurnEnd)
    assert last.status == "done"
    assert [message.text for message in views.context(ended)] == ["Go ahead.", "Hello."]


def test_a_turn_that_is_not_answered_is_abandoned_and_one_that_is_over_stays_so() -> None:
    ended = abandon(Turn().begin().record)
    last = ended.entry(ended.length - 1)
    assert isinstance(last, TurnEnd)
    assert last.status == "abandoned"
    assert abandon(ended) is ended


# -- approving and denying ------------------------------------------------------------------------


def asked() -> Turn:
    """Three calls, of which the first and the last wait for approval."""
    return Turn().begin().call("asked", "read", "asked").result(1)


def test_approved_calls_may_run() -> None:
    record = decide(asked().record, RULES, ["a", "c"], "approved")
    assert next_of(record) == ["append intent a, intent c", "run a", "run c"]


def test_denied_calls_are_answered() -> None:
    record = decide(asked().record, RULES, ["a", "c"], "denied")
    assert next_of(record) == ["append outcome a, outcome c"]


def test_a_verdict_is_about_the_calls_that_are_named_and_no_others() -> None:
    record = decide(asked().record, RULES, ["c"], "denied")
    assert [entry.call.id for entry in decisions(record)] == ["c"]
    assert next_of(record) == ["append outcome c"]


def test_a_verdict_that_names_none_is_about_all_that_wait_for_one() -> None:
    record = decide(asked().record, RULES, [], "approved")
    assert [entry.call.id for entry in decisions(record)] == ["a", "c"]


def test_a_call_can_be_named_by_itself() -> None:
    turn = asked()
    record = decide(turn.record, RULES, [turn.calls[2]], "approved")
    assert [entry.call.position for entry in decisions(record)] == [2]


def test_who_decided_and_why_is_on_the_record() -> None:
    record = decide(asked().record, RULES, ["a"], "denied", by="Ada", reason="too dear")
    [entry] = decisions(record)
    assert (entry.verdict, entry.by, entry.reason) == ("denied", "Ada", "too dear")
    assert entry.at_us > 0


def test_calls_whose_ids_repeat_have_to_be_named_by_themselves() -> None:
    turn = Turn().begin().answer(asking("same", "asked"), asking("same", "asked"))
    with pytest.raises(Invalid, match="found 2 for 'same'"):
        decide(turn.record, RULES, ["same"], "approved")
    record = decide(turn.record, RULES, [turn.calls[1]], "approved")
    assert [entry.call.position for entry in decisions(record)] == [1]


@pytest.mark.parametrize("named", ["b", "z", ToolCall("a", "asked", '{"n":2}')])
def test_what_cannot_be_decided_about_is_refused_and_what_can_is_named(
    named: str | ToolCall,
) -> None:
    record = asked().record
    with pytest.raises(Invalid, match=r"those that wait: asked \(a\), asked \(c\)") as error:
        decide(record, RULES, ["a", named], "approved")
    assert f"found 0 for {named if isinstance(named, str) else named.id!r}" in str(error.value)
    assert not list(decisions(record))


@pytest.mark.parametrize("name", ["book", "read", "yours", "nobody"])
def test_a_call_that_is_named_can_be_decided_about_whatever_its_tool_asks_for(name: str) -> None:
    """Who decides may have other tools at hand than whoever runs them."""
    record = decide(Turn().begin().call(name).record, RULES, ["a"], "denied")
    assert [entry.verdict for entry in decisions(record)] == ["denied"]


def test_a_call_is_not_decided_about_twice() -> None:
    record = decide(asked().record, RULES, ["a"], "denied")
    with pytest.raises(Invalid, match=r"those that wait: asked \(c\)"):
        decide(record, RULES, ["a"], "approved")


def test_a_call_that_was_found_not_to_have_run_can_be_decided_about() -> None:
    record = asked().decide("approved").intend().lose().decide("not_run").record
    assert next_of(decide(record, RULES, ["a"], "denied")) == ["append outcome a"]


@pytest.mark.parametrize("turn", [Turn(), Turn().begin(), Turn().begin().call("book")])
def test_where_nothing_waits_for_approval_there_are_none_to_decide_about(turn: Turn) -> None:
    with pytest.raises(Invalid, match="found none"):
        decide(turn.record, RULES, [], "approved")
    with pytest.raises(Invalid, match="found 0 for 'z'"):
        decide(turn.record, RULES, ["z"], "approved")


def test_what_started_can_neither_be_approved_nor_denied() -> None:
    record = asked().decide("approved").intend().record
    with pytest.raises(Invalid):
        decide(record, RULES, ["a"], "denied")


# -- settling -------------------------------------------------------------------------------------


def doubtful() -> Turn:
    return Turn().begin().call("book", "read", "book").intend(0).result(1).intend(2).lose(2)


@pytest.mark.parametrize(("named", "at"), [("a", 0), ("c", 2)])
def test_what_a_call_came_to_is_its_result(named: str, at: int) -> None:
    record = settle(doubtful().record, named, {"seat": 7}, by="Ada")
    *_, decision, outcome = record.entries()
    assert isinstance(decision, Decision)
    assert (decision.verdict, decision.by, decision.call.position) == ("settled", "Ada", at)
    assert isinstance(outcome, Outcome)
    assert outcome.status == "ok"
    assert b"seat" in bytes(outcome.raw)
    assert named not in [call.id for call in record.pending]


def test_a_call_that_is_known_not_to_have_run_is_run() -> None:
    record = settle(doubtful().record, "c", not_run=True)
    [decision] = decisions(record)
    assert decision.verdict == "not_run"
    assert next_of(record) == ["append intent c", "run c"]


def test_a_call_that_came_to_nothing_has_run_all_the_same() -> None:
    record = settle(doubtful().record, "a")
    assert [call.id for call in record.pending] == ["c"]


def test_a_result_of_a_call_that_did_not_run_is_refused() -> None:
    with pytest.raises(Invalid, match="found both"):
        settle(doubtful().record, "a", "done", not_run=True)


@pytest.mark.parametrize("named", ["b", "z"])
def test_what_is_in_no_doubt_is_refused_and_what_is_is_named(named: str) -> None:
    with pytest.raises(Invalid, match=r"those that wait: book \(a\), book \(c\)"):
        settle(doubtful().record, named, "done")


@pytest.mark.parametrize("name", ["book", "asked", "read", "nobody"])
def test_a_call_that_has_not_started_is_not_settled(name: str) -> None:
    with pytest.raises(Invalid, match="those that wait: none"):
        settle(Turn().begin().call(name).record, "a", "done")


def test_a_call_is_settled_once() -> None:
    record = settle(doubtful().record, "a", "done")
    with pytest.raises(Invalid):
        settle(record, "a", "done")


def test_a_result_that_the_dialect_has_no_words_for_leaves_the_record_as_it_was() -> None:
    record = doubtful().record
    film = Media("video", "video/mp4", base64="AAAA")
    with pytest.raises(Invalid):
        settle(record, "a", film)
    assert not list(decisions(record))


def test_an_error_can_be_what_a_call_came_to() -> None:
    turn = doubtful()
    result = turn.calls[0].answer("no seat", is_error=True)
    *_, outcome = settle(turn.record, "a", result).entries()
    assert isinstance(outcome, Outcome)
    assert outcome.status == "error"


@pytest.mark.parametrize("name", ["known", "move", "read", "nobody"])
def test_whatever_has_started_can_be_settled_whoever_else_might_find_out(name: str) -> None:
    record = settle(Turn().begin().call(name).intend().record, "a", "done")
    assert record.pending == ()
