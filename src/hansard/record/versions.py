"""Which versions of the blob there are, and how an old one becomes a new one.

`READERS` is the registry: every version that was ever written has a reader in it, and every reader
gives a `Record`. An old blob is upgraded by reading it and writing it in the current version;
there is no other way, and it is the identity on what is current already.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from .. import rawjson
from ..dialects.dialect import Dialect, has_any
from ..errors import DecodeError, Invalid, Unsayable
from . import blob, goblob, gojson
from .context import Context, Line, Stored
from .entries import Said
from .record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .entries import Author

__all__ = ["CURRENT", "MESSAGES_MAX", "READERS", "Find", "read", "upgrade", "version_of", "write"]

CURRENT = 2
MESSAGES_MAX = goblob.MESSAGES_MAX

Find: TypeAlias = Callable[[str], Dialect]
"""Gives the dialect of a name, or raises `UnknownDialect`."""

_DEPTH_MAX = rawjson.DEPTH_MAX + 2
"""Messages stand in an object and an array. Go takes deeper ones, but nobody could look at them."""

_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")
_VERSION = re.compile(rb'\{"version":([1-9][0-9]{0,8}),')


def version_of(data: bytes) -> int:
    """Say in which version a blob was written, without judging the rest of it.

    Whoever wrote it, a blob of version 2 or later begins with its version, as it was spelled
    then; everything else is a matter for version 1, which is read leniently.
    """
    found = _VERSION.match(data)
    return int(found[1]) if found else 1


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
    record = reader(data, find, conversation, messages_max)
    if record.context.count > messages_max:
        raise DecodeError(
            f"expected at most {messages_max} messages, found {record.context.count}",
            reason="too_large",
        )
    return record


def write(record: Record, version: int = CURRENT) -> bytes:
    """Spell a record as a blob of version 1 or 2."""
    if version == CURRENT:
        return blob.write(record)
    if version == 1:
        return _write_go(record)
    raise Invalid(f"expected version 1 or {CURRENT}, found {version!r}")


def upgrade(data: bytes, find: Find, *, conversation: str) -> bytes:
    """Spell a blob of any version in the current one. One that is current stays as it is."""
    if version_of(data) == CURRENT:
        blob.read(data, find)
        return data
    return write(read(data, find, conversation=conversation))


# -- version 1 --------------------------------------------------------------------------------


class GoRoot(Stored):
    """The messages of a blob of version 1: they have no headers, so those are made up.

    A ``null``, which Go can have stored, is written as it was read, and is no message.
    """

    def __init__(self, dialect: Dialect, go: goblob.GoBlob) -> None:
        text = go.messages
        # A mark that is spelled with escapes is not found as it stands.
        escaped = b"\\" in text and b"\\u00" in text and _ESCAPED_LETTER.search(text) is not None
        calls = escaped or has_any(dialect.call_marks, text)
        cut = escaped or has_any(dialect.cut_marks, text)
        super().__init__(
            dialect,
            go.view,
            go.count - go.nulls,
            tidy=not calls,
            plain=not (dialect.itemized or go.nulls or cut),
        )
        self.processed = go.processed_length
        self.seen = min(max(go.processed_length, 0), self.count)

    def lines(self) -> Sequence[Line]:
        return [
            _go_line(seq, self.dialect.unsplice([raw]), self.dialect)
            for seq, raw in enumerate(self.items())
            if raw != b"null"
        ]


def _go_line(seq: int, raw: bytes, dialect: Dialect) -> Line:
    """Make up the entry of a message."""
    role = dialect.read(raw).role
    author: Author = "model" if role == "assistant" else "append"
    entry = Said(seq=seq, role=role, author=author, raw=msgspec.Raw(raw))
    return Line(entry, raw, dialect.project(raw))


def _read_go(data: bytes, find: Find, conversation: str, messages_max: int) -> Record:
    try:
        go = goblob.read(data, depth_max=_DEPTH_MAX, messages_max=messages_max)
    except DecodeError as error:
        raise _rewritten() if error.reason == "version" and _was_current(data) else error from None
    dialect = find(go.provider)
    return Record(conversation, dialect, start=Context(GoRoot(dialect, go)), base=go.count)


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


def _write_go(record: Record) -> bytes:
    """Spell a record as Go does. What was read from version 1 is written as it was."""
    if record.turn is not None:
        raise Unsayable(
            "expected a conversation between turns: version 1 has no words for an open turn; "
            "finish it, or write version 2",
            dialect=record.dialect.name,
        )
    context, name = record.context, record.dialect.name
    go = context.root if isinstance(context.root, GoRoot) else None
    lines = context.added() if go else context.lines()
    spell = goblob.spell if name == "openai" else gojson.escape
    messages: list[bytes | memoryview] = [go.messages] if go else []
    messages += [spell(record.dialect.splice(line.raw)) for line in lines]
    processed = go.processed if go and not lines else _processed(record)
    return goblob.write(provider=name, processed_length=processed, messages=messages)


def _processed(record: Record) -> int:
    """How many of the messages a model has seen, where each item of one counts."""
    if not record.dialect.itemized:
        return record.processed
    seen = record.context.lines()[: record.processed]
    return sum([len(rawjson.elements(line.raw)) for line in seen])


def _read_current(data: bytes, find: Find, _conversation: str, _messages_max: int) -> Record:
    return blob.read(data, find)


READERS: dict[int, Callable[[bytes, Find, str, int], Record]] = {1: _read_go, 2: _read_current}
"""The readers of all versions: from a blob, the dialects, an id for what has none, and how many
messages are taken at most."""
