"""Sessions whose process is gone, or stopped, at every act that it carries out.

That is at each call of the store, of the model or of a tool: before it took effect, and after, when
nobody had been told yet.

Whoever comes next, with a session that knows nothing, comes to the same conversation, byte for
byte. No tool has done what its policy does not permit, and nothing that was recorded is gone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pytest

from hansard import Chat, user
from hansard.drivers.acts import Deed, Do, Left, Pause
from hansard.errors import ProviderError, ToolIdempotencyError, TooManyRounds
from hansard.record import views
from hansard.record.entries import Said, TurnEnd
from hansard.record.record import Record
from hansard.session.flows import Flows, entries_of, pending_of, settling
from hansard.session.ledger import Ledger
from hansard.session.tenure import Tenure
from hansard.stores.memory import MemoryStore
from hansard.stores.store import Hold
from hansard.testing import ScriptedModel, forever
from tests.conftest import scale
from tests.simulation.process import Cancelled, Crash, Mishap, Process
from tests.simulation.test_turns import check_permitted
from tests.simulation.world import TOOLS, World
from tests.support.sessions import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hansard.drivers.acts import Act
    from hansard.messages import ToolCall
    from hansard.record.entries import Entry
    from hansard.session.ledger import Flow
    from hansard.talk.reply import Reply

Given = TypeVar("Given")

Mishaps: TypeAlias = "list[tuple[int, Mishap]]"
"""What happens to one process after the other, and where."""

KINDS: tuple[Mishap, ...] = ("crash", "stop")
NONE: tuple[int, Mishap] = (10**6, "crash")
PROCESSES_MAX = 60
LEASE_S = 15.0


class SessionProcess(Process):
    """A process that carries out what a session does."""

    def __init__(self, world: World, mishap_at: int, mishap: Mishap) -> None:
        nowhere = Record("nowhere", ScriptedModel("Hi", dialect=world.nature.dialect).dialect)
        super().__init__(world, nowhere, mishap_at, mishap)
        self.is_letting_go = False

    def carry_out(self, flow: Flow[Given]) -> Given:
        """Carry it out to its end, or to that of this process."""
        with self._resources:
            return self._play(flow)  # type: ignore[arg-type, return-value]

    def _carry_out(self, act: Act) -> object:
        hold = act.run.args[-1] if isinstance(act, Do) and isinstance(act.run, partial) else None
        self.is_letting_go = isinstance(hold, Hold) and hold.ttl_s == 0
        return super()._carry_out(act)

    def _do(self, act: Act) -> object:
        if isinstance(act, Do):
            return act.run()
        return None if isinstance(act, Pause) else super()._do(act)


class Stage:
    """A store, and the processes that work on the one conversation in it, one after the other."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.clock = Clock()
        self.store = MemoryStore(clock=self.clock)
        model = ScriptedModel(forever("Hi"), dialect=self.world.nature.dialect)
        self.chat = Chat(
            model,
            tools=list(TOOLS.values()),
            max_concurrent=self.world.rules.concurrent_max,
            max_rounds=self.world.rules.rounds_max,
        )
        self.log: tuple[Entry, ...] = ()

    def flows(self) -> Flows:
        """Give a session that knows nothing."""
        ledger = Ledger(self.store, "talk", self.chat.model.dialect)
        return Flows(self.chat, ledger, Tenure(LEASE_S, _no_renewal), "raise")

    def do(self, flow: Flow[Given]) -> Given:
        """Carry out something to which nothing happens."""
        return SessionProcess(self.world, *NONE).carry_out(flow)

    def check(self, what: str) -> Record:
        """Check that nothing is gone, and give what one who knows nothing finds."""
        flows = self.flows()
        record = self.do(flows.ledger.load())
        log = self.do(flows.look(entries_of, whole=True))
        assert [entry.seq for entry in log] == list(range(len(log))), what
        assert log[: len(self.log)] == self.log, what
        replayed = flows.ledger.record
        assert replayed is not None
        assert contents(replayed) == contents(record), what
        self.log = log
        return record


def _no_renewal(hold: Hold, renewed: Callable[[], None]) -> None:
    """Let the lease run out."""


@dataclass
class Played:
    """How a turn went."""

    stage: Stage
    record: Record
    places: list[int] = field(default_factory=list)

    @property
    def end(self) -> tuple[str, str]:
        last = self.stage.log[-1]
        assert isinstance(last, TurnEnd)
        return last.status, last.error

    @property
    def history(self) -> list[bytes]:
        flows = self.stage.flows()
        return [message.raw for message in self.stage.do(flows.history(everything=False))]


def contents(record: Record) -> list[bytes]:
    return [message.raw for message in views.context(record)]


def play(seed: int, mishaps: Iterable[tuple[int, Mishap]] = ()) -> Played:
    """Play the turn of a seed to its end. Each process meets one mishap, until there are none."""
    stage = Stage(seed)
    what = f"seed {seed}, {mishaps}"
    if seed % 2:
        stage.do(stage.flows().append(["Earlier.", "And before."]))
    coming = iter(mishaps)
    places: list[int] = []
    flows = stage.flows()
    for _ in range(PROCESSES_MAX):
        process = SessionProcess(stage.world, *next(coming, NONE))
        try:
            process.carry_out(_go_on(stage, flows))
        except Crash:
            stage.clock.now_s += LEASE_S
            flows = stage.flows()
        except (Cancelled, Left):
            # Nobody has to wait for who could still let go of the lease.
            stage.clock.now_s += LEASE_S * process.is_letting_go
        except (ProviderError, TooManyRounds):
            pass  # It is on the record, or the next one is told again.
        except ToolIdempotencyError as error:
            _settle(stage, error.calls)
        places.append(process.places)
        flows = stage.flows() if seed % 3 else flows
        record = stage.check(what)
        if stage.log and isinstance(stage.log[-1], TurnEnd):
            return Played(stage, record, places)
    raise AssertionError(f"expected an end, found a turn that goes on and on: {what}")


def _go_on(stage: Stage, flows: Flows) -> Flow[None]:
    """Send, or send again, and do what people do about calls that wait for them."""
    world = stage.world
    stream = world.is_streamed
    turn = flows.turn(world, ["Go ahead."], {}, turn_id="turn", stream=stream)
    reply: Reply = yield from turn.acts()
    for call in reply.approvals:
        verdict: Any = "approved" if world.approves(call) else "denied"
        yield from flows.change(flows.decided([call], verdict, {}))
    if reply.tool_calls:
        yield from _interrupt(stage, flows, reply.tool_calls)
        given = [call.answer(f"yours {call.arguments}") for call in reply.tool_calls]
        yield from flows.turn(world, given, {}, stream=stream).acts()


def _interrupt(stage: Stage, flows: Flows, calls: tuple[ToolCall, ...]) -> Flow[None]:
    """Say what people say while calls wait for their results, once."""
    log = yield from flows.look(entries_of, whole=True)
    said = [bytes(entry.raw) for entry in log if isinstance(entry, Said)]
    for text in filter(None, map(stage.world.interrupts, calls)):
        [message] = stage.chat.model.dialect.say(user(text))
        if message.raw not in said:
            yield from flows.append([text])


def _settle(stage: Stage, calls: Iterable[ToolCall]) -> None:
    for call in calls:
        found = stage.world.result(call)
        flows = stage.flows()
        assert call in stage.do(flows.look(pending_of))
        stage.do(flows.change(settling(call, found, not_run=found is None, by="")))


def check_same(played: Played, smooth: Played, what: str) -> None:
    """Check that a turn with mishaps came to what the smooth one came to."""
    assert contents(played.record) == contents(smooth.record), what
    assert played.history == smooth.history, what
    assert played.end == smooth.end, what
    check_permitted(played.stage.world, what)
    done, expected = (
        {(effect.tool, effect.n) for effect in each.stage.world.ledger} for each in (played, smooth)
    )
    assert done == expected, what


def every_mishap(smooth: Played) -> Iterator[Mishaps]:
    """Give the mishaps of a turn: at each place a crash, and at some that somebody stops it."""
    for before, places in enumerate(smooth.places):
        for at in range(1, places + 1):
            yield [*[NONE] * before, (at, "crash")]
            if at % 3 == smooth.stage.world.seed % 3:
                yield [*[NONE] * before, (at, "stop")]


def any_mishap(smooth: Played) -> Mishaps:
    """Give one mishap for a turn, somewhere, and two for whoever comes next."""
    drawn = random.Random(smooth.stage.world.seed)
    before = drawn.randrange(len(smooth.places))
    at = drawn.randint(1, smooth.places[before])
    more = [(drawn.randint(1, 20), drawn.choice(KINDS)) for _ in range(2)]
    return [*[NONE] * before, (at, drawn.choice(KINDS)), *more]


PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_comes_to_the_same_end_wherever_it_is_broken_off(part: int, seed: int) -> None:
    first = seed * 10**6 + part
    for each in range(first, first + scale(20, 2_000), PARTS):
        smooth = play(each)
        check_permitted(smooth.stage.world, f"seed {each}")
        for mishaps in every_mishap(smooth):
            check_same(play(each, mishaps), smooth, f"seed {each}, {mishaps}")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_session_that_is_broken_off_again_and_again_comes_to_the_same_end(
    part: int, seed: int
) -> None:
    first = (seed + 1) * 10**6 + part
    for each in range(first, first + scale(100, 50_000), PARTS):
        smooth = play(each)
        mishaps = any_mishap(smooth)
        check_same(play(each, mishaps), smooth, f"seed {each}, {mishaps}")


def test_the_store_is_among_what_can_be_broken_off() -> None:
    """What is never met is not tested."""
    met: list[str] = []

    class Noting(SessionProcess):
        def _do(self, act: Act) -> object:
            if isinstance(act, Deed):
                run = getattr(getattr(act, "run", None), "func", None)
                met.append(getattr(run, "__name__", type(act).__name__))
            return super()._do(act)

    for seed in range(60):
        stage = Stage(seed)
        try:
            Noting(stage.world, *NONE).carry_out(_go_on(stage, stage.flows()))
        except (ProviderError, TooManyRounds, ToolIdempotencyError):
            continue
    assert {"append", "read", "find", "lease", "head", "Call", "Open", "Read", "StartJobs"} <= {
        *met
    }
