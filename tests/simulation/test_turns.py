"""Turns in which a process is gone, left, stopped or late at every place where it can be.

Whatever happens, whoever resumes comes to the same conversation, byte for byte, and no tool has
done what its policy does not permit.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pytest

from hansard import clock, load, save
from hansard.dialects.registry import dialect as dialect_named
from hansard.drivers.acts import Left
from hansard.errors import ProviderError, TimedOut
from hansard.messages import user
from hansard.record import views
from hansard.record.entries import Attempt, Decision, Outcome, Said, TurnEnd
from hansard.record.record import Record
from hansard.talk.decisions import decide, settle
from hansard.tools import results
from hansard.turn import writing
from hansard.turn.effects import Wait
from tests.conftest import scale
from tests.simulation.process import Cancelled, Crash, Mishap, Process
from tests.simulation.world import TOOLS, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hansard.record.entries import Entry
    from hansard.turn.effects import Finish

Mishaps: TypeAlias = "list[tuple[int, Mishap]]"
"""What happens to one process after the other, and where."""

KINDS: tuple[Mishap, ...] = ("crash", "stop", "late")
NONE: tuple[int, Mishap] = (10**6, "crash")
NO_EFFECT = {"failing", "failing_again", "unsayable"}
PROCESSES_MAX = 60
"""A turn that needs more than this many goes round in circles."""


@dataclass
class Played:
    """How a turn went."""

    record: Record
    world: World
    places: list[int] = field(default_factory=list)

    @property
    def context(self) -> list[bytes]:
        return [message.raw for message in views.context(self.record)]

    @property
    def end(self) -> tuple[str, str]:
        last = self.record.entry(self.record.length - 1)
        assert isinstance(last, TurnEnd)
        return last.status, last.error


def play(seed: int, mishaps: Iterable[tuple[int, Mishap]] = ()) -> Played:
    """Play the turn of a seed to its end. Each process meets one mishap, until there are none."""
    world = World(seed)
    record = Record("simulated", dialect_named(world.nature.dialect))
    coming = iter(mishaps)
    places: list[int] = []
    in_doubt = False
    for _ in range(PROCESSES_MAX):
        at, kind = next(coming, NONE)
        process = Process(world, record, at, kind)
        entries = () if record.length else _beginning(record)
        try:
            ended: Wait | Finish | None = process.run(*entries)
            record = process.durable
        except Crash:
            ended, record, in_doubt = None, process.durable, True
        except (Cancelled, Left, ProviderError, TimedOut):
            ended, record = None, process.told
        places.append(process.places)
        in_doubt |= process.has_left_jobs
        if isinstance(ended, Wait):
            if not in_doubt:
                check_in_doubt(world, ended)
            record = _answered(world, record, ended)
        elif record.length and record.turn is None:
            return Played(record, world, places)
        record = _carried(record, seed)
    raise AssertionError(f"expected an end, found a turn that goes on and on: {seed=}")


def _beginning(record: Record) -> Iterator[Entry]:
    begin = writing.begin(record, "turn", at_us=0)
    yield begin
    [message] = record.dialect.say(user("Go ahead."))
    yield from writing.said(record.apply(begin), [(message, False)], "input", at_us=0)


def _carried(record: Record, seed: int) -> Record:
    """Carry a record over to the next process: as a state, or as the entries that it is."""
    if seed % 2:
        return record
    return load(bytes(save(record)), record.dialect, conversation=clock.new_name()).record


def _answered(world: World, record: Record, waits: Wait) -> Record:
    """Do what people do about calls that wait for them."""
    for call in waits.waiting_for("approval"):
        verdict: Literal["approved", "denied"] = "approved" if world.approves(call) else "denied"
        record = decide(record, world.rules, [call], verdict)
    for call in waits.waiting_for("settlement"):
        found = world.result(call)
        record = settle(record, call, found, not_run=found is None)
    record = _interrupted(world, record, waits)
    for call in waits.waiting_for("result"):
        given = results.answer(call, f"yours {call.arguments}")
        record = record.apply(writing.outcome(record, call, given, at_us=0))
    return record


def _interrupted(world: World, record: Record, waits: Wait) -> Record:
    """Say what people say while calls wait for their results, once."""
    for text in map(world.interrupts, waits.waiting_for("result")):
        [message] = record.dialect.say(user(text))
        said = [bytes(entry.raw) for entry in record.entries() if isinstance(entry, Said)]
        if text and message.raw not in said:
            for entry in writing.said(record, [(message, False)], "append", at_us=0):
                record = record.apply(entry)
    return record


def check_in_doubt(world: World, waits: Wait) -> None:
    """Check that nobody is asked about a call that was never started, where none was left."""
    for call in waits.waiting_for("settlement"):
        given: Any = call.parsed
        assert (call.name, given["n"]) in world.started, f"seed {world.seed}: {call} is in no doubt"


def check_same(played: Played, smooth: Played, what: str) -> None:
    """Check that a turn with mishaps came to what the smooth one came to."""
    assert played.context == smooth.context, what
    assert played.end == smooth.end, what
    check_permitted(played.world, what)
    effects = {(effect.tool, effect.n) for effect in played.world.ledger}
    assert effects == {(effect.tool, effect.n) for effect in smooth.world.ledger}, what


def check_permitted(world: World, what: str) -> None:
    """Check that every tool did only what its policy permits."""
    keys = defaultdict(set)
    for effect in world.ledger:
        keys[effect.tool, effect.n].add(effect.key)
    runs = Counter([(effect.tool, effect.n) for effect in world.ledger])
    for (name, n), count in runs.items():
        policy = world.rules.policy(world.rules.tools[name])
        if policy == "once":
            assert count == 1, f"{what}: {name} {n} ran {count} times"
        assert len(keys[name, n]) == 1, f"{what}: {name} {n} ran with keys {keys[name, n]}"


def every_mishap(smooth: Played) -> Iterator[Mishaps]:
    """Give the mishaps of a turn: at each place a crash, and a stop or the end of its time."""
    for before, places in enumerate(smooth.places):
        for at in range(1, places + 1):
            yield [*[NONE] * before, (at, "crash")]
            if at % 3 == smooth.world.seed % 3:
                yield [*[NONE] * before, (at, "stop")]
            elif at % 3 == (smooth.world.seed + 1) % 3:
                yield [*[NONE] * before, (at, "late")]


def any_mishap(smooth: Played) -> Mishaps:
    """Give one mishap for a turn, somewhere, and one for whoever resumes it."""
    drawn = random.Random(smooth.world.seed)
    before = drawn.randrange(len(smooth.places))
    at = drawn.randint(1, smooth.places[before])
    return [
        *[NONE] * before,
        (at, drawn.choice(KINDS)),
        (drawn.randint(1, 12), drawn.choice(KINDS)),
    ]


def check_all(seeds: Iterable[int], mishaps: Callable[[Played], Iterable[Mishaps]]) -> None:
    """Play the turn of each seed, with each of its mishaps."""
    for seed in seeds:
        smooth = play(seed)
        check_permitted(smooth.world, f"seed {seed}")
        for each in mishaps(smooth):
            check_same(play(seed, each), smooth, f"seed {seed}, {each}")


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_a_turn_comes_to_the_same_end_wherever_it_is_broken_off(part: int, seed: int) -> None:
    first = seed * 10**6 + part
    check_all(range(first, first + scale(500, 5_000), PARTS), every_mishap)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_turn_that_is_broken_off_twice_comes_to_the_same_end(part: int, seed: int) -> None:
    first = (seed + 1) * 10**6 + part
    check_all(range(first, first + scale(500, 100_000), PARTS), lambda it: [any_mishap(it)])


def test_the_worlds_are_full_of_trouble() -> None:
    """What is never met is not tested: the worlds must have all that a turn can meet."""
    played = [play(seed) for seed in range(400)]
    assert {it.end for it in played} == {
        ("done", ""),
        ("failed", "ContextOverflow"),
        ("failed", "blocked"),
        ("failed", "empty"),
        ("failed", "too_many_rounds"),
    }
    entries = [entry for it in played for entry in it.record.entries()]
    assert {entry.status for entry in entries if isinstance(entry, Outcome)} == {
        "ok",
        "error",
        "unknown",
    }
    verdicts = {entry.verdict for entry in entries if isinstance(entry, Decision)}
    assert verdicts == {"approved", "denied", "settled", "not_run"}
    attempts = {entry.error for entry in entries if isinstance(entry, Attempt)}
    assert {"RateLimited", "Overloaded", "Unreachable"} <= attempts
    assert {effect.tool for it in played for effect in it.world.ledger} == {
        name for name, tool in TOOLS.items() if tool.run and name not in NO_EFFECT
    }
