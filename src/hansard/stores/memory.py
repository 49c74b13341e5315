"""Conversations in the memory of one process: for tests, and for what need not survive.

It keeps every promise of a store but to last. What is long is kept once. A fork refers to what it
stems from; a conversation that was deleted is kept up to the last point where a living fork parted
from it.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from itertools import islice
from threading import RLock
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..errors import DecodeError, StoreCorrupt
from ..record.bodies import BODY_BYTES, filled
from ..record.loading import Loading
from ..record.pages import Head, Page, Revision, merge
from .rules import (
    NO_LEASE,
    RUN_BYTES,
    check_append,
    check_hold,
    check_limit,
    closed,
    conflict,
    cutter,
    held,
    matches,
    no_such,
)
from .store import Bodies, Durability, Hold, Listed, Listing, Metadata, Receipt, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["MemoryStore"]

_NONE: Mapping[bytes, bytes] = MappingProxyType({})


class MemoryStore(Store):
    """A store in the memory of this process. ``clock`` is what leases are measured by.

    What is ``body_bytes`` long or longer is kept once, for all that ``owner`` says.
    """

    def __init__(
        self,
        *,
        owner: str = "hansard",
        body_bytes: int = BODY_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cutter = cutter(owner, body_bytes)
        self._clock = clock
        self._bodies = _Bodies()
        self._lock = RLock()
        self._branches: dict[str, _Branch] = {}
        self._names: list[str] = []
        self._closed = False

    @property
    def durability(self) -> Durability:
        return "none"

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        check_append(page, head)
        if hold is not None:
            check_hold(hold)
        page, bodies = self._cutter.cut(page)
        with self._lock:
            branch = self._find(conversation)
            if branch is not None and branch.has_commit(page, head):
                return Receipt(head.revision, _known_fence(branch, hold))
            expected = Revision(head.incarnation, page.first)
            actual = branch.head.revision if branch else None
            if actual != (expected if branch or page.first else None):
                raise conflict(conversation, expected, actual)
            branch = branch or _Branch(head)
            lease = branch.lease
            if hold is not None:
                lease = held(conversation, lease, hold, self._clock())
            self._bodies.keep(page, bodies)
            branch.add(page, self._bodies)
            branch.head, branch.lease = head, lease
            if turn_id is not None:
                branch.turns.setdefault(turn_id, []).append(page.first)
            self._keep(conversation, branch)
            return Receipt(head.revision, lease.fence if hold and lease.owner else 0)

    def read(self, conversation: str) -> Loading | None:
        with self._lock:
            branch = self._find(conversation)
            if branch is None:
                return None
            head, pages = branch.head, self._bodies.whole(branch.context())
        loading = Loading(head)
        try:
            for page in pages:
                loading.add(page)
        except DecodeError as error:
            raise StoreCorrupt(str(error), reason=error.reason) from error
        return loading

    def find(self, conversation: str, turn_id: str) -> int | None:
        with self._lock:
            branch = self._find(conversation)
            return branch.turn(turn_id) if branch else None

    def head(self, conversation: str) -> Head | None:
        with self._lock:
            branch = self._find(conversation)
            return branch.head if branch else None

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        with self._lock:
            branch = self._get(conversation)
            return tuple(self._bodies.whole(branch.between(after, branch.head.seq)))

    def lease(self, conversation: str, hold: Hold) -> int:
        with self._lock:
            branch = self._get(conversation)
            branch.lease = held(conversation, branch.lease, hold, self._clock())
            return branch.lease.fence if branch.lease.owner else 0

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        check_limit(limit)
        with self._lock:
            self._check_open()
            names = self._names_from(prefix, after)
            found = (Listed(n, b.head.revision, b.metadata) for n, b in names)
            some = [*islice((each for each in found if matches(each.metadata, where)), limit + 1)]
        more = len(some) > limit
        return Listing(tuple(some[:limit]), some[limit - 1].conversation if more else None)

    def describe(self, conversation: str, metadata: Metadata) -> None:
        with self._lock:
            self._get(conversation).metadata = metadata

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        with self._lock:
            there = self._find(new)
            if there is not None:
                if (there.head.incarnation, there.forked) != (head.incarnation, head.seq):
                    raise conflict(new, head.revision, there.head.revision)
                return Receipt(head.revision)
            parent = self._get(conversation)
            if head.seq > parent.head.seq:
                expected = Revision(parent.head.incarnation, head.seq)
                raise conflict(conversation, expected, parent.head.revision)
            self._keep(new, _Branch(head, parent.at(head.seq)))
            return Receipt(head.revision)

    def delete(self, conversation: str) -> None:
        with self._lock:
            branch = self._find(conversation)
            if branch is not None:
                del self._branches[conversation]
                del self._names[bisect_left(self._names, conversation)]
                branch.let_go(self._bodies)

    def bodies(self) -> Bodies:
        with self._lock:
            self._check_open()
            return self._bodies.counted()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._branches, self._names, self._bodies = {}, [], _Bodies()

    def __repr__(self) -> str:
        with self._lock:
            kept = {branch for each in self._branches.values() for branch in each.line()}
            counts = len(self._branches), sum([len(branch.pages) for branch in kept])
        return "<MemoryStore {} conversations, {} pages>".format(*counts)

    def _check_open(self) -> None:
        if self._closed:
            raise closed(self)

    def _find(self, conversation: str) -> _Branch | None:
        self._check_open()
        return self._branches.get(conversation)

    def _get(self, conversation: str) -> _Branch:
        branch = self._find(conversation)
        if branch is None:
            raise no_such(conversation)
        return branch

    def _keep(self, conversation: str, branch: _Branch) -> None:
        if conversation not in self._branches:
            insort(self._names, conversation)
            self._branches[conversation] = branch

    def _names_from(self, prefix: str, after: str | None) -> Iterator[tuple[str, _Branch]]:
        """The conversations whose name begins so, by name, those after one."""
        start = bisect_left(self._names, prefix)
        if after is not None:
            start = max(start, bisect_right(self._names, after))
        for name in islice(self._names, start, None):
            if not name.startswith(prefix):
                return
            yield name, self._branches[name]


class _Bodies:
    """What was cut out of pages, each once, and how many pages refer to it."""

    def __init__(self) -> None:
        self._contents: dict[bytes, bytes] = {}
        self._uses: Counter[bytes] = Counter()

    def counted(self) -> Bodies:
        """Say what is kept."""
        return Bodies(len(self._contents), sum(map(len, self._contents.values())))

    def keep(self, page: Page, contents: Mapping[bytes, bytes] = _NONE) -> None:
        """Know of a page that refers to some; those that it brings are kept if they are new."""
        for digest in page.bodies:
            self._uses[digest] += 1
            if digest not in self._contents:
                self._contents[digest] = contents[digest]

    def release(self, pages: Sequence[Page]) -> None:
        """Know of pages that are gone, and let go of what nothing refers to any more."""
        for digest in [digest for page in pages for digest in page.bodies]:
            self._uses[digest] -= 1
            if not self._uses[digest]:
                del self._uses[digest], self._contents[digest]

    def whole(self, pages: Sequence[Page]) -> list[Page]:
        """Give pages as they were before anything was cut out of them."""
        return [filled(page, self._contents) if page.bodies else page for page in pages]


class _Branch:
    """What was appended to one conversation, and which one it parted from, where."""

    __slots__ = (
        "forked",
        "forks",
        "gone",
        "head",
        "lease",
        "metadata",
        "pages",
        "parent",
        "run",
        "turns",
    )

    def __init__(self, head: Head, parent: _Branch | None = None) -> None:
        self.head = head
        self.parent = parent
        self.forked = head.seq if parent else None
        self.forks: set[_Branch] = set()
        self.pages: list[Page] = []
        self.run = 0
        self.turns: dict[str, list[int]] = {}
        self.lease = NO_LEASE
        self.metadata = Metadata()
        self.gone = False
        if parent is not None:
            parent.forks.add(self)

    def line(self) -> Iterator[_Branch]:
        """Itself, and those it stems from, the nearest first."""
        branch: _Branch | None = self
        while branch is not None:
            yield branch
            branch = branch.parent

    def at(self, seq: int) -> _Branch:
        """The one of these that has what is before an entry."""
        branch = self
        while branch.parent is not None and seq <= (branch.forked or 0):
            branch = branch.parent
        return branch

    def has_commit(self, page: Page, head: Head) -> bool:
        """Whether this very page was appended before."""
        if self.head.incarnation != head.incarnation or self.head.seq <= page.first:
            return False
        at = bisect_right(self.pages, page.first, key=_first) - 1
        commit = self.pages[at].commit_at(page.first) if at >= 0 else None
        return commit is not None and commit == page.commit_at(page.first)

    def add(self, page: Page, bodies: _Bodies) -> None:
        """Add a page, and make one of those since the last that was merged if they are many."""
        if page.starts or page.alone:
            self.run = len(self.pages)
        run = [*self.pages[self.run :], page]
        if page.alone:
            self.pages.append(page)
        elif sum([each.size for each in run]) >= RUN_BYTES:
            merged = merge(run)
            bodies.keep(merged)
            bodies.release(run)
            self.pages[self.run :] = [merged]
        else:
            self.pages.append(page)
            return
        self.run = len(self.pages)

    def between(self, start: int, end: int) -> list[Page]:
        """The pages that have something of a stretch of the log, in order."""
        parts: list[list[Page]] = []
        for branch in self.line():
            at = max(bisect_right(branch.pages, start, key=_first) - 1, 0)
            until = bisect_left(branch.pages, end, key=_first)
            parts.append([page for page in branch.pages[at:until] if page.next > start])
            end = min(end, branch.forked or 0)
        return [page for part in reversed(parts) for page in part]

    def context(self) -> list[Page]:
        """The pages that the context is made of."""
        return [page for start, end in self.head.spans for page in self.between(start, end)]

    def turn(self, turn_id: str) -> int | None:
        """Where the last turn of that id began."""
        end = self.head.seq
        for branch in self.line():
            seqs = branch.turns.get(turn_id, [])
            at = bisect_left(seqs, end)
            if at:
                return seqs[at - 1]
            end = min(end, branch.forked or 0)
        return None

    def let_go(self, bodies: _Bodies) -> None:
        """Drop what no living fork reaches, here and in those that this one stems from."""
        self.gone = True
        branch: _Branch | None = self
        while branch is not None and branch.gone:
            reach = max([fork.forked or 0 for fork in branch.forks], default=0)
            until = bisect_left(branch.pages, reach, key=_first)
            bodies.release(branch.pages[until:])
            del branch.pages[until:]
            if branch.forks or branch.parent is None:
                return
            branch.parent.forks.discard(branch)
            branch = branch.parent


def _first(page: Page) -> int:
    return page.first


def _known_fence(branch: _Branch, hold: Hold | None) -> int:
    """The fence to go on with, of somebody whose append is made again."""
    if hold is None:
        return 0
    if hold.fence is not None:
        return hold.fence
    return branch.lease.fence if branch.lease.owner == hold.owner else 0
