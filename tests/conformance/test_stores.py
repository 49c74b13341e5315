"""Every store keeps what `Store` promises, blocking and under asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.stores.memory import MemoryStore
from hansard.stores.threads import AsyncOver
from hansard.testing import AsyncStoreConformance, StoreConformance

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.stores.store import AsyncStore, Store


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
