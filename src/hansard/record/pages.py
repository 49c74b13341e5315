"""Pages: how a conversation is kept by stores.

A page is what one append put on the record: its entries, and by how much they made the closed
context longer, already joined as a request needs it. Pages that follow each other can be merged
into one by anybody, without looking into any message. So whoever loads a conversation joins the
bodies of its pages, and reads the entries of the open turn; the rest is taken apart when somebody
looks.

A `Head` says which stretches of the log the context is made of. It only ever grows, but for two
cases: what was rewound is cut off, and a context that became another one (as by compaction) is
written whole, in a page with which a new stretch begins.

    meta of a page: entries; headers of the body's messages; commits; turns; a JSON array a line

A page with which a stretch begins also has what is still to be known from before it: the turns
that its messages are of, and the last one; and the entries of an open turn.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from .. import rawjson
from ..errors import DecodeError
from .entries import Rewind, Said, decode_entries, encode_entries, spell
from .heads import LineHead, decoded, heads_of
from .turns import TurnHead, ended

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..dialects.dialect import Dialect
    from .context import Context, Line
    from .entries import Entry
    from .record import Record

__all__ = ["Head", "Page", "Revision", "Span", "merge", "page_beside", "page_of", "unpacked"]

Span: TypeAlias = tuple[int, int]
"""A stretch of the log: from the entry of the one number up to that of the other, without it."""

_ABSENT = msgspec.Raw(b"null")
"""Stands in an entry for a message that is in the body of the same page."""


class Revision(msgspec.Struct, frozen=True):
    """How far a conversation has come: ``seq`` entries since the creation named ``incarnation``."""

    incarnation: str
    seq: int


@rawjson.prepared
class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a conversation stands: all that is to be known before its pages are read.

    ``spans`` are the stretches of the log whose pages make up the closed context. ``open`` is
    where the open turn begins, ``turn`` the number of the last turn that is over; the rest is as
    `Context` has it. ``plain``: all messages are sent as they stand in the pages.

    ``lineage`` are the conversations that a fork stems from, the first one first, each by its
    incarnation and up to where it is shared. ``seal`` is for whoever keeps heads where others
    could change them.
    """

    incarnation: str
    dialect: str
    seq: int = 0
    spans: tuple[Span, ...] = ()
    open: int | None = None
    turn: int = 0
    count: int = 0
    seen: int = 0
    tidy: bool = True
    plain: bool = True
    tokens: int | None = None
    compacted_us: int | None = None
    lineage: tuple[tuple[str, int], ...] = ()
    seal: str = ""

    def writer(self, seq: int) -> str:
        """The incarnation of the conversation that an entry was written in."""
        return next((name for name, until in self.lineage if seq < until), self.incarnation)

    @property
    def revision(self) -> Revision:
        """How far it has come."""
        return Revision(self.incarnation, self.seq)


class Page(msgspec.Struct, frozen=True):
    """The entries from ``first`` up to ``next``, and what they added to the context.

    ``starts``: a stretch of the log begins here, so that nothing before may be merged with it.
    ``alone``: it may not be merged with anything, as nobody can see what is in it. ``bodies`` are
    the digests of what was cut out of it and is kept elsewhere, see `hansard.record.bodies`.
    """

    first: int
    next: int
    meta: bytes
    body: bytes
    starts: bool = False
    alone: bool = False
    bodies: tuple[bytes, ...] = ()

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return len(self.meta) + len(self.body)

    def commit_at(self, seq: int) -> str | None:
        """The id of the append that began with an entry, if one did."""
        return dict(decoded(self._part(2), list[tuple[int, str]])).get(seq)

    def covered(self, body: bytes) -> Page:
        """The same page with another body, of which nobody is told but its place and commit."""
        meta = b"\n".join((b"[]", b"[]", self._part(2), b"[]"))
        return Page(self.first, self.next, meta, body, self.starts, alone=True)

    def heads(self) -> list[LineHead]:
        """The headers of the messages in the body."""
        return decoded(self._part(1), list[LineHead])

    def items(self) -> list[bytes]:
        """The elements of the body, checked, as nobody has looked at them yet."""
        return rawjson.elements(rawjson.compact(b"[%b]" % self.body, depth_max=_DEPTH_MAX))

    def until(self, seq: int) -> Page:
        """The same page without what was recorded from an entry on."""
        entries = [entry for entry in self.bare_entries() if entry.seq < seq]
        heads = [head for head in self.heads() if head.seq < seq]
        items = self.items()[: sum([head.items for head in heads])]
        parts = [encode_entries(entries), spell(heads), self._part(2), self._part(3)]
        body = b",".join(items)
        return Page(self.first, seq, b"\n".join(parts), body, self.starts, bodies=self.bodies)

    def earlier_turns(self) -> list[TurnHead]:
        """The closed turns from before this page that something of the context is of."""
        return decoded(self._part(3), list[TurnHead])

    def bare_entries(self) -> list[Entry]:
        """The entries of `entries`; of some messages, the raw part is null."""
        return decode_entries(self._part(0))

    def entries(self, dialect: Dialect) -> list[Entry]:
        """All entries, whole. Those from before this page stand in an earlier one too."""
        entries = self.bare_entries()
        if not any([_is_absent(entry) for entry in entries]):
            return entries
        said = dict(_said(self, dialect))
        return [_filled(entry, said) if _is_absent(entry) else entry for entry in entries]

    def _part(self, number: int) -> bytes:
        parts = unpacked(self.meta).split(b"\n")
        if len(parts) != _PARTS:
            raise DecodeError("expected a page as it was written", reason="corrupt_page")
        return parts[number]


_PARTS = 4


def _is_absent(entry: Entry) -> bool:
    return isinstance(entry, Said) and bytes(entry.raw) == b"null"


def _filled(entry: Entry, said: dict[int, bytes]) -> Entry:
    if entry.seq not in said:
        raise DecodeError(
            f"expected the message of entry {entry.seq} in its page, found none",
            reason="corrupt_page",
        )
    return msgspec.structs.replace(entry, raw=msgspec.Raw(said[entry.seq]))


def _said(page: Page, dialect: Dialect) -> Iterator[tuple[int, bytes]]:
    """The messages in a page's body, with the entries that they are of."""
    items = page.items()
    start = 0
    for head in page.heads():
        yield head.seq, dialect.unsplice(items[start : start + head.items])
        start += head.items


_DEPTH_MAX = rawjson.DEPTH_MAX + 1


# -- making pages -----------------------------------------------------------------------------


def page_of(
    head: Head, before: Record, after: Record, entries: Sequence[Entry], commit: str
) -> tuple[Page, Head]:
    """Make the page of some entries, which took a record from ``before`` to ``after``."""
    dialect, closed = after.dialect, after.closed
    added = _added(before.closed, closed)
    spans = _cut(head.spans, entries) if added is None else head.spans
    starts = added is None or not spans
    lines = added or []
    carried: list[Entry] = []
    if spans is None:  # The context is another one: it is written whole.
        spans, lines = (), closed.lines()
        carried = list(before.entries(before.turn.begin.seq)) if before.turn else []
    turns = _known_turns(before, lines) if added is None else []
    page = Page(
        first=entries[0].seq,
        next=after.length,
        meta=b"\n".join(
            (
                encode_entries(_without([*carried, *entries], lines)),
                spell(heads_of(lines, dialect)),
                spell([(entries[0].seq, commit)]),
                spell(turns),
            )
        ),
        body=b",".join([dialect.splice(line.raw) for line in lines]),
        starts=starts,
    )
    stretches = [*spans]
    last = (page.first, page.next) if starts else stretches.pop()
    plain = all([line.sent is line.raw for line in lines])
    return page, Head(
        incarnation=head.incarnation,
        dialect=dialect.name,
        seq=after.length,
        spans=(*stretches, (last[0], page.next)),
        open=after.turn.begin.seq if after.turn else None,
        turn=_last_closed(after),
        count=closed.count,
        seen=closed.seen,
        tidy=closed.tidy and not closed.repaired,
        plain=plain and (head.plain or not spans),
        tokens=closed.tokens,
        compacted_us=closed.compacted_us,
        lineage=head.lineage,
    )


def page_beside(
    head: Head, entries: Sequence[Entry], commit: str, *, first: bool = False
) -> tuple[Page, Head]:
    """Make the page of entries that change nothing of the context, knowing no more than the head.

    It goes on with the last stretch of the log, unless it is the very ``first`` page.
    """
    page = Page(
        first=entries[0].seq,
        next=entries[-1].seq + 1,
        meta=b"\n".join(
            (encode_entries([*entries]), b"[]", spell([(entries[0].seq, commit)]), b"[]")
        ),
        body=b"",
        starts=first,
    )
    begins = 0 if first else head.spans[-1][0]
    spans = (*head.spans[:-1], (begins, page.next))
    return page, msgspec.structs.replace(head, seq=page.next, spans=spans)


def _added(before: Context, after: Context) -> list[Line] | None:
    """The messages by which a context is longer than another; None where it does not go on."""
    if after.root is not before.root:
        return None
    lines = []
    at = after
    for _ in range(after.count - before.count):
        if at.line is None or at.parent is None:
            return None
        lines.append(at.line)
        at = at.parent
    if at.count != before.count or at.line is not before.line or at.parent is not before.parent:
        return None
    lines.reverse()
    return lines


def _cut(spans: tuple[Span, ...], entries: Sequence[Entry]) -> tuple[Span, ...] | None:
    """What is left of a context's stretches after a rewind; None if they cannot tell."""
    [entry, *others] = entries
    if others or not isinstance(entry, Rewind):
        return None
    if entry.to == 0:
        return ()
    for at, (first, following) in enumerate(spans):
        if first < entry.to <= following:
            return (*spans[:at], (first, entry.to))
    return None


def _known_turns(record: Record, lines: Iterable[Line]) -> list[TurnHead]:
    """The turns that are over and of which something is shown, and the last one in any case."""
    shown = {line.entry.turn for line in lines} | {_last_closed(record)}
    known = [*record.start.root.turns(), *ended(record.entries())]
    return [head for head in known if head.number in shown]


def _last_closed(record: Record) -> int:
    """The number of the last turn that is over."""
    return record.turn_number - (record.turn is not None)


def _without(entries: Sequence[Entry], lines: Iterable[Line]) -> list[Entry]:
    """Leave out of entries the messages that are in the body."""
    there = {line.entry.seq for line in lines if isinstance(line.entry, Said)}
    return [_emptied(entry) if entry.seq in there else entry for entry in entries]


def _emptied(entry: Entry) -> Entry:
    return msgspec.structs.replace(entry, raw=_ABSENT) if isinstance(entry, Said) else entry


def merge(pages: Sequence[Page]) -> Page:
    """Make one page of some that follow each other, packed."""
    bodies = [page.body for page in pages if page.body]
    parts = [unpacked(page.meta).split(b"\n") for page in pages]
    heads = _joined([part[1] for part in parts])
    entries = _joined([part[0] for part in parts])
    said = {head.seq for head in decoded(heads, list[LineHead]) if head.author != "compaction"}
    emptied = [_emptied(e) if e.seq in said else e for e in decode_entries(entries)]
    commits, turns = (_joined([part[at] for part in parts]) for at in (2, 3))
    meta = b"\n".join((encode_entries(emptied), heads, commits, turns))
    return Page(
        first=pages[0].first,
        next=pages[-1].next,
        meta=zlib.compress(meta),
        body=b",".join(bodies),
        starts=pages[0].starts,
        bodies=tuple(dict.fromkeys([digest for page in pages for digest in page.bodies])),
    )


def _joined(arrays: Iterable[bytes]) -> bytes:
    """Make one JSON array of several, without taking them apart."""
    return b"[%b]" % b",".join([array[1:-1] for array in arrays if len(array) > len(b"[]")])


def unpacked(meta: bytes) -> bytes:
    """Give the meta of a page as it is where that was not merged."""
    if meta.startswith(b"["):
        return meta
    try:
        return zlib.decompress(meta)
    except zlib.error as error:
        raise DecodeError(
            f"expected a page as it was written: {error}", reason="corrupt_page"
        ) from error
