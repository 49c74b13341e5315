"""What a transport is: the bytes of a request in, the bytes of an answer out.

A transport knows where the provider is and how to be let in. It reads nothing of what it carries,
except to say which error an error is. One transport serves all conversations, from any thread.

Both kinds promise the same:

- the body goes out as it is, byte for byte, and so comes the answer back;
- what is not an answer raises a `ProviderError`, made by the dialect (`Dialect.failure`);
- ``timeout_s`` bounds the whole call, with all that the transport tries again: after it, or where
  nobody answers, `Unreachable` is raised. None means the transport's own limit;
- a request may be tried again only while nothing of its answer has been given to the caller;
- a cancelled or abandoned call closes its connection, or gives it back clean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from ..dialects.dialect import Request

__all__ = ["AsyncTransport", "Transport"]


class Transport(Protocol):
    """Carries requests, blocking."""

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        """Give the whole body of the answer."""
        ...

    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AbstractContextManager[Iterator[bytes]]:
        """Give the body as it comes, in whatever pieces. Leaving the context ends the call."""
        ...

    def close(self) -> None:
        """Let go of connections. Harmless twice."""
        ...


class AsyncTransport(Protocol):
    """Carries requests, under asyncio."""

    async def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        """Give the whole body of the answer."""
        ...

    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Give the body as it comes, in whatever pieces. Leaving the context ends the call."""
        ...

    async def close(self) -> None:
        """Let go of connections. Harmless twice."""
        ...
