"""Which versions of the blob there are, and how an old one becomes a new one.

`READERS` and `WRITERS` are the registry: every version that was ever written has a reader, which
gives a `Record`. An old blob is upgraded by reading it and writing it in the current version;
there is no other way, and it is the identity on what is current already.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from .. import rawjson
from ..dialects.dialect import Dialect
from ..errors import DecodeError, Invalid
from . import blob, goblob, goformat
from .record import Record

__all__ = [
    "CURRENT",
    "MESSAGES_MAX",
    "READERS",
    "WRITERS",
    "Find",
    "read",
    "upgrade",
    "version_of",
    "write",
]

CURRENT = 2
MESSAGES_MAX = goformat.MESSAGES_MAX

Find: TypeAlias = Callable[[str], Dialect]
"""Gives the dialect of a name, or raises `UnknownDialect`."""


def _read_1(data: bytes, find: Find, conversation: str, messages_max: int) -> Record:
    return goblob.read(data, find, conversation=conversation, messages_max=messages_max)


def _read_2(data: bytes, find: Find, _conversation: str, _messages_max: int) -> Record:
    return blob.read(data, find)


READERS: dict[int, Callable[[bytes, Find, str, int], Record]] = {1: _read_1, 2: _read_2}
"""The readers of all versions: from a blob, the dialects, an id for what has none, and how many
messages are taken at most."""

WRITERS: dict[int, Callable[[Record], bytes]] = {1: goblob.write, 2: blob.write}
"""The writers of those versions that are still written."""

_VERSION = re.compile(rb'\{"version":([1-9][0-9]{0,8}),')
_VERSION_2 = b'{"version":2,"dialect":'
_SAID_AGAIN = re.compile(rb'"(?i:version)"[ \t\r\n]*:')


def version_of(data: bytes) -> int:
    """Say in which version a blob was written, without judging the rest of it.

    Whoever wrote it, a blob of version 2 or later begins with its version, as it was spelled
    then; everything else is a matter for version 1, which is read leniently. So is what no other
    version can be and says its version again: to Go, the last one counts.
    """
    found = _VERSION.match(data)
    version = int(found[1]) if found else 1
    known = data.startswith(_VERSION_2) if version == CURRENT else version in READERS
    return version if known or not _SAID_AGAIN.search(data, 2) else 1


def read(data: bytes, find: Find, *, conversation: str, messages_max: int = MESSAGES_MAX) -> Record:
    """Read a blob of any version. ``conversation`` is the id that one of version 1 gets.

    Raises `DecodeError` with the reason ``version`` for one that this release does not know, and
    ``too_large`` for one of more messages than ``messages_max``.
    """
    version = version_of(data)
    reader = READERS.get(version)
    if reader is None:
        raise DecodeError(
            f"expected a state of version 1 to {CURRENT}, found version {version}: it was "
            "written by a later release; keep it, and read it with that one",
            reason="version",
            path="version",
        )
    try:
        record = reader(data, find, conversation, messages_max)
    except DecodeError as error:
        raise _rewritten() if error.reason == "version" and _was_current(data) else error from None
    if record.context.count > messages_max:
        raise DecodeError(
            f"expected at most {messages_max} messages, found {record.context.count}",
            reason="too_large",
        )
    return record


@rawjson.prepared
class _Versioned(msgspec.Struct):
    version: int = 1


def _was_current(data: bytes) -> bool:
    try:
        return msgspec.json.decode(data, type=_Versioned).version == CURRENT
    except (msgspec.DecodeError, RecursionError):
        return False


def _rewritten() -> DecodeError:
    return DecodeError(
        "expected the bytes that were written, found the same JSON in another spelling: was the "
        "state kept in a column that rewrites JSON?",
        reason="checksum",
    )


def write(record: Record, version: int = CURRENT) -> bytes:
    """Spell a record as a blob of a version that is still written."""
    writer = WRITERS.get(version)
    if writer is None:
        known = " or ".join(map(str, WRITERS))
        raise Invalid(f"expected version {known}, found {version!r}")
    return writer(record)


def upgrade(data: bytes, find: Find, *, conversation: str) -> bytes:
    """Spell a blob of any version in the current one. One that is current stays as it is."""
    if version_of(data) == CURRENT:
        blob.read(data, find)
        return data
    return write(read(data, find, conversation=conversation))
