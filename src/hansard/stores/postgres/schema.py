"""The versions of the tables. Whoever opens a database takes it to today's, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Invalid
from ..statements import read_scripts
from .asking import Query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..store import Durability
    from .asking import Asking

__all__ = ["SCRIPTS", "is_of_today", "lasting_for", "migrate"]

SCRIPTS = read_scripts(__name__)
"""What leads to each version from the one before."""


def is_of_today(scripts: Mapping[int, str] = SCRIPTS) -> Asking[bool]:
    """Whether the tables are of the last version."""
    [[(there,)]] = yield [Query("has_versions")]
    if not there:
        return False
    [[(found,)]] = yield [Query("version")]
    _check(found, max(scripts))
    return bool(found == max(scripts))


def migrate(scripts: Mapping[int, str] = SCRIPTS) -> Asking[None]:
    """Take the tables to the last version, within a transaction, one process at a time."""
    yield [Query("lock_versions")]
    yield [Query("make_versions")]
    [[(found,)]] = yield [Query("version")]
    _check(found, max(scripts))
    for version, script in scripts.items():
        if version > found:
            for statement in script.split(";\n"):
                if statement.strip():
                    yield [Query(statement)]
            yield [Query("applied", (version,))]


def lasting_for(durability: Durability) -> Asking[str]:
    """Give the server's setting by which what is committed lasts as promised."""
    [[(fsync, commit)]] = yield [Query("settings")]
    if durability == "normal":
        return "off"
    if fsync != "on":
        raise Invalid(
            "expected a server that keeps what is committed through a loss of power, found its "
            "setting fsync off: turn it on, or ask for durability='normal'"
        )
    return "on" if commit == "off" else str(commit)


def _check(found: int, known: int) -> None:
    if found > known:
        raise Invalid(
            f"expected tables of version {known} or older, found version {found}: use the release "
            "of hansard that made them, or a newer one"
        )
