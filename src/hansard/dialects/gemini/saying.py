"""Saying things to Gemini: the parts of a content, and the declarations of tools.

Every part has one spelling, its keys in the order in which the API gives them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ... import rawjson
from ...errors import DecodeError
from ...messages import Media, Native, Refusal, Text, Thought, ToolCall, ToolResult
from ..call_ids import map_call_id
from ..dialect import Loss, name_of
from ..given import native_part, native_tool
from ..media import settle
from .reading import part_fields, read_response

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...messages import Part, Role
    from ...rawjson import JSON
    from ..dialect import Beside, ToolSpec

__all__ = ["PartSayer", "keep_call_id", "say_choice", "say_content", "say_tools"]

SKIP_VALIDATOR = "skip_thought_signature_validator"
"""Stands for the signature of a call that another provider's model made: strict models refuse
the first call of a step without one, and take this literal."""

_SAYABLE: dict[Role, tuple[type[Part], ...]] = {
    "system": (Text, Media, Native),
    "user": (Text, Media, ToolResult, Refusal, Native),
    "tool": (Text, Media, ToolResult, Refusal, Native),
    "assistant": (Text, Thought, Media, ToolCall, Refusal, Native),
}

_CALL_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_NOT_CALL_ID = re.compile(r"[^A-Za-z0-9_.:-]")
_KEPT_MAX = 40
_NOT_OURS = "it belongs to the provider that gave it"

_WRAPPED_DEPTH_MAX = rawjson.DEPTH_MAX - 8
"""How deep a caller's JSON may nest, so that the content around it does not nest too deep."""


def say_content(role: str, parts: Iterable[bytes]) -> bytes:
    """Put parts into a content."""
    return b'{"role":' + rawjson.quote(role) + b',"parts":' + rawjson.join_array(parts) + b"}"


class PartSayer:
    """Says the parts of one draft, and lists what could not be said."""

    def __init__(self, role: Role, *, foreign: bool) -> None:
        self.losses: list[Loss] = []
        self._role: Role = role
        self._foreign = foreign
        self._called = False

    def say(self, part: Part) -> bytes | None:
        """Say a part, or list it as lost and give None."""
        if not isinstance(part, _SAYABLE[self._role]):
            self._lose(part, f"a Gemini {self._role} message has no such part")
            return None
        said: bytes | None
        match part:
            case ToolCall():
                said = self._say_call(part)
            case ToolResult():
                if not part.name:
                    self._lose(part, "Gemini demands the name of the tool that was called")
                said = self.say_result(part)
            case Media():
                said = self._say_media_part(part)
            case Thought():
                said = self._say_thought(part)
            case Native():
                said = self._say_native(part)
            case Text() | Refusal():
                said = self._say_text(part)
        return said

    def _lose(self, part: Part | Beside, reason: str) -> None:
        self.losses.append(Loss(0, name_of(part), reason))

    def _spell(self, part: Part, **members: bytes) -> bytes:
        """Spell a part, with its signature if that is Gemini's own."""
        signature: str | None = getattr(part, "thought_signature", None)
        if signature and self._foreign:
            self._lose("thought_signature", _NOT_OURS)
            signature = None
        if isinstance(part, ToolCall):
            signature = signature or self._stand_in()
        if signature:
            members["thoughtSignature"] = rawjson.quote(signature)
        return rawjson.join_object(members)

    def _stand_in(self) -> str | None:
        """Give the first call of a foreign message what strict models take for a signature."""
        first, self._called = not self._called, True
        return SKIP_VALIDATOR if self._foreign and first else None

    def _say_text(self, part: Text | Refusal) -> bytes | None:
        if isinstance(part, Refusal):
            self._lose(part, "said as text")
        said = self._spell(part, text=rawjson.quote(part.text))
        return None if self._foreign and not part.text else said

    def _say_thought(self, thought: Thought) -> bytes | None:
        if self._foreign or thought.redacted is not None:
            self._lose(thought, _NOT_OURS)
            if self._foreign or not thought.text:
                return None
        return self._spell(thought, text=rawjson.quote(thought.text), thought=b"true")

    def _say_native(self, native: Native) -> bytes | None:
        said = None if self._foreign else native_part(native.raw)
        if said is None:
            self._lose(native, _NOT_OURS if self._foreign else "a part is a JSON object")
        elif native.thought_signature and "thoughtSignature" not in part_fields(said):
            signature = rawjson.quote(native.thought_signature)
            said = rawjson.join_object([*rawjson.members(said), ("thoughtSignature", signature)])
        return said

    def _say_call(self, call: ToolCall) -> bytes:
        args = None if call.custom else _object(_encode(call.arguments or "{}"))
        if args is None:
            self._lose(call, "arguments that are no JSON object are said as one argument, 'input'")
            args = rawjson.join_object({"input": rawjson.quote(call.arguments)})
        body = {"id": self._id(call.id), "name": rawjson.quote(call.name), "args": args}
        return self._spell(call, functionCall=_join_present(body))

    def _id(self, known: str) -> bytes:
        """Spell the id of a call or its result; ids are optional."""
        if not known:
            return b""
        return rawjson.quote(keep_call_id(known, "") if self._foreign else known)

    def say_result(self, result: ToolResult) -> bytes:
        """Say a result, under the id and the name that it has."""
        said = [self._say_shown(part) for part in result.content if not isinstance(part, Text)]
        shown = [part for part in said if part is not None]
        body = {
            "id": self._id(result.call_id),
            "name": rawjson.quote(result.name) if result.name else b"",
            "response": _say_response(result),
            "parts": rawjson.join_array(shown) if shown else b"",
        }
        return rawjson.join_object({"functionResponse": _join_present(body)})

    def _say_shown(self, part: Media | Native) -> bytes | None:
        """Say what a result shows beside its response."""
        if isinstance(part, Native):
            return self._say_native(part)
        media = self._say_media(part)
        return None if media is None else rawjson.join_object(media)

    def _say_media_part(self, media: Media) -> bytes | None:
        said = self._say_media(media)
        return None if said is None else self._spell(media, **said)

    def _say_media(self, media: Media) -> dict[str, bytes] | None:
        settled, reason = settle(media, ("base64", "url", "file_id"), foreign=self._foreign)
        if settled is None:
            self._lose(media, reason)
            return None
        inline = settled.base64 is not None
        where = settled.base64 or settled.url or settled.file_id or ""
        body = {
            "mimeType": rawjson.quote(media.media_type) if media.media_type else b"",
            "data" if inline else "fileUri": rawjson.quote(where),
            "displayName": rawjson.quote(media.name) if media.name else b"",
        }
        return {"inlineData" if inline else "fileData": _join_present(body)}


def _say_response(result: ToolResult) -> bytes:
    """Say what a tool answered: an object.

    Text that is one already is sent as it is spelled, unless it would read as something else: as
    an error, or as the text under one key.
    """
    said = None if result.is_error else _object(_encode(result.text))
    if said is not None and read_response(said) == (said.decode(), False):
        return said
    key = "error" if result.is_error else "result"
    return rawjson.join_object({key: rawjson.quote(result.text)})


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _object(text: bytes) -> bytes | None:
    """Give the JSON object that a text is, compact, or None."""
    if not text.lstrip(b" \t\r\n").startswith(b"{"):
        return None
    try:
        return rawjson.compact(text, depth_max=_WRAPPED_DEPTH_MAX)
    except DecodeError:
        return None


def _join_present(members: dict[str, bytes]) -> bytes:
    return rawjson.join_object([(key, raw) for key, raw in members.items() if raw])


def keep_call_id(foreign_id: str, seed: str) -> str:
    """Keep an id of up to 64 letters, digits and ``_.:-``; another gets a hash suffix."""
    if _CALL_ID.fullmatch(foreign_id):
        return foreign_id
    return map_call_id(foreign_id, seed, _NOT_CALL_ID, _KEPT_MAX)


# -- tools ------------------------------------------------------------------------------------


def say_tools(tools: Sequence[ToolSpec]) -> bytes:
    """Declare functions together, and the provider's own tools each by itself.

    A native declaration that has a name is one of a function.
    """
    functions: list[bytes] = []
    others: list[bytes] = []
    for tool in tools:
        native = native_tool(tool)
        if native is None:
            functions.append(_say_function(tool))
        elif "name" in rawjson.fields(native):
            functions.append(native)
        else:
            others.append(native)
    if functions:
        declared = {"functionDeclarations": rawjson.join_array(functions)}
        others.insert(0, rawjson.join_object(declared))
    return rawjson.join_array(others)


def _say_function(tool: ToolSpec) -> bytes:
    """Declare a function. A schema whose types are in capitals is OpenAPI's, not JSON schema."""
    kind = tool.parameters.get("type")
    openapi = isinstance(kind, str) and kind.isupper()
    members: dict[str, JSON] = {"name": tool.name}
    if tool.description:
        members["description"] = tool.description
    members["parameters" if openapi else "parametersJsonSchema"] = tool.parameters
    return rawjson.dump(members)


def say_choice(choice: str | None, tools: Sequence[ToolSpec]) -> dict[str, JSON]:
    """Say which tools may be called; ``strict`` tools ask for arguments held to their schemas."""
    strict = any(tool.strict for tool in tools)
    if choice is None and not strict:
        return {}
    if choice in (None, "auto"):
        return {"mode": "VALIDATED" if strict else "AUTO"}
    if choice in ("none", "required"):
        return {"mode": "NONE" if choice == "none" else "ANY"}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}
