"""What it costs to record, counted: the same on a short record as on a long one."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

import msgspec
import pytest

import hansard
from hansard.record.entries import Compaction, Intent, Mark, Rewind, SliceEvent
from tests.support.conversations import Writer, said_by_user
from tests.support.counting import Work, count

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard import Record
    from hansard.record.entries import Entry

LENGTHS = (10, 1_000, 100_000)
OPENAI = hansard.dialect("openai")
WORDS = said_by_user(OPENAI)
SLACK = 20
"""How many steps more a long record may take: it depends on the length where a jump goes."""


@cache
def written(messages: int, *, pinned: bool = False) -> Record:
    """A record with so many messages in its context, the first of them perhaps pinned."""
    writer = Writer()
    writer.say(WORDS, "append", pin=pinned)
    while writer.record.context.count < messages - 4:
        writer.say(WORDS, "append")
    writer.exchange()
    writer.exchange()
    return writer.record


def every_kind(record: Record) -> dict[str, tuple[Record, Entry]]:
    """For every kind of entry but the two that are below: a record, and what comes next on it."""
    writer = Writer(record=record)
    found: dict[str, tuple[Record, Entry]] = {}

    def note(kind: str, before: Record, after: Record) -> None:
        found[kind] = (before, after.entry(before.length))

    note("mark", writer.record, writer.apply(Mark(seq=writer.seq, turn=writer.turn, name="m")))
    note("append", writer.record, writer.say(WORDS, "append"))
    item = msgspec.Raw(b"1")
    event = SliceEvent(seq=writer.seq, turn=writer.turn, slice_type="S", item_type="I", item=item)
    note("slice", writer.record, writer.apply(event))
    note("begin", writer.record, writer.begin())
    note("input", writer.record, writer.say(WORDS))
    note("invalid", writer.record, writer.answer("hal", problems=["cut"]))
    note("calls", writer.record, writer.call("a", "b"))
    intent = Intent(seq=writer.seq, turn=writer.turn, call=writer.key(1))
    note("intent", writer.record, writer.apply(intent))
    note("outcome", writer.record, writer.outcome(1))
    note("said meanwhile", writer.record, writer.say(WORDS, "append"))
    note("last outcome", writer.record, writer.outcome(0))
    note("answer", writer.record, writer.answer())
    note("end", writer.record, writer.end())
    return found


@cache
def kinds(messages: int) -> dict[str, Work]:
    nexts = every_kind(written(messages))
    return {kind: count(partial(record.apply, entry)) for kind, (record, entry) in nexts.items()}


@pytest.mark.parametrize("kind", every_kind(written(10)))
def test_an_entry_costs_the_same_on_a_record_of_any_length(kind: str) -> None:
    short, *longer = [kinds(messages)[kind] for messages in LENGTHS]
    assert short.steps > 50
    for work in longer:
        assert abs(work.steps - short.steps) <= SLACK
        assert work.memory <= 2 * short.memory + 1_000


@pytest.mark.parametrize("fork", [True, False])
def test_going_on_from_an_old_record_costs_the_same_as_from_the_newest(fork: bool) -> None:
    def work(messages: int) -> Work:
        writer = Writer(record=written(messages))
        old = writer.record
        if fork:
            writer.exchange()
        seq = old.length
        entry = Mark(seq=seq, turn=old.turn_number, name="m")
        return count(lambda: old.apply(entry))

    short, *longer = [work(messages) for messages in LENGTHS]
    assert all(abs(each.steps - short.steps) <= SLACK for each in longer)


def test_a_rewind_costs_the_same_wherever_it_goes() -> None:
    def work(messages: int, to: int) -> Work:
        record = written(messages)
        entry = Rewind(seq=record.length, turn=record.turn_number, to=to)
        assert record.apply(entry).context.count == to
        return count(lambda: record.apply(entry))

    short = work(10, 3)
    for messages, to in [(1_000, 3), (100_000, 3), (100_000, 50_000), (100_000, 99_990)]:
        assert abs(work(messages, to).steps - short.steps) <= SLACK
        assert work(messages, to).memory <= 2 * short.memory + 1_000


def compact(record: Record, keep: int, *, skip: int = 0) -> Callable[[], Record]:
    """A compaction that leaves so many messages at the end, and at the start."""
    lines = record.context.added()
    entry = Compaction(
        seq=record.length,
        turn=record.turn_number,
        first=lines[skip].entry.seq,
        last=lines[-1 - keep].entry.seq,
        messages=(msgspec.Raw(WORDS),),
        strategy="s",
    )
    return lambda: record.apply(entry)


@pytest.mark.parametrize(("pinned", "skip"), [(False, 0), (False, 2), (True, 0)])
def test_a_compaction_costs_what_is_left_and_not_what_it_replaces(pinned: bool, skip: int) -> None:
    works = []
    for messages in LENGTHS:
        compacted = compact(written(messages, pinned=pinned), 4, skip=skip)
        assert compacted().context.count == 1 + 4 + skip + pinned
        works.append(count(compacted))
    short, *longer = works
    for work in longer:
        assert work.steps < 3 * short.steps  # A jump doubles: there are few of them.
        assert work.memory <= 2 * short.memory + 1_000


def test_a_compaction_costs_in_proportion_to_what_is_left() -> None:
    record = written(100_000)
    few, many = (count(compact(record, keep)).steps for keep in (100, 1_000))
    assert 5 * few < many < 15 * few


@pytest.mark.parametrize("messages", LENGTHS)
def test_a_request_joins_few_pieces_however_long_the_context_is(messages: int) -> None:
    """All but the last of them were joined for an earlier request."""
    record = written(messages)
    record.context.segments(OPENAI)
    longer = Writer(record=record).exchange()
    assert len(longer.context.segments(OPENAI)) <= 64
    assert count(lambda: longer.context.segments(OPENAI)).steps < 10_000
