"""Reading the Responses API: the items of a native message as neutral parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import rawjson
from ...messages import Media, Native, Reading, Refusal, Text, Thought, ToolCall, ToolResult
from ..fields import TEXT, Extra, object_at, objects_at, text_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...messages import Part, Role
    from ..fields import Known

__all__ = ["CALLS", "PARAGRAPH", "RESULTS", "is_content", "item_kind", "read_items"]

CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The items that ask the caller to run something, and where they say with what."""

RESULTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
"""The items that answer those."""

_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}

PARAGRAPH = "\n\n"
"""What stands between the paragraphs of a thought."""

_NOBODY = frozenset({"compaction", "compaction_trigger", "configuration_update", "item_reference"})
"""Items that nobody says."""

_TEXTS = ("input_text", "output_text", "summary_text", "text")
_OTHER_CONTENT = frozenset({"refusal", "reasoning_text", "summary_text", "text"})


def item_kind(fields: dict[str, bytes]) -> str:
    """Give the type of an item. Messages may leave it out, and so may references."""
    return text_at(fields, "type") or ("message" if "role" in fields else "item_reference")


def is_content(kind: str) -> bool:
    """Whether a type is that of a part inside a message, and not of an item."""
    return kind.startswith(("input_", "output_")) or kind in _OTHER_CONTENT


# -- items ------------------------------------------------------------------------------------


def read_items(raw: bytes) -> Reading:
    """Read a native message, an array of items, into neutral parts."""
    parts: list[Part] = []
    speakers: list[str] = []
    calls = results = 0
    for item in rawjson.elements(raw):
        fields = _fields(item)
        kind = item_kind(fields)
        speakers.append(_speaker(kind, fields))
        if kind in CALLS:
            parts.append(_call(kind, fields, calls))
            calls += 1
        elif kind in RESULTS.values():
            parts.append(_result(fields, results))
            results += 1
        else:
            parts += _said(kind, fields, item)
    return Reading(_role(speakers), tuple(parts), Extra(raw, _known_item))


def _fields(raw: bytes) -> dict[str, bytes]:
    return rawjson.fields(raw) if raw.startswith(b"{") else {}


def _speaker(kind: str, fields: dict[str, bytes]) -> str:
    """Tell who says an item; an empty string is the model, as far as can be guessed."""
    if kind in CALLS or kind == "reasoning":
        return "assistant"
    if kind in _NOBODY:
        return "nobody"
    if kind.endswith("_output"):
        return "tool"
    if "role" in fields:
        return _ROLES.get(text_at(fields, "role"), "user")
    return "user" if kind == "mcp_approval_response" else ""


def _role(speakers: list[str]) -> Role:
    """Tell whose message it is. Where the model surely spoke, it is the model's."""
    order: dict[str, Role] = {
        "assistant": "assistant",
        "user": "user",
        "system": "system",
        "": "assistant",
        "tool": "tool",
    }
    for speaker, role in order.items():
        if speaker in speakers:
            return role
    return "assistant"


def _said(kind: str, fields: dict[str, bytes], raw: bytes) -> list[Part]:
    if kind == "message":
        return [*_content(fields.get("content"))]
    if kind == "reasoning":
        return [_thought(fields)]
    if kind == "image_generation_call" and (image := text_at(fields, "result")):
        media_type = f"image/{text_at(fields, 'output_format') or 'png'}"
        return [Media("image", media_type, image)]
    return [Native(kind, raw)]


def _thought(fields: dict[str, bytes]) -> Thought:
    """Read reasoning: its summaries and its text are the paragraphs of one thought."""
    paragraphs = [*objects_at(fields, "summary"), *objects_at(fields, "content")]
    texts = [text for paragraph in paragraphs if (text := text_at(paragraph, "text"))]
    return Thought(PARAGRAPH.join(texts), text_at(fields, "encrypted_content") or None)


def _call(kind: str, fields: dict[str, bytes], position: int) -> ToolCall:
    written = fields.get(CALLS[kind], b"")
    return ToolCall(
        text_at(fields, "call_id"),
        text_at(fields, "name"),
        written.decode() if written.startswith(b"{") else text_at(fields, CALLS[kind]),
        position,
        custom=kind == "custom_tool_call",
    )


def _result(fields: dict[str, bytes], position: int) -> ToolResult:
    content = _content(fields.get("output"))
    return ToolResult(
        text_at(fields, "call_id"),
        text_at(fields, "name"),
        tuple([part for part in content if isinstance(part, Text | Media | Native)]),
        position=position,
    )


# -- content ----------------------------------------------------------------------------------


def _content(raw: bytes | None) -> Iterable[Part]:
    if raw is None or raw in (b"null", b'""'):
        return []
    if raw.startswith(b'"'):
        return [Text(rawjson.unquote(raw))]
    if raw.startswith(b"["):
        return [_content_part(part) for part in rawjson.elements(raw)]
    return [Native("content", raw)]


def _content_part(raw: bytes) -> Part:
    fields = _fields(raw)
    kind = text_at(fields, "type")
    if kind in _TEXTS:
        return Text(text_at(fields, "text"))
    if kind == "refusal":
        return Refusal(text_at(fields, "refusal"))
    if kind == "reasoning_text":
        return Thought(text_at(fields, "text"))
    media = _media(kind, fields)
    known = media is not None and (media.base64 or media.url or media.file_id)
    return media if media is not None and known else Native(kind or "content", raw)


def _media(kind: str, fields: dict[str, bytes]) -> Media | None:
    file_id = text_at(fields, "file_id") or None
    if kind == "input_image":
        media_type, base64, url = _read_url(text_at(fields, "image_url"))
        return Media("image", media_type, base64, url, file_id)
    if kind == "input_file":
        media_type, base64, bare = _read_url(text_at(fields, "file_data"))
        name = text_at(fields, "filename") or None
        url = text_at(fields, "file_url") or None
        return Media("file", media_type, base64 or bare, url, file_id, name)
    if kind == "input_audio":
        sound = object_at(fields, "input_audio")
        spelled = text_at(sound, "format")
        return Media("audio", f"audio/{spelled}" if spelled else None, text_at(sound, "data"))
    return None


def _read_url(url: str) -> tuple[str | None, str | None, str | None]:
    """Take a data URL apart: media type and base64; or else give the URL back."""
    head, comma, base64 = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return head.removeprefix("data:"), base64, None
    return None, None, url or None


# -- what the views cover ---------------------------------------------------------------------

_KNOWN_PARTS: dict[str, Known] = {
    **{kind: {"type": TEXT, "text": TEXT} for kind in (*_TEXTS, "reasoning_text")},
    "refusal": {"type": TEXT, "refusal": TEXT},
    "input_image": {"type": TEXT, "image_url": TEXT, "file_id": TEXT},
    "input_file": dict.fromkeys(("type", "file_id", "file_url", "file_data", "filename"), TEXT),
    "input_audio": {"type": TEXT, "input_audio": {"data": TEXT, "format": TEXT}},
}


def _known_part(fields: dict[str, bytes]) -> Known | None:
    """Of a content part of another kind everything is covered: it is kept native."""
    return _KNOWN_PARTS.get(text_at(fields, "type"))


_PARAGRAPHS: Known = {"type": TEXT, "text": TEXT}
_KNOWN_CALL: dict[str, Known] = {"type": TEXT, "call_id": TEXT, "name": TEXT}
_KNOWN_ITEMS: dict[str, Known] = {
    "message": {"type": TEXT, "role": TEXT, "content": _known_part},
    "reasoning": {
        "type": TEXT,
        "summary": _PARAGRAPHS,
        "content": _PARAGRAPHS,
        "encrypted_content": TEXT,
    },
    **{kind: {**_KNOWN_CALL, written: TEXT + b"{"} for kind, written in CALLS.items()},
    **{kind: {**_KNOWN_CALL, "output": _known_part} for kind in RESULTS.values()},
}


def _known_item(fields: dict[str, bytes]) -> Known | None:
    kind = item_kind(fields)
    if kind == "image_generation_call" and text_at(fields, "result"):
        return {"type": TEXT, "result": TEXT, "output_format": TEXT}
    return _KNOWN_ITEMS.get(kind)
