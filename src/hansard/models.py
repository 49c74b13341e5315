"""A model: a dialect, its name there, the parameters it is always called with, and transports.

A model that is called under asyncio needs an `AsyncTransport`, one that is called blocking a
`Transport`; most have both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .dialects.dialect import Dialect
    from .rawjson import JSON
    from .transports.transport import AsyncTransport, Transport

__all__ = ["Model"]


@dataclass(frozen=True)
class Model:
    """What a chat talks to. It can be shared by any number of chats and threads."""

    dialect: Dialect
    name: str
    transport: Transport | None = None
    async_transport: AsyncTransport | None = None
    parameters: Mapping[str, JSON] = field(default_factory=dict)

    def blocking(self) -> Transport:
        """The transport for blocking calls. Raises `Invalid` where there is none."""
        if self.transport is None:
            raise Invalid(
                f"expected a model that can be called blocking, found {self!r}, which can only be "
                "called under asyncio: use AsyncChat, or give it the provider's blocking client"
            )
        return self.transport

    def asyncio(self) -> AsyncTransport:
        """The transport for calls under asyncio. Raises `Invalid` where there is none."""
        if self.async_transport is None:
            raise Invalid(
                f"expected a model that can be called under asyncio, found {self!r}, which can "
                "only be called blocking: use Chat, or give it the provider's async client"
            )
        return self.async_transport

    def __repr__(self) -> str:
        return f"<Model {self.dialect.name}:{self.name}>"
