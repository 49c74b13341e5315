"""A process that carries out the acts of a drive, and may be gone before or after any of them.

It keeps only what it has committed. Its jobs end in an order that a seed decides, some of them
while nobody has been told yet.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Literal

from hansard.dialects.dialect import Ask, ToolSpec
from hansard.drivers.acts import (
    AwaitJobs,
    Call,
    Commit,
    Deed,
    Ended,
    Job,
    Left,
    Open,
    Read,
    StartJobs,
    StopJobs,
)
from hansard.drivers.drive import Drive, Plan
from tests.simulation.world import TOOLS, Hang

if TYPE_CHECKING:
    from hansard.drivers.acts import Act
    from hansard.record.entries import Entry
    from hansard.record.record import Record
    from hansard.turn.effects import Finish, Wait
    from tests.simulation.world import World

SPECS = [ToolSpec(tool.name, tool.description, tool.parameters) for tool in TOOLS.values()]

Mishap = Literal["crash", "stop", "late"]
"""It is gone; somebody stops it; its time is over."""

DEADLINE_S = 1.0


class Crash(BaseException):
    """The process is gone."""


class Cancelled(BaseException):
    """Whoever waited for the process has told it to stop."""


class Process:
    """One process. ``mishap_at`` counts the places where something can happen to it.

    ``has_left_jobs`` says that nobody waited for the end of some that were started.
    """

    def __init__(self, world: World, record: Record, mishap_at: int | None, mishap: Mishap) -> None:
        self.world = world
        self.durable = record
        self.places = 0
        self.has_left_jobs = False
        self._mishap_at = mishap_at
        self._mishap = mishap
        self._order = random.Random(f"{world.seed} {mishap_at}")
        self._jobs: list[Job] = []
        self._silent: list[Ended] = []
        self._chunks: Iterator[bytes] = iter(())
        self._resources = ExitStack()
        self._now_s = 0.0
        self._drive = Drive(record, self._plan())
        self._in_doubt = False

    def run(self, *entries: Entry) -> Wait | Finish:
        """Put entries on the record, and go on from there until nothing more can be done."""
        self._drive.stage(*entries)
        acts = self._drive.run()
        with self._resources:
            return self._play(acts)

    @property
    def told(self) -> Record:
        """What whoever is told of an error is told of the record."""
        assert self._in_doubt or self.durable is self._drive.record
        return self._drive.record

    def _play(self, acts: Generator[Act, object, Wait | Finish]) -> Wait | Finish:
        step: Callable[..., Act] = acts.send
        given: object = None
        try:
            while True:
                act = step(given)
                step, given = acts.send, None
                try:
                    given = self._carry_out(act)
                except Crash:
                    acts.close()
                    raise
                except BaseException as error:  # noqa: BLE001 -- the drive raises it again
                    self._in_doubt = self._in_doubt or isinstance(act, Commit)
                    step, given = acts.throw, error
        except StopIteration as done:
            outcome: Wait | Finish = done.value
            return outcome

    def _carry_out(self, act: Act) -> object:
        if not isinstance(act, Deed):
            self._place(Left)  # Only who is being told something can leave.
            return None
        self._place(None if isinstance(act, StartJobs) else Cancelled)
        given = self._do(act)
        self._place(None if isinstance(act, AwaitJobs) else Cancelled)
        return given

    def _place(self, stop: type[BaseException] | None) -> None:
        """Come by a place where something can happen. Not everywhere can a process be stopped."""
        self.places += 1
        if self.places != self._mishap_at:
            return
        if self._mishap == "late":
            self._now_s = DEADLINE_S
        elif self._mishap == "crash":
            raise Crash
        elif stop is not None:
            raise stop

    def _do(self, act: Act) -> object:
        if isinstance(act, Commit):
            self.durable = act.record
        elif isinstance(act, Call):
            return self.world.send(act.request)
        elif isinstance(act, Open):
            self._chunks = self._resources.enter_context(self.world.stream(act.request))
        elif isinstance(act, Read):
            return next(self._chunks, None)
        elif isinstance(act, StartJobs):
            self._jobs += act.jobs
        elif isinstance(act, AwaitJobs):
            return self._await()
        elif isinstance(act, StopJobs):
            stopped = [*self._silent, *[Ended(job.number, "stopped") for job in self._jobs]]
            self.has_left_jobs |= bool(self._jobs)
            self._silent, self._jobs = [], []
            return stopped
        return None

    def _await(self) -> list[Ended]:
        while self._jobs and (not self._silent or self._order.random() < 0.5):
            job = self._jobs.pop(self._order.randrange(len(self._jobs)))
            self._silent.append(self._finish(job))
            self._place(Cancelled)
        ended, self._silent = self._silent, []
        return ended

    def _finish(self, job: Job) -> Ended:
        """Run a job to its end; when time is over, nobody learns of that end, if it has one."""
        late = self._now_s == DEADLINE_S
        self.has_left_jobs |= late
        if late and self._order.random() < 0.5:
            return Ended(job.number, "timed_out")
        ended = _ended(job)
        return Ended(job.number, "timed_out") if late else ended

    def _plan(self) -> Plan:
        return Plan(
            rules=self.world.rules,
            ask=partial(_ask, self.world),
            model="scripted",
            now_us=lambda: 0,
            monotonic_s=lambda: self._now_s,
            deadline_s=DEADLINE_S if self._mishap == "late" else None,
            stream=self.world.is_streamed,
            session=self.world,
        )


def _ended(job: Job) -> Ended:
    try:
        value = job.run()
        if job.is_async:
            value = _awaited(value)
    except Hang:
        return Ended(job.number, "timed_out")
    except Exception as error:  # noqa: BLE001 -- as a driver does
        return Ended(job.number, "raised", error=error)
    return Ended(job.number, "returned", value)


def _awaited(value: object) -> object:
    try:
        value.send(None)  # type: ignore[attr-defined]
    except StopIteration as done:
        return done.value
    raise AssertionError("expected a tool that waits for nothing")


def _ask(world: World, record: Record) -> Ask:
    return Ask(
        model="scripted",
        messages=record.context.segments(record.dialect),
        tools=SPECS,
        stream=world.is_streamed,
    )
