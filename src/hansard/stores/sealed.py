"""A store that nobody can read, change or mix up who has no key to it.

`sealed` puts itself before any store. What the store gets of a page is sealed, bound to the
conversation that wrote it and to its place there, and it gets the head with a seal over it. So
what was changed, swapped, moved from elsewhere or left out does not open.

What cannot be told without knowing better is that all of a conversation was put back to an
earlier state: a session that is told ``at_least=`` which revision there was can. What is not
hidden: names, metadata, turn ids, and how much was said when. What is long stays in its page, as
equal bodies that are sealed are not equal any more: to show that they were would tell too much.
"""

from __future__ import annotations

import inspect
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from hashlib import blake2b
from typing import TYPE_CHECKING, cast, overload

import msgspec

from ..errors import DecodeError, SealBroken, StoreCorrupt
from ..record.loading import Loading
from ..record.pages import Head, Page
from .store import (
    AsyncStore,
    AsyncTransaction,
    AsyncTransactional,
    Store,
    Transaction,
    Transactional,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..sealing import Keyring
    from .store import Durability, Hold, Listing, Metadata, Receipt

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

    def head(self, head: Head) -> Head:
        """Put a seal over a head."""
        seal = self._keyring.seal(_digest(head), owner=self._owner, purpose=_HEAD)
        return msgspec.structs.replace(head, seal=b64encode(seal).decode())

    def checked(self, head: Head) -> Head:
        """Check the seal over a head, and take it off."""
        try:
            seal = b64decode(head.seal, validate=True)
        except NotBase64:
            raise _broken("a seal over the head") from None
        if self._keyring.open(seal, owner=self._owner, purpose=_HEAD) != _digest(head):
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
        covered, over = self._seals.page(page, head), self._seals.head(head)
        return self._store.append(conversation, covered, over, hold=hold, turn_id=turn_id)

    def read(self, conversation: str) -> Loading | None:
        # Pages are never changed, so that those of a head are the same after it was read.
        head = self.head(conversation)
        if head is None:
            return None
        return self._seals.loading(head, self._store.pages(conversation, after=_first(head)))

    def find(self, conversation: str, turn_id: str) -> int | None:
        return self._store.find(conversation, turn_id)

    def head(self, conversation: str) -> Head | None:
        head = self._store.head(conversation)
        return None if head is None else self._seals.checked(head)

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        pages = self._store.pages(conversation, after=after)
        head = self.head(conversation)
        return [] if head is None else [self._seals.opened(page, head) for page in pages]

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
        return self._store.fork(conversation, new, self._seals.head(head))

    def delete(self, conversation: str) -> None:
        self._store.delete(conversation)

    def close(self) -> None:
        self._store.close()

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
        covered, over = self._seals.page(page, head), self._seals.head(head)
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
        covered, over = self._seals.page(page, head), self._seals.head(head)
        return await self._store.append(conversation, covered, over, hold=hold, turn_id=turn_id)

    async def read(self, conversation: str) -> Loading | None:
        head = await self.head(conversation)
        if head is None:
            return None
        return self._seals.loading(head, await self._store.pages(conversation, after=_first(head)))

    async def find(self, conversation: str, turn_id: str) -> int | None:
        return await self._store.find(conversation, turn_id)

    async def head(self, conversation: str) -> Head | None:
        head = await self._store.head(conversation)
        return None if head is None else self._seals.checked(head)

    async def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        pages = await self._store.pages(conversation, after=after)
        head = await self.head(conversation)
        return [] if head is None else [self._seals.opened(page, head) for page in pages]

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
        return await self._store.fork(conversation, new, self._seals.head(head))

    async def delete(self, conversation: str) -> None:
        await self._store.delete(conversation)

    async def close(self) -> None:
        await self._store.close()

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
        covered, over = self._seals.page(page, head), self._seals.head(head)
        inner = self._transaction
        return await inner.append(conversation, covered, over, hold=hold, turn_id=turn_id)

    async def commit(self) -> None:
        await self._transaction.commit()

    async def rollback(self, *, given_up: bool = False) -> None:
        await self._transaction.rollback(given_up=given_up)
