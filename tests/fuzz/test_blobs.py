"""Whatever bytes come as a state, they are a record or a refusal, and a record can be used.

Damaged states are what accidents make. Forged ones have right sums over wrong content, as whoever
can write states can make them: the checks behind the sums must stand alone.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec
import pytest

import hansard
from hansard.dialects.dialect import Ask
from hansard.errors import DecodeError, Invalid, SealBroken
from hansard.record import views
from hansard.record.entries import Compaction
from hansard.sealing import Keyring
from tests.conftest import scale
from tests.fuzz.mutate import Case, Specimen, damaged, hunt
from tests.support.conversations import FOLDERS, Writer, wire_messages

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from hansard.record.record import Record

REASONS = frozenset(re.findall("``([a-z_0-9]+)``", hansard.Rejected.__doc__ or ""))
"""The codes that callers are told of. There are no others."""

SHARDS = 3
CASES = scale(10_000, 1_000_000) // (len(FOLDERS) * (SHARDS + 1))
KEYRING = Keyring.single(b"k" * 32)
MESSAGE_MAX = 800
"""Longer messages would make the cases few, and no case another."""

PARTS = re.compile(
    rb'\{"version":2,"dialect":("[^"]*+"),"id":("[^"]*+"),"size":([0-9]+),"crc":"[0-9a-f]{8}","messages":\['
)


# -- sound states -----------------------------------------------------------------------------


@cache
def records(name: str) -> tuple[Record, ...]:
    """Small records: native messages between turns and in turns, open turns, a compaction."""
    writer = Writer(name)
    raws = [raw for raw in wire_messages(name) if len(raw) <= MESSAGE_MAX]
    found = [writer.record]
    for start in range(0, len(raws), 3):
        writer = Writer(name)
        writer.exchange("Where \ud83d am I?")
        for raw in raws[start : start + 3]:
            writer.say(raw, "append", pin=True)
        found.append(writer.record)
        writer.begin("turn \ud800")
        writer.say("Book it.")
        writer.call("a", "b")
        writer.outcome(1)
        found.append(writer.record)
        writer.outcome(0)
        found.append(writer.answer("Done."))
        writer.end()
        found.append(writer.exchange("Thanks", "Welcome"))
    said = wire_messages(name)[0]
    record = writer.record
    summary = Compaction(
        seq=record.length,
        turn=writer.turn,
        first=0,
        last=2,
        messages=(msgspec.Raw(said),),
        strategy="s",
    )
    return (*found, record.apply(summary), Writer(name, record.apply(summary)).exchange())


@cache
def states(name: str) -> tuple[Specimen, ...]:
    """Records as states of every kind."""
    written = [hansard.save(record) for record in records(name)]
    written += [hansard.save(record, compress="gzip") for record in records(name)[:4]]
    written += [hansard.save(record, version=1) for record in records(name) if record.turn is None]
    written.append(hansard.save(records(name)[1], keyring=KEYRING, owner="u7"))
    return tuple([Specimen(bytes(data)) for data in written])


@cache
def parted(name: str) -> tuple[tuple[Specimen, Specimen], ...]:
    """The messages of states of version 2, and all that follows them."""
    found = []
    for record in records(name):
        data = hansard.save(record)
        head = PARTS.match(data)
        assert head is not None
        end = head.end() + int(head[3])
        found.append((Specimen(data[head.end() : end]), Specimen(data[end + 2 : -18])))
    return tuple(found)


def forged(name: bytes, conversation: bytes, messages: bytes, rest: bytes) -> bytes:
    """A state of version 2 with the right sums, whatever it says."""
    start = b'{"version":2,"dialect":%b,"id":%b,"size":%d,"crc":"%08x","messages":[' % (
        name,
        conversation,
        len(messages),
        crc32(messages),
    )
    rest = b"]," + rest
    return b'%b%b%b,"sum":"%08x"}' % (start, messages, rest, crc32(rest, crc32(start)))


# -- what is done with them -------------------------------------------------------------------


def request(record: Record) -> None:
    ask = Ask("some-model", record.context.segments(record.dialect))
    record.dialect.request(ask)


def save(record: Record) -> None:
    """What is saved can be loaded, or is refused again."""
    data = hansard.save(record)
    hansard.load(data, record.dialect, conversation="c")


def save_first(record: Record) -> None:
    try:
        hansard.save(record, version=1)
    except Invalid:
        assert record.turn is not None


def go_on(record: Record) -> None:
    """Finish what is open, say something, answer it, and save."""
    writer = Writer(record.dialect, record)
    if record.turn is not None:
        writer.end("done" if record.phase == "answered" else "abandoned")
    writer.exchange()
    hansard.save(writer.record)


USES: tuple[Callable[[Record], object], ...] = (
    views.context,
    views.curated,
    views.comprehensive,
    views.repairs,
    request,
    save,
    save_first,
    go_on,
)


def judge(name: str, uses: tuple[Callable[[Record], object], ...]) -> Callable[[bytes], object]:
    def judged(data: bytes) -> None:
        try:
            loaded = hansard.load(
                data,
                hansard.dialect(name),
                conversation="c",
                keyring=KEYRING if data.startswith(b"\x9eHSL") else None,
                owner="u7",
            )
        except SealBroken:
            assert data.startswith(b"\x9eHSL")
            return
        if loaded.rejected is not None:
            assert loaded.rejected.reason in REASONS
            assert loaded.rejected.blob == data
            assert loaded.record.conversation == "c"
        for use in uses:
            try:
                use(loaded.record)
            except DecodeError:
                assert loaded.rejected is None

    return judged


@pytest.mark.parametrize("name", FOLDERS)
def test_a_damaged_state_is_a_record_or_a_refusal(name: str, seed: int, tmp_path: Path) -> None:
    def case(rng: random.Random) -> Case:
        data = damaged(rng, rng.choice(states(name)), states(name))
        return Case(data, judge(name, (rng.choice(USES),)))

    hunt(f"damaged-{name}", seed, CASES, case, tmp_path)


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("name", FOLDERS)
def test_a_forged_state_is_a_record_or_a_typed_error(
    name: str, shard: int, seed: int, tmp_path: Path
) -> None:
    def case(rng: random.Random) -> Case:
        messages, rest = rng.choice(parted(name))
        others = rng.choice(parted(name))
        where = rng.random()
        data = forged(
            b'"%b"' % name.encode(),
            b'"c0"' if where < 0.98 else damaged(rng, Specimen(b'"c0"'), states(name)),
            damaged(rng, messages, others) if where < 0.4 else messages.data,
            damaged(rng, rest, others) if where > 0.3 else rest.data,
        )
        return Case(data, judge(name, (rng.choice(USES),)))

    hunt(f"forged-{name}-{shard}", seed, CASES, case, tmp_path)
