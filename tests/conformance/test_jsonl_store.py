"""The store in files of JSON lines keeps what `Store` promises, blocking and under asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.stores.jsonl import JSONLinesStore
from hansard.stores.threads import AsyncOver
from hansard.testing import AsyncStoreConformance, StoreConformance

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.stores.store import AsyncStore, Store


def size_of(folder: Path) -> int:
    """How many bytes there are in files, each counted once however many links it has."""
    files = [path.stat() for path in folder.rglob("*.json*")]
    return sum({file.st_ino: file.st_size for file in files}.values())


class TestJSONLines(StoreConformance):
    """Each append is a line; they are joined on reading."""

    merges = False

    def open(self, place: Path) -> Store:
        return JSONLinesStore(place)

    def size(self, store: Store) -> int | None:
        _ = store
        return size_of(self.place)


class TestJSONLinesUnderAsyncio(AsyncStoreConformance):
    """The same, awaited."""

    merges = False

    async def open(self, place: Path) -> AsyncStore:
        return AsyncOver(JSONLinesStore(place, durability="normal"))

    async def size(self, store: AsyncStore) -> int | None:
        _ = store
        return size_of(self.place)
