"""What SQLite says when it fails, in the words of a store."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from ...errors import DecodeError, StoreCorrupt, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Translated", "failure"]

_ADVICE = {
    sqlite3.SQLITE_BUSY: "found it locked: another transaction is open for too long; end that "
    "one, or try again",
    sqlite3.SQLITE_FULL: "found the disk (or the file's greatest size) full: make room, and try "
    "again",
    sqlite3.SQLITE_READONLY: "found that it cannot be written: see to the rights of the file and "
    "of its folder",
    sqlite3.SQLITE_CANTOPEN: "found that it cannot be opened: see to the folder and its rights",
    sqlite3.SQLITE_IOERR: "found that the disk fails: see to it, and try again",
}
_CORRUPT = {sqlite3.SQLITE_CORRUPT: "corrupt_file", sqlite3.SQLITE_NOTADB: "not_a_database"}


def failure(path: str, error: sqlite3.Error) -> StoreError:
    """Give the error to raise for one of SQLite's."""
    # The low byte is the kind, the rest the exact place.
    kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if kind in _CORRUPT:
        return StoreCorrupt(
            f"expected a whole database of SQLite in {path}, found: {error}: restore it from a "
            "backup, or name another file",
            reason=_CORRUPT[kind],
        )
    advice = _ADVICE.get(kind, "found that it fails: see the cause")
    return StoreUnavailable(f"expected to use the database {path}, {advice} ({error})")


class Translated:
    """Raises a store's own errors in place of SQLite's, and for pages that make no sense."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise failure(self._path, error) from error
        if isinstance(error, DecodeError):
            raise StoreCorrupt(f"{self._path}: {error}", reason=error.reason) from error
