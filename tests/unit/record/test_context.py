"""The context: what is sent next, what a compaction leaves of it, and what pins keep."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import msgspec
import pytest

import hansard
from hansard.errors import DecodeError
from hansard.messages import user
from hansard.record import Record, blob, views
from hansard.record.compacting import covers
from hansard.record.context import Context, Line, Root, Stored, curated
from hansard.record.entries import Compaction, Rewind, Said
from tests.support.conversations import (
    DIALECTS,
    Writer,
    add_odd,
    calling,
    context_bytes,
    result_of,
    said_by_user,
)

if TYPE_CHECKING:
    from hansard.dialects.dialect import Dialect

OPENAI = hansard.dialect("openai")
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def texts(record: Record) -> list[str]:
    return [message.text for message in views.context(record)]


def lines_of(record: Record) -> list[bytes]:
    return [line.raw for line in record.context.lines()]


def compact(
    writer: Writer, first: int, last: int, *summary: str, tokens: int | None = None
) -> Record:
    raws = tuple([msgspec.Raw(said_by_user(writer.dialect, text)) for text in summary])
    entry = Compaction(
        seq=writer.seq,
        turn=writer.turn,
        at_us=7,
        first=first,
        last=last,
        messages=raws,
        strategy="s",
        tokens_after=tokens,
    )
    return writer.apply(entry)


def talk(*words: str, pin: str | None = None) -> Writer:
    """A record on which some words were appended, each an entry."""
    writer = Writer()
    for word in words:
        writer.say(word, "append", pin=word == pin)
    return writer


# -- what is sent ---------------------------------------------------------------------------------


@every_dialect
def test_messages_are_sent_as_they_were_said(dialect: Dialect) -> None:
    writer = Writer(dialect)
    odd = add_odd(dialect, said_by_user(dialect, "half \ud83d"))
    writer.begin()
    writer.say(odd)
    writer.answer()
    assert dialect.splice(odd) in context_bytes(writer.record)
    assert lines_of(writer.record)[0] == odd


@every_dialect
def test_a_request_grows_at_its_end_only(dialect: Dialect) -> None:
    """So that the provider knows the beginning again, and charges less for it."""
    writer = Writer(dialect)
    sent = b""
    for _ in range(40):
        writer.begin()
        writer.say()
        writer.call("a", "b")
        for position in (1, 0):
            writer.outcome(position)
            if not writer.record.pending:
                assert context_bytes(writer.record).startswith(sent)
                sent = context_bytes(writer.record)
        writer.answer()
        writer.end()
        assert context_bytes(writer.record).startswith(sent)
        sent = context_bytes(writer.record)


def test_what_was_joined_for_one_request_does_not_show_in_another() -> None:
    """Forks take the joined bytes from each other, and give the same ones all the same."""
    writer = talk(*[str(at) for at in range(200)])
    old, new = writer.record, writer.say("new", "append")
    fork = Writer(record=old).say("fork", "append")
    expected = {record: b",".join(lines_of(record)) for record in (old, new, fork)}
    for record in (old, new, fork, new, old, fork, old):
        assert context_bytes(record) == expected[record]


@every_dialect
def test_what_was_mended_for_one_request_stays_as_it_was_sent(dialect: Dialect) -> None:
    """Also where the next answer calls by the id that had to be given up."""
    writer = Writer(dialect)
    writer.say()
    writer.say(calling(dialect, "a"), "append")
    writer.begin()
    writer.say("Well?")
    sent = context_bytes(writer.record)
    writer.call("a")
    writer.outcome(0, "the answer")
    record = writer.record
    assert context_bytes(record).startswith(sent)
    loaded = blob.read(blob.write(record), hansard.dialect)
    assert context_bytes(loaded) == context_bytes(record)
    assert [repair.what for repair in views.repairs(record)] == ["interrupted"]
    spliced = [dialect.splice(message.raw) for message in views.context(record)]
    assert b",".join(spliced) == context_bytes(record)


@pytest.mark.parametrize("name", ["openai-responses", "anthropic"])
def test_of_calls_in_a_row_with_one_id_the_last_gets_the_result(name: str) -> None:
    """The model made it after the others had been given up, and they stay given up."""
    writer = Writer(name)
    writer.begin()
    writer.say()
    writer.call("a")
    writer.say(calling(writer.dialect, "a"), "append")
    writer.outcome(0, "first")
    sent = context_bytes(writer.record)
    writer.call("a")
    writer.outcome(0, "second")
    assert context_bytes(writer.record).startswith(sent)
    results = [r.text for message in views.context(writer.record) for r in message.tool_results]
    assert (results[0], results[2]) == ("first", "second")
    assert "interrupted" in results[1]


def test_a_root_is_not_looked_into_until_somebody_does() -> None:
    broken = Stored(OPENAI, b'{"role":', 1, tidy=True, plain=True)
    context = Context(broken).add(line("x", 5))
    assert (context.count, context.segments(OPENAI)[0]) == (2, b'{"role":')
    with pytest.raises(DecodeError):
        broken.items()


# -- finding one's way back -----------------------------------------------------------------------


def line(text: str, seq: int, *, pin: bool = False) -> Line:
    raw = OPENAI.say(user(text))[0].raw
    said = Said(seq=seq, role="user", author="append", raw=msgspec.Raw(raw), pin=pin)
    return Line(said, raw, raw, pin)


def test_any_context_on_the_way_back_is_found_and_in_few_steps(rng: random.Random) -> None:
    contexts = [Context(Root())]
    for seq in range(3_000):
        contexts.append(contexts[-1].add(line("x", seq)))
    for _ in range(300):
        start, wanted = sorted([rng.randrange(3_001), rng.randrange(3_001)], reverse=True)
        looks: list[int] = []

        def beyond(at: Context, wanted: int = wanted, looks: list[int] = looks) -> bool:
            looks.append(at.count)
            return at.count > wanted

        assert contexts[start].back(beyond) is contexts[wanted]
        assert len(looks) < 80


def test_a_place_is_never_before_an_earlier_one() -> None:
    context = Context(Root())
    for seq, place in [(4, 4), (2, 4), (9, 9), (3, 9)]:
        context = context.add(line("x", seq))
        assert context.place == place


# -- compaction -----------------------------------------------------------------------------------


def test_a_summary_stands_where_its_range_began() -> None:
    writer = talk("0", "1", "2", "3", "4")
    record = compact(writer, 1, 3, "1 to", "3", tokens=9)
    assert texts(record) == ["0", "1 to", "3", "4"]
    assert (record.tokens, record.compacted_us) == (9, 7)


def test_a_summary_of_nothing_is_an_omission() -> None:
    assert texts(compact(talk("0", "1", "2"), 0, 1)) == ["2"]


def test_summaries_are_summarized_with_what_came_after() -> None:
    writer = talk("0", "1", "2", "3")
    compact(writer, 0, 1, "0-1")
    writer.say("5", "append")
    assert texts(compact(writer, 0, 3, "0-3")) == ["0-3", "5"]
    assert texts(compact(writer, 0, 5, "all")) == ["all"]


def test_a_range_that_ends_within_a_summarized_one_leaves_that_summary() -> None:
    """It stands for more than the range has."""
    writer = talk("0", "1", "2", "3")
    compact(writer, 0, 2, "0-2")
    assert texts(compact(writer, 0, 1, "0-1")) == ["0-1", "0-2", "3"]


def test_what_no_model_has_seen_is_unseen_after_a_compaction_too() -> None:
    writer = Writer()
    writer.exchange()
    writer.say("new", "append")
    writer.say("newer", "append")
    assert (writer.record.processed, writer.record.context.count) == (2, 4)
    record = compact(writer, 0, 3, "so far")
    assert (record.processed, record.context.count) == (1, 3)
    record = compact(writer, 4, 4, "new")
    assert (record.processed, record.context.count) == (2, 3)


def test_a_compaction_that_tears_a_call_from_its_result_is_mended() -> None:
    writer = Writer()
    writer.begin()
    writer.say()
    writer.call("a")
    writer.outcome()
    writer.answer()
    writer.end()
    record = compact(writer, 3, 3, "a result")
    assert [repair.what for repair in views.repairs(record)] == ["interrupted"]
    assert context_bytes(record) == b",".join([message.raw for message in views.context(record)])


@pytest.mark.parametrize(("first", "last", "expected"), [(0, 1, True), (2, 2, True), (3, 9, False)])
def test_it_is_known_whether_a_range_has_anything_of_a_context(
    first: int, last: int, expected: bool
) -> None:
    compaction = Compaction(seq=10, first=first, last=last, messages=(), strategy="s")
    written = talk("0", "1", "2").record
    loaded = blob.read(blob.write(written), hansard.dialect)
    assert covers(compaction, written.context) is expected
    assert covers(compaction, loaded.context) is expected
    assert covers(compaction, Context(Root())) is False


def test_what_was_loaded_is_compacted_like_what_was_said_here() -> None:
    writer = talk("0", "1", "2", "3", pin="2")
    for first, last in [(0, 2), (1, 1), (0, 3), (3, 3)]:
        fresh = compact(Writer(record=writer.record), first, last, "so far")
        loaded = Writer(record=blob.read(blob.write(writer.record), hansard.dialect))
        assert texts(compact(loaded, first, last, "so far")) == texts(fresh)
        loaded.say("4", "append")
        assert texts(compact(loaded, 0, 4, "all")) == ["all", "2", "4"]


# -- pins -----------------------------------------------------------------------------------------


def test_what_is_pinned_outlives_every_compaction() -> None:
    writer = talk("0", "keep", "2", "3", pin="keep")
    assert texts(compact(writer, 0, 2, "0-2")) == ["0-2", "keep", "3"]
    assert texts(compact(writer, 0, 4, "0-4")) == ["0-4", "keep"]
    writer.say("6", "append")
    assert texts(compact(writer, 0, 6, "all")) == ["all", "keep"]
    loaded = Writer(record=blob.read(blob.write(writer.record), hansard.dialect))
    assert texts(compact(loaded, 0, 7, "all again")) == ["all again", "keep"]


def test_what_is_pinned_before_something_that_had_to_be_mended_stays_too() -> None:
    writer = talk("0", "keep", pin="keep")
    writer.say(calling(OPENAI, "a"), "append")
    writer.exchange()
    assert [repair.what for repair in views.repairs(writer.record)] == ["interrupted"]
    assert "keep" in texts(compact(writer, 0, writer.seq - 1, "so far"))


@every_dialect
@pytest.mark.parametrize("pinned", ["answer", "results", "said meanwhile"])
def test_of_an_exchange_in_which_anything_is_pinned_the_calls_and_results_stay(
    dialect: Dialect, pinned: str
) -> None:
    writer = Writer(dialect)
    writer.say("before")
    raw = calling(dialect, "a", "b")
    writer.say(raw, "append", pin=pinned == "answer")
    for position in (0, 1):
        writer.say(result_of(dialect, raw, position), "append", pin=pinned == "results")
    writer.say("meanwhile", "append", pin=pinned == "said meanwhile")
    writer.say("after", "append")
    record = compact(writer, 0, writer.seq - 1, "so far")
    words = ["so far", "meanwhile"] if pinned == "said meanwhile" else ["so far"]
    assert [text for text in texts(record) if text] == words
    calls = [call for message in views.context(record) for call in message.tool_calls]
    results = [result for message in views.context(record) for result in message.tool_results]
    assert len(calls) == len(results) == (0 if pinned == "said meanwhile" else 2)
    assert all("interrupted" not in result.text for result in results)


def test_pinned_words_that_went_among_results_keep_these() -> None:
    """Anthropic takes both in one message, which is then pinned whole."""
    writer = Writer("anthropic")
    writer.begin()
    writer.say("Hello")
    writer.call("a")
    writer.say("keep", "append", pin=True)
    writer.outcome()
    writer.answer()
    writer.end()
    assert [line.pin for line in writer.record.context.lines()] == [False, False, True, False]
    record = compact(writer, 0, writer.seq - 1, "so far")
    assert [message.role for message in views.context(record)] == ["user", "assistant", "user"]
    assert texts(record)[2] == "keep"
    assert views.repairs(record) == ()


def test_pinned_results_of_no_call_keep_nothing_else() -> None:
    writer = talk("0", "1")
    orphan = result_of(OPENAI, calling(OPENAI, "a"), 0)
    writer.say(orphan, "append", pin=True)
    record = compact(writer, 0, 2, "so far")
    assert lines_of(record) == [said_by_user(OPENAI, "so far"), orphan]
    assert texts(record) == ["so far"]


# -- all of it ------------------------------------------------------------------------------------


def test_the_curated_history_is_as_if_nothing_had_been_compacted() -> None:
    writer = talk("0", "1", "2", "3", pin="1")
    compact(writer, 0, 2, "0-2")
    writer.say("5", "append")
    compact(writer, 0, 5, "0-5")
    writer.say("7", "append")
    assert texts(writer.record) == ["0-5", "1", "7"]
    said = [hansard.Message(OPENAI, line.raw).text for line in curated(writer.record.context)]
    assert said == ["0", "1", "2", "3", "5", "7"]
    writer.apply(Rewind(seq=writer.seq, to=2))
    said = [hansard.Message(OPENAI, line.raw).text for line in curated(writer.record.context)]
    assert said == ["0", "1"]
