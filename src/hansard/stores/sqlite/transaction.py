"""A transaction of the store's, which a tool writes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Invalid, RevisionConflict
from ..puts import Put
from ..store import Transaction
from .appending import append

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from ...record.bodies import Cutter
    from ...record.pages import Head, Page
    from ..store import Hold, Receipt
    from .connections import Connections
    from .failures import Translated

__all__ = ["SQLiteTransaction"]


class SQLiteTransaction(Transaction):
    """A transaction that alone may write in the file. It is rolled back where a call of it fails.

    Only after a `RevisionConflict` it is still open, as that is for its owner to judge.

    Whoever writes through its `connection` leaves the ending to `commit` and `rollback`.
    """

    def __init__(
        self,
        connections: Connections,
        translated: Translated,
        clock: Callable[[], float],
        cutter: Cutter,
    ) -> None:
        self._connections = connections
        self._translated = translated
        self._clock = clock
        self._cutter = cutter
        self._connection: sqlite3.Connection | None = connections.begin()

    @property
    def connection(self) -> sqlite3.Connection:
        """What the tool writes through: it is in the transaction already."""
        if self._connection is None:
            raise Invalid("expected an open transaction, found one that is over: begin another")
        return self._connection

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        put = Put(conversation, page, head, hold, turn_id, within=True)
        put.check()
        put = put.cut(self._cutter)
        connection = self._open()
        try:
            with self._translated:
                return append(connection, put, self._clock())
        except RevisionConflict:
            raise
        except BaseException:
            self.rollback()
            raise

    def commit(self) -> None:
        connection = self._open()
        try:
            with self._translated:
                connection.execute("COMMIT")
        except BaseException:
            self.rollback()
            raise
        self._connection = None
        self._connections.end(connection)

    def rollback(self, *, given_up: bool = False) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if given_up:
            self._connections.cut_off(connection)
        else:
            self._connections.end(connection)

    def _open(self) -> sqlite3.Connection:
        connection = self.connection
        if not connection.in_transaction:
            self.rollback()
            raise Invalid(
                "expected the transaction that was begun, found that it was ended through its "
                "connection: leave that to commit() and rollback(), and do not use the "
                "connection in a with statement"
            )
        return connection
