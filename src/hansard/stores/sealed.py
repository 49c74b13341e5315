"""A store that nobody can read, change or mix up who has no key to it.

`sealed` puts itself before any store. What the store gets of a page is sealed, bound to the
conversation that wrote it and to its place there, and it gets the head with a seal over it, bound
to the name. So what was changed, swapped, renamed, moved from elsewhere or left out does not open.

What cannot be told without knowing better is that all of a conversation was put back to an
earlier state, or is gone: a session that is told ``at_least=`` which revision there was can. What
is neither hidden nor sealed: names, metadata, the index of turn ids, and how much was said when.
What is long stays in its page, as equal bodies that are sealed are not equal any more: to show that
they were would tell too much.
"""

from __future__ import annotations

import inspect
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import msgspec

from ..errors import DecodeError, HansardError, NoSuchConversation, SealBroken, StoreCorrupt
from ..record.loading import Loading
from ..record.pages import Head, Page
from .rules import no_such
from .store import (
    AsyncStore,
    AsyncTransaction,
    AsyncTransactional,
    Store,
    Transaction,
    Transactional,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import TypeAlias

    from ..sealing import Keyring
    from .store import Durability, Hold, Listing, Metadata, Receipt

    Question: TypeAlias = Callable[[Any], Any]
    """What is asked of the store behind the seals, whichever kind it is."""

Given = TypeVar("Given")

__all__ = ["AsyncSealedStore", "SealedStore", "sealed"]


@overload
def sealed(store: Store, keyring: Keyring, *, owner: str = "hansard") -> SealedStore: ...
@overload
def sealed(store: AsyncStore, keyring: Keyring, *, owner: str = "hansard") -> AsyncSealedStore: ...
def sealed(
    store: Store | AsyncStore, keyring: Keyring, *, owner: str = "hansard"
) -> SealedStore | AsyncSealedStore:
    """Keep everything that is said in a store sealed, with the current key of a keyring.

    To rotate keys, give a keyring with a newer current key; the older ones stay on it, as they
    open what they have sealed. ``owner`` binds everything to somebody.
    """
    seals = Seals(keyring, owner)
    if inspect.iscoroutinefunction(store.append):
        there = cast("AsyncStore", store)
        if isinstance(there, AsyncTransactional):
            return _AsyncTransactionalSealed(there, seals)
        return AsyncSealedStore(there, seals)
    here = cast("Store", store)
    if isinstance(here, Transactional):
        return _TransactionalSealed(here, seals)
    return SealedStore(here, seals)


class Seals:
    """Seals pages and heads, and opens them again. Raises `SealBroken` for anything else."""

    def __init__(self, keyring: Keyring, owner: str) -> None:
        self._keyring = keyring
        self._owner = owner

    def page(self, page: Page, head: Head) -> Page:
        """Seal a page that is appended to the conversation of a head."""
        size = len(page.meta).to_bytes(_LENGTH_SIZE, "big")
        plain = bytes((page.alone,)) + size + page.meta + page.body
        place = (head.incarnation, page.first, page.next, page.starts)
        return page.covered(
            self._keyring.seal(plain, owner=self._owner, purpose=_PAGE, context=place)
        )

    def opened(self, page: Page, head: Head) -> Page:
        """Open a page of the conversation of a head."""
        place = (head.writer(page.first), page.first, page.next, page.starts)
        plain = self._keyring.open(page.body, owner=self._owner, purpose=_PAGE, context=place)
        meta = 1 + _LENGTH_SIZE
        body = meta + int.from_bytes(plain[1:meta], "big")
        found = Page(
            page.first, page.next, plain[meta:body], plain[body:], page.starts, bool(plain[0])
        )
        if found.covered(page.body) != page:
            raise _broken(f"the page at entry {page.first} as it was appended")
        return found

    def head(self, head: Head, conversation: str) -> Head:
        """Put a seal over the head of the conversation of a name."""
        place = (conversation,)
        seal = self._keyring.seal(_digest(head), owner=self._owner, purpose=_HEAD, context=place)
        return msgspec.structs.replace(head, seal=b64encode(seal).decode())

    def checked(self, head: Head | None, conversation: str) -> Head | None:
        """Check the seal over a head, if there is one, and take it off."""
        if head is None:
            return None
        try:
            seal = b64decode(head.seal, validate=True)
        except NotBase64:
            raise _broken("a seal over the head") from None
        place = (conversation,)
        plain = self._keyring.open(seal, owner=self._owner, purpose=_HEAD, context=place)
        if plain != _digest(head):
            raise _broken("the head as it was written")
        return msgspec.structs.replace(head, seal="")

    def loading(self, head: Head, pages: Iterable[Page]) -> Loading:
        """Load what a head needs of the pages of its conversation."""
        loading = Loading(head)
        try:
            for page in pages:
                if any([page.first < end and page.next > start for start, end in head.spans]):
                    loading.add(self.opened(page, head))
        except DecodeError as error:
            raise StoreCorrupt(str(error), reason=error.reason) from error
        return loading

    # -- what takes several questions, for both kinds of store ------------------------------------

    def read(self, conversation: str) -> Generator[Question, Any, Loading | None]:
        """`Store.read`."""
        return (yield from self._opened(conversation, _first, self.loading))

    def pages(self, conversation: str, after: int) -> Generator[Question, Any, Sequence[Page]]:
        """`Store.pages`."""

        def opened(head: Head, pages: Sequence[Page]) -> list[Page]:
            return [self.opened(page, head) for page in pages]

        found = yield from self._opened(conversation, lambda _: after, opened)
        if found is None:
            raise no_such(conversation)
        return found

    def _opened(
        self,
        conversation: str,
        after: Callable[[Head], int],
        make: Callable[[Head, Sequence[Page]], Given],
    ) -> Generator[Question, Any, Given | None]:
        """Make something of a head and of the pages under it; None where there is none.

        Pages are never changed, so that those of a head are the same after it was read; unless
        the conversation was deleted in between, which is no sign of a broken seal.
        """
        while True:
            head = self.checked((yield lambda store: store.head(conversation)), conversation)
            if head is None:
                return None
            first = after(head)
            try:
                pages = yield lambda store: store.pages(conversation, after=first)  # noqa: B023 - it is asked at once
                return make(head, pages)
            except (NoSuchConversation, SealBroken, StoreCorrupt):
                now: Head | None = yield lambda store: store.head(conversation)
                if now is not None and now.incarnation == head.incarnation:
                    raise


_PAGE = "page"
_HEAD = "head"
_LENGTH_SIZE = 8


def _digest(head: Head) -> bytes:
    plain = msgspec.structs.replace(head, seal="")
    return blake2b(msgspec.json.encode(plain), digest_size=32).digest()


def _broken(expected: str) -> SealBroken:
    return SealBroken(
        f"expected {expected}, found another: somebody has changed what is stored, or put it there "
        "from elsewhere; restore it from a backup",
        reason="authentication",
    )


def _first(head: Head) -> int:
    return head.spans[0][0] if head.spans else head.seq


class SealedStore(Store):
    """A blocking store with seals before it; `sealed` makes one."""

    def __init__(self, store: Store, seals: Seals) -> None:
        self._store = store
        self._seals = seals

    @property
    def durability(self) -> Durability:
        return self._store.durability

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        covered, over = self._seals.page(page, head), self._seals.head(head, conversation)
        return self._store.append(conversation, covered, over, hold=hold, turn_id=turn_id)

    def read(self, conversation: str) -> Loading | None:
        return self._ask(self._seals.read(conversation))

    def find(self, conversation: str, turn_id: str) -> int | None:
        return self._store.find(conversation, turn_id)

    def head(self, conversation: str) -> Head | None:
        return self._seals.checked(self._store.head(conversation), conversation)

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        return self._ask(self._seals.pages(conversation, after))

    def lease(self, conversation: str, hold: Hold) -> int:
        return self._store.lease(conversation, hold)

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        return self._store.list(prefix=prefix, where=where, after=after, limit=limit)

    def describe(self, conversation: str, metadata: Metadata) -> None:
        self._store.describe(conversation, metadata)

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        return self._store.fork(conversation, new, self._seals.head(head, new))

    def delete(self, conversation: str) -> None:
        self._store.delete(conversation)

    def close(self) -> None:
        self._store.close()

    def _ask(self, questions: Generator[Question, Any, Given]) -> Given:
        step: Callable[[Any], Question] = questions.send
        given: Any = None
        while True:
            try:
                question = step(given)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            try:
                step, given = questions.send, question(self._store)
            except HansardError as error:
                step, given = questions.throw, error

    def __repr__(self) -> str:
        return f"<sealed {self._store!r}>"


class _TransactionalSealed(SealedStore):
    """A store that tools can write in, with seals before it. What they write is theirs to seal."""

    def begin(self) -> Transaction:
        """Begin a transaction."""
        return _SealedTransaction(cast("Transactional", self._store).begin(), self._seals)


class _SealedTransaction(Transaction):
    def __init__(self, transaction: Transaction, seals: Seals) -> None:
        self._transaction = transaction
        self._seals = seals

    @property
    def connection(self) -> object:
        return self._transaction.connection

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        covered, over = self._seals.page(page, head), self._seals.head(head, conversation)
        return self._transaction.append(conversation, covered, over, hold=hold, turn_id=turn_id)

    def commit(self) -> None:
        self._transaction.commit()

    def rollback(self, *, given_up: bool = False) -> None:
        self._transaction.rollback(given_up=given_up)


class AsyncSealedStore(AsyncStore):
    """A store under asyncio with seals before it; `sealed` makes one."""

    def __init__(self, store: AsyncStore, seals: Seals) -> None:
        self._store = store
        self._seals = seals

    @property
    def durability(self) -> Durability:
        return self._store.durability

    async def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        covered, over = self._seals.page(page, head), self._seals.head(head, conversation)
        return await self._store.append(conversation, covered, over, hold=hold, turn_id=turn_id)

    async def read(self, conversation: str) -> Loading | None:
        return await self._ask(self._seals.read(conversation))

    async def find(self, conversation: str, turn_id: str) -> int | None:
        return await self._store.find(conversation, turn_id)

    async def head(self, conversation: str) -> Head | None:
        return self._seals.checked(await self._store.head(conversation), conversation)

    async def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        return await self._ask(self._seals.pages(conversation, after))

    async def lease(self, conversation: str, hold: Hold) -> int:
        return await self._store.lease(conversation, hold)

    async def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        return await self._store.list(prefix=prefix, where=where, after=after, limit=limit)

    async def describe(self, conversation: str, metadata: Metadata) -> None:
        await self._store.describe(conversation, metadata)

    async def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        return await self._store.fork(conversation, new, self._seals.head(head, new))

    async def delete(self, conversation: str) -> None:
        await self._store.delete(conversation)

    async def close(self) -> None:
        await self._store.close()

    async def _ask(self, questions: Generator[Question, Any, Given]) -> Given:
        step: Callable[[Any], Question] = questions.send
        given: Any = None
        while True:
            try:
                question = step(given)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]
            try:
                step, given = questions.send, await question(self._store)
            except HansardError as error:
                step, given = questions.throw, error

    def __repr__(self) -> str:
        return f"<sealed {self._store!r}>"


class _AsyncTransactionalSealed(AsyncSealedStore):
    """As `_TransactionalSealed`."""

    async def begin(self, *, blocking: bool = False) -> AsyncTransaction:
        """Begin a transaction."""
        begun = await cast("AsyncTransactional", self._store).begin(blocking=blocking)
        return _AsyncSealedTransaction(begun, self._seals)


class _AsyncSealedTransaction(AsyncTransaction):
    def __init__(self, transaction: AsyncTransaction, seals: Seals) -> None:
        self._transaction = transaction
        self._seals = seals

    @property
    def connection(self) -> object:
        return self._transaction.connection

    async def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        covered, over = self._seals.page(page, head), self._seals.head(head, conversation)
        inner = self._transaction
        return await inner.append(conversation, covered, over, hold=hold, turn_id=turn_id)

    async def commit(self) -> None:
        await self._transaction.commit()

    async def rollback(self, *, given_up: bool = False) -> None:
        await self._transaction.rollback(given_up=given_up)
