"""Conversations that grow in a store, turn by turn, as a session would have them grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hansard
from hansard.record.entries import Said
from hansard.record.loading import entries_in, replay
from hansard.record.pages import Head, Page, page_of
from hansard.record.record import Record
from tests.support.conversations import Writer, context_bytes

if TYPE_CHECKING:
    from hansard.stores.store import Hold, Receipt, Store

__all__ = ["Growing", "fork_head", "reopened", "texts"]


class Growing:
    """A conversation in a store, and what was said in it."""

    def __init__(
        self, store: Store, name: str = "c", incarnation: str = "i", *, by: str = "c"
    ) -> None:
        self.store = store
        self.name = name
        self.by = by
        self.writer = Writer()
        self.head = Head(incarnation, self.writer.dialect.name)
        self._paged = self.record

    @classmethod
    def reopened(cls, store: Store, name: str, *, by: str) -> Growing:
        """Go on with what is in a store. ``by`` tells the commits of several writers apart."""
        talk = cls(store, name, by=by)
        while True:
            record, head = reopened(store, name), store.head(name)
            if head is not None and head.seq == record.length:
                talk.writer, talk.head, talk._paged = Writer(record=record), head, record
                return talk

    @property
    def record(self) -> Record:
        return self.writer.record

    def next_page(self, text: str = "Hello") -> tuple[Page, Head]:
        """Say something, and give the page that is to be appended."""
        self.writer.exchange(text)
        return self.page()

    def page(self) -> tuple[Page, Head]:
        """Give the page of all that was said since the last one."""
        before, after = self._paged, self.record
        entries = list(after.entries(before.length))
        page, self.head = page_of(self.head, before, after, entries, f"{self.by}{before.length}")
        self._paged = after
        return page, self.head

    def turn(
        self, text: str = "Hello", *, hold: Hold | None = None, turn_id: str | None = None
    ) -> Receipt:
        """Append a turn."""
        page, head = self.next_page(text)
        return self.store.append(self.name, page, head, hold=hold, turn_id=turn_id)

    def fork(self, name: str, seq: int | None = None) -> Growing:
        """Part from it, after some entries."""
        seq = self.head.seq if seq is None else seq
        other = Growing(self.store, name)
        other.writer = Writer(record=_until(self.record, seq))
        other._paged = other.record
        other.head = fork_head(self.head, name, seq)
        self.store.fork(self.name, name, other.head)
        return other

    def check(self) -> None:
        """See that the store has all that was said."""
        loading = self.store.read(self.name)
        assert loading is not None
        assert loading.head == self.head
        loaded = loading.record("c0", hansard.dialect)
        assert context_bytes(loaded) == context_bytes(self.record)
        whole = reopened(self.store, self.name)
        assert list(whole.entries()) == list(self.record.entries())


def _until(record: Record, seq: int) -> Record:
    return replay("c0", record.dialect, list(record.entries())[:seq])


def fork_head(head: Head, incarnation: str, seq: int) -> Head:
    """Where a fork stands, of a conversation whose turns are all over then."""
    return Head(
        incarnation, head.dialect, seq, ((0, seq),) if seq else (), turn=seq // 4, count=seq // 2
    )


def reopened(store: Store, name: str) -> Record:
    """The record of a conversation, as its pages tell it from the first entry on."""
    head = store.head(name)
    assert head is not None
    dialect = hansard.dialect(head.dialect)
    return replay("c0", dialect, [*entries_in(store.pages(name), dialect)][: head.seq])


def texts(record: Record) -> list[str]:
    """What was said, message by message."""
    said = [entry for entry in record.entries() if isinstance(entry, Said)]
    return [hansard.Message(record.dialect, bytes(entry.raw)).text for entry in said]
