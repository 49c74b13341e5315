"""What callers give in JSON: values to spell, and what they have spelled themselves.

A native part and a native tool go into a request byte for byte, so they pass the same gate as a
message from outside: each is one JSON object, and cannot become anything else around it.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from .. import rawjson
from ..errors import DecodeError, Invalid, InvalidMessage

if TYPE_CHECKING:
    from .dialect import ToolSpec

__all__ = ["check_json", "native_part", "native_tool"]

_DEPTH_MAX = rawjson.DEPTH_MAX - 8
"""What is given stands a little deeper in a message than alone."""


def native_part(raw: bytes) -> bytes | None:
    """Give a part as it is said: without white space, else as it is spelled.

    None where it is no object, which no provider has for a part. Raises `InvalidMessage` where it
    is no JSON.
    """
    spelled = _spelled("a native part", raw)
    return spelled if spelled.startswith(b"{") else None


def native_tool(tool: ToolSpec) -> bytes | None:
    """Give a tool's own declaration, if it has one, likewise.

    Raises `InvalidMessage` where it is no JSON object.
    """
    if tool.native is None:
        return None
    spelled = _spelled(f"the native declaration of the tool {tool.name!r}", tool.native)
    if not spelled.startswith(b"{"):
        raise InvalidMessage(
            f"expected the native declaration of the tool {tool.name!r} to be a JSON object"
        )
    return spelled


def _spelled(what: str, raw: bytes) -> bytes:
    try:
        return rawjson.compact(raw, depth_max=_DEPTH_MAX)
    except DecodeError as error:
        raise InvalidMessage(f"expected {what} to be one JSON object: {error}") from None


_BYTES = (bytes, bytearray, memoryview)


def check_json(what: str, given: object) -> None:
    """Raise `Invalid` for a value that JSON has no words for, or others that say less.

    Numbers without an end would become null, and bytes some text.
    """
    try:
        _check(msgspec.to_builtins(given, builtin_types=_BYTES, str_keys=True))
        rawjson.dump(given)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Invalid(
            f"expected {what} to be JSON, found {type(given).__name__}: {error}"
        ) from None


def _check(plain: object) -> None:
    if isinstance(plain, dict):
        for value in plain.values():
            _check(value)
    elif isinstance(plain, list | tuple):
        for value in plain:
            _check(value)
    elif isinstance(plain, float) and not isfinite(plain):
        raise ValueError(f"there is no number {plain} in JSON")
    elif isinstance(plain, _BYTES):
        raise TypeError("bytes are no text: spell them as your provider wants them, say in base64")
