"""What a store promises of what is long in pages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest import SkipTest

from ..errors import RevisionConflict
from ..stores.store import Bodies, Store, Transactional
from .store_suite import StoreSuite, expect, expect_conversation, refused
from .store_talk import Talk

__all__ = ["BodyChecks"]

_WORKERS = 4
_TURNS = 12


class BodyChecks(StoreSuite):
    """Large bodies, kept once; all but the first are skipped where they stay in their pages."""

    body_bytes = 100_000
    """What is as long as this is kept apart by any store that keeps anything apart."""

    def test_what_is_long_is_given_back_as_it_was_said(self) -> None:
        """Whatever there is in it, with short ones beside it, and after pages were made one."""
        store, talk = self.opened(), Talk()
        sign = "~hansard-body:" + "0a" * 32
        for some in ("plain ", 'said "so" \\ ', "naïve 🜁\n", "half \ud83d ", f'"{sign}" '):
            talk.turn(self.long(some), "short").to(store)
            talk.turn(sign, self.long(some)).to(store)
            expect_conversation(store, talk)
        for number in range(40):
            talk.turn(f"{number} " * 1000, sign).to(store)
        expect_conversation(store, talk)
        talk.rewind(talk.stands[7][1].seq).to(store)
        expect_conversation(store, talk)
        talk.compact(self.long("summary ")).to(store)
        talk.turn().to(store)
        expect_conversation(store, talk)

    def test_what_is_long_is_kept_once(self) -> None:
        """However often it is said, by however many, and in forks."""
        store, talk, other = self.keeping(), Talk(), Talk("another")
        text = self.long()
        for each in (talk, other):
            for number in range(6):
                each.turn(text, f"{number}").to(store)
        fork = talk.fork("a fork", 3)
        store.fork(talk.name, fork.name, fork.head)
        fork.turn(text).to(store)
        self.expect_bodies(store, 1)
        fork.turn("hello", self.long("other ")).to(store)
        self.expect_bodies(store, 2)
        for each in (talk, other, fork):
            expect_conversation(store, each)

    def test_a_context_that_is_written_anew_shares_what_was_there(self) -> None:
        """As after a compaction, and a rewind to before it."""
        store, talk = self.keeping(), Talk()
        for number in range(4):
            talk.turn(f"{number}", self.long(f"{number} ")).to(store)
        before = talk.head.seq
        talk.compact("summary").to(store)
        talk.turn().to(store)
        talk.rewind(before).to(store)
        self.expect_bodies(store, 4)
        expect_conversation(store, talk)

    def test_what_is_long_goes_with_the_last_that_refers_to_it(self) -> None:
        """In whatever order they are deleted."""
        for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
            store = self.keeping()
            shared, talks = self.long(), [Talk(f"talk {number}") for number in range(3)]
            for number, talk in enumerate(talks):
                talk.turn(shared, self.long(f"{number} ")).to(store)
            for left, number in zip((3, 2, 0), order, strict=True):
                store.delete(talks[number].name)
                self.expect_bodies(store, left)

    def test_what_no_fork_reaches_is_let_go_of(self) -> None:
        """A deleted conversation keeps for its fork what that shares, and nothing more."""
        store, talk = self.keeping(), Talk()
        for number in range(3):
            talk.turn(f"{number}", self.long(f"{number} ")).to(store)
        fork = talk.fork("a fork", 2)
        store.fork(talk.name, fork.name, fork.head)
        fork.turn("elsewhere", self.long("elsewhere ")).to(store)
        store.delete(talk.name)
        self.expect_bodies(store, 3)
        expect_conversation(store, fork)
        store.delete(fork.name)
        self.expect_bodies(store, 0)

    def test_pages_that_are_made_one_refer_to_all_that_they_did(self) -> None:
        """Each to the same, or each to its own; what they refer to goes with them."""
        for count in (1, 6):
            store, talk = self.keeping(), Talk()
            for number in range(6):
                talk.turn("look", self.long(f"{number % count} ")).to(store)
            for number in range(60):
                talk.turn(f"{number} " * 700).to(store)
            self.expect_bodies(store, count)
            expect_conversation(store, talk)
            store.delete(talk.name)
            self.expect_bodies(store, 0)

    def test_what_is_appended_again_is_not_counted_again(self) -> None:
        """It goes all the same."""
        store, talk = self.keeping(), Talk()
        made = talk.turn(self.long())
        for _ in range(3):
            made.to(store)
        self.expect_bodies(store, 1)
        store.delete(talk.name)
        self.expect_bodies(store, 0)

    def test_what_is_refused_leaves_nothing(self) -> None:
        """An append that is a conflict, or that was rolled back."""
        store, talk = self.keeping(), Talk()
        talk.turn().to(store)
        late = talk.twin()
        talk.turn("on").to(store)
        made = late.turn(self.long())
        refused(RevisionConflict, lambda: made.to(store), "an append too late")
        self.expect_bodies(store, 0)
        if isinstance(store, Transactional):
            transaction = store.begin()
            talk.twin().turn(self.long()).to(transaction)
            transaction.rollback()
            self.expect_bodies(store, 0)
            transaction = store.begin()
            talk.turn(self.long()).to(transaction)
            transaction.commit()
            self.expect_bodies(store, 1)
        expect_conversation(store, talk)

    def test_what_is_long_is_there_when_the_store_is_opened_again(self) -> None:
        """And is shared with what is said from then on."""
        store, talk = self.keeping(), Talk()
        talk.turn(self.long()).to(store)
        store = self.opened_again(store)
        expect_conversation(store, talk)
        talk.turn(self.long()).to(store)
        self.expect_bodies(store, 1)
        expect_conversation(store, talk)

    def test_of_what_many_say_and_delete_at_once_nothing_is_lost_or_left(self) -> None:
        """That somebody lets go of it just when another one begins to refer to it."""
        store, text = self.keeping(), self.long()

        def work(number: int) -> None:
            for turn in range(_TURNS):
                talk = Talk(f"talk {number} {turn}")
                talk.turn(text).to(store)
                expect_conversation(store, talk)
                store.delete(talk.name)

        with ThreadPoolExecutor(_WORKERS) as threads:
            for _ in threads.map(work, range(_WORKERS)):
                pass
        self.expect_bodies(store, 0)

    def long(self, some: str = "long ") -> str:
        """A text that is to be kept apart."""
        return (some * (self.body_bytes // len(some) + 1))[: self.body_bytes]

    def keeping(self) -> Store:
        """Open the store, which has no bodies. Skips the check where they stay in their pages."""
        store = self.opened()
        if store.bodies() is None:
            raise SkipTest("this store keeps what is long in its pages")
        self.expect_bodies(store, 0)
        return store

    def expect_bodies(self, store: Store, count: int) -> None:
        """Fail unless so many are kept, each as long as those that the suite makes."""
        found = store.bodies() or Bodies()
        expect(found.count == count, f"{count} bodies kept apart", found)
        least = count * self.body_bytes
        expect(least <= found.size <= 4 * least, f"a size of {least} bytes or a few more", found)
