"""The clients of OpenAI and Anthropic, which are made by one generator and post alike."""

from __future__ import annotations

import random
import time
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from typing import TYPE_CHECKING

import httpx2

from ...errors import ProviderError
from ..retry import Backoff, may_pass
from .deadline import Deadline
from .failing import headers_of, translated
from .routes import async_event_stream, async_route, event_stream, is_event_stream, route

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from anthropic import Anthropic, AsyncAnthropic
    from anthropic._types import RequestOptions

    from ...dialects.dialect import Dialect, Request

__all__ = ["AsyncPostingTransport", "PostingTransport"]

_UNREAD = {"X-Stainless-Raw-Response": "stream"}
"""Asks a client for a response that nobody has read, whatever it would make of it."""


class PostingTransport:
    """Carries requests through ``OpenAI`` or ``Anthropic``, or a cloud's variant of them.

    The client tries again as it was told to. With a ``timeout_s`` it is told to try once, and is
    asked as often as it would have tried while there is time, since its own pauses know no end.
    """

    def __init__(self, client: Anthropic, dialect: Dialect) -> None:
        self._client = client
        self._dialect = dialect

    def __repr__(self) -> str:
        return f"<PostingTransport through {type(self._client).__name__}>"

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        with self.stream(request, timeout_s=timeout_s) as pieces:
            return b"".join(pieces)

    @contextmanager
    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        deadline = Deadline(timeout_s)
        response = self._open(request, deadline)
        try:
            yield self._read(response, deadline)
        finally:
            response.close()

    def close(self) -> None:
        """Leave the client open: it is its owner's."""

    def _open(self, request: Request, deadline: Deadline) -> httpx2.Response:
        if deadline.timeout_s is None:
            return self._post(request, {})
        backoff = Backoff(self._client.max_retries)
        for tried in count(1):
            options: RequestOptions = {"timeout": deadline.left_s(), "max_retries": 0}
            try:
                return self._post(request, options)
            except ProviderError as error:
                pause_s = _pause_s(backoff, error, tried, deadline)
                if pause_s is None:
                    raise
            time.sleep(pause_s)
        raise AssertionError

    def _post(self, request: Request, options: RequestOptions) -> httpx2.Response:
        with translated(self._dialect):
            routed = route(self._client, request)
            return self._client.post(
                routed.path,
                cast_to=httpx2.Response,
                content=routed.body,
                options={**options, "headers": dict(routed.headers) | _UNREAD},
            )

    def _read(self, response: httpx2.Response, deadline: Deadline) -> Iterator[bytes]:
        with translated(self._dialect):
            pieces: Iterator[bytes] = response.iter_bytes()
            if is_event_stream(response):
                pieces = event_stream(self._client, pieces)
            for piece in pieces:
                deadline.check()
                yield piece


class AsyncPostingTransport:
    """Carries requests through ``AsyncOpenAI`` or ``AsyncAnthropic``, or a cloud's variant."""

    def __init__(self, client: AsyncAnthropic, dialect: Dialect) -> None:
        self._client = client
        self._dialect = dialect

    def __repr__(self) -> str:
        return f"<AsyncPostingTransport through {type(self._client).__name__}>"

    async def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        async with self.stream(request, timeout_s=timeout_s) as pieces:
            return b"".join([piece async for piece in pieces])

    @asynccontextmanager
    async def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        deadline = Deadline(timeout_s)
        response = await self._open(request, deadline)
        pieces = self._read(response, deadline)
        try:
            yield pieces
        finally:
            await pieces.aclose()
            await response.aclose()

    async def close(self) -> None:
        """Leave the client open: it is its owner's."""

    async def _open(self, request: Request, deadline: Deadline) -> httpx2.Response:
        with translated(self._dialect):
            async with deadline.bound():
                routed = await async_route(self._client, request)
                return await self._client.post(
                    routed.path,
                    cast_to=httpx2.Response,
                    content=routed.body,
                    options={"headers": dict(routed.headers) | _UNREAD},
                )

    async def _read(self, response: httpx2.Response, deadline: Deadline) -> AsyncGenerator[bytes]:
        with translated(self._dialect):
            pieces: AsyncIterator[bytes] = response.aiter_bytes()
            if is_event_stream(response):
                pieces = async_event_stream(self._client, pieces)
            while True:
                async with deadline.bound():
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                yield piece


def _pause_s(
    backoff: Backoff, error: ProviderError, tried: int, deadline: Deadline
) -> float | None:
    if not may_pass(error, headers_of(error.__cause__)):
        return None
    chance = random.random()  # noqa: S311 - so that clients do not keep step
    return backoff.pause_s(error, tried=tried, left_s=deadline.left_s(), chance=chance)
