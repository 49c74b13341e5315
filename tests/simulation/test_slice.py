"""The slice, crashed at every effect: whatever happens, the conversation comes out the same."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

import hansard
from hansard import user
from tests.simulation.slice import (
    Conflict,
    Crash,
    Driver,
    MemoryStore,
    Policy,
    SQLiteStore,
    Store,
    World,
    context_bytes,
)

POLICIES: dict[str, Policy] = {"look": "reads", "put": "keyed", "book": "once"}


def script(seed: int) -> Callable[[bytes, int], bytes]:
    """A model that answers the same to the same request: some rounds of calls, then words."""

    def answer(body: bytes, length: int) -> bytes:
        dice = random.Random(f"{seed}:{length}:{len(body)}")
        calls = [
            {
                "id": f"call_{length}_{n}",
                "type": "function",
                "function": {"name": dice.choice(sorted(POLICIES)), "arguments": f'{{"n": {n}}}'},
            }
            for n in range(dice.choice([0, 1, 2, 3]))
        ]
        message: dict[str, object] = {"role": "assistant", "content": None, "odd": 1.50}
        if calls and length < 12:
            message["tool_calls"] = calls
        else:
            message["content"] = f"answer {length}"
        return json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()

    return answer


def world(seed: int, store: Store) -> World:
    return World(hansard.dialect("openai"), store, POLICIES, script(seed))


def turns(driver: Driver) -> None:
    driver.send(user("book it"), "t1")
    driver.send(user("and again"), "t2")


def run_with_crashes(living: World, crashes: list[int]) -> bytes:
    """Run both turns; crash after so many steps, once for each, and go on in a new process."""
    for steps in crashes:
        try:
            turns(Driver(living, steps))
        except Crash:
            continue
        break
    turns(Driver(living))
    return context_bytes(Driver(living).load())


@pytest.mark.parametrize("seed", range(12))
def test_a_crash_at_every_effect_ends_in_the_same_context(seed: int) -> None:
    calm = world(seed, MemoryStore())
    driver = Driver(calm)
    turns(driver)
    expected = context_bytes(driver.load())
    for steps in range(driver.taken):
        living = world(seed, MemoryStore())
        assert run_with_crashes(living, [steps]) == expected, f"seed {seed}, crash at {steps}"
        ran = living.times("once")
        assert all(times == 1 for times in ran.values()), f"seed {seed}, crash at {steps}: {ran}"
        assert ran.total() == calm.times("once").total()


def test_several_crashes_in_a_row_end_in_the_same_context() -> None:
    for seed in range(200):
        calm = world(seed, MemoryStore())
        driver = Driver(calm)
        turns(driver)
        dice = random.Random(seed)
        crashes = [dice.randrange(1, driver.taken) for _ in range(dice.randrange(2, 6))]
        living = world(seed, MemoryStore())
        assert run_with_crashes(living, crashes) == context_bytes(driver.load()), f"seed {seed}"
        assert set(living.times("once").values()) <= {1}, f"seed {seed}"


@pytest.mark.parametrize("seed", [1, 5])
def test_on_sqlite_it_is_the_same(seed: int, tmp_path: Path) -> None:
    calm = world(seed, MemoryStore())
    driver = Driver(calm)
    turns(driver)
    expected = context_bytes(driver.load())
    for steps in range(0, driver.taken, 3):
        path = str(tmp_path / f"{steps}.db")
        with closing(SQLiteStore(path)) as store:
            living = world(seed, store)
            with suppress(Crash):
                turns(Driver(living, steps))
        with closing(SQLiteStore(path)) as living.store:
            turns(Driver(living))
            assert context_bytes(Driver(living).load()) == expected, f"seed {seed}, crash {steps}"


def test_an_open_turn_survives_in_a_blob_at_every_point() -> None:
    """Whatever phase a record is in, saving and loading it changes nothing of what follows."""
    dialect = hansard.dialect("openai")
    living = world(3, MemoryStore())
    turns(Driver(living))
    record = hansard.Record("c0", dialect)
    for entry in living.store.read():
        record = record.apply(entry)
        loaded = hansard.load(hansard.save(record), dialect, conversation="other")
        assert loaded.rejected is None
        assert loaded.record.conversation == "c0"
        assert context_bytes(loaded.record) == context_bytes(record)
        assert loaded.record.pending == record.pending
        assert loaded.record.phase == record.phase


def test_a_retry_of_a_finished_turn_calls_nothing() -> None:
    living = world(2, MemoryStore())
    turns(Driver(living))
    asked, ran = len(living.requests), len(living.ran)
    turns(Driver(living))
    assert (len(living.requests), len(living.ran)) == (asked, ran)


def test_every_request_begins_with_the_one_before() -> None:
    living = world(4, MemoryStore())
    turns(Driver(living))
    for before, after in zip(living.requests, living.requests[1:], strict=False):
        assert after.startswith(before.removesuffix(b"]}"))


def refuse_the_stale(store: Store) -> None:
    living = world(1, store)
    stale = Driver(living).load()
    Driver(living).send(user("first"), "t1")
    entries = living.store.read()[:1]
    with pytest.raises(Conflict):
        Driver(living).append(stale, entries)


def test_who_appends_on_top_of_what_it_has_not_seen_is_refused(tmp_path: Path) -> None:
    refuse_the_stale(MemoryStore())
    with closing(SQLiteStore(str(tmp_path / "chat.db"))) as store:
        refuse_the_stale(store)
