"""What to do next in a turn, computed from the record alone.

`next_effects` is the whole machine. Starting, continuing, retrying and resuming after a crash are
the same question asked of a record; there is no other way to go on. `SITUATIONS` is the table of
where a turn can be and what is done there, `standing.STANDINGS` the one of its calls; the diagram
in the docs is drawn from both.

Rules:

- Nothing is done that is not on the record already, or that the `Append` before it puts there.
- What was started by a driver that is gone is judged by the tool's policy, never by hope.
- A turn that cannot go on ends, and leaves a conversation that can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from ..errors import ToolError
from ..tools import results
from . import writing
from .effects import (
    Append,
    AskTool,
    CallModel,
    Effect,
    Finish,
    RunTool,
    Wait,
    call_key,
    model_key,
)
from .standing import IN_DOUBT, STANDINGS, Look, look

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from ..messages import ToolCall
    from ..record.entries import Entry
    from ..record.record import Record, Round
    from .effects import WaitingFor
    from .rules import Rules
    from .standing import Doing

__all__ = ["SITUATIONS", "TOO_MANY_ROUNDS", "Situation", "next_effects", "situation"]

TOO_MANY_ROUNDS: Final = "too_many_rounds"
"""The error of a turn that went on calling tools beyond the limit."""

Situation: TypeAlias = Literal[
    "over",
    "answered",
    "to ask",  # the model is to be called
    "out of tries",  # its answers were invalid too often
    "blocked",  # nothing is said, and asking again would not change that
    "out of rounds",  # it goes on calling tools, or pausing, beyond the limit
    "calls pending",
]

SITUATIONS: dict[Situation, str] = {
    "over": "finish",
    "answered": "end the turn: done",
    "to ask": "call the model",
    "out of tries": "end the turn: failed",
    "blocked": "end the turn: failed",
    "out of rounds": "answer what is pending, end the turn: failed",
    "calls pending": "see to each call",
}

_NO_ROUND_LEFT = ToolError("This call was not run: the limit of rounds for this turn is reached.")

_WAITS: dict[Doing, WaitingFor] = {
    "wait for a result": "result",
    "wait for approval": "approval",
    "wait for settlement": "settlement",
}


def situation(record: Record, rules: Rules) -> Situation:
    """Say where a record's open turn is."""
    turn = record.turn
    if turn is None:
        return "over"
    if record.phase == "answered":
        return "answered"
    if turn.rounds >= rules.rounds_max:
        return "out of rounds"
    if record.phase == "calling":
        return "calls pending"
    if "blocked" in turn.faults:
        return "blocked"
    return "out of tries" if turn.failures > rules.retries else "to ask"


def next_effects(
    record: Record,
    rules: Rules,
    running: AbstractSet[str] = frozenset(),
    *,
    at_us: int = 0,
) -> tuple[Effect, ...]:
    """Say what to do next.

    ``running`` are the keys of the effects that this driver has in flight; there are none after a
    crash. Nothing at all means to wait for those. ``at_us`` is the time for new entries.
    """
    now = situation(record, rules)
    turn = record.turn
    if turn is None:
        return (Finish(),)
    if now == "to ask":
        key = model_key(record)
        return () if key in running else (CallModel(key),)
    if now == "answered":
        return (Append((writing.end(record, "done", at_us=at_us),)),)
    if turn.round is not None:
        return _for_calls(record, turn.round, rules, running, at_us, refused=now == "out of rounds")
    error = "too_many_rounds" if now == "out of rounds" else " ".join(turn.faults)
    return (Append((writing.end(record, "failed", at_us=at_us, error=error),)),)


def _for_calls(
    record: Record,
    round_: Round,
    rules: Rules,
    running: AbstractSet[str],
    at_us: int,
    *,
    refused: bool,
) -> tuple[Effect, ...]:
    """See to each call of the open round that has no result yet."""
    desk = _Desk(record, rules, at_us)
    keys = {call_key(record, call): call for call in round_.pending}
    for key, call in keys.items():
        if key in running:
            desk.places.take(call)
    for key, call in keys.items():
        if desk.places.full:
            break  # Whatever is to be done about the others, it comes soon enough then.
        if key in running:
            continue
        seen = look(call, round_, rules)
        if refused and seen.standing not in IN_DOUBT:
            seen = Look("no round left", results.failure(call, _NO_ROUND_LEFT))
        desk.see(key, call, seen)
    return desk.effects()


class _Desk:
    """Collects what is to be done about the calls of a round."""

    def __init__(self, record: Record, rules: Rules, at_us: int) -> None:
        self.places = _Places(rules)
        self._record = record
        self._at_us = at_us
        self._entries: list[Entry] = []
        self._starts: list[Effect] = []
        self._waits: list[tuple[ToolCall, WaitingFor]] = []

    def see(self, key: str, call: ToolCall, seen: Look) -> None:
        """See to one call that is not running."""
        doing = STANDINGS[seen.standing]
        if doing in _WAITS:
            self._waits.append((call, _WAITS[doing]))
        elif seen.result is not None:
            self._write(writing.outcome, call, seen.result)
        elif self.places.free(call):
            self.places.take(call)
            if doing == "intend, run":
                self._write(writing.intent, call)
            run = seen.invocation
            self._starts.append(AskTool(key, call) if run is None else RunTool(key, call, run))

    def _write(self, entry: Callable[..., Entry], *what: object) -> None:
        made = entry(self._record, *what, at_us=self._at_us, ahead=len(self._entries))
        self._entries.append(made)

    def effects(self) -> tuple[Effect, ...]:
        """Give what is to be done; waiting is for when there is nothing else."""
        if self._waits and not self._entries and not self.places.busy:
            return (Wait(tuple(self._waits)),)
        appends: tuple[Effect, ...] = (Append(tuple(self._entries)),) if self._entries else ()
        return (*appends, *self._starts)


class _Places:
    """How many more tools may start now."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._taken: list[str] = []

    @property
    def busy(self) -> bool:
        return bool(self._taken)

    @property
    def full(self) -> bool:
        return len(self._taken) >= self._rules.concurrent_max

    def take(self, call: ToolCall) -> None:
        self._taken.append(call.name)

    def free(self, call: ToolCall) -> bool:
        if self.full:
            return False
        tool = self._rules.tools.get(call.name)
        most = None if tool is None else tool.max_concurrent
        if most is not None and self._taken.count(call.name) >= most:
            return False
        if not self._taken:
            return True
        return not any([self._transactional(name) for name in (call.name, *self._taken)])

    def _transactional(self, name: str) -> bool:
        """Whether a tool writes in a transaction of the record's store: then it runs alone."""
        tool = self._rules.tools.get(name)
        return tool is not None and self._rules.policy(tool) == "transactional"
