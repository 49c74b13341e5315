"""Messages of version 1: how Go spells them."""

from __future__ import annotations

from .. import rawjson
from . import gojson

__all__ = ["spell"]


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
