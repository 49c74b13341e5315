"""The driver under asyncio: the acts of `blocking`, awaited.

Async tools run as tasks, others in threads of their own.
"""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from . import threads
from .acts import AwaitJobs, Call, Commit, Deed, Do, Ended, Left, Open, Pause, Read, StartJobs

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
    from contextlib import AbstractAsyncContextManager

    from ..transports.transport import AsyncTransport
    from ..turn.events import TurnEvent
    from .acts import Act, Job

__all__ = ["AsyncDriver"]

Outcome = TypeVar("Outcome")
"""What a drive comes to."""


class AsyncDriver(Generic[Outcome]):
    """Carries out the acts of one drive. ``outcome`` is what it came to, once it has ended."""

    def __init__(
        self, transport: AsyncTransport, commit: Callable[[Commit], object] | None
    ) -> None:
        self._transport = transport
        self._commit = commit
        self._open: AbstractAsyncContextManager[AsyncIterator[bytes]] | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._jobs = _Jobs()
        self.outcome: Outcome | None = None

    async def run(self, acts: Generator[Act, object, Outcome]) -> Outcome:
        """Carry out all acts of a drive that streams nothing."""
        async for _ in self.stream(acts):
            pass
        return cast("Outcome", self.outcome)

    async def stream(
        self, acts: Generator[Act, object, Outcome]
    ) -> AsyncGenerator[TurnEvent, None]:
        """Carry out all acts, and give the events as they come.

        Closed before its end, or cancelled, it lets the drive put on the record what has come.
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
                        given = await self._carry_out(act)
                    elif not left:
                        yield act
                except GeneratorExit:
                    left, step, given = True, acts.throw, Left()
                except BaseException as error:  # noqa: BLE001 -- the drive raises it again
                    step, given = acts.throw, error
        except StopIteration as done:
            self.outcome = done.value
        except Left:
            raise GeneratorExit from None
        finally:
            await self._close()

    async def _carry_out(self, act: Act) -> object:  # noqa: PLR0911 - one for each act
        if isinstance(act, Read):
            return await self._read()
        if isinstance(act, Commit):
            return await self._make_durable(act)
        if isinstance(act, Call):
            return await self._transport.send(act.request, timeout_s=act.timeout_s)
        if isinstance(act, Open):
            self._open = self._transport.stream(act.request, timeout_s=act.timeout_s)
            self._chunks = await self._open.__aenter__()
            return None
        if isinstance(act, StartJobs):
            self._jobs.start(act.jobs)
            return None
        if isinstance(act, Do):
            return await act.run()  # type: ignore[misc]
        if isinstance(act, Pause):
            await asyncio.sleep(act.seconds)
            return None
        return await self._jobs.wait() if isinstance(act, AwaitJobs) else await self._jobs.stop()

    async def _make_durable(self, act: Commit) -> object:
        if self._commit is None:
            return None
        done = self._commit(act)
        return await done if inspect.isawaitable(done) else done

    async def _read(self) -> bytes | None:
        chunk = await anext(self._chunks, None) if self._chunks is not None else None
        if chunk is None:
            await self._close()
        return chunk

    async def _close(self) -> None:
        """Close the stream that is open, if one is."""
        opened, self._open, self._chunks = self._open, None, None
        if opened is not None:
            await opened.__aexit__(None, None, None)


class _Jobs:
    """The jobs of one drive, each a future, and until when they may take."""

    def __init__(self) -> None:
        self._jobs: dict[asyncio.Future[Ended], int] = {}
        self._until_s: dict[int, float] = {}

    def start(self, jobs: tuple[Job, ...]) -> None:
        loop = asyncio.get_running_loop()
        for job in jobs:
            if job.timeout_s is not None:
                self._until_s[job.number] = loop.time() + job.timeout_s
            self._jobs[_task(job) if job.is_async else _thread(job, loop)] = job.number

    async def wait(self) -> list[Ended]:
        """Wait for the first that ends, and give all that have ended by then."""
        loop = asyncio.get_running_loop()
        limits = self._until_s.values()
        wait_s = max(0.0, min(limits) - loop.time()) if limits else None
        done, _ = await asyncio.wait(
            self._jobs, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED
        )
        if done:
            return self._take(done)
        late = {number for number, until in self._until_s.items() if until <= loop.time()}
        for number in late:
            del self._until_s[number]
        for future, number in self._jobs.items():
            if number in late and isinstance(future, asyncio.Task):
                future.cancel()
        return [Ended(number, "timed_out") for number in sorted(late)]

    def _take(self, done: set[asyncio.Future[Ended]]) -> list[Ended]:
        ended = []
        for future in [future for future in self._jobs if future in done]:
            number = self._jobs.pop(future)
            self._until_s.pop(number, None)
            came = not future.cancelled() and future.exception() is None
            ended.append(future.result() if came else Ended(number, "stopped"))
        return ended

    async def stop(self) -> list[Ended]:
        """Cancel what can be cancelled, and give up on threads."""
        for future in self._jobs:
            future.cancel()
        tasks = [future for future in self._jobs if isinstance(future, asyncio.Task)]
        if tasks:
            await asyncio.wait(tasks)
        return self._take(set(self._jobs))


def _task(job: Job) -> asyncio.Task[Ended]:
    return asyncio.create_task(_finish(job))


async def _finish(job: Job) -> Ended:
    try:
        value = await job.run()  # type: ignore[misc]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return Ended(job.number, "raised", error=error)
    return Ended(job.number, "returned", value)


def _thread(job: Job, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Ended]:
    future: asyncio.Future[Ended] = loop.create_future()

    def take(ended: Ended) -> None:
        if not future.done():
            future.set_result(ended)

    def done(ended: Ended) -> None:
        with suppress(RuntimeError):  # The loop is closed, then, and nobody waits any more.
            loop.call_soon_threadsafe(take, ended)

    threads.start(job, done)
    return future
