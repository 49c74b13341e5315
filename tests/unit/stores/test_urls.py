"""Stores by URL: which one, where, and what is said of a wrong one."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType
from typing import Any, get_args

import pytest

import hansard
from hansard.errors import Invalid
from hansard.stores.memory import MemoryStore
from hansard.stores.store import Durability
from hansard.stores.threads import AsyncOver


class Opened(MemoryStore):
    """Stands in for a store, and tells what it was opened with."""

    def __init__(self, *place: str, **options: Any) -> None:
        super().__init__()
        self.given = (type(self).__name__, *place, options)


@pytest.fixture
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, names in (
        ("sqlite", ("SQLiteStore",)),
        ("postgres", ("PostgresStore", "AsyncPostgresStore")),
        ("redis", ("RedisStore", "AsyncRedisStore")),
        ("jsonl", ("JSONLinesStore",)),
    ):
        stand_in = ModuleType(f"hansard.stores.{module}")
        for name in names:
            setattr(stand_in, name, type(name, (Opened,), {}))
        monkeypatch.setitem(sys.modules, stand_in.__name__, stand_in)


PLACES = [
    ("sqlite:///chats.db", "SQLiteStore", "chats.db"),
    ("sqlite:////var/lib/a%20b.db", "SQLiteStore", "/var/lib/a b.db"),
    ("SQLite:///./x/chats.db", "SQLiteStore", "./x/chats.db"),
    ("postgresql://me:pw@host/name", "PostgresStore", "postgresql://me:pw@host/name"),
    ("postgres:///name?host=/run", "PostgresStore", "postgres:///name?host=/run"),
    ("redis://host:6379/0", "RedisStore", "redis://host:6379/0"),
    ("rediss://host/1", "RedisStore", "rediss://host/1"),
    ("unix:///run/redis.sock?db=2", "RedisStore", "unix:///run/redis.sock?db=2"),
    ("file:///var/lib/chats", "JSONLinesStore", "/var/lib/chats"),
    ("file:chats", "JSONLinesStore", "chats"),
    ("file://localhost/var/%3F", "JSONLinesStore", "/var/?"),
]


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(("url", "kind", "place"), PLACES)
def test_a_url_names_a_store_and_its_place(url: str, kind: str, place: str) -> None:
    store = hansard.open_store(url, durability="normal")
    assert isinstance(store, Opened)
    assert store.given == (kind, place, {"durability": "normal"})


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize(("url", "kind", "place"), PLACES)
def test_under_asyncio_it_is_the_drivers_own_or_in_threads(url: str, kind: str, place: str) -> None:
    store: Any = asyncio.run(hansard.open_async_store(url))
    if isinstance(store, AsyncOver):
        store = store._store  # noqa: SLF001
    else:
        kind = f"Async{kind}"
    assert store.given == (kind, place, {"durability": "full"})


@pytest.mark.usefixtures("stand_ins")
def test_options_are_those_of_the_store() -> None:
    store = hansard.open_store("postgresql://host/name", pool_size=3)
    assert isinstance(store, Opened)
    assert store.given[-1] == {"durability": "full", "pool_size": 3}
    with pytest.raises(Invalid, match="expected the options durability, pool_size, owner, body_b"):
        hansard.open_store("postgresql://host/name", size=3)
    with pytest.raises(Invalid, match="expected the options durability, owner, body_bytes of s"):
        hansard.open_store("sqlite:///x", pool_size=3)


@pytest.mark.parametrize("url", ["memory:", "memory://"])
def test_a_store_in_memory_takes_any_durability(url: str) -> None:
    for durability in get_args(Durability):
        with hansard.open_store(url, durability=durability) as store:
            assert store.durability == "none"

    async def run() -> None:
        async with await hansard.open_async_store(url) as store:
            assert store.durability == "none"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("chats.db", "begins with one of memory:, sqlite:, postgresql:"),
        ("mysql://me:secret@host/name", "found mysql:…: a file is sqlite:///its/path"),
        ("", "found none"),
        ("memory:shared", "expected 'memory:' and nothing after it, found 'memory:shared'"),
        ("sqlite://chats.db", "count its slashes"),
        ("sqlite:chats.db", "after three slashes"),
        ("sqlite:///", "after three slashes"),
        ("sqlite:///:memory:", "'memory:' opens a store in memory"),
        ("sqlite:///a?mode=ro", "write %3F for"),
        ("file://host/chats", "count its slashes"),
        ("file:///", "expected the path of a folder"),
    ],
)
def test_a_wrong_url_is_told(url: str, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        hansard.open_store(url)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_durability_that_nobody_knows_is_told() -> None:
    with pytest.raises(Invalid, match="as one of 'full', 'normal', 'none', found 'fast'"):
        hansard.open_store("memory:", durability="fast")  # type: ignore[arg-type]
