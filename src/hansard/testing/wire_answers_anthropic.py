"""Scripted answers as Anthropic Messages spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from .wire_answers_spelling import (
    check_calls,
    error_word,
    finish_word,
    members,
    objects,
    pieces,
    put_extra,
    signed,
    spell_arguments,
    sse,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..messages import Thought, Usage
    from ..rawjson import JSON, JSONObject
    from .script import Call, Fail, Say
    from .wire_answers_spelling import Stamp

__all__ = ["MessagesSpelling"]

_FINISHES = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "refused": "refusal",
    "paused": "pause_turn",
    "overflow": "model_context_window_exceeded",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
    529: "overloaded_error",
}


class MessagesSpelling:
    """Spells what `/v1/messages` answers. Every thought is signed."""

    def answer(self, said: Say, stamp: Stamp) -> JSONObject:
        check_calls(said, "anthropic")
        content: list[JSON] = [_thought(thought) for thought in signed(said, stamp)]
        if said.text:
            content.append({"type": "text", "text": said.text})
        for place, call in enumerate(said.calls):
            content.append(_call(call, f"toolu_{stamp.number}_{place}"))
        put_extra(content, said.extra, "the last block")
        return {
            "id": f"msg_{stamp.number}",
            "type": "message",
            "role": "assistant",
            "model": stamp.model,
            "content": content,
            "stop_reason": finish_word(said, _FINISHES, "anthropic"),
            "stop_sequence": None,
            **({} if said.usage is None else {"usage": _usage(said.usage)}),
        }

    def events(self, answer: JSONObject) -> list[bytes]:
        usage: JSONObject = {"usage": answer["usage"]} if "usage" in answer else {}
        start: JSONObject = {**answer, "content": [], "stop_reason": None}
        if usage:
            start["usage"] = {**members(answer["usage"]), "output_tokens": 1}
        events = [_event("message_start", message=start)]
        for index, block in enumerate(objects(answer["content"])):
            events += _block_events(index, block)
        delta: JSONObject = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
        return [*events, _event("message_delta", delta=delta, **usage), _event("message_stop")]

    def error(self, fail: Fail) -> JSONObject:
        error: JSONObject = {
            "type": fail.code or error_word(_ERRORS, fail.status),
            "message": words_of(fail, "prompt is too long: 200001 tokens > 200000 maximum"),
        }
        return {"type": "error", "error": error, "request_id": "req_scripted"}

    def error_event(self, error: JSONObject) -> bytes:
        return _event("error", error=error["error"])


def _usage(usage: Usage) -> JSONObject:
    said: JSONObject = {
        "input_tokens": usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }
    if usage.reasoning_tokens:
        said["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return said


def _thought(thought: Thought) -> JSONObject:
    if thought.redacted is not None:
        return {"type": "redacted_thinking", "data": thought.redacted}
    signature = thought.thought_signature or ""
    return {"type": "thinking", "thinking": thought.text, "signature": signature}


def _call(call: Call, new_id: str) -> JSONObject:
    return {
        "type": "tool_use",
        "id": new_id if call.id is None else call.id,
        "name": call.name,
        "input": spell_arguments(call.arguments),
    }


# -- streams --------------------------------------------------------------------------------------


def _block_events(index: int, block: JSONObject) -> Iterator[bytes]:
    start, deltas = _unfold(block)
    yield _event("content_block_start", index=index, content_block={**block, **start})
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _unfold(block: JSONObject) -> tuple[JSONObject, list[JSONObject]]:
    """Say what a block begins with instead of its content, and the pieces in which that comes."""
    match block["type"]:
        case "text":
            return {"text": ""}, _grow("text_delta", "text", str(block["text"]))
        case "thinking":
            thought = _grow("thinking_delta", "thinking", str(block["thinking"]))
            signature: JSONObject = {"type": "signature_delta", "signature": block["signature"]}
            return {"thinking": "", "signature": ""}, [*thought, signature]
        case "tool_use":
            given: object = block["input"]
            text = bytes(given).decode() if isinstance(given, msgspec.Raw) else str(given)
            return {"input": {}}, _grow("input_json_delta", "partial_json", text)
        case _:
            return {}, []


def _grow(kind: str, member: str, text: str) -> list[JSONObject]:
    return [{"type": kind, member: piece} for piece in pieces(text)]


def _event(kind: str, **said: JSON) -> bytes:
    return sse({"type": kind, **said}, kind)
