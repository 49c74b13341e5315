"""What is asked of Redis, and what is made of its answers: once, for both kinds of store.

An operation is a generator. It yields what is to be run, and is sent the reply.
"""

from __future__ import annotations

from collections.abc import Generator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from ...clock import new_name
from ...errors import Busy, DecodeError, Invalid, LeaseLost, StoreCorrupt
from ...record.loading import Loading
from ...record.pages import Head, Page, Revision
from ..rules import RUN_BYTES, check_append, check_hold, check_limit, conflict, matches, no_such
from ..store import Hold, Listed, Listing, Metadata, Receipt
from . import scripts
from .pages import merged, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .scripts import Script

__all__ = ["Call", "Operation", "Operations"]

Result = TypeVar("Result")

Argument: TypeAlias = bytes | str | int


class Call(NamedTuple):
    """A script to be run, or else a command, and what with; ``key`` says where, in a cluster."""

    what: Script | str
    key: bytes
    arguments: Sequence[Argument] = ()

    def known(self) -> Sequence[Argument]:
        """The command, if the server knows the script."""
        if isinstance(self.what, str):
            return (self.what, self.key, *self.arguments)
        return ("EVALSHA", self.what.digest, 1, self.key, *self.arguments)

    def whole(self) -> Sequence[Argument]:
        """The command with the whole script, which the server then knows."""
        if isinstance(self.what, str):
            return self.known()
        return ("EVAL", self.what.text, 1, self.key, *self.arguments)


Operation: TypeAlias = Generator[Call, Any, Result]

_BATCH = 200
"""How many conversations are looked at at once, where only some are wanted."""


class Operations:
    """The operations of a store whose keys begin with a prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix.encode()

    def append(
        self, conversation: str, page: Page, head: Head, hold: Hold | None, turn_id: str | None
    ) -> Operation[Receipt]:
        """`Store.append`."""
        check_append(page, head)
        if hold is not None:
            check_hold(hold)
        reply = yield self._run(
            scripts.APPEND,
            conversation,
            head.incarnation,
            page.first,
            page.next,
            packed(page),
            msgspec.json.encode(head),
            _spans(head),
            b"" if turn_id is None else _digest(turn_id),
            new_name(),
            *(("", "", "") if hold is None else _held(hold)),
            RUN_BYTES,
        )
        kind, *rest = reply
        if kind == b"done":
            if len(rest) > 1:
                yield from self._merge(conversation, *rest[1:])
            return Receipt(head.revision, rest[0])
        if kind == b"behind":
            incarnation, seq, fence, owner, first, until, *raws = rest
            rest = [incarnation, seq]
            if _has_commit(raws[:1], first, until, page):
                return Receipt(head.revision, _known_fence(hold, fence, owner))
        elif kind != b"conflict":
            raise _refusal(conversation, hold, kind, rest)
        actual = Revision(rest[0].decode(), rest[1]) if rest else None
        raise conflict(conversation, Revision(head.incarnation, page.first), actual)

    def _merge(self, conversation: str, log: bytes, first: bytes, run: bytes) -> Operation[None]:
        """Merge a run that has grown long. If another process has done it, nothing happens."""
        chunks = [part for chunk in merged(run) for part in chunk]
        yield self._run(scripts.MERGE, conversation, log, first, len(run), *chunks, named=False)

    def read(self, conversation: str) -> Operation[Loading | None]:
        """`Store.read`."""
        reply = yield self._run(scripts.READ, conversation, "")
        if not reply:
            return None
        loading = Loading(_head(reply[0]))
        try:
            for page in _pages(reply):
                loading.add(page)
        except DecodeError as error:
            raise StoreCorrupt(str(error), reason=error.reason) from error
        return loading

    def find(self, conversation: str, turn_id: str) -> Operation[int | None]:
        """`Store.find`."""
        seq: int = yield self._run(scripts.FIND, conversation, _digest(turn_id))
        return None if seq < 0 else seq

    def head(self, conversation: str) -> Operation[Head | None]:
        """`Store.head`."""
        raw = yield Call("HGET", self._key(conversation), ["head"])
        return None if raw is None else _head(raw)

    def pages(self, conversation: str, after: int) -> Operation[Sequence[Page]]:
        """`Store.pages`."""
        reply = yield self._run(scripts.READ, conversation, max(after, 0))
        if not reply:
            raise no_such(conversation)
        return tuple(_pages(reply))

    def lease(self, conversation: str, hold: Hold) -> Operation[int]:
        """`Store.lease`."""
        check_hold(hold)
        kind, *rest = yield self._run(scripts.LEASE, conversation, *_held(hold))
        if kind != b"done":
            raise _refusal(conversation, hold, kind, rest)
        fence: int = rest[0]
        return fence

    def list(
        self, prefix: str, where: Metadata | None, after: str | None, limit: int
    ) -> Operation[Listing]:
        """`Store.list`."""
        check_limit(limit)
        begin = prefix.encode("utf-8", "surrogatepass")
        lowest, highest = b"[" + begin, b"(" + begin + b"\xff"
        if after is not None and (last := after.encode("utf-8", "surrogatepass")) >= begin:
            lowest = b"(" + last
        found: list[Listed] = []
        size = limit + 1 if where is None else max(limit + 1, _BATCH)
        while True:
            reply = yield Call(
                scripts.LIST, self._prefix + b"names", [self._prefix, lowest, highest, size]
            )
            for at in range(0, len(reply), 4):
                listed = _listed(*reply[at : at + 4])
                if matches(listed.metadata, where):
                    if len(found) == limit:
                        return Listing(tuple(found), found[-1].conversation)
                    found.append(listed)
            if len(reply) < 4 * size:
                return Listing(tuple(found))
            lowest = b"(" + reply[-4]

    def describe(self, conversation: str, metadata: Metadata) -> Operation[None]:
        """`Store.describe`."""
        raw = msgspec.json.encode(metadata)
        kind, *_ = yield self._run(scripts.DESCRIBE, conversation, raw)
        if kind == b"missing":
            raise no_such(conversation)

    def fork(self, conversation: str, new: str, head: Head) -> Operation[Receipt]:
        """`Store.fork`."""
        kind, *rest = yield self._run(
            scripts.FORK,
            conversation,
            _name(new),
            head.seq,
            head.incarnation,
            msgspec.json.encode(head),
            _spans(head),
            new_name(),
        )
        if kind == b"missing":
            raise no_such(conversation)
        if kind == b"conflict":
            raise conflict(new, head.revision, Revision(rest[0].decode(), rest[1]))
        if kind == b"beyond":
            parent = rest[0].decode()
            raise conflict(conversation, Revision(parent, head.seq), Revision(parent, rest[1]))
        return Receipt(head.revision)

    def delete(self, conversation: str) -> Operation[None]:
        """`Store.delete`."""
        yield self._run(scripts.DELETE, conversation)

    def _key(self, conversation: str) -> bytes:
        return self._prefix + b"c:" + _name(conversation)

    def _run(
        self, script: Script, conversation: str, *arguments: Argument, named: bool = True
    ) -> Call:
        name = [_name(conversation)] if named else []
        return Call(script, self._key(conversation), [self._prefix, *name, *arguments])


def _name(conversation: str) -> bytes:
    try:
        raw = conversation.encode()
    except UnicodeEncodeError:
        raise Invalid(
            f"expected a conversation's name to be Unicode, found {conversation!r}: it has half a "
            "surrogate pair, which no key can have"
        ) from None
    if not raw:
        raise Invalid("expected a conversation's name, found an empty one")
    return raw


def _digest(turn_id: str) -> bytes:
    return blake2b(turn_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _spans(head: Head) -> str:
    return "".join([f"{first} {until};" for first, until in head.spans])


def _held(hold: Hold) -> tuple[str, int, Argument]:
    return hold.owner, round(hold.ttl_s * 1_000_000), "" if hold.fence is None else hold.fence


def _head(raw: bytes) -> Head:
    return _decoded(raw, Head)


Decoded = TypeVar("Decoded")


def _decoded(raw: bytes, kind: type[Decoded]) -> Decoded:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise StoreCorrupt(
            f"expected what was written, found {raw[:80]!r}: restore the keys of the store from "
            "a copy",
            reason="damaged_value",
        ) from error


def _pages(reply: Sequence[Any]) -> Generator[Page, None, None]:
    """The pages in the reply to a read."""
    for at in range(1, len(reply), 3):
        first, until, raw = reply[at : at + 3]
        yield from unpacked(raw, first, until)


def _has_commit(raws: Sequence[bytes], first: int, until: int, page: Page) -> bool:
    """Whether this very page is among those that were appended before."""
    commits = [known.commit_at(first) for raw in raws for known in unpacked(raw, first, until)]
    return page.commit_at(first) in commits


def _known_fence(hold: Hold | None, fence: int, owner: bytes) -> int:
    """The fence to go on with, of somebody whose append is made again."""
    if hold is None:
        return 0
    if hold.fence is not None:
        return hold.fence
    return fence if owner == hold.owner.encode() else 0


def _refusal(conversation: str, hold: Hold | None, kind: bytes, rest: Sequence[bytes]) -> Exception:
    """Say why a lease was not had."""
    if kind == b"missing":
        return no_such(conversation)
    if kind == b"busy":
        owner = rest[0].decode()
        return Busy(
            f"expected nobody at work on {conversation!r}, found {owner!r}: wait until it is "
            "done, or its lease runs out",
            owner=owner,
        )
    return LeaseLost(
        f"expected the lease of {conversation!r} to be held as {hold}, found that it ran out or "
        "somebody else took it: read again what has been recorded, and take it anew"
    )


def _listed(name: bytes, incarnation: bytes, seq: int, metadata: bytes) -> Listed:
    known = _decoded(metadata, Metadata) if metadata else Metadata()
    return Listed(name.decode(), Revision(incarnation.decode(), seq), known)
