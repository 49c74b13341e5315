"""SQLite keeps what `Store` promises, blocking and under asyncio."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from hansard.sealing import Keyring
from hansard.stores.sealed import sealed
from hansard.stores.sqlite import SQLiteStore
from hansard.stores.threads import async_over
from hansard.testing import AsyncStoreConformance, StoreConformance

if TYPE_CHECKING:
    from pathlib import Path

    from hansard.stores.store import AsyncStore, Durability, Store

FILE = "chats.db"
KEYRING = Keyring.single(b"k" * 32)
COUNTED = ("conversation", "page", "turn", "body", "reference")


def tool_writes(connection: object) -> None:
    assert isinstance(connection, sqlite3.Connection)
    connection.execute("CREATE TABLE effect (what TEXT)")
    connection.execute("INSERT INTO effect VALUES ('sent')")


def tool_wrote(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT what FROM effect").fetchall() == [("sent",)]
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()


def rows(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        counts = [connection.execute(f"SELECT count(*) FROM {table}") for table in COUNTED]  # noqa: S608
        return sum([cursor.fetchone()[0] for cursor in counts])
    finally:
        connection.close()


class TestSQLite(StoreConformance):
    """Every append survives a loss of power."""

    durability: Durability = "full"

    def open(self, place: Path) -> Store:
        self.path = place / FILE
        return SQLiteStore(self.path, durability=self.durability)

    def size(self, store: Store) -> int | None:
        _ = store
        return rows(self.path)

    def tool_writes(self, connection: object) -> None:
        tool_writes(connection)

    def tool_wrote(self, store: Store) -> bool:
        _ = store
        return tool_wrote(self.path)


class TestSQLiteNormal(TestSQLite):
    """Every append survives the end of the process."""

    durability = "normal"


class TestSQLiteUnderAsyncio(AsyncStoreConformance):
    """The same, awaited."""

    async def open(self, place: Path) -> AsyncStore:
        self.path = place / FILE
        return async_over(SQLiteStore(self.path))

    async def size(self, store: AsyncStore) -> int | None:
        _ = store
        return rows(self.path)

    async def tool_writes(self, connection: object) -> None:
        tool_writes(connection)

    async def tool_wrote(self, store: AsyncStore) -> bool:
        _ = store
        return tool_wrote(self.path)


class TestSQLiteSealed(TestSQLite):
    """Sealed."""

    def open(self, place: Path) -> Store:
        return sealed(super().open(place), KEYRING, owner="u7")

    # Nobody can merge what nobody can read.
    test_a_long_conversation_is_whole_and_its_pages_few = None  # type: ignore[assignment]


class TestSQLiteSealedUnderAsyncio(TestSQLiteUnderAsyncio):
    """The same, awaited."""

    async def open(self, place: Path) -> AsyncStore:
        return sealed(await super().open(place), KEYRING, owner="u7")

    test_a_long_conversation_is_whole_and_its_pages_few = None  # type: ignore[assignment]
