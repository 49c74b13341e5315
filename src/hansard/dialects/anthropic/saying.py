"""Saying neutral parts in Anthropic's blocks, and listing what could not be said."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from ... import rawjson
from ...errors import DecodeError
from ...messages import Media, Native, Refusal, Text, Thought, ToolCall, ToolResult
from ..dialect import Loss, name_of
from ..given import native_part
from ..media import settle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...messages import Part
    from ..dialect import Beside, Dialect
    from ..media import Source

__all__ = ["say_blocks", "say_content", "say_result"]

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_DEPTH_MAX = rawjson.DEPTH_MAX - 8
"""Arguments stand a little deeper in a message than alone."""

_FAILED = "The tool failed and said nothing."
"""The API refuses an error without words."""


def say_blocks(
    dialect: Dialect,
    role: str,
    parts: Iterable[Part],
    losses: list[Loss],
    *,
    foreign: bool = False,
) -> list[bytes]:
    """Say parts as the blocks of one message. Results of tools come first, as the API demands."""
    speaker = _Speaker(dialect, role, losses, foreign=foreign)
    ordered = sorted(parts, key=_after_results) if role == "user" else parts
    said = [speaker.say(part) for part in ordered]
    return [block for block in said if block is not None]


def say_content(parts: Sequence[Part], said: Sequence[bytes]) -> bytes:
    """Spell a content: a lone text as a string, anything else as an array."""
    if len(parts) == 1 and isinstance(parts[0], Text):
        return rawjson.quote(parts[0].text)
    return rawjson.join_array(said)


def say_result(
    call_id: str, result: ToolResult, losses: list[Loss], *, foreign: bool = False
) -> bytes:
    """Say the result of a call. One without content is still a result."""
    parts = [part for part in result.content if part != Text("")]
    if result.is_error and not parts:
        parts = [Text(_FAILED)]
    said = [_say_inside(part, losses, foreign=foreign) for part in parts]
    content = [block for block in said if block is not None]
    fields = {"type": b'"tool_result"', "tool_use_id": rawjson.quote(call_id)}
    if content:
        fields["content"] = say_content(parts, content)
    if result.is_error:
        fields["is_error"] = b"true"
    return rawjson.join_object(fields)


def _after_results(part: Part) -> bool:
    return not isinstance(part, ToolResult)


class _Speaker:
    """Says the parts of one message."""

    def __init__(self, dialect: Dialect, role: str, losses: list[Loss], *, foreign: bool) -> None:
        self._dialect = dialect
        self._role = role
        self._losses = losses
        self._foreign = foreign

    def say(self, part: Part) -> bytes | None:
        speaks = self._role
        if isinstance(part, Text | Native) or (isinstance(part, Media) and speaks == "user"):
            return _say_inside(part, self._losses, foreign=self._foreign)
        match part, speaks:
            case ToolResult(), "user":
                call_id = self._call_id(part.call_id, part.name, part.position)
                return say_result(call_id, part, self._losses, foreign=self._foreign)
            case ToolCall(), "assistant":
                return self._say_call(part)
            case Thought(), "assistant":
                return self._say_thought(part)
            case Refusal(), "assistant":
                self._lose(part, "its words are said as text")
                return _text(part.text)
        self._lose(part, f"no message of role {speaks} has this")
        return None

    def _say_call(self, call: ToolCall) -> bytes | None:
        arguments = _object(call.arguments)
        if call.custom or arguments is None:
            self._lose(call, "the arguments are not a JSON object")
            return None
        _lose_signature(call, self._losses)
        return rawjson.join_object(
            {
                "type": b'"tool_use"',
                "id": rawjson.quote(self._call_id(call.id, call.name, call.position)),
                "name": rawjson.quote(call.name),
                "input": arguments,
            }
        )

    def _say_thought(self, thought: Thought) -> bytes | None:
        if self._foreign:
            self._lose(thought, "reasoning of another provider is not passed on")
            return None
        if thought.redacted is not None:
            if thought.text or thought.thought_signature:
                self._lose(thought, "redacted reasoning has no text and no signature")
            return rawjson.dump({"type": "redacted_thinking", "data": thought.redacted})
        if thought.thought_signature is None:
            self._lose(thought, "reasoning without a signature is refused")
            return None
        return rawjson.join_object(
            {
                "type": b'"thinking"',
                "thinking": rawjson.quote(thought.text),
                "signature": rawjson.quote(thought.thought_signature),
            }
        )

    def _call_id(self, call_id: str, name: str, position: int) -> str:
        return self._dialect.call_id(call_id, f"{name}_{position}") if self._foreign else call_id

    def _lose(self, part: Part, reason: str) -> None:
        self._losses.append(_loss(part, reason))


def _say_inside(part: Part, losses: list[Loss], *, foreign: bool) -> bytes | None:
    """Say what may stand in a message and in a result alike: text, media, native blocks."""
    _lose_signature(part, losses)
    if isinstance(part, Text):
        return _text(part.text)
    if isinstance(part, Native) and not foreign and (said := native_part(part.raw)):
        return said
    if isinstance(part, Media):
        return _say_media(part, losses, foreign=foreign)
    reason = (
        "only the provider that made it can say this" if foreign else "a block is a JSON object"
    )
    losses.append(_loss(part, reason))
    return None


def _say_media(media: Media, losses: list[Loss], *, foreign: bool) -> bytes | None:
    source, reason = _say_source(media, foreign=foreign)
    if source is None:
        losses.append(_loss(media, reason))
        return None
    fields = {
        "type": b'"image"' if media.kind == "image" else b'"document"',
        "source": rawjson.dump(source),
    }
    if media.name is not None and media.kind == "image":
        losses.append(_loss("name", "an image has no name here"))
    elif media.name is not None:
        fields["title"] = rawjson.quote(media.name)
    return rawjson.join_object(fields)


def _say_source(media: Media, *, foreign: bool) -> tuple[dict[str, str] | None, str]:
    """Say where the bytes are; nothing, and why, where the API has no way to take them."""
    if media.kind not in ("image", "file"):
        return None, "images and documents are taken, no sound and no video"
    settled, reason = settle(media, _SOURCES, foreign=foreign)
    if settled is None:
        return None, reason
    if settled.file_id:
        return {"type": "file", "file_id": settled.file_id}, ""
    if settled.url:
        return {"type": "url", "url": settled.url}, ""
    return _say_bytes(settled.kind, settled.media_type or "", settled.base64 or "")


_SOURCES: tuple[Source, ...] = ("file_id", "url", "base64")


def _say_bytes(kind: str, media_type: str, data: str) -> tuple[dict[str, str] | None, str]:
    if media_type in _IMAGES if kind == "image" else media_type == "application/pdf":
        return {"type": "base64", "media_type": media_type, "data": data}, ""
    if kind == "file" and media_type == "text/plain":
        text = _plain(data)
        source = {"type": "text", "media_type": media_type, "data": text or ""}
        return (None, "the text is not UTF-8") if text is None else (source, "")
    taken = sorted(_IMAGES) if kind == "image" else ["application/pdf", "text/plain"]
    return None, f"expected {', '.join(taken)}, found {media_type}"


def _plain(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _text(text: str) -> bytes:
    return b'{"type":"text","text":' + rawjson.quote(text) + b"}"


def _object(arguments: str) -> bytes | None:
    """Give the JSON of a call's arguments, if it is an object. None at all is an empty one."""
    data = (arguments.strip() or "{}").encode("utf-8", "surrogatepass")
    try:
        spelled = rawjson.compact(data, depth_max=_DEPTH_MAX)
    except DecodeError:
        return None
    return spelled if spelled.startswith(b"{") else None


def _lose_signature(part: Part, losses: list[Loss]) -> None:
    if getattr(part, "thought_signature", None) is not None:
        losses.append(_loss("thought_signature", "only reasoning is signed here"))


def _loss(part: Part | Beside, reason: str) -> Loss:
    return Loss(0, name_of(part), reason)
