"""A conversation to keep in a store: real pages of a real record, made as a session makes them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import msgspec

from ..dialects.registry import dialect as find
from ..messages import assistant, user
from ..record.entries import Compaction, Mark, Rewind, Said, TurnBegin, TurnEnd
from ..record.pages import Head, page_of
from ..record.record import Record

if TYPE_CHECKING:
    from ..record.entries import Entry
    from ..record.loading import Loading
    from ..record.pages import Page
    from ..stores.store import Hold, Receipt, Store, Transaction

__all__ = ["Append", "Talk"]

_numbers = count(1)


class Append(msgspec.Struct, frozen=True):
    """Something to be appended, and how the conversation stands then."""

    conversation: str
    page: Page
    head: Head
    turn_id: str | None = None

    def to(self, store: Store | Transaction, *, hold: Hold | None = None) -> Receipt:
        """Append it."""
        name = self.conversation
        return store.append(name, self.page, self.head, hold=hold, turn_id=self.turn_id)


class Talk:
    """A conversation as its writer knows it: what is to be appended next, and what has been.

    Each method says something and gives what is to be appended for it; nothing is appended by
    itself. ``stands`` has every record that there was between two turns, with its head.
    """

    def __init__(
        self,
        name: str = "a talk",
        *,
        dialect: str = "openai",
        record: Record | None = None,
        head: Head | None = None,
    ) -> None:
        self.name = name
        self.head = head or Head(f"i{next(_numbers)}", dialect)
        self.dialect = find(dialect)
        self.record = record or Record(name, self.dialect)
        self.stands: list[tuple[Record, Head]] = [(self.record, self.head)]

    @classmethod
    def loaded(cls, name: str, loading: Loading) -> Talk:
        """Go on with what a store gave."""
        record = loading.record(name, find)
        return cls(name, dialect=loading.head.dialect, record=record, head=loading.head)

    def turn(self, text: str = "Hello", answer: str = "Hi", *, turn_id: str = "") -> Append:
        """Say something and be answered, in one append."""
        before = self.record
        self._say(text, turn_id)
        self._answer(answer)
        return self._append(before, turn_id)

    def begin(self, text: str = "Hello", *, turn_id: str = "") -> Append:
        """Say something."""
        before = self.record
        self._say(text, turn_id)
        return self._append(before, turn_id)

    def finish(self, answer: str = "Hi") -> Append:
        """Be answered."""
        before = self.record
        self._answer(answer)
        return self._append(before)

    def mark(self, name: str = "here") -> Append:
        """Give a point a name: an entry that adds nothing to the context."""
        before = self.record
        self._put(Mark(seq=self._seq, turn=self._turn, name=name))
        return self._append(before)

    def rewind(self, to: int) -> Append:
        """Go back to before an entry."""
        before = self.record
        self._put(Rewind(seq=self._seq, turn=self._turn, to=to))
        return self._append(before)

    def compact(self, summary: str) -> Append:
        """Let a summary stand for all that was said."""
        before = self.record
        raw = self.dialect.say(user(summary))[0].raw
        last = before.length - 1
        self._put(
            Compaction(
                seq=self._seq,
                turn=self._turn,
                first=0,
                last=last,
                messages=(msgspec.Raw(raw),),
                strategy="summary",
            )
        )
        return self._append(before)

    def fork(self, name: str, stand: int = -1) -> Talk:
        """Another conversation, which shares with this one what had been said by then."""
        record, head = self.stands[stand]
        lineage = (*head.lineage, (head.incarnation, head.seq))
        return Talk(
            name,
            dialect=head.dialect,
            record=record,
            head=msgspec.structs.replace(head, incarnation=f"i{next(_numbers)}", lineage=lineage),
        )

    def twin(self) -> Talk:
        """The same conversation as another writer knows it, who may go on otherwise."""
        return Talk(self.name, dialect=self.head.dialect, record=self.record, head=self.head)

    @property
    def context(self) -> bytes:
        """What a model would be sent."""
        return b",".join(self.record.context.segments(self.dialect))

    @property
    def _seq(self) -> int:
        return self.record.length

    @property
    def _turn(self) -> int:
        return self.record.turn_number

    def _put(self, entry: Entry) -> None:
        self.record = self.record.apply(entry)

    def _say(self, text: str, turn_id: str) -> None:
        turn = self._turn + 1
        self._put(TurnBegin(seq=self._seq, turn=turn, turn_id=turn_id or f"turn {turn}"))
        raw = msgspec.Raw(self.dialect.say(user(text))[0].raw)
        self._put(Said(seq=self._seq, turn=self._turn, role="user", author="input", raw=raw))

    def _answer(self, text: str) -> None:
        raw = msgspec.Raw(self.dialect.say(assistant(text))[0].raw)
        self._put(Said(seq=self._seq, turn=self._turn, role="assistant", author="model", raw=raw))
        self._put(TurnEnd(seq=self._seq, turn=self._turn, status="done"))

    def _append(self, before: Record, turn_id: str = "") -> Append:
        entries = list(self.record.entries(before.length))
        commit = f"commit {next(_numbers)}"
        page, self.head = page_of(self.head, before, self.record, entries, commit)
        if self.record.turn is None:
            self.stands.append((self.record, self.head))
        return Append(self.name, page, self.head, turn_id or None)
