"""Transports to a local server: those of HTTP, to wherever the server is at the moment.

Starting the server is not counted in ``timeout_s``: it is done once, for all who wait for it.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..http import AsyncHttpTransport, HttpTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from ...dialects.dialect import Dialect, Request
    from .server import LocalServer

__all__ = ["AsyncLocalTransport", "LocalTransport", "Route"]

Carrier = TypeVar("Carrier")

_ROOTS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": ""}


class Route(NamedTuple):
    """Which server is asked in which dialect, and how long that may take."""

    server: LocalServer
    dialect: Dialect
    start_timeout_s: float
    timeout_s: float
    retries: int

    def address(self) -> str:
        """Start the server where it does not run, and say where it is."""
        return self.server.address(timeout_s=self.start_timeout_s)

    def to(self, address: str, kind: Callable[..., Carrier]) -> Carrier:
        """Make an HTTP transport of a kind to where the server is."""
        return kind(
            address + _ROOTS[self.dialect.name],
            headers={"authorization": f"Bearer {self.server.api_key}"},
            dialect=self.dialect,
            timeout_s=self.timeout_s,
            retries=self.retries,
        )


class LocalTransport:
    """Carries requests to a local server, blocking."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._lock = threading.Lock()
        self._reached: tuple[str, HttpTransport] | None = None

    def __repr__(self) -> str:
        return f"<LocalTransport to {self._route.server!r}>"

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        return self._reach().send(request, timeout_s=timeout_s)

    @contextmanager
    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        with self._reach().stream(request, timeout_s=timeout_s) as pieces:
            yield pieces

    def close(self) -> None:
        """Let go of connections. The server goes on, for others."""
        with self._lock:
            reached, self._reached = self._reached, None
        if reached is not None:
            reached[1].close()

    def _reach(self) -> HttpTransport:
        address = self._route.address()
        with self._lock:
            if self._reached is not None and self._reached[0] == address:
                return self._reached[1]
            before = self._reached
            transport = self._route.to(address, HttpTransport)
            self._reached = (address, transport)
        if before is not None:
            before[1].close()
        return transport


class AsyncLocalTransport:
    """Carries requests to a local server, under asyncio. It starts in a thread of its own."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._reached: tuple[str, AsyncHttpTransport] | None = None

    def __repr__(self) -> str:
        return f"<AsyncLocalTransport to {self._route.server!r}>"

    async def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        return await (await self._reach()).send(request, timeout_s=timeout_s)

    @asynccontextmanager
    async def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        transport = await self._reach()
        async with transport.stream(request, timeout_s=timeout_s) as pieces:
            yield pieces

    async def close(self) -> None:
        """Let go of connections. The server goes on, for others."""
        reached, self._reached = self._reached, None
        if reached is not None:
            await reached[1].close()

    async def _reach(self) -> AsyncHttpTransport:
        address = self._route.server.now_at()
        if address is None:
            address = await asyncio.to_thread(self._route.address)
        reached = self._reached
        if reached is not None and reached[0] == address:
            return reached[1]
        transport = self._route.to(address, AsyncHttpTransport)
        self._reached = (address, transport)
        if reached is not None:
            await reached[1].close()
        return transport
