"""The stores that are played with: how each is opened that is at a place."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from hansard.stores.jsonl import JSONLinesStore
from hansard.stores.memory import MemoryStore
from hansard.stores.postgres import AsyncPostgresStore, PostgresStore
from hansard.stores.redis import AsyncRedisStore, RedisStore
from hansard.stores.sqlite import SQLiteStore
from hansard.stores.threads import async_over
from hansard.testing.store_bridge import LoopThread, bridge
from tests.conformance.toy_store import ToyStore
from tests.support.postgres_server import shared_server
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hansard.stores.store import Store

Opening: TypeAlias = "Callable[[Path], Store]"


def open_memory(place: Path) -> Store:
    _ = place
    return MemoryStore()


@cache
def one_loop() -> LoopThread:
    """The event loop that all share."""
    return LoopThread()


def open_under_asyncio(place: Path) -> Store:
    """Each call is a task of an event loop, which waits for a thread of workers."""
    return bridge(async_over(ToyStore(place)), one_loop())


def open_lines(place: Path) -> Store:
    return JSONLinesStore(place, durability="normal")


def open_lines_under_asyncio(place: Path) -> Store:
    return bridge(async_over(JSONLinesStore(place, durability="normal")), one_loop())


def open_redis(place: Path) -> Store:
    return RedisStore(RedisServer.shared().url, prefix=f"{{{place}}}:")


def open_async_redis(place: Path) -> Store:
    return bridge(AsyncRedisStore(RedisServer.shared().url, prefix=f"{{{place}}}:"), one_loop())


def open_sqlite(place: Path) -> Store:
    return SQLiteStore(place / "chats.db", durability="normal")


def open_sqlite_under_asyncio(place: Path) -> Store:
    return bridge(async_over(open_sqlite(place)), one_loop())


def open_postgres(place: Path) -> Store:
    return PostgresStore(shared_server().schema(str(place)), durability="normal", pool_size=3)


def open_postgres_under_asyncio(place: Path) -> Store:
    url = shared_server().schema(str(place))
    return bridge(AsyncPostgresStore(url, durability="normal", pool_size=3), one_loop())


STORES: dict[str, Opening] = {
    "memory": open_memory,
    "memory-at-a-place": ToyStore,
    "memory-under-asyncio": open_under_asyncio,
    "lines": open_lines,
    "lines-under-asyncio": open_lines_under_asyncio,
    "redis": open_redis,
    "redis-under-asyncio": open_async_redis,
    "sqlite": open_sqlite,
    "sqlite-under-asyncio": open_sqlite_under_asyncio,
    "postgresql": open_postgres,
    "postgresql-under-asyncio": open_postgres_under_asyncio,
}
