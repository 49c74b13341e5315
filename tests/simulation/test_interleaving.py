"""Several sessions on one conversation, whose acts come in any order that a seed decides.

Sessions are generators of acts, so that one can be stopped between any two of them for as long as
one likes, and others go on. Some are gone for good in the middle, and their leases run out, as do
then those of others who are merely slow.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from hansard import Chat, Tool, ToolContext
from hansard.drivers.acts import AwaitJobs, Call, Do, Ended, Job, Pause, StartJobs, StopJobs
from hansard.errors import Busy, InvalidTransition, LeaseLost
from hansard.record.entries import TurnBegin, TurnEnd
from hansard.session.flows import Flows, entries_of
from hansard.session.ledger import Ledger
from hansard.session.tenure import Tenure
from hansard.stores.memory import MemoryStore
from hansard.testing import ScriptedModel, call, say
from tests.conftest import scale
from tests.support.sessions import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hansard.drivers.acts import Act
    from hansard.session.turns import OnBusy
    from hansard.stores.store import Hold
    from hansard.testing import ScriptedRequest

LEASE_S = 15.0
STEPS_MAX = 20_000
"""Who has not come to an end by then waits for ever."""

Deed = tuple[str, str]
"""What is to be done, and with which words."""

AT_WORK: dict[str, tuple[type[Exception], ...]] = {
    "send": (Busy, LeaseLost),
    "mark": (InvalidTransition,),
    "append": (),
    "history": (),
}
"""What somebody who is at work may keep others from, and how that is told."""


class Scene:
    """A conversation, and what has been done to it."""

    def __init__(self, seed: int, *, deaths: bool) -> None:
        self.drawn = random.Random(seed)
        self.deaths = deaths
        self.clock = Clock()
        self.store = MemoryStore(clock=self.clock)
        self.runs: dict[str, Counter[str]] = defaultdict(Counter)
        # Who is merely slow may start a tool after the lease is lost: that is not promised away.
        tool = Tool("act", "", ACT, self._act, policy="keyed" if deaths else "once")
        self.chat = Chat(ScriptedModel(self._answer), tools=[tool])
        self.replies: list[tuple[str, str]] = []
        self.appended: Counter[str] = Counter()
        self.maybe: set[str] = set()
        self.steps = 0
        deeds = [self._deed(number) for number in range(self.drawn.randint(4, 14))]
        self.workers = [Worker(self, deeds) for _ in range(self.drawn.randint(2, 4))]

    def _deed(self, number: int) -> Deed:
        kind = self.drawn.choices(("send", "append", "history", "mark"), (6, 2, 1, 1))[0]
        return kind, f"{kind} {number}"

    def _answer(self, request: ScriptedRequest) -> Any:
        """Answer what was sent last, mostly after a round of tools."""
        text = [said.text for said in request.messages if said.text.startswith("send")][-1]
        number = int(text.split()[1])
        if request.results or number % 3 == 0:
            return f"re {text}"
        calls = [call("act", id=f"call_{number}_{at}", of=text) for at in range(number % 3)]
        return say("Let me see.", calls=calls)

    def _act(self, of: str, context: ToolContext) -> str:
        self.runs[f"{of} {context.call_id}"][context.idempotency_key] += 1
        return "done"

    def play(self) -> None:
        """Let anybody go on, until nobody has anything to do."""
        while busy := [worker for worker in self.workers if not worker.is_done]:
            self.steps += 1
            assert self.steps < STEPS_MAX, "somebody waits for ever"
            worker = self.drawn.choice(busy)
            for _ in range(self.drawn.choice((1, 1, 2, 5, 20))):
                worker.step()
            if self.deaths and self.drawn.random() < 0.02:
                worker.die()
                self.clock.now_s += LEASE_S

    def flows(self) -> Flows:
        """Give a session that knows nothing."""
        ledger = Ledger(self.store, "talk", self.chat.model.dialect)
        on_busy: OnBusy = "wait" if self.drawn.random() < 0.7 else "raise"
        return Flows(self.chat, ledger, Tenure(LEASE_S, _no_renewal), on_busy)

    def check(self) -> None:
        """Check what has come of it against what was done."""
        flows = Worker(self, []).flows
        log: Any = finish(flows.look(entries_of, whole=True))
        assert [entry.seq for entry in log] == list(range(len(log)))
        begun = [entry.turn_id for entry in log if isinstance(entry, TurnBegin)]
        assert sorted(begun) == sorted({text for text, _ in self.replies})
        ended = [entry.status for entry in log if isinstance(entry, TurnEnd)]
        assert ended == ["done"] * len(begun)
        assert all(reply == f"re {text}" for text, reply in self.replies)
        history: Any = finish(flows.history(everything=False))
        said = Counter([message.text for message in history])
        for text in begun:
            assert (said[text], said[f"re {text}"]) == (1, 1)
        for text in {*self.appended, *self.maybe}:
            extra = said[text] - self.appended[text]
            assert 0 <= extra <= (len(self.workers) if text in self.maybe else 0)
        at = [message.text for message in history]
        assert all([at.index(text) < at.index(f"re {text}") for text in begun])
        for text, following in pairwise(begun):
            assert at.index(f"re {text}") < at.index(following)
        for keys in self.runs.values():
            assert len(keys) == 1
            assert self.deaths or keys.total() == 1
        calls = sum([int(text.split()[1]) % 3 for text in begun])
        assert len(self.runs) == calls


ACT: Any = {"properties": {"of": {"type": "string"}}, "required": ["of"]}


def _no_renewal(hold: Hold, renewed: Callable[[], None]) -> None:
    """Let the lease run out."""


class Worker:
    """Somebody with a session, who does one thing after the other, an act at a time."""

    def __init__(self, scene: Scene, deeds: list[Deed]) -> None:
        self.scene = scene
        self.flows = scene.flows()
        self._deeds = [*deeds]
        if scene.drawn.random() < 0.5:
            scene.drawn.shuffle(self._deeds)
        self._acts: Generator[Act, object, object] | None = None
        self._act: Act | None = None
        self._jobs: list[Job] = []

    @property
    def is_done(self) -> bool:
        return not self._deeds

    def step(self) -> None:
        """Carry out one act."""
        if not self._deeds:
            return
        kind, text = self._deeds[0]
        try:
            if self._acts is None:
                self._acts = self._begin(kind, text)
                self._act = next(self._acts)
            else:
                self._act = self._carry_out(self._acts)
        except StopIteration as done:
            self._end(kind, text, done.value)
        except AT_WORK[kind]:
            self._acts, self._jobs = None, []  # Again, then.

    def _begin(self, kind: str, text: str) -> Generator[Act, object, object]:
        flows = self.flows
        if kind == "send":
            return flows.turn(None, [text], {}, turn_id=text).acts()
        if kind == "append":
            return flows.append([text])
        return flows.mark(text) if kind == "mark" else flows.history(everything=True)

    def _end(self, kind: str, text: str, came: Any) -> None:
        self._acts = None
        del self._deeds[0]
        if kind == "send":
            self.scene.replies.append((text, came.text))
        elif kind == "append":
            self.scene.appended[text] += 1

    def _carry_out(self, acts: Generator[Act, object, object]) -> Act:
        act = self._act
        assert act is not None
        try:
            given = self._do(act)
        except Exception as error:  # noqa: BLE001 -- as a driver does
            return acts.throw(error)
        return acts.send(given)

    def _do(self, act: Act) -> object:
        if isinstance(act, Do):
            return act.run()
        if isinstance(act, Call):
            return self.scene.chat.model.blocking().send(act.request, timeout_s=None)
        if isinstance(act, StartJobs):
            self._jobs += act.jobs
        elif isinstance(act, AwaitJobs):
            job = self._jobs.pop()
            return [Ended(job.number, "returned", job.run())]
        elif isinstance(act, StopJobs):
            stopped, self._jobs = [Ended(job.number, "stopped") for job in self._jobs], []
            return stopped
        else:
            assert isinstance(act, Pause)
        return None

    def die(self) -> None:
        """Be gone. Somebody else, who knows nothing of it, does it again, if that can be known."""
        if self._acts is not None:
            self._acts.close()
            kind, text = self._deeds[0]
            if kind == "append":
                self.scene.maybe.add(text)
                del self._deeds[0]
        self._acts, self._jobs = None, []
        self.flows = self.scene.flows()


def finish(acts: Generator[Act, object, object]) -> object:
    """Carry out everything at once."""
    given: object = None
    while True:
        try:
            act = acts.send(given)
        except StopIteration as done:
            return done.value
        assert isinstance(act, Do)
        given = act.run()


def play(seed: int, *, deaths: bool) -> None:
    scene = Scene(seed, deaths=deaths)
    try:
        scene.play()
        scene.check()
    except BaseException as error:
        error.add_note(f"in Scene({seed}, deaths={deaths})")
        raise


@pytest.mark.parametrize("deaths", [False, True], ids=["calm", "deaths"])
def test_sessions_in_any_order_lose_and_double_nothing(deaths: bool, seed: int) -> None:
    for each in range(seed * 10**6, seed * 10**6 + scale(150, 10_000)):
        play(each, deaths=deaths)
