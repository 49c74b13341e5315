"""Google's client. It has no public way to raw bytes, so its HTTP layer is asked.

That layer makes the URL, adds the key or a cloud token, tries again if the client was told to,
and tells errors from answers. On Vertex AI models stand under ``publishers/google``.
"""
# ruff: noqa: SLF001 - see above

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import Invalid
from .deadline import Deadline
from .failing import translated

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from google.genai import Client
    from google.genai._api_client import BaseApiClient, HttpRequest
    from google.genai.client import AsyncClient
    from tenacity import Retrying

    from ...dialects.dialect import Dialect, Request

__all__ = ["AsyncGenaiTransport", "GenaiTransport"]


class GenaiTransport:
    """Carries requests through ``genai.Client``."""

    def __init__(self, client: Client, dialect: Dialect) -> None:
        self._client = client  # it closes its connections when nobody holds it any more
        self._dialect = dialect

    def __repr__(self) -> str:
        return f"<GenaiTransport through {type(self._client).__name__}>"

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        with self.stream(request, timeout_s=timeout_s) as pieces:
            return b"".join(pieces)

    @contextmanager
    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        deadline = Deadline(timeout_s)
        with translated(self._dialect):
            response = self._open(request, deadline)
        try:
            yield self._read(response, deadline)
        finally:
            response.close()

    def close(self) -> None:
        """Leave the client open: it is its owner's."""

    def _open(self, request: Request, deadline: Deadline) -> Any:  # noqa: ANN401 - several libraries
        api = self._client._api_client
        made = _make(api, request, deadline)
        if _needs_token(api) and api._use_google_auth_sync():
            raise Invalid(
                "expected a client whose requests can be made of bytes, found one that shows "
                "a client certificate to Vertex AI, which spells them anew; call it under "
                "asyncio, or give it http_options with client_args"
            )

        def ask() -> Any:  # noqa: ANN401 - as above
            if deadline.timeout_s is not None:
                made.timeout = deadline.left_s()
            if _needs_token(api):
                return _ask_with_token(api, made, request.body)
            return api._request_once(made, stream=True).response_stream

        return _retrying(api, deadline)(ask)

    def _read(self, response: Any, deadline: Deadline) -> Iterator[bytes]:  # noqa: ANN401
        with translated(self._dialect):
            httpx = hasattr(response, "iter_bytes")  # else it is of requests
            for piece in response.iter_bytes() if httpx else response.iter_content(None):
                deadline.check()
                yield piece


class AsyncGenaiTransport:
    """Carries requests through ``genai.Client().aio``."""

    def __init__(self, client: AsyncClient, dialect: Dialect) -> None:
        self._client = client
        self._dialect = dialect

    def __repr__(self) -> str:
        return f"<AsyncGenaiTransport through {type(self._client).__name__}>"

    async def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        async with self.stream(request, timeout_s=timeout_s) as pieces:
            return b"".join([piece async for piece in pieces])

    @asynccontextmanager
    async def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        deadline = Deadline(timeout_s)
        api = self._client._api_client
        with translated(self._dialect):
            async with deadline.bound():
                made = _make(api, request, deadline)
                answered = await api._async_request(made, None, stream=True)
        response: Any = answered.response_stream
        pieces = self._read(response, deadline)
        try:
            yield pieces
        finally:
            await pieces.aclose()
            if hasattr(response, "aclose"):
                await response.aclose()
            else:
                response.close()

    async def close(self) -> None:
        """Leave the client open: it is its owner's."""

    async def _read(self, response: Any, deadline: Deadline) -> AsyncGenerator[bytes]:  # noqa: ANN401
        with translated(self._dialect):
            httpx = hasattr(response, "aiter_bytes")  # else it is of aiohttp
            pieces = response.aiter_bytes() if httpx else response.content.iter_any()
            while True:
                async with deadline.bound():
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                yield piece


def _make(api: BaseApiClient, request: Request, deadline: Deadline) -> HttpRequest:
    path = request.path.removeprefix("/")
    if api.vertexai and path.startswith("models/"):
        path = f"publishers/google/{path}"
    made = api._build_request("post", path, {})
    made.data = request.body
    theirs = {name.lower() for name in made.headers}
    made.headers |= {name: value for name, value in request.headers if name not in theirs}
    if deadline.timeout_s is not None:
        made.timeout = deadline.left_s()
    return made


def _retrying(api: BaseApiClient, deadline: Deadline) -> Retrying:
    """Give what tries again as the client was told to, but begins no pause beyond the deadline."""
    if deadline.timeout_s is None:
        return api._retry
    from tenacity import stop_before_delay

    theirs, late = api._retry.stop, stop_before_delay(deadline.timeout_s)
    return api._retry.copy(stop=lambda tries: theirs(tries) or late(tries))


def _needs_token(api: BaseApiClient) -> bool:
    return bool(api.vertexai and (api.project or api.location) and not api.api_key)


def _ask_with_token(api: BaseApiClient, made: HttpRequest, body: bytes) -> Any:  # noqa: ANN401
    """Do what the client does where it needs a cloud token, but for spelling the body anew."""
    from google.genai import errors

    headers = dict(made.headers) | {"Authorization": f"Bearer {api._access_token()}"}
    quota = getattr(api._credentials, "quota_project_id", None)
    if quota:
        headers["x-goog-user-project"] = quota
    url = api._httpx_url(made.url, is_async=False)
    # Either of two libraries, as the client has it: what one of them makes, it sends.
    asked: Any = api._httpx_client.build_request(
        method="post", url=url, content=body, headers=headers, timeout=made.timeout
    )
    response = api._httpx_client.send(asked, stream=True)
    errors.APIError.raise_for_response(response)
    return response
