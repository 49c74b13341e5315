"""What is changed, swapped, moved or left out under a seal is noticed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest

from hansard import Chat, Keyring, user
from hansard.errors import DecodeError, HansardError, NoSuchConversation, SealBroken, StoreCorrupt
from hansard.stores.memory import MemoryStore
from hansard.stores.sealed import Seals, sealed
from hansard.stores.threads import AsyncOver
from hansard.testing import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hansard.record.pages import Head, Page
    from hansard.stores.store import Store

KEYS = {"old": b"o" * 32, "new": b"n" * 32}
KEYRING = Keyring(KEYS, current="old")
SECRET = "the seat is 1A"


class Meddled(MemoryStore):
    """A store whose rows somebody changes on their way out."""

    def __init__(self) -> None:
        super().__init__()
        self.meddle: Callable[[list[Page]], list[Page]] = lambda pages: pages
        self.behead: Callable[[Head], Head] = lambda head: head

    def pages(self, conversation: str, *, after: int = 0) -> list[Page]:
        return self.meddle(list(super().pages(conversation, after=after)))

    def head(self, conversation: str) -> Head | None:
        head = super().head(conversation)
        return None if head is None else self.behead(head)

    def swap(self, one: str, other: str) -> None:
        """Give each of two conversations the name of the other."""
        names = self._branches
        names[one], names[other] = names[other], names[one]


@pytest.fixture
def store() -> Meddled:
    """Two conversations of two turns each."""
    made = Meddled()
    chat = Chat(ScriptedModel(lambda _: f"Yes, {SECRET}."))
    for name in ("one", "two"):
        session = chat.session(sealed(made, KEYRING, owner="u7"), name)
        session.send(user("Is it?"))
        session.send(user("Sure?"))
    return made


def texts(store: MemoryStore, keyring: Keyring = KEYRING, owner: str = "u7") -> list[str]:
    chat = Chat(ScriptedModel("unheard"))
    session = chat.session(sealed(store, keyring, owner=owner), "one")
    return [message.text for message in session.history()]


def test_nothing_that_was_said_can_be_read_in_the_store(store: Meddled) -> None:
    assert texts(store)[-1] == f"Yes, {SECRET}."
    pages = store.pages("one")
    assert not any([SECRET.encode() in page.body + page.meta for page in pages])


def test_every_flipped_bit_is_noticed(store: Meddled) -> None:
    first = store.pages("one")[0]
    for part in ("meta", "body"):
        for bit in range(len(getattr(first, part)) * 8):
            flipped = bytearray(getattr(first, part))
            flipped[bit // 8] ^= 1 << bit % 8
            changed = msgspec.structs.replace(first, **{part: bytes(flipped)})
            with pytest.raises((SealBroken, DecodeError)):
                Seals(KEYRING, "u7").opened(changed, store.head("one"))  # type: ignore[arg-type]


def test_rows_that_are_swapped_moved_or_missing_are_noticed(store: Meddled) -> None:
    others = store.pages("two")
    meddlings: list[Callable[[list[Page]], list[Page]]] = [
        lambda pages: [pages[1], pages[0], *pages[2:]],
        lambda pages: [others[0], *pages[1:]],
        lambda pages: pages[1:],
        lambda pages: pages[:-1],
        lambda pages: [*pages[:1], *pages[2:]],
        lambda pages: [msgspec.structs.replace(pages[0], next=pages[1].next), *pages[2:]],
        lambda pages: [msgspec.structs.replace(pages[0], body=pages[1].body), *pages[1:]],
    ]
    for meddle in meddlings:
        store.meddle = meddle
        with pytest.raises((SealBroken, StoreCorrupt)):
            texts(store)


def test_a_head_that_is_changed_is_noticed(store: Meddled) -> None:
    other = store.head("two")
    assert other is not None
    for change in (
        {"seq": 4},
        {"spans": ((0, 4),)},
        {"tidy": False},
        {"incarnation": other.incarnation},
        {"seal": other.seal},
        {"seal": ""},
        {"seal": "not base64!"},
    ):
        store.behead = lambda head, change=change: msgspec.structs.replace(head, **change)  # type: ignore[misc]
        with pytest.raises((SealBroken, StoreCorrupt)):
            texts(store)


def test_conversations_whose_names_are_swapped_are_noticed(store: Meddled) -> None:
    store.swap("one", "two")
    with pytest.raises(SealBroken):
        texts(store)
    over = sealed(store, KEYRING, owner="u7")
    for ask in (over.head, over.read, over.pages):
        with pytest.raises(SealBroken):
            ask("two")


Asked = Literal["read", "pages"]


class Raced(MemoryStore):
    """A store where somebody is faster, between the head and the pages."""

    def __init__(self) -> None:
        super().__init__()
        self.faster: list[Callable[[], object]] = []

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        if self.faster:
            self.faster.pop()()
        return super().pages(conversation, after=after)


@pytest.fixture(params=["blocking", "asyncio"])
def ask(request: pytest.FixtureRequest) -> Callable[[Store, Asked], Any]:
    """Give what asks a store for a conversation, sealed, one way or the other."""

    def blocking(store: Store, what: Asked) -> Any:
        return getattr(sealed(store, KEYRING), what)("one")

    def awaited(store: Store, what: Asked) -> Any:
        async def run() -> Any:
            return await getattr(sealed(AsyncOver(store), KEYRING), what)("one")

        return asyncio.run(run())

    return blocking if request.param == "blocking" else awaited


def said(store: Store, text: str) -> None:
    Chat(ScriptedModel("Yes.")).session(sealed(store, KEYRING), "one").send(user(text))


def test_what_is_deleted_while_it_is_read_is_not_there(
    ask: Callable[[Store, Asked], Any],
) -> None:
    store = Raced()
    said(store, "First")
    store.faster = [lambda: store.delete("one")]
    assert ask(store, "read") is None
    assert store.faster == []
    said(store, "Second")
    store.faster = [lambda: store.delete("one")]
    with pytest.raises(NoSuchConversation):
        ask(store, "pages")
    assert store.faster == []


@pytest.mark.parametrize("what", ["read", "pages"])
def test_what_is_begun_anew_while_it_is_read_is_what_is_read(
    ask: Callable[[Store, Asked], Any], what: Asked
) -> None:
    store = Raced()
    said(store, "First")

    def again() -> None:
        store.delete("one")
        said(store, "Second")

    store.faster = [again]
    found = ask(store, what)
    expected = ask(store, what)
    if what == "read":
        assert found.head == expected.head
    else:
        assert found == expected


def test_plain_pages_are_refused_where_sealed_ones_are_expected() -> None:
    plain = MemoryStore()
    Chat(ScriptedModel("Hi")).session(plain, "one").send(user("Hello"))
    with pytest.raises(SealBroken) as caught:
        texts(plain)
    assert caught.value.reason in ("not_sealed", "truncated")


def test_another_owner_or_key_opens_nothing(store: Meddled) -> None:
    for keyring, owner in ((KEYRING, "u8"), (Keyring.single(b"x" * 32, key_id="old"), "u7")):
        with pytest.raises(SealBroken):
            texts(store, keyring, owner)


def test_keys_are_rotated_while_a_conversation_goes_on(store: Meddled) -> None:
    newer = Keyring(KEYS, current="new")
    session = Chat(ScriptedModel("So it is.")).session(sealed(store, newer, owner="u7"), "one")
    session.send(user("And now?"))
    assert texts(store, newer)[-1] == "So it is."
    with pytest.raises(HansardError):
        texts(store, Keyring.single(KEYS["new"], key_id="new"))


def test_a_conversation_that_was_put_back_is_noticed_by_who_knows_better() -> None:
    made, chat = MemoryStore(), Chat(ScriptedModel(lambda _: "Yes."))
    over = sealed(made, KEYRING)
    session = chat.session(over, "one")
    session.send(user("Is it?"))
    seen = session.revision
    made.delete("one")
    chat.session(over, "one").send(user("Is it?"))
    assert len(chat.session(over, "one").history()) == 2
    with pytest.raises(StoreCorrupt) as caught:
        chat.session(over, "one", at_least=seen).history()
    assert caught.value.reason == "rolled_back"


def test_a_fork_opens_what_it_shares(store: Meddled) -> None:
    over = sealed(store, KEYRING, owner="u7")
    chat = Chat(ScriptedModel(lambda _: "Here."))
    fork = chat.session(over, "one").fork("three").fork("four", at=4)
    fork.send(user("Where?"))
    said = ["Is it?", f"Yes, {SECRET}.", "Where?", "Here."]
    assert [message.text for message in chat.session(over, "four").history()] == said
