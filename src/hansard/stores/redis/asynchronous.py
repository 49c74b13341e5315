"""The store in Redis for asyncio."""

from __future__ import annotations

from asyncio import Lock
from typing import TYPE_CHECKING, Self, TypeVar

from ..rules import closed
from ..store import AsyncStore, Durability, Hold, Listing, Metadata, Receipt
from .connections import AsyncConnections
from .failing import failure, imported
from .opening import Opening
from .operations import Operations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...record.loading import Loading
    from ...record.pages import Head, Page
    from .operations import Operation

__all__ = ["AsyncRedisStore"]

Result = TypeVar("Result")


class AsyncRedisStore(AsyncStore):
    """`RedisStore` for asyncio: within one event loop, it can be shared by tasks.

    It is opened by ``async with``, or when it is first asked for something.
    """

    def __init__(
        self,
        url: str,
        *,
        durability: Durability = "full",
        prefix: str = "{hansard}:",
        assured: bool = False,
        timeout_s: float = 30.0,
    ) -> None:
        self._opening = Opening(url, durability, prefix, assured=assured, timeout_s=timeout_s)
        self._operations = Operations(prefix)
        self._redis = imported()
        self._closed = False
        self._opened = False
        self._one = Lock()
        pool = self._redis.asyncio.ConnectionPool.from_url(
            url, **self._opening.options(self._redis, self._redis.asyncio.retry.Retry)
        )
        self._connections = AsyncConnections(
            self._redis, lambda: pool.connection_class(**pool.connection_kwargs)
        )

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def _open(self) -> None:
        async with self._one:
            if self._opened:
                return
            try:
                await self._drive(self._opening.check())
            except self._redis.ResponseError as error:
                raise self._opening.not_told(error) from error
            except (self._redis.RedisError, OSError) as error:
                raise failure(self, error) from error
            self._opened = True

    @property
    def durability(self) -> Durability:
        return self._opening.durability

    async def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        return await self._do(self._operations.append(conversation, page, head, hold, turn_id))

    async def read(self, conversation: str) -> Loading | None:
        return await self._do(self._operations.read(conversation))

    async def find(self, conversation: str, turn_id: str) -> int | None:
        return await self._do(self._operations.find(conversation, turn_id))

    async def head(self, conversation: str) -> Head | None:
        return await self._do(self._operations.head(conversation))

    async def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        return await self._do(self._operations.pages(conversation, after))

    async def lease(self, conversation: str, hold: Hold) -> int:
        return await self._do(self._operations.lease(conversation, hold))

    async def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        return await self._do(self._operations.list(prefix, where, after, limit))

    async def describe(self, conversation: str, metadata: Metadata) -> None:
        await self._do(self._operations.describe(conversation, metadata))

    async def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        return await self._do(self._operations.fork(conversation, new, head))

    async def delete(self, conversation: str) -> None:
        await self._do(self._operations.delete(conversation))

    async def close(self) -> None:
        self._closed = True
        await self._connections.close()

    def __repr__(self) -> str:
        return f"<AsyncRedisStore {self._opening!r}>"

    async def _do(self, operation: Operation[Result]) -> Result:
        if self._closed:
            raise closed(self)
        if not self._opened:
            await self._open()
        try:
            return await self._drive(operation)
        except (self._redis.RedisError, OSError) as error:
            raise failure(self, error) from error

    async def _drive(self, operation: Operation[Result]) -> Result:
        reply: object = None
        try:
            while True:
                reply = await self._connections.run(operation.send(reply))
        except StopIteration as done:
            result: Result = done.value
            return result
