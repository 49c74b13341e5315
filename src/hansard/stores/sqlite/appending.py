"""Appending to a conversation, within a transaction that alone may write.

It reads one row, the last page, and writes one, but for what comes up now and then: a new
conversation, a turn with an id of its own, what is long, and pages that are to be merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...record.pages import Revision, merge
from ..rows import columns_of, flags_of, is_cut, page_from
from ..rules import NO_LEASE, Lease
from ..runs import Run
from ..statements import read_statements
from ..wording import digest_of

if TYPE_CHECKING:
    import sqlite3

    from ...record.pages import Head, Page
    from ..puts import Put
    from ..store import Receipt

__all__ = ["SQL", "Last", "append", "create", "insert", "last"]

SQL = read_statements(__name__)
_LAST, _APPEND = SQL["last"], SQL["append"]
_SEQ_MAX = 0xFFFF_FFFF


class Last(NamedTuple):
    """What stands beside the last page of a conversation."""

    number: int
    incarnation: str
    parent: int | None
    parting: int | None
    id: int
    first: int
    fence: int
    owner: str
    until_s: float
    run_first: int
    run_size: int

    @property
    def revision(self) -> Revision:
        """Where the conversation stands."""
        return Revision(self.incarnation, self.id & _SEQ_MAX)

    @property
    def lease(self) -> Lease:
        """Who has the lease."""
        return Lease(self.fence, self.owner, self.until_s)


def last(connection: sqlite3.Connection, conversation: str) -> Last | None:
    """Give what stands beside the last page; None if there is no such conversation."""
    row = connection.execute(_LAST, (conversation,)).fetchone()
    return None if row is None else Last._make(row)


def append(connection: sqlite3.Connection, put: Put, now_s: float) -> Receipt:
    """Append a page, as `Store.append` promises."""
    at = last(connection, put.conversation)
    lease, actual = (NO_LEASE, None) if at is None else (at.lease, at.revision)
    if at is not None and put.may_be_known(actual) and _has(connection, at.number, put):
        return put.known_receipt(lease)
    put.check_place(actual)
    lease = put.lease(lease, now_s)
    page, head = put.page, put.head
    if at is None:
        number = create(connection, put.conversation, head.incarnation)
        run = Run(0, 0)
    else:
        number, run = at.number, Run(at.run_first, at.run_size)
        if run.first < at.first and not run.takes(page):
            _merge(connection, number, run.first, at.id)
    insert(connection, number, page, head, lease=lease, run=run.after(page))
    if put.bodies:
        connection.executemany(SQL["keep_body"], put.bodies.items())
        refers = [(number << 32 | page.next, digest) for digest in page.bodies]
        connection.executemany(SQL["refer"], refers)
    if put.turn_id is not None:
        connection.execute(SQL["began"], (number, digest_of(put.turn_id), page.first))
    return put.receipt(lease)


def insert(
    connection: sqlite3.Connection, number: int, page: Page, head: Head, *, lease: Lease, run: Run
) -> None:
    """Make a page the last one."""
    connection.execute(
        _APPEND,
        (
            number << 32 | page.next,
            page.first,
            lease.fence,
            lease.owner,
            lease.until_s,
            run.first,
            run.size,
            *columns_of(page, head),
        ),
    )


def create(
    connection: sqlite3.Connection,
    name: str,
    incarnation: str,
    parent: int | None = None,
    parting: int | None = None,
) -> int:
    """Make a conversation, and give its number."""
    values = (name, incarnation, parent, parting)
    [number] = connection.execute(SQL["create"], values).fetchone()
    return int(number)


def _has(connection: sqlite3.Connection, number: int, put: Put) -> bool:
    """Whether this very page was appended before."""
    bounds = (number << 32 | put.page.first, (number + 1) << 32)
    row = connection.execute(SQL["page_after"], bounds).fetchone()
    return row is not None and put.is_in(page_from(row))


def _merge(connection: sqlite3.Connection, number: int, first: int, until: int) -> None:
    """Make one page of those of a run."""
    start = number << 32 | first
    rows = connection.execute(SQL["pages"], (start, until + 1, _SEQ_MAX)).fetchall()
    page = merge([page_from(row) for row in rows])
    if any([is_cut(row) for row in rows]):
        digests = connection.execute(SQL["digests"], (start, until)).fetchall()
        page = msgspec.structs.replace(page, bodies=tuple([digest for (digest,) in digests]))
        connection.execute(SQL["refer_merged"], (until, start, until))
    connection.execute(SQL["remove"], (start, until))
    values = (until, page.first, flags_of(page), page.meta, page.body)
    connection.execute(SQL["merged"], values)
