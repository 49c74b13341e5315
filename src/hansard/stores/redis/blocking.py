"""The store in Redis that blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ..rules import closed
from ..store import Durability, Hold, Listing, Metadata, Receipt, Store
from .connections import Connections
from .failing import failure, imported
from .opening import Opening
from .operations import Operations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...record.loading import Loading
    from ...record.pages import Head, Page
    from .operations import Operation

__all__ = ["RedisStore"]

Result = TypeVar("Result")


class RedisStore(Store):
    """A store in Redis, at a URL as redis-py has it. It can be shared by threads.

    With ``"full"`` the server must have ``appendonly yes`` and ``appendfsync always``, which is
    looked up on opening. ``assured`` is for whoever may not look it up, and knows. No command is
    repeated by itself. Time is that of the server.
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
        pool = self._redis.ConnectionPool.from_url(
            url, **self._opening.options(self._redis, self._redis.retry.Retry)
        )
        self._connections = Connections(
            self._redis, lambda: pool.connection_class(**pool.connection_kwargs)
        )
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        try:
            self._drive(self._opening.check())
        except self._redis.ResponseError as error:
            raise self._opening.not_told(error) from error
        except (self._redis.RedisError, OSError) as error:
            raise failure(self, error) from error

    @property
    def durability(self) -> Durability:
        return self._opening.durability

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        return self._do(self._operations.append(conversation, page, head, hold, turn_id))

    def read(self, conversation: str) -> Loading | None:
        return self._do(self._operations.read(conversation))

    def find(self, conversation: str, turn_id: str) -> int | None:
        return self._do(self._operations.find(conversation, turn_id))

    def head(self, conversation: str) -> Head | None:
        return self._do(self._operations.head(conversation))

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        return self._do(self._operations.pages(conversation, after))

    def lease(self, conversation: str, hold: Hold) -> int:
        return self._do(self._operations.lease(conversation, hold))

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        return self._do(self._operations.list(prefix, where, after, limit))

    def describe(self, conversation: str, metadata: Metadata) -> None:
        self._do(self._operations.describe(conversation, metadata))

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        return self._do(self._operations.fork(conversation, new, head))

    def delete(self, conversation: str) -> None:
        self._do(self._operations.delete(conversation))

    def close(self) -> None:
        self._closed = True
        self._connections.close()

    def __repr__(self) -> str:
        return f"<RedisStore {self._opening!r}>"

    def _do(self, operation: Operation[Result]) -> Result:
        if self._closed:
            raise closed(self)
        try:
            return self._drive(operation)
        except (self._redis.RedisError, OSError) as error:
            raise failure(self, error) from error

    def _drive(self, operation: Operation[Result]) -> Result:
        reply: object = None
        try:
            while True:
                reply = self._connections.run(operation.send(reply))
        except StopIteration as done:
            result: Result = done.value
            return result
