"""Connections to a file of SQLite: a few, for any thread, and new ones after a fork.

One thread at a time writes; that the others wait for each other here, and not in SQLite, which
would have them try again and again, is quicker. Other processes they do meet there.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from ...errors import Invalid, StoreUnavailable
from ..processes import renew_in_children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..store import Durability

__all__ = ["Connections"]

_KEPT_MAX = 8


class Connections:
    """The connections of one store."""

    def __init__(self, path: str, durability: Durability, timeout_s: float) -> None:
        self.path = path
        self.closed = False
        self._synchronous = {"full": "FULL", "normal": "NORMAL"}[durability]
        self._timeout_s = timeout_s
        self._left: list[sqlite3.Connection] = []
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        """Begin anew in a child process, where SQLite's connections are of no use."""
        self._writer = Lock()
        if self._left or getattr(self, "_idle", None):
            # To close them here would take away what the parent has.
            self._left.extend(self._idle)
        self._idle: list[sqlite3.Connection] = []

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection on which everything is seen as it is at one moment."""
        connection = self.borrow()
        try:
            connection.execute("BEGIN")
            yield connection
        finally:
            self.give_back(connection)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection that alone may write, and commit if nothing is raised."""
        connection = self.begin()
        try:
            yield connection
            connection.execute("COMMIT")
        finally:
            self.end(connection)

    def begin(self) -> sqlite3.Connection:
        """Lend a connection that alone may write, until it is handed to `end`."""
        if not self._writer.acquire(timeout=self._timeout_s):
            raise StoreUnavailable(
                f"expected to write in {self.path} within {self._timeout_s} s, found another "
                "transaction of this process open: end that one, or try again"
            )
        try:
            connection = self.borrow()
        except BaseException:
            self._writer.release()
            raise
        try:
            connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            self.end(connection)
            raise
        return connection

    def end(self, connection: sqlite3.Connection) -> None:
        """Take back what `begin` lent; what is not committed is undone."""
        try:
            self.give_back(connection)
        finally:
            self._writer.release()

    def cut_off(self, connection: sqlite3.Connection) -> None:
        """Undo what was done on what `begin` lent; whoever still uses it can do nothing more."""
        try:
            connection.interrupt()
            connection.close()
        finally:
            self._writer.release()

    def borrow(self) -> sqlite3.Connection:
        """Lend a connection, without any transaction."""
        if self.closed:
            raise Invalid(
                f"expected an open store, found the one of {self.path} closed: open it again"
            )
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def give_back(self, connection: sqlite3.Connection) -> None:
        """Take back a connection, for others to use."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            connection.close()
            return
        if self.closed or len(self._idle) >= _KEPT_MAX:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close those that nobody uses; the others are when they are given back."""
        self.closed = True
        while self._idle:
            self._idle.pop().close()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self._timeout_s, isolation_level=None, check_same_thread=False
        )
        try:
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_up(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA page_size = 4096")
        if _journal_mode(connection, self._timeout_s) != "wal":
            raise Invalid(
                f"expected a file where SQLite can keep a write-ahead log, found {self.path!r}: "
                "name a file on a local disk, or use memory: for what need not last"
            )
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        # On macOS only this reaches the disk.
        connection.execute(f"PRAGMA fullfsync = {int(self._synchronous == 'FULL')}")
        connection.execute("PRAGMA mmap_size = 0")
        # What is deleted is overwritten where that takes no further writing.
        connection.execute("PRAGMA secure_delete = FAST")


def _journal_mode(connection: sqlite3.Connection, timeout_s: float) -> str:
    """Have a write-ahead log. SQLite itself does not wait for others who do the same."""
    ends = time.monotonic() + timeout_s
    while True:
        try:
            [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > ends:
                raise
            time.sleep(0.01)
        else:
            return str(mode)
