"""The views of one record: each says what it promises, and all of them agree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

import hansard
from hansard.neutral import conversation_state
from hansard.record import Record, blob, views
from hansard.record.entries import Compaction, Outcome, Rewind
from tests.support.conversations import (
    DIALECTS,
    Writer,
    answered,
    calling,
    context_bytes,
    result_of,
    said_by_user,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard import Message
    from hansard.dialects.dialect import Dialect

every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def words(messages: Iterable[Message]) -> list[str]:
    """What was said, results too, in order."""
    said = []
    for message in messages:
        said += [result.text for result in message.tool_results]
        said += [message.text] if message.text else []
    return said


def raws(messages: Iterable[Message]) -> list[bytes]:
    return [message.raw for message in messages]


def neutral_words(record: Record) -> list[str]:
    said = []
    for turn in conversation_state(record).turns:
        said += [each.content for each in turn.input_messages]
        said += [turn.assistant_message.content]
        said += [each.content for each in turn.tool_messages]
    return [text for text in said if text]


def compact(writer: Writer, first: int, last: int, text: str) -> Record:
    return writer.apply(
        Compaction(
            seq=writer.seq,
            turn=writer.turn,
            first=first,
            last=last,
            messages=(msgspec.Raw(said_by_user(writer.dialect, text)),),
            strategy="s",
        )
    )


def two_turns(dialect: Dialect) -> Writer:
    """A turn with parallel calls, then one that needed two attempts at an answer."""
    writer = Writer(dialect)
    writer.begin("one")
    writer.say("Hello")
    writer.call("a", "b")
    writer.outcome(1, "did b")
    writer.outcome(0, "did a")
    writer.answer("Done")
    writer.end()
    writer.begin("two")
    writer.say("Thanks")
    writer.answer("You are wel", problems=["cut"])
    writer.answer("Welcome")
    writer.end()
    return writer


SAID = ["Hello", "did a", "did b", "Done", "Thanks", "Welcome"]


@every_dialect
def test_the_views_of_valid_turns_agree(dialect: Dialect) -> None:
    record = two_turns(dialect).record
    assert words(views.curated(record)) == SAID
    assert words(views.context(record)) == SAID
    assert neutral_words(record) == SAID
    assert raws(views.context(record)) == raws(views.curated(record))
    spliced = [dialect.splice(raw) for raw in raws(views.context(record))]
    assert context_bytes(record) == b",".join(spliced)
    assert views.repairs(record) == ()


@every_dialect
def test_only_the_comprehensive_view_has_what_was_not_valid(dialect: Dialect) -> None:
    record = two_turns(dialect).record
    assert words(views.comprehensive(record)) == [*SAID[:5], "You are wel", "Welcome"]
    valid = [m for m in views.comprehensive(record) if m.text != "You are wel"]
    assert raws(valid) == raws(views.curated(record))


@every_dialect
def test_a_view_is_the_same_however_often_it_is_looked_at(dialect: Dialect) -> None:
    record = two_turns(dialect).record
    for view in (views.context, views.curated, views.comprehensive):
        assert view(record) == view(record)
    assert conversation_state(record) == conversation_state(record)


@every_dialect
def test_a_compaction_is_in_the_context_alone(dialect: Dialect) -> None:
    writer = two_turns(dialect)
    before = writer.record
    record = compact(writer, 0, 6, "So far")
    assert words(views.context(record)) == ["So far", "Thanks", "Welcome"]
    assert views.curated(record) == views.curated(before)
    assert views.comprehensive(record) == views.comprehensive(before)
    assert neutral_words(record) == neutral_words(before)


@every_dialect
def test_what_was_rewound_is_in_the_comprehensive_view_alone(dialect: Dialect) -> None:
    writer = two_turns(dialect)
    before = writer.record
    record = writer.apply(Rewind(seq=writer.seq, turn=writer.turn, to=7))
    assert words(views.context(record)) == SAID[:4]
    assert words(views.curated(record)) == SAID[:4]
    assert neutral_words(record) == SAID[:4]
    assert views.comprehensive(record) == views.comprehensive(before)


@every_dialect
@pytest.mark.parametrize("status", ["failed", "abandoned"])
def test_a_turn_that_came_to_nothing_is_in_the_comprehensive_view_alone(
    dialect: Dialect, status: str
) -> None:
    writer = two_turns(dialect)
    before = writer.record
    writer.begin("three")
    writer.say("And now?")
    writer.answer("Er", problems=["empty"])
    record = writer.end(status)
    assert views.context(record) == views.context(before)
    assert views.curated(record) == views.curated(before)
    assert neutral_words(record) == SAID
    assert words(views.comprehensive(record))[-2:] == ["And now?", "Er"]


@every_dialect
def test_an_open_round_shows_its_calls_and_keeps_its_results_back(dialect: Dialect) -> None:
    """What a model is sent next has all results or none; who reads along sees what there is."""
    writer = Writer(dialect)
    writer.begin()
    writer.say("Hello")
    writer.call("a", "b")
    writer.outcome(1, "did b")
    record = writer.say("meanwhile", "append")
    assert words(views.context(record)) == words(views.curated(record)) == ["Hello"]
    assert [call.id for call in views.context(record)[1].tool_calls] == ["a", "b"]
    assert words(views.comprehensive(record)) == ["Hello", "did b", "meanwhile"]
    # Words that went into the message of a result, as Anthropic has it, are no user's message.
    assert neutral_words(record)[:2] == ["Hello", "did b"]
    assert views.repairs(record) == ()


@every_dialect
def test_an_interrupted_call_is_answered_in_what_is_sent_and_was_never_said(
    dialect: Dialect,
) -> None:
    writer = Writer(dialect)
    writer.begin()
    writer.say("Hello")
    writer.call("a", "b")
    writer.outcome(1, "did b")
    record = writer.end("abandoned")
    sent = words(views.context(record))
    assert (sent[0], sent[2]) == ("Hello", "did b")
    assert "interrupted" in sent[1]
    assert words(views.curated(record)) == sent
    assert words(views.comprehensive(record)) == ["Hello", "did b"]


def test_a_late_outcome_is_in_no_view() -> None:
    writer = two_turns(hansard.dialect("openai"))
    before = writer.record
    call = next(entry.call for entry in before.entries() if isinstance(entry, Outcome))
    late = Outcome(
        seq=writer.seq, turn=2, call=call, status="ok", raw=msgspec.Raw(b'{"late":true}')
    )
    record = writer.apply(late)
    for view in (views.context, views.curated, views.comprehensive):
        assert view(record) == view(before)


# -- repair ---------------------------------------------------------------------------------------


@every_dialect
def test_orphans_are_mended_in_the_context_alone_and_what_was_done_is_told(
    dialect: Dialect,
) -> None:
    writer = Writer(dialect)
    writer.say("Hello", "append")
    call, other = calling(dialect, "a"), calling(dialect, "zz")
    orphan = result_of(dialect, other, 0, "of no call").replace(b'"f0"', b'"f9"')
    writer.say(call, "append")
    writer.say("Well?", "append")
    writer.say(orphan, "append")
    record = writer.say("Bye", "append")
    assert {repair.what for repair in views.repairs(record)} == {"interrupted", "orphan_result"}
    assert raws(views.curated(record)) == [
        *(said_by_user(dialect, "Hello"), call, said_by_user(dialect, "Well?")),
        *(orphan, said_by_user(dialect, "Bye")),
    ]
    assert views.comprehensive(record) == views.curated(record)
    sent = words(views.context(record))
    assert "of no call" not in sent
    assert "interrupted" in sent[1]
    assert (sent[0], "".join(sent[2:])) == ("Hello", "Well?Bye")
    spliced = [dialect.splice(raw) for raw in raws(views.context(record))]
    assert context_bytes(record) == b",".join(spliced)


@every_dialect
def test_a_context_that_is_in_order_is_sent_as_it_is(dialect: Dialect) -> None:
    writer = Writer(dialect)
    call = calling(dialect, "a", "b")
    writer.say("Hello", "append")
    writer.say(call, "append")
    fragments = [
        dialect.result(one, one.answer("done")) for one in hansard.Message(dialect, call).tool_calls
    ]
    for message in dialect.frame(fragments):
        writer.say(message, "append")
    record = writer.say(answered(dialect), "append", role="assistant")
    assert views.repairs(record) == ()
    assert raws(views.context(record)) == raws(views.curated(record))


def test_what_the_provider_refuses_to_take_is_cut_from_what_is_sent_alone() -> None:
    writer = Writer("anthropic")
    odd = b'{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"Hi"}]}'
    record = writer.say(odd, "append")
    assert raws(views.context(record)) == [
        b'{"role":"user","content":[{"type":"text","text":"Hi"}]}'
    ]
    assert raws(views.curated(record)) == raws(views.comprehensive(record)) == [odd]


# -- loading --------------------------------------------------------------------------------------


@every_dialect
def test_a_record_that_was_loaded_has_the_same_context_and_what_is_left_of_the_rest(
    dialect: Dialect,
) -> None:
    writer = two_turns(dialect)
    record = compact(writer, 0, 6, "So far")
    loaded = blob.read(blob.write(record), hansard.dialect)
    assert views.context(loaded) == views.context(record)
    for view in (views.curated, views.comprehensive):
        assert words(view(loaded)) == ["So far", "Thanks", "Welcome"]
    assert neutral_words(loaded) == ["So far", "Thanks", "Welcome"]
