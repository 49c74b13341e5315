"""A ledger: one conversation on a store, as far as this process knows it.

What is known may be behind what is stored. That does no harm: nothing is appended but to what is
known, and a store refuses that where somebody else has come first.

Every method is a generator of acts, to be carried out by a driver, blocking or under asyncio.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec

from .. import clock
from ..dialects import registry
from ..drivers.acts import Act, Do, Pause
from ..errors import (
    Busy,
    DecodeError,
    Invalid,
    InvalidTransition,
    LeaseLost,
    NoSuchConversation,
    RevisionConflict,
    StoreCorrupt,
    StoreUnavailable,
)
from ..record.entries import CallKey, Decision, Intent, Outcome, Said, TurnBegin
from ..record.loading import Loading, entries_in, replay
from ..record.pages import Head, page_of
from ..record.record import Record
from ..record.turns import turn_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..dialects.dialect import Dialect
    from ..record.entries import Entry
    from ..record.pages import Page, Revision
    from ..stores.store import (
        AsyncStore,
        AsyncTransaction,
        Hold,
        Receipt,
        Store,
        Transaction,
    )

__all__ = ["Flow", "Ledger"]

Given = TypeVar("Given")

Flow: TypeAlias = Generator[Act, object, Given]
"""What a driver carries out, and what that comes to."""

_LATELY = 64
"""How many entries are looked at for a turn of which the index of the store knows nothing."""

_RETRIES_S = (0.05, 0.2, 0.8)
"""How long to wait before an append is made again that may or may not have been made."""


class Ledger:
    """A conversation on a store. ``record`` is None where nothing is known for certain.

    ``head`` is then where it was last known to stand, if it ever was. The conversation is known
    to have come to the revision ``at_least``: less is refused.
    """

    def __init__(
        self,
        store: Store | AsyncStore,
        name: str,
        dialect: Dialect,
        *,
        at_least: Revision | None = None,
    ) -> None:
        self.at_least = at_least
        self.store = store
        self.name = name
        self.dialect = dialect
        self.head: Head | None = None
        self.record: Record | None = None

    def another(self) -> Ledger:
        """A ledger of the same conversation that knows nothing yet: for who works beside this."""
        return Ledger(self.store, self.name, self.dialect, at_least=self.at_least)

    @property
    def empty(self) -> Record:
        """A conversation in which nothing was said."""
        return Record(self.name, self.dialect)

    @property
    def revision(self) -> Revision | None:
        """How far the conversation had come when it was last looked at."""
        return None if self.head is None else self.head.revision

    def forget(self) -> None:
        """Know nothing for certain: whoever comes next reads again."""
        self.record = None

    def begin(self, incarnation: str) -> None:
        """Begin a conversation under a name that its entries know it by already."""
        self.head = Head(incarnation, self.dialect.name)
        self.record = Record(incarnation, self.dialect)

    # -- reading ----------------------------------------------------------------------------------

    def known(self) -> Flow[Record]:
        """Give what is known; read where nothing is."""
        return self.record or (yield from self.load())

    def load(self) -> Flow[Record]:
        """Read all that is needed to go on."""
        loading: Loading | None = yield Do(partial(self.store.read, self.name))  # type: ignore[assignment]
        self.check_reached(None if loading is None else loading.head)
        if loading is None:
            self.begin(clock.new_name())
            return (yield from self.known())
        self._check_dialect(loading.head)
        with self.reading():
            self.record = loading.record(loading.head.incarnation, registry.dialect)
        self.head = loading.head
        return self.record

    def check_reached(self, head: Head | None) -> None:
        """Raise `StoreCorrupt` where a conversation stands before where it was known to stand."""
        least = self.at_least
        if least is None:
            return
        if head is None or head.incarnation != least.incarnation or head.seq < least.seq:
            found = "none" if head is None else f"entry {head.seq} of {head.incarnation!r}"
            raise StoreCorrupt(
                f"expected conversation {self.name!r} at entry {least.seq} of "
                f"{least.incarnation!r} or later, found {found}: an older state was put back",
                reason="rolled_back",
            )

    def _check_dialect(self, head: Head) -> None:
        if head.dialect != self.dialect.name:
            raise Invalid(
                f"expected conversation {self.name!r} in {self.dialect.name}, found it in "
                f"{head.dialect}: open it with a model of that dialect"
            )

    def fresh(self) -> Flow[Record]:
        """Give the conversation as it is now, reading only what is new."""
        record, known = self.record, self.head
        if record is None or known is None:
            return (yield from self.load())
        head: Head | None = yield Do(partial(self.store.head, self.name))  # type: ignore[assignment]
        if head == known or (head is None and known.seq == 0):
            return record
        if head is not None and _may_follow(known, head):
            try:
                return (yield from self._follow(record, head))
            except (InvalidTransition, NoSuchConversation):
                pass  # It was rewound to before what is known, or has just been deleted.
        return (yield from self.load())

    def _follow(self, record: Record, head: Head) -> Flow[Record]:
        """Go on from what is known to where others have come."""
        pages: Sequence[Page] = yield Do(  # type: ignore[assignment]
            partial(self.store.pages, self.name, after=record.length)
        )
        with self.reading(InvalidTransition):
            for entry in entries_in(pages, self.dialect):
                if record.length <= entry.seq < head.seq:
                    record = record.apply(entry)
        self.record, self.head = record, head
        return record

    def whole(self) -> Flow[Record]:
        """Give the conversation as it is now, with every entry that it ever had."""
        yield from self.fresh()
        return (yield from self._deepened())

    def _deepened(self) -> Flow[Record]:
        """Give what is known, with every entry before it."""
        record, head = self.record, self.head
        if record is None or head is None:
            raise Invalid("expected a conversation that was read, found none")
        if record.base == 0:
            return record
        pages: Sequence[Page] = yield Do(partial(self.store.pages, self.name))  # type: ignore[assignment]
        with self.reading():
            entries = [entry for entry in entries_in(pages, self.dialect) if entry.seq < head.seq]
            record = replay(head.incarnation, self.dialect, entries)
            if record.length != head.seq:
                raise DecodeError(f"expected {head.seq} entries", reason="missing_page")
        self.record = record
        return record

    def begun(self, turn_id: str) -> Flow[int | None]:
        """Say where the turn of an id began, as of now.

        If that is within what is known, its entries are at hand then, and nothing more is known.
        """
        seq: int | None = yield Do(partial(self.store.find, self.name, turn_id))  # type: ignore[assignment]
        record = self.record
        if seq is None and record is not None:
            seq = _begun_lately(record, turn_id)
        if seq is None or record is None or seq >= record.length:
            return seq
        is_open = record.turn is not None and record.turn.begin.seq == seq
        with self.reading():
            is_here = is_open or turn_at(record, seq) is not None
        if not is_here:
            yield from self._deepened()
        return seq

    @contextmanager
    def reading(self, *passed: type[Exception]) -> Iterator[None]:
        """Raise `StoreCorrupt` for what nobody can have written; ``passed`` goes through."""
        try:
            yield
        except (DecodeError, InvalidTransition) as error:
            if isinstance(error, passed):
                raise
            raise _corrupt(self.name, error) from error

    # -- writing ----------------------------------------------------------------------------------

    def append(
        self,
        after: Record,
        entries: Sequence[Entry],
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Flow[Receipt]:
        """Append entries, which lead from what is known to ``after``.

        Raises `RevisionConflict` where others have appended meanwhile; then, and after any other
        error, what is known stays as it was, or is forgotten where that is not certain.
        """
        page, head = self._page(after, entries)
        receipt = yield from self.put(page, head, hold=hold, turn_id=turn_id)
        self.head, self.record = head, after
        return receipt

    def put(
        self, page: Page, head: Head, *, hold: Hold | None = None, turn_id: str | None = None
    ) -> Flow[Receipt]:
        """Append a page as it is. What is known here is for the caller to see to."""
        call = partial(self.store.append, self.name, page, head, hold=hold, turn_id=turn_id)
        return (yield from self.certainly(call))

    def _page(self, after: Record, entries: Sequence[Entry]) -> tuple[Page, Head]:
        """Make the page that leads from what is known to ``after``."""
        if self.record is None or self.head is None:
            raise Invalid("expected a conversation that was read, found none")
        return page_of(self.head, self.record, after, entries, clock.new_name())

    def append_within(
        self,
        transaction: Transaction | AsyncTransaction,
        after: Record,
        entries: Sequence[Entry],
        hold: Hold,
    ) -> Flow[Receipt]:
        """Append entries in a transaction, and make it, so that both are made or neither."""
        page, head = self._page(after, entries)
        receipt = yield Do(partial(transaction.append, self.name, page, head, hold=hold))
        try:
            yield Do(transaction.commit)
        except BaseException:
            self.forget()
            raise
        self.head, self.record = head, after
        return receipt  # type: ignore[return-value]

    def certainly(self, call: Callable[[], object]) -> Flow[Receipt]:
        """Append or fork, again where nobody knows whether it was: a store knows it again."""
        waits = iter(_RETRIES_S)
        while True:
            try:
                return (yield Do(call))  # type: ignore[return-value]
            except StoreUnavailable:
                wait_s = next(waits, None)
                if wait_s is None:
                    self.forget()
                    raise
            except (RevisionConflict, Busy, LeaseLost):  # Nothing has changed, for certain.
                raise
            except BaseException:
                self.forget()
                raise
            yield Pause(wait_s)

    def rebased(self, entries: Sequence[Entry]) -> Flow[tuple[Record, tuple[Entry, ...]]]:
        """Put entries behind what others have appended meanwhile; give where they lead, and them.

        Messages change nothing. Outcomes come behind whatever it is: they are what has happened.
        Raises `InvalidTransition` for what others have not left room for, and `LeaseLost` where
        they have deleted the conversation; what is known stays as it was then.
        """
        before, known = self.record, self.head
        record = yield from self.fresh()
        if known is not None and (self.head is None or self.head.incarnation != known.incarnation):
            self.record, self.head = before, known
            raise LeaseLost(
                f"expected conversation {self.name!r} as it was begun, found that somebody has "
                "deleted it meanwhile: begin again with send"
            )
        first = entries[0].seq
        if not all([isinstance(entry, Outcome) for entry in entries]):
            meanwhile = record.entries(first)
            if record.turn is None or not all([isinstance(each, Said) for each in meanwhile]):
                raise InvalidTransition("expected a turn about which nobody else has decided")
        moved = tuple([_moved(entry, first, record.length - first) for entry in entries])
        for entry in moved:
            record = record.apply(entry)
        return record, moved


def _begun_lately(record: Record, turn_id: str) -> int | None:
    """Find where the turn of an id began among the last entries at hand, whatever an index says."""
    found = [
        entry.seq
        for entry in record.entries(record.length - _LATELY)
        if isinstance(entry, TurnBegin) and entry.input_digest and entry.turn_id == turn_id
    ]
    return found[-1] if found else None


def _may_follow(known: Head, head: Head) -> bool:
    """Whether one head may be of the same conversation as another, further on."""
    same = (head.incarnation, head.dialect) == (known.incarnation, known.dialect)
    return same and head.seq > known.seq


def _moved(entry: Entry, first: int, by: int) -> Entry:
    """The same entry further on, and what it says of those that move with it."""
    if isinstance(entry, Outcome | Intent | Decision) and entry.call.answer >= first:
        call = CallKey(entry.call.answer + by, entry.call.position, entry.call.id)
        return msgspec.structs.replace(entry, seq=entry.seq + by, call=call)
    return msgspec.structs.replace(entry, seq=entry.seq + by)


def _corrupt(name: str, error: DecodeError | InvalidTransition) -> StoreCorrupt:
    reason = error.reason if isinstance(error, DecodeError) else "corrupt_entry"
    return StoreCorrupt(
        f"expected conversation {name!r} as it was written, found that {error}: restore it from "
        "a backup",
        reason=reason,
    )
