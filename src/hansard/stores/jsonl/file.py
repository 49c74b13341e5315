"""One conversation's file, while it is locked: where it stands, and what is in it.

Nothing here reads more than it must: where a conversation stands is read from the end, and a page
is found by halving.
"""

from __future__ import annotations

import mmap
import os
from io import BufferedReader, FileIO
from typing import TYPE_CHECKING

from ...errors import StoreCorrupt
from .files import read_at, write_at
from .lines import BEGINS, Header, Line, Tail, check, first_in, starts_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...record.pages import Head

__all__ = ["ConversationFile", "Piece"]

_TAIL_BYTES = 16 * 1024
_HEADER_BYTES = 1024
_BUFFER_BYTES = 256 * 1024
_HALVED_BYTES = 64 * 1024
"""What is as short as this is read through, instead of being halved once more."""


class Piece:
    """The lines of a file, up to some byte, that have the entries from ``first`` to ``until``."""

    def __init__(self, fd: int, where: str, until: int, end: int) -> None:
        self.fd = fd
        self.where = where
        self.until = until
        self.end = end

    @property
    def start(self) -> int:
        """Where the first line after the header begins."""
        return len(_first_line(self.fd, self.end))

    def lines(self, at: int) -> Iterator[Line]:
        """The lines from an offset on, each checked."""
        with BufferedReader(FileIO(self.fd, closefd=False), _BUFFER_BYTES) as file:
            file.seek(at)
            while at < self.end:
                line = file.readline()
                yield Line(check(line, at, self.where), at, self.where)
                at += len(line)

    def find(self, seq: int) -> Line:
        """The line that has an entry."""
        low, high = self.start, self.end
        with BufferedReader(FileIO(self.fd, closefd=False), _HEADER_BYTES) as file:
            while high - low > _HALVED_BYTES:
                middle = (low + high) // 2
                file.seek(middle)
                at = middle + len(file.readline())
                if at < high and first_in(read_at(self.fd, at, 64), at, self.where) <= seq:
                    low = at
                else:
                    high = middle
        for line in self.lines(low):
            if line.first <= seq < line.next:
                return line
        raise StoreCorrupt(
            f"expected entry {seq} in {self.where}, found none: restore it from a copy",
            reason="missing_page",
        )

    def turn(self, turn_id: bytes) -> int | None:
        """Where the last turn of a quoted id begins, as far as this goes."""
        if self.end == 0:
            return None
        mark = b"%b%b," % (BEGINS, turn_id)
        with mmap.mmap(self.fd, self.end, access=mmap.ACCESS_READ) as data:
            at = data.rfind(mark)
            while at >= 0:
                start = data.rfind(b"\n", 0, at) + 1
                # A message may say the same, further on in its line.
                if start:
                    line = Line(data[start : at + len(mark)], start, self.where)
                    if line.begins == turn_id and line.first < self.until:
                        return line.first
                at = data.rfind(mark, 0, at)
        return None


class ConversationFile:
    """A conversation's file, opened and locked."""

    def __init__(self, fd: int, where: str) -> None:
        self.fd = fd
        self.where = where
        self.header, self.tail, self.end = self._read()
        self._unwritten = b""

    @property
    def head(self) -> Head | None:
        """Where the conversation stands; None if it was never made whole."""
        return self.tail.head if self.tail else None

    def _read(self) -> tuple[Header | None, Tail | None, int]:
        size = os.fstat(self.fd).st_size
        first = _first_line(self.fd, size)
        if not first.endswith(b"\n"):
            return None, None, 0
        header = Header.of(first, self.where)
        line = self._last_line(size)
        if line is None or line[0] == 0:
            # A header alone is a fork's; that of any other conversation was to have a page, too.
            return header, header.tail, len(first) if header.tail else 0
        at, raw = line
        return header, Line(check(raw, at, self.where), at, self.where).tail(), at + len(raw)

    def _last_line(self, size: int) -> tuple[int, bytes] | None:
        """The last line that was written to its end, and where it begins."""
        end = size
        while (end := self._after_newline(end)) > 0:
            ending = read_at(self.fd, max(end - _TAIL_BYTES, 0), min(_TAIL_BYTES, end))
            at = starts_at(ending)
            if at is None or at >= end:  # It is damaged, and will be found to be.
                at = self._after_newline(end - 1)
            short = len(ending) >= end - at
            line = ending[at - end :] if short else read_at(self.fd, at, end - at)
            if b"\0" not in line:
                return at, line
            end = at  # The machine stopped before all of it was on the disk.
        return None

    def _after_newline(self, end: int) -> int:
        """Where the last line ends, of what is before an offset."""
        size = _TAIL_BYTES
        while end > 0:
            start = max(end - size, 0)
            found = read_at(self.fd, start, end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end, size = start, 4 * size
        return 0

    def begin(self, header: Header) -> None:
        """Put a header before the line that is written next."""
        self.header, self._unwritten = header, header.line()
        self.end = len(self._unwritten)

    def write(self, line: bytes, *, full: bool) -> None:
        """Write the next line."""
        at = self.end - len(self._unwritten)
        write_at(self.fd, self._unwritten + line, at, full=full)

    def own(self) -> Piece:
        """Its own lines."""
        until = self.tail.head.seq if self.tail else 0
        return Piece(self.fd, self.where, until, self.end)


def _first_line(fd: int, size: int) -> bytes:
    known = min(_HEADER_BYTES, size)
    while True:
        data = read_at(fd, 0, known)
        end = data.find(b"\n") + 1
        if end or known >= size:
            return data[:end] if end else data
        known = min(16 * known, size)
