"""The versions of the tables. Whoever opens a file takes it to today's, together or alone."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from ...clock import now_us
from ...errors import Invalid
from ..statements import read_scripts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .connections import Connections

__all__ = ["SCRIPTS", "migrate"]

SCRIPTS = read_scripts(__name__)
"""What leads to each version from the one before."""

_TABLE = """
CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, at_us INTEGER NOT NULL)
"""


def migrate(connections: Connections, scripts: Mapping[int, str] = SCRIPTS) -> None:
    """Take the tables to the last version. Several processes may do so at once."""
    connection = connections.borrow()
    try:
        found = _version(connection)
    finally:
        connections.give_back(connection)
    if found == max(scripts):
        return
    with connections.writing() as connection:
        connection.execute(_TABLE)
        found = _version(connection)
        _check(connections.path, found, max(scripts))
        for version, script in scripts.items():
            if version > found:
                for statement in script.split(";\n"):
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO schema_version (version, at_us) VALUES (?, ?)",
                    (version, now_us()),
                )


def _version(connection: sqlite3.Connection) -> int:
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'")
    if there.fetchone() is None:
        return 0
    [version] = connection.execute("SELECT max(version) FROM schema_version").fetchone()
    return int(version or 0)


def _check(path: str, found: int, known: int) -> None:
    if found > known:
        raise Invalid(
            f"expected tables of version {known} or older in {path}, found version {found}: use "
            "the release of hansard that made them, or a newer one"
        )
