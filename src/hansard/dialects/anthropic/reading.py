"""Reading Anthropic Messages: a native message into neutral parts, and what is left of it."""

from __future__ import annotations

import base64
from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

from ... import rawjson
from ...messages import Media, Native, Reading, Text, Thought, ToolCall, ToolResult
from ..fields import TEXT, Extra, object_at, text_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...messages import Part, Role
    from ..fields import Known

    _Reader: TypeAlias = Callable[[dict[str, bytes]], Part | None]

__all__ = [
    "ROLES",
    "THOUGHTS",
    "blocks",
    "kind_of",
    "read_call",
    "read_message",
]

ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}

THOUGHTS = frozenset({"thinking", "redacted_thinking"})
"""The kinds of blocks that hold reasoning."""


def read_message(raw: bytes) -> Reading:
    """Read a native message into neutral parts."""
    fields = rawjson.fields(raw)
    parts = tuple(_read_content(fields.get("content", b"null"), _BLOCKS))
    role = ROLES.get(text_at(fields, "role"), "user")
    if parts and role == "user" and all(isinstance(part, ToolResult) for part in parts):
        role = "tool"
    return Reading(role, parts, Extra(raw, _known_message))


def blocks(content: bytes) -> list[bytes]:
    """Give the blocks of a message's content; a string stands for one block of text."""
    if content.startswith(b"["):
        return rawjson.elements(content)
    if content.startswith(b'"'):
        return [b'{"type":"text","text":' + content + b"}"]
    return []


def kind_of(block: bytes) -> str:
    """Give the type of a block; nothing where it has none."""
    return text_at(rawjson.fields(block), "type") if block.startswith(b"{") else ""


def _read_content(raw: bytes, readers: Mapping[str, _Reader]) -> Iterable[Part]:
    """Read a content: of a message, or of what is inside a result."""
    if raw.startswith(b'"'):
        text = rawjson.unquote(raw)
        if text:
            yield Text(text)
    elif raw.startswith(b"["):
        seen: Counter[type] = Counter()
        for block in rawjson.elements(raw):
            part = _read_block(block, readers)
            if isinstance(part, ToolCall | ToolResult):
                part = replace(part, position=seen[type(part)])
            seen[type(part)] += 1
            yield part
    elif raw != b"null":
        yield Native("content", raw)


def _read_block(raw: bytes, readers: Mapping[str, _Reader]) -> Part:
    fields = rawjson.fields(raw) if raw.startswith(b"{") else {}
    kind = text_at(fields, "type")
    part = readers[kind](fields) if kind in readers else None
    return Native(kind or "content", raw) if part is None else part


def _read_text(fields: dict[str, bytes]) -> Text | None:
    spelled = fields.get("text", b"")
    return Text(rawjson.unquote(spelled)) if spelled.startswith(b'"') else None


def _read_thought(fields: dict[str, bytes]) -> Thought:
    return Thought(text_at(fields, "thinking"), text_at(fields, "signature") or None)


def _read_redacted(fields: dict[str, bytes]) -> Thought:
    return Thought(redacted=text_at(fields, "data"))


def read_call(fields: dict[str, bytes]) -> ToolCall:
    """Read a call. An input that is a string is what a cut stream left of the arguments."""
    raw = fields.get("input", b"{}")
    arguments = rawjson.unquote(raw) if raw.startswith(b'"') else raw.decode()
    return ToolCall(text_at(fields, "id"), text_at(fields, "name"), arguments)


def _read_result(fields: dict[str, bytes]) -> ToolResult:
    inside = _read_content(fields.get("content", b"null"), _INSIDE)
    return ToolResult(
        text_at(fields, "tool_use_id"),
        content=tuple([part for part in inside if isinstance(part, Text | Media | Native)]),
        is_error=fields.get("is_error") == b"true",
    )


def _read_image(fields: dict[str, bytes]) -> Media | None:
    return _read_source("image", fields)


def _read_document(fields: dict[str, bytes]) -> Media | None:
    media = _read_source("file", fields)
    return media and replace(media, name=text_at(fields, "title") or None)


def _read_source(kind: Literal["image", "file"], fields: dict[str, bytes]) -> Media | None:
    source = object_at(fields, "source")
    by, media_type = text_at(source, "type"), text_at(source, "media_type") or None
    if by not in _SOURCES:
        return None
    key, into = _SOURCES[by]
    if not source.get(key, b"").startswith(b'"'):
        return None
    data = text_at(source, key)
    if by == "text":
        return _read_plain(media_type, data) if kind == "file" else None
    return Media(kind, media_type, **{into: data})


def _read_plain(media_type: str | None, text: str) -> Media | None:
    """Read a document given as text. Half a surrogate pair has no bytes, so that stays native."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return None
    return Media("file", media_type, base64.b64encode(data).decode())


_INSIDE: dict[str, _Reader] = {
    "text": _read_text,
    "image": _read_image,
    "document": _read_document,
}
_BLOCKS: dict[str, _Reader] = {
    **_INSIDE,
    "thinking": _read_thought,
    "redacted_thinking": _read_redacted,
    "tool_use": read_call,
    "tool_result": _read_result,
}
"""Of each kind of block that a part can stand for: its reader, which may find it odd."""

_SOURCES = {
    "base64": ("data", "base64"),
    "url": ("url", "url"),
    "file": ("file_id", "file_id"),
    "text": ("data", "base64"),
}
"""Of each type of source: the member that says it, and the field of `Media` that takes it."""


# -- what the parts cover ---------------------------------------------------------------------


def _known_message(fields: dict[str, bytes]) -> Known:
    role = TEXT if text_at(fields, "role") in ROLES else b""
    return {"role": role, "content": _known_block}


def _known_block(fields: dict[str, bytes]) -> Known | None:
    """Of what is kept native everything is covered."""
    return _known(fields, _BLOCKS)


def _known_inside(fields: dict[str, bytes]) -> Known | None:
    return _known(fields, _INSIDE)


def _known(fields: dict[str, bytes], readers: Mapping[str, _Reader]) -> Known | None:
    kind = text_at(fields, "type")
    covered = kind in readers and readers[kind](fields) is not None
    return _KNOWN[kind] if covered else None


_SOURCE: Known = dict.fromkeys(("type", "media_type", "data", "url", "file_id"), TEXT)
_ANYTHING = TEXT + b'{["-0123456789tfn'

_KNOWN: dict[str, Known] = {
    "text": {"type": TEXT, "text": TEXT},
    "image": {"type": TEXT, "source": _SOURCE},
    "document": {"type": TEXT, "source": _SOURCE, "title": TEXT},
    "thinking": {"type": TEXT, "thinking": TEXT, "signature": TEXT},
    "redacted_thinking": {"type": TEXT, "data": TEXT},
    "tool_use": {"type": TEXT, "id": TEXT, "name": TEXT, "input": _ANYTHING},
    "tool_result": {
        "type": TEXT,
        "tool_use_id": TEXT,
        "content": _known_inside,
        "is_error": b"tfn",
    },
}
