"""Reading Gemini: a content and its parts.

What is read may be spelled ``functionCall`` or ``function_call``: the wire takes both, so an
imported message may hold either. What is answered and what is composed is in camel case.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from ... import rawjson
from ...errors import DecodeError
from ...messages import Media, Native, Reading, Text, Thought, ToolCall, ToolResult
from ..fields import TEXT, Extra, present, text_at

if TYPE_CHECKING:
    from ...messages import Part, Role
    from ..fields import Known

__all__ = [
    "ROLES",
    "PartReader",
    "elements_at",
    "is_content",
    "part_fields",
    "part_kind",
    "read_content",
    "read_response",
    "says_nothing",
]

ROLES: dict[str, Role] = {
    "user": "user",
    "model": "assistant",
    "assistant": "assistant",
    "function": "tool",
    "tool": "tool",
    "system": "system",
}

_CAMEL = {
    "thought_signature": "thoughtSignature",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "file_data": "fileData",
    "mime_type": "mimeType",
    "file_uri": "fileUri",
    "display_name": "displayName",
}

_SHAPES = {
    "functionCall": b"{",
    "functionResponse": b"{",
    "inlineData": b"{",
    "fileData": b"{",
    "text": b'"',
}
"""The parts that have a neutral word, and how their value begins."""

_BESIDE = frozenset(
    {
        "thought",
        "thoughtSignature",
        "videoMetadata",
        "mediaResolution",
        "mediaProcessing",
        "partMetadata",
        "speechMetadata",
        "audioTranscription",
    }
)
"""What stands beside the data of a part, and is not what the part is."""

_MEDIA_KINDS: dict[str, Literal["image", "audio", "video"]] = {
    "image": "image",
    "audio": "audio",
    "video": "video",
}


# -- contents ---------------------------------------------------------------------------------


def read_content(raw: bytes) -> Reading:
    """Read a content. One that holds nothing but results has the role ``tool``."""
    fields = rawjson.fields(raw)
    if not is_content(fields):
        raise DecodeError(
            "expected the parts of a Gemini content in an array",
            reason="corrupt_message",
            path="parts",
            dialect="gemini",
        )
    reader = PartReader()
    parts = tuple([reader.read(part) for part in elements_at(fields, "parts")])
    role = ROLES.get(text_at(fields, "role"), "user")
    if role == "user" and parts and all(isinstance(part, ToolResult) for part in parts):
        role = "tool"
    return Reading(role, parts, Extra(raw, _KNOWN))


def is_content(fields: dict[str, bytes]) -> bool:
    """Whether the parts, if there are any, are in an array."""
    return fields.get("parts", b"null").startswith((b"[", b"null"))


def elements_at(fields: dict[str, bytes], key: str) -> list[bytes]:
    """Give the elements of the array under a key."""
    raw = fields.get(key, b"")
    return rawjson.elements(raw) if raw.startswith(b"[") else []


def part_fields(raw: bytes) -> dict[str, bytes]:
    """Give the members of a part, or of anything in one, named in camel case."""
    return _camel(rawjson.fields(raw)) if raw.startswith(b"{") else {}


def _camel(fields: dict[str, bytes]) -> dict[str, bytes]:
    return {_CAMEL.get(key, key): value for key, value in fields.items()}


def says_nothing(fields: dict[str, bytes]) -> bool:
    """Whether a part has nothing but an empty text, if that, and no signature."""
    return fields.keys() <= {"text", "thought"} and fields.get("text", b'""') == b'""'


def part_kind(fields: dict[str, bytes]) -> str:
    """Say what a part is: a key of its own, ``thought``, or nothing that has a neutral word."""
    kind = next((key for key, start in _SHAPES.items() if fields.get(key, b"")[:1] == start), "")
    if not kind.startswith("function") and fields.get("thought") == b"true":
        return "thought"
    signed_only = text_at(fields, "thoughtSignature") and present(fields).keys() <= _SIGNED_ONLY
    return kind or ("text" if signed_only else "")


class PartReader:
    """Reads the parts of one content in order, and counts its calls and results.

    A part that is not what it should be reads as `Native`.
    """

    def __init__(self) -> None:
        self._calls = 0
        self._results = 0

    def read(self, raw: bytes) -> Part:
        """Read a part."""
        fields = part_fields(raw)
        kind = part_kind(fields)
        signature = text_at(fields, "thoughtSignature") or None
        if kind == "functionCall":
            return self._read_call(part_fields(fields[kind]), signature)
        if kind == "functionResponse":
            return self._read_result(part_fields(fields[kind]))
        if kind == "thought":
            return Thought(text_at(fields, "text"), signature)
        if kind == "text":
            return Text(text_at(fields, "text"), signature)
        if kind:
            return _read_media(part_fields(fields[kind]), signature)
        named = [key for key in fields if key not in _BESIDE]
        return Native(next(iter([*named, *fields]), "part"), raw, signature)

    def _read_call(self, body: dict[str, bytes], signature: str | None) -> ToolCall:
        args = body.get("args", b"null")
        arguments = "{}" if args == b"null" else args.decode()
        self._calls += 1
        return ToolCall(
            text_at(body, "id"), text_at(body, "name"), arguments, self._calls - 1, signature
        )

    def _read_result(self, body: dict[str, bytes]) -> ToolResult:
        said, is_error = read_response(body.get("response", b"null"))
        content: list[Text | Media | Native] = [Text(said)] if said else []
        content += [_read_shown(raw) for raw in elements_at(body, "parts")]
        self._results += 1
        return ToolResult(
            text_at(body, "id"), text_at(body, "name"), tuple(content), is_error, self._results - 1
        )


def _read_shown(raw: bytes) -> Media | Native:
    """Read what a result shows beside its response."""
    fields = part_fields(raw)
    kind = part_kind(fields)
    if kind in ("inlineData", "fileData"):
        return _read_media(part_fields(fields[kind]), None)
    return Native(next(iter(fields), "part"), raw)


def _read_media(body: dict[str, bytes], signature: str | None) -> Media:
    media_type = text_at(body, "mimeType")
    uri = text_at(body, "fileUri") or None
    lies_here = uri is not None and _OWN_FILE.match(uri) is not None
    return Media(
        _MEDIA_KINDS.get(media_type.partition("/")[0], "file"),
        media_type or None,
        text_at(body, "data") if "data" in body else None,
        None if lies_here else uri,
        uri if lies_here else None,
        text_at(body, "displayName") or None,
        signature,
    )


_OWN_FILE = re.compile(r"https?://generativelanguage\.googleapis\.com/(?:[^?#]*/)?files/[^/?#]")
"""How Gemini names a file that was uploaded to it, and that nobody else can fetch."""


_SIGNED_ONLY = frozenset({"thought", "thoughtSignature"})


def read_response(raw: bytes) -> tuple[str, bool]:
    """Read what a result says, and whether it is an error.

    A lone ``result`` or ``output`` that is a string is that text; any other object is its JSON.
    """
    fields = rawjson.fields(raw) if raw.startswith(b"{") else {}
    if fields.keys() == {"error"}:
        error = fields["error"]
        return (text_at(fields, "error") if error.startswith(b'"') else error.decode()), True
    for key in ("result", "output"):
        if fields.keys() == {key} and fields[key].startswith(b'"'):
            return text_at(fields, key), False
    return ("" if raw == b"null" else raw.decode()), False


# -- what is known of a content -----------------------------------------------------------------

_ANYTHING = b'{["tfn-0123456789'
_BOOL = b"tfn"


def _also_snake(known: dict[str, Known]) -> dict[str, Known]:
    snake = {camel: spelled for spelled, camel in _CAMEL.items()}
    return known | {snake[key]: known[key] for key in known if key in snake}


_KNOWN_MEDIA = _also_snake(dict.fromkeys(("mimeType", "data", "fileUri", "displayName"), TEXT))
_KNOWN_FLAGS: dict[str, Known] = {"thought": _BOOL, "thoughtSignature": TEXT}


def _known_shown(fields: dict[str, bytes]) -> Known | None:
    kind = part_kind(_camel(fields))
    return _also_snake({kind: _KNOWN_MEDIA}) if kind in ("inlineData", "fileData") else None


_KNOWN_PARTS: dict[str, dict[str, Known]] = {
    "functionCall": _also_snake(
        {
            "functionCall": {"id": TEXT, "name": TEXT, "args": _ANYTHING},
            "thoughtSignature": TEXT,
        }
    ),
    "functionResponse": _also_snake(
        {
            "functionResponse": {
                "id": TEXT,
                "name": TEXT,
                "response": _ANYTHING,
                "parts": _known_shown,
            }
        }
    ),
    "inlineData": _also_snake({"inlineData": _KNOWN_MEDIA, "thoughtSignature": TEXT}),
    "fileData": _also_snake({"fileData": _KNOWN_MEDIA, "thoughtSignature": TEXT}),
    "thought": _also_snake({"text": TEXT, **_KNOWN_FLAGS}),
    "text": _also_snake({"text": TEXT, **_KNOWN_FLAGS}),
}


def _known_part(fields: dict[str, bytes]) -> Known | None:
    """Of a part without a neutral word everything is covered: it is kept native."""
    return _KNOWN_PARTS.get(part_kind(_camel(fields)))


_KNOWN: dict[str, Known] = {"role": TEXT, "parts": _known_part}
