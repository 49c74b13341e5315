"""Reading conversations, each time in one statement, so that all is as it is at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...record.loading import Loading
from ...record.pages import Revision
from ..rows import decode_head, page_from
from ..rules import no_such
from ..store import Listed, Listing, Metadata
from ..wording import below, digest_of
from .asking import Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...record.pages import Head, Page
    from .asking import Asking

__all__ = ["describe", "find", "head_of", "listing", "pages", "read"]


def read(conversation: str) -> Asking[Loading | None]:
    """Give what is needed to go on, as `Store.read` promises."""
    found: list[Loading] = []
    forked = False

    def take(row: tuple[Any, ...]) -> None:
        nonlocal forked
        _, first, following, flags, meta, body = row
        if found:
            found[0].add(page_from((first, following, flags, meta, body)))
        else:
            found.append(Loading(decode_head(meta, body.decode())))
            forked = bool(flags)

    values = {"name": conversation, "spans": None}
    yield [Query("read", values, take)]
    if forked:
        found.clear()
        yield [Query("read_fork", values, take)]
    return found[0] if found else None


def find(conversation: str, turn_id: str) -> Asking[int | None]:
    """Say where the last turn of an id began."""
    [rows] = yield [Query("find", {"name": conversation, "digest": digest_of(turn_id)})]
    return rows[0][0]  # type: ignore[no-any-return]


def pages(conversation: str, after: int) -> Asking[Sequence[Page]]:
    """Give all pages with entries from ``after`` on."""
    values = {"name": conversation, "spans": f"{{[{after},)}}"}
    [rows] = yield [Query("read_fork", values)]
    if not rows:
        raise no_such(conversation)
    return tuple([page_from(row[1:6]) for row in rows[1:]])


def head_of(conversation: str) -> Asking[Head | None]:
    """Give the head of a conversation."""
    [rows] = yield [Query("head", (conversation,))]
    return decode_head(*rows[0]) if rows else None


def listing(prefix: str, where: Metadata | None, after: str | None, limit: int) -> Asking[Listing]:
    """List conversations, as `Store.list` promises."""
    where = where or Metadata()
    values = {
        "prefix": prefix,
        "below": below(prefix),
        "after": after or "",
        "user": where.user,
        "title": where.title,
        "tags": [*where.tags],
        "limit": limit + 1,
    }
    [rows] = yield [Query("list", values)]
    some = [
        Listed(name, Revision(incarnation, seq), Metadata(title, user, tuple(tags)))
        for name, incarnation, seq, title, user, tags in rows[:limit]
    ]
    return Listing(tuple(some), some[-1].conversation if len(rows) > limit else None)


def describe(conversation: str, metadata: Metadata) -> Asking[None]:
    """Replace what is known of a conversation."""
    values = (metadata.title, metadata.user, [*metadata.tags], conversation)
    [rows] = yield [Query("describe", values)]
    if not rows:
        raise no_such(conversation)
