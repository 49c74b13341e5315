"""Transactions of the store's, which tools write in."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...errors import Invalid, RevisionConflict
from ..puts import Put
from ..store import AsyncTransaction, Transaction
from .appending import append, append_plainly
from .asking import Query, arun, run

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection
    from psycopg_pool import AsyncConnectionPool, ConnectionPool

    from ...record.bodies import Cutter
    from ...record.pages import Head, Page
    from ..store import Hold, Receipt
    from .asking import Asking
    from .driver import Translated

__all__ = ["AsyncPostgresTransaction", "PostgresTransaction"]


def _begin(lasting: str) -> Asking[None]:
    yield [Query("begin"), Query("lasting", (lasting,))]


def _commit() -> Asking[None]:
    yield [Query("commit")]


class PostgresTransaction(Transaction):
    """A transaction, with a connection of its own. It is rolled back where a call of it fails.

    Only after a `RevisionConflict` it is still open, as that is for its owner to judge. Whoever
    writes through its `connection` leaves the ending to `commit` and `rollback`.
    """

    def __init__(
        self,
        pool: ConnectionPool[Connection[Any]],
        translated: Translated,
        lasting: str,
        cutter: Cutter,
    ) -> None:
        self._pool = pool
        self._translated = translated
        self._lasting = lasting
        self._cutter = cutter
        self._connection: Connection[Any] | None = pool.getconn()
        try:
            run(self._connection, _begin(lasting))
        except BaseException:
            self.rollback()
            raise

    @property
    def connection(self) -> Connection[Any]:
        """What the tool writes through: it is in the transaction already."""
        if self._connection is None:
            raise _over()
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
        connection = self.connection
        try:
            _check_open(connection)
            with self._translated:
                receipt = run(connection, append_plainly(put, self._lasting))
                return receipt or run(connection, append(put))
        except RevisionConflict:
            raise
        except BaseException:
            self.rollback()
            raise

    def commit(self) -> None:
        connection = self.connection
        try:
            _check_open(connection)
            with self._translated:
                run(connection, _commit())
        except BaseException:
            self.rollback()
            raise
        self._connection = None
        self._pool.putconn(connection)

    def rollback(self, *, given_up: bool = False) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if given_up:
            connection.close()
        with suppress(Exception):  # The pool sees to one that is of no use any more.
            connection.rollback()
        self._pool.putconn(connection)


class AsyncPostgresTransaction(AsyncTransaction):
    """`PostgresTransaction` under asyncio. Begun by `begun`."""

    def __init__(
        self, pool: AsyncConnectionPool[Any], translated: Translated, lasting: str, cutter: Cutter
    ) -> None:
        self._pool = pool
        self._translated = translated
        self._lasting = lasting
        self._cutter = cutter
        self._connection: AsyncConnection[Any] | None = None

    async def begun(self) -> AsyncPostgresTransaction:
        """Begin, and give itself."""
        connection = self._connection = await self._pool.getconn()
        try:
            await arun(connection, _begin(self._lasting))
        except BaseException:
            await self.rollback()
            raise
        return self

    @property
    def connection(self) -> AsyncConnection[Any]:
        """What the tool writes through: it is in the transaction already."""
        if self._connection is None:
            raise _over()
        return self._connection

    async def append(
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
        connection = self.connection
        try:
            _check_open(connection)
            with self._translated:
                receipt = await arun(connection, append_plainly(put, self._lasting))
                return await arun(connection, append(put)) if receipt is None else receipt
        except RevisionConflict:
            raise
        except BaseException:
            await self.rollback()
            raise

    async def commit(self) -> None:
        connection = self.connection
        try:
            _check_open(connection)
            with self._translated:
                await arun(connection, _commit())
        except BaseException:
            await self.rollback()
            raise
        self._connection = None
        await self._pool.putconn(connection)

    async def rollback(self, *, given_up: bool = False) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if given_up:
            await connection.close()
        with suppress(Exception):
            await connection.rollback()
        await self._pool.putconn(connection)


def _over() -> Invalid:
    return Invalid("expected an open transaction, found one that is over: begin another")


def _check_open(connection: Connection[Any] | AsyncConnection[Any]) -> None:
    from psycopg.pq import TransactionStatus

    if connection.info.transaction_status == TransactionStatus.IDLE:
        raise Invalid(
            "expected the transaction that was begun, found that it was ended through its "
            "connection: leave that to commit() and rollback()"
        )
