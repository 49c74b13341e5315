"""Both drivers behind one face, and a transport in which everything can be seen."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from hansard.dialects.dialect import Request
from hansard.drivers.acts import Ended, Job, StartJobs
from hansard.drivers.asynchronous import AsyncDriver
from hansard.drivers.blocking import BlockingDriver

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator

    from hansard.drivers.acts import Act, Commit
    from hansard.turn.events import TurnEvent

    Acts: TypeAlias = Generator[Act, Any, Any]

Kind: TypeAlias = Literal["blocking", "asyncio"]
KINDS: tuple[Kind, ...] = ("blocking", "asyncio")

ASK = Request("/ask", b"{}")
PATIENCE_S = 30.0
"""Longer than any test takes: where this runs out, something hangs."""

Given = TypeVar("Given")


class Wire:
    """A transport of both kinds. ``log`` says what was asked of it, in order.

    ``pieces`` are what it answers; an error among them is raised when its turn comes.
    """

    def __init__(
        self, *pieces: bytes | BaseException, on_open: BaseException | None = None
    ) -> None:
        self.log: list[str] = []
        self.timeouts: list[float | None] = []
        self._pieces = pieces
        self._on_open = on_open

    def _send(self, request: Request, timeout_s: float | None) -> bytes:
        self.log.append(f"send {request.path}")
        self.timeouts.append(timeout_s)
        return b"".join([_given(piece) for piece in self._pieces])

    def _opening(self, request: Request, timeout_s: float | None) -> None:
        self.timeouts.append(timeout_s)
        if self._on_open is not None:
            raise self._on_open
        self.log.append(f"open {request.path}")


class BlockingWire(Wire):
    """That of blocking calls."""

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        return self._send(request, timeout_s)

    @contextmanager
    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> Generator[Iterator[bytes]]:
        self._opening(request, timeout_s)
        try:
            yield (_given(piece) for piece in self._pieces)
        finally:
            self.log.append("close")

    def close(self) -> None:
        pass


class AsyncWire(Wire):
    """That of calls under asyncio."""

    async def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        return self._send(request, timeout_s)

    @asynccontextmanager
    async def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        self._opening(request, timeout_s)
        try:
            yield self._come()
        finally:
            self.log.append("close")

    async def _come(self) -> AsyncGenerator[bytes]:
        for piece in self._pieces:
            yield _given(piece)

    async def close(self) -> None:
        pass


def _given(piece: bytes | BaseException) -> bytes:
    if isinstance(piece, BaseException):
        raise piece
    return piece


class Drivers:
    """Makes drivers of one kind; those of asyncio share one event loop."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.runner = asyncio.Runner()

    def wire(self, *pieces: bytes | BaseException, **options: Any) -> Any:
        made = BlockingWire if self.kind == "blocking" else AsyncWire
        return made(*pieces, **options)

    def run(
        self,
        acts: Acts,
        transport: Any = None,
        commit: Callable[[Commit], object] | None = None,
    ) -> Any:
        """Carry out all acts, and give what they come to."""
        wire = transport or self.wire()
        if self.kind == "blocking":
            return BlockingDriver(wire, commit).run(acts)
        driver: AsyncDriver[Any] = AsyncDriver(wire, commit)
        return self.runner.run(driver.run(acts))

    def stream(
        self,
        acts: Acts,
        transport: Any = None,
        commit: Callable[[Commit], object] | None = None,
    ) -> Events:
        wire = transport or self.wire()
        if self.kind == "blocking":
            return Events(BlockingDriver(wire, commit).stream(acts), None)
        driver: AsyncDriver[Any] = AsyncDriver(wire, commit)
        return Events(driver.stream(acts), self.runner)

    def close(self) -> None:
        self.runner.close()


class Events:
    """The events of a drive of either kind."""

    def __init__(self, events: Any, runner: asyncio.Runner | None) -> None:
        self._events = events
        self._runner = runner

    def next(self) -> TurnEvent | None:
        """Give the next event; None at the end."""
        if self._runner is None:
            event: TurnEvent | None = next(self._events, None)
        else:
            event = self._runner.run(_next(self._events))
        return event

    def close(self) -> None:
        if self._runner is None:
            self._events.close()
        else:
            self._runner.run(_awaited(self._events.aclose()))


async def _next(events: Any) -> Any:
    return await anext(events, None)


async def _awaited(given: Any) -> Any:
    return await given


# -- jobs -----------------------------------------------------------------------------------------


def starting(*runs: Callable[[], object], timeout_s: float | None = None) -> StartJobs:
    """Start functions, numbered from 1."""
    return StartJobs(tuple([job(at, run, timeout_s) for at, run in enumerate(runs, 1)]))


def job(number: int, run: Callable[[], object], timeout_s: float | None = None) -> Job:
    return Job(number, run, asyncio.iscoroutinefunction(run), timeout_s)


def how(ended: list[Ended]) -> dict[int, str]:
    """Say of each job that ended how it did."""
    return {one.number: one.how for one in ended}


class Gate(Generic[Given]):
    """A tool that waits until it is let go, and tells when it has begun."""

    def __init__(self, value: Given) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()
        self._value = value

    def __call__(self) -> Given:
        self.begun.set()
        assert self.open.wait(PATIENCE_S)
        return self._value


def wait_for_threads(*numbers: int) -> None:
    """Wait until the threads of these jobs have told what became of them."""
    names = {f"hansard-tool-{number}" for number in numbers}
    for thread in threading.enumerate():
        if thread.name in names:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


# -- under asyncio --------------------------------------------------------------------------------


def async_driver(
    commit: Callable[[Commit], object] | None = None, wire: Any = None
) -> AsyncDriver[Any]:
    return AsyncDriver(wire or AsyncWire(), commit)


class Waits:
    """Something async that tells when it has begun, and ends when it is told to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.go = asyncio.Event()
        self.was_cancelled = False

    async def __call__(self) -> str:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return "done"
