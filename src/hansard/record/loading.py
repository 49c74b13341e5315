"""Loading a conversation from its pages.

`Loading` takes the pages that the context is made of, and gives the record that goes on from
there: joining bodies, and reading nothing but the entries of the open turn. `replay` takes all
pages, and gives the record as if it had never been away.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from ..errors import DecodeError
from .context import Context
from .heads import Headed, LineHead
from .record import Record
from .turns import TurnHead, ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..dialects.dialect import Dialect
    from .entries import Entry
    from .pages import Head, Page

__all__ = ["Loading", "PagesRoot", "entries_in", "replay"]


class PagesRoot(Headed):
    """The messages of a conversation that was loaded from its pages."""

    def __init__(
        self,
        dialect: Dialect,
        messages: memoryview,
        head: Head,
        pages: Sequence[Page],
    ) -> None:
        super().__init__(dialect, messages, head.count, tidy=head.tidy, plain=head.plain)
        self.seen = head.seen
        self.tokens = head.tokens
        self.compacted_us = head.compacted_us
        self.pages = pages

    def heads(self) -> list[LineHead]:
        return [head for page in self.pages for head in page.heads()]

    def turns(self) -> list[TurnHead]:
        earlier = [head for page in self.pages for head in page.earlier_turns()]
        entries = [entry for page in self.pages for entry in page.bare_entries()]
        known = {head.number: head for head in (*earlier, *ended(entries))}
        return [known[number] for number in sorted(known)]

    def turn_at(self, seq: int) -> TurnHead | None:
        """Look from the page on in which the turn began."""
        if not any([page.first <= seq < page.next for page in self.pages]):
            return None
        following = [page for page in self.pages if page.next > seq]
        entries = [entry for page in following for entry in page.bare_entries()]
        return next(ended([entry for entry in entries if entry.seq >= seq]), None)

    def entries_of(self, number: int) -> tuple[Entry, ...]:
        """Look from the end on, where most of what is looked for stands."""
        found: list[Entry] = []
        for page in reversed(self.pages):
            entries = page.bare_entries()
            if any([entry.turn == number for entry in entries]):
                found[:0] = [entry for entry in page.entries(self.dialect) if entry.turn == number]
            if entries and entries[0].turn < number:
                break
        return tuple(found)


class Loading:
    """Takes the pages of a context's stretches in order, and gives the record."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._body = BytesIO()
        self._pages: list[Page] = []
        self._spans = iter(head.spans)
        self._until = 0
        self._next: int | None = None
        self._joined = 0

    def add(self, page: Page) -> None:
        """Take the next page. Raises `DecodeError` where one is missing."""
        last = self._pages[-1] if self._pages else None
        if last is not None and last.first < page.first < last.next:
            # A fork parted from another conversation in the middle of what is one page by now.
            self._pages[-1] = last.until(page.first)
            self._next = page.first
        if self._next is None:
            self._next, self._until = next(self._spans, (page.first, self.head.seq))
        if page.first != self._next:
            raise _missing(self._next, page.first)
        self._next = page.next if page.next < self._until else None
        if page.next > self._until:
            page = page.until(self._until)
        self._join()
        self._pages.append(page)

    def _join(self) -> None:
        """Join the bodies of the pages that are known not to be cut any more."""
        for page in self._pages[self._joined :]:
            if page.body:
                if self._body.tell():
                    self._body.write(b",")
                self._body.write(page.body)
        self._joined = len(self._pages)

    def record(self, conversation: str, find: Callable[[str], Dialect]) -> Record:
        """Give the record. Raises `DecodeError` where a page is missing, or one does not fit."""
        head = self.head
        missing = next(self._spans, None) if self._next is None else (self._next, 0)
        if missing is not None:
            raise _missing(missing[0], head.seq)
        self._join()
        dialect = find(head.dialect)
        root = PagesRoot(dialect, self._body.getbuffer(), head, self._pages)
        begins = head.seq if head.open is None else head.open
        record = Record(
            conversation, dialect, start=Context(root), base=begins, turn_number=head.turn
        )
        for page in self._pages:
            if page.next > begins:
                for entry in page.entries(dialect):
                    if entry.seq >= begins:
                        record = record.apply(entry)
        return record


def _missing(expected: int, found: int) -> DecodeError:
    return DecodeError(
        f"expected a page that begins with entry {expected}, found entry {found}",
        reason="missing_page",
    )


def entries_in(pages: Iterable[Page], dialect: Dialect | None) -> Iterator[Entry]:
    """The entries of pages that follow each other, each once; without a dialect, `bare_entries`."""
    known = [*pages]
    for page, following in zip(known, [*known[1:], None], strict=False):
        for entry in page.bare_entries() if dialect is None else page.entries(dialect):
            if page.first <= entry.seq and (following is None or entry.seq < following.first):
                yield entry


def replay(conversation: str, dialect: Dialect, entries: Iterable[Entry]) -> Record:
    """Give the record that entries lead to, from the first on."""
    record = Record(conversation, dialect)
    for entry in entries:
        record = record.apply(entry)
    return record
