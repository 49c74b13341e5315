"""What a store promises of listing conversations and describing them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..errors import Invalid, NoSuchConversation
from ..stores.store import Listed, Metadata
from .store_suite import StoreSuite, expect, expect_conversation, refused
from .store_suite_appends import NAMES
from .store_talk import Talk

if TYPE_CHECKING:
    from ..stores.store import Store

__all__ = ["ListingChecks"]

_METADATA = {
    "a": Metadata("Fox", "u1", ("red", "fast")),
    "ab": Metadata("Fox", "u2", ("red",)),
    "abc": Metadata("Dog", "u1", ("lazy",)),
    "b": Metadata("100%_'\"\\ \n naïve \U0001f600", "u1", ("red,fast", "", "a b")),
    "c": Metadata(),
}


class ListingChecks(StoreSuite):
    """Finding conversations."""

    def test_conversations_are_listed_by_name_with_where_they_are(self) -> None:
        """In the order of code points, whatever the database thinks of letters."""
        store = self.opened()
        expect(store.list().conversations == (), "nothing at first", store.list())
        talks = {name: Talk(name) for name in NAMES}
        for talk in talks.values():
            talk.turn().to(store)
        talks["a"].turn().to(store)
        listing = store.list(limit=1000)
        found = [each.conversation for each in listing.conversations]
        expect(found == sorted(NAMES), f"{sorted(NAMES)}", found)
        expect(listing.after is None, "no more to come", listing.after)
        for each in listing.conversations:
            revision = talks[each.conversation].head.revision
            expect(each.revision == revision, f"{revision}", each.revision)

    def test_a_prefix_is_text_and_no_pattern(self) -> None:
        """It is compared character by character."""
        store = self.opened()
        for name in NAMES:
            Talk(name).turn().to(store)
        for prefix in (*NAMES, "", "x" * 50, "%", "_", "?", "ca", "\U0001f600x"):
            found = [each.conversation for each in store.list(prefix=prefix).conversations]
            right = sorted(name for name in NAMES if name.startswith(prefix))
            expect(found == right, f"{right} for {prefix!r}", found)

    def test_a_listing_goes_on_where_it_ended(self) -> None:
        """Part by part everything is listed once; nothing is said to come after the last."""
        store = self.opened()
        self.describe_all(store)
        for limit in (1, 2, 3, 4, 5, 6):
            found: list[str] = []
            after = None
            for _ in range(6):
                listing = store.list(after=after, limit=limit)
                part = [each.conversation for each in listing.conversations]
                expect(len(part) <= limit, f"at most {limit}", part)
                found += part
                after = listing.after
                if after is None:
                    break
            expect(found == sorted(_METADATA), f"all, {limit} at a time", found)
            expect(after is None, "an end", after)
        ahead = store.list(after="abb", prefix="a").conversations
        expect([each.conversation for each in ahead] == ["abc"], "those after any name", ahead)

    def test_conversations_are_found_by_what_is_known_of_them(self) -> None:
        """Title and user are equal and all tags are there; what is not asked for does not count."""
        store = self.opened()
        self.describe_all(store)
        for where, names in (
            (Metadata(), ["a", "ab", "abc", "b", "c"]),
            (Metadata(title="Fox"), ["a", "ab"]),
            (Metadata(title="fox"), []),
            (Metadata(user="u1"), ["a", "abc", "b"]),
            (Metadata(tags=("red",)), ["a", "ab"]),
            (Metadata(tags=("fast", "red")), ["a"]),
            (Metadata(tags=("red", "fast")), ["a"]),
            (Metadata(tags=("red,fast",)), ["b"]),
            (Metadata(tags=("re",)), []),
            (Metadata(user="u1", tags=("lazy",)), ["abc"]),
            (Metadata(title=_METADATA["b"].title), ["b"]),
            (Metadata(title="%"), []),
        ):
            found = [each.conversation for each in store.list(where=where).conversations]
            expect(found == names, f"{names} for {where}", found)
        both = store.list(prefix="ab", where=Metadata(user="u1"), limit=1)
        found = [each.conversation for each in both.conversations]
        expect((found, both.after) == (["abc"], None), "prefix and metadata together", both)
        first = store.list(where=Metadata(user="u1"), limit=2)
        rest = store.list(where=Metadata(user="u1"), limit=2, after=first.after)
        found = [each.conversation for each in (*first.conversations, *rest.conversations)]
        expect(found == ["a", "abc", "b"], "parts of what was asked for", found)

    def test_what_is_known_is_replaced_as_a_whole_and_is_no_entry(self) -> None:
        """The conversation itself is as it was."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        for metadata in (*_METADATA.values(), Metadata("Fox", tags=("b", "a"))):
            store.describe(talk.name, metadata)
            listed = store.list().conversations
            right = (Listed(talk.name, talk.head.revision, metadata),)
            expect(listed == right, f"{right}", listed)
        expect_conversation(store, talk)

    def test_an_append_keeps_what_is_known(self) -> None:
        """Metadata stays until it is replaced."""
        store, talk = self.opened(), Talk()
        talk.turn().to(store)
        store.describe(talk.name, _METADATA["a"])
        talk.turn().to(store)
        [found] = store.list().conversations
        expect(found.metadata == _METADATA["a"], f"{_METADATA['a']}", found)

    def test_nothing_is_known_of_what_is_not_there(self) -> None:
        """Describing makes no conversation."""
        store = self.opened()
        refused(NoSuchConversation, lambda: store.describe("nobody", Metadata()), "no conversation")
        expect(store.list().conversations == (), "nothing", store.list())

    def test_a_listing_has_from_one_to_a_thousand(self) -> None:
        """Other limits are the caller's mistake."""
        store = self.opened()
        for limit in (-1, 0, 1001):
            refused(Invalid, partial(store.list, limit=limit), f"a limit of {limit}")
        store.list(limit=1)
        store.list(limit=1000)

    def describe_all(self, store: Store) -> None:
        """Make conversations of which something is known."""
        for name, metadata in _METADATA.items():
            Talk(name).turn().to(store)
            store.describe(name, metadata)
