"""A store that a test can break: in memory, but at a place, so that it can be opened again.

It says that it lasts, which it does for as long as the test, and has transactions.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from hansard.stores.memory import MemoryStore
from hansard.stores.rules import closed
from hansard.stores.store import Store, Transaction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from hansard.record.loading import Loading
    from hansard.record.pages import Head, Page
    from hansard.stores.store import Bodies, Durability, Hold, Listing, Metadata, Receipt

_PLACES: dict[Path, Place] = {}


class Place:
    """What is at a place: conversations, and what tools wrote."""

    def __init__(self) -> None:
        self.memory = MemoryStore()
        self.written: list[str] = []


class ToyStore(Store):
    """Keeps every promise, through what is at its place."""

    def __init__(self, path: Path) -> None:
        self.place = _PLACES.setdefault(path, Place())
        self.is_closed = False

    @property
    def kept(self) -> MemoryStore:
        if self.is_closed:
            raise closed(self)
        return self.place.memory

    @property
    def durability(self) -> Durability:
        return "full"

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        return self.kept.append(conversation, page, head, hold=hold, turn_id=turn_id)

    def read(self, conversation: str) -> Loading | None:
        return self.kept.read(conversation)

    def find(self, conversation: str, turn_id: str) -> int | None:
        return self.kept.find(conversation, turn_id)

    def head(self, conversation: str) -> Head | None:
        return self.kept.head(conversation)

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        return self.kept.pages(conversation, after=after)

    def lease(self, conversation: str, hold: Hold) -> int:
        return self.kept.lease(conversation, hold)

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        return self.kept.list(prefix=prefix, where=where, after=after, limit=limit)

    def describe(self, conversation: str, metadata: Metadata) -> None:
        self.kept.describe(conversation, metadata)

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        return self.kept.fork(conversation, new, head)

    def delete(self, conversation: str) -> None:
        self.kept.delete(conversation)

    def bodies(self) -> Bodies | None:
        return self.kept.bodies()

    def close(self) -> None:
        self.is_closed = True

    def begin(self) -> ToyTransaction:
        """`hansard.stores.store.Transactional.begin`."""
        return ToyTransaction(self.place)


class ToyTransaction(Transaction):
    """Tries its appends on a copy, and makes them when it is made."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.copy = MemoryStore()
        memory = place.memory
        state = deepcopy((memory._branches, memory._names, memory._bodies))  # noqa: SLF001 -- as it is a toy
        self.copy._branches, self.copy._names, self.copy._bodies = state  # noqa: SLF001
        self.appends: list[dict[str, Any]] = []
        self.said: list[str] = []

    @property
    def connection(self) -> object:
        return self.said

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        receipt = self.copy.append(conversation, page, head, hold=hold, turn_id=turn_id)
        self.appends.append(
            {
                "conversation": conversation,
                "page": page,
                "head": head,
                "hold": hold,
                "turn_id": turn_id,
            }
        )
        return receipt

    def commit(self) -> None:
        for each in self.appends:
            self.place.memory.append(**each)
        self.place.written += self.said
        self.rollback()

    def rollback(self, *, given_up: bool = False) -> None:
        del given_up  # It has no connection.
        self.appends, self.said = [], []
