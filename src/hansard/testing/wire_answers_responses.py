"""Scripted answers as OpenAI Responses spells them."""

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
    put_extra,
    signed,
    sse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..messages import Thought, Usage
    from ..rawjson import JSON, JSONObject
    from .script import Call, Fail, Say
    from .wire_answers_spelling import Stamp

__all__ = ["ResponsesSpelling"]

_FAILED = "context_length_exceeded"
_FINISHES = {
    "stop": "",
    "tool_calls": "",
    "refused": "",
    "length": "max_output_tokens",
    "filtered": "content_filter",
    "overflow": _FAILED,
}
"""Why an answer is incomplete or failed; nothing where it is complete."""


class ResponsesSpelling:
    """Spells what `/responses` answers. All reasoning comes with its encrypted content."""

    def answer(self, said: Say, stamp: Stamp) -> JSONObject:
        check_calls(said, "openai-responses", custom=True)
        word = finish_word(said, _FINISHES, "openai-responses")
        failed = word == _FAILED
        return {
            "id": f"resp_{stamp.number}",
            "object": "response",
            "created_at": CREATED,
            "status": "failed" if failed else "incomplete" if word else "completed",
            "error": {"code": word, "message": "The input is too long."} if failed else None,
            "incomplete_details": {"reason": word} if word and not failed else None,
            "model": stamp.model,
            "output": _output(said, stamp, "incomplete" if word and not failed else "completed"),
            "parallel_tool_calls": True,
            "store": False,
            "tool_choice": "auto",
            "tools": [],
            **({} if said.usage is None else {"usage": _usage(said.usage)}),
        }

    def events(self, answer: JSONObject) -> list[bytes]:
        begun = {key: answer[key] for key in answer if key not in _AT_THE_END}
        begun |= {"status": "in_progress", "output": []}
        told: list[JSONObject] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(objects(answer["output"])):
            told += _item_events(index, item)
        told.append({"type": f"response.{answer['status']}", "response": answer})
        return [
            sse({"type": event["type"], "sequence_number": place} | event, str(event["type"]))
            for place, event in enumerate(told)
        ]

    def error(self, fail: Fail) -> JSONObject:
        return openai_error(fail, "input")

    def error_event(self, error: JSONObject) -> bytes:
        said = {key: members(error["error"]).get(key) for key in ("code", "message", "param")}
        return sse({"type": "error", **said, "sequence_number": 0}, "error")


_AT_THE_END = frozenset({"usage", "incomplete_details", "error"})


def _usage(usage: Usage) -> JSONObject:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }


def _output(said: Say, stamp: Stamp, status: str) -> list[JSON]:
    number = stamp.number
    output: list[JSON] = [
        _reasoning(thought, f"rs_{number}_{place}")
        for place, thought in enumerate(signed(said, stamp))
    ]
    if said.text:
        output.append(_message(said, f"msg_{number}"))
    for place, call in enumerate(said.calls):
        output.append(_call(call, f"{number}_{place}"))
    put_extra(output, said.extra, "the last item")
    if said.text or said.calls:
        put_extra(output, {"status": status}, "")
    return output


def _reasoning(thought: Thought, item_id: str) -> JSONObject:
    encrypted = thought.thought_signature or thought.redacted
    summary: list[JSON] = [{"type": "summary_text", "text": thought.text}] if thought.text else []
    return {
        "id": item_id,
        "type": "reasoning",
        "summary": summary,
        **({"encrypted_content": encrypted} if encrypted else {}),
    }


def _message(said: Say, item_id: str) -> JSONObject:
    part: JSONObject = {"type": "output_text", "annotations": [], "text": said.text}
    if said.finish == "refused":
        part = {"type": "refusal", "refusal": said.text}
    return {
        "id": item_id,
        "type": "message",
        "status": "completed",
        "content": [part],
        "role": "assistant",
    }


def _call(call: Call, place: str) -> JSONObject:
    kind, written = ("custom_tool_call", "input") if call.custom else ("function_call", "arguments")
    return {
        "id": f"{'ctc' if call.custom else 'fc'}_{place}",
        "type": kind,
        "status": "completed",
        written: call.arguments,
        "call_id": f"call_{place}" if call.id is None else call.id,
        "name": call.name,
    }


# -- streams ----------------------------------------------------------------------------------


def _item_events(index: int, item: JSONObject) -> Iterator[JSONObject]:
    at: JSONObject = {"item_id": item["id"], "output_index": index}
    grown = _GROWN[str(item["type"])]
    started = item | ({} if grown == "summary" else {"status": "in_progress"})
    whole = item[grown]
    started[grown] = "" if isinstance(whole, str) else []
    yield {"type": "response.output_item.added", "output_index": index, "item": started}
    if isinstance(whole, str):
        kind = f"response.{item['type']}_{grown}"
        yield from _grow(kind, at, grown, whole)
    for place, part in enumerate(objects(whole)):
        yield from _part_events(at | {f"{grown}_index": place}, part)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


_GROWN = {
    "message": "content",
    "reasoning": "summary",
    "function_call": "arguments",
    "custom_tool_call": "input",
}


def _part_events(at: JSONObject, part: JSONObject) -> Iterator[JSONObject]:
    kind = str(part["type"])
    member = "refusal" if kind == "refusal" else "text"
    summary = kind == "summary_text"
    around = "response.reasoning_summary_part" if summary else "response.content_part"
    yield {"type": f"{around}.added", **at, "part": part | {member: ""}}
    grows = "response.reasoning_summary_text" if summary else f"response.{kind}"
    told: JSONObject = {"logprobs": []} if kind == "output_text" else {}
    yield from _grow(grows, at | told, member, str(part[member]))
    yield {"type": f"{around}.done", **at, "part": part}


def _grow(kind: str, at: JSONObject, member: str, text: str) -> Iterator[JSONObject]:
    for piece in pieces(text):
        yield {"type": f"{kind}.delta", **at, "delta": piece}
    yield {"type": f"{kind}.done", **at, member: text}
