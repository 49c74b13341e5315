"""Saying parts in the Responses API. What it has no words for is a `Loss`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ... import rawjson
from ...messages import Media, Native, Refusal, Text, Thought, ToolCall, ToolResult
from ..fields import text_at
from ..given import native_part, native_tool
from ..media import settle
from ..saying import Sayer
from .reading import CALLS, is_content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...messages import Part
    from ...rawjson import JSON
    from ..dialect import ToolSpec
    from ..media import Source

__all__ = ["Saying", "say_choice", "say_content", "say_tool"]


class Saying(Sayer):
    """Says the parts of one draft as items, or as the content of one."""

    def answer(self, part: Part) -> bytes | None:
        """Say what the assistant says: an item, or a content part where the words need one.

        A text is an item of its own, with a string for content: the one shape of an answer that
        needs no id from the provider.
        """
        if isinstance(part, Thought):
            return self._thought(part)
        self._lose_signature(part)
        if isinstance(part, ToolCall):
            return self._call(part)
        if isinstance(part, Text):
            return rawjson.dump({"type": "message", "role": "assistant", "content": part.text})
        if isinstance(part, Refusal):
            return rawjson.dump({"type": "refusal", "refusal": part.text})
        return self._native(part, _NO_PLACE)

    def word(self, part: Part) -> bytes | None:
        """Say what a user or a system says: a content part, or an item that is spelled already."""
        self._lose_signature(part)
        said, reason = say_content(part, foreign=self.foreign)
        return said or self._native(part, reason)

    def _native(self, part: Part, reason: str) -> bytes | None:
        said = None
        if isinstance(part, Native) and not self.foreign:
            said = native_part(part.raw)
        if said is None:
            self.lose(part, reason)
        return said

    def _thought(self, thought: Thought) -> bytes | None:
        """Give reasoning back. Its signature is its encrypted content, which it needs."""
        if self.foreign:
            self.lose(thought, "reasoning of another provider is not passed on")
            return None
        if thought.thought_signature is None:
            self.lose(thought, "reasoning is taken back with its signature only")
            return None
        if thought.redacted is not None:
            self.lose(thought, "redacted reasoning of another provider is not passed on")
        summary = [{"type": "summary_text", "text": thought.text}] if thought.text else []
        said = {"summary": summary, "encrypted_content": thought.thought_signature}
        return rawjson.dump({"type": "reasoning", **said})

    def _call(self, call: ToolCall) -> bytes:
        """Say a call. A foreign custom one is said as a function's, as its result will be."""
        custom = call.custom and not self.foreign
        arguments = call.arguments if custom or call.arguments.strip() else "{}"
        if call.custom and self.foreign:
            self.lose(call, "it is said as a call of a function")
            arguments = rawjson.dump({"input": call.arguments}).decode()
        kind = "custom_tool_call" if custom else "function_call"
        call_id = self._id(call.id, call.name, call.position)
        said = {"type": kind, "call_id": call_id, "name": call.name, CALLS[kind]: arguments}
        return rawjson.dump(said)

    def result(self, result: ToolResult) -> tuple[ToolCall, ToolResult]:
        """Give the call and the result that can be said: content, not marked as an error."""
        kept = [self._portable(part) for part in result.content if self._is_sayable(part)]
        if result.is_error:
            self.lose(
                "is_error", "a result here is only content, which may say that it is an error"
            )
        call_id = self._id(result.call_id, result.name, result.position)
        call = ToolCall(call_id, result.name, position=result.position)
        return call, ToolResult(call_id, result.name, tuple(kept), position=result.position)

    def _is_sayable(self, part: Text | Media | Native) -> bool:
        self._lose_signature(part)
        said, reason = say_content(part, foreign=self.foreign)
        if said is None:
            self.lose(part, reason)
        return said is not None

    def _portable(self, part: Text | Media | Native) -> Text | Media | Native:
        """Take from foreign media the id of a file that nobody here knows."""
        foreign = isinstance(part, Media) and self.foreign
        return replace(part, file_id=None) if foreign else part

    def _lose_signature(self, part: Part) -> None:
        if getattr(part, "thought_signature", None) is not None:
            self.lose("thought_signature", "only reasoning is signed here")


# -- content parts ----------------------------------------------------------------------------


def say_content(part: Part, *, foreign: bool = False) -> tuple[bytes | None, str]:
    """Say a part of what a user, a system or a tool says; None, and why, if it is no such thing."""
    if isinstance(part, Text):
        return rawjson.dump({"type": "input_text", "text": part.text}), ""
    if isinstance(part, Media) and part.kind in ("image", "file"):
        media, reason = settle(part, _SOURCES, foreign=foreign)
        return (None, reason) if media is None else (rawjson.dump(_say_media(media)), "")
    if isinstance(part, Native) and not foreign:
        raw = native_part(part.raw)
        if raw and is_content(text_at(rawjson.fields(raw), "type")):
            return raw, ""
    return None, _NO_PLACE


_SOURCES: tuple[Source, ...] = ("file_id", "url", "base64")
_NO_PLACE = "the Responses API has no such part in this place"


def _say_media(media: Media) -> JSON:
    data_url = f"data:{media.media_type};base64,{media.base64}"
    if media.kind == "image":
        where: dict[str, JSON] = {"file_id": media.file_id}
        if not media.file_id:
            where = {"image_url": media.url or data_url}
        return {"type": "input_image", **where, "detail": "auto"}
    if media.file_id:
        return {"type": "input_file", "file_id": media.file_id}
    if media.url:
        return {"type": "input_file", "file_url": media.url}
    return {"type": "input_file", "filename": media.name or "file", "file_data": data_url}


# -- tools ------------------------------------------------------------------------------------


def say_tool(tool: ToolSpec) -> bytes:
    """Declare a tool. One whose strictness is not said is not strict."""
    if (native := native_tool(tool)) is not None:
        return native
    function: dict[str, JSON] = {"type": "function", "name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function |= {"parameters": tool.parameters, "strict": bool(tool.strict)}
    return rawjson.dump(function)


def say_choice(choice: str, tools: Sequence[ToolSpec]) -> bytes:
    """Say which tool is to be called. One that the provider runs is chosen by its type alone."""
    if choice in ("auto", "none", "required"):
        return rawjson.quote(choice)
    natives = [native_tool(tool) for tool in tools if tool.name == choice]
    native = next((native for native in natives if native), b"{}")
    kind = text_at(rawjson.fields(native), "type") or "function"
    named = kind in ("function", "custom")
    return rawjson.dump({"type": kind, "name": choice} if named else {"type": kind})
