"""PostgreSQL keeps what `Store` promises, blocking and under asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from hansard.stores.postgres import AsyncPostgresStore, PostgresStore
from hansard.testing import AsyncStoreConformance, StoreConformance

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.stores.store import AsyncStore, Store
    from tests.support.postgres_server import PostgresServer

COUNT = """
SELECT (SELECT count(*) FROM hansard_conversation) + (SELECT count(*) FROM hansard_page)
    + (SELECT count(*) FROM hansard_turn) + (SELECT count(*) FROM hansard_body)
    + (SELECT count(*) FROM hansard_reference)
"""
MAKE = "CREATE TABLE effect (what text)"
WRITE = "INSERT INTO effect VALUES ('sent')"


class _OnServer:
    server: PostgresServer
    url: str

    @pytest.fixture(autouse=True)
    def _server(self, postgres: PostgresServer) -> None:
        self.server = postgres

    def place_at(self, place: Path) -> str:
        self.url = self.server.schema(str(place))
        return self.url

    def rows(self) -> int:
        [(count,)] = self.server.execute(COUNT, self.url)
        return int(count)

    def wrote(self) -> bool:
        try:
            return self.server.execute("SELECT what FROM effect", self.url) == [("sent",)]
        except psycopg.errors.UndefinedTable:
            return False


class TestPostgres(_OnServer, StoreConformance):
    """Every append survives a loss of power."""

    def open(self, place: Path) -> Store:
        return PostgresStore(self.place_at(place), pool_size=4)

    def size(self, store: Store) -> int | None:
        _ = store
        return self.rows()

    def tool_writes(self, connection: object) -> None:
        assert isinstance(connection, psycopg.Connection)
        connection.execute(MAKE)
        connection.execute(WRITE)

    def tool_wrote(self, store: Store) -> bool:
        _ = store
        return self.wrote()


class TestPostgresUnderAsyncio(_OnServer, AsyncStoreConformance):
    """The same, awaited."""

    async def open(self, place: Path) -> AsyncStore:
        return AsyncPostgresStore(self.place_at(place), pool_size=4)

    async def size(self, store: AsyncStore) -> int | None:
        await store.head("its tables are made when it is first used")
        return self.rows()

    async def tool_writes(self, connection: object) -> None:
        assert isinstance(connection, psycopg.AsyncConnection)
        await connection.execute(MAKE)
        await connection.execute(WRITE)

    async def tool_wrote(self, store: AsyncStore) -> bool:
        _ = store
        return self.wrote()
