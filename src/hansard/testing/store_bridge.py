"""An asynchronous store as a blocking one, so that the suite is written once for both.

Its event loop runs in a thread of its own; threads that use the bridge are tasks there.
"""

from __future__ import annotations

import asyncio
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from ..stores.store import AsyncTransactional, Store, Transaction

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from ..record.loading import Loading
    from ..record.pages import Head, Page
    from ..stores.store import (
        AsyncStore,
        AsyncTransaction,
        Bodies,
        Durability,
        Hold,
        Listing,
        Metadata,
        Receipt,
    )

__all__ = ["Bridge", "LoopThread", "bridge"]

Result = TypeVar("Result")


class LoopThread:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, doing: Coroutine[object, object, Result]) -> Result:
        """Run something as a task of the loop, and wait for what it gives."""
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result()

    def stop(self) -> None:
        """End the thread."""
        self.run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def bridge(store: AsyncStore, loop: LoopThread) -> Bridge:
    """Give an asynchronous store as a blocking one, which has `begin` if the other has."""
    if isinstance(store, AsyncTransactional):
        return _TransactionalBridge(store, loop, store)
    return Bridge(store, loop)


class Bridge(Store):
    """An asynchronous store as a blocking one."""

    def __init__(self, inner: AsyncStore, loop: LoopThread) -> None:
        self.inner = inner
        self._run = loop.run

    @property
    def durability(self) -> Durability:
        return self.inner.durability

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        return self._run(self.inner.append(conversation, page, head, hold=hold, turn_id=turn_id))

    def read(self, conversation: str) -> Loading | None:
        return self._run(self.inner.read(conversation))

    def find(self, conversation: str, turn_id: str) -> int | None:
        return self._run(self.inner.find(conversation, turn_id))

    def head(self, conversation: str) -> Head | None:
        return self._run(self.inner.head(conversation))

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        return self._run(self.inner.pages(conversation, after=after))

    def lease(self, conversation: str, hold: Hold) -> int:
        return self._run(self.inner.lease(conversation, hold))

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        return self._run(self.inner.list(prefix=prefix, where=where, after=after, limit=limit))

    def describe(self, conversation: str, metadata: Metadata) -> None:
        self._run(self.inner.describe(conversation, metadata))

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        return self._run(self.inner.fork(conversation, new, head))

    def delete(self, conversation: str) -> None:
        self._run(self.inner.delete(conversation))

    def bodies(self) -> Bodies | None:
        return self._run(self.inner.bodies())

    def close(self) -> None:
        self._run(self.inner.close())


class _TransactionalBridge(Bridge):
    def __init__(self, inner: AsyncStore, loop: LoopThread, begins: AsyncTransactional) -> None:
        super().__init__(inner, loop)
        self._loop = loop
        self._begins = begins

    def begin(self) -> Transaction:
        return _TransactionBridge(self._run(self._begins.begin()), self._loop)


class _TransactionBridge(Transaction):
    def __init__(self, inner: AsyncTransaction, loop: LoopThread) -> None:
        self._inner = inner
        self._run = loop.run

    @property
    def connection(self) -> object:
        return self._inner.connection

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        return self._run(self._inner.append(conversation, page, head, hold=hold, turn_id=turn_id))

    def commit(self) -> None:
        self._run(self._inner.commit())

    def rollback(self, *, given_up: bool = False) -> None:
        self._run(self._inner.rollback(given_up=given_up))
