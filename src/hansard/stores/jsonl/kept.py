"""A conversation, and what is known of it and done to it while its file is locked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import rawjson
from ...errors import DecodeError, StoreCorrupt
from ...record.loading import Loading
from ..rules import Lease, held
from . import side
from .lineage import Lineage
from .lines import Header, Place, Tail, line_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from ...record.pages import Head, Page
    from ..store import Hold, Metadata
    from .file import ConversationFile

__all__ = ["Kept"]


class Kept:
    """A conversation that is there, or is about to be."""

    def __init__(
        self, path: Path, file: ConversationFile, header: Header, tail: Tail, stack: ExitStack
    ) -> None:
        self.path = path
        self.header = header
        self.tail = tail
        self.lineage = Lineage(path.parent, file, header, stack)
        self.file = file

    @property
    def head(self) -> Head:
        """Where it stands."""
        return self.tail.head

    @property
    def lease(self) -> Lease:
        """Who is at work on it."""
        return side.lease_in(self.path, self.header.id, self.tail.fence)

    @property
    def metadata(self) -> Metadata:
        """What is known of it."""
        return side.metadata_in(self.path, self.header.id)

    def has_commit(self, page: Page, head: Head) -> bool:
        """Whether this very page was appended before."""
        if self.head.incarnation != head.incarnation:
            return False
        if not self.header.first <= page.first < self.head.seq:
            return False
        _, line = self.lineage.find(page.first)
        commit = line.page().commit_at(page.first)
        return commit is not None and commit == page.commit_at(page.first)

    def fence_for(self, hold: Hold | None) -> int:
        """The fence to go on with, of somebody whose append is made again."""
        if hold is None:
            return 0
        if hold.fence is not None:
            return hold.fence
        lease = self.lease
        return lease.fence if lease.owner == hold.owner else 0

    def hold(self, conversation: str, hold: Hold) -> int:
        """Take, hold on to or let go of the lease, and give its fence."""
        lease = held(conversation, self.lease, hold, side.now_s())
        side.write_lease(self.path, self.header.id, lease)
        return lease.fence if lease.owner else 0

    def append(
        self, page: Page, head: Head, *, fence: int, turn_id: str | None, full: bool
    ) -> None:
        """Write one more line."""
        spans = zip(self.head.spans, self.tail.places, strict=False)
        known = {start: place for (start, _), place in spans}
        known[page.first] = Place(len(self.header.shared), self.file.end)
        tail = Tail(head, self.lineage.places(head, known), max(fence, self.tail.fence))
        self.file.write(line_of(page, tail, self.file.end, turn_id), full=full)

    def turn(self, turn_id: str) -> int | None:
        """Where the last turn of an id begins."""
        return self.lineage.turn(rawjson.quote(turn_id))

    def loading(self) -> Loading:
        """All that is needed to go on with it."""
        loading = Loading(self.head)
        try:
            for place, (_, until) in zip(self.tail.places, self.head.spans, strict=True):
                for page in self.lineage.pages(place, until):
                    loading.add(page)
        except DecodeError as error:
            raise StoreCorrupt(str(error), reason=error.reason) from error
        return loading

    def pages(self, after: int) -> Sequence[Page]:
        """The pages that have entries from one on."""
        if after >= self.head.seq:
            return ()
        return tuple(self.lineage.pages(self.lineage.place(max(after, 0)), self.head.seq))
