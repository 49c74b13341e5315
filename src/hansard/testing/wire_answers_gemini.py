"""Scripted answers as Gemini's generateContent spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .wire_answers_spelling import (
    check_calls,
    error_word,
    finish_word,
    members,
    objects,
    pieces,
    spell_arguments,
    sse,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..messages import Usage
    from ..rawjson import JSON, JSONObject
    from .script import Call, Fail, Say
    from .wire_answers_spelling import Stamp

__all__ = ["GenerateSpelling"]

_FINISHES = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "filtered": "SAFETY",
    "malformed": "MALFORMED_FUNCTION_CALL",
    "paused": "CONTINUATION",
}
_ERRORS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_TOO_LONG = (
    "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
)


class GenerateSpelling:
    """Spells what `:generateContent` answers. The first call of an answer is signed."""

    def answer(self, said: Say, stamp: Stamp) -> JSONObject:
        check_calls(said, "gemini", signature=True)
        around: JSONObject = {
            **({} if said.usage is None else {"usageMetadata": _usage(said.usage)}),
            "modelVersion": stamp.model,
            "responseId": f"response-{stamp.number}",
        }
        if said.blocked:
            return {"promptFeedback": {"blockReason": said.blocked}, **around}
        parts = _parts(said, stamp)
        candidate: JSONObject = {
            "content": {"role": "model", **({"parts": parts} if parts else {}), **said.extra},
            "finishReason": finish_word(said, _FINISHES, "gemini"),
            "index": 0,
        }
        return {"candidates": [candidate], **around}

    def events(self, answer: JSONObject) -> list[bytes]:
        candidate = next(iter(objects(answer.get("candidates"))), {})
        content = members(candidate.get("content"))
        split = [piece for part in objects(content.get("parts")) for piece in _split(part)]
        if not split:
            return [sse(answer)]
        told: list[JSONObject] = [
            {**answer, "candidates": [{**candidate, "content": {**content, "parts": [part]}}]}
            for part in split
        ]
        # How it ended, and what it took, comes with the last part.
        for early in told[:-1]:
            early.pop("usageMetadata", None)
            objects(early["candidates"])[0].pop("finishReason")
        return [sse(one) for one in told]

    def error(self, fail: Fail) -> JSONObject:
        return {
            "error": {
                "code": fail.status,
                "message": words_of(fail, _TOO_LONG),
                "status": fail.code or error_word(_ERRORS, fail.status),
            }
        }

    def error_event(self, error: JSONObject) -> bytes:
        return sse(error)


def _usage(usage: Usage) -> JSONObject:
    figures: JSONObject = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "totalTokenCount": usage.total_tokens,
    }
    if usage.reasoning_tokens:
        figures["thoughtsTokenCount"] = usage.reasoning_tokens
    if usage.cached_tokens:
        figures["cachedContentTokenCount"] = usage.cached_tokens
    return figures


def _parts(said: Say, stamp: Stamp) -> list[JSON]:
    """The parts, with the signature on the first call; where there is none, on the last part."""
    parts: list[JSONObject] = [
        {"text": thought.text, "thought": True, **_signed(thought.thought_signature)}
        for thought in said.thoughts
    ]
    if said.text or (said.signature and not said.calls):
        parts.append({"text": said.text, **_signed(None if said.calls else said.signature)})
    first = stamp.signature(0) if said.signature is None else said.signature
    for place, call in enumerate(said.calls):
        usual = None if place else first
        signature = usual if call.signature is None else call.signature
        parts.append({"functionCall": _call(call), **_signed(signature)})
    return [*parts]


def _signed(signature: str | None) -> JSONObject:
    return {"thoughtSignature": signature} if signature else {}


def _call(call: Call) -> JSONObject:
    known: JSONObject = {} if call.id is None else {"id": call.id}
    return {**known, "name": call.name, "args": spell_arguments(call.arguments)}


def _split(part: JSONObject) -> Iterator[JSONObject]:
    """Cut a text that nothing but thought stands beside; all other parts come whole."""
    if part.keys() <= {"text", "thought"} and part.get("text"):
        for piece in pieces(str(part["text"])):
            yield {**part, "text": piece}
    else:
        yield part
