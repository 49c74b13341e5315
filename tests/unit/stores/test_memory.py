"""What is `MemoryStore`'s own; what all stores promise is in tests/conformance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

import hansard
from hansard.errors import Busy, Invalid, LeaseLost
from hansard.record.pages import Head, Page, page_of
from hansard.record.record import Record
from hansard.stores.memory import MemoryStore
from hansard.stores.store import Hold
from tests.support.conversations import Writer, context_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence


def put(
    store: MemoryStore, name: str, head: Head, writer: Writer, texts: Sequence[str]
) -> tuple[Head, Record]:
    """Append a turn for each text."""
    for text in texts:
        before = writer.record
        after = writer.exchange(text)
        entries = list(after.entries(before.length))
        page, head = page_of(head, before, after, entries, f"c{before.length}")
        store.append(name, page, head)
    return head, writer.record


def test_time_is_that_of_the_clock(a_page: tuple[Page, Head]) -> None:
    now = 0.0
    store = MemoryStore(clock=lambda: now)
    store.append("c", *a_page)
    assert store.lease("c", Hold("a", 10)) == 1
    now = 9.9
    with pytest.raises(Busy):
        store.lease("c", Hold("b", 10))
    now = 10
    with pytest.raises(LeaseLost):
        store.lease("c", Hold("a", 10, 1))
    assert store.lease("c", Hold("b", 10)) == 2


def test_what_no_living_fork_reaches_is_dropped_at_once() -> None:
    store = MemoryStore()
    head, record = put(store, "a", Head("i", "openai"), Writer(), "xyz")
    for name, seq in (("b", 8), ("c", 4)):
        fork = msgspec.structs.replace(head, incarnation=name, seq=seq, spans=((0, seq),))
        store.fork("a", name, fork)
    store.fork("b", "d", msgspec.structs.replace(head, incarnation="d", seq=4, spans=((0, 4),)))

    sizes = [repr(store)]
    for name in "abcd":
        store.delete(name)
        sizes.append(repr(store))

    assert record.length == 12
    assert sizes == [
        "<MemoryStore 4 conversations, 3 pages>",
        "<MemoryStore 3 conversations, 2 pages>",
        "<MemoryStore 2 conversations, 1 pages>",
        "<MemoryStore 1 conversations, 1 pages>",
        "<MemoryStore 0 conversations, 0 pages>",
    ]


def test_a_fork_goes_on_in_the_middle_of_what_was_merged_afterwards() -> None:
    store = MemoryStore(body_bytes=1 << 20)
    head, record = put(store, "a", Head("i", "openai"), Writer(), "xy")
    fork = msgspec.structs.replace(head, incarnation="j")
    store.fork("a", "b", fork)
    put(store, "a", head, Writer(record=record), ["long" * 20_000])
    assert repr(store) == "<MemoryStore 2 conversations, 1 pages>"

    _, forked = put(store, "b", fork, Writer(record=record), "uv")

    loading = store.read("b")
    assert loading is not None
    assert context_bytes(loading.record("c0", hansard.dialect)) == context_bytes(forked)


def test_a_closed_store_says_so() -> None:
    with MemoryStore() as store:
        store.list()
    store.close()
    with pytest.raises(Invalid, match="which is closed: open it again"):
        store.list()
