"""What a record is to do, told in plain tuples and without a thought to what it costs.

A model knows the rules of the design and nothing of the library's record. It borrows the dialect,
to frame results, and `repair`, which has its own tests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import hansard
from hansard.dialects.pairing import repair
from hansard.messages import ToolCall, ToolResult
from hansard.record.entries import (
    Attempt,
    Compaction,
    Decision,
    Intent,
    Mark,
    Outcome,
    Rewind,
    Said,
    SliceEvent,
    TurnBegin,
    TurnEnd,
)

if TYPE_CHECKING:
    from hansard.dialects.dialect import Dialect
    from hansard.record.entries import CallKey, Entry

__all__ = ["Illegal", "Model"]


class Illegal(Exception):
    """The entry may not follow."""


class Spoken(NamedTuple):
    """A message, and whether it is pinned."""

    raw: bytes
    pin: bool = False


class Placed(NamedTuple):
    """A message of the context, and where it stands in the order of entries."""

    place: int
    raw: bytes
    pin: bool = False


@dataclass(frozen=True)
class Standing:
    """What a rewind brings back."""

    context: tuple[Placed, ...] = ()
    curated: tuple[bytes, ...] = ()
    seen: int = 0
    tokens: int | None = None

    def plus(self, place: int, *said: Spoken) -> Standing:
        context = self.context + tuple([Placed(place, *one) for one in said])
        curated = self.curated + tuple([one.raw for one in said])
        return replace(self, context=context, curated=curated)

    def compacted(self, entry: Compaction, dialect: Dialect) -> Standing:
        cut = [at for at, line in enumerate(self.context) if line.place >= entry.first]
        start = cut[0] if cut else len(self.context)
        held = self.held(dialect)
        stays = [
            (at, line)
            for at, line in enumerate(self.context)
            if at >= start and (at in held or not entry.first <= line.place <= entry.last)
        ]
        summary = [Placed(entry.last, bytes(raw)) for raw in entry.messages]
        context = (*self.context[:start], *summary, *[line for _, line in stays])
        unseen = len([at for at, _ in stays if at >= self.seen])
        return Standing(context, self.curated, len(context) - unseen, entry.tokens_after)

    def held(self, dialect: Dialect) -> set[int]:
        """What no compaction takes away: what is pinned, and exchanges with a pin in them."""
        held = {at for at, line in enumerate(self.context) if line.pin}
        for exchange in self.exchanges(dialect):
            if held & {at for at in exchange if has_calls(dialect, self.context[at].raw)}:
                held |= set(exchange)
        return held

    def exchanges(self, dialect: Dialect) -> list[list[int]]:
        """The indexes of each answer, and of the results that follow it."""
        found: list[list[int]] = []
        before = False
        for at, line in enumerate(self.context):
            message = hansard.Message(dialect, line.raw)
            answer = message.role == "assistant" or bool(message.tool_calls)
            goes_on = before and dialect.merges
            if answer and not goes_on:
                found.append([])
            if found and (answer or has_calls(dialect, line.raw)):
                found[-1].append(at)
            before = answer
        return found


def has_calls(dialect: Dialect, raw: bytes) -> bool:
    parts = dialect.read(raw).parts
    return any(isinstance(part, ToolCall | ToolResult) for part in parts)


@dataclass(frozen=True)
class Round:
    answer: int
    calls: tuple[ToolCall, ...]
    results: tuple[tuple[int, bytes], ...] = ()
    unknown: frozenset[int] = frozenset()
    intents: frozenset[int] = frozenset()
    waiting: tuple[Spoken, ...] = ()

    @property
    def pending(self) -> tuple[int, ...]:
        settled = dict(self.results)
        return tuple([call.position for call in self.calls if call.position not in settled])


@dataclass(frozen=True)
class Model:
    dialect: Dialect
    now: Standing = Standing()
    before: Standing | None = None
    appended: tuple[tuple[int, Spoken], ...] = ()
    phase: str = "idle"
    round: Round | None = None
    answered: bool = False
    failures: int = 0
    faults: tuple[str, ...] = ()
    rounds: int = 0
    turn: int = 0
    heard: tuple[bytes, ...] = ()
    standings: tuple[Standing | None, ...] = ()
    answers: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        return len(self.standings)

    # -- views --------------------------------------------------------------------------------

    @property
    def raws(self) -> tuple[bytes, ...]:
        return tuple([line.raw for line in self.now.context])

    @property
    def sent(self) -> list[bytes]:
        mended = repair(self.dialect, self.raws, pending=self.round is not None).messages
        projected = [self.dialect.project(raw) for raw in mended]
        return [raw for raw in projected if raw is not None]

    @property
    def comprehensive(self) -> tuple[bytes, ...]:
        return self.heard + tuple([one.raw for one in self._closing(said=True)])

    def _closing(self, *, said: bool) -> tuple[Spoken, ...]:
        """The messages that end the open round: what was said, or what has to be sent."""
        if self.round is None:
            return ()
        results = dict(self.round.results)
        fragments = [
            results.get(call.position) or self.dialect.interrupted(call)
            for call in self.round.calls
            if not said or call.position in results
        ]
        if not fragments:
            return self.round.waiting
        words = [one.raw for one in self.round.waiting]
        return self._pinned(list(self.dialect.frame(fragments, words)))

    def _pinned(self, framed: list[bytes]) -> tuple[Spoken, ...]:
        """What was said meanwhile stands as it was, after the results; or else among them."""
        assert self.round is not None
        among, after = list(self.round.waiting), list[Spoken]()
        while framed and among and framed[-1] == among[-1].raw:
            framed.pop()
            after.insert(0, among.pop())
        pin = any(one.pin for one in among)
        return (*[Spoken(raw, pin) for raw in framed], *after)

    # -- what follows from an entry -------------------------------------------------------------

    def apply(self, entry: Entry) -> Model:
        if (entry.seq, entry.turn) != (self.length, self.turn + isinstance(entry, TurnBegin)):
            raise Illegal
        standings = (*self.standings, self.now if self.phase == "idle" else None)
        method = getattr(self, f"_{type(entry).__name__.lower()}")
        changed: Model = replace(method(entry), standings=standings)
        return changed

    def _only(self, *phases: str) -> None:
        if self.phase not in phases:
            raise Illegal

    def _turnbegin(self, entry: TurnBegin) -> Model:
        self._only("idle")
        return replace(
            self,
            phase="asking",
            turn=entry.turn,
            before=self.now,
            appended=(),
            answered=False,
            failures=0,
            faults=(),
            rounds=0,
        )

    def _said(self, entry: Said) -> Model:
        raw = bytes(entry.raw)
        spoken = Spoken(raw, entry.pin)
        if entry.author == "model" and entry.problems:
            self._only("asking")
            failures = self.failures + 1
            return replace(self, heard=(*self.heard, raw), failures=failures, faults=entry.problems)
        if entry.author == "model" and self.phase != "idle":
            return self._answer(entry, raw)
        changed = self
        if entry.author == "append" and self.phase != "idle":
            changed = replace(changed, appended=(*self.appended, (entry.seq, spoken)))
        if self.round is not None:
            waiting = (*self.round.waiting, spoken)
            return replace(changed, round=replace(self.round, waiting=waiting))
        return replace(changed, now=self.now.plus(entry.seq, spoken), heard=(*self.heard, raw))

    def _answer(self, entry: Said, raw: bytes) -> Model:
        self._only("asking")
        calls = hansard.Message(self.dialect, raw).tool_calls
        now = self.now.plus(entry.seq, Spoken(raw, entry.pin))
        tokens = entry.usage.total_tokens if entry.usage else now.tokens
        changed: dict[str, Any] = {"phase": "asking" if entry.finish == "paused" else "answered"}
        if calls:
            changed = {"phase": "calling", "round": Round(entry.seq, calls)}
        return replace(
            self,
            now=replace(now, seen=len(now.context), tokens=tokens),
            heard=(*self.heard, raw),
            answered=True,
            failures=0,
            faults=(),
            rounds=self.rounds + (changed["phase"] != "answered"),
            answers=(*self.answers, entry.seq),
            **changed,
        )

    def _attempt(self, entry: Attempt) -> Model:
        self._only("asking")
        if not entry.answered:
            return self
        return replace(self, failures=self.failures + 1, faults=(entry.error,))

    def _pending(self, key: CallKey) -> Round:
        self._only("calling")
        assert self.round is not None
        if key.answer != self.round.answer or key.position not in self.round.pending:
            raise Illegal
        if self.round.calls[key.position].id != key.id:
            raise Illegal
        return self.round

    def _intent(self, entry: Intent) -> Model:
        round_ = self._pending(entry.call)
        return replace(self, round=replace(round_, intents=round_.intents | {entry.call.position}))

    def _decision(self, entry: Decision) -> Model:
        round_ = self._pending(entry.call)
        if entry.verdict == "not_run":
            there = {entry.call.position}
            round_ = replace(round_, intents=round_.intents - there, unknown=round_.unknown - there)
        return replace(self, round=round_)

    def _outcome(self, entry: Outcome) -> Model:
        if entry.status != "unknown" and bytes(entry.raw) == b"null":
            raise Illegal
        key, round_ = entry.call, self.round
        if round_ is None or key.answer < round_.answer:
            if key.answer >= self.length:
                raise Illegal
            return self
        known = [
            call for call in round_.calls if (call.position, call.id) == (key.position, key.id)
        ]
        if key.answer != round_.answer or not known:
            raise Illegal
        if key.position not in round_.pending:
            return self
        if entry.status == "unknown":
            return replace(self, round=replace(round_, unknown=round_.unknown | {key.position}))
        if self._answered(bytes(entry.raw)) != [key.id]:
            raise Illegal
        results = (*round_.results, (key.position, bytes(entry.raw)))
        changed = replace(
            self, round=replace(round_, results=results, unknown=round_.unknown - {key.position})
        )
        return changed if changed.round and changed.round.pending else changed.closed(entry.seq)

    def _answered(self, fragment: bytes) -> list[str]:
        """The ids of the calls that a fragment has results of."""
        framed = self.dialect.frame((fragment,))
        return [each.call_id for raw in framed for each in self.dialect.split_results(raw)[0]]

    def closed(self, seq: int) -> Model:
        return replace(
            self,
            now=self.now.plus(seq, *self._closing(said=False)),
            heard=self.comprehensive,
            round=None,
            phase="asking",
        )

    def _turnend(self, entry: TurnEnd) -> Model:
        self._only("answered" if entry.status == "done" else "asking", "calling")
        if entry.status == "done":
            self._only("answered")
        assert self.before is not None
        changed = self.closed(entry.seq) if self.round else self
        if not self.answered:
            now = self.before
            for seq, spoken in self.appended:
                now = now.plus(seq, spoken)
            changed = replace(changed, now=now)
        return replace(changed, phase="idle", before=None)

    def _compaction(self, entry: Compaction) -> Model:
        self._only("idle", "asking")
        if not 0 <= entry.first <= entry.last < self.length:
            raise Illegal
        before = self.before
        if before and any(entry.first <= line.place <= entry.last for line in before.context):
            before = before.compacted(entry, self.dialect)
        return replace(self, now=self.now.compacted(entry, self.dialect), before=before)

    def _mark(self, _: Mark) -> Model:
        self._only("idle")
        return self

    def _rewind(self, entry: Rewind) -> Model:
        self._only("idle")
        standing = self.standings[entry.to] if 0 <= entry.to < self.length else None
        if standing is None:
            raise Illegal
        return replace(self, now=standing)

    def _sliceevent(self, _: SliceEvent) -> Model:
        return self
