"""The record: what follows from each entry, and that nothing is lost on the way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import hansard
from hansard.errors import InvalidTransition
from hansard.messages import ToolResult, Usage
from hansard.record import Record, views
from hansard.record.entries import (
    Attempt,
    CallKey,
    Compaction,
    Decision,
    Intent,
    Mark,
    Outcome,
    Rewind,
    Said,
    TurnBegin,
    TurnEnd,
)
from tests.support.conversations import (
    DIALECTS,
    Writer,
    calling,
    context_bytes,
    said_by_user,
)

if TYPE_CHECKING:
    from hansard.dialects.dialect import Dialect

OPENAI = hansard.dialect("openai")
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def texts(record: Record) -> list[str]:
    return [message.text for message in views.context(record)]


def head(writer: Writer) -> dict[str, Any]:
    return {"seq": writer.seq, "turn": writer.turn}


def waiting(*ids: str, dialect: Dialect = OPENAI) -> Writer:
    """A record whose turn waits for calls."""
    writer = Writer(dialect)
    writer.begin()
    writer.say()
    writer.call(*ids)
    return writer


def rewind(writer: Writer, to: int) -> Record:
    return writer.apply(Rewind(**head(writer), to=to))


def compact(writer: Writer, first: int, last: int, *summary: str) -> Record:
    raws = tuple([msgspec.Raw(said_by_user(writer.dialect, text)) for text in summary])
    return writer.apply(
        Compaction(**head(writer), first=first, last=last, messages=raws, strategy="s")
    )


# -- applying -------------------------------------------------------------------------------------


def test_a_record_says_where_it_is() -> None:
    writer = Writer()
    assert repr(writer.record) == "<Record c0 0 entries, 0 messages in context, idle>"
    writer.begin()
    writer.say()
    assert repr(writer.record) == "<Record c0 2 entries, 1 messages in context, asking>"


def test_entries_are_numbered_from_0_without_gaps() -> None:
    writer = Writer()
    for seq in (-1, 1, 7):
        with pytest.raises(InvalidTransition, match=f"expected entry 0, found entry {seq}"):
            writer.apply(Mark(seq=seq, name="m"))
    writer.exchange()
    assert [entry.seq for entry in writer.record.entries()] == [0, 1, 2, 3]
    assert [entry.seq for entry in writer.record.entries(2)] == [2, 3]
    assert writer.record.entry(3) == list(writer.record.entries())[3]


@pytest.mark.parametrize("seq", [-1, 4])
def test_an_entry_that_is_not_there_is_refused(seq: int) -> None:
    record = Writer().exchange()
    with pytest.raises(InvalidTransition, match="expected an entry from 0 to 3"):
        record.entry(seq)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_turns_are_numbered_one_after_the_other(number: int) -> None:
    record = Writer().exchange()
    with pytest.raises(InvalidTransition, match=f"expected turn 2, found {number}"):
        record.apply(TurnBegin(seq=4, turn=number, turn_id="t"))


def test_an_entry_is_of_the_turn_that_is_open_or_was_the_last() -> None:
    writer = waiting("a")
    key, raw = writer.key(), msgspec.Raw(said_by_user(OPENAI, "x"))
    result = msgspec.Raw(OPENAI.result(writer.record.pending[0], ToolResult("a", "f")))
    for number in (0, 2, 7):
        at: dict[str, Any] = {"seq": writer.seq, "turn": number}
        for entry in (
            Said(**at, role="user", author="append", raw=raw),
            Intent(**at, call=key),
            Outcome(**at, call=key, status="ok", raw=result),
            Decision(**at, call=key, verdict="approved"),
            TurnEnd(**at, status="failed"),
        ):
            with pytest.raises(InvalidTransition, match=f"expected turn 1, found {number}"):
                writer.apply(entry)
    writer.end("failed")
    with pytest.raises(InvalidTransition, match="expected turn 1, found 0"):
        writer.apply(Mark(seq=writer.seq, name="m"))
    assert writer.apply(Mark(seq=writer.seq, turn=1, name="m")).turn_number == 1


def test_a_record_that_was_gone_on_from_stays_as_it_was() -> None:
    writer = Writer()
    old = writer.exchange("one", "two")
    entries, sent = list(old.entries()), context_bytes(old)
    writer.exchange("three", "four")
    fork = Writer(record=old)
    fork.exchange("five", "six")
    assert (list(old.entries()), context_bytes(old)) == (entries, sent)
    assert texts(writer.record) == ["one", "two", "three", "four"]
    assert texts(fork.record) == ["one", "two", "five", "six"]
    assert list(fork.record.entries())[:4] == entries


def test_threads_that_go_on_from_one_record_never_see_each_others_entries() -> None:
    shared = Writer().exchange()
    together = Barrier(8)

    def go_on(name: int) -> Record:
        writer = Writer(record=shared)
        together.wait()
        for at in range(50):
            writer.say(f"{name}: {at}", "append")
        return writer.record

    with ThreadPoolExecutor(8) as threads:
        records = list(threads.map(go_on, range(8)))
    for name, record in enumerate(records):
        assert texts(record)[2:] == [f"{name}: {at}" for at in range(50)]
        assert [entry.seq for entry in record.entries()] == list(range(54))


# -- what a turn comes to -------------------------------------------------------------------------


def test_answers_that_do_not_count_are_counted_until_one_does() -> None:
    writer = Writer()
    writer.begin()
    writer.say()
    writer.answer("ha", problems=["cut", "empty"])
    writer.apply(Attempt(**head(writer), error="overloaded"))
    turn = writer.apply(Attempt(**head(writer), error="no_answer", answered=True)).turn
    assert turn is not None
    assert (turn.failures, turn.faults, turn.answered, turn.rounds) == (2, ("no_answer",), False, 0)
    turn = writer.answer("Hm", finish="paused").turn
    assert turn is not None
    assert (turn.failures, turn.faults, turn.answered, turn.rounds) == (0, (), True, 1)


def test_rounds_are_the_answers_that_were_not_the_last() -> None:
    writer = waiting("a")
    writer.outcome()
    writer.answer("Hm", finish="paused")
    turn = writer.answer("Hi").turn
    assert turn is not None
    assert turn.rounds == 2


def test_what_a_model_has_seen_is_all_up_to_its_answer() -> None:
    writer = Writer()
    writer.begin()
    writer.say("Hello")
    assert writer.record.processed == 0
    writer.answer("Hi", usage=Usage(40, 2))
    writer.end()
    writer.say("By the way", "append")
    assert (writer.record.processed, writer.record.context.count) == (2, 3)
    assert writer.record.tokens == 42


@every_dialect
def test_results_go_out_in_the_order_of_the_calls_however_they_ended(dialect: Dialect) -> None:
    writer = waiting("a", "b", "c", dialect=dialect)
    for position in (2, 0):
        writer.outcome(position, f"result {position}")
    assert [call.position for call in writer.record.pending] == [1]
    assert writer.record.context.count == 2
    writer.outcome(1, "result 1")
    assert writer.record.pending == ()
    results = [r for message in views.context(writer.record) for r in message.tool_results]
    assert [result.text for result in results] == ["result 0", "result 1", "result 2"]


@every_dialect
def test_what_is_said_while_calls_are_pending_comes_after_their_results(dialect: Dialect) -> None:
    writer = waiting("a", "b", dialect=dialect)
    writer.say("first", "append")
    writer.outcome(1)
    writer.say("second", "append")
    assert texts(writer.record)[0] == "Hello"
    assert "first" not in texts(writer.record)
    record = writer.outcome(0)
    sent = context_bytes(record)
    assert sent.index(b"done") < sent.index(b"first") < sent.index(b"second")
    assert views.repairs(record) == ()


@every_dialect
def test_calls_that_are_pending_when_a_turn_ends_are_answered_as_interrupted(
    dialect: Dialect,
) -> None:
    writer = waiting("a", "b", "c", dialect=dialect)
    writer.outcome(1, "result 1")
    writer.outcome(2, None)
    record = writer.end("abandoned")
    assert record.pending == ()
    results = [r for message in views.context(record) for r in message.tool_results]
    assert [result.text == "result 1" for result in results] == [False, True, False]
    assert "interrupted" in results[0].text
    assert results[0].text == results[2].text
    assert views.repairs(record) == ()


# -- calls ----------------------------------------------------------------------------------------


def test_an_unknown_outcome_leaves_its_call_pending_until_somebody_knows() -> None:
    writer = waiting("a")
    writer.apply(Intent(**head(writer), call=writer.key()))
    record = writer.outcome(0, None)
    assert [call.id for call in record.pending] == ["a"]
    assert record.turn is not None
    assert record.turn.round is not None
    (call,) = record.turn.round.calls
    outcome = record.turn.round.outcome(call)
    assert outcome is not None
    assert outcome.status == "unknown"
    assert writer.outcome(0, "it did run").pending == ()


def test_that_a_call_was_not_run_undoes_its_intent_and_its_unknown_outcome() -> None:
    writer = waiting("a", "b")
    for position in (0, 1):
        writer.apply(Intent(**head(writer), call=writer.key(position)))
        writer.outcome(position, None)
    record = writer.apply(Decision(**head(writer), call=writer.key(0), verdict="not_run"))
    assert record.turn is not None
    assert record.turn.round is not None
    first, second = record.turn.round.calls
    assert record.turn.round.intents == {1}
    assert record.turn.round.outcome(first) is None
    assert record.turn.round.outcome(second) is not None


def test_the_last_decision_about_a_call_counts_and_changes_nothing_else() -> None:
    writer = waiting("a")
    writer.apply(Intent(**head(writer), call=writer.key()))
    for verdict in ("approved", "denied"):
        made = Decision(**head(writer), call=writer.key(), verdict=verdict, by="ann")
        record = writer.apply(made)
        assert record.turn is not None
        assert record.turn.round is not None
        assert record.turn.round.decision(record.turn.round.calls[0]) == made
        assert record.turn.round.intents == {0}
        assert len(record.pending) == 1


def test_a_late_outcome_is_on_the_record_and_changes_nothing_else() -> None:
    writer = waiting("a")
    key = writer.key()
    writer.outcome()
    before = context_bytes(writer.record)
    late = Outcome(**head(writer), call=key, status="ok", raw=msgspec.Raw(b'{"late":1}'))
    record = writer.apply(late)
    assert list(record.entries())[-1] == late
    assert context_bytes(record) == before


@pytest.mark.parametrize(
    "key",
    [CallKey(2, 1, "a"), CallKey(2, 0, "x"), CallKey(3, 0, "a"), CallKey(99, 0, "a")],
    ids=["position", "id", "entry", "to come"],
)
def test_a_call_that_nobody_made_is_named_and_refused(key: CallKey) -> None:
    writer = waiting("a")
    named = f"found call '{key.id}' at position {key.position} of entry {key.answer}"
    with pytest.raises(InvalidTransition, match=f"expected a pending call, {named}"):
        writer.apply(Intent(**head(writer), call=key))
    with pytest.raises(InvalidTransition, match=f"expected a pending call, {named}"):
        writer.apply(Decision(**head(writer), call=key, verdict="approved"))
    with pytest.raises(InvalidTransition, match=f"expected a call that was made, {named}"):
        writer.apply(Outcome(**head(writer), call=key, status="ok", raw=msgspec.Raw(b"{}")))


def test_an_outcome_has_a_result_unless_it_is_unknown() -> None:
    writer = waiting("a")
    with pytest.raises(InvalidTransition, match="expected a result of call 'a'"):
        writer.apply(Outcome(**head(writer), call=writer.key(), status="ok"))


@every_dialect
@pytest.mark.parametrize("wrong", ["another call's", "two", "no result", "no object", "no JSON"])
def test_the_result_of_a_call_is_one_and_its_own(dialect: Dialect, wrong: str) -> None:
    """Anything else would close the round, and be taken away again before it is sent."""
    writer = waiting("a", "b", dialect=dialect)
    mine, others = (dialect.result(call, call.answer("done")) for call in writer.record.pending)
    raw = {
        "another call's": others,
        "two": mine + b"," + mine,
        "no result": b'{"x":1}',
        "no object": b"[5]",
        "no JSON": b'{"role":',
    }[wrong]
    outcome = Outcome(**head(writer), call=writer.key(), status="ok", raw=msgspec.Raw(raw))
    with pytest.raises(InvalidTransition, match="expected one result of call 'a' at position 0"):
        writer.apply(outcome)
    assert len(writer.record.pending) == 2
    writer.apply(msgspec.structs.replace(outcome, raw=msgspec.Raw(mine)))
    assert [call.id for call in writer.record.pending] == ["b"]


def test_calls_with_the_same_id_are_told_apart_by_where_they_stand() -> None:
    writer = waiting("a", "a")
    first = writer.key(0)
    writer.outcome(1, "second")
    assert [call.position for call in writer.record.pending] == [0]
    writer.outcome(0, "first")
    writer.call("a")
    with pytest.raises(InvalidTransition, match="expected a pending call"):
        writer.apply(Intent(**head(writer), call=first))
    assert [call.position for call in writer.record.pending] == [0]


# -- going back -----------------------------------------------------------------------------------


def test_a_rewind_brings_back_the_context_and_deletes_nothing() -> None:
    writer = Writer()
    writer.exchange("one", "two")
    mark = writer.apply(Mark(**head(writer), name="here"))
    writer.exchange("three", "four")
    record = rewind(writer, mark.length - 1)
    assert texts(record) == ["one", "two"]
    assert context_bytes(record) == context_bytes(mark)
    assert [message.text for message in views.comprehensive(record)] == [
        *("one", "two", "three", "four")
    ]
    assert record.turn_number == 2
    writer.exchange("five", "six")
    assert texts(writer.record) == ["one", "two", "five", "six"]


def test_a_rewind_is_undone_by_a_rewind_to_it() -> None:
    writer = Writer()
    writer.exchange("one", "two")
    writer.exchange("three", "four")
    at = rewind(writer, 0).length - 1
    assert texts(writer.record) == []
    assert texts(rewind(writer, at)) == ["one", "two", "three", "four"]


def test_a_rewind_to_before_a_compaction_brings_back_what_it_replaced() -> None:
    writer = Writer()
    writer.exchange("one", "two")
    compact(writer, 0, 3, "so far")
    assert texts(writer.record) == ["so far"]
    record = rewind(writer, 4)
    assert texts(record) == ["one", "two"]
    assert record.compacted_us is None


@pytest.mark.parametrize("to", [-1, 4, 5])
def test_there_is_no_rewind_to_what_is_not_there(to: int) -> None:
    writer = Writer()
    writer.exchange()
    with pytest.raises(InvalidTransition, match=f"that is there, found {to}"):
        rewind(writer, to)


@pytest.mark.parametrize("to", [1, 2, 3])
def test_there_is_no_rewind_into_a_turn(to: int) -> None:
    writer = Writer()
    writer.exchange()
    with pytest.raises(InvalidTransition, match="rewind to between turns"):
        rewind(writer, to)


# -- compaction -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (2, 1), (0, 4), (0, 99)])
def test_a_compaction_is_of_entries_that_are_there(first: int, last: int) -> None:
    writer = Writer()
    writer.exchange()
    named = f"entries before entry 4, found {first} to {last}"
    with pytest.raises(InvalidTransition, match=named):
        compact(writer, first, last)


def test_an_open_turn_that_fails_after_a_compaction_leaves_the_summary_of_what_was_before() -> None:
    writer = Writer()
    writer.exchange("one", "two")
    writer.begin()
    writer.say("three")
    compact(writer, 0, 3, "so far")
    assert texts(writer.record) == ["so far", "three"]
    assert texts(writer.end("failed")) == ["so far"]


def test_an_open_turn_that_was_compacted_alone_leaves_what_was_before_as_it_was() -> None:
    writer = Writer()
    before = writer.exchange("one", "two")
    writer.begin()
    writer.say("three")
    compact(writer, 5, 5, "3")
    assert texts(writer.record) == ["one", "two", "3"]
    record = writer.end("failed")
    assert context_bytes(record) == context_bytes(before)
    assert record.compacted_us is None


def test_an_import_may_be_of_answers_and_calls() -> None:
    """Between turns what a model is said to have said is taken as it is."""
    writer = Writer()
    record = writer.answer(calling(OPENAI, "a"))
    assert (record.phase, record.pending) == ("idle", ())
    assert [repair.what for repair in views.repairs(record)] == ["interrupted"]
