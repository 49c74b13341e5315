"""Slices on a store, as flows of acts, for both kinds of session.

They know the log up to where they last looked, and read on from there; not the messages, only what
stands beside them. To append an event the head of the conversation is enough. So a slice costs the
same at any length of the conversation, and tools can use it while their turn is under way.
"""

from __future__ import annotations

from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, TypeVar

import msgspec

from .. import clock
from ..drivers.acts import Do
from ..errors import DecodeError, RevisionConflict, StoreCorrupt
from ..record.entries import SliceEvent
from ..record.loading import entries_in
from ..record.pages import Head, page_beside
from .folding import Folding
from .slice_types import SliceTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..record.pages import Page
    from ..record.record import Record
    from .ledger import Flow, Ledger

__all__ = ["SliceFlows"]

Given = TypeVar("Given")


class SliceFlows:
    """The slices of one conversation.

    ``lock`` is for threads, of which several may look at once. ``whole`` is for views of all that
    was said: another ledger than that of turns, since one may be under way.
    """

    def __init__(self, ledger: Ledger, types: SliceTypes | None = None) -> None:
        self.store = ledger.store
        self.name = ledger.name
        self.dialect = ledger.dialect
        self.folding = Folding(types or SliceTypes())
        self.lock = RLock()
        self.whole = ledger.another()
        self._incarnation = ""

    def fresh(self) -> Flow[Head | None]:
        """Take what the conversation has come to, and give where that is."""
        head: Head | None = yield Do(partial(self.store.head, self.name))  # type: ignore[assignment]
        self.whole.check_reached(head)
        if head is None or head.incarnation != self._incarnation:
            self.folding.reset()
            self._incarnation = head.incarnation if head else ""
        known = self.folding.events.next
        if head is not None and head.seq > known:
            pages: Sequence[Page] = yield Do(  # type: ignore[assignment]
                partial(self.store.pages, self.name, after=known)
            )
            try:
                for entry in entries_in(pages, None):
                    if entry.seq < head.seq:
                        self.folding.events.take(entry)
            except DecodeError as error:
                raise StoreCorrupt(
                    f"expected the slices of {self.name!r} as they were written: {error}",
                    reason=error.reason,
                ) from error
        return head

    def caught_up(self, record: Record) -> Folding:
        """Take what a whole record has come to, without asking the store."""
        if record.conversation != self._incarnation:
            self.folding.reset()
            self._incarnation = record.conversation
        for entry in record.entries(self.folding.events.next):
            self.folding.events.take(entry)
        return self.folding

    def look(self, view: Callable[[Folding], Given]) -> Flow[Given]:
        """Give a view of the slices as they are now."""
        yield from self.fresh()
        return view(self.folding)

    def append(self, kind: type, item: object) -> Flow[None]:
        """Append an event on a slice, behind whatever others have appended by then.

        Raises `ReducerFailed` where that would leave the slice unchanged, having appended nothing.
        """
        name, raw = self.folding.types.of(kind).spell(item)
        yield from self._append(kind, name, raw, seeds=False)

    def seed(self, kind: type, items: Iterable[object]) -> Flow[None]:
        """Put items in the place of all that is in a slice."""
        known = self.folding.types.of(kind)
        spelled = [known.spell(item) for item in items]
        array = b"[%b]" % b",".join([raw for _, raw in spelled])
        yield from self._append(kind, known.name, array, seeds=True)

    def _append(self, kind: type, item_type: str, raw: bytes, *, seeds: bool) -> Flow[None]:
        slice_type = self.folding.types.of(kind).name
        while True:
            head = yield from self.fresh()
            events = self.folding.events
            event = SliceEvent(
                seq=head.seq if head else 0,
                turn=(head.turn + (head.open is not None)) if head else 0,
                at_us=clock.now_us(),
                slice_type=slice_type,
                item_type=item_type,
                item=msgspec.Raw(raw),
                seeds=seeds,
            )
            self.folding.check(event, kind)
            try:
                written = yield from self._write(head, event)
            except RevisionConflict:
                continue
            if written:
                if events is self.folding.events and events.next == event.seq:
                    events.take(event)
                return

    def _write(self, head: Head | None, event: SliceEvent) -> Flow[bool]:
        """Append an event; False, or `RevisionConflict`, where others have come first."""
        ledger = self.whole.another()
        if head is not None and not head.spans:
            # It was rewound to its start: the new first page says which turn was the last.
            record = yield from ledger.load()
            if record.length != event.seq:
                return False
            yield from ledger.append(record.apply(event), (event,))
            return True
        begun = head or Head(clock.new_name(), self.dialect.name)
        self._incarnation = begun.incarnation
        page, after = page_beside(begun, (event,), clock.new_name(), first=head is None)
        yield from ledger.put(page, after)
        return True
