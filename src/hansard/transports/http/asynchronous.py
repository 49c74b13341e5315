"""HTTP for callers under asyncio."""

from __future__ import annotations

import threading
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import httpx2

from ..retry import Backoff
from .address import Address
from .call import ERROR_BODY_MAX, Call, Failed, Rules, World, closed
from .connections import LIMITS, USER_AGENT, no_cookies, usable_environment

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
    from types import TracebackType
    from typing import Self

    from ...dialects.dialect import Dialect, Request

__all__ = ["AsyncHttpTransport"]

_Given = TypeVar("_Given")


class AsyncHttpTransport:
    """Carries requests over HTTP, under asyncio. Everything is as with `HttpTransport`.

    One is for any number of event loops, also of different threads or one after the other. Each
    has connections of its own, which `close` ends in the loop where it is called. Those of another
    loop end with it, where it is run by ``asyncio.run`` or ends its asynchronous generators as
    that does.
    """

    def __init__(
        self,
        base_url: str,
        *,
        dialect: Dialect,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 600.0,
        connect_timeout_s: float = 10.0,
        read_timeout_s: float | None = None,
        retries: int = 2,
        world: World | None = None,
        sleep: Callable[[float], Awaitable[object]] | None = None,
    ) -> None:
        self._address = Address(base_url, headers)
        self._dialect = dialect
        self._rules = Rules(timeout_s, connect_timeout_s, read_timeout_s, Backoff(retries))
        self._world = world or World()
        self._sleep = sleep or _sleep
        self._lock = threading.Lock()
        self._kept: dict[AbstractEventLoop, _Kept] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<AsyncHttpTransport to {self._address.url}>"

    async def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        opened = await self._open(request, self._call(timeout_s), whole=True)
        return opened.first

    @asynccontextmanager
    async def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        call = self._call(timeout_s)
        opened = await self._open(request, call, whole=False)
        pieces = self._read(opened, call)
        try:
            yield pieces
        finally:
            await pieces.aclose()
            await opened.close()

    async def close(self) -> None:
        import asyncio

        self._closed = True
        with self._lock:
            kept = self._kept.pop(asyncio.get_running_loop(), None)
            self._forget_ended()
        if kept is not None:
            await kept.keeper.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # -- one call -----------------------------------------------------------------------------

    def _call(self, timeout_s: float | None) -> Call:
        return Call(self._address, self._dialect, self._rules, self._world, timeout_s)

    async def _open(self, request: Request, call: Call, *, whole: bool) -> _Opened:
        while True:
            outcome = await self._try(request, call, whole=whole)
            if isinstance(outcome, _Opened):
                return outcome
            await self._pause(outcome, call)

    async def _pause(self, failed: Failed, call: Call) -> None:
        """Wait before the next try. Raises the error where there is to be none."""
        if not self._closed:
            await self._sleep(call.pause_s(failed))
        if self._closed:
            raise failed.error

    async def _try(self, request: Request, call: Call, *, whole: bool) -> _Opened | Failed:
        """Ask once, and wait for all or the first piece: until then another try is safe."""
        timeout = call.begin_try()
        if call.left_s() == 0.0:
            return call.late()
        client = await self._connected()
        asked = client.build_request(
            "POST",
            self._address.of(request),
            headers=self._address.beside(request),
            content=request.body,
            timeout=timeout,
        )
        response: httpx2.Response | None = None
        try:
            response = await _in_time(call, client.send(asked, stream=True))
            if response.is_success:
                pieces = response.aiter_bytes()
                coming = response.aread() if whole else anext(pieces, b"")
                first = await _in_time(call, coming)
                return _Opened(response, first, pieces)
            body = await _in_time(call, _beginning(response))
        except (httpx2.HTTPError, TimeoutError) as error:
            failed = call.broken(error)
        except BaseException:
            if response is not None:
                await response.aclose()
            raise
        else:
            failed = call.refused(response.status_code, dict(response.headers), body)
        if response is not None:
            await response.aclose()
        return failed

    async def _read(self, opened: _Opened, call: Call) -> AsyncGenerator[bytes]:
        piece: bytes | None = opened.first
        while piece is not None:
            if piece:
                call.came_bytes += len(piece)
                yield piece
            try:
                piece = await _in_time(call, anext(opened.pieces, None))
            except (httpx2.HTTPError, TimeoutError) as error:
                failed = call.broken(error)
            else:
                continue
            raise failed.error

    # -- connections, of each event loop its own -----------------------------------------------

    async def _connected(self) -> httpx2.AsyncClient:
        import asyncio

        if self._closed:
            raise closed(self._address)
        loop = asyncio.get_running_loop()
        kept = self._kept.get(loop)
        if kept is not None and not kept.client.is_closed:
            return kept.client
        client = self._connect()
        keeper = _keep(client)
        with self._lock:
            self._forget_ended()
            self._kept[loop] = _Kept(client, keeper)
        await anext(keeper)
        return client

    def _connect(self) -> httpx2.AsyncClient:
        with usable_environment():
            return httpx2.AsyncClient(
                headers=USER_AGENT | self._address.headers,
                cookies=no_cookies(),
                limits=LIMITS,
                mounts=self._address.unproxied,
            )

    def _forget_ended(self) -> None:
        for loop in [loop for loop in self._kept if loop.is_closed()]:
            del self._kept[loop]


class _Kept(NamedTuple):
    client: httpx2.AsyncClient
    keeper: AsyncGenerator[None]


class _Opened(NamedTuple):
    response: httpx2.Response
    first: bytes
    pieces: AsyncGenerator[bytes]

    async def close(self) -> None:
        await self.pieces.aclose()
        await self.response.aclose()


async def _keep(client: httpx2.AsyncClient) -> AsyncGenerator[None]:
    """Close a client at the end of its event loop, which closes generators that were begun."""
    try:
        yield
    finally:
        await client.aclose()


async def _in_time(call: Call, coming: Awaitable[_Given]) -> _Given:
    """Wait until the time for the call is over; then raise `TimeoutError`."""
    import asyncio

    async with asyncio.timeout(call.left_s()):
        return await coming


async def _sleep(seconds: float) -> None:
    import asyncio

    await asyncio.sleep(seconds)


async def _beginning(response: httpx2.Response) -> bytes:
    """Read an error, up to a bound."""
    body = b""
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > ERROR_BODY_MAX:
                break
    return body[:ERROR_BODY_MAX]
