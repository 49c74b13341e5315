"""Reading conversations, within a transaction, so that all is as it is at one moment."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from ...errors import DecodeError
from ...record.loading import Loading
from ...record.pages import Revision
from ..lineage import Ancestor, stretches
from ..rows import head_from, is_cut, page_from, whole_page_from
from ..rules import matches, no_such
from ..store import Bodies, Listed, Listing, Metadata
from ..wording import digest_of
from .appending import SQL, last

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from ...record.pages import Head, Page
    from ..rows import Row
    from .appending import Last

__all__ = ["ancestors", "bodies", "find", "head_of", "listing", "pages", "read"]

_tags = msgspec.json.Decoder(tuple[str, ...]).decode


def read(connection: sqlite3.Connection, conversation: str) -> Loading | None:
    """Give what is needed to go on, as `Store.read` promises."""
    at = last(connection, conversation)
    if at is None:
        return None
    flags, packed, meta = connection.execute(SQL["head_at"], (at.id,)).fetchone()
    head = head_from(flags, packed, meta, at.incarnation)
    line = ancestors(connection, at)
    loading = Loading(head)
    for start, end in head.spans:
        for page in _between(connection, line, start, end):
            loading.add(page)
    return loading


def find(connection: sqlite3.Connection, conversation: str, turn_id: str) -> int | None:
    """Say where the last turn of an id began."""
    at = last(connection, conversation)
    if at is None:
        return None
    digest = digest_of(turn_id)
    for number, _, ends in reversed(stretches(ancestors(connection, at), 0, at.revision.seq)):
        [seq] = connection.execute(SQL["known"], (number, digest, ends)).fetchone()
        if seq is not None:
            return int(seq)
    return None


def pages(connection: sqlite3.Connection, conversation: str, after: int) -> Sequence[Page]:
    """Give all pages with entries from ``after`` on."""
    at = last(connection, conversation)
    if at is None:
        raise no_such(conversation)
    return tuple(_between(connection, ancestors(connection, at), after, at.revision.seq))


def head_of(connection: sqlite3.Connection, conversation: str) -> Head | None:
    """Give the head of a conversation."""
    row = connection.execute(SQL["head"], (conversation,)).fetchone()
    return None if row is None else head_from(*row)


def bodies(connection: sqlite3.Connection) -> Bodies:
    """Say what is kept apart of what is long."""
    return Bodies(*connection.execute(SQL["kept"]).fetchone())


def ancestors(connection: sqlite3.Connection, at: Last) -> list[Ancestor]:
    """Give a conversation and all that it stems from."""
    line = [Ancestor(at.number, at.parent, at.parting)]
    while line[-1].parent is not None:
        row = connection.execute(SQL["ancestor"], (line[-1].parent,)).fetchone()
        if row is None:
            raise DecodeError(
                f"expected conversation {line[-1].parent}, which a fork stems from",
                reason="missing_parent",
            )
        line.append(Ancestor._make(row))
    return line


def listing(
    connection: sqlite3.Connection,
    prefix: str,
    where: Metadata | None,
    after: str | None,
    limit: int,
) -> Listing:
    """List conversations, as `Store.list` promises."""
    user = where.user if where else ""
    rows = connection.execute(
        SQL["list_of_user" if user else "list"],
        {"prefix": prefix, "after": after or "", "user": user},
    )
    some = [*islice(_listed(rows, prefix, where), limit + 1)]
    more = len(some) > limit
    return Listing(tuple(some[:limit]), some[limit - 1].conversation if more else None)


def _listed(rows: sqlite3.Cursor, prefix: str, where: Metadata | None) -> Iterator[Listed]:
    for name, seq, incarnation, title, user, tags in rows:
        if not name.startswith(prefix):
            return
        metadata = Metadata(title, user, _tags(tags))
        if matches(metadata, where):
            yield Listed(name, Revision(incarnation, seq), metadata)


def _between(
    connection: sqlite3.Connection, line: list[Ancestor], start: int, end: int
) -> Iterator[Page]:
    """The pages with something of the entries from ``start`` up to ``end``, in order."""
    for number, begins, ends in stretches(line, start, end):
        bounds = (number << 32 | begins, (number + 1) << 32, ends)
        for row in connection.execute(SQL["pages"], bounds):
            yield _page(connection, number, row)


def _page(connection: sqlite3.Connection, number: int, row: Row) -> Page:
    """Make a page of a row, with all that was cut out of it."""
    if not is_cut(row):
        return page_from(row)
    found = connection.execute(SQL["bodies_of"], (number << 32 | row[1],))
    return whole_page_from(row, dict(found.fetchall()))
