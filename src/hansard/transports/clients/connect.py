"""Which transports a client of a provider's gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from ...errors import Invalid

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from google.genai import Client
    from google.genai.client import AsyncClient

    from ...dialects.dialect import Dialect
    from ..transport import AsyncTransport, Transport

__all__ = ["Connection", "connect"]

_CLIENTS = {
    "openai": "openai.OpenAI or openai.AsyncOpenAI",
    "openai-responses": "openai.OpenAI or openai.AsyncOpenAI",
    "anthropic": "anthropic.Anthropic or anthropic.AsyncAnthropic",
    "gemini": "google.genai.Client, or its aio",
}
_KINDS = {
    ("openai._base_client", "SyncAPIClient"): ("openai", "blocking"),
    ("openai._base_client", "AsyncAPIClient"): ("openai", "asyncio"),
    ("anthropic._base_client", "SyncAPIClient"): ("anthropic", "blocking"),
    ("anthropic._base_client", "AsyncAPIClient"): ("anthropic", "asyncio"),
    ("google.genai.client", "Client"): ("gemini", "both"),
    ("google.genai.client", "AsyncClient"): ("gemini", "asyncio"),
}


class Connection(NamedTuple):
    """What a client can carry: a blocking client has no asyncio side, and the other way round."""

    blocking: Transport | None
    asyncio: AsyncTransport | None


def connect(client: object, dialect: Dialect) -> Connection:
    """Make transports of a client. No module of any provider is loaded for it.

    Raises `Invalid` for what is no client of the dialect's provider.
    """
    provider, kind = _kind(client)
    if provider != dialect.name.partition("-")[0]:
        expected = _CLIENTS.get(dialect.name, "no client at all")
        raise Invalid(
            f"expected a client for the dialect {dialect.name}, which is {expected}, "
            f"found {type(client).__module__}.{type(client).__qualname__}"
        )
    if provider == "gemini":
        from .genai import AsyncGenaiTransport, GenaiTransport

        if kind == "asyncio":
            return Connection(None, AsyncGenaiTransport(cast("AsyncClient", client), dialect))
        both = cast("Client", client)
        return Connection(GenaiTransport(both, dialect), AsyncGenaiTransport(both.aio, dialect))

    from .posting import AsyncPostingTransport, PostingTransport

    # What is used of the clients of OpenAI and Anthropic is the same: one generator made both.
    if kind == "asyncio":
        return Connection(None, AsyncPostingTransport(cast("AsyncAnthropic", client), dialect))
    return Connection(PostingTransport(cast("Anthropic", client), dialect), None)


def _kind(client: object) -> tuple[str, str]:
    for base in type(client).__mro__:
        found = _KINDS.get((base.__module__, base.__name__))
        if found is not None:
            return found
    return "", ""
