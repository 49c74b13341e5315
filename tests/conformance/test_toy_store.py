"""The store suite passes an honest store, and fails each store that breaks a promise."""

# ruff: noqa: ARG002 -- a broken store does not heed what it is told

from __future__ import annotations

import asyncio
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from hansard.errors import Busy, LeaseLost, RevisionConflict
from hansard.record.bodies import Cutter
from hansard.record.loading import Loading
from hansard.record.pages import Revision
from hansard.stores.memory import MemoryStore, _Bodies
from hansard.stores.rules import conflict
from hansard.stores.store import Hold, Listing, Metadata, Receipt
from hansard.stores.threads import AsyncOver, async_over
from hansard.testing import (
    AsyncStoreConformance,
    StoreConformance,
    check_async_store,
    check_store,
)
from tests.conformance.toy_store import Place, ToyStore, ToyTransaction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hansard.record.pages import Head, Page
    from hansard.stores.store import AsyncStore, Durability, Store


class TestToyStore(StoreConformance):
    """As a third party would write it."""

    kind = ToyStore

    def open(self, place: Path) -> ToyStore:
        return self.kind(place)

    def size(self, store: Store) -> int | None:
        assert isinstance(store, ToyStore)
        return int(repr(store.kept).split()[3])

    def tool_writes(self, connection: object) -> None:
        assert isinstance(connection, list)
        connection.append("written by a tool")

    def tool_wrote(self, store: Store) -> bool:
        assert isinstance(store, ToyStore)
        return store.place.written == ["written by a tool"]


class TestToyStoreUnderAsyncio(AsyncStoreConformance):
    """In worker threads."""

    async def open(self, place: Path) -> AsyncStore:
        return async_over(ToyStore(place))

    async def tool_writes(self, connection: object) -> None:
        assert isinstance(connection, list)
        connection.append("written by a tool")


# -- stores that break one promise each, and the check that must notice --------------------------


class TakesAnyPlace(ToyStore):
    """Says that it is done, whatever has been appended meanwhile."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        try:
            return super().append(conversation, page, head, **more)
        except RevisionConflict:
            return Receipt(head.revision)


class TakesAnyIncarnation(ToyStore):
    """Looks at the length alone."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        there = self.head(conversation)
        if there is not None and there.seq == page.first:
            head = replace(head, incarnation=there.incarnation)
        return super().append(conversation, page, head, **more)


class MixesUpNames(ToyStore):
    """Files under names without spaces at the end, in small letters."""

    def append(self, conversation: str, *args: Any, **more: Any) -> Receipt:
        return super().append(conversation.strip().lower(), *args, **more)

    def head(self, conversation: str) -> Head | None:
        return super().head(conversation.strip().lower())

    def read(self, conversation: str) -> Loading | None:
        return super().read(conversation.strip().lower())


class KnowsNoCommits(ToyStore):
    """Refuses what it has."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        there = self.head(conversation)
        if there is not None and there.seq > page.first:
            expected = Revision(head.incarnation, page.first)
            raise conflict(conversation, expected, there.revision)
        return super().append(conversation, page, head, **more)


class KnowsTheLastCommitAlone(ToyStore):
    """Forgets what is further back."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        there = self.head(conversation)
        if there is not None and there.seq > page.next:
            expected = Revision(head.incarnation, page.first)
            raise conflict(conversation, expected, there.revision)
        return super().append(conversation, page, head, **more)


class AsksForTheLeaseFirst(ToyStore):
    """Refuses what it has, because somebody else is at work."""

    def append(
        self, conversation: str, *args: Any, hold: Hold | None = None, **more: Any
    ) -> Receipt:
        if hold is not None and self.head(conversation) is not None:
            self.lease(conversation, hold)
        return super().append(conversation, *args, hold=hold, **more)


class SharesLeases(ToyStore):
    """Gives everybody the lease."""

    def lease(self, conversation: str, hold: Hold) -> int:
        try:
            return super().lease(conversation, hold)
        except Busy as busy:
            return super().lease(conversation, replace(hold, owner=busy.owner))


class AppendsWithoutALease(ToyStore):
    """Looks at the place alone."""

    def append(self, *args: Any, hold: Hold | None = None, **more: Any) -> Receipt:
        try:
            return super().append(*args, hold=hold, **more)
        except LeaseLost:
            return super().append(*args, **more)


class KeepsLeasesTooLong(ToyStore):
    """Renews what nobody held on to."""

    def lease(self, conversation: str, hold: Hold) -> int:
        try:
            return super().lease(conversation, hold)
        except LeaseLost:
            return super().lease(conversation, replace(hold, fence=None))


class LosesTheLastPage(ToyStore):
    """Gives all pages but one."""

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        return super().pages(conversation, after=after)[:-1]


class NeverMerges(ToyStore):
    """Keeps every append by itself."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        return super().append(conversation, replace(page, alone=True), head, **more)


class MergesAll(ToyStore):
    """Overlooks where a stretch begins, and what stands alone."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        page = replace(page, starts=False, alone=False)
        return super().append(conversation, page, head, **more)


class ForgetsTurns(ToyStore):
    """Does not write their ids down."""

    def append(self, *args: Any, turn_id: str | None = None, **more: Any) -> Receipt:
        return super().append(*args, **more)


class KnowsTurnsBesideForks(ToyStore):
    """Asks only what a fork parted from, about all that is there."""

    def find(self, conversation: str, turn_id: str) -> int | None:
        if conversation != "a talk" and turn_id == "three":
            return super().find("a talk", turn_id)
        return super().find(conversation, turn_id)


class ForksTheEnd(ToyStore):
    """Shares all there is."""

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        there = self.head(conversation)
        if there is not None:
            head = replace(there, incarnation=head.incarnation)
        return super().fork(conversation, new, head)


class ForksOnce(ToyStore):
    """Refuses a fork that it made."""

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        there = self.head(new)
        if there is not None:
            raise conflict(new, head.revision, there.revision)
        return super().fork(conversation, new, head)


class ForksWithMetadata(ToyStore):
    """Gives away who the other's user is."""

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        receipt = super().fork(conversation, new, head)
        for each in self.list(prefix=conversation).conversations[:1]:
            self.describe(new, each.metadata)
        return receipt


class DeletesForksToo(ToyStore):
    """Takes along what others share."""

    def delete(self, conversation: str) -> None:
        names = {each.conversation for each in self.list(prefix="its fork").conversations}
        for name in (conversation, *(names if conversation == "the first" else ())):
            super().delete(name)


class KeepsWhatNobodyReaches(ToyStore):
    """Gives what is deleted another name."""

    def delete(self, conversation: str) -> None:
        head = self.head(conversation)
        if head is not None:
            hidden = replace(head, incarnation=f"hidden {head.incarnation}")
            MemoryStore.fork(self.kept, conversation, f"\U0010ffff{id(head)}", hidden)
        super().delete(conversation)


class ListsAsADictionary(ToyStore):
    """Sorts small and capital letters together."""

    def list(self, **asked: Any) -> Listing:
        found = super().list(**asked)
        by_letter = sorted(found.conversations, key=lambda each: each.conversation.casefold())
        return replace(found, conversations=tuple(by_letter))


class ListsByPattern(ToyStore):
    """Takes a prefix for a pattern."""

    def list(self, *, prefix: str = "", **asked: Any) -> Listing:
        found = super().list(**asked)
        some = [each for each in found.conversations if fnmatch(each.conversation, f"{prefix}*")]
        return replace(found, conversations=tuple(some))


class ListsForEver(ToyStore):
    """Never says that there is no more."""

    def list(self, **asked: Any) -> Listing:
        found = super().list(**asked)
        last = found.conversations[-1].conversation if found.conversations else "z"
        return replace(found, after=last)


class FindsAnyTag(ToyStore):
    """Is content with one of them."""

    def list(self, *, where: Metadata | None = None, **asked: Any) -> Listing:
        if where is None or not where.tags:
            return super().list(where=where, **asked)
        return super().list(where=replace(where, tags=where.tags[:1]), **asked)


class KeepsNothingApart(ToyStore):
    """Has bodies in name."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.place.memory._cutter = Cutter.of("anybody", 1 << 40)  # noqa: SLF001


class KeepsBodiesByPlace(ToyStore):
    """Takes each append for another owner's."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        self.kept._cutter = Cutter.of(f"{conversation} {page.first}")  # noqa: SLF001
        return super().append(conversation, page, head, **more)


class LosesEscapes(ToyStore):
    """Spells what it keeps apart as it likes."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        if page.size > 1000:
            page = replace(page, body=page.body.replace(b"\\ud83d", b"?"))
        return super().append(conversation, page, head, **more)


class WithBodies(ToyStore):
    """Keeps them in a way of its own."""

    kind = _Bodies

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        if type(self.place.memory._bodies) is _Bodies:  # noqa: SLF001
            self.place.memory._bodies = self.kind()  # noqa: SLF001


class NeverLetsGo(WithBodies):
    """Keeps bodies for ever."""

    class kind(_Bodies):  # noqa: N801
        def release(self, pages: Sequence[Page]) -> None:
            pass


class LetsGoTooEarly(WithBodies):
    """Counts who refers to one as one."""

    class kind(_Bodies):  # noqa: N801
        def release(self, pages: Sequence[Page]) -> None:
            for page in pages:
                for digest in page.bodies:
                    self._contents.pop(digest, None)


class ForgetsWhoIsMadeOne(WithBodies):
    """Counts those that were made one, and what became of them."""

    class kind(_Bodies):  # noqa: N801
        def release(self, pages: Sequence[Page]) -> None:
            if len(pages) < 3:
                super().release(pages)


class CountsWhatIsRefused(ToyStore):
    """Keeps bodies before it looks where they belong."""

    def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        self.kept._bodies.keep(*self.kept._cutter.cut(page))  # noqa: SLF001
        return super().append(conversation, page, head, **more)


class ForgetsWhenItIsOpened(ToyStore):
    """Claims to last."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.place = Place()


class KeepsLeasesToItself(ToyStore):
    """Writes them down nowhere."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.leases: dict[str, tuple[int, str]] = {}

    def lease(self, conversation: str, hold: Hold) -> int:
        fence, owner = self.leases.get(conversation, (0, hold.owner))
        if owner != hold.owner:
            raise Busy("taken", owner=owner)
        self.leases[conversation] = (fence + 1, hold.owner)
        return fence + 1


class WorksWhenClosed(ToyStore):
    """Goes on and on."""

    def close(self) -> None:
        pass


class WritesAtOnce(ToyStore):
    """Has transactions in name."""

    class Begun(ToyTransaction):
        def append(self, *args: Any, **more: Any) -> Receipt:
            return self.place.memory.append(*args, **more)

    def begin(self) -> ToyTransaction:
        return self.Begun(self.place)


class LosesWhatToolsWrote(ToyStore):
    """Makes one half of a transaction."""

    class Begun(ToyTransaction):
        def commit(self) -> None:
            self.said = []
            super().commit()

    def begin(self) -> ToyTransaction:
        return self.Begun(self.place)


_NOTICED = {
    TakesAnyPlace: (
        "an_append_at_an_earlier_place_is_a_conflict_and_changes_nothing",
        "an_append_at_a_later_place_is_a_conflict",
        "a_conversation_is_made_once",
        "another_append_at_a_known_place_is_a_conflict",
        "of_many_who_make_a_conversation_one_makes_it",
    ),
    TakesAnyIncarnation: ("an_append_to_another_of_the_same_name_is_a_conflict",),
    MixesUpNames: ("any_text_is_a_name",),
    KnowsNoCommits: (
        "an_append_made_again_changes_nothing_and_gives_the_same_receipt",
        "an_append_is_known_when_the_store_is_opened_again",
    ),
    KnowsTheLastCommitAlone: ("an_append_is_known_after_others_and_after_they_were_made_one",),
    AsksForTheLeaseFirst: (
        "an_append_is_known_before_a_lease_is_asked_for",
        "a_conflict_comes_before_the_lease_and_takes_none",
    ),
    SharesLeases: ("only_one_has_the_lease", "of_many_who_take_a_lease_one_has_it"),
    AppendsWithoutALease: ("a_lease_that_ran_out_can_be_taken_and_is_lost",),
    KeepsLeasesTooLong: ("a_lease_is_held_on_to_by_its_owner_with_its_fence_alone",),
    LosesTheLastPage: ("all_pages_are_given_in_order_without_gap",),
    NeverMerges: ("a_long_conversation_is_whole_and_its_pages_few",),
    MergesAll: (
        "where_a_stretch_begins_a_page_begins",
        "a_page_that_stands_alone_stays_as_it_is",
    ),
    ForgetsTurns: ("a_turn_is_found_by_its_id",),
    KnowsTurnsBesideForks: ("a_fork_knows_the_turns_before_it_parted",),
    ForksTheEnd: ("a_fork_has_what_was_said_before_and_goes_its_own_way",),
    ForksOnce: ("a_fork_made_again_changes_nothing_and_gives_the_same_receipt",),
    ForksWithMetadata: ("a_fork_is_not_described_by_what_it_parted_from",),
    DeletesForksToo: ("what_forks_share_stays_until_they_are_deleted",),
    KeepsWhatNobodyReaches: ("nothing_is_left_of_what_nobody_reaches",),
    ListsAsADictionary: ("conversations_are_listed_by_name_with_where_they_are",),
    ListsByPattern: ("a_prefix_is_text_and_no_pattern",),
    ListsForEver: ("a_listing_goes_on_where_it_ended",),
    FindsAnyTag: ("conversations_are_found_by_what_is_known_of_them",),
    LosesEscapes: ("what_is_long_is_given_back_as_it_was_said",),
    KeepsNothingApart: ("what_is_long_is_kept_once",),
    KeepsBodiesByPlace: (
        "what_is_long_is_kept_once",
        "a_context_that_is_written_anew_shares_what_was_there",
        "what_is_long_is_there_when_the_store_is_opened_again",
    ),
    NeverLetsGo: (
        "what_is_long_goes_with_the_last_that_refers_to_it",
        "what_no_fork_reaches_is_let_go_of",
        "of_what_many_say_and_delete_at_once_nothing_is_lost_or_left",
    ),
    LetsGoTooEarly: (
        "what_is_long_goes_with_the_last_that_refers_to_it",
        "pages_that_are_made_one_refer_to_all_that_they_did",
    ),
    ForgetsWhoIsMadeOne: ("pages_that_are_made_one_refer_to_all_that_they_did",),
    CountsWhatIsRefused: (
        "what_is_appended_again_is_not_counted_again",
        "what_is_refused_leaves_nothing",
    ),
    ForgetsWhenItIsOpened: (
        "what_was_appended_is_there_when_the_store_is_opened_again",
        "several_that_are_open_at_once_are_one_store",
    ),
    KeepsLeasesToItself: ("several_that_are_open_at_once_are_one_store",),
    WorksWhenClosed: ("a_store_is_closed_once_and_for_all",),
    WritesAtOnce: (
        "what_is_appended_in_a_transaction_is_there_when_it_is_made",
        "what_is_rolled_back_was_never_there",
    ),
    LosesWhatToolsWrote: ("what_a_tool_wrote_and_what_is_appended_are_there_together",),
}


@pytest.mark.parametrize(
    ("kind", "check"),
    [(kind, check) for kind, checks in _NOTICED.items() for check in checks],
    ids=lambda given: getattr(given, "__name__", given),
)
def test_a_broken_promise_is_noticed(kind: type[ToyStore], check: str) -> None:
    suite = TestToyStore()
    suite.kind = kind
    suite.setup_method()
    try:
        # Refused by an error of its own is as good as failed: the check did not pass.
        with pytest.raises(Exception) as failed:  # noqa: PT011 -- see above
            getattr(suite, f"test_{check}")()
    finally:
        suite.teardown_method()
    assert not isinstance(failed.value, (AttributeError, TypeError, NameError)), failed.value


def test_each_group_of_checks_can_fail() -> None:
    groups = {
        base.__name__
        for checks in _NOTICED.values()
        for check in checks
        for base in StoreConformance.__mro__
        if f"test_{check}" in vars(base)
    }
    all_groups = {base.__name__ for base in StoreConformance.__mro__ if _checks_of(base)}
    assert groups == all_groups


def _checks_of(kind: type) -> list[str]:
    return [name for name in vars(kind) if name.startswith("test_")]


class RemembersTooEarly(AsyncOver):
    """Writes down that it is done before it is."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.done: set[Revision] = set()

    async def append(self, conversation: str, page: Page, head: Head, **more: Any) -> Receipt:
        if head.revision in self.done:
            return Receipt(head.revision)
        self.done.add(head.revision)
        await asyncio.sleep(0)
        return await super().append(conversation, page, head, **more)


def test_a_half_done_append_is_noticed() -> None:
    class Suite(AsyncStoreConformance):
        async def open(self, place: Path) -> AsyncStore:
            return RemembersTooEarly(MemoryStore())

    suite = Suite()
    suite.setup_method()
    try:
        with pytest.raises((AssertionError, RevisionConflict)):
            suite.test_an_append_that_is_cancelled_is_made_or_not_and_can_be_made_again()
    finally:
        suite.teardown_method()


# -- without pytest ------------------------------------------------------------------------------


def test_the_suite_runs_without_pytest() -> None:
    check_store(ToyStore)


def test_the_suite_runs_without_pytest_on_an_asynchronous_store() -> None:
    async def open_toy(place: Path) -> AsyncStore:
        return async_over(ToyStore(place))

    check_async_store(open_toy)


def test_all_that_failed_is_told_with_what_was_promised() -> None:
    with pytest.raises(ExceptionGroup) as failed:
        check_store(ForgetsTurns)
    notes = {note for error in failed.value.exceptions for note in error.__notes__}
    assert "in the check that a turn is found by its id" in notes
    assert len(notes) < 10


def test_what_does_not_last_need_not_be_there_again() -> None:
    class Passing(ForgetsWhenItIsOpened):
        @property
        def durability(self) -> Durability:
            return "none"

    check_store(Passing)
