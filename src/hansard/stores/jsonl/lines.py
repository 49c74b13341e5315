r"""The lines of a conversation's file.

The first says which conversation it is, and where a fork's earlier entries are. Each other one is
what an append added:

    {"first":8,"next":12,"sizes":[…],"begins":"turn id","entries":[…],"lines":[…],"commits":[…],
     "turns":[…],"body":[…],"head":{…},"places":[[file,offset],…],"fence":1,"at":5120,"crc":…}

``entries`` to ``turns`` are what `hansard.record.pages` calls the meta of a page; ``sizes`` are the
lengths of these and of the body, so that they are found without being parsed. A page that cannot
be shown so (a sealed one, a packed one) is ``packed``, in base64. ``head`` is where the
conversation stands after the line, ``places`` where the pages of its spans begin. ``at`` is where
the line itself begins, ``crc`` is CRC-32 of all that stands before it.

A line ends with its only newline. So whatever comes after the last newline of a file was being
written when the process or the machine stopped, and counts as nothing.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ... import rawjson
from ...errors import StoreCorrupt, StoreUnavailable
from ...record.pages import Head, Page
from .names import file_name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BEGINS",
    "Header",
    "Line",
    "Place",
    "Shared",
    "Tail",
    "check",
    "first_in",
    "line_of",
    "starts_at",
]

VERSION: Final = 1


class _Layout(NamedTuple):
    """What stands before each part of a page, and after the last one."""

    leads: tuple[bytes, ...]
    close: bytes


_SHOWN = _Layout((b'"entries":', b',"lines":', b',"commits":', b',"turns":', b',"body":['), b"]")
_PACKED = _Layout((b'"packed":["', b'","'), b'"]')
_START = re.compile(
    rb'\{"first":(\d+),"next":(\d+),"sizes":\[([\d,]+)\](,"starts":true)?(,"alone":true)?'
    rb'(?:,"begins":("(?:[^"\\]|\\.)*"))?,'
)
_FIRST = re.compile(rb'\{"first":(\d+),')
_END = re.compile(rb',"at":(\d+),"crc":(\d+)\}\n\Z')
_END_BYTES = 64
"""More than the end of a line takes."""


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where a page begins: how many bytes into which file, of those that are shared and its own."""

    file: int
    at: int


class Shared(msgspec.Struct, frozen=True, array_like=True):
    """The entries ``first`` up to ``until`` are in another file, in its first ``end`` bytes."""

    id: str
    first: int
    until: int
    end: int


class Tail(msgspec.Struct, frozen=True):
    """What a line says of the whole conversation, as it was then."""

    head: Head
    places: tuple[Place, ...] = ()
    fence: int = 0


class Header(msgspec.Struct, frozen=True):
    """The first line. That of a fork says where the conversation stands, too."""

    hansard: int
    conversation: str
    id: str
    incarnation: str
    first: int = 0
    fork_of: str | None = None
    shared: tuple[Shared, ...] = ()
    tail: Tail | None = None

    @property
    def link(self) -> str:
        """What it is called among those that share a file."""
        return f"{file_name(self.conversation)}~{self.id}"

    @classmethod
    def of(cls, line: bytes, where: str) -> Header:
        """Read a first line."""
        try:
            version = _decode_version(line).hansard
            if version <= VERSION:
                return _decode_header(check(line, 0, where))
        except msgspec.DecodeError as error:
            raise _damaged(where, 0) from error
        raise StoreUnavailable(
            f"expected {where} in format {VERSION} or earlier, found {version}: open it with the "
            "release of hansard that wrote it, or a later one"
        )

    def line(self) -> bytes:
        """Spell it."""
        return _sealed(msgspec.json.encode(self)[:-1], 0)


class _Version(msgspec.Struct):
    hansard: int


_decode_version = msgspec.json.Decoder(_Version).decode
_decode_header = msgspec.json.Decoder(Header).decode
_decode_tail = msgspec.json.Decoder(Tail).decode


class Line:
    """A line of an append, as it was read at an offset of a file."""

    __slots__ = ("_layout", "_line", "_sizes", "_start", "at", "first", "next", "where")

    def __init__(self, line: bytes, at: int, where: str) -> None:
        start = _START.match(line)
        if start is None:
            raise _damaged(where, at)
        self._line, self._start = line, start
        self._sizes = [*map(int, start[3].split(b","))]
        self._layout = _PACKED if len(self._sizes) == len(_PACKED.leads) else _SHOWN
        self.first, self.next = int(start[1]), int(start[2])
        self.at, self.where = at, where

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.at + len(self._line)

    @property
    def begins(self) -> bytes | None:
        """The id of the turn that begins here, as it is quoted."""
        return self._start[6]

    def page(self) -> Page:
        """What was appended."""
        parts = []
        at = self._start.end()
        for lead, size in zip(self._layout.leads, self._sizes, strict=True):
            at += len(lead) + size
            parts.append(self._line[at - size : at])
        *metas, body = parts if self._layout is _SHOWN else [*map(b64decode, parts)]
        starts, alone = (self._start[mark] is not None for mark in (4, 5))
        return Page(self.first, self.next, b"\n".join(metas), body, starts, alone)

    def tail(self) -> Tail:
        """Where the conversation stood after it."""
        layout = self._layout
        at = self._start.end() + sum(self._sizes) + sum(map(len, layout.leads)) + len(layout.close)
        end = _END.search(self._line, max(len(self._line) - _END_BYTES, 0))
        try:
            return _decode_tail(b"{%b}" % self._line[at + 1 : end.start() if end else None])
        except msgspec.DecodeError as error:
            raise _damaged(self.where, self.at) from error


def check(line: bytes, at: int, where: str) -> bytes:
    """Give a line back if it is whole and in its place. Raises `StoreCorrupt`."""
    end = _END.search(line, max(len(line) - _END_BYTES, 0))
    if end is None or int(end[1]) != at:
        raise _damaged(where, at)
    if zlib.crc32(memoryview(line)[: end.end(1)]) != int(end[2]):
        raise _damaged(where, at)
    return line


def first_in(start: bytes, at: int, where: str) -> int:
    """The first entry of the line that starts so."""
    found = _FIRST.match(start)
    if found is None:
        raise _damaged(where, at)
    return int(found[1])


def starts_at(end: bytes) -> int | None:
    """Where the line begins that ends so, as it says."""
    found = _END.search(end, max(len(end) - _END_BYTES, 0))
    return None if found is None else int(found[1])


def line_of(page: Page, tail: Tail, at: int, turn_id: str | None) -> bytes:
    """Spell the line of an append, to be written at an offset."""
    layout, parts = _laid_out(page)
    content = b"".join([b"".join(pair) for pair in zip(layout.leads, parts, strict=True)])
    sizes = b",".join([b"%d" % len(part) for part in parts])
    marks = b',"starts":true' * page.starts + b',"alone":true' * page.alone
    if turn_id is not None:
        marks += b"%b%b" % (BEGINS, rawjson.quote(turn_id))
    start = b'{"first":%d,"next":%d,"sizes":[%b]%b,' % (page.first, page.next, sizes, marks)
    ends = msgspec.json.encode(tail)[1:-1]
    return _sealed(b"%b%b%b,%b" % (start, content, layout.close, ends), at)


BEGINS: Final = b',"begins":'
"""Stands before the id of a turn, in the line in which the turn begins."""


def _sealed(line: bytes, at: int) -> bytes:
    """End a line, so that it is known to be whole, and in its place."""
    line = b'%b,"at":%d' % (line, at)
    return b'%b,"crc":%d}\n' % (line, zlib.crc32(line))


def _laid_out(page: Page) -> tuple[_Layout, Sequence[bytes]]:
    """Take a page apart: as it is, if all of it can stand in a line of text."""
    parts = [*page.meta.split(b"\n"), page.body]
    arrays = all([part[:1] == b"[" and part[-1:] == b"]" for part in parts[:-1]])
    if len(parts) == len(_SHOWN.leads) and arrays and not page.alone and _is_text(page):
        return _SHOWN, parts
    return _PACKED, [b64encode(page.meta), b64encode(page.body)]


def _is_text(page: Page) -> bool:
    try:
        page.meta.decode()
        page.body.decode()
    except UnicodeDecodeError:
        return False
    return b"\n" not in page.body and b"\0" not in page.body and b"\0" not in page.meta


def _damaged(where: str, at: int) -> StoreCorrupt:
    return StoreCorrupt(
        f"expected a line as it was written at byte {at} of {where}, found it changed: restore "
        "the file from a copy; nothing was changed by reading it",
        reason="damaged_line",
    )
