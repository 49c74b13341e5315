"""A store in a file of SQLite.

Rules:

- An append writes one row, in one transaction that reads one row: the last page of a conversation
  also says where that stands. Small pages are merged as their number grows.
- Time is that of the machine, which all processes with this file share.
- What cannot be done now is `StoreUnavailable`, what cannot be read `StoreCorrupt`: SQLite's own
  error is the cause.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...errors import Invalid
from ...record.bodies import BODY_BYTES
from ..puts import Put
from ..rules import check_limit, cutter, held, no_such
from ..store import Bodies, Durability, Hold, Listing, Metadata, Receipt, Store
from ..wording import check_metadata, check_name
from . import appending, branching, reading
from .connections import Connections
from .failures import Translated
from .schema import migrate
from .transaction import SQLiteTransaction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...record.loading import Loading
    from ...record.pages import Head, Page

__all__ = ["SQLiteStore"]

_SQL = appending.SQL


class SQLiteStore(Store):
    """A store in the file at ``path``, made if it is not there, in a folder that is.

    Opening it takes its tables to today's version. Any number of processes can have it open, and
    after a fork of the process it goes on in both. ``busy_s`` is how long an append waits for
    another one before it is `StoreUnavailable`. ``clock`` tells seconds, for leases. What is
    ``body_bytes`` long or longer is kept once, for all that ``owner`` says.

    `begin` gives a transaction for tools to write in; until it is over, no one else can append.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Durability = "full",
        owner: str = "hansard",
        body_bytes: int = BODY_BYTES,
        busy_s: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        path = os.fspath(path)
        if durability not in ("full", "normal"):
            raise Invalid(
                f"expected durability 'full' or 'normal', found {durability!r}: a file outlives "
                "its process; use memory: for what need not"
            )
        if path in ("", ":memory:") or path.startswith("file:"):
            raise Invalid(f"expected a path of a file, found {path!r}: use memory: for no file")
        self._path = path
        self._cutter = cutter(owner, body_bytes)
        self._durability: Durability = durability
        self._clock = clock
        self._translated = Translated(path)
        self._connections = Connections(str(Path(path).absolute()), durability, busy_s)
        with self._translated:
            migrate(self._connections)

    @property
    def durability(self) -> Durability:
        return self._durability

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        put = Put(conversation, page, head, hold, turn_id)
        put.check()
        put = put.cut(self._cutter)
        with self._translated, self._connections.writing() as connection:
            return appending.append(connection, put, self._clock())

    def read(self, conversation: str) -> Loading | None:
        check_name(conversation)
        with self._translated, self._connections.reading() as connection:
            return reading.read(connection, conversation)

    def find(self, conversation: str, turn_id: str) -> int | None:
        check_name(conversation)
        with self._translated, self._connections.reading() as connection:
            return reading.find(connection, conversation, turn_id)

    def head(self, conversation: str) -> Head | None:
        check_name(conversation)
        with self._translated, self._connections.reading() as connection:
            return reading.head_of(connection, conversation)

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        check_name(conversation)
        with self._translated, self._connections.reading() as connection:
            return reading.pages(connection, conversation, after)

    def lease(self, conversation: str, hold: Hold) -> int:
        check_name(conversation)
        with self._translated, self._connections.writing() as connection:
            last = appending.last(connection, conversation)
            if last is None:
                raise no_such(conversation)
            lease = held(conversation, last.lease, hold, self._clock())
            values = (lease.fence, lease.owner, lease.until_s, last.id)
            connection.execute(_SQL["lease"], values)
        return lease.fence if lease.owner else 0

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        check_limit(limit)
        for name in (prefix, after):
            if name:
                check_name(name)
        with self._translated, self._connections.reading() as connection:
            return reading.listing(connection, prefix, where, after, limit)

    def describe(self, conversation: str, metadata: Metadata) -> None:
        check_name(conversation)
        check_metadata(metadata)
        tags = msgspec.json.encode(metadata.tags).decode()
        with self._translated, self._connections.writing() as connection:
            values = (metadata.title, metadata.user, tags, conversation)
            if not connection.execute(_SQL["describe"], values).rowcount:
                raise no_such(conversation)

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        check_name(conversation)
        check_name(new)
        with self._translated, self._connections.writing() as connection:
            return branching.fork(connection, conversation, new, head)

    def delete(self, conversation: str) -> None:
        check_name(conversation)
        with self._translated, self._connections.writing() as connection:
            branching.delete(connection, conversation)

    def begin(self) -> SQLiteTransaction:
        """Begin a transaction, in which a tool writes through an `sqlite3.Connection`."""
        with self._translated:
            return SQLiteTransaction(self._connections, self._translated, self._clock, self._cutter)

    def bodies(self) -> Bodies:
        with self._translated, self._connections.reading() as connection:
            return reading.bodies(connection)

    def close(self) -> None:
        with self._translated:
            self._connections.close()

    def __repr__(self) -> str:
        return f"<SQLiteStore {self._path!r} durability={self._durability!r}>"
