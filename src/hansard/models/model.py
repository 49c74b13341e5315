"""A model: a dialect, its name there, the parameters it is always called with, and transports.

A model that is called under asyncio needs an `AsyncTransport`, one that is called blocking a
`Transport`; most have both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import Invalid
from ..transports.lazy import LazyAsyncTransport, LazyTransport

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from ..dialects.dialect import Dialect
    from ..rawjson import JSON
    from ..transports.transport import AsyncTransport, Transport

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What a chat talks to. It can be shared by any number of chats and threads.

    As a context manager it closes its transports at the end, as `close` does, or under
    ``async with`` as `aclose` does. A closed model can be used again: it connects anew.
    """

    dialect: Dialect
    name: str
    transport: Transport | None = None
    async_transport: AsyncTransport | None = None
    parameters: Mapping[str, JSON] = field(default_factory=dict)

    def blocking(self) -> Transport:
        """Give the transport for blocking calls. Raises `Invalid` where there is none.

        Raises `NotAuthorized` where the model needs a key and none is found.
        """
        if self.transport is None:
            raise Invalid(
                f"expected a model that can be called blocking, found {self!r}, which can only be "
                "called under asyncio: use AsyncChat, or give it the provider's blocking client"
            )
        if isinstance(self.transport, LazyTransport):
            self.transport.prepare()
        return self.transport

    def asyncio(self) -> AsyncTransport:
        """Give the transport for calls under asyncio. Raises what `blocking` does."""
        if self.async_transport is None:
            raise Invalid(
                f"expected a model that can be called under asyncio, found {self!r}, which can "
                "only be called blocking: use Chat, or give it the provider's async client"
            )
        if isinstance(self.async_transport, LazyAsyncTransport):
            self.async_transport.prepare()
        return self.async_transport

    def close(self) -> None:
        """Let go of the connections of blocking calls. Harmless twice."""
        if self.transport is not None:
            self.transport.close()

    async def aclose(self) -> None:
        """Let go of all connections. Harmless twice."""
        self.close()
        if self.async_transport is not None:
            await self.async_transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<Model {self.dialect.name}:{self.name}>"
