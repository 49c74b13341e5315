"""What the tools of killed processes do to the world, and how that is counted afterwards.

A folder outlives the processes. In it, a file has a line for each time that a tool was begun, and
another a line for each effect that must not happen twice; each is one write, on the disk when the
tool goes on. A database of SQLite has the effects that a key tells apart, and the store's own
database what is written in its transactions.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Begun", "Effects"]

_KEYED = "CREATE TABLE IF NOT EXISTS effect (key TEXT PRIMARY KEY, mark TEXT NOT NULL)"
_KEEP = "INSERT INTO effect (key, mark) VALUES (?, ?) ON CONFLICT DO NOTHING"
_WRITE_SQLITE = "INSERT INTO written VALUES (?)"
_WRITE_POSTGRES = "INSERT INTO written VALUES (%s)"
_WRITTEN = "CREATE TABLE IF NOT EXISTS written (mark TEXT NOT NULL)"


class Begun(NamedTuple):
    """That a tool was begun, and what it was told."""

    mark: str
    key: str
    is_resume: bool


class Effects:
    """What the tools of one store's conversations have done."""

    def __init__(self, folder: Path) -> None:
        self._begun = folder / "begun.jsonl"
        self._done = folder / "done.jsonl"
        self._keyed = folder / "keyed.db"
        with closing(self._database()) as database:
            database.execute(_KEYED)

    def _database(self) -> sqlite3.Connection:
        return sqlite3.connect(self._keyed, timeout=60, isolation_level=None)

    # -- done by tools ----------------------------------------------------------------------------

    def begin(self, mark: str, key: str, *, is_resume: bool) -> None:
        """Note that a tool was begun."""
        _append(self._begun, [mark, key, is_resume])

    def do(self, mark: str) -> None:
        """Do what must not be done twice."""
        _append(self._done, mark)

    def keep(self, mark: str, key: str) -> None:
        """Do what is done once for a key, however often it is asked for."""
        with closing(self._database()) as database:
            database.execute(_KEEP, (key, mark))

    @staticmethod
    def prepare(connection: Any) -> None:
        """Make the table that `write` writes in."""
        connection.execute(_WRITTEN)

    @staticmethod
    def write(connection: Any, mark: str) -> None:
        """Write in a transaction, by a connection of SQLite or of PostgreSQL."""
        is_sqlite = isinstance(connection, sqlite3.Connection)
        connection.execute(_WRITE_SQLITE if is_sqlite else _WRITE_POSTGRES, (mark,))

    # -- looked at afterwards ---------------------------------------------------------------------

    def begun(self) -> list[Begun]:
        """Every time that a tool was begun, in order."""
        return [Begun(*line) for line in _lines(self._begun)]

    def done(self) -> Counter[str]:
        """How often each thing was done that must not be done twice."""
        return Counter(_lines(self._done))

    def kept(self) -> Counter[str]:
        """How many effects each call had whose effects are told apart by a key."""
        with closing(self._database()) as database:
            return Counter([mark for (mark,) in database.execute("SELECT mark FROM effect")])

    @staticmethod
    def written(connection: Any) -> Counter[str]:
        """How often each call has written in the store's database."""
        return Counter([mark for (mark,) in connection.execute("SELECT mark FROM written")])


def _append(path: Path, line: object) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, json.dumps(line).encode() + b"\n")
        os.fsync(file)
    finally:
        os.close(file)


def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
