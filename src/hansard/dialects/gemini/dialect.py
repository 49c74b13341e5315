"""Gemini's generateContent.

A native message is one content: a role and its parts. Tool results are parts of a user's
content, all those of one answer together, and what the user says with them stands beside them.
There is no place for a system message in mid-conversation; it is said as user text in a frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote

from ... import rawjson
from ...errors import Invalid
from ...messages import Text, ToolResult
from ..dialect import SYSTEM_FRAME, Composition, Dialect, Fragment, Request, splice_body
from ..fields import object_at, present, text_at
from ..pairing import answers, match
from .answer import first_candidate, make_answer
from .reading import elements_at, is_content, part_fields, part_kind, read_content, says_nothing
from .saying import PartSayer, keep_call_id, say_choice, say_content, say_tools
from .stream import GeminiStream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...messages import Draft, Part, Reading, Role, ToolCall
    from ...rawjson import JSON, JSONObject
    from ..dialect import Answer, Ask, Loss

__all__ = ["Gemini"]


class Gemini(Dialect):
    """The dialect of ``/models/{model}:generateContent``, below a base URL like ``…/v1beta``."""

    name = "gemini"
    system_midway: ClassVar[bool] = False
    user_first: ClassVar[bool] = True
    call_marks: ClassVar[tuple[bytes, ...]] = (b'"function',)
    cut_marks: ClassVar[tuple[bytes, ...]] = (
        b'""',
        b"{}",
        b"[]",
        b"null",
        b'{"thought":',
        b'{"role":"model"}',
        b'{"role":"user"}',
        b"\\u00",
    )

    # -- reading ------------------------------------------------------------------------------

    def read(self, raw: bytes) -> Reading:
        return read_content(raw)

    # -- saying -------------------------------------------------------------------------------

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        parts = _framed(draft) if draft.role == "system" else draft.parts
        said, losses = _say_parts(draft.role, parts, foreign=foreign)
        if not said:
            return Composition((), losses)
        role = "model" if draft.role == "assistant" else "user"
        return Composition((say_content(role, said),), losses)

    def result(self, call: ToolCall, result: ToolResult) -> bytes:
        """Say a result, under the id and the name of its call.

        Text becomes ``{"result": text}``, an error ``{"error": text}``; text that is itself a
        JSON object becomes that object, as it is spelled, unless it has nothing but an ``error``,
        or a text as ``result`` or ``output``, and so would read as another. Media stand beside it.
        """
        sayer = PartSayer("tool", foreign=False)
        fragment = sayer.say_result(ToolResult(call.id, call.name, result.content, result.is_error))
        self._refuse(sayer.losses, "in a tool result")
        return fragment

    def frame(self, fragments: Sequence[bytes], then: Sequence[bytes] = ()) -> tuple[bytes, ...]:
        parts = list(fragments)
        after = list(then)
        while after and parts and (beside := _user_parts(after[0])) is not None:
            parts += beside
            del after[0]
        return (say_content("user", parts), *after) if parts else tuple(after)

    # -- asking -------------------------------------------------------------------------------

    def request(self, ask: Ask) -> Request:
        """Make a request. The model's name may begin with ``models/`` or another collection.

        Parameters go to the top of the body (``safetySettings``, ``cachedContent``), those of
        generation below ``generationConfig``, wherever the caller put them. Objects merge,
        schemas and everything else replace; what comes later wins.
        """
        body: dict[str, bytes | JSONObject] = {}
        if instruction := self._say_instruction(ask.system):
            body["systemInstruction"] = instruction
        if ask.tools:
            body["tools"] = say_tools(ask.tools)
        if choice := say_choice(ask.tool_choice, ask.tools):
            body["toolConfig"] = {"functionCallingConfig": choice}
        if ask.output is not None:
            body["generationConfig"] = {
                "responseMimeType": "application/json",
                "responseJsonSchema": ask.output,
            }
        _merge_parameters(body, ask.parameters)
        fields = [
            (key, said if isinstance(said, bytes) else rawjson.dump(said))
            for key, said in body.items()
        ]
        head = rawjson.join_object([*fields, ("contents", b"[")])[:-1]
        return Request(_path(ask), splice_body(head, ask.messages, b"]}"))

    def _say_instruction(self, system: Sequence[Draft]) -> bytes:
        said: list[bytes] = []
        for draft in system:
            words = [part for part in draft.parts if part != Text("")]
            parts, losses = _say_parts("system", words, foreign=False)
            self._refuse(losses, "in a system instruction")
            said += parts
        return rawjson.join_object({"parts": rawjson.join_array(said)}) if said else b""

    # -- answers ------------------------------------------------------------------------------

    def parse(self, body: bytes) -> Answer:
        """Read a complete answer.

        Its content is kept as it is, but that one without a role is given the model's: it could
        not be told from a user's, and would be refused.
        """
        raw = rawjson.compact(body)
        if raw.startswith(b"["):
            raw = next(iter(rawjson.elements(raw)), b"{}")
        fields = present(rawjson.fields(raw)) if raw.startswith(b"{") else {}
        candidate = first_candidate(fields)
        content = candidate.get("content", b"")
        found = content.startswith(b"{") and is_content(rawjson.fields(content))
        return make_answer(fields, candidate, _with_role(content) if found else None, ())

    def stream(self) -> GeminiStream:
        return GeminiStream()

    # -- rules that repair and compaction use ----------------------------------------------------

    def split_results(self, raw: bytes) -> tuple[tuple[Fragment, ...], bytes | None]:
        if not self.may_have_calls(raw):
            return (), raw
        fragments: list[Fragment] = []
        others: list[bytes] = []
        for part in elements_at(rawjson.fields(raw), "parts"):
            fields = part_fields(part)
            if part_kind(fields) == "functionResponse":
                body = object_at(fields, "functionResponse")
                fragments.append(Fragment(text_at(body, "id"), text_at(body, "name"), part))
            else:
                others.append(part)
        if not fragments:
            return (), raw
        rest = rawjson.replace(raw, {"parts": rawjson.join_array(others)}) if others else None
        return tuple(fragments), rest

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        """Whether the very next content holds one result for each call, and none besides.

        By id where both have one, else by name: ids are optional, and other programs leave
        them out of results.
        """
        found = self.split_results(after[0])[0] if calls and after else ()
        return len(found) == len(calls) and None not in match(calls, found, _answers)

    def project(self, raw: bytes) -> bytes | None:
        """Cut what Gemini returns but does not take back.

        This is all of it:

        - a part with no field set, or with nothing but an empty text and no signature;
        - a content whose parts are empty, or with none left, or of nothing but a role.
        """
        if not any(mark in raw for mark in self.cut_marks):
            return raw
        fields = rawjson.fields(raw)
        parts = elements_at(fields, "parts")
        kept = [part for part in parts if not _is_empty(part)]
        if kept:
            spelled = rawjson.join_array(kept)
            return raw if len(kept) == len(parts) else rawjson.replace(raw, {"parts": spelled})
        return None if "parts" in fields or fields.keys() <= {"role"} else raw

    def call_id(self, foreign_id: str, seed: str) -> str:
        """Keep an id of up to 64 letters, digits and ``_.:-``; another gets a hash suffix."""
        return keep_call_id(foreign_id, seed)


# -- messages ---------------------------------------------------------------------------------


def _answers(result: Fragment, call: ToolCall) -> bool:
    """Whether a result answers a call. One without an id must have the name, which is demanded."""
    return answers(result, call) and bool(result.call_id or result.name == call.name)


def _is_empty(part: bytes) -> bool:
    return part.startswith(b"{") and says_nothing(present(part_fields(part)))


def _with_role(content: bytes) -> bytes:
    fields = rawjson.fields(content)
    if text_at(fields, "role"):
        return content
    return rawjson.join_object({"role": b'"model"'} | {**fields, "role": b'"model"'})


def _user_parts(raw: bytes) -> list[bytes] | None:
    """Give the parts of a message that is nothing but a user's words."""
    fields = rawjson.fields(raw)
    if text_at(fields, "role") != "user" or fields.keys() - {"role", "parts"}:
        return None
    return elements_at(fields, "parts")


def _framed(draft: Draft) -> tuple[Part, ...]:
    """Put a system message into the words of a user."""
    others = [part for part in draft.parts if not isinstance(part, Text)]
    text = [Text(SYSTEM_FRAME.format(text=draft.text))] if draft.text else []
    return (*text, *others)


def _say_parts(
    role: Role, parts: Sequence[Part], *, foreign: bool
) -> tuple[list[bytes], tuple[Loss, ...]]:
    sayer = PartSayer(role, foreign=foreign)
    said = [sayer.say(part) for part in parts]
    return [part for part in said if part is not None], tuple(sayer.losses)


# -- requests ---------------------------------------------------------------------------------

GENERATION = frozenset(
    {
        "audioTimestamp",
        "audioTranscriptionConfig",
        "candidateCount",
        "enableAffectiveDialog",
        "enableEnhancedCivicAnswers",
        "frequencyPenalty",
        "imageConfig",
        "logprobs",
        "maxOutputTokens",
        "mediaResolution",
        "modelSelectionConfig",
        "presencePenalty",
        "responseFormat",
        "responseJsonSchema",
        "responseLogprobs",
        "responseMimeType",
        "responseModalities",
        "responseSchema",
        "routingConfig",
        "seed",
        "speechConfig",
        "stopSequences",
        "temperature",
        "thinkingConfig",
        "topK",
        "topP",
        "translationConfig",
    }
)
"""The parameters that belong below ``generationConfig``."""

_SCHEMAS = frozenset({"responseJsonSchema", "responseSchema"})


def _path(ask: Ask) -> str:
    model = quote(ask.model if "/" in ask.model else f"models/{ask.model}", safe="/@:")
    method = "streamGenerateContent?alt=sse" if ask.stream else "generateContent"
    return f"/{model}:{method}"


def _merge_parameters(body: dict[str, bytes | JSONObject], parameters: Mapping[str, JSON]) -> None:
    for name, given in parameters.items():
        if name == "contents":
            raise Invalid("expected parameters besides the messages, found 'contents'; send them")
        key, value = ("generationConfig", {name: given}) if name in GENERATION else (name, given)
        before = body.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            body[key] = _merged(before, value)
        else:
            body[key] = value if isinstance(value, dict) else rawjson.dump(value)


def _merged(before: JSONObject, given: JSONObject) -> JSONObject:
    merged = dict(before)
    for key, value in given.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(value, dict) and key not in _SCHEMAS:
            merged[key] = _merged(known, value)
        else:
            merged[key] = value
    return merged
