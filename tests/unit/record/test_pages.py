"""Pages that are cut, as whoever shares them with others, or goes back, has to."""

from __future__ import annotations

import hansard
from hansard.record.entries import TurnBegin
from hansard.record.loading import Loading
from hansard.record.pages import Head, merge, page_of
from hansard.record.record import Record
from tests.support.conversations import Writer

OPENAI = hansard.dialect("openai")


def test_of_a_page_that_is_cut_nothing_is_left_of_what_came_later() -> None:
    """A fork parted after the first of two turns, and its parent's pages were merged since."""
    writer = Writer(record=Record("c0", OPENAI))
    head = Head("i", "openai")
    pages, heads = [], []
    for text in ("One?", "Two?"):
        before = writer.record
        writer.exchange(text)
        entries = list(writer.record.entries(before.length))
        page, head = page_of(head, before, writer.record, entries, text)
        pages.append(page)
        heads.append(head)

    cut = merge(pages).until(heads[0].seq)
    assert cut.entries(OPENAI) == pages[0].entries(OPENAI)

    loading = Loading(heads[0])
    loading.add(merge(pages))
    root = loading.record("c0", hansard.dialect).start.root
    assert [entry.seq for entry in root.entries_of(1)] == list(range(heads[0].seq))
    assert [turn.number for turn in root.turns()] == [1]
    assert root.entries_of(2) == ()
    assert any([isinstance(entry, TurnBegin) for entry in root.entries_of(1)])
