"""A thin slice through the whole design, to learn whether the record's interfaces hold.

The smallest turn machine that deserves the name, two stores with compare-and-set, and a driver
that can crash before and after every effect. It is test code: what it taught stands in
``docs/decisions/0001-record.md``.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from hansard.dialects.dialect import Ask, Dialect
from hansard.messages import Draft, Message, ToolCall
from hansard.record.entries import (
    CallKey,
    Decision,
    Entry,
    Intent,
    Outcome,
    Said,
    TurnBegin,
    TurnEnd,
    decode_entries,
    encode_entries,
)
from hansard.record.record import Record

Policy = Literal["reads", "keyed", "once"]


class Crash(BaseException):
    """The process is gone."""


class Conflict(Exception):
    """Somebody else has appended in the meantime."""


# -- the machine: pure ------------------------------------------------------------------------


@dataclass(frozen=True)
class Append:
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class CallModel:
    key: str


@dataclass(frozen=True)
class RunTool:
    key: str
    call: ToolCall


@dataclass(frozen=True)
class Wait:
    call: ToolCall


Effect = Append | CallModel | RunTool | Wait


def next_effects(
    record: Record, policies: dict[str, Policy], running: frozenset[str]
) -> tuple[Effect, ...]:
    """Say what to do next, from the record alone. Nothing at all means that the turn is over."""
    if record.phase == "idle" or record.turn is None:
        return ()
    if record.phase == "answered":
        return (Append((TurnEnd(seq=record.length, turn=record.turn_number, status="done"),)),)
    if record.phase == "asking":
        return (CallModel(f"model:{record.turn_number}:{record.turn.rounds}"),)
    return tuple(_for_calls(record, policies, running))


def _for_calls(
    record: Record, policies: dict[str, Policy], running: frozenset[str]
) -> Sequence[Effect]:
    turn = record.turn
    assert turn is not None
    assert turn.round is not None
    effects: list[Effect] = []
    intents: list[Entry] = []
    for call in turn.round.pending:
        key = call_key(record, call)
        if key in running:
            continue
        if call.position in turn.round.intents:
            effects.append(Wait(call))
            continue
        if policies[call.name] == "once":
            seq = record.length + len(intents)
            named = CallKey(turn.round.answer.seq, call.position, call.id)
            intents.append(Intent(seq=seq, turn=record.turn_number, call=named))
        effects.append(RunTool(key, call))
    return [Append(tuple(intents)), *effects] if intents else effects


def call_key(record: Record, call: ToolCall) -> str:
    """The idempotency key of a call: the same over every retry and resume."""
    assert record.turn is not None
    assert record.turn.round is not None
    return f"{record.conversation}:{record.turn.round.answer.seq}:{call.position}:{call.id}"


# -- stores -----------------------------------------------------------------------------------


class Store(Protocol):
    def append(self, entries: Sequence[Entry], *, expecting: int) -> None: ...

    def read(self) -> list[Entry]: ...


class MemoryStore:
    """Entries in a list, spelled as they would be on a disk."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []

    def append(self, entries: Sequence[Entry], *, expecting: int) -> None:
        if expecting != len(self.rows):
            raise Conflict
        self.rows += [encode_entries([entry])[1:-1] for entry in entries]

    def read(self) -> list[Entry]:
        return decode_entries(b"[" + b",".join(self.rows) + b"]")


class SQLiteStore:
    """Entries in a table, one transaction an append."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("CREATE TABLE IF NOT EXISTS entry (seq INTEGER PRIMARY KEY, body)")

    def append(self, entries: Sequence[Entry], *, expecting: int) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            self._check(expecting)
            rows = [(entry.seq, encode_entries([entry])[1:-1]) for entry in entries]
            self.connection.executemany("INSERT INTO entry VALUES (?, ?)", rows)
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def close(self) -> None:
        self.connection.close()

    def _check(self, expecting: int) -> None:
        (count,) = self.connection.execute("SELECT count(*) FROM entry").fetchone()
        if count != expecting:
            raise Conflict

    def read(self) -> list[Entry]:
        rows = self.connection.execute("SELECT body FROM entry ORDER BY seq").fetchall()
        return decode_entries(b"[" + b",".join([row[0] for row in rows]) + b"]")


# -- the driver -------------------------------------------------------------------------------


@dataclass
class World:
    """What outlives a crash: the store, what tools have done, and what the model has been asked."""

    dialect: Dialect
    store: Store
    policies: dict[str, Policy]
    answer: Callable[[bytes, int], bytes]
    ran: list[tuple[str, str]] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)

    def times(self, policy: Policy) -> Counter[str]:
        """How often each call of the tools of a policy has run."""
        return Counter([key for name, key in self.ran if self.policies[name] == policy])


@dataclass
class Driver:
    """Carries out effects, one process's life long. ``steps`` are left until it crashes."""

    world: World
    steps: int | None = None
    taken: int = 0

    def step(self) -> None:
        if self.steps is not None and self.taken == self.steps:
            raise Crash
        self.taken += 1

    def load(self) -> Record:
        record = Record("c0", self.world.dialect)
        for entry in self.world.store.read():
            record = record.apply(entry)
        return record

    def append(self, record: Record, entries: Sequence[Entry]) -> Record:
        grown = record
        for entry in entries:
            grown = grown.apply(entry)
        self.step()
        self.world.store.append(entries, expecting=record.length)
        self.step()
        return grown

    def send(self, draft: Draft, turn_id: str) -> Record:
        """Begin the turn, unless it was begun before, and finish it."""
        record = self.resume()
        begun = {entry.turn_id for entry in record.entries() if isinstance(entry, TurnBegin)}
        if turn_id in begun:
            return record
        turn, at = record.turn_number + 1, record.length
        said: list[Entry] = [
            Said(seq=at + 1 + i, turn=turn, role="user", author="input", raw=msgspec.Raw(m.raw))
            for i, m in enumerate(self.world.dialect.say(draft))
        ]
        record = self.append(record, [TurnBegin(seq=at, turn=turn, turn_id=turn_id), *said])
        return self.resume(record)

    def resume(self, record: Record | None = None) -> Record:
        """Do what there is to do until there is nothing. There is no other way to go on."""
        record = record or self.load()
        running: set[str] = set()
        while effects := next_effects(record, self.world.policies, frozenset(running)):
            for effect in effects:
                if isinstance(effect, Append):
                    record = self.append(record, effect.entries)
                elif isinstance(effect, CallModel):
                    record = self.call_model(record)
                elif isinstance(effect, RunTool):
                    running.add(effect.key)
                    record = self.run_tool(record, effect)
                else:
                    record = self.settle(record, effect.call)
        return record

    def call_model(self, record: Record) -> Record:
        dialect = self.world.dialect
        body = dialect.request(Ask("scripted", record.context.segments(dialect))).body
        self.step()
        self.world.requests.append(body)
        answer = dialect.parse(self.world.answer(body, len(record.context.lines())))
        self.step()
        assert answer.raw is not None
        said = Said(
            seq=record.length,
            turn=record.turn_number,
            role="assistant",
            author="model",
            raw=msgspec.Raw(answer.raw),
            finish=answer.finish,
        )
        return self.append(record, [said])

    def run_tool(self, record: Record, effect: RunTool) -> Record:
        self.step()
        self.world.ran.append((effect.call.name, effect.key))
        self.world.results[effect.key] = result = f"did {effect.call.arguments}"
        self.step()
        return self.append(record, [self.outcome(record, effect.call, result)])

    def settle(self, record: Record, call: ToolCall) -> Record:
        """Decide as a person would who looks whether the tool has run."""
        key = call_key(record, call)
        outcome = self.outcome(record, call, self.world.results.get(key, ""))
        if key not in self.world.results:
            return self.append(
                record,
                [
                    Decision(
                        seq=record.length,
                        turn=record.turn_number,
                        call=outcome.call,
                        verdict="not_run",
                    )
                ],
            )
        return self.append(record, [outcome])

    def outcome(self, record: Record, call: ToolCall, result: str) -> Outcome:
        assert record.turn is not None
        assert record.turn.round is not None
        fragment = self.world.dialect.result(call, call.answer(result))
        return Outcome(
            seq=record.length,
            turn=record.turn_number,
            call=CallKey(record.turn.round.answer.seq, call.position, call.id),
            status="ok",
            raw=msgspec.Raw(fragment),
        )


def context_bytes(record: Record) -> bytes:
    """The context as it would be sent."""
    return b",".join(record.context.segments(record.dialect))


def texts(record: Record) -> list[str]:
    """What was said, for people who read a failing test."""
    return [Message(record.dialect, line.raw).text for line in record.context.lines()]
