"""A store in PostgreSQL under asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from ...record.bodies import BODY_BYTES
from ..processes import renew_in_children
from ..puts import Put
from ..rules import check_hold, check_limit, closed, cutter
from ..store import (
    AsyncStore,
    AsyncTransaction,
    Bodies,
    Durability,
    Hold,
    Listing,
    Metadata,
    Receipt,
)
from ..threads import TransactionalAsyncOver
from ..wording import check_metadata, check_name
from . import appending, branching, reading
from .asking import Asking, arun, atomic
from .driver import Translated, async_pool_of, psycopg, shown
from .schema import is_of_today, lasting_for, migrate
from .store import PostgresStore, check_durability
from .transaction import AsyncPostgresTransaction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from psycopg_pool import AsyncConnectionPool

    from ...record.loading import Loading
    from ...record.pages import Head, Page

__all__ = ["AsyncPostgresStore"]

Result = TypeVar("Result")


class AsyncPostgresStore(AsyncStore):
    """`PostgresStore` under asyncio, for one event loop. It is opened when it is first used."""

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
        self._owner, self._body_bytes = owner, body_bytes
        driver = psycopg()
        self._where = shown(url)
        self._translated = Translated(driver, self._where)
        self._url = url
        self._durability: Durability = durability
        self._size = pool_size
        self._timeout_s = timeout_s
        self._left: list[object] = []
        self._pool: AsyncConnectionPool[Any] | None = None
        self._tools_pool: AsyncConnectionPool[Any] | None = None
        self._twin: PostgresStore | None = None
        self._closed = False
        self._opening = asyncio.Lock()
        self._lasting = "on"
        renew_in_children(self)

    @property
    def durability(self) -> Durability:
        return self._durability

    async def append(
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
        await self._opened()
        receipt = await self._run(appending.append_plainly(put, self._lasting))
        if receipt is None:
            receipt = await self._run(atomic(appending.append(put), self._lasting))
        return receipt

    async def read(self, conversation: str) -> Loading | None:
        check_name(conversation)
        return await self._run(reading.read(conversation))

    async def find(self, conversation: str, turn_id: str) -> int | None:
        check_name(conversation)
        return await self._run(reading.find(conversation, turn_id))

    async def head(self, conversation: str) -> Head | None:
        check_name(conversation)
        return await self._run(reading.head_of(conversation))

    async def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        check_name(conversation)
        return await self._run(reading.pages(conversation, after))

    async def lease(self, conversation: str, hold: Hold) -> int:
        check_name(conversation)
        check_hold(hold)
        await self._opened()
        return await self._run(atomic(appending.lease(conversation, hold), self._lasting))

    async def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        check_limit(limit)
        return await self._run(reading.listing(prefix, where, after, limit))

    async def describe(self, conversation: str, metadata: Metadata) -> None:
        check_name(conversation)
        check_metadata(metadata)
        await self._run(reading.describe(conversation, metadata))

    async def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        check_name(conversation)
        check_name(new)
        await self._opened()
        return await self._run(atomic(branching.fork(conversation, new, head), self._lasting))

    async def delete(self, conversation: str) -> None:
        check_name(conversation)
        await self._opened()
        await self._run(atomic(branching.delete(conversation), self._lasting))

    async def begin(self, *, blocking: bool = False) -> AsyncTransaction:
        """Begin a transaction, in which a tool writes through a `psycopg.AsyncConnection`.

        Where ``blocking`` it is a `psycopg.Connection`.
        """
        with self._translated:
            await self._opened()
            if not blocking:
                pool = await self._opened_for_tools()
                return await AsyncPostgresTransaction(
                    pool, self._translated, self._lasting, self._cutter
                ).begun()
        if self._twin is None:
            self._twin = await asyncio.to_thread(self._blocking_twin)
        return await TransactionalAsyncOver(self._twin, self._twin).begin()

    def _blocking_twin(self) -> PostgresStore:
        return PostgresStore(
            self._url,
            durability=self._durability,
            owner=self._owner,
            body_bytes=self._body_bytes,
            pool_size=self._size,
            timeout_s=self._timeout_s,
        )

    async def bodies(self) -> Bodies:
        return await self._run(reading.bodies())

    async def close(self) -> None:
        async with self._opening:
            self._closed = True
            pools = (self._pool, self._tools_pool)
            self._pool = self._tools_pool = None
            twin, self._twin = self._twin, None
        for pool in pools:
            if pool is not None:
                await pool.close()
        if twin is not None:
            await asyncio.to_thread(twin.close)

    def renew(self) -> None:
        """Begin anew in a child process, where the parent's connections are not to be used."""
        self._left += [self._pool, self._tools_pool]  # To close them here would end them there.
        self._pool = self._tools_pool = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        with self._translated:
            await self._opened()
        return self

    def __repr__(self) -> str:
        return f"<AsyncPostgresStore {self._where} durability={self._durability!r}>"

    async def _run(self, operation: Asking[Result]) -> Result:
        with self._translated:
            pool = await self._opened()
            async with pool.connection() as connection:
                return await arun(connection, operation)

    async def _opened(self) -> AsyncConnectionPool[Any]:
        if self._pool is not None:
            return self._pool
        async with self._opening:
            if self._closed:
                raise closed(self)
            if self._pool is None:
                pool = async_pool_of(self._url, self._size, self._timeout_s)
                try:
                    with self._translated:
                        await self._set_up(pool)
                except BaseException:
                    await pool.close()
                    raise
                self._pool = pool
            return self._pool

    async def _opened_for_tools(self) -> AsyncConnectionPool[Any]:
        """As those of `PostgresStore`."""
        async with self._opening:
            if self._tools_pool is None:
                pool = async_pool_of(self._url, self._size, self._timeout_s)
                await pool.open()
                self._tools_pool = pool
            return self._tools_pool

    async def _set_up(self, pool: AsyncConnectionPool[Any]) -> None:
        await pool.open()
        async with pool.connection() as connection:
            if not await arun(connection, is_of_today()):
                await arun(connection, atomic(migrate(), "on"))
            self._lasting = await arun(connection, lasting_for(self._durability))
