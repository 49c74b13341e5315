"""JSON kept as it is spelled.

Everything here works on slices of the original bytes. ``compact`` is the one gate through
which bytes from outside enter: it refuses what is not UTF-8 JSON, and removes the white space
between tokens, nothing else. All other functions expect what came through that gate.

msgspec does the work wherever it can. It refuses the escapes of lone surrogates, which are
legal JSON; such text takes a second, slower road through the same checks.
"""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from itertools import accumulate
from threading import RLock  # noqa: TID251 - it keeps threads apart, and starts none
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import msgspec

from .errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "DEPTH_MAX",
    "JSON",
    "JSONObject",
    "check_depth",
    "check_utf8",
    "compact",
    "dump",
    "dump_finite",
    "elements",
    "fields",
    "join_array",
    "join_object",
    "join_strings",
    "members",
    "prepared",
    "quote",
    "replace",
    "unquote",
    "value",
]

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""Any JSON value, parsed."""

JSONObject: TypeAlias = "dict[str, JSON]"

DEPTH_MAX = 256
"""How deep a message may nest. Far from Python's own limit, so that what was once accepted
is never refused later for being loaded from deep inside somebody's program."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
"""A string literal. Possessive: a way back for every character would cost a hundred times its
memory."""

_STRING_OR_SPACE = re.compile(rb"(" + _STRING + rb")|[ \t\r\n]+", re.DOTALL)
_TOKEN = re.compile(_STRING + rb"|[\[\]{}:,]|[^\[\]{}:,\"]+", re.DOTALL)
_STRINGS = re.compile(_STRING, re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}

Kind = TypeVar("Kind")

_PREPARING = RLock()


def prepared(kind: Kind) -> Kind:
    """Have msgspec look at a type now, and not when it is first decoded.

    Two threads that first decode the same one at once would end the process: what one has half
    found out of it, the other already uses.
    """
    with _PREPARING, suppress(Exception):  # Whoever decodes it is told what is wrong with it.
        msgspec.json.Decoder(kind)
    return kind


_decode_string = msgspec.json.Decoder(str).decode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_value = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def compact(data: bytes, *, depth_max: int = DEPTH_MAX) -> bytes:
    """Check that ``data`` is JSON, and give it back without white space between its tokens.

    Raises `DecodeError` with the reason ``not_utf8``, ``not_json`` or ``too_deep``.
    """
    if not data.isascii():
        check_utf8(data)
    try:
        tight = _compact(data)
    except RecursionError:
        if _depth(data) <= depth_max:
            raise  # The caller's stack is to blame, not the data.
        raise _too_deep(depth_max) from None
    check_depth(tight, depth_max)
    return tight


def check_depth(data: bytes, depth_max: int) -> None:
    """Raise `DecodeError` with the reason ``too_deep`` where JSON nests deeper than that."""
    if data.count(b"[") + data.count(b"{") > depth_max and _depth(data) > depth_max:
        raise _too_deep(depth_max)


def check_utf8(data: bytes) -> None:
    """Raise `DecodeError` with the reason ``not_utf8`` where bytes are not UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"expected UTF-8, found byte 0x{data[error.start]:02x} at offset {error.start}",
            reason="not_utf8",
        ) from None


def _compact(data: bytes) -> bytes:
    try:
        return msgspec.json.format(data, indent=-1)
    except msgspec.DecodeError as refused:
        error = refused
    masked, count = _SURROGATE.subn(rb"\\u0041", data)
    if count:
        try:
            msgspec.json.format(masked, indent=-1)
        except msgspec.DecodeError as refused:
            error = refused
        else:  # Only the surrogates were odd.
            return _STRING_OR_SPACE.sub(rb"\1", data)
    raise DecodeError(f"expected JSON: {error}", reason="not_json") from None


def _depth(raw: bytes) -> int:
    """Walk the brackets outside of strings."""
    brackets = _STRINGS.sub(b"", raw).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _too_deep(depth_max: int) -> DecodeError:
    return DecodeError(f"expected JSON nested at most {depth_max} deep", reason="too_deep")


def fields(raw: bytes) -> dict[str, bytes]:
    """Give the members of an object, each value as its raw slice. Of duplicates the last wins."""
    try:
        return {key: bytes(part) for key, part in _decode_fields(raw).items()}
    except msgspec.ValidationError:
        raise _expected("an object", raw) from None
    except (msgspec.DecodeError, RecursionError):
        return dict(members(raw))


def members(raw: bytes) -> list[tuple[str, bytes]]:
    """Give the members of an object in order, duplicates and all."""
    if not raw.startswith(b"{"):
        raise _expected("an object", raw)
    return [(unquote(key), part) for key, part in _pairs(_split(raw))]


def _pairs(parts: list[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return zip(parts[::2], parts[1::2], strict=True)


def elements(raw: bytes) -> list[bytes]:
    """Give the elements of an array, each as its raw slice."""
    try:
        return [bytes(part) for part in _decode_elements(raw)]
    except msgspec.ValidationError:
        raise _expected("an array", raw) from None
    except (msgspec.DecodeError, RecursionError):
        return _split(raw)


def _split(raw: bytes) -> list[bytes]:
    """Slice a compact array or object at the commas and colons of its outermost level."""
    parts: list[bytes] = []
    deep = start = 0
    for token in _TOKEN.finditer(raw):
        mark = token.group()
        if mark in (b"[", b"{"):
            deep += 1
            if deep == 1:
                start = token.end()
        elif mark in (b"]", b"}"):
            deep -= 1
            if deep == 0 and token.start() > start:
                parts.append(raw[start : token.start()])
        elif deep == 1 and mark in (b",", b":"):
            parts.append(raw[start : token.start()])
            start = token.end()
    if deep != 0:
        raise DecodeError("expected JSON, found brackets without a match", reason="not_json")
    return parts


def _expected(what: str, raw: bytes) -> DecodeError:
    return DecodeError(f"expected {what}, found {_glimpse(raw)}", reason="unexpected_type")


def _glimpse(raw: bytes) -> str:
    """Name the kind of a JSON value without repeating what it says."""
    kinds = {b"{": "an object", b"[": "an array", b'"': "a string", b"t": "true", b"f": "false"}
    return kinds.get(raw[:1], "null" if raw[:1] == b"n" else "a number")


def value(raw: bytes) -> JSON:
    """Parse. Numbers too large for Python become infinite, lone surrogates stay what they are."""
    try:
        parsed: JSON = _decode_value(raw)
    except msgspec.DecodeError:
        parsed = _value_odd(raw)
    return parsed


def _value_odd(raw: bytes) -> JSON:
    try:
        parsed: JSON = json.loads(raw.decode(), parse_int=_parse_int, parse_constant=_refuse)
    except DecodeError:
        raise
    except ValueError as error:
        raise DecodeError(f"expected JSON: {error}", reason="not_json") from None
    return parsed


def _parse_int(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def _refuse(constant: str) -> JSON:
    raise DecodeError(f"expected JSON, found {constant}", reason="not_json")


def unquote(raw: bytes) -> str:
    """Decode a string literal."""
    try:
        return _decode_string(raw)
    except msgspec.ValidationError:
        raise _expected("a string", raw) from None
    except msgspec.DecodeError:
        text = value(raw)
        if not isinstance(text, str):
            raise _expected("a string", raw) from None
        return text


def quote(text: str) -> bytes:
    """Spell a string literal: raw UTF-8, escapes only where JSON demands them."""
    try:
        return _encode(text)
    except UnicodeEncodeError:
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "backslashreplace")


def dump(parsed: object) -> bytes:
    """Spell a value compactly. `msgspec.Raw` inside it is spliced in as it is."""
    try:
        return _encode(parsed)
    except UnicodeEncodeError:
        return _dump_odd(parsed)


def dump_finite(parsed: object) -> bytes:
    """Spell a value as `dump` does, which writes null for infinity and for what is no number.

    Raises `ValueError` for these instead.
    """
    spelled = dump(parsed)
    if b"null" in spelled:
        _check_finite(msgspec.to_builtins(parsed, str_keys=True, enc_hook=lambda _: None))
    return spelled


def _check_finite(parsed: object) -> None:
    if isinstance(parsed, float) and not math.isfinite(parsed):
        raise ValueError(f"JSON has no number for {parsed}")
    if isinstance(parsed, dict | list | tuple):
        for item in parsed.values() if isinstance(parsed, dict) else parsed:
            _check_finite(item)


def _dump_odd(parsed: object) -> bytes:
    """Spell as msgspec does, but for the lone surrogates in text."""
    if isinstance(parsed, str):
        return quote(parsed)
    if isinstance(parsed, list | tuple):
        return join_array([_dump_odd(item) for item in parsed])
    if isinstance(parsed, dict):
        members = [_dump_key(key) + b":" + _dump_odd(item) for key, item in parsed.items()]
        return b"{" + b",".join(members) + b"}"
    return _encode(parsed)


def _dump_key(key: object) -> bytes:
    """Spell a key. Which other types may be keys, and how, is for msgspec to know."""
    return quote(key) if isinstance(key, str) else _encode({key: 0})[1:-3]


def join_object(members: dict[str, bytes] | Iterable[tuple[str, bytes]]) -> bytes:
    """Spell an object from names and raw values."""
    given = members.items() if isinstance(members, dict) else members
    pairs = cast("Iterable[tuple[str, bytes]]", given)
    return b"{" + b",".join([quote(key) + b":" + part for key, part in pairs]) + b"}"


def join_array(parts: Iterable[bytes]) -> bytes:
    """Spell an array from raw elements."""
    return b"[" + b",".join(parts) + b"]"


def join_strings(literals: Iterable[bytes]) -> bytes:
    """Join string literals into one, undecoded: halves of a surrogate pair meet again."""
    return b'"' + b"".join([literal[1:-1] for literal in literals]) + b'"'


def replace(raw: bytes, changes: Mapping[str, bytes | None]) -> bytes:
    """Spell an object anew with some values replaced, or left out where the change is None."""
    kept = [(key, changes.get(key, part)) for key, part in members(raw)]
    return join_object([(key, part) for key, part in kept if part is not None])
