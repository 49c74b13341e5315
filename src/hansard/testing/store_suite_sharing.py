"""What a store promises to many at once, and to those who open it again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from unittest import SkipTest

from ..errors import Busy, Invalid, LeaseLost, RevisionConflict
from ..record.entries import Said
from ..stores.store import Hold, Metadata
from .store_suite import StoreSuite, expect, expect_conversation, log_of, refused, soon
from .store_talk import Talk

if TYPE_CHECKING:
    from ..stores.store import Store

__all__ = ["OpeningChecks", "ThreadChecks"]

_WORKERS = 4
_TURNS = 12


class ThreadChecks(StoreSuite):
    """One store, shared by threads (an asynchronous one, by tasks)."""

    def test_of_many_who_append_to_one_conversation_none_is_lost(self) -> None:
        """Each that was refused tries again; all are there once, without a gap."""
        store = self.opened()
        expect_all_said([store] * _WORKERS)

    def test_of_many_who_make_a_conversation_one_makes_it(self) -> None:
        """The others hear of it."""
        store = self.opened()
        for number in range(5):
            talks = [Talk(f"a talk {number}") for _ in range(_WORKERS)]

            def make(talk: Talk) -> bool:
                try:
                    talk.turn().to(store)
                except RevisionConflict:
                    return False
                return True

            with ThreadPoolExecutor(_WORKERS) as threads:
                made = [*threads.map(make, talks)]
            expect(made.count(True) == 1, "one that makes it", made)
            expect_conversation(store, talks[made.index(True)])

    def test_of_many_who_take_a_lease_one_has_it(self) -> None:
        """The fence is its alone."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)

        def take(owner: str) -> int | None:
            try:
                return store.lease(talk.name, Hold(owner, 60))
            except Busy:
                return None

        with ThreadPoolExecutor(_WORKERS) as threads:
            fences = [*threads.map(take, [f"owner {number}" for number in range(_WORKERS)])]
        expect(fences.count(None) == _WORKERS - 1, "one that has it", fences)

    def test_many_write_and_read_conversations_of_their_own(self) -> None:
        """None sees anything of another's."""
        store = self.opened()

        def work(number: int) -> Talk:
            talk = Talk(f"a talk {number}")
            for turn in range(_TURNS):
                talk.turn(f"{number} {turn}" * 1000).to(store)
                expect_conversation(store, talk)
            return talk

        with ThreadPoolExecutor(_WORKERS) as threads:
            talks = [*threads.map(work, range(_WORKERS))]
        for talk in talks:
            expect_conversation(store, talk)

    def test_who_reads_sees_whole_appends_only(self) -> None:
        """The head and the pages are of one moment, while others append, merge and rewind."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        over = []

        def write() -> None:
            try:
                for number in range(60):
                    talk.turn(f"{number}" * 5000).to(store)
                    if not number % 10:
                        talk.rewind(talk.stands[len(talk.stands) // 2][1].seq).to(store)
            finally:
                over.append(True)

        def look() -> int:
            seen = 0
            while not over:
                loading = store.read(talk.name)
                if loading is None:
                    raise AssertionError("expected the conversation; found none")
                record = Talk.loaded(talk.name, loading).record
                expect(record.length == loading.head.seq, "a record as its head says", record)
                expect(record.context.count == loading.head.count, "all messages", record)
                list(record.context.lines())
                expect(loading.head.seq >= seen, f"entry {seen} at least", loading.head.seq)
                seen = loading.head.seq
            return seen

        with ThreadPoolExecutor(3) as threads:
            writing, looking = threads.submit(write), [threads.submit(look) for _ in range(2)]
            writing.result()
            for each in looking:
                each.result()
        expect_conversation(store, talk)


class OpeningChecks(StoreSuite):
    """The same place, opened again, by one after the other or by several at once."""

    def test_what_was_appended_is_there_when_the_store_is_opened_again(self) -> None:
        """With everything that is known of it, and nothing else."""
        store, talk = self.opened(), Talk()
        fork = None
        for number in range(30):
            talk.turn(f"{number}" * 1000, turn_id=f"turn {number}").to(store)
            if number == 20:  # noqa: PLR2004 -- somewhere in the middle
                fork = talk.fork("a fork", 10)
                store.fork(talk.name, fork.name, fork.head)
        store.describe(talk.name, Metadata("Fox", "u7", ("red",)))
        fence = store.lease(talk.name, Hold("me", 60))
        was = store.list()
        store = self.opened_again(store)
        expect(store.list() == was, f"{was}", store.list())
        expect_conversation(store, talk)
        if fork is not None:
            expect_conversation(store, fork)
        found = store.find(talk.name, "turn 7")
        expect(found == 4 * 7, "the seventh turn", found)
        refused(Busy, lambda: store.lease(talk.name, Hold("you", 60)), "a lease from before")
        talk.turn().to(store, hold=Hold("me", 60, fence))
        expect_conversation(store, talk)

    def test_an_append_is_known_when_the_store_is_opened_again(self) -> None:
        """Whoever was cut off may be another process."""
        store, talk = self.opened(), Talk()
        made = [talk.turn(f"{number}" * 1000) for number in range(30)]
        for append in made:
            append.to(store)
        store = self.opened_again(store)
        for append in made:
            found = append.to(store).revision
            expect(found == append.head.revision, f"{append.head.revision}", found)
        expect_conversation(store, talk)

    def test_what_was_deleted_stays_deleted(self) -> None:
        """And a fence goes on rising."""
        store, talk, gone = self.opened(), Talk(), Talk("gone")
        talk.turn().to(store)
        gone.turn().to(store)
        store.delete(gone.name)
        fence = store.lease(talk.name, Hold("me", 60))
        store.lease(talk.name, Hold("me", 0, fence))
        store = self.opened_again(store)
        expect(store.head(gone.name) is None, "nothing", store.head(gone.name))
        after = store.lease(talk.name, Hold("me", 60))
        expect(after > fence, f"a fence above {fence}", after)

    def test_several_that_are_open_at_once_are_one_store(self) -> None:
        """Each sees what another has appended, at once."""
        stores, talk = self.several(), Talk()
        for number in range(12):
            talk.turn(f"{number}" * 5000, turn_id="t").to(stores[number % len(stores)])
            for store in stores:
                expect_conversation(store, talk)
        fence = stores[0].lease(talk.name, Hold("me", 60))
        refused(Busy, lambda: stores[1].lease(talk.name, Hold("you", 60)), "a second holder")
        expect(stores[1].lease(talk.name, Hold("me", 60, fence)) == fence, f"the fence {fence}")
        stores[0].delete(talk.name)
        expect(stores[1].head(talk.name) is None, "nothing", stores[1].head(talk.name))

    def test_of_many_who_append_through_stores_of_their_own_none_is_lost(self) -> None:
        """As processes do."""
        expect_all_said(self.several())

    def test_many_can_open_a_new_place_at_once(self) -> None:
        """Each finds it ready, whoever made it so."""
        self.several()[0].close()
        self.teardown_method()
        self.setup_method()
        with ThreadPoolExecutor(_WORKERS) as threads:
            opening = [threads.submit(self.opened) for _ in range(_WORKERS)]
            stores = [each.result() for each in opening]
        talk = Talk()
        for store in stores:
            talk.turn().to(store)
        expect_conversation(stores[0], talk)

    def test_a_lease_is_lost_to_one_who_opened_the_store_elsewhere(self) -> None:
        """Time is the store's own, not that of whoever asks."""
        (mine, yours, *_), talk = self.several(), Talk()
        talk.turn().to(mine)
        fence = mine.lease(talk.name, Hold("me", 60))
        mine.lease(talk.name, Hold("me", 0.01, fence))

        def take() -> int | None:
            try:
                return yours.lease(talk.name, Hold("you", 60))
            except Busy:
                return None

        soon(take, "a lease that runs out")
        hold = Hold("me", 60, fence)
        refused(LeaseLost, lambda: talk.turn().to(mine, hold=hold), "an append too late")

    def test_a_store_is_closed_once_and_for_all(self) -> None:
        """Closing it again does no harm; using it is the caller's mistake."""
        store, talk = self.opened(), Talk()
        made = talk.turn()
        store.close()
        store.close()
        refused(Invalid, lambda: made.to(store), "a store that is closed")
        refused(Invalid, lambda: store.read(talk.name), "a store that is closed")
        refused(Invalid, store.list, "a store that is closed")

    def several(self) -> list[Store]:
        """Open a place several times at once. Skips the check where a store does not last."""
        first = self.opened()
        if first.durability == "none":
            raise SkipTest("what this store keeps ends with it")
        return [first, *[self.opened() for _ in range(_WORKERS - 1)]]


def expect_all_said(stores: list[Store]) -> None:
    """Let many append to one conversation, each through its store, and count what is there."""
    talk = Talk()
    talk.turn("begin").to(stores[0])

    def work(number: int) -> None:
        store = stores[number]
        for turn in range(_TURNS):
            while not _says(store, talk.name, f"{number} {turn} {'x' * 1500}"):
                pass

    with ThreadPoolExecutor(len(stores)) as threads:
        for _ in threads.map(work, range(len(stores))):
            pass
    loading = stores[0].read(talk.name)
    if loading is None:
        raise AssertionError("expected the conversation; found none")
    talk = Talk.loaded(talk.name, loading)
    entries = log_of(stores[0], talk)
    seqs = [entry.seq for entry in entries]
    expect(seqs == [*range(talk.head.seq)], "a log without gap", seqs)
    said = [
        talk.dialect.message(bytes(entry.raw)).text.rstrip("x")
        for entry in entries
        if isinstance(entry, Said) and entry.author == "input"
    ]
    right = [f"{number} {turn} " for number in range(len(stores)) for turn in range(_TURNS)]
    expect(sorted(said) == sorted(["begin", *right]), "everything said, once", sorted(said))


def _says(store: Store, name: str, text: str) -> bool:
    """Say something where a conversation is now; False where somebody else was quicker."""
    loading = store.read(name)
    if loading is None:
        raise AssertionError("expected the conversation; found none")
    try:
        Talk.loaded(name, loading).turn(text).to(store)
    except RevisionConflict:
        return False
    return True
