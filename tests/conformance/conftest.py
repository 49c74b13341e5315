"""The servers of stores that need one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.postgres_server import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """Give a server of PostgreSQL, one for each process of tests."""
    with PostgresServer() as server:
        yield server
