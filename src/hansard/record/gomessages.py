"""Messages of version 1: what Go reads in them, and how it spells them.

Go knows five members of a message, three of a call and two of its function, by their names in any
case; of duplicates the last counts that is not ``null``. They have to be of Go's types, but for two
that are not text everywhere: ``content`` may be an array, and ``arguments`` an object. What Go does
not know is nobody's business here, and stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from .. import rawjson
from ..errors import DecodeError
from . import gojson

__all__ = ["Kind", "are_understood", "kind_of", "spell", "understood"]


# -- reading ----------------------------------------------------------------------------------


def understood(raw: bytes, path: str = "message") -> bytes:
    """Spell a message so that it reads here as it reads in Go; as it is, if it does already.

    Raises `DecodeError` with the reason ``corrupt_message`` where Go could not read it.
    """
    return _understood([raw], _MESSAGE, path)


_Take: TypeAlias = Callable[[bytes, bytes, str], bytes]
"""Takes a value, that of an earlier duplicate, and the path: gives what the two come to."""


def _understood(raws: list[bytes], known: Mapping[str, _Take], path: str) -> bytes:
    """Read objects as one into which Go decodes them in turn."""
    given = [member for raw in raws for member in rawjson.members(raw)]
    kept: dict[str, bytes] = {}
    for key, value in given:
        name = gojson.fold(key)
        if name in known:
            kept[name] = known[name](value, kept.get(name, b"null"), f"{path}.{name}")
        else:
            kept[key] = value
    same = len(raws) == 1 and list(kept.items()) == given
    return raws[0] if same else rawjson.join_object(kept)


def _take_text(raw: bytes, before: bytes, path: str) -> bytes:
    return _take(raw, before, b'"', "a string", path)


def _take_content(raw: bytes, before: bytes, path: str) -> bytes:
    return _take(raw, before, b'"[', "a string or an array", path)


def _take_arguments(raw: bytes, before: bytes, path: str) -> bytes:
    return _take(raw, before, b'"{', "a string or an object", path)


def _take(raw: bytes, before: bytes, starts: bytes, what: str, path: str) -> bytes:
    _check(raw, starts, what, path)
    return before if raw == b"null" else raw


def _take_calls(raw: bytes, _before: bytes, path: str) -> bytes:
    _check(raw, b"[", "an array", path)
    if raw == b"null":
        return raw
    return rawjson.join_array(
        [_take_call(call, f"{path}[{at}]") for at, call in enumerate(rawjson.elements(raw))]
    )


def _take_call(raw: bytes, path: str) -> bytes:
    _check(raw, b"{", "an object", path)
    return raw if raw == b"null" else _understood([raw], _CALL, path)


def _take_function(raw: bytes, before: bytes, path: str) -> bytes:
    _check(raw, b"{", "an object", path)
    given = [part for part in (before, raw) if part != b"null"]
    return _understood(given, _FUNCTION, path) if given else raw


def _check(raw: bytes, starts: bytes, what: str, path: str) -> None:
    if raw != b"null" and raw[0] not in starts:
        raise DecodeError(
            f"expected {path} to be {what}, found {gojson.kind(raw)}; "
            "keep the bytes and start afresh",
            reason="corrupt_message",
            path=path,
        )


_FUNCTION: dict[str, _Take] = {"name": _take_text, "arguments": _take_arguments}
_CALL: dict[str, _Take] = {"id": _take_text, "type": _take_text, "function": _take_function}
_MESSAGE: dict[str, _Take] = {
    "role": _take_text,
    "content": _take_content,
    "name": _take_text,
    "tool_calls": _take_calls,
    "tool_call_id": _take_text,
}


# -- reading many at once ---------------------------------------------------------------------

Kind: TypeAlias = Literal["words", "own"]
"""What all messages of a run are: what somebody said, and nothing else; or as Go writes them."""


class _OwnFunction(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    name: str
    arguments: str


class _OwnCall(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    id: str
    type: str
    function: _OwnFunction


class _OwnMessage(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    role: Literal["system", "user", "assistant", "tool"]
    content: msgspec.Raw = msgspec.Raw(b'"')
    name: str = ""
    tool_calls: tuple[_OwnCall, ...] = ()
    tool_call_id: str = ""


class _Function(msgspec.Struct, gc=False):
    name: str
    arguments: str


class _Call(msgspec.Struct, gc=False):
    id: str
    type: str
    function: _Function | msgspec.UnsetType = msgspec.UNSET


class _Message(msgspec.Struct, gc=False):
    role: str
    content: msgspec.Raw = msgspec.Raw(b'"')
    name: str = ""
    tool_calls: tuple[_Call, ...] = ()
    tool_call_id: str = ""


_ABSENT = _OwnMessage("user").content
_QUOTE = ord('"')
_CONTENT = b'"['
_decode_own = msgspec.json.Decoder(list[_OwnMessage]).decode
_decode = msgspec.json.Decoder(list[_Message]).decode
_NAMES = frozenset({*_MESSAGE, *_CALL, *_FUNCTION})


def kind_of(messages: bytes | memoryview) -> tuple[int, Kind | None]:
    """Count the messages of an array that are of a kind; None if any is of another.

    All members of theirs are known, none is ``null``, and none nests.
    """
    try:
        found = _decode_own(messages)
    except msgspec.ValidationError:
        return 0, None
    if not all([memoryview(message.content)[0] == _QUOTE for message in found]):
        return 0, None
    words = [not message.tool_calls and message.role != "tool" for message in found]
    bare = any([message.content is _ABSENT for message in found])
    return len(found), "words" if all(words) and not bare else "own"


def are_understood(messages: bytes) -> bool:
    """Whether each message of an array surely is as `understood` would give it.

    No member that counts is ``null``, so that duplicates need not be looked for: all that can be
    said twice is said whole each time.
    """
    try:
        found = _decode(messages)
    except (msgspec.DecodeError, RecursionError):
        return False
    if not all([memoryview(message.content)[0] in _CONTENT for message in found]):
        return False
    return not any([_is_odd(key) for key in _keys(messages)])


def _keys(compact: bytes) -> set[bytes]:
    """All keys that stand in a JSON text, and ends of strings that look like one."""
    return {piece[piece.rfind(b'"') + 1 :] for piece in compact.split(b'":')}


def _is_odd(key: bytes) -> bool:
    """Whether a key may be that of a known member to Go, though it is not spelled so."""
    if b"\\" in key:
        return not key.endswith(b"\\")  # With it, the quote belongs to a text.
    name = key.decode()
    return name not in _NAMES and gojson.fold(name) in _NAMES


# -- writing ----------------------------------------------------------------------------------


def spell(raw: bytes) -> bytes:
    """Spell a new Chat Completions message as Go would have, and keep what Go would have lost.

    The fields Go knows come first, in its order and its spelling, and are left out when empty
    or null as it does. A known field of another type than Go's keeps its place and its value.
    All other fields follow in their own order. For messages that were read from a blob this is
    not needed, and would change their bytes.
    """
    given = rawjson.fields(rawjson.compact(raw))
    known = [("role", _text(given.pop("role", b"null")))]
    for name in ("content", "name", "tool_calls", "tool_call_id"):
        part = given.pop(name, b"null")
        part = _calls(part) if name == "tool_calls" else _text(part)
        if part not in (b'""', b"[]"):
            known.append((name, part))
    return gojson.escape(rawjson.join_object([*known, *given.items()]))


def _calls(raw: bytes) -> bytes:
    if raw == b"null":
        return b"[]"
    if not raw.startswith(b"["):
        return raw
    return rawjson.join_array([_call(call) for call in rawjson.elements(raw)])


def _call(raw: bytes) -> bytes:
    if not raw.startswith(b"{"):
        return raw
    given = rawjson.fields(raw)
    kind = _text(given.pop("type", b"null"))
    known = [("id", _text(given.pop("id", b"null"))), ("type", kind)]
    function = given.pop("function", b"null")
    # Go adds an empty function to a call of another kind. Sent to a model that would be wrong.
    if function != b"null" or kind in (b'""', b'"function"'):
        known.append(("function", _function(function)))
    return rawjson.join_object([*known, *given.items()])


def _function(raw: bytes) -> bytes:
    if raw != b"null" and not raw.startswith(b"{"):
        return raw
    given = {} if raw == b"null" else rawjson.fields(raw)
    known = [(name, _text(given.pop(name, b"null"))) for name in ("name", "arguments")]
    return rawjson.join_object([*known, *given.items()])


def _text(raw: bytes) -> bytes:
    if raw == b"null":
        return b'""'
    return rawjson.quote(rawjson.unquote(raw)) if raw.startswith(b'"') else raw
