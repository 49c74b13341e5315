"""Forks, and what becomes of what they share, within a transaction that alone may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...record.pages import Page, Revision
from ..lineage import keeper
from ..rules import NO_LEASE, conflict, no_such
from ..runs import Run
from ..store import Receipt
from .appending import SQL, create, insert, last
from .reading import ancestors

if TYPE_CHECKING:
    import sqlite3

    from ...record.pages import Head

__all__ = ["delete", "fork"]


def fork(connection: sqlite3.Connection, conversation: str, new: str, head: Head) -> Receipt:
    """Make a conversation that shares entries with another, as `Store.fork` promises."""
    there = last(connection, new)
    if there is not None:
        if (there.incarnation, there.parting) != (head.incarnation, head.seq):
            raise conflict(new, head.revision, there.revision)
        return Receipt(head.revision)
    at = last(connection, conversation)
    if at is None:
        raise no_such(conversation)
    if head.seq > at.revision.seq:
        raise conflict(conversation, Revision(at.incarnation, head.seq), at.revision)
    parent = keeper(ancestors(connection, at), head.seq)
    number = create(connection, new, head.incarnation, parent, head.seq)
    nothing = Page(head.seq, head.seq, b"", b"")
    insert(connection, number, nothing, head, lease=NO_LEASE, run=Run(head.seq, 0))
    return Receipt(head.revision)


def delete(connection: sqlite3.Connection, conversation: str) -> None:
    """Delete a conversation, as `Store.delete` promises."""
    row = connection.execute(SQL["numbered"], (conversation,)).fetchone()
    number = row[0] if row else None
    if number is not None:
        connection.execute(SQL["forget"], (number,))
    while number is not None:
        number = _prune(connection, number)


def _prune(connection: sqlite3.Connection, number: int) -> int | None:
    """Drop what no fork reaches of a conversation without a name; give where to go on."""
    row = connection.execute(SQL["reach"], {"number": number}).fetchone()
    if row is None:
        return None
    parent, reach = row
    bounds = (number << 32, (number + 1) << 32, reach or 0)
    connection.execute(SQL["prune_pages"], bounds)
    released = connection.execute(SQL["release"], bounds[:2]).fetchall()
    connection.executemany(SQL["reclaim"], [{"digest": digest} for (digest,) in {*released}])
    connection.execute(SQL["prune_turns"], (number, reach or 0))
    if reach is not None:
        return None
    connection.execute(SQL["drop"], (number,))
    return None if parent is None else int(parent)
