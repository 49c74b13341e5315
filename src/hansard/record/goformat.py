"""How version 1 of the opaque blob is spelled, which Go programs share with us: byte for byte.

    {"version":1,"provider":"openai","processed_length":2,"messages":[{…},{…}]}

Rules:

- It is read as Go reads it: keys in any case, the last of duplicates, ``null`` for anything,
  unknown fields skipped, white space anywhere.
- It is written as Go writes it. Stored messages keep their spelling, but for what Go's encoder
  does to them: no white space, and ``< > &``, U+2028 and U+2029 as escapes.
- Messages are not decoded. What Go wrote is checked in one pass and kept as one slice.
- One thing differs from Go on purpose: a blob that is not UTF-8 is refused, where Go carries the
  broken bytes on. What is in a message is not judged here, but in `gomessages`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from .. import rawjson
from ..errors import DecodeError
from . import gojson, gomessages

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MESSAGES_MAX", "GoBlob", "read", "write"]

_HEAD = re.compile(
    rb'\{"version":1,"provider":"([ !#-%\'-;=?-\[\]-~]*)",'
    rb'(?:"processed_length":(0|-?[1-9][0-9]{0,17}),)?"messages":\['
)
"""The start of a blob as Go writes it, for a provider of a plain name. Releases before the
first that counted have no ``processed_length``."""

_MASK = bytes.maketrans(b" \t\r\n<>&", b"_\0\0\0\0\0\0")
_PIECE = 1 << 16
_DEPTH_OF_ANY_KIND = 6
MESSAGES_MAX = 100_000
"""A message can take three bytes in a blob, and a thousand times that once it is looked at."""

_MESSAGE_SIZE_MIN = len(b"{},")
_INTEGER = re.compile(rb"-?[0-9]{1,19}")
_INTEGERS = range(-(2**63), 2**63)
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Message(msgspec.Struct, gc=False):
    """Any object at all."""


_decode_messages = msgspec.json.Decoder(list[_Message | None]).decode
_decode_raws = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder(msgspec.Raw).decode


@dataclass(frozen=True, slots=True)
class GoBlob:
    """What a version 1 blob says.

    ``view`` shows all messages in one slice, joined by commas, in Go's spelling: ready for
    `write`, and not copied. Each is an object or ``null``; ``count`` counts all, ``nulls`` those.
    ``processed_length`` is whatever was stored, not checked against ``count``.
    ``kind`` is what they all are, where that is known.
    """

    provider: str
    processed_length: int
    count: int
    view: memoryview = field(repr=False)
    nulls: int = 0
    kind: gomessages.Kind | None = field(default=None, compare=False)

    @property
    def messages(self) -> bytes:
        """A copy of what ``view`` shows, made on each access."""
        return bytes(self.view)


def read(
    data: bytes, *, depth_max: int = gojson.DEPTH_MAX, messages_max: int = MESSAGES_MAX
) -> GoBlob:
    """Read a blob, or raise `DecodeError`.

    Its reason is ``not_utf8``, ``not_json``, ``too_deep``, ``too_large``, ``version``,
    ``unexpected_type`` or ``corrupt_message``; its path names the field. The provider's name is
    not judged here. ``depth_max`` counts the brackets of the blob too, ``messages_max`` every
    ``null``, and neither takes memory for what is beyond it.
    """
    found = None
    if data.isascii() or not _has_line_separators(data):
        found = _read_canonical(data, depth_max, messages_max)
    if found is None and (spelled := _spelled(data, depth_max)) != data:
        found = _read_canonical(spelled, depth_max, messages_max)
    return found or _read_any(data, depth_max, messages_max)


def write(
    *, provider: str, processed_length: int, messages: Iterable[bytes | memoryview] = ()
) -> bytes:
    """Write a blob. Each of ``messages`` is one in Go's spelling, or a slice that `read` gave."""
    head = b'{"version":1,"provider":%b,"processed_length":%d,"messages":['
    parts: list[bytes | memoryview] = [head % (gojson.quote(provider), processed_length)]
    for run in messages:
        if run:
            parts += (run, b",")
    if len(parts) > 1:
        parts.pop()
    parts.append(b"]}")
    return b"".join(parts)


def _has_line_separators(data: bytes) -> bool:
    """Look for U+2028 and U+2029 in text that must be UTF-8.

    A piece at a time, cut before a quote: one emoji makes every character of a text take four
    bytes, and pieces that fit the processor's cache are checked in half the time.
    """
    view = memoryview(data)
    found = False
    start = 0
    while start < len(data):
        end = data.find(b'"', start + _PIECE)
        end = len(data) if end < 0 else end
        try:
            text = str(view[start:end], "utf-8")
        except UnicodeDecodeError as error:
            offset = start + error.start
            raise DecodeError(
                f"expected UTF-8, found byte 0x{data[offset]:02x} at byte {offset}; "
                "keep the bytes and start afresh",
                reason="not_utf8",
            ) from None
        found = found or "\u2028" in text or "\u2029" in text
        start = end
    return found


def _may_have_more(data: bytes, messages_max: int) -> bool:
    """Whether a blob in Go's spelling could have more messages than that."""
    if len(data) <= messages_max * _MESSAGE_SIZE_MIN:
        return False
    return data.count(b"},{") + 2 * data.count(b"null") >= messages_max


def _spelled(data: bytes, depth_max: int) -> bytes:
    """Spell JSON as Go does, where that is quickly done: databases and people add white space."""
    try:
        return gojson.escape(rawjson.compact(data, depth_max=depth_max))
    except (DecodeError, RecursionError):
        return data


def _read_canonical(data: bytes, depth_max: int, messages_max: int) -> GoBlob | None:
    """Read a blob that is spelled as Go spells it; None says that it is not.

    The bytes are checked with every space made a letter and every byte that Go would not have
    written made one that JSON forbids. If that is still JSON, no space was between tokens.
    """
    head = _HEAD.match(data)
    if head is None or not data.endswith(b"]}") or _may_have_more(data, messages_max):
        return None
    masked = memoryview(data.translate(_MASK))[head.end() - 1 : -1]
    nulls = 0
    try:
        count, kind = gomessages.kind_of(masked)
        if kind is None:
            messages = _decode_messages(masked)
            count, nulls = len(messages), messages.count(None)
    except (msgspec.DecodeError, RecursionError):
        return None
    if kind is None or depth_max < _DEPTH_OF_ANY_KIND:
        _check_depth(data, head.end() - 1, depth_max, objects=count - nulls)
    return GoBlob(
        provider=head[1].decode(),
        processed_length=int(head[2] or 0),
        count=count,
        view=memoryview(data)[head.end() : -2],
        nulls=nulls,
        kind=kind,
    )


def _check_depth(data: bytes, start: int, depth_max: int, *, objects: int) -> None:
    """Walk over the messages with so many opening brackets that they could be too deep.

    Each of the other ``objects`` has one itself, so that one alone can have what is left at most.
    """
    most = data.count(b"{") + data.count(b"[") - max(objects - 1, 0)
    if most <= depth_max or not _msgspec_nests(depth_max // 2):
        return
    for raw in map(bytes, _decode_raws(memoryview(data)[start:-1])):
        if raw.count(b"{") + raw.count(b"[") > depth_max - 2:
            gojson.Scanner(raw, depth_max=depth_max - 2).value()


def _msgspec_nests(depth: int) -> bool:
    """Whether msgspec goes so deep. It depends on the interpreter and on how deep we are."""
    try:
        _decode_any(b"[" * depth + b"]" * depth)
    except RecursionError:
        return False
    return True


def _read_any(data: bytes, depth_max: int, messages_max: int) -> GoBlob:
    """Read a blob that somebody else spelled."""
    given, messages = _fields(data, depth_max, messages_max)
    version = _integer(given["version"], "version", reason="version")
    if version != 1:
        raise DecodeError(
            f"expected a state of version 1, found version {version}; "
            "read it with the release that wrote it",
            reason="version",
            path="version",
        )
    provider = _string(given["provider"], "provider")
    processed_length = _integer(given["processed_length"], "processed_length")
    run = _last_messages(messages)
    view = memoryview(b",".join(run))
    return GoBlob(provider, processed_length, len(run), view, nulls=run.count(b"null"))


def _fields(
    data: bytes, depth_max: int, messages_max: int
) -> tuple[dict[str, list[bytes]], list[bytes | list[bytes]]]:
    """Give all values of the fields that Go knows, and of ``messages`` apart, each in order."""
    given: dict[str, list[bytes]] = {"version": [], "provider": [], "processed_length": []}
    messages: list[bytes | list[bytes]] = []
    room = messages_max
    scanner = gojson.Scanner(data, depth_max=depth_max)
    if scanner.token == b"{":
        for key in scanner.members():
            name = gojson.fold(rawjson.unquote(key))
            if name == "messages" and scanner.token == b"[":
                run = _run(scanner, room)
                room -= len(run)
                messages.append(run)
            elif name == "messages":
                messages.append(scanner.value())
            else:
                given.get(name, []).append(scanner.value())
        scanner.end()
        return given, messages
    other = scanner.value()
    scanner.end()
    if other != b"null":
        raise DecodeError(
            f"expected the state to be an object, found {gojson.kind(other)}; "
            "keep the bytes and start afresh",
            reason="unexpected_type",
        )
    return given, messages


def _run(scanner: gojson.Scanner, room: int) -> list[bytes]:
    run = list(islice(scanner.elements(), room + 1))
    if len(run) > room:
        raise DecodeError(
            "expected fewer messages, found more than the limit; keep the bytes and start afresh",
            reason="too_large",
            path="messages",
        )
    return run


def _integer(raws: list[bytes], path: str, *, reason: str = "unexpected_type") -> int:
    number = 0
    for raw in raws:
        if raw != b"null":
            if not _INTEGER.fullmatch(raw) or int(raw) not in _INTEGERS:
                raise _unexpected_type("an integer of 64 bits", raw, path, reason=reason)
            number = int(raw)
    return number


def _string(raws: list[bytes], path: str) -> str:
    text = ""
    for raw in raws:
        if raw != b"null":
            if not raw.startswith(b'"'):
                raise _unexpected_type("a string", raw, path)
            text = _SURROGATE.sub("\ufffd", rawjson.unquote(raw))
    return text


def _last_messages(values: list[bytes | list[bytes]]) -> list[bytes]:
    run: list[bytes] = []
    for value in values:
        if isinstance(value, bytes) and value != b"null":
            raise _unexpected_type("an array", value, "messages")
        run = [] if isinstance(value, bytes) else value
    for index, raw in enumerate(run):
        if not raw.startswith(b"{") and raw != b"null":
            path = f"messages[{index}]"
            raise _unexpected_type("an object", raw, path, reason="corrupt_message")
    return run


def _unexpected_type(
    what: str, raw: bytes, path: str, *, reason: str = "unexpected_type"
) -> DecodeError:
    return DecodeError(
        f"expected {path} to be {what}, found {gojson.kind(raw)}; keep the bytes and start afresh",
        reason=reason,
        path=path,
    )
