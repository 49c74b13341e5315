"""Models of the providers, and of the servers that speak as they do.

All are made alike: by our own transport, or through an official client that the caller has.
Nothing is connected, and no key is asked for, before the first call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..dialects.registry import dialect
from ..errors import Invalid
from ..transports.lazy import LazyAsyncTransport, LazyTransport
from .model import Model
from .provider import ANTHROPIC, GEMINI, OPENAI, Provider, Way

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..dialects.dialect import Dialect
    from ..rawjson import JSON
    from ..transports.transport import AsyncTransport, Transport

__all__ = ["anthropic", "gemini", "openai", "openai_responses"]

TIMEOUT_S = 600.0
"""How long a call may take where nobody says otherwise. It is that of the official clients."""

RETRIES = 2


def openai(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: object = None,
    timeout_s: float | None = None,
    retries: int | None = None,
    headers: Mapping[str, str] | None = None,
    **parameters: JSON,
) -> Model:
    """Give a model that speaks Chat Completions: of OpenAI, or of any compatible server.

    ``base_url`` ends in ``/v1``, as with OpenAI's own client. ``api_key`` is taken from
    ``OPENAI_API_KEY``; ``""`` sends none. ``client`` is an official client to go through instead;
    it brings its own address, key, timeout and retries. ``parameters`` go into every request.
    """
    way = Way(base_url, api_key, client, timeout_s, retries, headers)
    return _model("openai", OPENAI, model, way, parameters)


def openai_responses(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: object = None,
    timeout_s: float | None = None,
    retries: int | None = None,
    headers: Mapping[str, str] | None = None,
    **parameters: JSON,
) -> Model:
    """Give a model that speaks Responses. Everything else is as for `openai`."""
    way = Way(base_url, api_key, client, timeout_s, retries, headers)
    return _model("openai-responses", OPENAI, model, way, parameters)


def anthropic(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: object = None,
    timeout_s: float | None = None,
    retries: int | None = None,
    headers: Mapping[str, str] | None = None,
    **parameters: JSON,
) -> Model:
    """Give a model that speaks Anthropic Messages.

    ``base_url`` is without ``/v1``, as with Anthropic's own client. ``api_key`` is taken from
    ``ANTHROPIC_API_KEY``. Unless ``max_tokens`` is given, the dialect's default is sent.
    """
    way = Way(base_url, api_key, client, timeout_s, retries, headers)
    return _model("anthropic", ANTHROPIC, model, way, parameters)


def gemini(
    model: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: object = None,
    timeout_s: float | None = None,
    retries: int | None = None,
    headers: Mapping[str, str] | None = None,
    **parameters: JSON,
) -> Model:
    """Give a model that speaks Gemini generateContent.

    ``base_url`` is without the version, as with Google's own client: ``/v1``, or what
    ``GOOGLE_GENAI_API_VERSION`` says, is added unless it ends in a version. ``api_key`` is taken
    from ``GOOGLE_API_KEY``, then ``GEMINI_API_KEY``. ``client`` is a ``google.genai.Client``,
    which serves both kinds of calls, or its ``aio``.
    """
    way = Way(base_url, api_key, client, timeout_s, retries, headers)
    return _model("gemini", GEMINI, model, way, parameters)


def _model(
    dialect_name: str, provider: Provider, name: str, way: Way, parameters: Mapping[str, JSON]
) -> Model:
    if not name:
        raise Invalid(f"expected the name of a model of {provider.name}, found an empty one")
    spoken = dialect(dialect_name)
    if way.client is not None:
        return _through_client(spoken, name, way, parameters)
    timeout_s = TIMEOUT_S if way.timeout_s is None else way.timeout_s
    retries = RETRIES if way.retries is None else way.retries

    def blocking() -> Transport:
        from ..transports.http import HttpTransport

        return HttpTransport(
            provider.address(way),
            dialect=spoken,
            headers=provider.headers(way),
            timeout_s=timeout_s,
            retries=retries,
        )

    def under_asyncio() -> AsyncTransport:
        from ..transports.http import AsyncHttpTransport

        return AsyncHttpTransport(
            provider.address(way),
            dialect=spoken,
            headers=provider.headers(way),
            timeout_s=timeout_s,
            retries=retries,
        )

    transports = LazyTransport(blocking), LazyAsyncTransport(under_asyncio)
    return Model(spoken, name, *transports, parameters)


def _through_client(spoken: Dialect, name: str, way: Way, parameters: Mapping[str, JSON]) -> Model:
    from ..transports.clients import connect

    given = [
        each
        for each in ("base_url", "api_key", "timeout_s", "retries", "headers")
        if getattr(way, each) is not None
    ]
    if given:
        raise Invalid(
            f"expected a client alone, which brings its own, found {', '.join(given)} beside it; "
            "give these to the client"
        )
    connection = connect(way.client, spoken)
    return Model(spoken, name, connection.blocking, connection.asyncio, parameters)
