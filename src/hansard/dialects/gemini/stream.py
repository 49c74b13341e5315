"""A streamed Gemini answer: chunks that are each a whole answer, with the parts that are new."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ... import rawjson
from ...messages import Media, Native, Text, Thought, ToolCall
from ..events import (
    CallComplete,
    CallDelta,
    CallStarted,
    NativeEvent,
    TextDelta,
    ThoughtDelta,
    UsageReported,
)
from ..fields import object_at, present, text_at
from ..stream import StreamReader, StringDelta
from .answer import call_flaw, first_candidate, make_answer, read_usage
from .reading import PartReader, elements_at, part_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...messages import Part
    from ..dialect import Answer
    from ..events import StreamEvent

__all__ = ["GeminiStream"]

_NULL = msgspec.Raw(b"null")


class _Piece(msgspec.Struct, forbid_unknown_fields=True):
    text: msgspec.Raw
    thought: bool | msgspec.UnsetType = msgspec.UNSET


class _Content(msgspec.Struct, forbid_unknown_fields=True):
    parts: list[_Piece]
    role: str = ""


class _Candidate(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    content: _Content
    finish_reason: str = ""
    index: int = 0
    safety_ratings: msgspec.Raw = _NULL


class _Chunk(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The chunk that most are: unsigned text and nothing unknown. Others are read by name."""

    candidates: list[_Candidate]
    usage_metadata: msgspec.Raw = _NULL
    model_version: msgspec.Raw = _NULL
    response_id: msgspec.Raw = _NULL
    create_time: msgspec.Raw = _NULL


_decode = msgspec.json.Decoder(_Chunk).decode

_CHUNK_KNOWN = frozenset(
    {
        "candidates",
        "createTime",
        "error",
        "modelVersion",
        "promptFeedback",
        "responseId",
        "usageMetadata",
    }
)
_CANDIDATE_KNOWN = frozenset({"content", "finishReason", "index", "safetyRatings"})

_APART = frozenset({"content", "finishReason"})
"""The members of a candidate that are looked at by themselves."""

_THOUGHT, _NOT_THOUGHT = b',"thought":true', b',"thought":false'
_FLAGS: dict[object, bytes] = {True: _THOUGHT, False: _NOT_THOUGHT, msgspec.UNSET: b""}
_RAW_FLAGS = {b"true": _THOUGHT, b"false": _NOT_THOUGHT, b"": b""}


class GeminiStream(StreamReader):
    """Reads one streamed Gemini answer into one content.

    Consecutive texts with the same ``thought`` join into one part. A part with a signature, or
    with anything else beside its text, stays whole and joins with nothing. What is given again
    (usage, unknown fields of the content, what stands around it) counts as it came last. Bare
    JSON lines, which is how a failure in mid-stream can come, are read when the stream ends.
    """

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes | _Run] = []
        self._run: _Run | None = None
        self._reader = PartReader()
        self._content: dict[str, bytes] = {}
        self._candidate: dict[str, bytes] = {}
        self._around: dict[str, bytes] = {}

    def _take(self, data: bytes, events: list[StreamEvent]) -> None:
        if data == b"[DONE]":
            return
        chunk = _decode_quickly(data)
        if chunk is not None:
            self._take_texts(chunk, events)
            return
        raw = rawjson.compact(data)
        for element in rawjson.elements(raw) if raw.startswith(b"[") else (raw,):
            self._take_by_name(present(rawjson.fields(element)), events)

    # -- the quick way ------------------------------------------------------------------------

    def _take_texts(self, chunk: _Chunk, events: list[StreamEvent]) -> None:
        candidate = chunk.candidates[0]
        if not self._content:
            self._content["role"] = rawjson.quote(candidate.content.role or "model")
        for piece in candidate.content.parts:
            self._say(bytes(piece.text), _FLAGS[piece.thought], events)
        for key, given in (
            ("modelVersion", chunk.model_version),
            ("responseId", chunk.response_id),
            ("createTime", chunk.create_time),
        ):
            if given != _NULL:
                self._around[key] = rawjson.compact(bytes(given))
        if candidate.safety_ratings != _NULL:
            self._candidate["safetyRatings"] = rawjson.compact(bytes(candidate.safety_ratings))
        if candidate.finish_reason:
            self._finish(rawjson.quote(candidate.finish_reason))
        if chunk.usage_metadata != _NULL:
            self._take_usage(bytes(chunk.usage_metadata), events)

    def _say(self, literal: bytes, flag: bytes, events: list[StreamEvent]) -> None:
        run = self._run
        if run is None or run.flag != flag:
            run = self._run = _Run(flag)
            self._parts.append(run)
        text = run.text.add(literal)
        if text:
            events.append(ThoughtDelta(text) if flag is _THOUGHT else TextDelta(text))

    def _finish(self, reason: bytes) -> None:
        if reason != b'"FINISH_REASON_UNSPECIFIED"':
            self._candidate["finishReason"] = reason
            self._done = True

    def _take_usage(self, raw: bytes, events: list[StreamEvent]) -> None:
        """Keep the figures; they are told once, when the model is done, and not with each chunk."""
        self._around["usageMetadata"] = raw = rawjson.compact(raw)
        usage = read_usage(raw) if self._done else None
        if usage:
            events.append(UsageReported(usage))

    # -- by name ------------------------------------------------------------------------------

    def _take_by_name(self, fields: dict[str, bytes], events: list[StreamEvent]) -> None:
        candidate = first_candidate(fields)
        content = present(object_at(candidate, "content"))
        if "content" in candidate:
            self._content.setdefault("role", b'"model"')
            self._content.update({key: content[key] for key in content if key != "parts"})
        for part in elements_at(content, "parts"):
            self._take_part(part, events)
        for known, given in ((_CANDIDATE_KNOWN, candidate), (_CHUNK_KNOWN, fields)):
            events += [NativeEvent(key, given[key]) for key in given if key not in known]
        self._around.update({key: fields[key] for key in fields if key != "candidates"})
        self._candidate.update({key: candidate[key] for key in candidate if key not in _APART})
        if text_at(candidate, "finishReason"):
            self._finish(candidate["finishReason"])
        if text_at(object_at(fields, "promptFeedback"), "blockReason"):
            self._done = True
        if "usageMetadata" in fields:
            self._take_usage(fields["usageMetadata"], events)

    def _take_part(self, raw: bytes, events: list[StreamEvent]) -> None:
        fields = rawjson.fields(raw) if raw.startswith(b"{") else {}
        text, flag = fields.get("text", b""), _RAW_FLAGS.get(fields.get("thought", b""))
        if text.startswith(b'"') and fields.keys() <= {"text", "thought"} and flag is not None:
            self._say(text, flag, events)
            return
        self._run = None
        self._parts.append(raw)
        part = self._reader.read(raw)
        if isinstance(part, ToolCall) and call_flaw(part_fields(raw)):
            events.append(NativeEvent("functionCall", raw))
        else:
            events += _tell(part, raw)

    # -- the answer ---------------------------------------------------------------------------

    def _answer(self) -> Answer:
        return make_answer(self._around, self._candidate, self._assembled(), self._problems)

    def _assembled(self) -> bytes | None:
        if not self._content:
            return None
        parts = [part if isinstance(part, bytes) else part.literal for part in self._parts]
        role = self._content["role"]
        return rawjson.join_object(
            {"role": role, "parts": rawjson.join_array(parts)} | self._content
        )


def _tell(part: Part, raw: bytes) -> Iterable[StreamEvent]:
    """Tell of a part that came whole."""
    if isinstance(part, ToolCall):
        yield CallStarted(part.position, part.id, part.name)
        yield CallDelta(part.position, part.arguments)
        yield CallComplete(part)
    elif isinstance(part, Media | Native):
        yield NativeEvent(part.kind, raw)
    elif isinstance(part, Text | Thought) and part.text:
        yield TextDelta(part.text) if isinstance(part, Text) else ThoughtDelta(part.text)


class _Run:
    """Texts that join into one part."""

    __slots__ = ("flag", "text")

    def __init__(self, flag: bytes) -> None:
        self.flag = flag
        self.text = StringDelta()

    @property
    def literal(self) -> bytes:
        return b'{"text":' + self.text.literal + self.flag + b"}"


def _decode_quickly(data: bytes) -> _Chunk | None:
    """Decode a chunk of nothing but unsigned text, or give None."""
    try:
        chunk = _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    if len(chunk.candidates) != 1 or chunk.candidates[0].index != 0:
        return None
    for piece in chunk.candidates[0].content.parts:
        if not bytes(piece.text).startswith(b'"'):
            return None
    return chunk
