"""Forks, and what becomes of what they share, within a transaction.

Rows are locked from forks to what these stem from, so that nobody waits for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...record.pages import Revision
from ..lineage import Ancestor, keeper
from ..rules import conflict, no_such
from ..store import Receipt
from .appending import Standing, create
from .asking import Query

if TYPE_CHECKING:
    from ...record.pages import Head
    from .asking import Asking

__all__ = ["delete", "fork"]


def fork(conversation: str, new: str, head: Head) -> Asking[Receipt]:
    """Make a conversation that shares entries with another, as `Store.fork` promises."""
    while True:
        there, shared = yield [Query("shared", (new,)), Query("shared", (conversation,))]
        if there:
            stands = Standing._make(there[0])
            if (stands.incarnation, stands.parting) != (head.incarnation, head.seq):
                raise conflict(new, head.revision, stands.revision)
            return Receipt(head.revision)
        if not shared:
            raise no_such(conversation)
        at = Standing._make(shared[0])
        if head.seq > at.seq:
            raise conflict(conversation, Revision(at.incarnation, head.seq), at.revision)
        [rows] = yield [Query("line", (at.number,))]
        parent = keeper([Ancestor._make(row) for row in rows], head.seq)
        made = yield from create(new, head, parent, head.seq)
        if made is not None:
            return Receipt(head.revision)


def delete(conversation: str) -> Asking[None]:
    """Delete a conversation, as `Store.delete` promises."""
    [rows] = yield [Query("forget", (conversation,))]
    number = rows[0][0] if rows else None
    released: set[bytes] = set()
    while number is not None:
        number = yield from _prune(number, released)
    if released:
        digests = sorted(released)
        yield [Query("take_bodies", (digests,)), Query("reclaim", (digests,))]


def _prune(number: int, released: set[bytes]) -> Asking[int | None]:
    """Drop what no fork reaches of a conversation without a name; give where to go on.

    What it refers to no more is added to ``released``.
    """
    # What others do with forks of it is seen by a statement that begins when it is locked.
    [rows] = yield [Query("nameless", (number,))]
    if not rows:
        return None
    [[(reach,)]] = yield [Query("reach", (number,))]
    bounds = (number, reach or 0)
    queries = [Query("prune_pages", bounds), Query("prune_turns", bounds)]
    if reach is None:
        queries.append(Query("drop", (number,)))
    digests, *_ = yield queries
    released.update([digest for (digest,) in digests])
    if reach is not None:
        return None
    parent: int | None = rows[0][0]
    return parent
