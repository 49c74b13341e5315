"""Transports to a local server: those of HTTP, to wherever the server is at the moment.

Starting the server is not counted in ``timeout_s``: it is done once, for all who wait for it.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from ..http import AsyncHttpTransport, HttpTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from ...dialects.dialect import Dialect, Request
    from .server import LocalServer

__all__ = ["AsyncLocalTransport", "LocalTransport"]

_ROOTS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": ""}


class LocalTransport:
    """Carries requests to a local server, blocking."""

    def __init__(
        self,
        server: LocalServer,
        dialect: Dialect,
        *,
        start_timeout_s: float,
        timeout_s: float,
        retries: int,
    ) -> None:
        self._server = server
        self._dialect = dialect
        self._start_timeout_s = start_timeout_s
        self._timeout_s = timeout_s
        self._retries = retries
        self._lock = threading.Lock()
        self._reached: tuple[str, HttpTransport] | None = None

    def __repr__(self) -> str:
        return f"<LocalTransport to {self._server!r}>"

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
        address = self._server.address(timeout_s=self._start_timeout_s)
        with self._lock:
            if self._reached is not None and self._reached[0] == address:
                return self._reached[1]
            before = self._reached
            transport = HttpTransport(
                address + _ROOTS[self._dialect.name],
                headers={"authorization": f"Bearer {self._server.api_key}"},
                dialect=self._dialect,
                timeout_s=self._timeout_s,
                retries=self._retries,
            )
            self._reached = (address, transport)
        if before is not None:
            before[1].close()
        return transport


class AsyncLocalTransport:
    """Carries requests to a local server, under asyncio. It starts in a thread of its own."""

    def __init__(
        self,
        server: LocalServer,
        dialect: Dialect,
        *,
        start_timeout_s: float,
        timeout_s: float,
        retries: int,
    ) -> None:
        self._server = server
        self._dialect = dialect
        self._start_timeout_s = start_timeout_s
        self._timeout_s = timeout_s
        self._retries = retries
        self._reached: tuple[str, AsyncHttpTransport] | None = None

    def __repr__(self) -> str:
        return f"<AsyncLocalTransport to {self._server!r}>"

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
        address = self._server.now_at()
        if address is None:
            start_timeout_s = self._start_timeout_s
            address = await asyncio.to_thread(self._server.address, timeout_s=start_timeout_s)
        reached = self._reached
        if reached is not None and reached[0] == address:
            return reached[1]
        transport = AsyncHttpTransport(
            address + _ROOTS[self._dialect.name],
            headers={"authorization": f"Bearer {self._server.api_key}"},
            dialect=self._dialect,
            timeout_s=self._timeout_s,
            retries=self._retries,
        )
        self._reached = (address, transport)
        if reached is not None:
            await reached[1].close()
        return transport
