"""A store that says what it has acknowledged, and at which places a process may be killed."""

from __future__ import annotations

import json
import os
import signal
import threading
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from hansard.dialects.registry import dialect
from hansard.record.entries import encode_entries
from hansard.record.loading import entries_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.record.entries import Entry
    from hansard.record.pages import Head, Page
    from hansard.stores.store import Receipt, Store, Transaction

__all__ = ["Line", "digest", "watched"]


class Line:
    """The line to the parent process: what is said on it has been said, whatever happens next.

    ``dies_at`` counts the places where the process then kills itself.
    """

    def __init__(self, file: int, dies_at: int | None = None) -> None:
        self._file = file
        self._dies_at = dies_at
        self._places = 0
        self._lock = threading.Lock()

    def say(self, what: str, *about: object) -> None:
        """Tell the parent."""
        said = json.dumps([what, *about]).encode() + b"\n"
        with self._lock:
            while said:
                said = said[os.write(self._file, said) :]

    def place(self) -> None:
        """Come by a place where the process may have to end."""
        with self._lock:
            self._places += 1
            if self._places == self._dies_at:
                os.kill(os.getpid(), signal.SIGKILL)

    @property
    def places(self) -> int:
        """How many places it has come by."""
        return self._places


def digest(entries: Sequence[Entry]) -> str:
    """What tells some entries from others."""
    return blake2b(encode_entries(list(entries)), digest_size=8).hexdigest()


def watched(store: Any, line: Line) -> Store:
    """Watch a store. One with transactions stays one."""
    kind = _WatchedTransactional if hasattr(store, "begin") else _Watched
    given: Any = kind(store, line)
    return given  # type: ignore[no-any-return]


class _Watched:
    """Does all that a store does, and tells of its appends."""

    def __init__(self, store: Any, line: Line) -> None:
        self._store = store
        self._line = line

    def append(self, conversation: str, page: Page, head: Head, **how: Any) -> Receipt:
        self._line.place()
        receipt: Receipt = self._store.append(conversation, page, head, **how)
        self._line.place()
        _acknowledge(self._line, conversation, page, head)
        return receipt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _WatchedTransactional(_Watched):
    """The same, for a store whose database tools can write in."""

    def begin(self) -> _WatchedTransaction:
        return _WatchedTransaction(self._store.begin(), self._line)


class _WatchedTransaction:
    def __init__(self, transaction: Transaction, line: Line) -> None:
        self._transaction = transaction
        self._line = line
        self._appended: list[tuple[str, Page, Head]] = []

    @property
    def connection(self) -> object:
        return self._transaction.connection

    def append(self, conversation: str, page: Page, head: Head, **how: Any) -> Receipt:
        self._line.place()
        receipt = self._transaction.append(conversation, page, head, **how)
        self._appended.append((conversation, page, head))
        return receipt

    def commit(self) -> None:
        self._line.place()
        self._transaction.commit()
        self._line.place()
        for appended in self._appended:
            _acknowledge(self._line, *appended)

    def rollback(self, *, given_up: bool = False) -> None:
        self._transaction.rollback(given_up=given_up)


def _acknowledge(line: Line, conversation: str, page: Page, head: Head) -> None:
    entries = list(entries_in([page], dialect(head.dialect)))
    line.say("entries", conversation, page.first, page.next, digest(entries))
