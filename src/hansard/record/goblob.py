"""Version 1 of the opaque blob, as a record: the format of the Go library goaitools.

It knows messages and how many of them a model has seen, so headers are made up, and there are no
words for a turn that is open. What was read from version 1 is written to it as it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from .. import rawjson
from ..dialects.dialect import has_any
from ..errors import DecodeError, Unsayable
from . import goformat, gojson, gomessages
from .context import Context, Line, Stored
from .entries import Said
from .record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..dialects.dialect import Dialect
    from .entries import Author

__all__ = ["GoRoot", "read", "write"]

_DEPTH_MAX = rawjson.DEPTH_MAX + 2
"""Messages stand in an object and an array. Go takes deeper ones, but nobody could look at them."""

_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")


class GoRoot(Stored):
    """The messages of a blob of version 1: they have no headers, so those are made up.

    A ``null``, which Go can have stored, is written as it was read, and is no message. ``written``
    are the messages for version 1; those of Chat Completions may read here only as `understood`.
    """

    def __init__(self, dialect: Dialect, go: goformat.GoBlob) -> None:
        self.written = go.view
        self.processed = go.processed_length
        ours = dialect.name == _GO
        messages: bytes | memoryview = go.view
        calls = cut = False
        if not ours or go.kind != "words":
            messages = text = go.messages
            if ours and go.kind is None:
                messages = text = _understood(text)
            # A mark that is spelled with escapes is not found as it stands.
            escaped = b"\\u00" in text and _ESCAPED_LETTER.search(text) is not None
            calls = escaped or has_any(dialect.call_marks, text)
            cut = escaped or has_any(dialect.cut_marks, text)
        super().__init__(
            dialect,
            messages,
            go.count - go.nulls,
            tidy=not calls,
            plain=not (dialect.itemized or go.nulls or cut),
        )
        self.seen = min(max(go.processed_length, 0), self.count)
        self._lines = None if ours else self._made_up()

    def lines(self) -> Sequence[Line]:
        return self._made_up() if self._lines is None else self._lines

    def _made_up(self) -> list[Line]:
        return [
            _go_line(seq, self.dialect.unsplice([raw]), self.dialect)
            for seq, raw in enumerate(self.items())
            if raw != b"null"
        ]


_GO = "openai"
"""The dialect that is Go's own. In all others, version 1 is written by us alone."""


def _understood(messages: bytes) -> bytes:
    """Give joined messages as they read in Go. Raises `DecodeError` for what no message can be."""
    array = b"[%b]" % messages
    if gomessages.are_understood(array):
        return messages
    raws = enumerate(rawjson.elements(array))
    return b",".join(
        [
            raw if raw == b"null" else gomessages.understood(raw, f"messages[{at}]")
            for at, raw in raws
        ]
    )


def _go_line(seq: int, raw: bytes, dialect: Dialect) -> Line:
    """Make up the entry of a message. Raises `DecodeError` for what no message can be."""
    try:
        role = dialect.read(raw).role
    except DecodeError as error:
        path = f"messages[{seq}]"
        raise DecodeError(
            f"expected {path} to be a message of {dialect.name}: {error}",
            reason="corrupt_message",
            path=path,
            dialect=dialect.name,
        ) from None
    author: Author = "model" if role == "assistant" else "append"
    entry = Said(seq=seq, role=role, author=author, raw=msgspec.Raw(raw))
    return Line(entry, raw, dialect.project(raw))


def read(
    data: bytes, find: Callable[[str], Dialect], *, conversation: str, messages_max: int
) -> Record:
    """Read a blob of version 1; ``find`` gives the dialect of a name.

    It is checked in full. Raises `DecodeError` where `goformat.read` does, and with the reason
    ``corrupt_message`` where a message is none of its dialect.
    """
    go = goformat.read(data, depth_max=_DEPTH_MAX, messages_max=messages_max)
    dialect = find(go.provider)
    return Record(conversation, dialect, start=Context(GoRoot(dialect, go)), base=go.count)


def write(record: Record) -> bytes:
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
    spell = _spell if name == _GO else gojson.escape
    messages: list[bytes | memoryview] = [go.written] if go else []
    messages += [spell(record.dialect.splice(line.raw)) for line in lines]
    processed = go.processed if go and not lines else _processed(record)
    return goformat.write(provider=name, processed_length=processed, messages=messages)


def _spell(raw: bytes) -> bytes:
    """Spell a new message. What could not be read again is not written."""
    spelled = gomessages.spell(raw)
    try:
        gomessages.understood(spelled)
    except DecodeError as error:
        raise Unsayable(
            "expected a message that version 1 can hold, found one whose "
            f"{error.path.removeprefix('message.')} is of another type; write version 2",
            dialect=_GO,
        ) from None
    return spelled


def _processed(record: Record) -> int:
    """How many of the messages a model has seen, where each item of one counts."""
    if not record.dialect.itemized:
        return record.processed
    seen = record.context.lines()[: record.processed]
    return sum([len(rawjson.elements(line.raw)) for line in seen])
