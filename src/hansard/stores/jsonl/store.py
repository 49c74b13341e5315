"""The store of conversations in files of lines."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...clock import new_name
from ...errors import Invalid
from ...record.pages import Head, Page, Revision
from ..rules import (
    check_append,
    check_hold,
    check_limit,
    closed,
    conflict,
    matches,
    no_such,
)
from ..store import Durability, Hold, Listed, Listing, Metadata, Receipt, Store
from . import side
from .file import ConversationFile
from .files import flush, flush_directory, locked, reporting
from .kept import Kept
from .lines import VERSION, Header, Tail
from .names import SUFFIX, conversation_of, file_name
from .sharing import drop_unshared, link, opened, unlink

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...record.loading import Loading

__all__ = ["JSONLinesStore"]


class JSONLinesStore(Store):
    """A directory with a file for each conversation, which processes can share.

    What a reader sees was written to the end and, with ``"full"``, is on the disk. ``wait_s`` is
    how long to wait for somebody else who writes the same conversation, before the store is
    unavailable. Leases are measured by the machine's clock. Finding a turn by its id reads through
    the whole file; all else reads no more than it gives.
    """

    def __init__(
        self, directory: Path | str, *, durability: Durability = "full", wait_s: float = 30.0
    ) -> None:
        if durability not in ("full", "normal"):
            raise Invalid(
                f"expected durability 'full' or 'normal', found {durability!r}: what is in files "
                "outlives the process; what need not can be kept in memory"
            )
        self._directory = Path(directory).absolute()
        self._durability: Durability = durability
        self._full = durability == "full"
        self._wait_s = wait_s
        self._closed = False
        with reporting(self._directory):
            missing = not self._directory.is_dir()
            self._directory.mkdir(parents=True, exist_ok=True)
            if missing and self._full:
                flush_directory(self._directory.parent)

    @property
    def durability(self) -> Durability:
        return self._durability

    def append(
        self,
        conversation: str,
        page: Page,
        head: Head,
        *,
        hold: Hold | None = None,
        turn_id: str | None = None,
    ) -> Receipt:
        check_append(page, head)
        if hold is not None:
            check_hold(hold)
        expected = Revision(head.incarnation, page.first)
        with self._locked(conversation, create=page.first == 0) as (path, file, stack):
            kept = _kept(path, file, stack)
            if kept is not None and kept.has_commit(page, head):
                self._flush(file)  # Whoever wrote it may have died before that.
                return Receipt(head.revision, kept.fence_for(hold))
            actual = kept.head.revision if kept else None
            if file is None or actual != (expected if kept or page.first else None):
                raise conflict(conversation, expected, actual)
            if kept is None:
                header = Header(VERSION, conversation, new_name(), head.incarnation)
                file.begin(header)
                kept = Kept(path, file, header, Tail(Head(head.incarnation, head.dialect)), stack)
            fence = 0 if hold is None else kept.hold(conversation, hold)
            kept.append(page, head, fence=fence, turn_id=turn_id, full=self._full)
            if page.first == 0 and self._full:
                flush_directory(self._directory)
            return Receipt(head.revision, fence)

    def read(self, conversation: str) -> Loading | None:
        with self._reading(conversation) as kept:
            return kept.loading() if kept else None

    def find(self, conversation: str, turn_id: str) -> int | None:
        with self._reading(conversation) as kept:
            return kept.turn(turn_id) if kept else None

    def head(self, conversation: str) -> Head | None:
        with self._reading(conversation) as kept:
            return kept.head if kept else None

    def pages(self, conversation: str, *, after: int = 0) -> Sequence[Page]:
        with self._reading(conversation) as kept:
            if kept is None:
                raise no_such(conversation)
            return kept.pages(after)

    def lease(self, conversation: str, hold: Hold) -> int:
        check_hold(hold)
        with self._writing(conversation) as kept:
            return kept.hold(conversation, hold)

    def list(
        self,
        *,
        prefix: str = "",
        where: Metadata | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Listing:
        check_limit(limit)
        self._check_open()
        found: list[Listed] = []
        with reporting(self._directory):
            names = sorted(self._names())
        for name in names:
            if not name.startswith(prefix) or (after is not None and name <= after):
                continue
            with self._reading(name) as kept:
                if kept is None or not matches(metadata := kept.metadata, where):
                    continue
                if len(found) == limit:
                    return Listing(tuple(found), found[-1].conversation)
                found.append(Listed(name, kept.head.revision, metadata))
        return Listing(tuple(found))

    def describe(self, conversation: str, metadata: Metadata) -> None:
        with self._writing(conversation) as kept:
            side.write_metadata(kept.path, kept.header.id, metadata, full=self._full)

    def fork(self, conversation: str, new: str, head: Head) -> Receipt:
        with self._locked(new, create=True) as (path, file, stack):
            there = _kept(path, file, stack)
            if there is not None:
                if not _is_fork(there.header, conversation, head):
                    raise conflict(new, head.revision, there.head.revision)
                return Receipt(head.revision)
            with self._reading(conversation) as parent:
                if parent is None or file is None:
                    raise no_such(conversation)
                if head.seq > parent.head.seq:
                    expected = Revision(parent.head.incarnation, head.seq)
                    raise conflict(conversation, expected, parent.head.revision)
                self._flush(parent.file)
                shared = parent.lineage.shared_until(head.seq, parent.header.id)
                tail = Tail(head, parent.lineage.places(head, {}))
                header = Header(
                    VERSION,
                    new,
                    new_name(),
                    head.incarnation,
                    head.seq,
                    conversation,
                    shared,
                    tail,
                )
                with ExitStack() as undo:
                    self._share(parent, header, undo)
                    file.begin(header)
                    file.write(b"", full=self._full)
                    undo.pop_all()
                if self._full:
                    flush_directory(self._directory)
                return Receipt(head.revision)

    def delete(self, conversation: str) -> None:
        with self._locked(conversation) as (path, file, _):
            if file is None:
                return
            side.remove(path)
            path.unlink()
            if self._full:
                flush_directory(self._directory)
            if file.header is None:
                return
            drop_unshared(file.fd, self._directory, file.header.id)
            for shared in file.header.shared:
                unlink(self._directory, shared, file.header.link, wait_s=self._wait_s)

    def close(self) -> None:
        self._closed = True

    def __repr__(self) -> str:
        return f"JSONLinesStore({str(self._directory)!r}, durability={self._durability!r})"

    def _flush(self, file: ConversationFile | None) -> None:
        if file is not None and self._full:
            flush(file.fd)
            flush_directory(self._directory)

    def _check_open(self) -> None:
        if self._closed:
            raise closed(self)

    @contextmanager
    def _locked(
        self, conversation: str, *, exclusive: bool = True, create: bool = False
    ) -> Iterator[tuple[Path, ConversationFile | None, ExitStack]]:
        """Give a conversation's file, locked; None if there is none."""
        self._check_open()
        path = self._directory / f"{file_name(conversation)}{SUFFIX}"
        with (
            reporting(path),
            locked(path, exclusive=exclusive, create=create, wait_s=self._wait_s) as fd,
            ExitStack() as stack,
        ):
            yield path, None if fd is None else ConversationFile(fd, str(path)), stack

    @contextmanager
    def _reading(self, conversation: str) -> Iterator[Kept | None]:
        with self._locked(conversation, exclusive=False) as (path, file, stack):
            yield _kept(path, file, stack)

    @contextmanager
    def _writing(self, conversation: str) -> Iterator[Kept]:
        with self._locked(conversation) as (path, file, stack):
            kept = _kept(path, file, stack)
            if kept is None:
                raise no_such(conversation)
            yield kept

    def _share(self, parent: Kept, header: Header, undo: ExitStack) -> None:
        """Let a fork have the files that it needs of its parent's."""
        for number, shared in enumerate(header.shared):
            source = parent.lineage.path(number, parent.path)
            with ExitStack() as stack:
                if source != parent.path:  # That one is locked already.
                    stack.enter_context(opened(source, wait_s=self._wait_s, exclusive=False))
                link(source, self._directory, shared, header.link, full=self._full)
            undo.callback(unlink, self._directory, shared, header.link, wait_s=self._wait_s)

    def _names(self) -> Iterator[str]:
        """The conversations that there are files of."""
        for path in self._directory.iterdir():
            if path.suffix == SUFFIX:
                name = conversation_of(path.stem)
                if name is None:
                    with locked(path, exclusive=False, create=False, wait_s=self._wait_s) as fd:
                        header = None if fd is None else ConversationFile(fd, str(path)).header
                    name = header.conversation if header else None
                if name is not None:
                    yield name


def _is_fork(header: Header, conversation: str, head: Head) -> bool:
    """Whether a conversation is the very fork that is to be made."""
    known = header.fork_of, header.incarnation, header.first
    return known == (conversation, head.incarnation, head.seq)


def _kept(path: Path, file: ConversationFile | None, stack: ExitStack) -> Kept | None:
    """The conversation in a file, if it was made whole."""
    if file is None or file.header is None or file.tail is None:
        return None
    return Kept(path, file, file.header, file.tail, stack)
