"""What a store promises of reading: pages, how they are merged, and turns by their id."""

from __future__ import annotations

from unittest import SkipTest

import msgspec

from ..errors import NoSuchConversation
from .store_suite import StoreSuite, expect, expect_conversation, refused
from .store_talk import Talk

__all__ = ["ReadingChecks", "TurnChecks"]

_TEXT = "The quick brown fox. " * 100


class ReadingChecks(StoreSuite):
    """Reading what was appended."""

    def test_a_long_conversation_is_whole_and_its_pages_few(self) -> None:
        """Small pages that follow each other become one."""
        store, talk = self.opened(), Talk()
        for number in range(150):
            talk.turn(f"{number} {_TEXT}").to(store)
        expect_conversation(store, talk)
        if not self.merges:
            raise SkipTest("this store keeps each append by itself")
        count = len(store.pages(talk.name))
        expect(count <= 150 / 3, "pages that were made one", f"{count} pages")

    def test_all_pages_are_given_in_order_without_gap(self) -> None:
        """From any entry on, and those before not."""
        store, talk = self.opened(), Talk()
        for number in range(60):
            talk.turn(f"{number} {_TEXT}").to(store)
        for after in (0, 1, 4, 100, 236, 239, 240, 1000):
            pages = store.pages(talk.name, after=after)
            expect(all(page.next > after for page in pages), f"pages after {after}", pages)
            begins = pages[0].first if pages else talk.head.seq
            expect(begins <= min(after, talk.head.seq), f"a page with entry {after}", begins)
            seqs = [page.first for page in pages[1:]], [page.next for page in pages[:-1]]
            expect(seqs[0] == seqs[1], "pages that follow each other", seqs)
            ends = pages[-1].next if pages else talk.head.seq
            expect(ends == talk.head.seq, "pages up to the end", ends)

    def test_pages_of_nothing_are_refused(self) -> None:
        """An empty log could be taken for a conversation that has just begun."""
        store = self.opened()
        refused(NoSuchConversation, lambda: store.pages("nobody"), "no conversation")

    def test_a_rewound_conversation_is_read_without_what_was_cut(self) -> None:
        """At the beginning, in the middle of what became one page, and at the end."""
        store, talk = self.opened(), Talk()
        for number in range(60):
            talk.turn(f"{number} {_TEXT}").to(store)
        for to in (236, 120, 4, 0):
            talk.rewind(to).to(store)
            expect_conversation(store, talk)
            talk.turn(f"after {to}").to(store)
            expect_conversation(store, talk)

    def test_a_compacted_conversation_is_read_from_its_summary_on(self) -> None:
        """What stands for everything is a page of its own, before which nothing is read."""
        store, talk = self.opened(), Talk()
        for number in range(40):
            talk.turn(f"{number} {_TEXT}").to(store)
        talk.compact("They spoke of a fox.").to(store)
        expect_conversation(store, talk)
        for number in range(40):
            talk.turn(f"{number} {_TEXT}").to(store)
        expect_conversation(store, talk)

    def test_where_a_stretch_begins_a_page_begins(self) -> None:
        """A page that says `starts` is never joined to what is before it."""
        store, talk = self.opened(), Talk()
        starts: list[int] = []
        for number in range(8):
            for _ in range(number + 1):
                talk.turn(_TEXT * 5).to(store)
            starts.append(talk.head.seq)
            half = talk.stands[len(talk.stands) // 2][1].seq
            talk.rewind(half if number % 2 else 0).to(store)
        for _ in range(20):
            talk.turn(_TEXT * 5).to(store)
        firsts = {page.first for page in store.pages(talk.name)}
        expect(firsts >= set(starts), f"pages that begin with {starts}", sorted(firsts))
        expect_conversation(store, talk)

    def test_a_page_that_stands_alone_stays_as_it_is(self) -> None:
        """Nobody can see what is in it: its bytes are those that were appended."""
        store, talk = self.opened(), Talk()
        alone = []
        for number in range(60):
            made = talk.turn(f"{number} {_TEXT}")
            if number % 5 == 0:
                page = msgspec.structs.replace(made.page, alone=True)
                made = msgspec.structs.replace(made, page=page)
                alone.append(page)
            made.to(store)
        found = [page for page in store.pages(talk.name) if page.alone]
        expect(found == alone, "the pages as they were appended", found)
        expect_conversation(store, talk)

    def test_big_and_small_messages_are_kept_beside_each_other(self) -> None:
        """A single message can be larger than many pages."""
        store, talk = self.opened(), Talk()
        for size in (1, 70_000, 10, 2_000_000, 100, 65_000, 10):
            talk.turn("x" * size, "y" * (size // 2 + 1)).to(store)
            expect_conversation(store, talk)

    def test_a_loaded_conversation_goes_on(self) -> None:
        """Appends of one who loaded it follow on those of one who never did."""
        store, talk = self.opened(), Talk()
        talk.turn(_TEXT).to(store)
        for number in range(30):
            loading = store.read(talk.name)
            if loading is None:
                raise AssertionError("expected the conversation; found none")
            talk = Talk.loaded(talk.name, loading)
            talk.turn(f"{number} {_TEXT}").to(store)
            expect_conversation(store, talk)


class TurnChecks(StoreSuite):
    """Turns by the id that their caller chose."""

    def test_a_turn_is_found_by_its_id(self) -> None:
        """Wherever it began, also after merging."""
        store, talk = self.opened(), Talk()
        began = {}
        for number in range(80):
            turn_id = f"turn's {number} ü" if number % 3 else ""
            if turn_id:
                began[turn_id] = talk.head.seq
            talk.turn(f"{number} {_TEXT}", turn_id=turn_id).to(store)
        for turn_id, seq in began.items():
            self.expect_known(talk.name, turn_id, seq)

    def test_a_turn_that_nobody_named_is_not_found(self) -> None:
        """Nor one of another conversation, nor one in other letters."""
        store, talk, other = self.opened(), Talk(), Talk("another")
        talk.turn(turn_id="t1").to(store)
        other.turn(turn_id="T1").to(store)
        for name, turn_id in ((talk.name, "T1"), (talk.name, "t"), (other.name, "t1")):
            self.expect_known(name, turn_id, None)
        self.expect_known("nobody", "t1", None)

    def test_of_turns_with_one_id_the_last_is_found(self) -> None:
        """Ids are the caller's; the record has all of them."""
        store, talk = self.opened(), Talk()
        for _ in range(3):
            seq = talk.head.seq
            talk.turn(turn_id="again").to(store)
            self.expect_known(talk.name, "again", seq)

    def test_an_append_made_again_begins_no_turn(self) -> None:
        """It changes nothing."""
        store, talk = self.opened(), Talk()
        first = talk.turn(turn_id="t1")
        first.to(store)
        talk.turn(turn_id="t2").to(store)
        first.to(store)
        self.expect_known(talk.name, "t1", 0)
        self.expect_known(talk.name, "t2", 4)

    def test_a_refused_append_begins_no_turn(self) -> None:
        """Nothing of it is there."""
        store, talk, other = self.opened(), Talk(), Talk()
        talk.turn().to(store)
        other.turn()
        try:
            other.turn(turn_id="lost").to(store)
        except Exception:  # noqa: BLE001 -- how it is refused is for others to check
            self.expect_known(talk.name, "lost", None)
        else:
            raise AssertionError("expected an append to another conversation to be refused")

    def test_a_fork_knows_the_turns_before_it_parted(self) -> None:
        """And its own, and not those that came after it had parted."""
        store, talk = self.opened(), Talk()
        for turn_id in ("one", "two", "one"):
            talk.turn(turn_id=turn_id).to(store)
        fork = talk.fork("a fork", 2)
        store.fork(talk.name, fork.name, fork.head)
        talk.turn(turn_id="three").to(store)
        fork.turn(turn_id="four").to(store)
        grandchild = fork.fork("a fork's fork", 1)
        store.fork(fork.name, grandchild.name, grandchild.head)
        for known, found in (
            ({"one": 8, "two": 4, "three": 12, "four": None}, talk),
            ({"one": 0, "two": 4, "three": None, "four": 8}, fork),
            ({"one": 0, "two": 4, "three": None, "four": 8}, grandchild),
        ):
            for turn_id, seq in known.items():
                self.expect_known(found.name, turn_id, seq)

    def test_turns_of_what_was_deleted_are_not_found(self) -> None:
        """In another conversation of the same name."""
        store, talk, new = self.opened(), Talk(), Talk()
        talk.turn(turn_id="t1").to(store)
        store.delete(talk.name)
        new.turn().to(store)
        self.expect_known(new.name, "t1", None)

    def expect_known(self, name: str, turn_id: str, seq: int | None) -> None:
        """Fail unless a turn began there."""
        found = self._stores[-1].find(name, turn_id)
        expect(found == seq, f"turn {turn_id!r} of {name!r} at {seq}", f"{found}")
