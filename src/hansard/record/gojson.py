"""JSON as Go's ``encoding/json`` reads it and spells it.

`Scanner` takes exactly what Go takes: any white space, the escapes of lone surrogates, numbers
of any size, 10,000 levels of nesting at most, and nothing after the value. It walks without
recursion, so that depth is a rule and not an accident of the interpreter. It is for text that
came from elsewhere: what Go itself wrote need not be walked (see `hansard.record.goformat`).

Go's spelling is compact; ``< > &``, U+2028 and U+2029 are always escapes, in lower case, and
everything else is as short as JSON allows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DEPTH_MAX", "Scanner", "escape", "fold", "kind", "quote"]

DEPTH_MAX = 10_000
"""How deep Go lets JSON nest."""

_TOKEN = re.compile(
    rb"[ \t\r\n]*+("
    rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
    rb"|[\[\]{},:]"
    rb"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
    rb"|true|false|null"
    rb"|\Z)"
)
_CLOSERS = {b"{": b"}", b"[": b"]"}
_NO_VALUES = frozenset([b"", b",", b":", b"]", b"}"])

_HTML = (
    (b"<", rb"\u003c"),
    (b">", rb"\u003e"),
    (b"&", rb"\u0026"),
    (b"\xe2\x80\xa8", rb"\u2028"),
    (b"\xe2\x80\xa9", rb"\u2029"),
)


def escape(raw: bytes) -> bytes:
    """Write ``< > &``, U+2028 and U+2029 as escapes.

    Valid JSON has them nowhere but in strings, so whole values can be given.
    """
    for plain, escaped in _HTML:
        raw = raw.replace(plain, escaped)
    return raw


def quote(text: str) -> bytes:
    """Spell a string literal. Lone surrogates, which Go would destroy, are kept as escapes."""
    return escape(rawjson.quote(text))


def fold(key: str) -> str:
    """Reduce a key to what Go compares where no field has that very name.

    Go folds one character to one, so "ß" is not "ss"; the long s, though, is an s.
    """
    return key.replace("\N{LATIN SMALL LETTER LONG S}", "s").lower()


def kind(token: bytes) -> str:
    """Name what a token starts, without repeating what a string says: that is nobody's business."""
    names = {b"{": "an object", b"[": "an array", b'"': "a string", b"": "the end"}
    return names.get(token[:1]) or token[:20].decode()


class Scanner:
    """Walks over one JSON value, which must be UTF-8, and gives its parts compact and escaped.

    ``token`` is what comes next, empty at the end. Everything raises `DecodeError` with the
    reason ``not_json`` or ``too_deep`` where the text is not what Go would take.
    """

    def __init__(self, data: bytes, *, depth_max: int = DEPTH_MAX) -> None:
        self.token = b""
        self._data = data
        self._end = 0
        self._depth = 0
        self._depth_max = depth_max
        self._advance()

    def members(self) -> Iterator[bytes]:
        """Give each key of an object, as spelled. The caller takes its value before the next."""
        self._open(b"{")
        more = self.token != b"}"
        while more:
            key = self._key()
            yield key
            more = self._skip(b",")
        self._close(b"}")

    def elements(self) -> Iterator[bytes]:
        """Give each element of an array."""
        self._open(b"[")
        more = self.token != b"]"
        while more:
            yield self.value()
            more = self._skip(b",")
        self._close(b"]")

    def value(self) -> bytes:
        """Take a whole value, however deep."""
        spelled = bytearray()
        closers: list[bytes] = []
        while True:
            token = self.token
            if token in _NO_VALUES:
                raise self._unexpected("a value")
            spelled += token
            self._advance()
            if token in _CLOSERS:
                closers.append(_CLOSERS[token])
                self._check_depth(len(closers))
                if self.token != closers[-1]:
                    if token == b"{":
                        spelled += self._key() + b":"
                    continue
            while closers and self.token == closers[-1]:
                spelled += closers.pop()
                self._advance()
            if not closers:
                return escape(bytes(spelled))
            self._expect(b",")
            spelled += b","
            if closers[-1] == b"}":
                spelled += self._key() + b":"

    def end(self) -> None:
        """Make sure that nothing but white space is left."""
        if self.token:
            raise self._unexpected("nothing more")

    def _key(self) -> bytes:
        key = self.token
        if not key.startswith(b'"'):
            raise self._unexpected("a key")
        self._advance()
        self._expect(b":")
        return key

    def _open(self, bracket: bytes) -> None:
        self._expect(bracket)
        self._depth += 1
        self._check_depth(0)

    def _close(self, bracket: bytes) -> None:
        self._expect(bracket)
        self._depth -= 1

    def _skip(self, token: bytes) -> bool:
        found = self.token == token
        if found:
            self._advance()
        return found

    def _expect(self, token: bytes) -> None:
        if not self._skip(token):
            raise self._unexpected(f"{token.decode()!r}")

    def _advance(self) -> None:
        match = _TOKEN.match(self._data, self._end)
        if match is None:
            raise self._not_json("a JSON token", "something else", self._end)
        self.token = match[1]
        self._end = match.end()

    def _check_depth(self, below: int) -> None:
        if self._depth + below > self._depth_max:
            raise DecodeError(
                f"expected JSON nested at most {self._depth_max} deep, found more at byte "
                f"{self._end} of {len(self._data)}; keep the bytes and start afresh",
                reason="too_deep",
            )

    def _unexpected(self, what: str) -> DecodeError:
        return self._not_json(what, kind(self.token), self._end - len(self.token))

    def _not_json(self, what: str, found: str, offset: int) -> DecodeError:
        return DecodeError(
            f"expected {what} at byte {offset} of {len(self._data)}, found {found}; "
            "keep the bytes and start afresh",
            reason="not_json",
        )
