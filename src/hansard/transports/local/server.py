"""A llama.cpp server, started when it is first needed, in a process of its own.

In its own process a crash of the model, which is C++, or its memory running out, is an error to
read and not the end of the program. All who ask for the same settings share one server. It is
stopped when the program ends, however it ends, and started again when it is found dead.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
import subprocess
import sys
import threading
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ...errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import IOBase

__all__ = ["LocalServer", "Settings", "serve"]

SLOW_S = 2.0
"""After so long a person at a terminal is told what takes so long."""

_STOP_S = 5.0
_LINES_KEPT = 20
_CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Settings:
    """What makes a server another one. ``threads`` None leaves it to llama.cpp."""

    path: str
    name: str
    n_ctx: int = 4096
    threads: int | None = None
    chat_template: str | None = None


class LocalServer:
    """One server. Safe to use from any thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.api_key = secrets.token_urlsafe(24)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._said: deque[str] = deque(maxlen=_LINES_KEPT)

    def __repr__(self) -> str:
        return f"<LocalServer {self.settings.name} at {self._address or 'rest'}>"

    def address(self, *, timeout_s: float) -> str:
        """Start the server where it does not run, and give its URL once it listens.

        Raises `Unreachable`, with its last words, where it does not start in time.
        """
        with self._lock:
            if not self._runs():
                self._forget()
                self._address = self._start(timeout_s)
            return self._address

    @property
    def pid(self) -> int | None:
        """The process of a server that runs."""
        process = self._process
        return process.pid if process is not None and self._runs() else None

    def now_at(self) -> str | None:
        """Give the URL of a server that runs, without waiting for anything."""
        return self._address if self._address and self._runs() else None

    def stop(self) -> None:
        """Stop the server. The next use starts it again."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        """End the process, if it has not ended itself."""
        process, self._process, self._address = self._process, None, ""
        if process is None:
            return
        _close(process.stdin)
        _close(process.stdout)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _runs(self) -> bool:
        process = self._process
        return process is not None and process.poll() is None

    def after_fork(self) -> None:
        """Be one that is not started yet: a forked process starts a server of its own.

        It cannot watch its parent's child, and whoever held the lock is not here to let it go.
        """
        self._lock = threading.Lock()
        process, self._process, self._address = self._process, None, ""
        if process is None:
            return
        process.returncode = 0  # Nobody here may wait for it.
        for pipe in (process.stdin, process.stdout, process.stderr):
            _close(getattr(pipe, "raw", None))  # As it is, since its buffer may be locked too.

    def _start(self, timeout_s: float) -> str:
        self._said = deque(maxlen=_LINES_KEPT)
        process = subprocess.Popen(  # noqa: S603 - this Python, a file of ours
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._process = process
        listener = threading.Thread(target=_listen, args=(process.stderr, self._said), daemon=True)
        listener.start()
        _tell(process.stdin, asdict(self.settings), self.api_key)
        late = threading.Event()
        with _after(SLOW_S, _notice, self.settings.name), _after(timeout_s, _end, process, late):
            assert process.stdout is not None  # noqa: S101 - it was asked for above
            address = process.stdout.readline().decode().strip()
        if not address:
            raise self._failed(process, listener, timeout_s if late.is_set() else None)
        return address

    def _failed(
        self, process: subprocess.Popen[bytes], listener: threading.Thread, late_s: float | None
    ) -> Unreachable:
        process.kill()
        status = process.wait()
        _close(process.stdin)
        _close(process.stdout)
        listener.join(_STOP_S)
        self._process = None
        words = "\n".join(self._said) or "nothing"
        if late_s is None:
            found = f"that its server ended with status {status}"
        else:
            found = f"it not ready after {late_s:g} s; give it longer, as start_timeout_s"
        return Unreachable(
            f"expected the local model {self.settings.path} to start, found {found}. "
            f"Its last words:\n{words}"
        )


_servers: dict[Settings, LocalServer] = {}
_servers_lock = threading.Lock()


def serve(settings: Settings) -> LocalServer:
    """Give the server with these settings: of this program there is one."""
    with _servers_lock:
        if not _servers:
            atexit.register(_stop_all)
        return _servers.setdefault(settings, LocalServer(settings))


def _after_fork() -> None:
    global _servers_lock  # noqa: PLW0603 - whoever held it is not in this process
    _servers_lock = threading.Lock()
    for server in _servers.values():
        server.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _stop_all() -> None:
    for server in _servers.values():
        server.stop()


def _tell(stdin: IO[bytes] | None, settings: dict[str, object], api_key: str) -> None:
    assert stdin is not None  # noqa: S101 - a pipe was asked for
    told = {**settings, "api_key": api_key, "sys_path": sys.path}
    with suppress(BrokenPipeError):  # it is dead already, and its last words say why
        stdin.write(json.dumps(told).encode() + b"\n")
        stdin.flush()


def _listen(stderr: IO[bytes], said: deque[str]) -> None:
    """Keep the last lines, and let the server never wait for a reader."""
    with stderr:
        for line in stderr:
            said.append(line.decode("utf-8", "replace").rstrip())


@contextmanager
def _after(seconds: float, do: Callable[..., object], *arguments: object) -> Iterator[None]:
    """Do something in so many seconds, if what is inside takes that long."""
    timer = threading.Timer(seconds, do, arguments)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _notice(name: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"hansard: starting the local model {name}…\n")
        sys.stderr.flush()


def _close(pipe: IOBase | IO[bytes] | None) -> None:
    if pipe is not None:
        with suppress(OSError):
            pipe.close()
