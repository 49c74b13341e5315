"""A blocking store under asyncio: cancelled calls end as whole ones, or not at all."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from hansard.stores.memory import MemoryStore
from hansard.stores.sqlite import SQLiteStore
from hansard.stores.store import AsyncTransactional
from hansard.stores.threads import TransactionalAsyncOver, async_over

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.record.pages import Head, Page
    from hansard.stores.store import Receipt, Transaction


class SlowStore(MemoryStore):
    """Waits in each append and each beginning until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.go, self.done = Event(), Event(), Event()
        self.begun: list[SlowTransaction] = []

    def delete(self, conversation: str) -> None:
        self.reached.set()
        assert self.go.wait(10)
        super().delete(conversation)
        self.done.set()

    def begin(self) -> Transaction:
        self.reached.set()
        assert self.go.wait(10)
        self.begun.append(SlowTransaction(self))
        return self.begun[-1]


class SlowTransaction:
    def __init__(self, store: SlowStore) -> None:
        self.store = store
        self.connection = object()
        self.said: list[str] = []

    def append(self, *_: Any, **__: Any) -> Receipt:
        raise NotImplementedError

    def commit(self) -> None:
        self.store.reached.set()
        assert self.store.go.wait(10)
        self.said.append("commit")

    def rollback(self) -> None:
        self.said.append("rollback")
        self.store.done.set()


def wrapped(store: SlowStore) -> TransactionalAsyncOver:
    over = async_over(store)
    assert isinstance(over, TransactionalAsyncOver)
    return over


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_only_what_is_over_a_transactional_store_is_transactional() -> None:
    assert isinstance(async_over(SlowStore()), AsyncTransactional)
    assert not isinstance(async_over(MemoryStore()), AsyncTransactional)


def test_what_is_cancelled_goes_on_to_its_end(a_page: tuple[Page, Head]) -> None:
    async def run() -> None:
        store = SlowStore()
        over = wrapped(store)
        await over.append("c", *a_page)
        task = asyncio.create_task(over.delete("c"))
        await asyncio.to_thread(store.reached.wait, 10)
        await cancelled(task)
        assert await over.head("c") is not None
        store.go.set()
        assert await asyncio.to_thread(store.done.wait, 10)
        assert await over.head("c") is None

    asyncio.run(run())


def test_a_transaction_that_is_cancelled_while_it_begins_is_rolled_back() -> None:
    async def run() -> None:
        store = SlowStore()
        task = asyncio.create_task(wrapped(store).begin())
        await asyncio.to_thread(store.reached.wait, 10)
        await cancelled(task)
        store.go.set()
        assert await asyncio.to_thread(store.done.wait, 10)
        assert store.begun[0].said == ["rollback"]

    asyncio.run(run())


def test_a_transaction_that_has_begun_when_it_is_cancelled_is_rolled_back() -> None:
    async def run() -> None:
        store = SlowStore()
        store.go.set()
        task = asyncio.create_task(wrapped(store).begin())
        await asyncio.sleep(0)  # It is at work in its thread, whose answer the loop has not seen.
        while not store.begun:
            assert store.reached.wait(10)
        await cancelled(task)
        assert await asyncio.to_thread(store.done.wait, 10)
        assert store.begun[0].said == ["rollback"]

    asyncio.run(run())


def test_a_rollback_waits_for_the_commit_that_was_cancelled() -> None:
    async def run() -> None:
        store = SlowStore()
        store.go.set()
        transaction = await wrapped(store).begin()
        store.reached.clear()
        store.go.clear()
        task = asyncio.create_task(transaction.commit())
        await asyncio.to_thread(store.reached.wait, 10)
        await cancelled(task)
        rolling = asyncio.create_task(transaction.rollback())
        store.go.set()
        await rolling
        assert store.begun[0].said == ["commit", "rollback"]

    asyncio.run(run())


def test_a_transaction_ends_however_many_wait_for_it(
    tmp_path: Path, a_page: tuple[Page, Head]
) -> None:
    """More than there are threads: those of the loop stay free for its tool, too."""

    async def run() -> None:
        over = async_over(SQLiteStore(tmp_path / "c.db"))
        assert isinstance(over, AsyncTransactional)
        transaction = await over.begin()
        waiting = [asyncio.create_task(over.append(f"c{n}", *a_page)) for n in range(64)]
        await asyncio.sleep(0)  # All have asked for a thread.
        await asyncio.to_thread(_nothing)
        await transaction.append("c", *a_page)
        await transaction.commit()
        await asyncio.gather(*waiting)
        assert len((await over.list()).conversations) == 65
        await over.close()

    asyncio.run(run())


def _nothing() -> None:
    """A tool's own work in a thread."""
