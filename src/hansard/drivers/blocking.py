"""The blocking driver.

A tool that runs alone runs in the caller's thread; several, or one with a time limit, in threads
of their own.
"""

from __future__ import annotations

import inspect
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeVar

from ..errors import Invalid
from . import threads
from .acts import AwaitJobs, Call, Commit, Deed, Do, Ended, Left, Open, Pause, Read, StartJobs

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from contextlib import AbstractContextManager

    from ..transports.transport import Transport
    from ..turn.events import TurnEvent
    from .acts import Act, Job

__all__ = ["BlockingDriver"]

Outcome = TypeVar("Outcome")
"""What a drive comes to."""


class BlockingDriver:
    """Carries out the acts of one drive."""

    def __init__(self, transport: Transport, commit: Callable[[Commit], object] | None) -> None:
        self._transport = transport
        self._commit = commit
        self._open: AbstractContextManager[Iterator[bytes]] | None = None
        self._chunks: Iterator[bytes] = iter(())
        self._jobs = _Jobs()

    def run(self, acts: Generator[Act, object, Outcome]) -> Outcome:
        """Carry out all acts of a drive that streams nothing."""
        events = self.stream(acts)
        while True:
            try:
                next(events)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]

    def stream(self, acts: Generator[Act, object, Outcome]) -> Generator[TurnEvent, None, Outcome]:
        """Carry out all acts, and give the events as they come.

        Closed before its end, it lets the drive put on the record what has come.
        """
        step: Callable[..., Act] = acts.send
        given: object = None
        left = False
        try:
            while True:
                act = step(given)
                step, given = acts.send, None
                try:
                    if isinstance(act, Deed):
                        given = self._carry_out(act)
                    elif not left:
                        yield act
                except GeneratorExit:
                    left, step, given = True, acts.throw, Left()
                except BaseException as error:  # noqa: BLE001 -- the drive raises it again
                    step, given = acts.throw, error
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        except Left:
            raise GeneratorExit from None
        finally:
            self._close()

    def _carry_out(self, act: Act) -> object:  # noqa: PLR0911 - one for each act
        if isinstance(act, Read):
            return self._read()
        if isinstance(act, Commit):
            self._make_durable(act)
            return None
        if isinstance(act, Call):
            return self._transport.send(act.request, timeout_s=act.timeout_s)
        if isinstance(act, Open):
            self._open = self._transport.stream(act.request, timeout_s=act.timeout_s)
            self._chunks = self._open.__enter__()
            return None
        if isinstance(act, StartJobs):
            self._jobs.start(act.jobs)
            return None
        if isinstance(act, Do):
            return act.run()
        if isinstance(act, Pause):
            time.sleep(act.seconds)
            return None
        return self._jobs.wait() if isinstance(act, AwaitJobs) else self._jobs.stop()

    def _make_durable(self, act: Commit) -> None:
        if self._commit is None:
            return
        done = self._commit(act)
        if inspect.isawaitable(done):
            if inspect.iscoroutine(done):
                done.close()
            raise Invalid(
                "expected a checkpoint= that is done when it returns, found one that has to be "
                "awaited: give a plain function, or use AsyncChat"
            )

    def _read(self) -> bytes | None:
        chunk = next(self._chunks, None)
        if chunk is None:
            self._close()
        return chunk

    def _close(self) -> None:
        """Close the stream that is open, if one is."""
        opened, self._open, self._chunks = self._open, None, iter(())
        if opened is not None:
            opened.__exit__(None, None, None)


class _Jobs:
    """The jobs of one drive, and until when they may take."""

    def __init__(self) -> None:
        self._ended: SimpleQueue[Ended] = SimpleQueue()
        self._until_s: dict[int, float | None] = {}
        self._alone: Job | None = None

    def start(self, jobs: tuple[Job, ...]) -> None:
        now_s = time.monotonic()
        for job in jobs:
            left_s = job.timeout_s
            self._until_s[job.number] = None if left_s is None else now_s + left_s
        [*others, last] = jobs
        if not others and len(self._until_s) == 1 and last.timeout_s is None and not last.is_async:
            self._alone = last
            return
        for job in jobs:
            threads.start(job, self._ended.put)

    def wait(self) -> list[Ended]:
        """Wait for the first that ends, and give all that have ended by then."""
        if self._alone is not None:
            ended = [self._finish_here(self._alone)]
            self._alone = None
        else:
            ended = self._first()
        for one in ended:
            self._until_s.pop(one.number, None)
        return ended

    def _finish_here(self, job: Job) -> Ended:
        """Run a job in the caller's thread, where an interruption is meant for the caller."""
        ended = threads.finish(job)
        if isinstance(ended.error, KeyboardInterrupt):
            raise ended.error
        return ended

    def _first(self) -> list[Ended]:
        limits = [until for until in self._until_s.values() if until is not None]
        try:
            wait_s = max(0.0, min(limits) - time.monotonic()) if limits else None
            ended = [self._ended.get(timeout=wait_s)]
        except Empty:
            now_s = time.monotonic()
            late = [
                at for at, until in self._until_s.items() if until is not None and until <= now_s
            ]
            return [Ended(number, "timed_out") for number in late]
        return ended + self._rest()

    def _rest(self) -> list[Ended]:
        ended = []
        while not self._ended.empty():
            ended.append(self._ended.get_nowait())
        return ended

    def stop(self) -> list[Ended]:
        """Give up on all of them: a thread cannot be stopped."""
        ended = self._rest()
        known = {one.number for one in ended}
        left = [number for number in self._until_s if number not in known]
        self._until_s = {}
        self._alone = None
        return [*ended, *[Ended(number, "stopped") for number in left]]
