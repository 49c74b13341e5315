"""Connections end with the calls, loops and processes that they are for, and not before."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from hansard import dialect
from hansard.errors import Invalid, Overloaded, Unreachable
from hansard.transports.http import AsyncHttpTransport, HttpTransport
from tests.support.http_server import WAIT_S, Said
from tests.unit.transports.calling import request

if TYPE_CHECKING:
    from tests.support.http_server import HttpServer
    from tests.unit.transports.conftest import Connect

ENDLESS = Said(pieces=(b"data: 1\n\n",), then="stall")


class LeftEarly(Exception):
    """Raised by whoever reads a stream."""


# -- leaving a stream ---------------------------------------------------------------------------


def test_leaving_a_stream_early_closes_its_connection(server: HttpServer, connect: Connect) -> None:
    server.says(ENDLESS, Said())
    caller = connect(server.url)
    with caller.stream() as pieces:
        next(pieces)
    server.await_hanging_up()

    assert caller.send() == b"{}"
    assert server.connections == 2


def test_leaving_a_stream_unread_closes_its_connection(
    server: HttpServer, connect: Connect
) -> None:
    server.says(ENDLESS)
    with connect(server.url).stream():
        pass
    server.await_hanging_up()


def test_an_error_in_whoever_reads_goes_through_and_closes_the_connection(
    server: HttpServer, connect: Connect
) -> None:
    def read_a_little() -> None:
        with connect(server.url).stream() as pieces:
            next(pieces)
            raise LeftEarly

    server.says(ENDLESS)
    with pytest.raises(LeftEarly):
        read_a_little()
    server.await_hanging_up()


def test_a_stream_that_was_left_gives_nothing_more(server: HttpServer, connect: Connect) -> None:
    server.says(ENDLESS)
    with connect(server.url).stream() as pieces:
        next(pieces)

    assert list(pieces) == []


# -- closing ------------------------------------------------------------------------------------


def test_closing_lets_go_of_connections_and_is_harmless_twice(
    server: HttpServer, connect: Connect
) -> None:
    caller = connect(server.url)
    caller.send()
    caller.close()
    caller.close()

    server.await_leaving()


def test_closing_what_was_never_used_is_harmless(server: HttpServer, connect: Connect) -> None:
    connect(server.url).close()

    assert server.connections == 0


@pytest.mark.parametrize("used", [True, False])
def test_what_was_closed_says_so_when_it_is_used(
    used: bool, server: HttpServer, connect: Connect
) -> None:
    caller = connect(server.url)
    if used:
        caller.send()
    caller.close()

    with pytest.raises(Invalid, match=r"open transport to 127.*closed: make another"):
        caller.send()
    with pytest.raises(Invalid, match="closed"), caller.stream():
        pytest.fail("there is no answer to stream")
    assert len(server.heard) == used


def test_the_context_of_a_transport_closes_it(server: HttpServer) -> None:
    async def under_asyncio() -> AsyncHttpTransport:
        async with AsyncHttpTransport(server.url, dialect=dialect("openai")) as transport:
            await transport.send(request())
        with pytest.raises(Invalid, match="closed"):
            await transport.send(request())
        return transport

    with HttpTransport(server.url, dialect=dialect("openai")) as transport:
        transport.send(request())
    with pytest.raises(Invalid, match="closed"):
        transport.send(request())
    asyncio.run(under_asyncio())


def test_closing_ends_calls_that_wait_in_other_threads(server: HttpServer) -> None:
    server.says(Said(pieces=(), then="stall"))
    transport = HttpTransport(server.url, dialect=dialect("openai"))
    came: list[type[Exception]] = []

    def wait() -> None:
        with pytest.raises(Unreachable) as raised:
            transport.send(request())
        came.append(raised.type)

    threads = [threading.Thread(target=wait, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
        server.await_request()  # While one begins, those before it have come to wait.
    transport.close()
    for thread in threads:
        thread.join(WAIT_S)

    assert came == [Unreachable] * 8


def test_closing_ends_a_call_that_waits_in_another_task(server: HttpServer) -> None:
    server.says(Said(pieces=(), then="stall"))

    async def closing() -> None:
        transport = AsyncHttpTransport(server.url, dialect=dialect("openai"))
        task = asyncio.create_task(transport.send(request()))
        await asyncio.to_thread(server.await_request)
        await transport.close()
        with pytest.raises(Unreachable):
            await asyncio.wait_for(task, WAIT_S)

    asyncio.run(closing())


def test_closing_in_a_pause_ends_a_call_with_what_it_failed_of(server: HttpServer) -> None:
    server.says(Said(503))
    spoken = dialect("openai")
    transport = HttpTransport(server.url, dialect=spoken, sleep=lambda _: transport.close())

    async def under_asyncio() -> None:
        closing = AsyncHttpTransport(server.url, dialect=spoken, sleep=lambda _: closing.close())
        await closing.send(request())

    with pytest.raises(Overloaded):
        transport.send(request())
    with pytest.raises(Overloaded):
        asyncio.run(under_asyncio())
    assert len(server.heard) == 2


# -- cancelling ---------------------------------------------------------------------------------

WAITING = {
    "for the head": Said(pieces=(), then="stall"),
    "for the rest": Said(then="stall"),
    "for the rest of an error": Said(500, then="stall"),
}


@pytest.mark.parametrize("said", WAITING.values(), ids=WAITING)
def test_a_cancelled_call_closes_its_connection_and_the_next_one_has_another(
    said: Said, server: HttpServer
) -> None:
    server.says(said, Said())

    async def cancelling() -> bytes:
        async with AsyncHttpTransport(server.url, dialect=dialect("openai")) as transport:
            task = asyncio.create_task(transport.send(request()))
            await asyncio.to_thread(server.await_request)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(server.await_hanging_up)
            return await transport.send(request())

    assert asyncio.run(cancelling()) == b"{}"
    assert server.connections == 2


def test_a_cancelled_stream_closes_its_connection(server: HttpServer) -> None:
    server.says(ENDLESS)

    async def reading(transport: AsyncHttpTransport, came: asyncio.Event) -> None:
        async with transport.stream(request()) as pieces:
            async for _ in pieces:
                came.set()

    async def cancelling() -> None:
        came = asyncio.Event()
        async with AsyncHttpTransport(server.url, dialect=dialect("openai")) as transport:
            task = asyncio.create_task(reading(transport, came))
            await came.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.to_thread(server.await_hanging_up)

    asyncio.run(cancelling())


def test_a_call_that_is_cancelled_while_it_pauses_is_not_tried_again(server: HttpServer) -> None:
    server.says(Said(503))

    async def cancelling() -> None:
        pausing = asyncio.Event()

        async def pause(_: float) -> None:
            pausing.set()
            await asyncio.Event().wait()

        spoken = dialect("openai")
        async with AsyncHttpTransport(server.url, dialect=spoken, sleep=pause) as transport:
            task = asyncio.create_task(transport.send(request()))
            await pausing.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancelling())
    assert len(server.heard) == 1


def test_the_time_of_somebody_around_a_call_is_theirs(server: HttpServer) -> None:
    server.says(Said(pieces=(), then="stall"))

    async def waiting() -> None:
        async with AsyncHttpTransport(server.url, dialect=dialect("openai")) as transport:
            async with asyncio.timeout(0.1):
                await transport.send(request())

    with pytest.raises(TimeoutError):
        asyncio.run(waiting())


# -- threads, loops and processes ---------------------------------------------------------------


def test_one_transport_serves_event_loops_one_after_the_other(server: HttpServer) -> None:
    transport = AsyncHttpTransport(server.url, dialect=dialect("openai"))

    for _ in range(3):
        assert asyncio.run(transport.send(request())) == b"{}"
    assert server.connections == 3


def test_one_transport_serves_event_loops_at_the_same_time(server: HttpServer) -> None:
    transport = AsyncHttpTransport(server.url, dialect=dialect("openai"))
    together = threading.Barrier(4)
    came: list[bytes] = []

    def run() -> None:
        together.wait(WAIT_S)
        came.extend([asyncio.run(transport.send(request())) for _ in range(3)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert came == [b"{}"] * 12


def test_closing_in_one_loop_leaves_what_runs_in_another(server: HttpServer) -> None:
    let_go = threading.Event()
    server.says(lambda _: Said() if let_go.wait(WAIT_S) else Said(500))
    transport = AsyncHttpTransport(server.url, dialect=dialect("openai"))
    came: list[bytes] = []
    thread = threading.Thread(target=lambda: came.append(asyncio.run(transport.send(request()))))
    thread.start()
    server.await_request()
    asyncio.run(transport.close())
    let_go.set()
    thread.join(WAIT_S)

    assert came == [b"{}"]


def test_threads_that_come_first_at_once_share_one_pool(server: HttpServer) -> None:
    transport = HttpTransport(server.url, dialect=dialect("openai"))
    together = threading.Barrier(8)

    def ask() -> None:
        together.wait(WAIT_S)
        transport.send(request())

    with transport:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        before = server.connections
        for _ in range(8):
            transport.send(request())

    assert len(server.heard) == 16
    assert server.connections == before <= 8


def test_a_deadline_in_one_thread_is_none_in_another(server: HttpServer) -> None:
    now = threading.Event()

    def answer(_: object) -> Said:
        return Said() if now.wait(WAIT_S) else Said(500)

    server.says(answer, Said(pieces=(), then="stall"))
    came: list[bytes] = []
    with HttpTransport(server.url, dialect=dialect("openai")) as transport:
        thread = threading.Thread(target=lambda: came.append(transport.send(request())))
        thread.start()
        server.await_request()
        with pytest.raises(Unreachable):
            transport.send(request(), timeout_s=0.1)
        now.set()
        thread.join(WAIT_S)

    assert came == [b"{}"]


FORKING = """
import json, os, sys
from hansard import Request, dialect
from hansard.transports.http import HttpTransport

asked = Request("/chat/completions", b"{}")
transport = HttpTransport(sys.argv[1], dialect=dialect("openai"))
said = [transport.send(asked).decode()]
reading, writing = os.pipe()
child = os.fork()
if not child:
    transport.close() if sys.argv[2] == "close" else os.write(writing, transport.send(asked))
    os._exit(0)
os.waitpid(child, 0)
os.close(writing)
said += [os.read(reading, 99).decode(), transport.send(asked).decode()]
transport.close()
print(json.dumps(said))
"""


@pytest.mark.parametrize(("does", "connections"), [("ask", [1, 2, 1]), ("close", [1, 1])])
def test_a_forked_process_has_connections_of_its_own_and_leaves_its_parents(
    does: str, connections: list[int], server: HttpServer
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORKING, server.url, does],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == ["{}", "{}" if does == "ask" else "", "{}"]
    assert [heard.connection for heard in server.heard] == connections
