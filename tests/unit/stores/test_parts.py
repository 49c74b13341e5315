"""What the stores in databases have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import DecodeError, Invalid
from hansard.record.pages import Page
from hansard.stores.lineage import Ancestor, Stretch, keeper, stretches
from hansard.stores.packing import pack, unpack
from hansard.stores.rules import RUN_BYTES
from hansard.stores.runs import Run
from hansard.stores.store import Metadata
from hansard.stores.wording import below, check_metadata

# Conversation 3 parted from 2 at entry 10, and that from 1 at entry 4.
LINE = [Ancestor(3, 2, 10), Ancestor(2, 1, 4), Ancestor(1, None, None)]


def test_each_stretch_is_kept_by_who_appended_it() -> None:
    assert stretches(LINE, 0, 12) == [Stretch(1, 0, 4), Stretch(2, 4, 10), Stretch(3, 10, 12)]
    assert stretches(LINE, 5, 8) == [Stretch(2, 5, 8)]
    assert stretches(LINE, 3, 11) == [Stretch(1, 3, 4), Stretch(2, 4, 10), Stretch(3, 10, 11)]
    assert stretches(LINE, 5, 5) == []


def test_a_fork_stems_from_who_keeps_the_entry_before() -> None:
    assert [keeper(LINE, seq) for seq in (0, 1, 4, 5, 10, 11)] == [None, 1, 1, 2, 2, 3]


def test_a_run_goes_on_until_it_is_long_or_a_page_may_not_be_merged_with_it() -> None:
    small = Page(4, 6, b"m" * 10, b"b" * 10)
    run = Run(2, 100)
    assert run.after(small) == Run(2, 120)
    for other in (
        Page(4, 6, b"m", b"b", starts=True),
        Page(4, 6, b"m", b"b", alone=True),
        Page(4, 6, b"m", b"b" * (RUN_BYTES - 101)),
    ):
        assert not run.takes(other)
    assert run.after(Page(4, 6, b"m", b"b", starts=True)) == Run(4, 2)
    assert run.after(Page(4, 6, b"m", b"b", alone=True)) == Run(6, 0)
    assert run.after(Page(4, 6, b"m", b"b" * RUN_BYTES)) == Run(6, 0)


@given(st.binary(max_size=500), st.binary(max_size=500), st.binary(max_size=2000))
def test_what_is_packed_is_unpacked_the_same(head: bytes, meta: bytes, body: bytes) -> None:
    assert unpack(pack(head, meta, body)) == (head, meta, body)


@pytest.mark.parametrize("cut", [0, 1, 5, -1])
def test_what_was_cut_is_not_unpacked(cut: int) -> None:
    with pytest.raises(DecodeError):
        unpack(pack(b"{}", b"[]", b"hello" * 20)[:cut])


@given(st.text(min_size=1), st.text())
def test_what_begins_with_a_prefix_is_below_what_is_beyond_it(prefix: str, more: str) -> None:
    beyond = below(prefix)
    assert beyond is None or prefix + more < beyond
    assert beyond is None or not beyond.startswith(prefix)


def test_nothing_is_beyond_the_last_character() -> None:
    assert below("") is None
    assert below("\U0010ffff") is None
    assert below("a\U0010ffff") == "b"
    assert below("\ud7ff") == "\ue000"


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(Invalid, match="without NUL or half a surrogate pair"):
        check_metadata(Metadata(tags=("fine", "\ud800")))
