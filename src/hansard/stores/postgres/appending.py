"""Appending to a conversation, as questions to the database.

A plain append is one statement. Where that changes nothing, a transaction that locks the
conversation's row finds out why, and does what is less plain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ...record.pages import Revision, merge
from ..rows import encode_head, flags_of, is_cut, page_from
from ..rules import NO_LEASE, RUN_BYTES, Lease, held, no_such
from ..runs import Run
from ..wording import digest_of
from .asking import Query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...record.pages import Head, Page
    from ..puts import Put
    from ..store import Hold, Receipt
    from .asking import Asking

__all__ = ["Standing", "append", "append_plainly", "create", "lease", "ranges_of"]


class Standing(NamedTuple):
    """A conversation's row."""

    number: int
    incarnation: str
    parent: int | None
    parting: int | None
    seq: int
    fence: int
    owner: str
    until_s: float
    run_first: int
    run_size: int

    @property
    def revision(self) -> Revision:
        """Where the conversation stands."""
        return Revision(self.incarnation, self.seq)

    @property
    def lease(self) -> Lease:
        """Who has the lease."""
        return Lease(self.fence, self.owner, self.until_s)


def append_plainly(put: Put, lasting: str) -> Asking[Receipt | None]:
    """Append a page where nothing else is to be done; None if it was not so."""
    page, head, hold = put.page, put.head, put.hold
    if page.first == 0 or put.bodies or not Run(page.first, 0).takes(page):
        return None
    values = {
        "name": put.conversation,
        "incarnation": head.incarnation,
        "first": page.first,
        "next": page.next,
        "head": encode_head(head),
        "spans": ranges_of(head),
        "size": page.size,
        "run_max": RUN_BYTES,
        "hold": _way_of(hold),
        "owner": hold.owner if hold else "",
        "fence": hold.fence if hold else None,
        "ttl": hold.ttl_s if hold else 0.0,
        "flags": flags_of(page),
        "meta": page.meta,
        "body": page.body,
        "digest": None if put.turn_id is None else digest_of(put.turn_id),
        "lasting": lasting,
    }
    [rows] = yield [Query("append", values)]
    if not rows:
        return None
    fence, owner, until_s, _ = rows[0]
    return put.receipt(Lease(fence, owner, until_s))


def _way_of(hold: Hold | None) -> str:
    if hold is None:
        return "none"
    if hold.fence is None:
        return "take"
    return "hold" if hold.ttl_s else "release"


def append(put: Put) -> Asking[Receipt]:
    """Append a page, as `Store.append` promises, within a transaction."""
    page, head = put.page, put.head
    at: Standing | None = None
    lease = NO_LEASE
    number: int | None = None
    while number is None:
        # The time is asked for by itself, for it to be that after the lock was waited for.
        locked, clock = yield [Query("locked", (put.conversation,)), Query("clock")]
        at = Standing._make(locked[0]) if locked else None
        lease, actual = (at.lease, at.revision) if at else (NO_LEASE, None)
        if at and put.may_be_known(actual) and (yield from _has(at.number, put)):
            return put.known_receipt(lease)
        put.check_place(actual)
        lease = put.lease(lease, clock[0][0])
        number = at.number if at else (yield from create(put.conversation, head))
    if put.bodies:
        yield from _keep(put.bodies)
    run = Run(at.run_first, at.run_size) if at else Run(0, 0)
    queries: list[Query] = []
    if run.first < page.first and not run.takes(page):
        queries += yield from _merging(number, run)
    after = run.after(page)
    queries += [
        *_page(number, page),
        Query(
            "move",
            (
                *(page.next, encode_head(head), ranges_of(head)),
                *(after.first, after.size),
                *(lease.fence, lease.owner, lease.until_s),
                number,
            ),
        ),
    ]
    if put.turn_id is not None:
        queries.append(Query("began", (number, digest_of(put.turn_id), page.first)))
    yield queries
    return put.receipt(lease)


def create(
    name: str, head: Head, parent: int | None = None, parting: int | None = None
) -> Asking[int | None]:
    """Make a conversation, and give its number; None where somebody else was quicker."""
    seq = 0 if parting is None else head.seq
    values = (name, head.incarnation, parent, parting, seq, encode_head(head), ranges_of(head), seq)
    [rows] = yield [Query("create", values)]
    return int(rows[0][0]) if rows else None


def lease(conversation: str, hold: Hold) -> Asking[int]:
    """Take, hold on to or let go of a lease, within a transaction."""
    locked, clock = yield [Query("locked", (conversation,)), Query("clock")]
    if not locked:
        raise no_such(conversation)
    at = Standing._make(locked[0])
    now = held(conversation, at.lease, hold, clock[0][0])
    yield [Query("lease", (now.fence, now.owner, now.until_s, at.number))]
    return now.fence if now.owner else 0


def _has(number: int, put: Put) -> Asking[bool]:
    """Whether this very page was appended before."""
    [rows] = yield [Query("page_after", (number, put.page.first))]
    return bool(rows) and put.is_in(page_from(rows[0]))


def _merging(number: int, run: Run) -> Asking[list[Query]]:
    """Give what makes one page of those of a run."""
    [rows] = yield [Query("run", (number, run.first))]
    if len(rows) < 2:  # noqa: PLR2004 -- one page need not be merged
        return []
    page = merge([page_from(row) for row in rows])
    removing = [Query("remove", (number, run.first))]
    if any([is_cut(row) for row in rows]):
        [found] = yield [Query("digests", (number, run.first))]
        page = msgspec.structs.replace(page, bodies=tuple([digest for (digest,) in found]))
        removing.append(Query("refer_no_more", (number, run.first)))
    return [*removing, *_page(number, page)]


def _page(number: int, page: Page) -> list[Query]:
    values: tuple[Any, ...] = (number, page.next, page.first, flags_of(page), page.meta, page.body)
    if not page.bodies:
        return [Query("page", values)]
    return [Query("page", values), Query("refer", (number, page.next, [*page.bodies]))]


def _keep(bodies: Mapping[bytes, bytes]) -> Asking[None]:
    """Have bodies there, and stay; those that are there are not sent."""
    digests = sorted(bodies)
    share = Query("share_bodies", (digests,))
    [rows] = yield [share]
    while len(rows) < len(digests):
        there = {digest for (digest,) in rows}
        missing = [digest for digest in digests if digest not in there]
        *_, rows = yield [*[Query("keep_body", (each, bodies[each])) for each in missing], share]


def ranges_of(head: Head) -> str:
    """The stretches of the log that the context is made of, as PostgreSQL writes them."""
    return "{" + ",".join([f"[{start},{end})" for start, end in head.spans]) + "}"
