"""Psycopg and its pools, loaded when they are first needed; and its errors in a store's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import DecodeError, Invalid, MissingExtra, StoreCorrupt, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

    from psycopg import Connection
    from psycopg_pool import AsyncConnectionPool, ConnectionPool

__all__ = ["Translated", "async_pool_of", "pool_of", "psycopg", "shown"]


def psycopg() -> ModuleType:
    """Give psycopg. Raises `MissingExtra`."""
    try:
        import psycopg as driver
        import psycopg_pool
    except ImportError as missing:
        raise MissingExtra(
            "a store in PostgreSQL expected the packages 'psycopg' and 'psycopg_pool' and did not "
            "find them: pip install 'hansard[postgres]'",
            extra="postgres",
        ) from missing
    _ = psycopg_pool
    return driver


def shown(url: str) -> str:
    """Say where a database is, without any password. Raises `Invalid`."""
    driver = psycopg()
    try:
        parts = driver.conninfo.conninfo_to_dict(url)
    except driver.Error as error:
        raise Invalid(
            "expected a URL of PostgreSQL, as postgresql://user@host/database, found one that it "
            f"does not know: {error}"
        ) from None
    where = ("user", "host", "hostaddr", "port", "dbname")
    return " ".join([f"{key}={parts[key]}" for key in where if parts.get(key)])


def pool_of(url: str, size: int, timeout_s: float) -> ConnectionPool[Connection[Any]]:
    """Give a pool of blocking connections, open."""
    from psycopg_pool import ConnectionPool

    return ConnectionPool(url, **_sizes(size, timeout_s), open=True)


def async_pool_of(url: str, size: int, timeout_s: float) -> AsyncConnectionPool[Any]:
    """Give a pool of connections for asyncio, to be opened."""
    from psycopg_pool import AsyncConnectionPool

    return AsyncConnectionPool(url, **_sizes(size, timeout_s), open=False)


def _sizes(size: int, timeout_s: float) -> dict[str, Any]:
    return {
        "min_size": 0,
        "max_size": size,
        "timeout": timeout_s,
        "reconnect_timeout": timeout_s,
        "kwargs": {"autocommit": True},
    }


class Translated:
    """Raises a store's own errors in place of psycopg's, and for rows that make no sense."""

    __slots__ = ("_driver", "_where")

    def __init__(self, driver: Any, where: str) -> None:  # noqa: ANN401 -- a module
        self._driver = driver
        self._where = where

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, self._driver.Error):
            raise self._failure(error) from error
        if isinstance(error, DecodeError):
            raise StoreCorrupt(f"{self._where}: {error}", reason=error.reason) from error

    def _failure(self, error: Any) -> StoreError:  # noqa: ANN401 -- psycopg's
        state = error.sqlstate or ""
        if state.startswith("XX"):
            return StoreCorrupt(
                f"expected a whole database at {self._where}, found: {error}: restore it from a "
                "backup",
                reason="corrupt_database",
            )
        advice = next((say for start, say in _ADVICE.items() if state.startswith(start)), "")
        return StoreUnavailable(
            f"expected to use the database at {self._where}, "
            f"{advice or 'found that it fails: see the cause, and try again'} ({error})"
        )


_ADVICE = {
    "53100": "found its disk full: make room, and try again",
    "53300": "found too many connections: lower pool_size, or raise the server's limit",
    "25006": "found that it can only be read: name the server that is written to",
    "42501": "found that its user may not do this: grant it the right to",
    "42P01": "found tables missing: open the store anew, and it makes them",
    "40P01": "found that two waited for each other: try again",
    "28": "found that it does not let this user in: see to the name and password",
    "57P": "found that it is being shut down or began just now: try again",
    "08": "found the connection lost: try again",
}
