"""Saying parts in Chat Completions. What it has no words for is a `Loss`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import rawjson
from ...messages import Media, Native, Refusal, Text, Thought, ToolCall, ToolResult
from ..given import native_part, native_tool
from ..media import settle
from ..saying import Sayer
from .reading import OLD_CALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...messages import Part
    from ...rawjson import JSON
    from ..dialect import ToolSpec
    from ..media import Source

__all__ = ["Saying", "say_choice", "say_tool"]


class Saying(Sayer):
    """Says the parts of one draft, in messages of Chat Completions."""

    # -- whole messages -----------------------------------------------------------------------

    def message(self, role: str, parts: Sequence[Part]) -> bytes | None:
        """Say a system or user message; None where nothing of it can be said."""
        content = self._content(parts, _TAKES if role == "user" else {})
        for part in parts:
            self._lose_signature(part)
        if content is None:
            return None
        return b'{"role":"%b","content":%b}' % (role.encode(), content)

    def answer(self, parts: Sequence[Part]) -> bytes | None:
        """Say an assistant's message; None where nothing of it can be said."""
        spoken = [part for part in parts if not isinstance(part, _BESIDE_CONTENT)]
        sound = [part for part in spoken if isinstance(part, Media) and part.kind == "audio"]
        content = self._content([part for part in spoken if part not in sound], {})
        said = {
            "content": content or b"null",
            "refusal": _quote_all([part.text for part in parts if isinstance(part, Refusal)]),
            **self._thoughts([part for part in parts if isinstance(part, Thought)]),
            "audio": self._sound(sound),
            **self._calls([part for part in parts if isinstance(part, ToolCall)]),
            "extra_content": self._signature(spoken),
        }
        if all(raw in (None, b"null") for raw in said.values()):
            return None
        members = {key: raw for key, raw in said.items() if raw is not None}
        return rawjson.join_object({"role": b'"assistant"', **members})

    def result(self, result: ToolResult) -> tuple[ToolCall, ToolResult]:
        """Give the call and the result that can be said: text, not marked as an error."""
        kept = [part for part in result.content if not self._unsayable(part)]
        if result.is_error:
            self.lose("is_error", "a result here is only text, which may say that it is an error")
        call_id = self._id(result.call_id, result.name, result.position)
        call = ToolCall(call_id, result.name, position=result.position)
        return call, ToolResult(call_id, result.name, tuple(kept), position=result.position)

    # -- parts --------------------------------------------------------------------------------

    def _content(
        self, parts: Sequence[Part], takes: Mapping[str, tuple[Source, ...]]
    ) -> bytes | None:
        """Say what stands in ``content``: a lone text as a string, anything else as an array."""
        if len(parts) == 1 and isinstance(parts[0], Text):
            return rawjson.quote(parts[0].text)
        said = [self._content_part(part, takes) for part in parts]
        spoken = [part for part in said if part is not None]
        return rawjson.join_array(spoken) if spoken else None

    def _content_part(self, part: Part, takes: Mapping[str, tuple[Source, ...]]) -> bytes | None:
        if isinstance(part, Text):
            return say_text(part)
        if isinstance(part, Native) and not self.foreign and (said := native_part(part.raw)):
            return said
        reason = "Chat Completions has no such part in this place"
        if isinstance(part, Media) and part.kind in takes:
            media, reason = settle(part, takes[part.kind], foreign=self.foreign)
            if media is not None:
                return rawjson.dump(_say_media(media))
        self.lose(part, reason)
        return None

    def _unsayable(self, part: Text | Media | Native) -> bool:
        own = isinstance(part, Native) and not self.foreign and native_part(part.raw) is not None
        sayable = own or isinstance(part, Text)
        if not sayable:
            self.lose(part, "a tool result here is text only")
        return not sayable

    def _thoughts(self, thoughts: Sequence[Thought]) -> dict[str, bytes]:
        """Say thoughts as DeepSeek takes them; those with a signature as OpenRouter does."""
        if self.foreign:
            for thought in thoughts:
                self.lose(thought, "reasoning of another provider is not passed on")
            return {}
        if any(thought.thought_signature or thought.redacted for thought in thoughts):
            items = [item for thought in thoughts for item in _say_details(thought)]
            return {"reasoning_details": rawjson.dump(items)}
        said = _quote_all([thought.text for thought in thoughts])
        return {} if said is None else {"reasoning_content": said}

    def _sound(self, sounds: Sequence[Media]) -> bytes | None:
        """Say sound that the model made. It is known by its id, and sent back as that only."""
        known = [sound for sound in sounds if sound.file_id and not self.foreign]
        for sound in sounds:
            if sound not in known[:1]:
                self.lose(sound, "an answer here has one piece of sound, known by its id")
        return rawjson.dump({"id": known[0].file_id}) if known else None

    def _calls(self, calls: Sequence[ToolCall]) -> dict[str, bytes]:
        if not calls:
            return {}
        if len(calls) == 1 and calls[0].id == OLD_CALL and not self.foreign:
            return {OLD_CALL: _call_body(calls[0], "arguments")}
        return {"tool_calls": rawjson.join_array([self._call(call) for call in calls])}

    def _call(self, call: ToolCall) -> bytes:
        kind, text = ("custom", "input") if call.custom else ("function", "arguments")
        said = {
            "id": rawjson.quote(self._id(call.id, call.name, call.position)),
            "type": rawjson.quote(kind),
            kind: _call_body(call, text),
        }
        if signature := self._signature([call]):
            said["extra_content"] = signature
        return rawjson.join_object(said)

    def _signature(self, parts: Sequence[Part]) -> bytes | None:
        """Say a signature where Gemini's servers have it. A message's text has one, a call too."""
        signed = [part for part in parts if getattr(part, "thought_signature", None)]
        kept = [part for part in signed if isinstance(part, Text | ToolCall)]
        kept = [] if self.foreign else kept[-1:]
        for part in signed:
            if part not in kept:
                self._lose_signature(part)
        if not kept:
            return None
        signature = getattr(kept[0], "thought_signature", None)
        return rawjson.dump({"google": {"thought_signature": signature}})

    def _lose_signature(self, part: Part) -> None:
        if getattr(part, "thought_signature", None):
            self.lose("thought_signature", "a signature has no place here, or is a provider's own")


_BESIDE_CONTENT = (Thought, Refusal, ToolCall)


def say_text(text: Text) -> bytes:
    """Say text as a content part."""
    return b'{"type":"text","text":' + rawjson.quote(text.text) + b"}"


def _quote_all(texts: Iterable[str]) -> bytes | None:
    said = list(texts)
    return rawjson.quote("".join(said)) if said else None


def _say_details(thought: Thought) -> list[JSON]:
    """Say a thought as items, of which each is either readable or not."""
    said: list[JSON] = []
    if thought.text or thought.thought_signature or thought.redacted is None:
        item: dict[str, JSON] = {"type": "reasoning.text", "text": thought.text}
        if thought.thought_signature is not None:
            item["signature"] = thought.thought_signature
        said.append(item)
    if thought.redacted is not None:
        said.append({"type": "reasoning.encrypted", "data": thought.redacted})
    return said


def _call_body(call: ToolCall, text: str) -> bytes:
    arguments = call.arguments if call.custom or call.arguments.strip() else "{}"
    return rawjson.join_object({"name": rawjson.quote(call.name), text: rawjson.quote(arguments)})


# -- media ------------------------------------------------------------------------------------


_TAKES: dict[str, tuple[Source, ...]] = {
    "image": ("url", "base64"),
    "audio": ("base64",),
    "file": ("file_id", "base64"),
}


def _say_media(media: Media) -> JSON:
    data_url = f"data:{media.media_type};base64,{media.base64}"
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": media.url or data_url}}
    if media.kind == "audio":
        subtype = (media.media_type or "").partition(";")[0].rpartition("/")[2]
        spelled = _AUDIO_FORMATS.get(subtype, subtype)
        return {"type": "input_audio", "input_audio": {"data": media.base64, "format": spelled}}
    if media.file_id:
        return {"type": "file", "file": {"file_id": media.file_id}}
    return {"type": "file", "file": {"filename": media.name or "file", "file_data": data_url}}


_AUDIO_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


# -- tools ------------------------------------------------------------------------------------


def say_tool(tool: ToolSpec) -> bytes:
    """Declare a tool."""
    if (native := native_tool(tool)) is not None:
        return native
    function: dict[str, JSON] = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = tool.parameters
    if tool.strict is not None:
        function["strict"] = tool.strict
    return rawjson.dump({"type": "function", "function": function})


def say_choice(choice: str, tools: Sequence[ToolSpec]) -> bytes:
    """Say which tool is to be called; a custom one must be named as such."""
    if choice in ("auto", "none", "required"):
        return rawjson.quote(choice)
    natives = [native_tool(tool) for tool in tools if tool.name == choice]
    custom = any("custom" in rawjson.fields(native) for native in natives if native)
    kind = "custom" if custom else "function"
    return rawjson.dump({"type": kind, kind: {"name": choice}})
