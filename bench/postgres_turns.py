"""Turns on conversations in PostgreSQL, many at once: ours, and those of LangGraph's savers.

``go`` has each of several workers have some turns on a conversation of its own, and gives what
each turn took, in seconds. A turn loads what is needed, and is on disk when it is over.

Ours makes a session anew for every turn. LangGraph's graphs of one node stay as they are.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from hansard import AsyncChat, Chat, user
from hansard.stores.postgres import AsyncPostgresStore, PostgresStore

from .answering import answering
from .graph import one_node
from .texts import exchanges

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["WORKERS", "AsyncOurs", "AsyncSavers", "Ours", "Savers", "Turns"]

WORKERS = 16


class Turns(Protocol):
    """A contender, on tables of its own, to be opened and closed any number of times."""

    async def open(self, *, full: bool) -> None:
        """Connect. With ``full``, a commit is to survive the loss of power."""

    async def seed(self, names: Sequence[str], turns: int) -> None:
        """Make conversations of so many turns."""

    async def go(self, names: Sequence[str], turns: int) -> list[float]:
        """Have so many turns on each of them, all at once."""

    async def close(self) -> None:
        """Let go of all connections."""


def _question(number: int) -> str:
    return exchanges(100)[number % 100][0]


class _InLoop:
    """Workers are tasks."""

    async def turn(self, name: str, question: str) -> object:
        raise NotImplementedError

    async def go(self, names: Sequence[str], turns: int) -> list[float]:
        took: list[float] = []

        async def work(name: str) -> None:
            for number in range(turns):
                start = time.perf_counter()
                await self.turn(name, _question(number))
                took.append(time.perf_counter() - start)

        await asyncio.gather(*[work(name) for name in names])
        return took


class _InThreads:
    """Workers are threads."""

    def turn(self, name: str, question: str) -> object:
        raise NotImplementedError

    async def go(self, names: Sequence[str], turns: int) -> list[float]:
        took: list[float] = []

        def work(name: str) -> None:
            for number in range(turns):
                start = time.perf_counter()
                self.turn(name, _question(number))
                took.append(time.perf_counter() - start)

        with ThreadPoolExecutor(WORKERS) as pool:
            for done in [pool.submit(work, name) for name in names]:
                done.result()
        return took


# -- ours -----------------------------------------------------------------------------------------


class AsyncOurs(_InLoop):
    """Sessions for asyncio."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._chat = AsyncChat(answering())

    async def open(self, *, full: bool) -> None:
        durability = "full" if full else "normal"
        self._store = AsyncPostgresStore(self._url, durability=durability, pool_size=WORKERS)

    async def seed(self, names: Sequence[str], turns: int) -> None:
        async with AsyncPostgresStore(self._url, durability="normal") as store:
            sessions = [self._chat.session(store, name) for name in names]
            for number in range(turns):
                await asyncio.gather(*[each.send(user(_question(number))) for each in sessions])

    async def turn(self, name: str, question: str) -> object:
        return (await self._chat.session(self._store, name).send(user(question))).text

    async def close(self) -> None:
        await self._store.close()


class Ours(_InThreads):
    """Sessions that block."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._chat = Chat(answering())

    async def open(self, *, full: bool) -> None:
        durability = "full" if full else "normal"
        self._store = PostgresStore(self._url, durability=durability, pool_size=WORKERS)

    async def seed(self, names: Sequence[str], turns: int) -> None:
        await AsyncOurs(self._url).seed(names, turns)

    def turn(self, name: str, question: str) -> object:
        return self._chat.session(self._store, name).send(user(question)).text

    async def close(self) -> None:
        self._store.close()


# -- LangGraph ------------------------------------------------------------------------------------


class AsyncSavers(_InLoop):
    """`AsyncPostgresSaver`: one over a pool for all, or one each, with a connection of its own."""

    def __init__(self, url: str, *, shared: bool, durability: str) -> None:
        self._url = url
        self._durability = durability
        self._shared = shared

    async def open(self, *, full: bool) -> None:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from psycopg import AsyncConnection
        from psycopg.rows import dict_row
        from psycopg_pool import AsyncConnectionPool

        url = self._url if full else f"{self._url}%20-csynchronous_commit%3Doff"
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        if self._shared:
            size = {"min_size": WORKERS, "max_size": WORKERS}
            self._over = [AsyncConnectionPool(url, **size, open=False, kwargs=options)]
            await self._over[0].open(wait=True)
        else:
            connect = AsyncConnection.connect
            self._over = [await connect(url, **options) for _ in range(WORKERS)]
        savers = [AsyncPostgresSaver(each) for each in self._over]
        await savers[0].setup()
        self._graphs = [one_node(saver, self._durability) for saver in savers]

    async def seed(self, names: Sequence[str], turns: int) -> None:
        for name in names:
            await self._graph(name).aseed(name, exchanges(turns))

    def _graph(self, name: str) -> Any:  # noqa: ANN401 - see `one_node`
        return self._graphs[int(name.rpartition("-")[2]) % len(self._graphs)]

    async def turn(self, name: str, question: str) -> object:
        return await self._graph(name).aturn(name, question)

    async def close(self) -> None:
        for each in self._over:
            await each.close()


class Savers(_InThreads):
    """`PostgresSaver`, likewise."""

    def __init__(self, url: str, *, shared: bool, durability: str) -> None:
        self._url = url
        self._durability = durability
        self._shared = shared

    async def open(self, *, full: bool) -> None:
        from langgraph.checkpoint.postgres import PostgresSaver
        from psycopg import Connection
        from psycopg.rows import dict_row
        from psycopg_pool import ConnectionPool

        url = self._url if full else f"{self._url}%20-csynchronous_commit%3Doff"
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        if self._shared:
            size = {"min_size": WORKERS, "max_size": WORKERS}
            self._over = [ConnectionPool(url, **size, open=True, kwargs=options)]
            self._over[0].wait()
        else:
            self._over = [Connection.connect(url, **options) for _ in range(WORKERS)]
        savers = [PostgresSaver(each) for each in self._over]
        savers[0].setup()
        self._graphs = [one_node(saver, self._durability) for saver in savers]

    async def seed(self, names: Sequence[str], turns: int) -> None:
        for name in names:
            self._graph(name).seed(name, exchanges(turns))

    def _graph(self, name: str) -> Any:  # noqa: ANN401 - see `one_node`
        return self._graphs[int(name.rpartition("-")[2]) % len(self._graphs)]

    def turn(self, name: str, question: str) -> object:
        return self._graph(name).turn(name, question)

    async def close(self) -> None:
        for each in self._over:
            each.close()
