"""What a store promises of leases."""

from __future__ import annotations

from functools import partial

from ..errors import Busy, Invalid, LeaseLost, NoSuchConversation, RevisionConflict
from ..stores.store import Hold
from .store_suite import StoreSuite, expect, expect_conversation, refused, soon
from .store_talk import Talk

__all__ = ["LeaseChecks"]

_SHORT_S = 0.01


class LeaseChecks(StoreSuite):
    """Who is at work on a conversation."""

    def test_only_one_has_the_lease(self) -> None:
        """Others hear who has it, whether they ask for it alone or with an append."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        fence = store.lease(talk.name, Hold("me", 60))
        expect(fence >= 1, "a fence from 1 on", fence)
        error = refused(Busy, lambda: store.lease(talk.name, Hold("you", 60)), "a second holder")
        expect(error.owner == "me", "who has it", error.owner)
        late = talk.turn()
        error = refused(Busy, lambda: late.to(store, hold=Hold("you", 60)), "an append of another")
        expect(error.owner == "me", "who has it", error.owner)
        late.to(store, hold=Hold("me", 60, fence))
        expect_conversation(store, talk)

    def test_an_append_takes_holds_and_lets_go_of_the_lease(self) -> None:
        """In one step with what is appended."""
        store, talk = self.opened(), Talk()
        fence = talk.turn().to(store, hold=Hold("me", 60)).fence
        expect(fence >= 1, "a fence from 1 on", fence)
        same = talk.turn().to(store, hold=Hold("me", 60, fence)).fence
        expect(same == fence, f"the fence {fence}", same)
        talk.turn().to(store, hold=Hold("me", 0, fence))
        after = talk.turn().to(store, hold=Hold("you", 60)).fence
        expect(after > fence, f"a fence above {fence}", after)
        expect_conversation(store, talk)

    def test_a_fence_is_higher_each_time_the_lease_is_taken(self) -> None:
        """After it was let go, and when its owner takes it again, which nobody can refuse."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        first = store.lease(talk.name, Hold("me", 60))
        again = store.lease(talk.name, Hold("me", 60))
        expect(again > first, f"a fence above {first}", again)
        mine = Hold("me", 60, first)
        refused(LeaseLost, lambda: store.lease(talk.name, mine), "the fence before")
        store.lease(talk.name, Hold("me", 0, again))
        other = store.lease(talk.name, Hold("you", 60))
        expect(other > again, f"a fence above {again}", other)

    def test_a_lease_is_held_on_to_by_its_owner_with_its_fence_alone(self) -> None:
        """Another owner does not have it, nor does another fence, one ahead or let go."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        fence = store.lease(talk.name, Hold("me", 60))
        same = store.lease(talk.name, Hold("me", 60, fence))
        expect(same == fence, f"the fence {fence}", same)
        made = talk.turn()
        for hold in (Hold("you", 60, fence), Hold("me", 60, fence + 1), Hold("me", 60, fence - 1)):
            refused(LeaseLost, partial(store.lease, talk.name, hold), f"{hold}")
            refused(LeaseLost, partial(made.to, store, hold=hold), f"{hold}")
        store.lease(talk.name, Hold("me", 0, fence))
        gone = Hold("me", 60, fence)
        refused(LeaseLost, lambda: store.lease(talk.name, gone), "a lease that was let go")
        made.to(store)
        expect_conversation(store, talk)

    def test_a_lease_that_ran_out_can_be_taken_and_is_lost(self) -> None:
        """Whoever had it can append nothing any more."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        fence = store.lease(talk.name, Hold("me", 60))
        store.lease(talk.name, Hold("me", _SHORT_S, fence))

        def take() -> int | None:
            try:
                return store.lease(talk.name, Hold("you", 60))
            except Busy:
                return None

        other = soon(take, "a lease that runs out")
        expect(other > fence, f"a fence above {fence}", other)
        late, mine = talk.twin(), Hold("me", 60, fence)
        refused(LeaseLost, lambda: late.turn().to(store, hold=mine), "an append too late")
        expect_conversation(store, talk)

    def test_a_lease_that_ran_out_is_lost_though_nobody_took_it(self) -> None:
        """Somebody may have taken it and let it go."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        fence = store.lease(talk.name, Hold("me", 60))
        short = Hold("me", _SHORT_S, fence)

        def lose() -> bool | None:
            try:
                store.lease(talk.name, short)
            except LeaseLost:
                return True
            return None

        soon(lose, "a lease that is lost when it is not renewed in time")
        late, mine = talk.twin(), Hold("me", 60, fence)
        refused(LeaseLost, lambda: late.turn().to(store, hold=mine), "an append too late")
        expect_conversation(store, talk)

    def test_an_append_without_a_hold_goes_by_its_place_alone(self) -> None:
        """Compare-and-set guards it; who has the lease keeps it."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        fence = store.lease(talk.name, Hold("me", 60))
        talk.turn().to(store)
        talk.turn().to(store, hold=Hold("me", 60, fence))
        expect_conversation(store, talk)

    def test_a_conflict_comes_before_the_lease_and_takes_none(self) -> None:
        """What is refused changes nothing, the lease too."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        stale = Talk()
        stale.turn()
        late = stale.turn()
        refused(RevisionConflict, lambda: late.to(store, hold=Hold("you", 60)), "a late append")
        fence = store.lease(talk.name, Hold("me", 60))
        refused(RevisionConflict, lambda: late.to(store, hold=Hold("you", 60)), "a late append")
        store.lease(talk.name, Hold("me", 60, fence))

    def test_what_is_not_there_has_no_lease(self) -> None:
        """And an append with a lease that nobody has makes nothing."""
        store, talk = self.opened(), Talk()
        hold = Hold("me", 60)
        refused(NoSuchConversation, lambda: store.lease("nobody", hold), "no conversation")
        held = Hold("me", 60, 1)
        refused(LeaseLost, lambda: talk.turn().to(store, hold=held), "a lease of nothing")
        expect(store.head(talk.name) is None, "no conversation", store.head(talk.name))

    def test_a_lease_lasts_no_time_below_nothing_or_for_ever(self) -> None:
        """That is the caller's mistake."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        for ttl_s in (-1.0, float("inf"), float("nan")):
            hold = Hold("me", ttl_s)
            refused(Invalid, partial(store.lease, talk.name, hold), f"{ttl_s} seconds")
        store.lease(talk.name, Hold("you", 60))

    def test_leases_of_different_conversations_have_nothing_to_do_with_each_other(self) -> None:
        """Nor has that of a fork with that of what it parted from."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        fork = talk.fork("a fork")
        store.lease(talk.name, Hold("me", 60))
        store.fork(talk.name, fork.name, fork.head)
        store.lease(fork.name, Hold("you", 60))
        other = Talk("another")
        other.turn().to(store, hold=Hold("they", 60))
        refused(Busy, lambda: store.lease(fork.name, Hold("me", 60)), "the fork's")
