"""How the exchanges of a script are carried: blocking, and under asyncio."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from ..errors import Invalid, Unreachable
from .script import Event

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        AsyncIterator,
        Awaitable,
        Callable,
        Generator,
        Iterator,
    )

    from ..dialects.dialect import Request
    from .wire_answers import Exchange

__all__ = ["AsyncScriptedTransport", "ScriptedTransport"]


class Script(Protocol):
    """What knows the answers."""

    def take(self, request: Request, *, stream: bool) -> Exchange:
        """Write a request down and give what happens after it."""
        ...


class Held(msgspec.Struct, frozen=True):
    """A wait for an event, for so long at most."""

    until: Event
    limit_s: float | None


Step: TypeAlias = float | Held | bytes
"""Seconds to wait, an event to wait for, or a piece that comes."""


def steps_of(exchange: Exchange, timeout_s: float | None) -> Iterator[Step]:
    """Tell what happens, in order. Raises what goes wrong."""
    play = exchange.play
    if play.until is not None:
        yield Held(play.until, timeout_s)
    left_s = inf if timeout_s is None else timeout_s
    pieces = [(play.wait_each_s, piece) for piece in exchange.pieces]
    for wait_s, piece in [(play.wait_s, b""), *pieces]:
        if wait_s:
            yield float(min(wait_s, left_s))
            if wait_s > left_s:
                raise _late(timeout_s)
            left_s -= wait_s
        if piece:
            yield piece
    if exchange.failure is not None:
        raise exchange.failure()


def _late(timeout_s: float | None) -> Unreachable:
    return Unreachable(f"no answer within {timeout_s} s: the script's comes later")


def _wrong_event(kind: str, event: Event) -> Invalid:
    found = f"{type(event).__module__.split('.')[0]}.Event"
    return Invalid(f"expected hold(…, until={kind}.Event()) for this kind of call, found {found}")


class ScriptedTransport:
    """Plays a script, blocking."""

    def __init__(self, script: Script, sleep: Callable[[float], object]) -> None:
        self._script = script
        self._sleep = sleep

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        """Give the whole body of the answer."""
        exchange = self._script.take(request, stream=False)
        if exchange.is_plain:
            return exchange.pieces[0]
        return b"".join(self._pieces(steps_of(exchange, timeout_s)))

    @contextmanager
    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> Generator[Iterator[bytes]]:
        """Give the body in the pieces in which the script brings it."""
        exchange = self._script.take(request, stream=True)
        if exchange.is_plain:
            yield iter(exchange.pieces)
        else:
            yield self._pieces(steps_of(exchange, timeout_s))

    def _pieces(self, steps: Iterator[Step]) -> Iterator[bytes]:
        # What goes wrong before the first piece goes wrong at once, as over HTTP.
        return chain([self._next(steps)], iter(partial(self._next, steps), b""))

    def _next(self, steps: Iterator[Step]) -> bytes:
        """Wait for the next piece; nothing where there is none."""
        for step in steps:
            if isinstance(step, bytes):
                return step
            if isinstance(step, Held):
                self._hold(step)
            else:
                self._sleep(step)
        return b""

    def _hold(self, held: Held) -> None:
        if not isinstance(held.until, threading.Event):
            raise _wrong_event("threading", held.until)
        if not held.until.wait(held.limit_s):
            raise _late(held.limit_s)

    def close(self) -> None:
        """Nothing is held."""


class AsyncScriptedTransport:
    """Plays a script, under asyncio."""

    def __init__(self, script: Script, sleep: Callable[[float], Awaitable[object]]) -> None:
        self._script = script
        self._sleep = sleep

    async def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        """Give the whole body of the answer."""
        exchange = self._script.take(request, stream=False)
        if exchange.is_plain:
            return exchange.pieces[0]
        steps = steps_of(exchange, timeout_s)
        first = await self._next(steps)
        return b"".join([piece async for piece in self._pieces(first, steps)])

    @asynccontextmanager
    async def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AsyncGenerator[AsyncIterator[bytes]]:
        """Give the body in the pieces in which the script brings it."""
        steps = steps_of(self._script.take(request, stream=True), timeout_s)
        first = await self._next(steps)
        async with aclosing(self._pieces(first, steps)) as pieces:
            yield pieces

    async def _pieces(self, first: bytes, steps: Iterator[Step]) -> AsyncGenerator[bytes]:
        piece = first
        while piece:
            yield piece
            piece = await self._next(steps)

    async def _next(self, steps: Iterator[Step]) -> bytes:
        """Wait for the next piece; nothing where there is none."""
        for step in steps:
            if isinstance(step, bytes):
                return step
            if isinstance(step, Held):
                await self._hold(step)
            else:
                await self._sleep(step)
        return b""

    async def _hold(self, held: Held) -> None:
        if not isinstance(held.until, asyncio.Event):
            raise _wrong_event("asyncio", held.until)
        try:
            await asyncio.wait_for(held.until.wait(), held.limit_s)
        except TimeoutError:
            raise _late(held.limit_s) from None

    async def close(self) -> None:
        """Nothing is held."""
