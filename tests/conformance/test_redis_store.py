"""The stores in a real Redis keep what `Store` promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard.stores.redis import AsyncRedisStore, RedisStore
from hansard.testing import AsyncStoreConformance, StoreConformance

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.stores.store import AsyncStore, Store
    from tests.support.redis_server import RedisServer


class TestRedis(StoreConformance):
    """Blocking, on the disk before it is acknowledged."""

    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer) -> None:
        self.server = redis_server

    def open(self, place: Path) -> Store:
        return RedisStore(self.server.url, prefix=f"{{{place}}}:")

    def size(self, store: Store) -> int | None:
        _ = store
        return self.server.size(f"{{{self.place}}}:")


class TestAsyncRedis(AsyncStoreConformance):
    """For asyncio."""

    @pytest.fixture(autouse=True)
    def _server(self, redis_server: RedisServer) -> None:
        self.server = redis_server

    async def open(self, place: Path) -> AsyncStore:
        return AsyncRedisStore(self.server.url, prefix=f"{{{place}}}:")

    async def size(self, store: AsyncStore) -> int | None:
        _ = store
        return self.server.size(f"{{{self.place}}}:")
