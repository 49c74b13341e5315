"""What is asked of a database that is to append a page, and what comes of it there."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ..record.pages import Head, Page, Revision
from .rules import NO_LEASE, Lease, check_append, check_hold, conflict, held
from .store import Hold, Receipt
from .wording import check_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..record.bodies import Cutter

__all__ = ["Put"]

_NONE: Mapping[bytes, bytes] = MappingProxyType({})


class Put(NamedTuple):
    """The arguments of an append; ``within`` a transaction that a tool has written in."""

    conversation: str
    page: Page
    head: Head
    hold: Hold | None
    turn_id: str | None
    bodies: Mapping[bytes, bytes] = _NONE
    within: bool = False

    def check(self) -> None:
        """Raise `Invalid` for what no store takes."""
        check_append(self.page, self.head)
        check_name(self.conversation)
        if self.hold is not None:
            check_hold(self.hold)

    def cut(self, cutter: Cutter) -> Put:
        """Cut what is long out of the page, to be kept apart."""
        page, bodies = cutter.cut(self.page)
        return self._replace(page=page, bodies=bodies) if bodies else self

    @property
    def revision(self) -> Revision:
        """Where the conversation is to stand before."""
        return Revision(self.head.incarnation, self.page.first)

    def may_be_known(self, actual: Revision | None) -> bool:
        """Whether it can have been made before, with the conversation where it stands."""
        revision = self.revision
        return actual is not None and (
            actual.incarnation == revision.incarnation and actual.seq > revision.seq
        )

    def is_in(self, there: Page | None) -> bool:
        """Whether a page has this one in it. Raises `DecodeError`."""
        if there is None or there.first > self.page.first:
            return False
        commit = there.commit_at(self.page.first)
        return commit is not None and commit == self.page.commit_at(self.page.first)

    def check_place(self, actual: Revision | None) -> None:
        """Raise `RevisionConflict` where the conversation does not stand as expected."""
        if actual != self.revision and (actual is not None or self.page.first):
            raise conflict(self.conversation, self.revision, actual)

    def lease(self, lease: Lease, now_s: float) -> Lease:
        """The lease as it is afterwards. Raises `Busy` or `LeaseLost`."""
        if self.hold is None:
            return lease
        return held(self.conversation, lease, self.hold, now_s, lapsed=self.within)

    def receipt(self, lease: Lease = NO_LEASE) -> Receipt:
        """The receipt of one that is made now."""
        return Receipt(self.head.revision, lease.fence if self.hold and lease.owner else 0)

    def known_receipt(self, lease: Lease) -> Receipt:
        """The receipt of one that had been made before."""
        fence = 0
        if self.hold is not None:
            fence = self.hold.fence or (lease.fence if lease.owner == self.hold.owner else 0)
        return Receipt(self.head.revision, fence)
