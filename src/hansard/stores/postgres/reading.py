"""Reading conversations, each time in one statement, so that all is as it is at one moment.

What was cut out of pages is asked for afterwards: it never changes for as long as it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import DecodeError
from ...record.loading import Loading
from ...record.pages import Revision
from ..rows import decode_head, page_from, whole_page_from
from ..rules import no_such
from ..store import Bodies, Listed, Listing, Metadata
from ..wording import below, digest_of
from .asking import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...record.pages import Head, Page
    from .asking import Asking

__all__ = ["bodies", "describe", "find", "head_of", "listing", "pages", "read"]


Result = TypeVar("Result")

_TRIES = 5


def read(conversation: str) -> Asking[Loading | None]:
    """Give what is needed to go on, as `Store.read` promises."""
    return (yield from _with_bodies(lambda: _read(conversation)))


def _read(conversation: str) -> Asking[Loading | None]:
    found: list[Loading] = []
    waiting: list[tuple[Any, ...]] = []
    forked = False

    def take(row: tuple[Any, ...]) -> None:
        nonlocal forked
        _, first, following, flags, meta, body, digests = row
        if not found:
            found.append(Loading(decode_head(meta, body.decode())))
            forked = bool(flags)
        elif waiting or digests is not None:
            waiting.append(row)
        else:
            found[0].add(page_from((first, following, flags, meta, body)))

    values = {"name": conversation, "spans": None}
    yield [Query("read", values, take)]
    if forked:
        found.clear()
        waiting.clear()
        yield [Query("read_fork", values, take)]
    for page in (yield from _whole(waiting)):
        found[0].add(page)
    return found[0] if found else None


def _whole(rows: Sequence[tuple[Any, ...]]) -> Asking[list[Page]]:
    """Make pages of rows, with all that was cut out of them, each asked for once."""
    digests = sorted({digest for row in rows for digest in row[6] or ()})
    bodies: dict[bytes, bytes] = {}
    if digests:
        [found] = yield [Query("bodies", (digests,))]
        bodies.update(found)
    return [
        whole_page_from(row[1:6], {digest: bodies.get(digest) for digest in row[6] or ()})
        for row in rows
    ]


def _with_bodies(operation: Callable[[], Asking[Result]]) -> Asking[Result]:
    """Read again where a body is missing: what it is of may have been deleted just then."""
    for _ in range(_TRIES - 1):
        try:
            return (yield from operation())
        except DecodeError as error:
            if error.reason != "missing_body":
                raise
    return (yield from operation())


def find(conversation: str, turn_id: str) -> Asking[int | None]:
    """Say where the last turn of an id began."""
    [rows] = yield [Query("find", {"name": conversation, "digest": digest_of(turn_id)})]
    return rows[0][0]  # type: ignore[no-any-return]


def pages(conversation: str, after: int) -> Asking[Sequence[Page]]:
    """Give all pages with entries from ``after`` on."""
    return (yield from _with_bodies(lambda: _pages(conversation, after)))


def _pages(conversation: str, after: int) -> Asking[Sequence[Page]]:
    values = {"name": conversation, "spans": f"{{[{after},)}}"}
    [rows] = yield [Query("read_fork", values)]
    if not rows:
        raise no_such(conversation)
    return tuple((yield from _whole(rows[1:])))


def bodies() -> Asking[Bodies]:
    """Say what is kept apart of what is long."""
    [rows] = yield [Query("kept")]
    return Bodies(*rows[0])


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
