"""A conversation that is kept as pages is the conversation that was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import hansard
from hansard.record.bodies import Cutter, digests_in, filled
from hansard.record.entries import Rewind, encode_entries
from hansard.record.loading import Loading, entries_in, replay
from hansard.record.pages import Head, Page, merge, page_of
from hansard.record.record import Record
from tests.conftest import scale
from tests.property.test_record import STEPS, Play, Step, snapshot
from tests.support.conversations import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hansard.dialects.dialect import Dialect
    from hansard.record.entries import Entry


CUTTER = Cutter.of("u7", 24)
"""Cuts what is longer than any name of a field."""


class Shelf:
    """Pages, cut, with what was cut out of them; and the head that says what they come to."""

    def __init__(self, dialect: Dialect) -> None:
        self.head = Head("i0", dialect.name)
        self.pages: list[Page] = []
        self.bodies: dict[bytes, bytes] = {}

    def put(self, before: Record, after: Record, entries: Sequence[Entry]) -> None:
        page, self.head = page_of(self.head, before, after, entries, f"c{before.length}")
        cut, bodies = CUTTER.cut(page)
        assert filled(cut, bodies) == page
        self.bodies.update(bodies)
        self.pages.append(cut)

    def whole(self) -> list[Page]:
        for page in self.pages:
            assert {*page.bodies} == {*digests_in(page)}
        return [filled(page, self.bodies) for page in self.pages]

    def merge(self, first: int, count: int) -> None:
        """Make one page of several, but for those with which a stretch begins."""
        some = self.pages[first : first + 1]
        for page in self.pages[first + 1 : first + count]:
            if page.starts:
                break
            some.append(page)
        if some:
            self.pages[first : first + len(some)] = [merge(some)]

    def needed(self) -> list[Page]:
        return [
            page
            for page in self.whole()
            if any([page.first < end and page.next > start for start, end in self.head.spans])
        ]

    def load(self) -> Record:
        loading = Loading(self.head)
        for page in self.needed():
            loading.add(page)
        return loading.record("c0", hansard.dialect)

    def replay(self, dialect: Dialect) -> Record:
        return replay("c0", dialect, entries_in(self.whole(), dialect))


class ShelvedPlay(Play):
    """The twin is appended to pages now and then, and goes on from what they say."""

    def __init__(self, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.shelf = Shelf(dialect)
        self.shelved = self.twin

    def put(self, entry: Entry) -> None:
        if isinstance(entry, Rewind):
            self.append()
        super().put(entry)
        if isinstance(entry, Rewind):
            self.append()

    def append(self) -> None:
        """Append what is new."""
        entries = list(self.twin.entries(self.shelved.length))
        if entries:
            self.shelf.put(self.shelved, self.twin, entries)
        self.shelved = self.twin

    def rewind(self, step: Step) -> None:
        self.append()
        self.twin = self.shelved = self.shelf.replay(self.dialect)
        super().rewind(step)

    def fork(self, step: Step) -> None:
        """Append, and merge some pages."""
        self.append()
        count = len(self.shelf.pages)
        self.shelf.merge(step.number % (count + 1), step.number // 7 % 9 + 1)

    def reload(self, step: Step) -> None:  # noqa: ARG002 - as all steps
        self.append()
        self.twin = self.shelved = self.shelf.load()
        replayed = self.shelf.replay(self.dialect)
        assert encode_entries(list(replayed.entries())) == encode_entries(
            list(self.record.entries())
        )
        assert snapshot(replayed) == snapshot(self.record)


SIGN = "~hansard-body:" + "0a" * 32

OFTEN = st.one_of(
    STEPS,
    st.builds(
        Step,
        st.sampled_from(["said", "go_on", "slice", "attempt", "compact"]),
        st.integers(0, 999),
        st.sampled_from(['a "long" \\ text \ud83d ' * 3, SIGN, f'{{"nested":"{SIGN}"}}', "x" * 24]),
        st.just(["a"]),
    ),
    st.builds(
        Step, st.sampled_from(["reload", "fork"]), st.integers(0, 999), st.just(""), st.just(["a"])
    ),
)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_is_loaded_from_pages_goes_on_as_what_never_was_away(dialect: Dialect) -> None:
    @settings(max_examples=scale(15, 200), report_multiple_bugs=False)
    @given(st.lists(OFTEN, min_size=15, max_size=50))
    def play(steps: Sequence[Step]) -> None:
        game = ShelvedPlay(dialect)
        for step in steps:
            note(repr(step))
            do: Callable[[Step], None] = getattr(game, step.kind)
            do(step)
            game.check(step)

    play()
