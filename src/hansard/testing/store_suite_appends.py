"""What a store promises of appending, and of appends that are made again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ..errors import Busy, Invalid, LeaseLost, RevisionConflict
from ..record.pages import Revision
from ..stores.store import Hold
from .store_suite import StoreSuite, expect, expect_conversation, refused
from .store_talk import Talk

if TYPE_CHECKING:
    from collections.abc import Callable

    from .store_talk import Append

__all__ = ["AppendChecks", "CommitChecks"]

NAMES = (
    *("a", "A", "a ", "a/b", "..", ".", "-", "a%b", "a_b", "*", "[x]", "a\\b", "it's", '"', "a:b"),
    *("new\nline", "caf\u00e9", "cafe\u0301", "日本", "\uffee", "\U0001f600", "x" * 200),
)
"""Names that are all different, and that a careless store takes for one another, or for paths."""


class AppendChecks(StoreSuite):
    """Appending."""

    def test_a_conversation_is_kept_as_it_was_appended(self) -> None:
        """Turns, open turns, marks: head, context and log are those of the writer."""
        store, talk = self.opened(), Talk()
        says: list[Callable[[], Append]] = [
            talk.turn,
            partial(talk.begin, "half \ud83d"),
            talk.finish,
            talk.mark,
        ]
        for say in says:
            made = say()
            receipt = made.to(store)
            expect(receipt.revision == made.head.revision, f"{made.head.revision}", receipt)
            expect_conversation(store, talk)

    def test_all_dialects_are_kept(self) -> None:
        """A store does not care who said what."""
        store = self.opened()
        for name in ("openai", "openai-responses", "anthropic", "gemini"):
            talk = Talk(name, dialect=name)
            for _ in range(3):
                talk.turn().to(store)
            expect_conversation(store, talk)

    def test_what_is_not_there_is_none(self) -> None:
        """Of a conversation that nobody made there is no head and nothing to read."""
        store = self.opened()
        expect(store.head("nobody") is None, "no head", store.head("nobody"))
        expect(store.read("nobody") is None, "nothing to read", store.read("nobody"))

    def test_any_text_is_a_name(self) -> None:
        """Names are told apart by every character, and are no paths or patterns."""
        store = self.opened()
        talks = [Talk(name) for name in NAMES]
        for talk in talks:
            talk.turn(f"I am {talk.name}").to(store)
        for talk in talks:
            expect_conversation(store, talk)

    def test_an_append_at_an_earlier_place_is_a_conflict_and_changes_nothing(self) -> None:
        """Somebody else was quicker: the error says where the conversation is."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        late = talk.twin()
        talk.turn("first").to(store)
        was = late.head.revision
        error = refused(RevisionConflict, lambda: late.turn("late").to(store), "a late append")
        found = (error.expected, error.actual)
        expect(found == (was, talk.head.revision), "both revisions in the error", found)
        expect_conversation(store, talk)

    def test_an_append_at_a_later_place_is_a_conflict(self) -> None:
        """There is never a gap."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        there = talk.twin()
        talk.turn("lost")
        refused(RevisionConflict, lambda: talk.turn().to(store), "an append after a gap")
        expect_conversation(store, there)

    def test_an_append_to_nothing_is_a_conflict_with_nothing(self) -> None:
        """Only what begins with entry 0 makes a conversation."""
        store, talk = self.opened(), Talk()
        talk.turn()
        error = refused(RevisionConflict, lambda: talk.turn().to(store), "an append to nothing")
        expect(error.actual is None, "no actual revision", error.actual)
        expect(store.head(talk.name) is None, "no conversation", store.head(talk.name))

    def test_a_conversation_is_made_once(self) -> None:
        """Of two that make one of the same name the second is refused."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        refused(RevisionConflict, lambda: Talk().turn().to(store), "a second of the same name")
        expect_conversation(store, talk)

    def test_an_append_to_another_of_the_same_name_is_a_conflict(self) -> None:
        """A conversation that was deleted and made again is another one, at the same length too."""
        store, old, new = self.opened(), Talk(), Talk()
        old.turn().to(store)
        store.delete(old.name)
        new.turn().to(store)
        error = refused(RevisionConflict, lambda: old.turn().to(store), "what was deleted")
        expect(error.actual == new.head.revision, f"{new.head.revision}", error.actual)
        expect_conversation(store, new)

    def test_a_page_and_a_head_that_do_not_fit_are_invalid(self) -> None:
        """That is the caller's mistake, and changes nothing."""
        store, talk = self.opened(), Talk()
        made = talk.turn()
        odd = msgspec.structs.replace(made, head=msgspec.structs.replace(made.head, seq=9))
        refused(Invalid, lambda: odd.to(store), "a head that is not where the page ends")
        empty = msgspec.structs.replace(made.page, next=made.page.first)
        odd = msgspec.structs.replace(made, page=empty)
        refused(Invalid, lambda: odd.to(store), "a page without entries")
        expect(store.head(talk.name) is None, "no conversation", store.head(talk.name))


class CommitChecks(StoreSuite):
    """Appends that are made again, as whoever was cut off must."""

    def test_an_append_made_again_changes_nothing_and_gives_the_same_receipt(self) -> None:
        """At once, for the first page and for others."""
        store, talk = self.opened(), Talk()
        for _ in range(3):
            made = talk.turn()
            receipts = [made.to(store) for _ in range(3)]
            expect(receipts[1:] == receipts[:1] * 2, f"{receipts[0]} again", receipts)
            expect_conversation(store, talk)

    def test_an_append_is_known_after_others_and_after_they_were_made_one(self) -> None:
        """However long ago, it gives its first revision."""
        store, talk = self.opened(), Talk()
        made = [talk.turn(f"{number}" * 2000) for number in range(100)]
        for append in made:
            append.to(store)
        for append in made[::7]:
            found = append.to(store).revision
            expect(found == append.head.revision, f"{append.head.revision}", found)
        expect_conversation(store, talk)

    def test_an_append_is_known_before_a_lease_is_asked_for(self) -> None:
        """It was made: that somebody else is at work now does not matter."""
        store, talk = self.opened(), Talk()
        first, hold = talk.turn(), Hold("me", 60)
        fence = first.to(store, hold=hold).fence
        same = first.to(store, hold=hold).fence
        expect(same == fence, f"the fence {fence} again, as I have it", same)
        store.lease(talk.name, Hold("me", 0, fence))
        store.lease(talk.name, Hold("somebody", 60))
        for stale in (hold, Hold("me", 60, fence)):
            found = first.to(store, hold=stale).revision
            expect(found == first.head.revision, f"{first.head.revision}", found)
        next_one = talk.turn()
        refused(Busy, lambda: next_one.to(store, hold=hold), "an append of somebody else")
        mine = Hold("me", 60, fence)
        refused(LeaseLost, lambda: next_one.to(store, hold=mine), "a lease that is lost")

    def test_another_append_at_a_known_place_is_a_conflict(self) -> None:
        """The place alone does not make it the same, nor does the commit id alone."""
        store, talk = self.opened(), Talk()
        first = talk.turn()
        first.to(store)
        other = Talk()
        other.head = msgspec.structs.replace(other.head, incarnation=talk.head.incarnation)
        refused(RevisionConflict, lambda: other.turn().to(store), "another commit id")
        changed = msgspec.structs.replace(first.head, incarnation="another")
        moved = msgspec.structs.replace(first, head=changed)
        refused(RevisionConflict, lambda: moved.to(store), "another incarnation")
        expect_conversation(store, talk)

    def test_an_append_to_what_was_deleted_is_not_known(self) -> None:
        """It would say that something is there which is not."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        second = talk.turn()
        second.to(store)
        store.delete(talk.name)
        error = refused(RevisionConflict, lambda: second.to(store), "what was deleted")
        expect(error.expected == Revision(talk.head.incarnation, 4), "its place", error.expected)
