"""What a store promises to tools that write in its database, if they can."""

from __future__ import annotations

from functools import partial
from unittest import SkipTest

from ..errors import LeaseLost, RevisionConflict
from ..stores.store import Hold, Store, Transactional
from .store_suite import StoreSuite, expect, expect_conversation, refused
from .store_talk import Talk

__all__ = ["TransactionChecks"]


class TransactionChecks(StoreSuite):
    """Transactions; skipped where a store has none."""

    def test_what_is_appended_in_a_transaction_is_there_when_it_is_made(self) -> None:
        """And not before, for anybody else."""
        store, begins, talk = self.transactional()
        there = talk.twin()
        transaction = begins.begin()
        made = talk.turn("inside", turn_id="inside")
        receipt = made.to(transaction)
        expect(receipt.revision == made.head.revision, f"{made.head.revision}", receipt)
        expect_conversation(store, there)
        transaction.commit()
        expect_conversation(store, talk)
        found = store.find(talk.name, "inside")
        expect(found == made.page.first, "its turn id", found)

    def test_what_is_rolled_back_was_never_there(self) -> None:
        """The same can be appended afterwards."""
        store, begins, talk = self.transactional()
        there = talk.twin()
        transaction = begins.begin()
        made = talk.turn("inside")
        made.to(transaction, hold=Hold("me", 60))
        transaction.rollback()
        expect_conversation(store, there)
        store.lease(talk.name, Hold("you", 60))
        made.to(store)
        expect_conversation(store, talk)

    def test_rolling_back_what_is_over_does_nothing(self) -> None:
        """Whoever cleans up need not know how it went."""
        store, begins, talk = self.transactional()
        transaction = begins.begin()
        talk.turn("inside").to(transaction)
        transaction.commit()
        transaction.rollback()
        transaction.rollback()
        expect_conversation(store, talk)
        transaction = begins.begin()
        transaction.rollback()
        transaction.rollback()
        talk.turn().to(store)
        expect_conversation(store, talk)

    def test_what_is_refused_in_a_transaction_is_refused_as_outside(self) -> None:
        """A conflict or a lost lease; nothing of the transaction is made then."""
        store, begins, talk = self.transactional()
        other = Talk()
        other.turn()
        for error, late, hold in (
            (RevisionConflict, other.turn(), None),
            (LeaseLost, talk.twin().turn(), Hold("me", 60, 7)),
        ):
            transaction = begins.begin()
            try:
                refused(error, partial(late.to, transaction, hold=hold), "an append")
            finally:
                transaction.rollback()
            expect_conversation(store, talk)

    def test_an_append_is_known_inside_and_outside(self) -> None:
        """A commit whose answer was lost is found by whoever appends again, anywhere."""
        store, begins, talk = self.transactional()
        outside = talk.turn()
        outside.to(store)
        transaction = begins.begin()
        expect(outside.to(transaction).revision == outside.head.revision, "what was made outside")
        inside = talk.turn()
        inside.to(transaction)
        transaction.commit()
        expect(inside.to(store).revision == inside.head.revision, "what was made inside")
        expect_conversation(store, talk)

    def test_what_a_tool_wrote_and_what_is_appended_are_there_together(self) -> None:
        """Both when it is made, neither when it is rolled back."""
        store, begins, talk = self.transactional()
        transaction = begins.begin()
        try:
            self.writing(store, transaction.connection)
            talk.twin().turn().to(transaction)
        finally:
            transaction.rollback()
        expect(not self.written(store), "nothing written")
        expect_conversation(store, talk)
        transaction = begins.begin()
        self.writing(store, transaction.connection)
        talk.turn().to(transaction)
        transaction.commit()
        expect(self.written(store), "what the tool wrote")
        expect_conversation(store, talk)

    def transactional(self) -> tuple[Store, Transactional, Talk]:
        """Open the store, with a conversation in it."""
        store = self.opened()
        if not isinstance(store, Transactional):
            raise SkipTest("this store has no transactions")
        talk = Talk()
        talk.turn().to(store)
        return store, store, talk
