"""One suite of tests for every store, whoever wrote it.

Derive a class from `StoreConformance` in a file of tests, and say how the store is opened that is
at a place; or from `AsyncStoreConformance` for one whose methods are awaited:

    class TestMyStore(StoreConformance):
        def open(self, place):
            return MyStore(place / "chats.db")

pytest then runs every check, each at a new place, where it may open the store several times. A
check fails with an `AssertionError` that says what was promised and what was found. It is skipped
where a store does not claim to have what it is about: to last, to keep what is long apart, or to
have transactions. Without pytest, `check_store` runs them.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias
from unittest import SkipTest

from .store_bridge import Bridge, LoopThread, bridge
from .store_suite import StoreSuite, expect, expect_conversation
from .store_suite_appends import AppendChecks, CommitChecks
from .store_suite_bodies import BodyChecks
from .store_suite_forks import DeletionChecks, ForkChecks
from .store_suite_leases import LeaseChecks
from .store_suite_listing import ListingChecks
from .store_suite_reading import ReadingChecks, TurnChecks
from .store_suite_sharing import OpeningChecks, ThreadChecks
from .store_suite_transactions import TransactionChecks
from .store_talk import Talk

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from ..stores.store import AsyncStore, Store

    Opening: TypeAlias = Callable[[Path], Store]
    AsyncOpening: TypeAlias = Callable[[Path], Awaitable[AsyncStore]]

__all__ = ["AsyncStoreConformance", "StoreConformance", "check_async_store", "check_store"]

_CANCELLED_AT = 40


class _StoreChecks(
    AppendChecks,
    CommitChecks,
    LeaseChecks,
    ReadingChecks,
    TurnChecks,
    ForkChecks,
    DeletionChecks,
    ListingChecks,
    BodyChecks,
    ThreadChecks,
    OpeningChecks,
    TransactionChecks,
):
    """All groups of checks, one for each capability."""


class StoreConformance(_StoreChecks):
    """All checks of a blocking store. Say `open`, and `size` and the tool's two if you can."""

    def open(self, place: Path) -> Store:
        """Open the store that is at a place, or make it there.

        ``place`` is an empty folder, another one for each check. Its name can be that of a
        database or the prefix of keys.
        """
        raise NotImplementedError

    def size(self, store: Store) -> int | None:
        """Say how much is kept, by whatever can be counted, as rows or keys; None: unknown."""
        _ = store
        return None

    def tool_writes(self, connection: object) -> None:
        """Write something as a tool would, through the connection of a transaction."""
        _ = connection
        raise SkipTest("the suite is not told how a tool writes: define tool_writes(connection)")

    def tool_wrote(self, store: Store) -> bool:
        """Say whether that is there, as anybody else sees it."""
        _ = store
        raise SkipTest("the suite is not told what a tool wrote: define tool_wrote(store)")

    def opening(self) -> Store:
        return self.open(self.place)

    def counted(self, store: Store) -> int | None:
        return self.size(store)

    def writing(self, store: Store, connection: object) -> None:
        _ = store
        self.tool_writes(connection)

    def written(self, store: Store) -> bool:
        return self.tool_wrote(store)


class AsyncStoreConformance(_StoreChecks):
    """All checks of an asynchronous store. What is to be said is as in `StoreConformance`."""

    _loop: LoopThread

    async def open(self, place: Path) -> AsyncStore:
        """`StoreConformance.open`."""
        raise NotImplementedError

    async def size(self, store: AsyncStore) -> int | None:
        """`StoreConformance.size`."""
        _ = store
        return None

    async def tool_writes(self, connection: object) -> None:
        """`StoreConformance.tool_writes`."""
        _ = connection
        raise SkipTest("the suite is not told how a tool writes: define tool_writes(connection)")

    async def tool_wrote(self, store: AsyncStore) -> bool:
        """`StoreConformance.tool_wrote`."""
        _ = store
        raise SkipTest("the suite is not told what a tool wrote: define tool_wrote(store)")

    def test_an_append_that_is_cancelled_is_made_or_not_and_can_be_made_again(self) -> None:
        """Wherever it was when it was cancelled, nothing is half done."""
        store, talk = self.opened(), Talk()
        inner = _inner(store)

        async def cancel(number: int) -> None:
            made = talk.turn(f"{number}" * 3000)
            append = inner.append(made.conversation, made.page, made.head, turn_id="t")
            task = asyncio.ensure_future(append)
            for _ in range(number):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            receipt = await inner.append(made.conversation, made.page, made.head, turn_id="t")
            expect(receipt.revision == made.head.revision, f"{made.head.revision}", receipt)

        for number in range(_CANCELLED_AT):
            self._loop.run(cancel(number))
            expect_conversation(store, talk)

    def test_a_read_that_is_cancelled_leaves_the_store_as_good_as_before(self) -> None:
        """No connection or lock is lost with it."""
        store, talk = self.opened(), Talk()
        inner = _inner(store)
        talk.turn("x" * 100_000).to(store)

        async def cancel(number: int) -> None:
            tasks = [asyncio.ensure_future(inner.read(talk.name)) for _ in range(8)]
            for _ in range(number):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        for number in range(_CANCELLED_AT):
            self._loop.run(cancel(number))
        expect_conversation(store, talk)
        talk.turn().to(store)
        expect_conversation(store, talk)

    def setup_method(self) -> None:
        super().setup_method()
        self._loop = LoopThread()

    def teardown_method(self) -> None:
        super().teardown_method()
        self._loop.stop()

    def opening(self) -> Store:
        return bridge(self._loop.run(self.open(self.place)), self._loop)

    def counted(self, store: Store) -> int | None:
        return self._loop.run(self.size(_inner(store)))

    def writing(self, store: Store, connection: object) -> None:
        _ = store
        self._loop.run(self.tool_writes(connection))

    def written(self, store: Store) -> bool:
        return self._loop.run(self.tool_wrote(_inner(store)))


def _inner(store: Store) -> AsyncStore:
    if not isinstance(store, Bridge):
        raise TypeError(f"expected a store that the suite opened, found {store!r}")
    return store.inner


def check_store(open: Opening) -> None:  # noqa: A002 -- as in `StoreConformance`
    """Run all checks of a blocking store; ``open`` is `StoreConformance.open`.

    Raises an `ExceptionGroup` of all that failed, each with the sentence of its check.
    """

    class Suite(StoreConformance):
        def open(self, place: Path) -> Store:
            return open(place)

    _run_all(Suite)


def check_async_store(open: AsyncOpening) -> None:  # noqa: A002 -- as in `StoreConformance`
    """`check_store`, of an asynchronous store."""

    class Suite(AsyncStoreConformance):
        async def open(self, place: Path) -> AsyncStore:
            return await open(place)

    _run_all(Suite)


def _run_all(suite: type[StoreSuite]) -> None:
    failed = []
    for name in dir(suite):
        if name.startswith("test_"):
            try:
                _run(suite(), name)
            except SkipTest:
                continue
            except Exception as error:  # noqa: BLE001 -- a check fails by whatever it raises
                error.add_note(f"in the check that {name.removeprefix('test_').replace('_', ' ')}")
                failed.append(error)
    if failed:
        raise ExceptionGroup(
            f"expected a store that keeps its promises; found {len(failed)} checks that failed",
            failed,
        )


def _run(checks: StoreSuite, name: str) -> None:
    checks.setup_method()
    try:
        getattr(checks, name)()
    finally:
        checks.teardown_method()
