"""What a store is: a place where conversations are kept as pages, and handed out.

A store knows nothing of messages. It appends a `Page` to a conversation, all of it or none, and
gives pages back; what is in them is for `hansard.record` to say. `Store` blocks, `AsyncStore` has
the same methods, awaited. `hansard.testing.store_conformance` says whether one keeps its promises.

Rules:

- An append is a compare-and-set: it goes where ``page.first`` says, if the conversation is there
  and is the one that ``head.incarnation`` names; else `RevisionConflict`.
- An append that has been made is known by its place and its commit id. Made again it changes
  nothing, and gives the same receipt, whatever has happened since: whoever was cut off cannot
  know that it had come through.
- What is long in pages (images, long results of tools) may be kept apart, once for each owner;
  whoever reads pages gets them whole. What nothing refers to any more is not kept.
- Only one has the lease of a conversation. Each time it is taken it gets a higher number, its
  *fence*; time is the store's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeAlias, runtime_checkable

import msgspec

from .. import rawjson
from ..record.pages import Head, Page, Revision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..record.loading import Loading

__all__ = [
    "AsyncStore",
    "AsyncTransaction",
    "AsyncTransactional",
    "Bodies",
    "Durability",
    "Hold",
    "Listed",
    "Listing",
    "Metadata",
    "Receipt",
    "Store",
    "Transaction",
    "Transactional",
]

Durability: TypeAlias = Literal["full", "normal", "none"]
"""What an acknowledged append survives: the loss of power; the end of the process; nothing."""


class Hold(msgspec.Struct, frozen=True):
    """Who is at work on a conversation, and how long that is to be known.

    Without a ``fence`` the lease is taken: `Busy` is raised while somebody else has it. With one
    it is held on to: `LeaseLost` is raised where it has run out or somebody else has it. It then
    lasts ``ttl_s`` from now; 0 lets go of it.
    """

    owner: str
    ttl_s: float
    fence: int | None = None


class Receipt(msgspec.Struct, frozen=True):
    """What an append came to; ``fence`` is that of the lease, 0 where none is held."""

    revision: Revision
    fence: int = 0


@rawjson.prepared
class Metadata(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of a conversation beside what is said in it, to find it by."""

    title: str = ""
    user: str = ""
    tags: tuple[str, ...] = ()


class Listed(msgspec.Struct, frozen=True):
    """A conversation in a listing."""

    conversation: str
    revision: Revision
    metadata: Metadata = Metadata()


class Listing(msgspec.Struct, frozen=True):
    """Some conversations, by name; ``after`` is where to go on, None where there are no more."""

    conversations: tuple[Listed, ...]
    after: str | None = None


class Bodies(msgspec.Struct, frozen=True):
    """What a store keeps apart of what is long in pages: how many bodies, of how many bytes."""

    count: int = 0
    size: int = 0


class Store(Protocol):
    """Where conversations are kept. It can be shared by threads. See the module's rules."""

    @property
    def durability(self) -> Durability:
        """What an acknowledged append survives."""
        ...

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        """Append a page, after which the conversation stands as ``head`` says.

        A page that begins with entry 0 makes the conversation. ``turn_id`` is the id of the turn
        that begins with the first entry of this page, for `find` to know.

        Raises `RevisionConflict`, `Busy`, `LeaseLost` or `StoreUnavailable`; nothing has changed
        then, but that after the last one nobody knows: append the same page again.
        """
        ...

    def read(self, conversation: str) -> Loading | None:
        """Give all that is needed to go on with a conversation; None if there is none.

        That is its head and the pages of ``head.spans``, as they all are at one moment.
        """
        ...

    def find(self, conversation: str, turn_id: str) -> int | None:
        """Give the first entry of the turn that was appended with this id; None if there is none.

        Where several were, that of the last one. Turns that a fork shares are found too.
        """
        ...

    def head(self, conversation: str) -> Head | None:
        """Say where a conversation stands; None if there is none."""

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        """Give all pages that have entries from ``after`` on, in order.

        Of a fork, the pages of those it stems from too; the last one of each may reach beyond
        where it parted, see `hansard.record.loading.entries_in`. Raises `NoSuchConversation`.
        """
        ...

    def lease(self, conversation: str, hold: Hold) -> int:
        """Take, hold on to or let go of the lease, as `Hold` says, and give its fence.

        Raises `Busy`, `LeaseLost` or `NoSuchConversation`.
        """
        ...

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        """List conversations by name: those whose metadata has all that ``where`` has."""
        ...

    def describe(self, conversation: str, metadata: Metadata) -> None:
        """Replace what is known of a conversation. Raises `NoSuchConversation`."""

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        """Make a conversation that shares the entries before ``head.seq`` with another.

        ``head`` says where the new one stands. It costs the same at any length. Raises
        `NoSuchConversation`, and `RevisionConflict` where there is a ``new`` one already (but
        for the very same, made again).
        """
        ...

    def delete(self, conversation: str) -> None:
        """Delete a conversation, if it is there. What its forks share stays until they go."""

    def bodies(self) -> Bodies | None:
        """Say what is kept apart of what is long, of all owners; None where all stays in pages."""
        return None

    def close(self) -> None:
        """Let go of all connections and files. What is asked of it afterwards is `Invalid`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Transaction(Protocol):
    """A transaction of a store's own, which a tool writes in, and then its outcome is appended.

    `connection` is what the tool writes through: that of the store's own driver.
    """

    @property
    def connection(self) -> object: ...

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        """`Store.append`, made when the transaction is.

        A lease that ran out while the transaction was open is held on to, if nobody has taken it.
        """
        ...

    def commit(self) -> None:
        """Make all of it."""

    def rollback(self, *, given_up: bool = False) -> None:
        """Make none of it. Does nothing where it is over.

        Where a tool was ``given_up``, which may still be writing, its connection ends with it.
        """


@runtime_checkable
class Transactional(Protocol):
    """A store whose database tools can write in."""

    def begin(self) -> Transaction:
        """Begin a transaction."""
        ...


class AsyncStore(Protocol):
    """`Store` under asyncio: the same methods, awaited."""

    @property
    def durability(self) -> Durability: ...

    async def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        """`Store.append`. One that is cancelled may have been made."""
        ...

    async def read(self, conversation: str) -> Loading | None:
        """`Store.read`."""
        ...

    async def find(self, conversation: str, turn_id: str) -> int | None:
        """`Store.find`."""
        ...

    async def head(self, conversation: str) -> Head | None:
        """`Store.head`."""
        ...

    async def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        """`Store.pages`."""
        ...

    async def lease(self, conversation: str, hold: Hold) -> int:
        """`Store.lease`."""
        ...

    async def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        """`Store.list`."""
        ...

    async def describe(self, conversation: str, metadata: Metadata) -> None:
        """`Store.describe`."""

    async def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        """`Store.fork`."""
        ...

    async def delete(self, conversation: str) -> None:
        """`Store.delete`."""

    async def bodies(self) -> Bodies | None:
        """`Store.bodies`."""
        return None

    async def close(self) -> None:
        """`Store.close`."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncTransaction(Protocol):
    """`Transaction` under asyncio."""

    @property
    def connection(self) -> object: ...

    async def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        """`Transaction.append`."""
        ...

    async def commit(self) -> None:
        """`Transaction.commit`."""

    async def rollback(self, *, given_up: bool = False) -> None:
        """`Transaction.rollback`."""


@runtime_checkable
class AsyncTransactional(Protocol):
    """`Transactional` under asyncio."""

    async def begin(self, *, blocking: bool = False) -> AsyncTransaction:
        """`Transactional.begin`. Where ``blocking``, a plain function is to write in it."""
        ...
