"""What goes into a state comes out of it, token for token, however it was kept meanwhile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import hansard
from hansard import rawjson
from hansard.dialects.dialect import Ask
from hansard.errors import DecodeError, Unsayable
from hansard.record import blob, gomessages, versions, views
from hansard.sealing import Keyring
from tests.conftest import scale
from tests.property.strategies import ANY_TEXT, json_objects
from tests.support.conversations import DIALECTS, Writer, wire_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hansard.dialects.dialect import Dialect
    from hansard.record.record import Record

KEYRING = Keyring.single(b"k" * 32)
COMPRESSIONS: tuple[Literal["gzip"] | None, ...] = (None, "gzip")

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=[dialect.name for dialect in DIALECTS])
FEW = settings(max_examples=scale(15, 500))
"""Each test runs once a dialect, and each example is a whole conversation."""

KEPT = pytest.mark.parametrize("compress", COMPRESSIONS, ids=["plain", "gzip"])
SEALED = pytest.mark.parametrize("keyring", [None, KEYRING], ids=["open", "sealed"])


def native(dialect: Dialect) -> st.SearchStrategy[bytes]:
    """Messages that were collected by hand, and odd objects that the dialect takes for messages."""
    return st.one_of(
        st.sampled_from(wire_messages(dialect.name)),
        json_objects().filter(lambda raw: is_message(dialect, raw)),
    )


def is_message(dialect: Dialect, raw: bytes) -> bool:
    try:
        dialect.message(raw)
    except DecodeError:
        return False
    return True


def recorded(dialect: Dialect, raws: Sequence[bytes], *, conversation: str = "c0") -> Record:
    """The messages as appended ones, between turns and in one that has ended."""
    writer = Writer(dialect, hansard.Record(conversation, dialect))
    for raw in raws[::2]:
        writer.say(dialect.message(raw).raw, "append")
    writer.begin("turn \ud800")
    writer.say("Hello")
    for raw in raws[1::2]:
        writer.say(dialect.message(raw).raw, "append")
    writer.answer("Hi")
    return writer.end()


def reloaded(
    record: Record,
    version: int = 2,
    *,
    compress: Literal["gzip"] | None = None,
    keyring: Keyring | None = None,
) -> Record:
    state = hansard.save(record, version=version, compress=compress, keyring=keyring, owner="u7")
    loaded = hansard.load(state, record.dialect, conversation="other", keyring=keyring, owner="u7")
    assert loaded.rejected is None
    return loaded.record


def is_sayable(record: Record, version: int) -> bool:
    """Whether a version has words for a record: a role that is no text, say, version 1 has not."""
    try:
        hansard.save(record, version=version)
    except Unsayable:
        return False
    return True


def raws_of(record: Record) -> list[bytes]:
    return [line.raw for line in record.context.lines()]


def in_request(record: Record) -> bool:
    """Whether the context stands in a request, byte for byte."""
    dialect = record.dialect
    sent = b",".join([dialect.splice(message.raw) for message in views.context(record)])
    return sent in dialect.request(Ask("some-model", record.context.segments(dialect))).body


def tokens(raw: bytes) -> bytes:
    return rawjson.compact(raw)


# -- out as it came in ------------------------------------------------------------------------


@EACH
@KEPT
@SEALED
def test_collected_messages_come_out_token_for_token(
    dialect: Dialect, compress: Literal["gzip"] | None, keyring: Keyring | None
) -> None:
    raws = wire_messages(dialect.name)
    record = recorded(dialect, raws)
    again = reloaded(record, compress=compress, keyring=keyring)
    assert raws_of(again) == raws_of(record)
    assert set(map(tokens, raws)) <= set(raws_of(again))
    assert [message.raw for message in views.context(again)] == [
        message.raw for message in views.context(record)
    ]
    assert in_request(again)


@EACH
@FEW
@given(data=st.data())
def test_any_message_comes_out_token_for_token(dialect: Dialect, data: st.DataObject) -> None:
    raws = data.draw(st.lists(native(dialect), max_size=4))
    record = recorded(dialect, raws, conversation=data.draw(ANY_TEXT))
    again = reloaded(
        record,
        compress=data.draw(st.sampled_from(COMPRESSIONS)),
        keyring=data.draw(st.sampled_from([None, KEYRING])),
    )
    assert raws_of(again) == raws_of(record)
    assert again.conversation == record.conversation
    expected = [dialect.message(raw).raw for raw in raws]
    said = [*expected, *raws_of(recorded(dialect, []))]
    assert [raw for raw in raws_of(again) if raw in expected] == [
        *expected[::2],
        *expected[1::2],
    ] or len(set(said)) < len(said)
    assert in_request(again)


@EACH
@FEW
@given(data=st.data())
def test_version_1_keeps_equal_values_and_then_equal_bytes(
    dialect: Dialect, data: st.DataObject
) -> None:
    """The first time Go's spelling is put on; what has it is never touched again."""
    raws = data.draw(st.lists(native(dialect), max_size=4))
    record = recorded(dialect, raws)
    assume(is_sayable(record, 1))
    again = reloaded(record, version=1)
    assert [json.loads(m) for m in reread(again)] == [json.loads(m) for m in reread(record)]
    first = hansard.save(again, version=1)
    assert hansard.save(reloaded(again, version=1), version=1) == first
    assert in_request(reloaded(again))


def reread(record: Record) -> list[bytes]:
    """Messages without the empty fields that Go leaves out; items one by one, as Go keeps them."""
    raws = raws_of(record)
    if record.dialect.itemized:
        return [
            item
            for raw in raws
            for item in (rawjson.elements(raw) if raw.startswith(b"[") else [raw])
        ]
    if record.dialect.name != "openai":
        return raws
    return [gomessages.spell(raw) for raw in raws]


@EACH
@FEW
@given(data=st.data())
def test_what_was_loaded_is_saved_as_it_was(dialect: Dialect, data: st.DataObject) -> None:
    raws = data.draw(st.lists(native(dialect), max_size=3))
    state = hansard.save(recorded(dialect, raws))
    once = blob.read(state, hansard.dialect)
    assert blob.write(once) == state
    assert views.context(once) is not None
    assert blob.write(once) == state


# -- generations ------------------------------------------------------------------------------


STEPS: tuple[Callable[[Writer], object], ...] = (
    lambda writer: writer.exchange("naïve \ud83d", "🜁"),
    lambda writer: writer.say("Hello", "append", pin=True),
    lambda writer: writer.begin("t9"),
    lambda writer: writer.call("a", "b"),
    lambda writer: writer.outcome(0),
    lambda writer: writer.outcome(1),
    lambda writer: writer.outcome(1, None),
    lambda writer: writer.answer("Done."),
    lambda writer: writer.end(),
    lambda writer: writer.end("abandoned"),
)


@EACH
@FEW
@given(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.booleans()), max_size=14))
def test_saving_in_between_changes_nothing(
    dialect: Dialect, steps: list[tuple[Callable[[Writer], object], bool]]
) -> None:
    """Checksums that went on and headers that were lengthened are those of a blob from scratch."""
    straight, broken = Writer(dialect), Writer(dialect)
    for step, saves in steps:
        before = straight.record
        try:
            step(straight)
        except (hansard.Invalid, AssertionError):
            straight.record = before
            continue
        step(broken)
        if saves:
            broken.record = reloaded(broken.record)
            assert broken.record.phase == straight.record.phase
            assert broken.record.pending == straight.record.pending
    assert without_turns(hansard.save(broken.record)) == without_turns(
        hansard.save(straight.record)
    )
    written = hansard.save(broken.record)
    assert hansard.save(reloaded(broken.record)) == written


def without_turns(data: bytes) -> dict[str, Any]:
    """All but the headers of turns that left no message, which a loaded record has not."""
    parsed: dict[str, Any] = json.loads(data)
    del parsed["turns"], parsed["sum"]
    return parsed


@EACH
def test_two_generations_are_one_blob(dialect: Dialect) -> None:
    once, twice = Writer(dialect), Writer(dialect)
    for raw in wire_messages(dialect.name):
        for writer in (once, twice):
            writer.say(raw, "append")
            writer.exchange()
        twice.record = reloaded(twice.record)
    assert hansard.save(twice.record) == hansard.save(once.record)


@EACH
def test_an_open_turn_goes_on_where_it_was(dialect: Dialect) -> None:
    writer = Writer(dialect)
    writer.exchange()
    writer.begin("turn \ud800")
    writer.say("Book it")
    writer.call("a", "b")
    writer.say("Quick", "append")
    writer.outcome(1)
    again = Writer(dialect, reloaded(writer.record))
    assert list(again.record.entries()) == list(writer.record.entries(again.record.base))
    assert [call.id for call in again.record.pending] == ["a"]
    for each in (writer, again):
        each.outcome(0)
        each.answer("Done.")
        each.end()
    assert raws_of(again.record) == raws_of(writer.record)
    assert hansard.save(again.record) == hansard.save(writer.record)


# -- upgrades ---------------------------------------------------------------------------------


@EACH
@FEW
@given(data=st.data(), version=st.sampled_from([1, 2]))
def test_an_upgrade_keeps_the_messages_and_is_done_once(
    dialect: Dialect, data: st.DataObject, version: int
) -> None:
    raws = data.draw(st.lists(native(dialect), max_size=3))
    record = recorded(dialect, raws)
    assume(is_sayable(record, version))
    state = hansard.save(record, version=version)
    upgraded = versions.upgrade(state, hansard.dialect, conversation="u")
    assert versions.version_of(upgraded) == versions.CURRENT
    assert versions.upgrade(upgraded, hansard.dialect, conversation="v") == upgraded
    assert (upgraded == state) == (version == 2)
    before = versions.read(state, hansard.dialect, conversation="w")
    after = versions.read(upgraded, hansard.dialect, conversation="w")
    assert raws_of(after) == raws_of(before)
    assert after.processed == before.processed


# -- damage -----------------------------------------------------------------------------------


def small() -> bytes:
    """A state with something of everything, as small as can be."""
    writer = Writer("openai")
    writer.exchange("a", "b")
    writer.begin()
    writer.say("c")
    writer.call("d")
    return bytes(hansard.save(writer.record))


def test_no_flipped_bit_is_taken_for_another_record() -> None:
    data = small()
    openai = hansard.dialect("openai")
    flipped = bytearray(data)
    for bit in range(8 * len(data)):
        flipped[bit // 8] ^= 1 << bit % 8
        loaded = hansard.load(bytes(flipped), openai, conversation="f")
        assert loaded.rejected is not None or hansard.save(loaded.record) == data, bit
        flipped[bit // 8] ^= 1 << bit % 8


def test_no_part_of_a_state_is_taken_for_a_whole() -> None:
    data = small()
    openai = hansard.dialect("openai")
    for state in (data, bytes(hansard.save(blob.read(data, hansard.dialect), compress="gzip"))):
        for length in range(1, len(state)):
            for part in (state[:length], state[length:]):
                assert hansard.load(part, openai, conversation="f").rejected is not None, length


def test_an_entry_in_a_state_is_the_entry_that_was_recorded() -> None:
    loaded = blob.read(small(), hansard.dialect)
    [begin, said, answer] = loaded.entries()
    assert (begin.seq, said.seq, answer.seq) == (4, 5, 6)
    assert msgspec.json.decode(blob.write(loaded))["next"] == 4
