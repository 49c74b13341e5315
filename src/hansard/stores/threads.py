"""A blocking store under asyncio.

Each method runs in a worker thread, so that the event loop does not wait for a disk. A thread
cannot be stopped: what is cancelled goes on to its end, and whoever cancelled it does not know how
it went. So a cancelled append is made or not, never by halves, as every store promises; and a
transaction that was cancelled while it began is rolled back, as nobody has it.

The threads are the store's own, and transactions have others: the calls that wait until one is over
can be many, and leave room for the calls that end it, and for what its tool has threads for.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from .memory import MemoryStore
from .processes import renew_in_children
from .store import AsyncStore, AsyncTransaction, Transactional

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..record.loading import Loading
    from ..record.pages import Head, Page
    from .store import Bodies, Durability, Hold, Listing, Metadata, Receipt, Store, Transaction

__all__ = ["AsyncOver", "AsyncTransactionOver", "TransactionalAsyncOver", "async_over"]

Result = TypeVar("Result")


def async_over(store: Store) -> AsyncStore:
    """Give a blocking store as one for asyncio; what it gives has `begin` if the store has."""
    if isinstance(store, Transactional):
        return TransactionalAsyncOver(store, store)
    return AsyncOver(store)


class AsyncOver(AsyncStore):
    """A blocking store under asyncio. One in memory is called at once: it never waits."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._at_once = type(store) is MemoryStore  # What derives from it may wait.
        self._threads = _Threads()

    async def _do(self, do: Callable[[], Result]) -> Result:
        return do() if self._at_once else await self._threads.run(do)

    @property
    def durability(self) -> Durability:
        return self._store.durability

    async def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        store = self._store
        return await self._do(
            lambda: store.append(conversation, page, head, hold=hold, turn_id=turn_id)
        )

    async def read(self, conversation: str) -> Loading | None:
        return await self._do(lambda: self._store.read(conversation))

    async def find(self, conversation: str, turn_id: str) -> int | None:
        return await self._do(lambda: self._store.find(conversation, turn_id))

    async def head(self, conversation: str) -> Head | None:
        return await self._do(lambda: self._store.head(conversation))

    async def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        return await self._do(lambda: self._store.pages(conversation, after=after))

    async def lease(self, conversation: str, hold: Hold) -> int:
        return await self._do(lambda: self._store.lease(conversation, hold))

    async def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        store = self._store
        return await self._do(
            lambda: store.list(prefix=prefix, where=where, after=after, limit=limit)
        )

    async def describe(self, conversation: str, metadata: Metadata) -> None:
        await self._do(lambda: self._store.describe(conversation, metadata))

    async def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        return await self._do(lambda: self._store.fork(conversation, new, head))

    async def delete(self, conversation: str) -> None:
        await self._do(lambda: self._store.delete(conversation))

    async def bodies(self) -> Bodies | None:
        return await self._do(self._store.bodies)

    async def close(self) -> None:
        await self._do(self._store.close)

    def __repr__(self) -> str:
        return f"<async {self._store!r}>"


class TransactionalAsyncOver(AsyncOver):
    """A blocking store that tools can write in, under asyncio."""

    def __init__(self, store: Store, begins: Transactional) -> None:
        super().__init__(store)
        self._begins = begins
        self._transactions = _Threads()

    async def begin(self, *, blocking: bool = False) -> AsyncTransactionOver:
        """Begin a transaction; one that is cancelled meanwhile is rolled back."""
        del blocking  # Its connection blocks, whoever writes.
        handing = _Handing(self._begins)
        try:
            begun = await self._threads.run(handing.begin)
            return AsyncTransactionOver(begun, self._transactions)
        except asyncio.CancelledError:
            handing.refuse()
            raise


class AsyncTransactionOver(AsyncTransaction):
    """A blocking transaction under asyncio: in worker threads, in one at a time."""

    def __init__(self, transaction: Transaction, threads: _Threads) -> None:
        self._transaction = transaction
        self._threads = threads
        self._one = Lock()

    async def _do(self, do: Callable[[], Result]) -> Result:
        def alone() -> Result:
            with self._one:  # The thread of a call that was cancelled may still be at work.
                return do()

        return await self._threads.run(alone)

    @property
    def connection(self) -> object:
        return self._transaction.connection

    async def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        inner = self._transaction
        return await self._do(
            lambda: inner.append(conversation, page, head, hold=hold, turn_id=turn_id)
        )

    async def commit(self) -> None:
        await self._do(self._transaction.commit)

    async def rollback(self, *, given_up: bool = False) -> None:
        await self._do(lambda: self._transaction.rollback(given_up=given_up))


class _Threads:
    """Threads for the calls of one store, begun when they are needed."""

    def __init__(self) -> None:
        self.renew()
        renew_in_children(self)

    def renew(self) -> None:
        """Begin anew in a child process, which has none of its parent's threads."""
        self._pool = ThreadPoolExecutor(thread_name_prefix="hansard-store")

    async def run(self, do: Callable[[], Result]) -> Result:
        """Call something in a thread, in the caller's context."""
        run = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(self._pool, run, do)


class _Handing:
    """A transaction on its way from the thread that began it to the task that asked for it."""

    def __init__(self, begins: Transactional) -> None:
        self._begins = begins
        self._lock = Lock()
        self._begun: Transaction | None = None
        self._refused = False

    def begin(self) -> Transaction:
        begun = self._begins.begin()
        with self._lock:
            self._begun = begun
            refused = self._refused
        if refused:
            begun.rollback()
        return begun

    def refuse(self) -> None:
        """Roll back what has begun, or will have."""
        with self._lock:
            self._refused = True
            begun = self._begun
        if begun is not None:
            begun.rollback()
