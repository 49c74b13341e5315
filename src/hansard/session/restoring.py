"""Taking snapshots of a conversation on a store, and restoring them, as flows of acts.

Where the snapshot is of the very conversation, it is rewound. Into an empty one its entries are
put as they are; where it ends in an open turn it also keeps its name for the keys of calls, so that
a call which goes on is known to be the same. One in which something was said goes back to its
start first. All that can be wrong with a snapshot is found out before anything is appended.

Putting entries takes several appends, of which each is whole. What others append in between comes
between them; who is cut off restores the same snapshot again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .. import clock
from ..drivers.acts import Do
from ..errors import InvalidTransition, RevisionConflict, SnapshotRestoreError
from ..neutral import LossReport
from ..record.entries import TurnBegin, encode_entries
from ..record.loading import entries_in
from ..record.pages import Revision
from ..talk.decisions import abandon
from .points import rewound
from .rebuilding import moved, said_anew
from .snapshots import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..record.entries import Entry
    from ..record.pages import Page
    from ..record.record import Record
    from .flows import Flows
    from .ledger import Flow
    from .slice_flows import SliceFlows

__all__ = ["is_of", "put", "restored", "snapshot_of", "taken"]


def taken(slices: SliceFlows, *, at_once: bool) -> Flow[Snapshot]:
    """Take a snapshot. Its entries are read ``at_once``, or when somebody asks for them."""
    head = yield from slices.fresh()
    seq = head.seq if head else 0
    revision = Revision(head.incarnation, seq) if head else Revision("", 0)
    pages: Callable[[], Sequence[Page]] = partial(slices.store.pages, slices.name)  # type: ignore[assignment]
    if at_once and seq:
        found: Sequence[Page] = yield Do(pages)  # type: ignore[assignment]
        pages = partial(tuple, found)

    def read() -> list[Entry]:
        if not seq:
            return []
        return [entry for entry in entries_in(pages(), slices.dialect) if entry.seq < seq]

    rows = tuple(slices.folding.rows())
    return Snapshot(slices.name, revision, slices.dialect.name, rows, read=read)


def snapshot_of(slices: SliceFlows, record: Record) -> Snapshot:
    """Take a snapshot of a record that is whole, which may be ahead of what was looked at."""
    revision = Revision(record.conversation, record.length)
    with slices.lock:  # Tools may be looking.
        rows = tuple(slices.caught_up(record).rows())
    entries = partial(tuple, record.entries())
    return Snapshot(slices.name, revision, record.dialect.name, rows, read=entries)


def restored(flows: Flows, snapshot: Snapshot) -> Flow[LossReport]:
    """Let a conversation stand where it stood when a snapshot was taken; say what that cost."""
    ledger = flows.ledger
    record = yield from ledger.whole()
    if record.length and is_of(snapshot, record):
        if snapshot.revision.seq <= record.length:
            yield from _go_back(flows, record, snapshot)
        else:
            _check_begins_with(snapshot, record)
            yield from put(flows, snapshot.entries[record.length :])
        return LossReport()
    given, losses = _readable(snapshot, flows)
    if not record.length:
        name = given.conversation if given.turn is not None else clock.new_name()
        ledger.begin(name)
        yield from put(flows, tuple(given.entries()), behind=given.turn is None)
        return losses
    if given.turn is not None:
        raise SnapshotRestoreError(
            "expected a conversation that is empty, for a snapshot in which a turn is open, found "
            f"one of {record.length} entries: its calls would not be known to be the same; restore "
            "it into a new session",
            reason="open_turn",
        )
    yield from flows.change(abandon)
    yield from flows.rewind(0)
    record = yield from ledger.known()
    yield from put(flows, moved(given.entries(), record.length, record.turn_number), behind=True)
    return losses


def is_of(snapshot: Snapshot, record: Record) -> bool:
    """Whether a snapshot is of this very conversation, in the same words."""
    same = snapshot.revision.incarnation == record.conversation
    return same and snapshot.dialect == record.dialect.name


def _go_back(flows: Flows, record: Record, snapshot: Snapshot) -> Flow[None]:
    """Rewind to where a snapshot was taken, leaving a turn that is open now."""
    seq = snapshot.revision.seq
    _check_begins_with(snapshot, record)
    if seq == record.length:
        return
    try:
        rewound(abandon(record), seq)
    except InvalidTransition as error:
        raise SnapshotRestoreError(
            f"expected a snapshot that was taken between turns, found one from within: {error}; "
            "restore it into a new session, where its turn can be resumed",
            reason="open_turn",
        ) from error
    yield from flows.change(abandon)
    yield from flows.rewind(seq)


def _check_begins_with(snapshot: Snapshot, record: Record) -> None:
    """Raise for a snapshot of a conversation that went another way, of the same name."""
    if not snapshot.is_whole:
        return
    length = min(snapshot.revision.seq, record.length)
    here = [entry for entry in record.entries() if entry.seq < length]
    if encode_entries(here) != encode_entries([*snapshot.entries[:length]]):
        raise SnapshotRestoreError(
            f"expected the entries that a snapshot of {snapshot.conversation!r} begins with, found "
            "others: they have parted; restore it into a new session",
            reason="parted",
        )


def _readable(snapshot: Snapshot, flows: Flows) -> tuple[Record, LossReport]:
    """The record of a snapshot, in the dialect that is spoken here."""
    record = snapshot.record()
    dialect = flows.ledger.dialect
    if record.dialect.name == dialect.name:
        return record, LossReport()
    return said_anew(record, dialect, at_us=clock.now_us())


def put(flows: Flows, entries: Sequence[Entry], *, behind: bool = False) -> Flow[None]:
    """Append entries, so that turns are found by the ids that their callers gave them.

    What others append meanwhile may come between two turns, if they may move ``behind`` it; else,
    and where others have begun a turn that is open, `RevisionConflict` is raised.
    """
    ledger = flows.ledger
    record = yield from ledger.known()
    groups = [*_groups(entries)]
    at = 0
    while at < len(groups):
        group = groups[at]
        after = record
        for entry in group:
            after = after.apply(entry)
        first = group[0]
        known = isinstance(first, TurnBegin) and first.input_digest
        turn_id = first.turn_id if isinstance(first, TurnBegin) and known else None
        try:
            yield from ledger.append(after, group, turn_id=turn_id)
        except RevisionConflict:
            now = yield from ledger.fresh()
            if not behind or now.conversation != record.conversation or now.turn is not None:
                raise
            by, turns = now.length - record.length, now.turn_number - record.turn_number
            groups[at:] = [moved(each, by, turns, first=record.length) for each in groups[at:]]
            record = now
            continue
        record = after
        at += 1


def _groups(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Entries that can be appended together: a turn with an id of its caller's begins another."""
    group: list[Entry] = []
    for entry in entries:
        if group and isinstance(entry, TurnBegin) and entry.input_digest:
            yield group
            group = []
        group.append(entry)
    if group:
        yield group
