"""HTTP for callers that wait."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import httpx2

from ..retry import Backoff
from .address import Address
from .call import ERROR_BODY_MAX, Call, Failed, Rules, World, closed
from .connections import LIMITS, USER_AGENT, no_cookies, usable_environment
from .deadline import Deadline, keep_within

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from types import TracebackType
    from typing import Self

    from ...dialects.dialect import Dialect, Request

__all__ = ["HttpTransport"]


class HttpTransport:
    """Carries requests over HTTP, blocking. One is for all threads.

    ``timeout_s`` is for a whole call, with all its tries, where the call says nothing else.
    ``headers`` let the caller in, and win over those of a dialect. Proxies and certificates are
    taken from the environment as curl does, but this machine is always reached directly. Redirects
    are not followed, and cookies not kept.

    Closed, it raises `Invalid` when it is asked, and a call that waits in another thread ends with
    `Unreachable`. A forked process can go on using it: it connects anew, and shares no connection
    with its parent.
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
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._address = Address(base_url, headers)
        self._dialect = dialect
        self._rules = Rules(timeout_s, connect_timeout_s, read_timeout_s, Backoff(retries))
        self._world = world or World()
        self._sleep = sleep
        self._deadline = Deadline()
        # By process: what came from a parent is kept and never touched. There is no lock, since
        # one that is held while a process forks stays locked.
        self._clients: dict[int, httpx2.Client] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<HttpTransport to {self._address.url}>"

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        return self._open(request, self._call(timeout_s), whole=True).first

    @contextmanager
    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        call = self._call(timeout_s)
        opened = self._open(request, call, whole=False)
        pieces = self._read(opened, call)
        try:
            yield pieces
        finally:
            pieces.close()
            opened.response.close()

    def close(self) -> None:
        self._closed = True
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- one call -----------------------------------------------------------------------------

    def _call(self, timeout_s: float | None) -> Call:
        return Call(self._address, self._dialect, self._rules, self._world, timeout_s)

    def _open(self, request: Request, call: Call, *, whole: bool) -> _Opened:
        while True:
            outcome = self._try(request, call, whole=whole)
            if isinstance(outcome, _Opened):
                return outcome
            self._pause(outcome, call)

    def _pause(self, failed: Failed, call: Call) -> None:
        """Wait before the next try. Raises the error where there is to be none."""
        if not self._closed:
            self._sleep(call.pause_s(failed))
        if self._closed:
            raise failed.error

    def _try(self, request: Request, call: Call, *, whole: bool) -> _Opened | Failed:
        """Ask once, and wait for all or the first piece: until then another try is safe."""
        timeout = call.begin_try()
        if call.left_s() == 0.0:
            return call.late()
        client = self._connected()
        asked = client.build_request(
            "POST",
            self._address.of(request),
            headers=self._address.beside(request),
            content=request.body,
            timeout=timeout,
        )
        response: httpx2.Response | None = None
        with self._deadline.until(call.at_s):
            try:
                response = client.send(asked, stream=True)
                if response.is_success:
                    pieces = response.iter_bytes()
                    first = response.read() if whole else next(pieces, b"")
                    return _Opened(response, first, pieces)
                body = _beginning(response)
            except httpx2.HTTPError as error:
                failed = call.broken(error)
            except BaseException:
                if response is not None:
                    response.close()
                raise
            else:
                failed = call.refused(response.status_code, dict(response.headers), body)
        if response is not None:
            response.close()
        return failed

    def _read(self, opened: _Opened, call: Call) -> Generator[bytes]:
        piece: bytes | None = opened.first
        while piece is not None:
            if piece:
                call.came_bytes += len(piece)
                yield piece
            with self._deadline.until(call.at_s):
                try:
                    piece = next(opened.pieces, None)
                except httpx2.HTTPError as error:
                    failed = call.broken(error)
                else:
                    continue
            raise failed.error

    def _connected(self) -> httpx2.Client:
        if self._closed:
            raise closed(self._address)
        here = os.getpid()
        client = self._clients.get(here)
        if client is None:
            # Where several threads come first, one client is kept; the others never connected.
            client = self._clients.setdefault(here, self._connect())
        return client

    def _connect(self) -> httpx2.Client:
        with usable_environment():
            client = httpx2.Client(
                headers=USER_AGENT | self._address.headers,
                cookies=no_cookies(),
                limits=LIMITS,
                mounts=self._address.unproxied,
            )
        keep_within(client, self._deadline, self._world.clock)
        return client


class _Opened(NamedTuple):
    response: httpx2.Response
    first: bytes
    pieces: Iterator[bytes]


def _beginning(response: httpx2.Response) -> bytes:
    """Read an error, up to a bound."""
    body = b""
    for piece in response.iter_bytes():
        body += piece
        if len(body) > ERROR_BODY_MAX:
            break
    return body[:ERROR_BODY_MAX]
