"""The record of one conversation, in memory.

A `Record` is a position in a shared, append-only log, together with what follows from the entries
up to there. It never changes: `Record.apply` gives the record that has one entry more, at the same
cost at any length. Records that part ways share what they have in common.

Rules:

- `apply` is the only way in, and `transitions.NEXT` the only judge of what may follow.
- An entry that is refused leaves no trace.
- The context holds valid messages and results only; `transitions.KEEPS` says what of a turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .. import rawjson
from ..errors import DecodeError, InvalidTransition
from ..messages import Message, ToolCall
from .compacting import compacted, covers
from .context import Context, Line, Root, has_calls
from .entries import (
    INTERRUPTED,
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
from .transitions import KEEPS, NEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..dialects.dialect import Dialect
    from .entries import CallKey, Entry
    from .transitions import Phase, Step

__all__ = ["OpenTurn", "Record", "Round"]


_NOTHING = Root()


class Round(msgspec.Struct, frozen=True):
    """The calls of one answer, and what is known of them. Calls are named by their position."""

    answer: Said
    calls: tuple[ToolCall, ...]
    intents: frozenset[int] = frozenset()
    outcomes: Mapping[int, Outcome] | None = None
    decisions: Mapping[int, Decision] | None = None
    waiting: Context = Context(_NOTHING)

    def outcome(self, call: ToolCall) -> Outcome | None:
        """What became of a call; None while that is open. It may be *unknown*."""
        return (self.outcomes or {}).get(call.position)

    def decision(self, call: ToolCall) -> Decision | None:
        """The last decision about a call."""
        return (self.decisions or {}).get(call.position)

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        return tuple([call for call in self.calls if not _settled(self.outcome(call))])


class OpenTurn(msgspec.Struct, frozen=True):
    """A turn that has not ended: where it began, and what it has come to.

    ``rounds`` counts the valid answers that were not the last: with calls, or paused.
    ``failures`` counts the answers since the last valid one, and ``faults`` are the codes of what
    was wrong with the last of them.
    """

    begin: TurnBegin
    before: Context
    appended: Context = Context(_NOTHING)
    round: Round | None = None
    answered: bool = False
    rounds: int = 0
    failures: int = 0
    faults: tuple[str, ...] = ()


class _Log:
    """Entries by their number, each with the context before it where no turn is open.

    A slot is taken once, atomically; whoever finds it taken branches off.
    """

    __slots__ = ("base", "parent", "slots")

    def __init__(self, base: int, parent: _Log | None = None) -> None:
        self.base = base
        self.parent = parent
        self.slots: dict[int, tuple[Entry, Context | None]] = {}

    def at(self, seq: int) -> tuple[Entry, Context | None]:
        log = self
        while seq < log.base and log.parent is not None:
            log = log.parent
        return log.slots[seq]

    def put(self, seq: int, slot: tuple[Entry, Context | None]) -> _Log:
        if self.slots.setdefault(seq, slot) is slot:
            return self
        branch = _Log(seq, self)
        branch.slots[seq] = slot
        return branch


class Record:
    """A conversation up to a point. See the module's rules."""

    __slots__ = (
        "_log",
        "base",
        "context",
        "conversation",
        "dialect",
        "length",
        "phase",
        "start",
        "turn",
        "turn_number",
    )

    def __init__(
        self,
        conversation: str,
        dialect: Dialect,
        *,
        start: Context | None = None,
        base: int = 0,
        turn_number: int = 0,
    ) -> None:
        """Begin a record; `start` and `base` are of one whose earlier entries are elsewhere."""
        self.conversation = conversation
        self.dialect = dialect
        self.base = base
        self.length = base
        self.phase: Phase = "idle"
        self.context = start or Context(_NOTHING)
        self.turn: OpenTurn | None = None
        self.turn_number = turn_number
        self.start = self.context
        self._log = _Log(base)

    def apply(self, entry: Entry) -> Record:
        """Give the record with one entry more.

        Raises `InvalidTransition` where the entry may not follow; nothing has changed then.
        """
        if entry.seq != self.length:
            raise InvalidTransition(f"expected entry {self.length}, found entry {entry.seq}")
        step, round_ = self._step(entry)
        phase = NEXT[self.phase].get(step)
        if phase is None:
            raise self._refused(step)
        after = self._copy()
        after.phase = phase
        after.length = entry.seq + 1
        after._take(entry, step, round_)
        after._log = self._log.put(entry.seq, (entry, None if self.turn else self.context))
        return after

    # -- what is on it --------------------------------------------------------------------------

    def entries(self, start: int | None = None) -> Iterator[Entry]:
        """The entries from ``start`` on, in order; all that are here if it is None."""
        for seq in range(max(start or 0, self.base), self.length):
            yield self._log.at(seq)[0]

    def entry(self, seq: int) -> Entry:
        """The entry of that number."""
        if not self.base <= seq < self.length:
            raise InvalidTransition(f"expected an entry from {self.base} to {self.length - 1}")
        return self._log.at(seq)[0]

    @property
    def processed(self) -> int:
        """How many messages of the context, from the first on, a model has seen."""
        return self.context.seen

    @property
    def tokens(self) -> int | None:
        """How many tokens the context had when that was last known."""
        return self.context.tokens

    @property
    def compacted_us(self) -> int | None:
        """When the context was last compacted."""
        return self.context.compacted_us

    @property
    def closed(self) -> Context:
        """The context without the open turn."""
        return self.turn.before if self.turn else self.context

    @property
    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that the open turn waits for."""
        return self.turn.round.pending if self.turn and self.turn.round else ()

    def __repr__(self) -> str:
        said = f"{self.context.count} messages in context"
        return f"<Record {self.conversation} {self.length} entries, {said}, {self.phase}>"

    # -- which step an entry is -----------------------------------------------------------------

    def _step(self, entry: Entry) -> tuple[Step, Round | None]:
        """Say which step an entry is here, and of an answer with calls, its round."""
        number = self.turn_number + isinstance(entry, TurnBegin)
        if entry.turn != number:
            raise InvalidTransition(f"expected turn {number}, found {entry.turn}")
        if isinstance(entry, Said):
            return self._step_said(entry)
        if isinstance(entry, Outcome):
            return self._step_outcome(entry), None
        if isinstance(entry, TurnEnd):
            if (self.phase == "answered") != (entry.status == "done"):
                raise InvalidTransition(f"a turn that is {self.phase} cannot end as {entry.status}")
        elif isinstance(entry, _NOTES):
            if self._call(entry.call) not in self.pending:
                raise InvalidTransition(f"expected a pending call, found {_name(entry.call)}")
        elif isinstance(entry, Compaction) and not 0 <= entry.first <= entry.last < entry.seq:
            raise InvalidTransition(
                f"expected a range of entries before entry {entry.seq}, "
                f"found {entry.first} to {entry.last}"
            )
        return _STEPS[type(entry)], None

    def _step_said(self, entry: Said) -> tuple[Step, Round | None]:
        if entry.author == "model" and entry.problems:
            return "invalid", None
        if entry.author != "model" or self.turn is None:
            return "said", None
        calls = _calls_of(self.dialect, entry)
        if calls:
            return "calls", Round(entry, calls)
        return ("paused" if entry.finish == "paused" else "answer"), None

    def _step_outcome(self, entry: Outcome) -> Step:
        if entry.status != "unknown" and bytes(entry.raw) == b"null":
            raise InvalidTransition(f"expected a result of {_name(entry.call)}, found none")
        round_ = self.turn.round if self.turn else None
        call = self._call(entry.call)
        if call is None and entry.call.answer >= (round_.answer.seq if round_ else self.length):
            raise InvalidTransition(f"expected a call that was made, found {_name(entry.call)}")
        if call is None or round_ is None or _settled(round_.outcome(call)):
            return "late_outcome"
        if entry.status == "unknown":
            return "outcome"
        if not _answers(self.dialect, call, bytes(entry.raw)):
            raise InvalidTransition(f"expected one result of {_name(entry.call)}, found another")
        return "last_outcome" if self.pending == (call,) else "outcome"

    def _call(self, key: CallKey) -> ToolCall | None:
        """The call of the open round that a key names."""
        round_ = self.turn.round if self.turn else None
        if round_ is None or key.answer != round_.answer.seq:
            return None
        found = [call for call in round_.calls if call.position == key.position]
        return found[0] if found and found[0].id == key.id else None

    def _refused(self, step: Step) -> InvalidTransition:
        legal = ", ".join(sorted(NEXT[self.phase]))
        return InvalidTransition(f"expected one of {legal} while {self.phase}, found {step}")

    # -- what follows from an entry -------------------------------------------------------------

    def _copy(self) -> Record:
        copy = Record.__new__(Record)
        copy.conversation = self.conversation
        copy.dialect = self.dialect
        copy.base = self.base
        copy.length = self.length
        copy.phase = self.phase
        copy.context = self.context
        copy.turn = self.turn
        copy.turn_number = self.turn_number
        copy.start = self.start
        copy._log = self._log
        return copy

    def _take(self, entry: Entry, step: Step, round_: Round | None) -> None:
        """Change this record, which nobody else has seen yet, to what follows from the entry."""
        if isinstance(entry, Said):
            self._take_said(entry, round_)
        elif isinstance(entry, TurnBegin):
            self.turn = OpenTurn(entry, self.context)
            self.turn_number = entry.turn
        elif isinstance(entry, Outcome):
            self._take_outcome(entry, step)
        elif isinstance(entry, _NOTES):
            self._take_note(entry)
        elif isinstance(entry, TurnEnd):
            self._take_end(entry)
        elif isinstance(entry, Attempt):
            if entry.answered:
                self._change(failures=self._open.failures + 1, faults=(entry.error,))
        elif isinstance(entry, Compaction):
            self._take_compaction(entry)
        elif isinstance(entry, Rewind):
            self.context = self._context_before(entry)

    @property
    def _open(self) -> OpenTurn:
        if self.turn is None:
            raise InvalidTransition("expected an open turn, found none")
        return self.turn

    def _change(self, **changes: object) -> None:
        self.turn = msgspec.structs.replace(self._open, **changes)

    def _add_foreign(self, line: Line) -> None:
        """Add a message that may bring calls or results which belong to nothing here."""
        self.context = self.context.add(line, tidy=not has_calls(self.dialect, line.raw))

    def _line(self, entry: Entry, raw: bytes, *, pin: bool = False) -> Line:
        return Line(entry, raw, self.dialect.project(raw), pin)

    def _take_said(self, entry: Said, round_: Round | None) -> None:
        line = self._line(entry, bytes(entry.raw), pin=entry.pin)
        if self.turn is not None and entry.author == "model":
            self._take_answer(entry, line, self.turn, round_)
            return
        if self.turn is not None and entry.author == "append":
            self._change(appended=self.turn.appended.add(line))
        if self.turn is not None and self.turn.round is not None:
            waiting = self.turn.round.waiting.add(line)
            self._change(round=msgspec.structs.replace(self.turn.round, waiting=waiting))
        else:
            self._add_foreign(line)

    def _take_answer(self, entry: Said, line: Line, turn: OpenTurn, round_: Round | None) -> None:
        if entry.problems:
            if INTERRUPTED not in entry.problems:
                self._change(failures=turn.failures + 1, faults=entry.problems)
            return
        tokens = entry.usage.total_tokens if entry.usage else self.tokens
        self.context = self.context.mended(self.dialect).answered(line, tokens)
        rounds = turn.rounds + (self.phase != "answered")
        self._change(round=round_, answered=True, rounds=rounds, failures=0, faults=())

    def _take_outcome(self, entry: Outcome, step: Step) -> None:
        if step == "late_outcome" or self.turn is None or self.turn.round is None:
            return
        round_ = self.turn.round
        outcomes = {**(round_.outcomes or {}), entry.call.position: entry}
        self._change(round=msgspec.structs.replace(round_, outcomes=outcomes))
        if step == "last_outcome":
            self._frame(entry)

    def _frame(self, entry: Entry) -> None:
        """Close the round: its results, and what was said meanwhile, go into the context.

        Each result was judged when it came, so that the calls are known to be answered.
        """
        turn = self._open
        if turn.round is None:
            return
        lines = turn.round.waiting.added()
        waiting = [line.raw for line in lines]
        framed = self.dialect.frame(_fragments(turn.round, self.dialect), waiting)
        tidy = not any([has_calls(self.dialect, raw) for raw in waiting])
        for raw, pin in zip(framed, _pins(framed, lines), strict=True):
            self.context = self.context.add(self._line(entry, raw, pin=pin), tidy=tidy)
        self._change(round=None)

    def _take_note(self, entry: Intent | Decision) -> None:
        round_ = self._open.round
        if round_ is None:
            return
        position = entry.call.position
        if isinstance(entry, Intent):
            self._change(round=msgspec.structs.replace(round_, intents=round_.intents | {position}))
            return
        noted = msgspec.structs.replace(
            round_, decisions={**(round_.decisions or {}), position: entry}
        )
        self._change(round=_not_started(noted, position) if entry.verdict == "not_run" else noted)

    def _take_end(self, entry: TurnEnd) -> None:
        turn = self._open
        if KEEPS[entry.status, turn.answered] == "all":
            self._frame(entry)
        else:
            self.context = turn.before
            for line in turn.appended.added():
                self._add_foreign(line)
        self.turn = None

    def _take_compaction(self, entry: Compaction) -> None:
        whole = self.context
        self.context = compacted(whole, entry, self.dialect)
        if self.turn is not None and covers(entry, self.turn.before):
            before = compacted(self.turn.before, entry, self.dialect, whole=whole)
            self._change(before=before)

    def _context_before(self, rewind: Rewind) -> Context:
        to = rewind.to
        if not self.base <= to < rewind.seq:
            raise InvalidTransition(
                f"expected to rewind to an entry from {self.base} on that is there, found {to}"
            )
        context = self._log.at(to)[1]
        if context is None:
            raise InvalidTransition(f"a turn was open before entry {to}: rewind to between turns")
        return context


_NOTES = (Intent, Decision)
"""What is noted of a call that is pending."""

_STEPS: dict[type[Entry], Step] = {
    TurnBegin: "begin",
    Attempt: "attempt",
    Intent: "intent",
    Decision: "decision",
    TurnEnd: "end",
    Compaction: "compaction",
    Mark: "mark",
    Rewind: "rewind",
    SliceEvent: "slice",
}


def _calls_of(dialect: Dialect, entry: Said) -> tuple[ToolCall, ...]:
    raw = bytes(entry.raw)
    return Message(dialect, raw).tool_calls if dialect.may_have_calls(raw) else ()


def _answers(dialect: Dialect, call: ToolCall, raw: bytes) -> bool:
    """Whether a fragment is one result of a call, and nothing else."""
    try:
        return dialect.paired((call,), dialect.frame((rawjson.compact(raw),)))
    except DecodeError:
        return False


def _settled(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.status != "unknown"


def _not_started(round_: Round, position: int) -> Round:
    """Somebody knows that the call never ran: it is as if it had not been started."""
    outcomes = {at: ended for at, ended in (round_.outcomes or {}).items() if at != position}
    return msgspec.structs.replace(round_, intents=round_.intents - {position}, outcomes=outcomes)


def _fragments(round_: Round, dialect: Dialect) -> list[bytes]:
    """A round's results in call order; calls without a result are answered as interrupted."""
    outcomes = [(call, round_.outcome(call)) for call in round_.calls]
    return [
        bytes(outcome.raw) if outcome and _settled(outcome) else dialect.interrupted(call)
        for call, outcome in outcomes
    ]


def _pins(framed: Sequence[bytes], waiting: Sequence[Line]) -> list[bool]:
    """Say which framed messages are pinned.

    What waited may stand after the results, as it was said, or among them: then those are pinned.
    """
    if not waiting:
        return [False] * len(framed)
    alone = 0
    for raw, line in zip(reversed(framed), reversed(waiting), strict=False):
        if raw != line.raw:
            break
        alone += 1
    among = any([line.pin for line in waiting[: len(waiting) - alone]])
    after = [line.pin for line in waiting[len(waiting) - alone :]]
    return [*[among] * (len(framed) - alone), *after]


def _name(key: CallKey) -> str:
    return f"call {key.id!r} at position {key.position} of entry {key.answer}"
