"""A real HTTP server on loopback that says exactly what a test wants, also what no server should.

It counts connections, keeps every request, and knows when a client hangs up. It never sleeps: it
waits for the client, or for the test.
"""

from __future__ import annotations

import select
import socket
import socketserver
import ssl
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Answering", "Heard", "HttpServer", "Said", "serving"]

WAIT_S = 3.0
"""How long to wait for what happens at once unless something is broken."""

_TRICKLE_S = 0.005
_TRICKLE_PIECES = 2_000


@dataclass(frozen=True)
class Said:
    """What the server says to one request, and what it does then.

    ``end`` ends the answer as it should be, and ``leave`` hangs up after that, unannounced.
    ``cut`` hangs up in the middle. ``stall`` says no more until the client hangs up. ``trickle``
    says the last piece again and again, for ten seconds in all. ``wire`` is said instead of all
    that, byte for byte.
    """

    status: int = 200
    pieces: tuple[bytes, ...] = (b"{}",)
    headers: tuple[tuple[str, str], ...] = ()
    then: Literal["end", "leave", "cut", "stall", "trickle"] = "end"
    wire: bytes | None = None


@dataclass(frozen=True)
class Heard:
    """A request as it came, and which of the connections it came by, from 1."""

    line: str
    headers: dict[str, str]
    body: bytes
    connection: int


Answering: TypeAlias = "Said | Callable[[Heard], Said]"


@dataclass
class HttpServer:
    """What a test says to the server and learns from it. What is said last is said again."""

    port: int
    scheme: str = "http"
    answers: list[Answering] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    connections: int = 0
    hung_up: threading.Event = field(default_factory=threading.Event)
    """Set when a client hangs up on an answer that has not ended."""
    asked: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released with each request, when it has come whole."""
    left: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    """Released with each connection that ends."""

    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def says(self, *answers: Answering) -> None:
        self.answers = list(answers)

    def await_request(self) -> None:
        assert self.asked.acquire(timeout=WAIT_S), "no request came"

    def await_hanging_up(self) -> None:
        assert self.hung_up.wait(WAIT_S), "the client keeps its connection"

    def await_leaving(self) -> None:
        assert self.left.acquire(timeout=WAIT_S), "the client keeps its connection"

    def new_connection(self) -> int:
        with self._lock:
            self.connections += 1
            return self.connections

    def answer_to(self, heard: Heard) -> Said:
        with self._lock:
            self.heard.append(heard)
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.asked.release()
        return answer(heard) if callable(answer) else answer


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    disable_nagle_algorithm = True

    def setup(self) -> None:
        if self.server.tls is not None:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()
        self.server.open.add(self.connection)

    def handle(self) -> None:
        state = self.server.state
        number = state.new_connection()
        with suppress(OSError):
            while heard := self._hear(number):
                if not self._say(state.answer_to(heard)):
                    return

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        with suppress(OSError):
            super().finish()
        self.connection.close()
        self.server.state.left.release()

    def _hear(self, number: int) -> Heard | None:
        line = self.rfile.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            return None
        headers: dict[str, str] = {}
        while (header := self.rfile.readline().decode("latin-1").rstrip("\r\n")) != "":
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        body = self.rfile.read(int(headers.get("content-length", "0")))
        return Heard(line, headers, body, number)

    def _say(self, said: Said) -> bool:
        """Say it, and tell whether the connection goes on."""
        try:
            return self._say_all(said)
        except OSError:
            self.server.state.hung_up.set()
            raise

    def _say_all(self, said: Said) -> bool:
        if said.wire is not None:
            self.wfile.write(said.wire)
            return False
        head = [f"HTTP/1.1 {said.status} So", "transfer-encoding: chunked"]
        head += [f"{name}: {value}" for name, value in said.headers]
        self.wfile.write("\r\n".join([*head, "", ""]).encode())
        for piece in filter(None, said.pieces):
            self._piece(piece)
        if said.then == "stall":
            self._stall()
        elif said.then == "trickle":
            self._trickle(said.pieces[-1])
        if said.then not in ("stall", "cut"):
            self.wfile.write(b"0\r\n\r\n")
        return said.then in ("end", "trickle")

    def _piece(self, piece: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _stall(self) -> None:
        with suppress(OSError):
            self.rfile.read(1)
        self.server.state.hung_up.set()

    def _trickle(self, piece: bytes) -> None:
        for _ in range(_TRICKLE_PIECES):
            readable, _, _ = select.select([self.connection], [], [], _TRICKLE_S)
            if readable:
                raise BrokenPipeError
            self._piece(piece)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tls = tls
        self.open: set[socket.socket] = set()
        scheme = "http" if tls is None else "https"
        self.state = HttpServer(self.server_address[1], scheme)

    def handle_error(self, *_: object) -> None:
        """Say nothing of clients that hang up: some tests are about that."""


@contextmanager
def serving(*answers: Answering, tls: ssl.SSLContext | None = None) -> Iterator[HttpServer]:
    """Serve until the end, with these answers, or ``{}`` to whatever is asked."""
    with _Server(tls) as server:
        server.state.says(*answers or [Said()])
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield server.state
        finally:
            server.shutdown()
            for connection in list(server.open):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            thread.join()
