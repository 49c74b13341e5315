"""Checkpoints in a store: of each snapshot only what is new is written."""

from __future__ import annotations

import inspect
import time
from typing import TYPE_CHECKING, Generic, TypeVar

from ..dialects import registry
from ..drivers.acts import Do, Pause
from ..errors import Invalid, SnapshotRestoreError, StoreCorrupt
from ..record.loading import entries_in
from ..record.pages import Revision
from ..record.slices import Events, opaque
from ..session.ledger import Ledger
from ..session.snapshots import Snapshot
from .checkpoints import Checkpoint, Key, key_of, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..drivers.acts import Act
    from ..session.ledger import Flow
    from ..stores.store import Store

__all__ = ["StoreCheckpointHandler"]

Request = TypeVar("Request")
Given = TypeVar("Given")


class StoreCheckpointHandler(Generic[Request]):
    """Keeps checkpoints as conversations of a store, whose names begin with ``prefix``.

    As only what is new is appended, hours of work cost no more a step than minutes. A job that was
    begun again, or went on in another dialect, is another conversation there; the one before goes
    once the new one is safe.
    ``key`` tells one request from another; left out, it is the request's ``id``.

    The store is one whose methods block. An `AsyncLoop` calls the handler in a thread, and so takes
    it too; a database that is at work under asyncio is opened once more, with `open_store`.
    """

    def __init__(
        self, store: Store, *, prefix: str = "checkpoint/", key: Key[Request] = key_of
    ) -> None:
        if inspect.iscoroutinefunction(getattr(store, "append", None)):
            raise Invalid(
                f"expected a store whose methods block, found {store!r}: open it with "
                "hansard.open_store(…) for this handler, which an AsyncLoop calls in a thread"
            )
        self._store = store
        self._prefix = prefix
        self._key = key
        self._ledgers: dict[str, Ledger] = {}

    def load(self, request: Request, /) -> Checkpoint | None:
        """`CheckpointHandler.load`."""
        for name in self._names(request):
            head = self._store.head(name)
            if head is None:
                continue
            events = Events()
            try:
                dialect = registry.dialect(head.dialect)
                entries = tuple(entries_in(self._store.pages(name), dialect))
                for entry in entries:
                    events.take(entry)
            except (StoreCorrupt, ValueError) as error:
                raise SnapshotRestoreError(
                    f"expected the checkpoint {name!r} as it was written, found that {error}: "
                    "clear it, and begin again",
                    reason="entries",
                ) from error
            revision = Revision(head.incarnation, len(entries))
            rows = tuple(opaque(events.last))
            snapshot = Snapshot(name, revision, head.dialect, rows, read=lambda: entries)  # noqa: B023 - it returns
            return Checkpoint(snapshot)
        return None

    def save(self, request: Request, snapshot: Snapshot, /) -> None:
        """`CheckpointHandler.save`."""
        name = f"{self._base(request)}{snapshot.revision.incarnation}.{snapshot.dialect}"
        ledger = self._ledgers.get(name)
        if ledger is None:
            ledger = Ledger(self._store, name, registry.dialect(snapshot.dialect))
            if self._store.head(name) is None:
                ledger.begin(snapshot.revision.incarnation)
        try:
            _run(_saved(ledger, snapshot))
        except BaseException:
            self._ledgers.pop(name, None)
            raise
        if name not in self._ledgers:
            self._ledgers[name] = ledger
            for other in self._names(request):
                if other != name:
                    self._delete(other)

    def clear(self, request: Request, /) -> None:
        """`CheckpointHandler.clear`."""
        for name in self._names(request):
            self._delete(name)

    def _delete(self, name: str) -> None:
        self._ledgers.pop(name, None)
        self._store.delete(name)

    def _base(self, request: Request) -> str:
        return f"{self._prefix}{quoted(self._key(request))}/"

    def _names(self, request: Request) -> list[str]:
        found = self._store.list(prefix=self._base(request)).conversations
        return [each.conversation for each in found]


def _saved(ledger: Ledger, snapshot: Snapshot) -> Flow[None]:
    """Append what is new in a snapshot."""
    record = yield from ledger.known()
    if record.length >= snapshot.revision.seq:
        return
    new = snapshot.entries[record.length :]
    for entry in new:
        record = record.apply(entry)
    yield from ledger.append(record, new)


def _run(flow: Flow[Given]) -> Given:
    """Carry out what a ledger asks of a store that blocks."""
    step: Callable[..., Act] = flow.send
    given: object = None
    while True:
        try:
            act = step(given)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        step, given = flow.send, None
        try:
            if isinstance(act, Do):
                given = act.run()
            elif isinstance(act, Pause):
                time.sleep(act.seconds)
        except BaseException as error:  # noqa: BLE001 - the flow raises it again
            step, given = flow.throw, error
