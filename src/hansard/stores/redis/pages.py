"""Pages as bytes: each with a header, one after the other. The scripts read the headers too."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from ...errors import StoreCorrupt
from ...record.pages import Page, merge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Chunk", "merged", "packed", "unpacked"]

_HEADER = Struct(">IIIIB")
_STARTS = 1
_ALONE = 2


class Chunk(NamedTuple):
    """Pages that are kept as one value."""

    first: int
    next: int
    pages: bytes


def packed(page: Page) -> bytes:
    """Give a page as bytes."""
    marks = _STARTS * page.starts + _ALONE * page.alone
    header = _HEADER.pack(page.first, page.next, len(page.meta), len(page.body), marks)
    return b"".join([header, page.meta, page.body])


def unpacked(raw: bytes, first: int = 0, until: int | None = None) -> Iterator[Page]:
    """The pages that bytes are, those that have entries from one up to another."""
    at = 0
    while at < len(raw):
        meta = at + _HEADER.size
        if meta > len(raw):
            raise _cut()
        begins, following, meta_size, body_size, marks = _HEADER.unpack_from(raw, at)
        body = meta + meta_size
        at = body + body_size
        if at > len(raw):
            raise _cut()
        if following > first and (until is None or begins < until):
            starts, alone = bool(marks & _STARTS), bool(marks & _ALONE)
            yield Page(begins, following, raw[meta:body], raw[body:at], starts, alone)


def _cut() -> StoreCorrupt:
    return StoreCorrupt(
        "expected pages as they were written, found that one is cut off: restore the keys of the "
        "store from a copy",
        reason="cut_page",
    )


def merged(run: bytes) -> list[Chunk]:
    """Merge the pages of a run: all that may be, up to where a stretch of the log begins."""
    chunks: list[list[Page]] = []
    for page in unpacked(run):
        if page.starts or not chunks:
            chunks.append([])
        chunks[-1].append(page)
    return [_chunk(pages) for pages in chunks]


def _chunk(pages: Sequence[Page]) -> Chunk:
    groups: list[list[Page]] = []
    for page in pages:
        if page.alone or not groups or groups[-1][-1].alone:
            groups.append([])
        groups[-1].append(page)
    ones = [group[0] if group[0].alone else merge(group) for group in groups]
    return Chunk(pages[0].first, pages[-1].next, b"".join(map(packed, ones)))
