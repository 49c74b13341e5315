"""A store in PostgreSQL, and what it has in common with its twin under asyncio.

Rules:

- Where a conversation stands, and who has its lease, is in its row; whoever appends changes that
  row, so that one waits for the other. A plain append is one statement, and so is a read.
- Time is that of the server.
- What cannot be done now is `StoreUnavailable`: psycopg's own error is the cause. After that of an
  append nobody knows whether it was made; make it again, and it is known if it was.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import Invalid
from ...record.bodies import BODY_BYTES
from ..processes import renew_in_children
from ..puts import Put
from ..rules import check_hold, check_limit, closed, cutter
from ..store import Bodies, Durability, Hold, Listing, Metadata, Receipt, Store
from ..wording import check_metadata, check_name
from . import appending, branching, reading
from .asking import Asking, atomic, run
from .driver import Translated, pool_of, psycopg, shown
from .schema import is_of_today, lasting_for, migrate
from .transaction import PostgresTransaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection
    from psycopg_pool import ConnectionPool

    from ...record.loading import Loading
    from ...record.pages import Head, Page

__all__ = ["PostgresStore", "check_durability"]

Result = TypeVar("Result")


class PostgresStore(Store):
    """A store in the database at ``url``, as ``postgresql://user@host/database``.

    Opening it takes its tables to today's version. It has up to ``pool_size`` connections, and as
    many more for tools to write in; it waits for one for ``timeout_s`` before it is
    `StoreUnavailable`. What is ``body_bytes`` long or longer is kept once, for all that ``owner``
    says. After a fork of the process it goes on in both. Raises `MissingExtra` without
    ``hansard[postgres]``.

    `begin` gives a transaction for tools to write in.
    """

    def __init__(
        self,
        url: str,
        *,
        durability: Durability = "full",
        owner: str = "hansard",
        body_bytes: int = BODY_BYTES,
        pool_size: int = 10,
        timeout_s: float = 10.0,
    ) -> None:
        check_durability(durability)
        self._cutter = cutter(owner, body_bytes)
        driver = psycopg()
        self._where = shown(url)
        self._translated = Translated(driver, self._where)
        self._url = url
        self._durability: Durability = durability
        self._size = pool_size
        self._timeout_s = timeout_s
        self._left: list[object] = []
        self._pool: ConnectionPool[Connection[Any]] | None = None
        self._tools_pool: ConnectionPool[Connection[Any]] | None = None
        self._closed = False
        self._opening = Lock()
        self._lasting = "on"
        try:
            if not self._run(is_of_today()):
                self._run(atomic(migrate(), "on"))
            self._lasting = self._run(lasting_for(durability))
        except BaseException:
            self.close()
            raise
        renew_in_children(self)

    @property
    def durability(self) -> Durability:
        return self._durability

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        put = Put(conversation, page, head, hold, turn_id)
        put.check()
        put = put.cut(self._cutter)
        receipt = self._run(appending.append_plainly(put, self._lasting))
        return receipt or self._run(atomic(appending.append(put), self._lasting))

    def read(self, conversation: str) -> Loading | None:
        check_name(conversation)
        return self._run(reading.read(conversation))

    def find(self, conversation: str, turn_id: str) -> int | None:
        check_name(conversation)
        return self._run(reading.find(conversation, turn_id))

    def head(self, conversation: str) -> Head | None:
        check_name(conversation)
        return self._run(reading.head_of(conversation))

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        check_name(conversation)
        return self._run(reading.pages(conversation, after))

    def lease(self, conversation: str, hold: Hold) -> int:
        check_name(conversation)
        check_hold(hold)
        return self._run(atomic(appending.lease(conversation, hold), self._lasting))

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        check_limit(limit)
        return self._run(reading.listing(prefix, where, after, limit))

    def describe(self, conversation: str, metadata: Metadata) -> None:
        check_name(conversation)
        check_metadata(metadata)
        self._run(reading.describe(conversation, metadata))

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        check_name(conversation)
        check_name(new)
        return self._run(atomic(branching.fork(conversation, new, head), self._lasting))

    def delete(self, conversation: str) -> None:
        check_name(conversation)
        self._run(atomic(branching.delete(conversation), self._lasting))

    def begin(self) -> PostgresTransaction:
        """Begin a transaction, in which a tool writes through a `psycopg.Connection`."""
        with self._translated:
            return PostgresTransaction(
                self._opened_for_tools(), self._translated, self._lasting, self._cutter
            )

    def bodies(self) -> Bodies:
        return self._run(reading.bodies())

    def close(self) -> None:
        with self._opening:
            self._closed = True
            pools = (self._pool, self._tools_pool)
            self._pool = self._tools_pool = None
        for pool in pools:
            if pool is not None:
                pool.close()

    def renew(self) -> None:
        """Begin anew in a child process, where the parent's connections are not to be used."""
        self._left += [self._pool, self._tools_pool]  # To close them here would end them there.
        self._pool = self._tools_pool = None
        self._opening = Lock()

    def __repr__(self) -> str:
        return f"<PostgresStore {self._where} durability={self._durability!r}>"

    def _run(self, operation: Asking[Result]) -> Result:
        with self._translated, self._opened().connection() as connection:
            return run(connection, operation)

    def _opened(self) -> ConnectionPool[Connection[Any]]:
        pool = self._pool
        if pool is not None:
            return pool
        with self._opening:
            if self._closed:
                raise closed(self)
            if self._pool is None:
                self._pool = pool_of(self._url, self._size, self._timeout_s)
            return self._pool

    def _opened_for_tools(self) -> ConnectionPool[Connection[Any]]:
        """Connections of their own, so that tools that take long leave some to renew leases."""
        self._opened()
        with self._opening:
            if self._tools_pool is None:
                self._tools_pool = pool_of(self._url, self._size, self._timeout_s)
            return self._tools_pool


def check_durability(durability: Durability) -> None:
    """Raise `Invalid` for what a server cannot be asked for."""
    if durability not in ("full", "normal"):
        raise Invalid(
            f"expected durability 'full' or 'normal', found {durability!r}: a server outlives its "
            "clients; use memory: for what need not"
        )
