"""A way to a server that can be cut just when the server has done what it was asked for."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class CuttingProxy:
    """Passes on what is said between one host and a server's socket, until it is told to cut.

    ``passes``: how many answers are passed on yet. Instead of the one that follows, the connection
    is closed, once. None: all are.
    """

    def __init__(self, path: str) -> None:
        self.passes: int | None = None
        self._path = path
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._path)
                for pair in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self.passes is not None:
                    if self.passes == 0:
                        self.passes = None
                        break
                    self.passes -= 1
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
