"""States as accidents and attackers make them, and what has to be true of whatever comes of them.

Damaged states are what accidents make. Forged ones have right sums over wrong content, as whoever
can write states can make them: the checks behind the sums must stand alone.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

import hansard
from hansard.dialects.dialect import Ask
from hansard.errors import DecodeError, SealBroken, Unsayable
from hansard.rawjson import DEPTH_MAX
from hansard.record import goformat, views
from hansard.record.entries import Compaction
from hansard.sealing import Keyring
from tests.fuzz.hunting import Case
from tests.fuzz.mutate import Specimen, damaged
from tests.support.conversations import Writer, wire_messages

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from hansard.record.record import Record

REASONS = frozenset(re.findall("``([a-z_0-9]+)``", hansard.Rejected.__doc__ or ""))
"""The codes that callers are told of. There are no others."""

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
    for record in records(name):
        with suppress(Unsayable):
            written.append(hansard.save(record, version=1))
    written.append(hansard.save(records(name)[1], keyring=KEYRING, owner="u7"))
    return tuple([Specimen(bytes(data)) for data in written])


@cache
def go_states(name: str) -> tuple[Specimen, ...]:
    return tuple([each for each in states(name) if each.data.startswith(b'{"version":1')])


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
    with suppress(Unsayable):
        hansard.save(record, version=1)


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


def judge_go(name: str) -> Callable[[bytes], object]:
    """What is read quickly is read the same slowly, where an unknown member in front sends it."""

    def judged(data: bytes) -> None:
        assert read_go(data) == read_go(b" " + data)
        if data.startswith(b'{"'):
            assert read_go(data) == read_go(b'{"x":0,' + data[1:])
        loaded = hansard.load(data, hansard.dialect(name), conversation="c")
        assert not why_not(views.context, loaded.record)

    return judged


def why_not(use: Callable[[Record], object], record: Record) -> str:
    try:
        use(record)
    except DecodeError as error:
        return error.reason
    return ""


def read_go(data: bytes) -> goformat.GoBlob | tuple[str, str]:
    try:
        return goformat.read(data, depth_max=DEPTH_MAX)
    except DecodeError as error:
        return error.reason, error.path


# -- cases ---------------------------------------------------------------------------------------


def damaged_state(name: str, rng: random.Random) -> Case:
    data = damaged(rng, rng.choice(states(name)), states(name))
    return Case(data, judge(name, (rng.choice(USES),)))


def damaged_go_state(name: str, rng: random.Random) -> Case:
    data = damaged(rng, rng.choice(go_states(name)), go_states(name))
    return Case(data, judge_go(name))


def forged_state(name: str, rng: random.Random) -> Case:
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
