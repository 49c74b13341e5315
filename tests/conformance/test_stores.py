"""Every store keeps what `Store` promises, blocking and under asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.sealing import Keyring
from hansard.stores.memory import MemoryStore
from hansard.stores.sealed import sealed
from hansard.stores.threads import AsyncOver
from hansard.testing import AsyncStoreConformance, StoreConformance

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.stores.store import AsyncStore, Store

KEYRING = Keyring.single(b"k" * 32)


class TestMemory(StoreConformance):
    """In the memory of this process."""

    def open(self, place: Path) -> Store:
        _ = place
        return MemoryStore()

    def size(self, store: Store) -> int | None:
        return int(repr(store).split()[3])


class TestMemoryUnderAsyncio(AsyncStoreConformance):
    """The same, awaited."""

    async def open(self, place: Path) -> AsyncStore:
        _ = place
        return AsyncOver(MemoryStore())


class TestSealed(StoreConformance):
    """Sealed, in the memory of this process."""

    def open(self, place: Path) -> Store:
        _ = place
        return sealed(MemoryStore(), KEYRING, owner="u7")

    # Nobody can merge what nobody can read.
    test_a_long_conversation_is_whole_and_its_pages_few = None  # type: ignore[assignment]


class TestSealedUnderAsyncio(AsyncStoreConformance):
    """The same, awaited."""

    async def open(self, place: Path) -> AsyncStore:
        _ = place
        return sealed(AsyncOver(MemoryStore()), KEYRING, owner="u7")

    test_a_long_conversation_is_whole_and_its_pages_few = None  # type: ignore[assignment]
