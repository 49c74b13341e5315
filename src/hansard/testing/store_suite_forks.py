"""What a store promises of forks, and of what is deleted."""

from __future__ import annotations

from functools import partial
from unittest import SkipTest

import msgspec

from ..errors import NoSuchConversation, RevisionConflict
from ..stores.store import Metadata
from .store_suite import StoreSuite, expect, expect_conversation, refused
from .store_talk import Talk

__all__ = ["DeletionChecks", "ForkChecks"]

_TEXT = "The quick brown fox. " * 100


class ForkChecks(StoreSuite):
    """Conversations that share what was said before they parted."""

    def test_a_fork_has_what_was_said_before_and_goes_its_own_way(self) -> None:
        """From every point between two turns; neither notices the other."""
        store, talk = self.opened(), Talk()
        for number in range(4):
            talk.turn(f"{number}").to(store)
        forks = []
        for stand in range(1, 5):
            fork = talk.fork(f"fork {stand}", stand)
            receipt = store.fork(talk.name, fork.name, fork.head)
            expect(receipt.revision == fork.head.revision, f"{fork.head.revision}", receipt)
            expect_conversation(store, fork)
            forks.append(fork)
        for fork in forks:
            talk.turn("on").to(store)
            fork.turn("elsewhere").to(store)
            fork.turn("and further").to(store)
        for each in (talk, *forks):
            expect_conversation(store, each)

    def test_a_fork_stays_when_what_it_parted_from_is_made_one_page(self) -> None:
        """Its parting point is in the middle of that page then; and it is merged itself."""
        store, talk = self.opened(), Talk()
        for number in range(10):
            talk.turn(f"{number} {_TEXT}").to(store)
        forks = [talk.fork(f"fork {stand}", stand) for stand in (3, 7, 10)]
        for fork in forks:
            store.fork(talk.name, fork.name, fork.head)
        for number in range(60):
            talk.turn(f"on {number} {_TEXT}").to(store)
        for fork in forks:
            expect_conversation(store, fork)
            for number in range(60):
                fork.turn(f"elsewhere {number} {_TEXT}").to(store)
            expect_conversation(store, fork)
            fork.rewind(fork.stands[0][1].seq - 4).to(store)
            expect_conversation(store, fork)
        expect_conversation(store, talk)

    def test_a_fork_can_be_forked(self) -> None:
        """Before and after the point where it parted itself, and many times over."""
        store, talk = self.opened(), Talk()
        for number in range(3):
            talk.turn(f"{number}").to(store)
        line = [talk]
        for number in range(12):
            fork = line[-1].fork(f"fork {number}", -1 - number % 2)
            store.fork(line[-1].name, fork.name, fork.head)
            fork.turn(f"in fork {number}").to(store)
            line.append(fork)
        for fork in line:
            expect_conversation(store, fork)

    def test_a_rewound_conversation_is_forked_as_it_stood(self) -> None:
        """Also from what was rewound meanwhile: it is on the log all the same."""
        store, talk = self.opened(), Talk()
        for number in range(3):
            talk.turn(f"{number}").to(store)
        talk.rewind(4).to(store)
        talk.turn("another way").to(store)
        for stand in range(1, 6):
            fork = talk.fork(f"fork {stand}", stand)
            store.fork(talk.name, fork.name, fork.head)
            fork.turn().to(store)
            expect_conversation(store, fork)

    def test_a_fork_made_again_changes_nothing_and_gives_the_same_receipt(self) -> None:
        """Whatever has happened since."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        fork = talk.fork("a fork")
        first_head = fork.head
        receipt = store.fork(talk.name, fork.name, first_head)
        expect(store.fork(talk.name, fork.name, first_head) == receipt, f"{receipt} again")
        fork.turn().to(store)
        expect(store.fork(talk.name, fork.name, first_head) == receipt, f"{receipt} again")
        expect_conversation(store, fork)

    def test_a_fork_takes_no_name_that_is_taken(self) -> None:
        """By another conversation, another fork, or that which it parts from."""
        store, talk, other = self.opened(), Talk(), Talk("another")
        talk.turn().to(store)
        other.turn().to(store)
        for name in (talk.name, other.name):
            fork = talk.fork(name)
            refused(
                RevisionConflict,
                partial(store.fork, talk.name, fork.name, fork.head),
                f"the name {name!r}, which is taken",
            )
        expect_conversation(store, talk)
        expect_conversation(store, other)

    def test_a_fork_does_not_part_from_what_is_not_there(self) -> None:
        """From no conversation, or from beyond its end."""
        store, talk = self.opened(), Talk()
        fork = talk.fork("a fork")
        refused(
            NoSuchConversation,
            lambda: store.fork("nobody", fork.name, fork.head),
            "a fork of nothing",
        )
        talk.turn().to(store)
        beyond = msgspec.structs.replace(talk.fork("a fork").head, seq=5, spans=((0, 5),))
        refused(
            RevisionConflict,
            lambda: store.fork(talk.name, fork.name, beyond),
            "a fork from beyond the end",
        )
        expect(store.head(fork.name) is None, "no fork", store.head(fork.name))

    def test_a_fork_is_not_described_by_what_it_parted_from(self) -> None:
        """It is another conversation: perhaps of another user."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        store.describe(talk.name, Metadata("Fox", "u7", ("red",)))
        fork = talk.fork("a talk's fork")
        store.fork(talk.name, fork.name, fork.head)
        [_, found] = store.list(prefix="a talk").conversations
        expect(found.metadata == Metadata(), "no metadata", found)


class DeletionChecks(StoreSuite):
    """Deleting."""

    def test_what_is_deleted_is_gone(self) -> None:
        """At once, with its metadata; doing it twice does no harm."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        store.describe(talk.name, Metadata("Fox"))
        for _ in range(2):
            store.delete(talk.name)
            expect(store.head(talk.name) is None, "no head", store.head(talk.name))
            expect(store.read(talk.name) is None, "nothing to read")
            expect(store.list().conversations == (), "nothing listed", store.list())
            refused(NoSuchConversation, lambda: store.pages(talk.name), "what was deleted")

    def test_a_name_is_free_again(self) -> None:
        """Who makes it anew finds nothing of what was there."""
        store, old, new = self.opened(), Talk(), Talk()
        old.turn(turn_id="t1").to(store)
        store.describe(old.name, Metadata("Fox"))
        store.delete(old.name)
        new.turn("new").to(store)
        expect_conversation(store, new)
        [found] = store.list().conversations
        expect(found.metadata == Metadata(), "no metadata", found)

    def test_what_forks_share_stays_until_they_are_deleted(self) -> None:
        """In any order."""
        for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1)):
            store, line = self.opened(), self.family()
            for place, number in enumerate(order):
                store.delete(line[number].name)
                for left in order[place + 1 :]:
                    expect_conversation(store, line[left])
                    line[left].turn(_TEXT).to(store)
                    expect_conversation(store, line[left])

    def test_a_new_conversation_of_a_deleted_name_is_not_what_forks_share(self) -> None:
        """They go on with what was deleted."""
        store, (talk, fork, _) = self.opened(), self.family()
        store.delete(talk.name)
        new = Talk(talk.name)
        for number in range(5):
            new.turn(f"new {number}").to(store)
        expect_conversation(store, new)
        expect_conversation(store, fork)
        store.delete(new.name)
        expect_conversation(store, fork)

    def test_nothing_is_left_of_what_nobody_reaches(self) -> None:
        """Counted as the store counts; skipped where it does not say how."""
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
            store = self.opened()
            before = self.counted(store)
            if before is None:
                raise SkipTest("the suite is not told how much is kept: define size(store)")
            line = self.family()
            for number in order:
                store.delete(line[number].name)
            after = self.counted(store)
            expect(after == before, f"a size of {before}, as before", after)

    def family(self) -> list[Talk]:
        """A conversation, a fork, and a fork's fork; all have gone on since they parted."""
        store, talk = self._stores[-1], Talk("the first")
        for number in range(5):
            talk.turn(f"{number} {_TEXT}").to(store)
        fork = talk.fork("its fork", 3)
        store.fork(talk.name, fork.name, fork.head)
        fork.turn("elsewhere").to(store)
        other = fork.fork("its fork's fork")
        store.fork(fork.name, other.name, other.head)
        for each in (talk, fork, other):
            each.turn(f"on {_TEXT}", turn_id="on").to(store)
        return [talk, fork, other]
