"""What forks share: each has a hard link to the file of every conversation that it stems from.

So a conversation can be deleted, and what its forks need of it stays for as long as they are
there, and no longer: a file goes with its last link. The name of a link says how many bytes of the
file its fork needs; of one that was deleted, no more is kept.

    .shared/ID/NAME~FORK-BYTES.jsonl

Whoever makes or removes a link to a file has that file locked. A process that dies while it forks
or deletes leaves links behind; they go when what they share is cut the next time.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ...errors import StoreError
from .file import ConversationFile
from .files import flush_directory, lock
from .names import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .lines import Shared

__all__ = ["drop_unshared", "link", "link_path", "unlink"]


def link_path(directory: Path, shared: Shared, fork: str) -> Path:
    """Where a fork has its link to a file."""
    return _links(directory, shared.id) / f"{fork}-{shared.end}{SUFFIX}"


def _links(directory: Path, file: str) -> Path:
    return directory / ".shared" / file


def link(source: Path, directory: Path, shared: Shared, fork: str, *, full: bool) -> None:
    """Let a fork have a file that somebody has locked."""
    path = link_path(directory, shared, fork)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.hardlink_to(source)
    if full:
        for each in (path.parent, path.parent.parent, directory):
            flush_directory(each)


@contextmanager
def opened(path: Path, *, wait_s: float, exclusive: bool) -> Iterator[int]:
    """Give a shared file, locked."""
    fd = os.open(path, (os.O_RDWR if exclusive else os.O_RDONLY) | os.O_CLOEXEC)
    try:
        lock(fd, path, exclusive=exclusive, wait_s=wait_s)
        yield fd
    finally:
        os.close(fd)


def unlink(directory: Path, shared: Shared, fork: str, *, wait_s: float) -> None:
    """Take a file from a fork, and what of it nobody else needs from the disk."""
    path = link_path(directory, shared, fork)
    with suppress(FileNotFoundError), opened(path, wait_s=wait_s, exclusive=True) as fd:
        path.unlink()
        drop_unshared(fd, directory, shared.id)


def drop_unshared(fd: int, directory: Path, file: str) -> None:
    """Cut a file to what forks need of it, if its conversation was deleted."""
    links = _links(directory, file)
    try:
        paths = [*links.iterdir()]
    except FileNotFoundError:
        return
    if os.fstat(fd).st_nlink > len(paths):
        return
    ends = []
    for path in paths:
        fork, _, end = path.stem.rpartition("-")
        if _is_there(directory, fork):
            ends.append(int(end))
        else:
            path.unlink()
    if not ends:
        with suppress(OSError):  # Somebody is about to make a link.
            links.rmdir()
    elif os.fstat(fd).st_size > max(ends):
        os.ftruncate(fd, max(ends))


def _is_there(directory: Path, fork: str) -> bool:
    """Whether a fork is there, or somebody is at work on what may be one."""
    name, _, file = fork.rpartition("~")
    path = directory / f"{name}{SUFFIX}"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        lock(fd, path, exclusive=False, wait_s=0)
        header = ConversationFile(fd, str(path)).header
    except StoreError:
        return True
    finally:
        os.close(fd)
    return header is not None and header.id == file
