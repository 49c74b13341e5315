"""The turns of a record, found by their id and by their number, also in what was loaded."""

from __future__ import annotations

import msgspec
import pytest

import hansard
from hansard.record import Record, blob
from hansard.record.entries import Outcome, Rewind, Said, TurnBegin, TurnEnd
from hansard.record.turns import TurnHead, closed_turn, ended, entries_of
from tests.support.conversations import Writer


def two_turns() -> Writer:
    writer = Writer()
    writer.apply(TurnBegin(seq=0, turn=1, turn_id="one", input_digest="d1"))
    writer.say("Hello")
    writer.call("a")
    writer.outcome()
    writer.answer("Done")
    writer.end()
    writer.say("Between", "append")
    writer.begin("two")
    writer.say("Thanks")
    writer.end("failed")
    return writer


def loaded(record: Record) -> Record:
    return blob.read(blob.write(record), hansard.dialect)


def test_a_turn_that_is_over_is_known_by_its_id() -> None:
    record = two_turns().record
    assert closed_turn(record, "one") == TurnHead(1, "one", "d1", "done")
    assert closed_turn(record, "two") == TurnHead(2, "two", "", "failed")
    assert closed_turn(record, "three") is None


def test_an_open_turn_is_not_over() -> None:
    writer = two_turns()
    writer.begin("three")
    assert closed_turn(writer.record, "three") is None
    writer.say()
    writer.answer()
    found = closed_turn(writer.end(), "three")
    assert found == TurnHead(3, "three", "", "done")


def test_of_turns_with_one_id_the_last_is_found() -> None:
    writer = two_turns()
    writer.begin("one")
    writer.end("abandoned")
    assert closed_turn(writer.record, "one") == TurnHead(3, "one", "", "abandoned")


def test_a_turn_is_known_by_its_id_after_loading_too() -> None:
    """Also the last one that left no message; what left none before that cannot be asked for."""
    writer = Writer(record=loaded(two_turns().record))
    assert closed_turn(writer.record, "one") == TurnHead(1, "one", "d1", "done")
    assert closed_turn(writer.record, "two") == TurnHead(2, "two", "", "failed")
    writer.begin("three")
    writer.say()
    writer.answer()
    writer.end()
    again = loaded(writer.record)
    assert [head.turn_id for head in again.start.root.turns()] == ["one", "three"]
    assert again.start.root.turn_ids() == {1: "one", 3: "three"}


def test_what_a_turn_has_failed_of_is_known_after_loading_too() -> None:
    writer = two_turns()
    writer.begin("three")
    writer.say("Thanks")
    writer.apply(TurnEnd(seq=writer.seq, turn=3, status="failed", error="too_many_rounds"))
    head = TurnHead(3, "three", "", "failed", "too_many_rounds")
    assert closed_turn(writer.record, "three") == head
    assert closed_turn(loaded(writer.record), "three") == head


def test_a_turn_of_which_nothing_but_its_status_was_kept_has_failed_of_nothing_known() -> None:
    """As blobs have it that were written before there was more to keep."""
    old = msgspec.json.decode(b'[[1,"one","d1","failed"]]', type=list[TurnHead])
    assert old == [TurnHead(1, "one", "d1", "failed", "")]


def test_turns_are_told_from_entries_in_their_order() -> None:
    record = two_turns().record
    assert [head.turn_id for head in ended(record.entries())] == ["one", "two"]
    assert list(ended(record.entries(1))) == [TurnHead(2, "two", "", "failed")]
    assert list(ended(())) == []


def test_the_entries_of_a_turn_are_those_from_its_begin_to_the_next() -> None:
    record = two_turns().record
    first = entries_of(record, 1)
    assert [entry.seq for entry in first] == [0, 1, 2, 3, 4, 5, 6]
    assert isinstance(first[0], TurnBegin)
    assert isinstance(first[3], Outcome)
    assert [type(entry) for entry in entries_of(record, 2)] == [TurnBegin, Said, TurnEnd]
    assert entries_of(record, 3) == ()


def test_the_entries_of_a_turn_stay_when_it_is_rewound() -> None:
    writer = two_turns()
    before = entries_of(writer.record, 1)
    writer.apply(Rewind(seq=writer.seq, turn=2, to=0))
    assert entries_of(writer.record, 1) == before


@pytest.mark.parametrize("appended", [False, True])
def test_of_a_turn_that_was_loaded_there_are_the_messages(appended: bool) -> None:
    """Also where something that came after it was recorded since."""
    writer = Writer()
    writer.exchange("Hello", "Hi")
    writer = Writer(record=loaded(writer.record))
    if appended:
        writer.say("By the way", "append")
    entries = entries_of(writer.record, 1)
    assert [entry.seq for entry in entries] == [1, 2, 4][: 2 + appended]
    texts = [
        hansard.Message(writer.dialect, bytes(entry.raw)).text
        for entry in entries
        if isinstance(entry, Said)
    ]
    assert texts == ["Hello", "Hi", "By the way"][: 2 + appended]
