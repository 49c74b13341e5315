"""Keeps the blocking calls of a client within a deadline, to the last read.

httpx2 takes a timeout for each read, fixed when the body starts. A server that sends a byte now
and then could so hold a call for ever, and one that sends some and then nothing for twice its
time. Here each read and write of a socket waits no longer than the call has left. Two things
cannot be bounded this way: looking up a host's name, and that each of several addresses of a host
is given the time to connect.
"""

from __future__ import annotations

import math
import os
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import httpcore2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import httpx2

__all__ = ["Deadline", "keep_within"]


class Deadline(threading.local):
    """Until when what this thread waits for has to come, by the transport's clock."""

    at: float = math.inf

    @contextmanager
    def until(self, at: float) -> Iterator[None]:
        """Have what this thread waits for inside come by then. They may stand in each other."""
        before, self.at = self.at, at
        try:
            yield
        finally:
            self.at = before


def keep_within(client: httpx2.Client, deadline: Deadline, clock: Callable[[], float]) -> None:
    """Make all sockets that a new client will open wait only until the deadline.

    httpx2 has no public way to hand in the layer that opens sockets. Where its insides are named
    otherwise, deadlines are kept between reads only.
    """
    carriers = [client._transport, *client._mounts.values()]  # noqa: SLF001 - see above
    for carrier in carriers:
        pool = getattr(carrier, "_pool", None)
        sockets = getattr(pool, "_network_backend", None)
        if isinstance(sockets, httpcore2.NetworkBackend):
            pool._network_backend = _Sockets(sockets, deadline, clock)  # type: ignore[union-attr]  # noqa: SLF001


class _Limit:
    def __init__(self, deadline: Deadline, clock: Callable[[], float]) -> None:
        self._deadline = deadline
        self._clock = clock

    def shorten(self, timeout: float | None) -> float | None:
        left = self._deadline.at - self._clock()
        if left <= 0:
            raise httpcore2.ReadTimeout("the time of the whole call is over")
        if left == math.inf:
            return timeout
        return left if timeout is None else min(left, timeout)


class _Sockets(httpcore2.NetworkBackend):
    def __init__(
        self, inner: httpcore2.NetworkBackend, deadline: Deadline, clock: Callable[[], float]
    ) -> None:
        self._inner = inner
        self._limit = _Limit(deadline, clock)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        timeout = self._limit.shorten(timeout)
        stream = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return _Socket(stream, self._limit)


class _Socket(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream, limit: _Limit) -> None:
        self._inner = inner
        self._limit = limit
        self._owner = os.getpid()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._limit.shorten(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._limit.shorten(timeout))

    def close(self) -> None:
        """Close it, and wake a thread that waits for it, which closing alone does not."""
        opened = self._inner.get_extra_info("socket")
        if isinstance(opened, socket.socket) and self._owner == os.getpid():
            with suppress(OSError):
                socket.socket.shutdown(opened, socket.SHUT_RDWR)
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        timeout = self._limit.shorten(timeout)
        return _Socket(self._inner.start_tls(ssl_context, server_hostname, timeout), self._limit)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - as httpcore2 has it
        return self._inner.get_extra_info(info)
