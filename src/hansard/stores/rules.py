"""What every store decides alike, as functions of what is there; what comes of it is its own.

A store whose database decides (a lease in one statement of SQL) has the same rules said there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from ..errors import Busy, Invalid, LeaseLost, NoSuchConversation, RevisionConflict
from ..record.bodies import Cutter

if TYPE_CHECKING:
    from ..record.pages import Head, Page, Revision
    from .store import Hold, Metadata

__all__ = [
    "LIMIT_MAX",
    "NO_LEASE",
    "RUN_BYTES",
    "Lease",
    "check_append",
    "check_hold",
    "check_limit",
    "closed",
    "conflict",
    "cutter",
    "held",
    "matches",
    "no_such",
]

RUN_BYTES = 64 * 1024
"""As soon as the pages since the last merged one hold as much, they are merged."""

BODY_LEAST = 256
"""How small bodies can be: longer than what stands for one, and than any name in an entry."""

LIMIT_MAX = 1000
"""How many conversations a listing can have."""


class Lease(msgspec.Struct, frozen=True):
    """Who has the lease of a conversation, and until when, in seconds of the store's clock."""

    fence: int = 0
    owner: str = ""
    until_s: float = -math.inf


NO_LEASE = Lease()


def held(
    conversation: str, lease: Lease, hold: Hold, now_s: float, *, lapsed: bool = False
) -> Lease:
    """Give the lease as it is after a hold. Raises `Busy` or `LeaseLost`.

    One that has ``lapsed`` is held on to, unless somebody else has taken it since.
    """
    check_hold(hold)
    free = lease.until_s <= now_s
    if hold.fence is None:
        if not free and lease.owner != hold.owner:
            raise Busy(
                f"expected nobody at work on {conversation!r}, found {lease.owner!r}: wait until "
                "it is done, or its lease runs out",
                owner=lease.owner,
            )
        return Lease(lease.fence + 1, hold.owner, now_s + hold.ttl_s)
    if (free and not lapsed) or (lease.fence, lease.owner) != (hold.fence, hold.owner):
        raise LeaseLost(
            f"expected the lease {hold.fence} of {conversation!r} to be held by {hold.owner!r}, "
            "found that it ran out or somebody else took it: read again what has been recorded, "
            "and take it anew"
        )
    if hold.ttl_s == 0:
        return Lease(lease.fence)
    return Lease(lease.fence, lease.owner, now_s + hold.ttl_s)


def check_hold(hold: Hold) -> None:
    """Raise `Invalid` for a hold that nobody can mean."""
    if not 0 <= hold.ttl_s < math.inf:
        raise Invalid(f"expected a lease of 0 seconds or more, found {hold.ttl_s}")


def check_append(page: Page, head: Head) -> None:
    """Raise `Invalid` for a page that is none, or a head that is not where it ends."""
    if not 0 <= page.first < page.next:
        raise Invalid(
            f"expected a page of one entry or more, found {page.first} up to {page.next}: "
            "make it with hansard.record.pages.page_of"
        )
    if head.seq != page.next:
        raise Invalid(
            f"expected the head at entry {page.next}, where the page ends, found {head.seq}: "
            "make both with hansard.record.pages.page_of"
        )


def check_limit(limit: int) -> None:
    """Raise `Invalid` for a listing of none or too many."""
    if not 1 <= limit <= LIMIT_MAX:
        raise Invalid(f"expected a limit from 1 to {LIMIT_MAX}, found {limit}: list in parts")


def cutter(owner: str, body_bytes: int) -> Cutter:
    """Give what cuts bodies of that many bytes or more out of an owner's pages.

    Raises `Invalid` for bodies that are too small to be kept apart.
    """
    if body_bytes < BODY_LEAST:
        raise Invalid(
            f"expected bodies of {BODY_LEAST} bytes or more to be kept apart, found {body_bytes}: "
            "smaller ones cost more than they save"
        )
    return Cutter.of(owner, body_bytes)


def matches(metadata: Metadata, where: Metadata | None) -> bool:
    """Whether metadata has all that is asked for."""
    return where is None or (
        where.title in ("", metadata.title)
        and where.user in ("", metadata.user)
        and set(where.tags) <= set(metadata.tags)
    )


def conflict(conversation: str, expected: Revision, actual: Revision | None) -> RevisionConflict:
    """Say that a conversation is not where it was expected."""
    found = f"entry {actual.seq} of {actual.incarnation!r}" if actual else "no such conversation"
    return RevisionConflict(
        f"expected {conversation!r} at entry {expected.seq} of {expected.incarnation!r}, found "
        f"{found}: read it again, and decide again",
        expected=expected,
        actual=actual,
    )


def no_such(conversation: str) -> NoSuchConversation:
    """Say that there is no conversation of that name."""
    return NoSuchConversation(
        f"expected a conversation named {conversation!r}, found none: append its first page"
    )


def closed(store: object) -> Invalid:
    """Say that a store was closed."""
    return Invalid(f"expected an open store, found {store!r}, which is closed: open it again")
