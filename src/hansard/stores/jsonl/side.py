"""What stands beside a conversation's file: its lease, and its metadata.

Both name the file that they are for. So what is left from a conversation that was deleted is not
taken for that of another one, of the same name.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from ..rules import Lease
from ..store import Metadata
from .files import write_whole

__all__ = [
    "About",
    "Held",
    "lease_in",
    "metadata_in",
    "now_s",
    "remove",
    "write_lease",
    "write_metadata",
]


class Held(msgspec.Struct, frozen=True):
    """Who has the lease of the conversation in the file of that id."""

    id: str
    fence: int
    owner: str
    until_s: float


class About(msgspec.Struct, frozen=True):
    """What is known of the conversation in the file of that id."""

    id: str
    metadata: Metadata


_decode_held = msgspec.json.Decoder(Held).decode
_decode_about = msgspec.json.Decoder(About).decode


def _lease_path(path: Path) -> Path:
    return path.with_suffix(".lease.json")


def _about_path(path: Path) -> Path:
    return path.with_suffix(".about.json")


def lease_in(path: Path, file: str, fence: int) -> Lease:
    """The lease of a conversation; ``fence`` is that of its last append.

    It is written without being brought onto the disk: who held it before the machine stopped
    does not any more.
    """
    try:
        held = _decode_held(_lease_path(path).read_bytes().partition(b"\n")[0])
    except (FileNotFoundError, msgspec.DecodeError):
        held = None
    if held is None or held.id != file:
        return Lease(fence)
    return Lease(max(held.fence, fence), held.owner, held.until_s)


def write_lease(path: Path, file: str, lease: Lease) -> None:
    """Say who has the lease. Only its first line counts: an earlier one may have been longer."""
    held = Held(file, lease.fence, lease.owner, max(lease.until_s, 0))
    fd = os.open(_lease_path(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.pwrite(fd, msgspec.json.encode(held) + b"\n", 0)
    finally:
        os.close(fd)


def metadata_in(path: Path, file: str) -> Metadata:
    """What is known of a conversation."""
    try:
        about = _decode_about(_about_path(path).read_bytes())
    except FileNotFoundError:
        return Metadata()
    return about.metadata if about.id == file else Metadata()


def write_metadata(path: Path, file: str, metadata: Metadata, *, full: bool) -> None:
    """Replace what is known of a conversation."""
    write_whole(_about_path(path), msgspec.json.encode(About(file, metadata)), full=full)


def remove(path: Path) -> None:
    """Remove both."""
    for side in (_lease_path(path), _about_path(path)):
        with suppress(FileNotFoundError):
            side.unlink()


def now_s() -> float:
    """The time that leases are measured by: that of the machine, alike in all its processes."""
    return time.time()
