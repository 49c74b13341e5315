"""What all parts of the store suite stand on."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeVar
from unittest import SkipTest

from ..dialects.registry import dialect as find
from ..errors import HansardError
from ..record.entries import encode_entries
from ..record.loading import entries_in
from .dialect_suite import expect, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..record.entries import Entry
    from ..stores.store import Store
    from .store_talk import Talk

__all__ = ["StoreSuite", "expect", "expect_conversation", "log_of", "refused", "soon"]

_PATIENCE_S = 60.0

Found = TypeVar("Found")
Refusal = TypeVar("Refusal", bound=HansardError)


class StoreSuite:
    """What every check has at hand: stores, opened at a place of its own, which are closed later.

    ``place`` is a folder that was not there before, and is not there afterwards. Its name can be
    that of a schema or the prefix of keys.
    """

    merges = True
    """Whether small pages become bigger ones; False for a store that joins them on reading."""
    place: Path
    _stores: list[Store]

    def opening(self) -> Store:
        """Open the store at ``place`` as the suite is told."""
        raise NotImplementedError

    def counted(self, store: Store) -> int | None:
        """Say how much is kept, if the suite is told how to count it."""
        raise NotImplementedError

    def writing(self, store: Store, connection: object) -> None:
        """Write as a tool does, if the suite is told how."""
        raise NotImplementedError

    def written(self, store: Store) -> bool:
        """Say whether what a tool wrote is there."""
        raise NotImplementedError

    def setup_method(self) -> None:
        """Find a place of its own for a check; pytest calls it, and `check_store`."""
        self.place = Path(mkdtemp(prefix="hansard-"))
        self._stores = []

    def teardown_method(self) -> None:
        """Close what the check opened, and clear its place."""
        for store in self._stores:
            store.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def opened(self) -> Store:
        """Open the store at the check's place, once more."""
        store = self.opening()
        self._stores.append(store)
        return store

    def opened_again(self, store: Store) -> Store:
        """Close a store and open it anew. Skips the check where a store does not last."""
        if store.durability == "none":
            raise SkipTest("what this store keeps ends with it")
        store.close()
        return self.opened()


def refused(error: type[Refusal], do: Callable[[], object], promise: str) -> Refusal:
    """Give the error that something is refused with."""
    try:
        found = do()
    except error as raised:
        return raised
    except Exception as raised:
        raise AssertionError(
            f"expected {error.__name__} for {promise}; found {raised!r}"
        ) from raised
    raise AssertionError(f"expected {error.__name__} for {promise}; found {shown(found)}")


def soon(do: Callable[[], Found | None], promise: str) -> Found:
    """Do something until it gives something: with pauses, that grow until it must have come."""
    pause_s, until_s = 0.002, time.monotonic() + _PATIENCE_S
    while time.monotonic() < until_s:
        found = do()
        if found is not None:
            return found
        time.sleep(pause_s)
        pause_s *= 1.5
    raise AssertionError(f"expected {promise}; found nothing of it in {_PATIENCE_S:.0f} seconds")


def log_of(store: Store, talk: Talk) -> list[Entry]:
    """All entries of a conversation, as a store has them."""
    found = entries_in(store.pages(talk.name), talk.dialect)
    return [entry for entry in found if entry.seq < talk.head.seq]


def expect_conversation(store: Store, talk: Talk) -> None:
    """Fail unless a store has just what its writer knows: the head, the context and the log."""
    head = store.head(talk.name)
    expect(head == talk.head, f"the head {talk.head}", head)
    loading = store.read(talk.name)
    if loading is None:
        raise AssertionError(f"expected the conversation {talk.name!r}; found none")
    expect(loading.head == talk.head, f"the head {talk.head}", loading.head)
    record = loading.record(talk.name, find)
    context = b",".join(record.context.segments(talk.dialect))
    expect(context == talk.context, "the context that was appended", context)
    stood = (record.length, record.phase, record.turn_number)
    stands = (talk.record.length, talk.record.phase, talk.record.turn_number)
    expect(stood == stands, f"a record that stands at {stands}", stood)
    if talk.record.base == 0:
        log = encode_entries(log_of(store, talk))
        whole = encode_entries(list(talk.record.entries()))
        expect(log == whole, "all entries that were appended, each once, in order", log)
