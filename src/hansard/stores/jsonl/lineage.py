"""The files that a conversation's pages are in: what it shares, the eldest first, and its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...errors import StoreCorrupt
from .file import ConversationFile, Piece
from .lines import Line, Place, Shared
from .sharing import link_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from ...record.pages import Head, Page
    from .lines import Header

__all__ = ["Lineage"]


class Lineage:
    """The files of a conversation, each opened when something in it is looked for."""

    def __init__(
        self, directory: Path, file: ConversationFile, header: Header, stack: ExitStack
    ) -> None:
        self._directory = directory
        self._header = header
        self._stack = stack
        self._pieces: list[Piece | None] = [*[None for _ in header.shared], file.own()]

    def _piece(self, number: int) -> Piece:
        piece = self._pieces[number]
        if piece is None:
            piece = self._pieces[number] = self._open(self._header.shared[number])
        return piece

    def _open(self, shared: Shared) -> Piece:
        path = link_path(self._directory, shared, self._header.link)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise StoreCorrupt(
                f"expected {path}, which a fork shares, found no such file: restore it from a copy",
                reason="missing_page",
            ) from error
        self._stack.callback(os.close, fd)
        return Piece(fd, str(path), shared.until, shared.end)

    def find(self, seq: int) -> tuple[int, Line]:
        """The line that has an entry, and which file that is in."""
        number = sum([shared.until <= seq for shared in self._header.shared])
        return number, self._piece(number).find(seq)

    def place(self, seq: int) -> Place:
        """Where the page begins that has an entry."""
        number, line = self.find(seq)
        return Place(number, line.at)

    def pages(self, place: Place, until: int) -> Iterator[Page]:
        """The pages from some place on, up to an entry."""
        at: int | None = place.at
        for number in range(place.file, len(self._pieces)):
            piece = self._piece(number)
            for line in piece.lines(piece.start if at is None else at):
                yield line.page()
                if line.next >= min(until, piece.until):
                    break
            if piece.until >= until:
                return
            at = None

    def places(self, head: Head, known: dict[int, Place]) -> tuple[Place, ...]:
        """Where each span of a context begins, as far as it is not known already."""
        return tuple([known.get(start) or self.place(start) for start, _ in head.spans])

    def turn(self, turn_id: bytes) -> int | None:
        """Where the last turn of an id begins."""
        for number in reversed(range(len(self._pieces))):
            found = self._piece(number).turn(turn_id)
            if found is not None:
                return found
        return None

    def shared_until(self, seq: int, own_id: str) -> tuple[Shared, ...]:
        """What a fork that parts at an entry shares: of these files, the first ones."""
        if seq == 0:
            return ()
        last, line = self.find(seq - 1)
        mine = Shared(own_id, self._header.first, seq, line.end)
        *whole, cut = [*self._header.shared, mine][: last + 1]
        return (*whole, Shared(cut.id, cut.first, seq, line.end))

    def path(self, number: int, own: Path) -> Path:
        """Where one of the files is found."""
        if number == len(self._header.shared):
            return own
        return link_path(self._directory, self._header.shared[number], self._header.link)
