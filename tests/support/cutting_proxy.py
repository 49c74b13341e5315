"""Stands between a client and a server, and cuts the connection before an answer comes through."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CuttingProxy"]


class CuttingProxy:
    """A proxy on loopback for the server at a Unix socket."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._cut: bytes | None = None
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_answer_to(self, request: bytes) -> None:
        """Swallow the answer to the next request that has these bytes, and cut its connection."""
        self._cut = request

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
                self._open += [client, server]
                threading.Thread(target=self._serve, args=(client, server), daemon=True).start()

    def _serve(self, client: socket.socket, server: socket.socket) -> None:
        """Pass requests on, and their answers back, one after the other."""
        cutting = threading.Event()
        back = threading.Thread(target=self._answer, args=(client, server, cutting), daemon=True)
        back.start()
        with suppress(OSError):
            while request := client.recv(1 << 20):
                if self._cut is not None and self._cut in request:
                    self._cut = None
                    cutting.set()
                server.sendall(request)
        server.close()

    def _answer(
        self, client: socket.socket, server: socket.socket, cutting: threading.Event
    ) -> None:
        with suppress(OSError):
            while answer := server.recv(1 << 20):
                if cutting.is_set():
                    break
                client.sendall(answer)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)
        client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for each in (self._listener, *self._open):
            each.close()
