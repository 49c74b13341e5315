"""A transport that is made when it is first used, once."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hansard import dialect
from hansard.transports.http import AsyncHttpTransport, HttpTransport
from hansard.transports.lazy import LazyAsyncTransport, LazyTransport
from tests.support.http_server import WAIT_S
from tests.unit.transports.calling import request

if TYPE_CHECKING:
    from tests.support.http_server import HttpServer


def test_nothing_is_made_before_it_is_used(server: HttpServer) -> None:
    made: list[HttpTransport] = []

    def make() -> HttpTransport:
        made.append(HttpTransport(server.url, dialect=dialect("openai")))
        return made[-1]

    lazy = LazyTransport(make)
    lazy.close()
    assert repr(lazy) == "<LazyTransport not yet made>"
    assert not made

    assert lazy.send(request()) == b"{}"
    with lazy.stream(request()) as pieces:
        assert b"".join(pieces) == b"{}"
    assert repr(lazy) == f"<LazyTransport {made[0]!r}>"
    assert len(made) == 1
    lazy.close()
    lazy.close()


def test_what_is_used_after_closing_is_made_anew(server: HttpServer) -> None:
    lazy = LazyTransport(lambda: HttpTransport(server.url, dialect=dialect("openai")))
    for _ in range(2):
        assert lazy.send(request()) == b"{}"
        lazy.close()

    assert server.connections == 2


def test_threads_that_come_first_at_once_share_what_is_made(server: HttpServer) -> None:
    together = threading.Barrier(8)
    made: list[HttpTransport] = []

    def make() -> HttpTransport:
        made.append(HttpTransport(server.url, dialect=dialect("openai")))
        return made[-1]

    lazy = LazyTransport(make)

    def ask(_: int) -> bytes:
        together.wait(WAIT_S)
        return lazy.send(request())

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(8))) == [b"{}"] * 8
    assert len(made) == 1
    lazy.close()


def test_under_asyncio_all_is_the_same(server: HttpServer) -> None:
    made: list[AsyncHttpTransport] = []

    def make() -> AsyncHttpTransport:
        made.append(AsyncHttpTransport(server.url, dialect=dialect("openai")))
        return made[-1]

    async def asking() -> None:
        lazy = LazyAsyncTransport(make)
        await lazy.close()
        assert repr(lazy) == "<LazyAsyncTransport not yet made>"
        assert not made
        for _ in range(2):
            assert await lazy.send(request()) == b"{}"
            async with lazy.stream(request()) as pieces:
                assert b"".join([piece async for piece in pieces]) == b"{}"
            await lazy.close()

    asyncio.run(asking())
    assert (len(made), server.connections) == (2, 2)
