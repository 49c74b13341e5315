"""Reading Chat Completions: a native message into neutral parts, and what is left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from ... import rawjson
from ...messages import Media, Native, Reading, Refusal, Text, Thought, ToolCall, ToolResult
from ..fields import TEXT, Extra, object_at, objects_at, text_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...messages import Part, Role
    from ..fields import Known

__all__ = ["OLD_CALL", "ROLES", "read_calls", "read_message"]

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    "": "assistant",
}
"""What each role reads as. Only an answer can lack one: no server takes such a message."""

OLD_CALL = "function_call"
"""The id under which a call of the old kind is known, of which a message has at most one."""


class _Function(msgspec.Struct):
    name: str = ""
    arguments: str = ""


class _Call(msgspec.Struct):
    function: _Function
    id: str = ""
    extra_content: None = None


class _Usual(msgspec.Struct):
    """What nearly every message is: words, and calls of functions, with nothing else to read."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    reasoning_content: None = None
    reasoning: None = None
    reasoning_details: None = None
    images: None = None
    audio: None = None
    function_call: None = None
    extra_content: None = None


_decode_usual = msgspec.json.Decoder(_Usual).decode


def read_message(raw: bytes) -> Reading:
    """Read a native message into neutral parts: in one step if it is as usual."""
    try:
        usual = _decode_usual(raw)
    except (msgspec.DecodeError, RecursionError):
        return _read_odd(raw)
    parts: list[Part] = [Text(usual.content)] if usual.content else []
    if usual.refusal:
        parts.append(Refusal(usual.refusal))
    for position, call in enumerate(usual.tool_calls or ()):
        body = call.function
        parts.append(ToolCall(call.id, body.name, body.arguments, position))
    return Reading(ROLES[usual.role], tuple(parts), Extra(raw, _KNOWN))


def _read_odd(raw: bytes) -> Reading:
    """Read any message, member by member: what is of an odd type reads as nothing."""
    fields = rawjson.fields(raw)
    role = ROLES.get(text_at(fields, "role"), "user")
    if role == "tool":
        return Reading(role, (_read_result(fields),), Extra(raw, _KNOWN_RESULT))
    parts = [*_thoughts(fields), *_spoken(fields)]
    if refusal := text_at(fields, "refusal"):
        parts.append(Refusal(refusal))
    return Reading(role, (*parts, *read_calls(fields)), Extra(raw, _KNOWN))


def _read_result(fields: dict[str, bytes]) -> ToolResult:
    old = text_at(fields, "role") == "function"
    return ToolResult(
        OLD_CALL if old else text_at(fields, "tool_call_id"),
        text_at(fields, "name"),
        tuple([part for part in _content(fields) if not isinstance(part, Refusal)]),
    )


def _thoughts(fields: dict[str, bytes]) -> list[Part]:
    """Read reasoning: as OpenRouter itemizes it, else as one text.

    Where the items hold nothing to read, the text beside them is read too.
    """
    plain = text_at(fields, "reasoning_content") or text_at(fields, "reasoning")
    details = [
        Thought(
            text_at(detail, "text") or text_at(detail, "summary"),
            text_at(detail, "signature") or None,
            text_at(detail, "data") or None,
        )
        for detail in objects_at(fields, "reasoning_details")
    ]
    said = [detail for detail in details if detail != Thought()]
    if plain and not any(thought.text for thought in said):
        said.insert(0, Thought(plain))
    return list(said)


def _spoken(fields: dict[str, bytes]) -> list[Part]:
    """Read what is said: content, images and sound. Gemini's signature is the last text's."""
    parts: list[Part] = [*_content(fields)]
    parts += [_content_part(raw) for raw in _elements(fields.get("images", b"null"))]
    parts += _sound(object_at(fields, "audio"))
    if signature := _signature(fields):
        last = max((i for i, part in enumerate(parts) if isinstance(part, Text)), default=None)
        if last is None:
            parts.append(Text("", signature))
        else:
            parts[last] = replace(parts[last], thought_signature=signature)
    return parts


def _sound(audio: dict[str, bytes]) -> Iterable[Part]:
    if audio:
        data = text_at(audio, "data") or None
        yield Media("audio", base64=data, file_id=text_at(audio, "id") or None)
    if transcript := text_at(audio, "transcript"):
        yield Text(transcript)


def read_calls(fields: dict[str, bytes]) -> list[ToolCall]:
    """Read the calls of a message."""
    calls = [
        _read_call(call, position) for position, call in enumerate(objects_at(fields, "tool_calls"))
    ]
    old = object_at(fields, "function_call")
    if old and not calls:
        calls.append(ToolCall(OLD_CALL, text_at(old, "name"), _arguments(old, "arguments")))
    return calls


def _read_call(call: dict[str, bytes], position: int) -> ToolCall:
    custom = "custom" in call and "function" not in call
    body = object_at(call, "custom" if custom else "function")
    return ToolCall(
        text_at(call, "id"),
        text_at(body, "name"),
        _arguments(body, "input" if custom else "arguments"),
        position,
        _signature(call) or None,
        custom,
    )


def _arguments(body: dict[str, bytes], key: str) -> str:
    """Read arguments. Some servers give them as an object and not as its text."""
    raw = body.get(key, b"")
    return raw.decode() if raw.startswith(b"{") else text_at(body, key)


def _signature(fields: dict[str, bytes]) -> str:
    """Read what Gemini's servers put under ``extra_content.google``, or ``.vertex``."""
    spaces = object_at(fields, "extra_content")
    signatures = [text_at(object_at(spaces, space), "thought_signature") for space in spaces]
    return next(filter(None, signatures), "")


# -- content ----------------------------------------------------------------------------------


def _elements(raw: bytes) -> list[bytes]:
    if raw == b"null":
        return []
    return rawjson.elements(raw) if raw.startswith(b"[") else [raw]


def _content(fields: dict[str, bytes]) -> list[Text | Media | Native | Refusal]:
    raw = fields.get("content", b"null")
    if raw.startswith(b'"'):
        text = rawjson.unquote(raw)
        return [Text(text)] if text else []
    if raw.startswith(b"["):
        return [_content_part(item) for item in rawjson.elements(raw)]
    return [] if raw == b"null" else [Native("content", raw)]


def _content_part(raw: bytes) -> Text | Media | Native | Refusal:
    fields = rawjson.fields(raw) if raw.startswith(b"{") else {}
    kind = text_at(fields, "type")
    if kind == "text":
        return Text(text_at(fields, "text"))
    if kind == "refusal":
        return Refusal(text_at(fields, "refusal"))
    media: Media | None = None
    if kind == "image_url":
        place = object_at(fields, kind) or {"url": fields.get(kind, b"")}
        media = _read_url("image", text_at(place, "url"))
    elif kind == "input_audio":
        sound = object_at(fields, kind)
        spelled = text_at(sound, "format")
        media = Media("audio", f"audio/{spelled}" if spelled else None, text_at(sound, "data"))
    elif kind == "file":
        media = _read_file(object_at(fields, kind))
    return media or Native(kind or "content", raw)


def _read_file(body: dict[str, bytes]) -> Media | None:
    name = text_at(body, "filename") or None
    if file_id := text_at(body, "file_id"):
        return Media("file", file_id=file_id, name=name)
    media = _read_url("file", text_at(body, "file_data"))
    return media and replace(media, name=name)


def _read_url(kind: Literal["image", "file"], url: str) -> Media | None:
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        return Media(kind, head.removeprefix("data:"), data)
    return Media(kind, url=url) if url else None


# -- what the views cover ------------------------------------------------------------------------

_KNOWN_PARTS: dict[str, Known] = {
    "text": {"type": TEXT, "text": TEXT},
    "refusal": {"type": TEXT, "refusal": TEXT},
    "image_url": {"type": TEXT, "image_url": lambda image: {"url": TEXT} if image else None},
    "input_audio": {"type": TEXT, "input_audio": {"data": TEXT, "format": TEXT}},
    "file": {"type": TEXT, "file": {"filename": TEXT, "file_id": TEXT, "file_data": TEXT}},
}


def _known_part(fields: dict[str, bytes]) -> Known | None:
    """Of a content part of another kind everything is covered: it is kept native."""
    return _KNOWN_PARTS.get(text_at(fields, "type"))


def _known_spaces(fields: dict[str, bytes]) -> Known:
    return {space: {"thought_signature": TEXT} for space in fields}


_KNOWN: dict[str, Known] = {
    "role": TEXT,
    "content": _known_part,
    "refusal": TEXT,
    "reasoning_content": TEXT,
    "reasoning": TEXT,
    "reasoning_details": dict.fromkeys(("type", "text", "summary", "data", "signature"), TEXT),
    "audio": {"id": TEXT, "data": TEXT, "transcript": TEXT},
    "images": _known_part,
    "function_call": {"name": TEXT, "arguments": TEXT + b"{"},
    "tool_calls": {
        "id": TEXT,
        "type": TEXT,
        "function": {"name": TEXT, "arguments": TEXT + b"{"},
        "custom": {"name": TEXT, "input": TEXT},
        "extra_content": _known_spaces,
    },
    "extra_content": _known_spaces,
}

_KNOWN_RESULT: dict[str, Known] = {
    "role": TEXT,
    "tool_call_id": TEXT,
    "name": TEXT,
    "content": _known_part,
}
