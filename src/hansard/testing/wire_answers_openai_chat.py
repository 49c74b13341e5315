"""Scripted answers as Chat Completions spells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .wire_answers_spelling import (
    CREATED,
    check_calls,
    finish_word,
    members,
    objects,
    openai_error,
    pieces,
    sse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..messages import Usage
    from ..rawjson import JSON, JSONObject
    from .script import Call, Fail, Say
    from .wire_answers_spelling import Stamp

__all__ = ["ChatSpelling"]

_FINISHES = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "filtered": "content_filter",
    "refused": "stop",
}


class ChatSpelling:
    """Spells what `/chat/completions` answers."""

    def answer(self, said: Say, stamp: Stamp) -> JSONObject:
        check_calls(said, "openai", signature=True, custom=True)
        choice: JSONObject = {
            "index": 0,
            "message": _message(said, stamp),
            "finish_reason": finish_word(said, _FINISHES, "openai"),
        }
        return {
            "id": f"chatcmpl-{stamp.number}",
            "object": "chat.completion",
            "created": CREATED,
            "model": stamp.model,
            "choices": [choice],
            **({} if said.usage is None else {"usage": _usage(said.usage)}),
        }

    def events(self, answer: JSONObject) -> list[bytes]:
        around = {key: answer[key] for key in ("id", "created", "model")}
        around["object"] = "chat.completion.chunk"
        [choice] = objects(answer["choices"])
        deltas = [(delta, None) for delta in _deltas(members(choice["message"]))]
        choices = [
            {"index": 0, "delta": delta, "finish_reason": finish}
            for delta, finish in [*deltas, ({}, choice["finish_reason"])]
        ]
        events = [sse({**around, "choices": [said]}) for said in choices]
        if "usage" in answer:
            events.append(sse({**around, "choices": [], "usage": answer["usage"]}))
        return [*events, b"data: [DONE]\n\n"]

    def error(self, fail: Fail) -> JSONObject:
        return openai_error(fail, "messages")

    def error_event(self, error: JSONObject) -> bytes:
        return sse(error)


def _usage(usage: Usage) -> JSONObject:
    details: JSONObject = {"cached_tokens": usage.cached_tokens}
    if usage.cache_write_tokens:
        details["cache_write_tokens"] = usage.cache_write_tokens
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": details,
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }


def _message(said: Say, stamp: Stamp) -> JSONObject:
    message: JSONObject = {"role": "assistant", "content": said.text or None}
    if said.finish == "refused":
        message |= {"content": None, "refusal": said.text}
    message |= _thoughts(said)
    message |= said.extra
    signature = None if said.thoughts else said.signature
    if said.calls:
        message["tool_calls"] = [
            _call(call, f"call_{stamp.number}_{place}", None if place else signature)
            for place, call in enumerate(said.calls)
        ]
    elif signature:
        message |= _signature(signature)
    return message


def _thoughts(said: Say) -> JSONObject:
    """Say reasoning as DeepSeek does, or as OpenRouter does where it is signed."""
    signatures = [thought.thought_signature or thought.redacted for thought in said.thoughts]
    if said.thoughts and said.signature:
        signatures[-1] = said.signature
    if not any(signatures):
        text = "".join([thought.text for thought in said.thoughts])
        return {"reasoning_content": text} if said.thoughts else {}
    details: list[JSON] = []
    for place, (thought, signature) in enumerate(zip(said.thoughts, signatures, strict=True)):
        detail: JSONObject = {"type": "reasoning.text", "text": thought.text, "index": place}
        if thought.redacted is not None:
            detail = {"type": "reasoning.encrypted", "data": thought.redacted, "index": place}
        elif signature:
            detail["signature"] = signature
        details.append(detail)
    return {"reasoning_details": details}


def _call(call: Call, new_id: str, signature: str | None) -> JSONObject:
    kind, written = _WRITTEN[call.custom]
    return {
        "id": new_id if call.id is None else call.id,
        "type": kind,
        kind: {"name": call.name, written: call.arguments},
        **_signature(call.signature or signature),
    }


_WRITTEN = (("function", "arguments"), ("custom", "input"))


def _signature(signature: str | None) -> JSONObject:
    """Sign as Gemini does where it speaks this format."""
    return {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}


# -- streams --------------------------------------------------------------------------------------


def _deltas(message: JSONObject) -> Iterator[JSONObject]:
    """Take a message apart, in the order of its members."""
    yield {"role": "assistant", "content": "" if message["content"] else None}
    for key, value in message.items():
        if key in ("content", "refusal", "reasoning_content"):
            for piece in pieces(value) if isinstance(value, str) else ():
                yield {key: piece}
        elif key == "reasoning_details":
            for detail in objects(value):
                yield {key: [detail]}
        elif key == "tool_calls":
            for index, call in enumerate(objects(value)):
                yield from _call_deltas(index, call)
        elif key != "role":
            yield {key: value}


def _call_deltas(index: int, call: JSONObject) -> Iterator[JSONObject]:
    kind, written = _WRITTEN["custom" in call]
    body = members(call[kind])
    begun: JSONObject = {"index": index, **call, kind: {**body, written: ""}}
    yield {"tool_calls": [begun]}
    for piece in pieces(str(body[written])):
        yield {"tool_calls": [{"index": index, kind: {written: piece}}]}
