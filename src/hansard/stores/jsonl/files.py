"""Files as the store needs them: locked, written to the end or not at all, and onto the disk.

Whoever writes a conversation's file has it locked with `flock`, whoever reads it shares a lock.
The file behind a name may be another one by the time that the lock is had; then it is tried again.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ...clock import new_name
from ...errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["flush", "flush_directory", "locked", "read_at", "reporting", "write_at", "write_whole"]

_PAUSE_S = 0.0005
_PAUSE_MAX_S = 0.02

_ADVICE = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room within the quota",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EROFS: "keep conversations where files can be written",
    errno.EACCES: "let this process read and write there",
    errno.EPERM: "let this process read and write there",
    errno.EMFILE: "raise the limit on open files",
    errno.ENFILE: "raise the limit on open files",
    errno.ENOTDIR: "give the path of a directory",
    errno.EMLINK: "delete forks, or fork from a fork",
}


@contextmanager
def reporting(path: Path) -> Iterator[None]:
    """Raise `StoreUnavailable` for what the system refuses."""
    try:
        yield
    except OSError as error:
        what = _ADVICE.get(error.errno or 0, "look after the disk, and try again")
        raise StoreUnavailable(
            f"expected to read and write {path}, found {error.strerror or error}: {what}"
        ) from error


@contextmanager
def locked(path: Path, *, exclusive: bool, create: bool, wait_s: float) -> Iterator[int | None]:
    """Give the file of a name, locked; None if there is none. One left empty is removed."""
    fd = _open_locked(path, exclusive=exclusive, create=create, wait_s=wait_s)
    if fd is None:
        yield None
        return
    try:
        yield fd
    finally:
        if create and os.fstat(fd).st_size == 0 and _is_at(path, fd):
            path.unlink()
        os.close(fd)


def _open_locked(path: Path, *, exclusive: bool, create: bool, wait_s: float) -> int | None:
    flags = os.O_CLOEXEC | (os.O_RDWR if exclusive else os.O_RDONLY)
    while True:
        try:
            fd = os.open(path, flags | (os.O_CREAT if create else 0), 0o666)
        except FileNotFoundError:
            if create:
                raise
            return None
        try:
            if not exclusive and os.fstat(fd).st_size == 0:
                os.close(fd)  # Somebody is about to make it: it is not there yet.
                return None
            lock(fd, path, exclusive=exclusive, wait_s=wait_s)
            there = _is_at(path, fd)
        except BaseException:
            os.close(fd)
            raise
        if there:
            return fd
        os.close(fd)


def lock(fd: int, path: Path, *, exclusive: bool, wait_s: float) -> None:
    """Lock an open file. Raises `StoreUnavailable` where somebody else has it for too long."""
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    until = time.monotonic() + wait_s
    pause = _PAUSE_S
    while True:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                raise StoreUnavailable(
                    f"expected to lock {path} within {wait_s:g} s, found that another process "
                    "has it locked: try again, or see what holds up the other one"
                ) from error
        else:
            return
        time.sleep(pause)
        pause = min(2 * pause, _PAUSE_MAX_S)


def _is_at(path: Path, fd: int) -> bool:
    """Whether an open file is the one of that name."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))


def read_at(fd: int, at: int, size: int) -> bytes:
    """Read a part of a file; less where it ends."""
    data = os.pread(fd, size, at)
    if len(data) in (0, size):
        return data
    parts = [data]
    while data:
        at, size = at + len(data), size - len(data)
        data = os.pread(fd, size, at)
        parts.append(data)
    return b"".join(parts)


def write_at(fd: int, data: bytes, at: int, *, full: bool) -> None:
    """End a file with some bytes from an offset on; where that fails, before them."""
    try:
        if os.fstat(fd).st_size > at:
            os.ftruncate(fd, at)
        rest = memoryview(data)
        while rest:
            written = os.pwrite(fd, rest, at + len(data) - len(rest))
            rest = rest[written:]
        if full:
            flush(fd)
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, at)
        raise


def flush(fd: int) -> None:
    """Bring onto the disk what was written to a file."""
    # On a Mac, fsync alone leaves it in the disk's cache.
    if (all_the_way := getattr(fcntl, "F_FULLFSYNC", None)) is not None:
        fcntl.fcntl(fd, all_the_way)
    else:
        os.fdatasync(fd)


def flush_directory(path: Path) -> None:
    """Bring onto the disk which files there are."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_whole(path: Path, data: bytes, *, full: bool) -> None:
    """Replace what is in a file, at once."""
    draft = path.with_name(f".{new_name()}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(data)
            file.flush()
            if full:
                flush(file.fileno())
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
    if full:
        flush_directory(path.parent)
