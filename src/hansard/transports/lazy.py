"""Transports that are made when they are first used, with the libraries that they need."""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from ..dialects.dialect import Request
    from .transport import AsyncTransport, Transport

__all__ = ["LazyAsyncTransport", "LazyTransport"]


class LazyTransport:
    """A transport that ``make`` makes on the first call, once, whichever thread comes first."""

    def __init__(self, make: Callable[[], Transport]) -> None:
        self._make = make
        self._made: Transport | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<LazyTransport {self._made or 'not yet made'}>"

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        return self._ready().send(request, timeout_s=timeout_s)

    @contextmanager
    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        made = self._ready()
        with made.stream(request, timeout_s=timeout_s) as pieces:
            yield pieces

    def close(self) -> None:
        """Close what was made. What is called after that is made anew."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            made.close()

    def prepare(self) -> None:
        """Make it now, so that what it lacks is found before anything is recorded or sent."""
        self._ready()

    def _ready(self) -> Transport:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


class LazyAsyncTransport:
    """An asyncio transport that ``make`` makes on the first call, once."""

    def __init__(self, make: Callable[[], AsyncTransport]) -> None:
        self._make = make
        self._made: AsyncTransport | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<LazyAsyncTransport {self._made or 'not yet made'}>"

    async def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        return await self._ready().send(request, timeout_s=timeout_s)

    @asynccontextmanager
    async def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        made = self._ready()
        async with made.stream(request, timeout_s=timeout_s) as pieces:
            yield pieces

    async def close(self) -> None:
        """Close what was made. What is called after that is made anew."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            await made.close()

    def prepare(self) -> None:
        """Make it now, so that what it lacks is found before anything is recorded or sent."""
        self._ready()

    def _ready(self) -> AsyncTransport:
        # Two event loops may call at once, each from a thread of its own.
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made
