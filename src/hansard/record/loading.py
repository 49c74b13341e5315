"""Loading a conversation from its pages.

`Loading` takes the pages that the context is made of, and gives the record that goes on from
there: joining bodies, and reading nothing but the entries of the open turn. `replay` takes all
pages, and gives the record as if it had never been away.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import msgspec

from ..errors import DecodeError
from .context import Context
from .heads import Headed, LineHead
from .pages import Page
from .record import Record
from .turns import TurnHead, ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..dialects.dialect import Dialect
    from .entries import Entry
    from .pages import Head

__all__ = ["Loading", "PagesRoot", "entries_in", "replay"]


class PagesRoot(Headed):
    """The messages of a conversation that was loaded from its pages."""

    def __init__(
        self,
        dialect: Dialect,
        messages: memoryview,
        head: Head,
        pages: _Joined,
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
        for at in reversed(range(len(self.pages))):
            entries = self.pages[at].bare_entries()
            if any([entry.turn == number for entry in entries]):
                whole = self.pages.whole(at, self.messages)
                found[:0] = [entry for entry in whole.entries(self.dialect) if entry.turn == number]
            if entries and entries[0].turn < number:
                break
        return tuple(found)


class _Joined(list[Page]):
    """Pages whose bodies are joined, and kept there alone; and where in it they are."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[int] = []

    def join(self, body: BytesIO) -> None:
        """Join the bodies of the pages that are not joined yet."""
        for at in range(len(self.ends), len(self)):
            page = self[at]
            if page.body:
                if body.tell():
                    body.write(b",")
                body.write(page.body)
                # What is given out twice costs more than it takes to read it.
                self[at] = Page(page.first, page.next, page.meta, b"", page.starts, page.alone)
            self.ends.append(body.tell())

    def whole(self, at: int, messages: bytes | memoryview) -> Page:
        """Give a page with its body."""
        start = self.ends[at - 1] if at else 0
        body = bytes(messages[start : self.ends[at]])
        return msgspec.structs.replace(self[at], body=body.removeprefix(b","))


class Loading:
    """Takes the pages of a context's stretches in order, and gives the record."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self._body = BytesIO()
        self._pages = _Joined()
        self._spans = iter(head.spans)
        self._until = 0
        self._next: int | None = None

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
        self._pages.join(self._body)  # Those before are known not to be cut any more.
        self._pages.append(page)

    def record(self, conversation: str, find: Callable[[str], Dialect]) -> Record:
        """Give the record. Raises `DecodeError` where a page is missing, or one does not fit."""
        head = self.head
        missing = next(self._spans, None) if self._next is None else (self._next, 0)
        if missing is not None:
            raise _missing(missing[0], head.seq)
        self._pages.join(self._body)
        messages = self._body.getbuffer()
        dialect = find(head.dialect)
        root = PagesRoot(dialect, messages, head, self._pages)
        begins = head.seq if head.open is None else head.open
        record = Record(
            conversation, dialect, start=Context(root), base=begins, turn_number=head.turn
        )
        for at, page in enumerate(self._pages):
            if page.next > begins:
                for entry in self._pages.whole(at, messages).entries(dialect):
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
