"""What a Gemini answer is worth: whether it is valid, why it ended, the figures of usage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import rawjson
from ...messages import Usage
from ..dialect import Answer, Problem, role_problems
from ..fields import Around, count, object_at, present, text_at
from .reading import ROLES, elements_at, part_fields, part_kind, says_nothing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...messages import Finish

__all__ = ["call_flaw", "first_candidate", "make_answer", "read_usage"]

FINISHES: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "LANGUAGE": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "IMAGE_SAFETY": "filtered",
    "IMAGE_PROHIBITED_CONTENT": "filtered",
    "IMAGE_RECITATION": "filtered",
    "MODEL_ARMOR": "filtered",
    "ESCALATION": "filtered",
    "PUP_LIMITED_DISABLED": "filtered",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "UNEXPECTED_TOOL_CALL": "malformed",
    "MALFORMED_RESPONSE": "malformed",
    "MISSING_THOUGHT_SIGNATURE": "malformed",
    "CONTINUATION": "paused",
}


def first_candidate(fields: dict[str, bytes]) -> dict[str, bytes]:
    """Give the members of the candidate with index 0; the others were not asked for."""
    for raw in elements_at(fields, "candidates"):
        candidate = present(rawjson.fields(raw)) if raw.startswith(b"{") else {}
        if candidate.get("index", b"0") == b"0":
            return candidate
    return {}


def make_answer(
    fields: dict[str, bytes],
    candidate: dict[str, bytes],
    content: bytes | None,
    problems: Iterable[Problem],
) -> Answer:
    """Judge a content, from wherever it came: a whole body, or a stream that was put together.

    ``fields`` and ``candidate`` are what stands around it.
    """
    found = list(problems)
    blocked = text_at(object_at(fields, "promptFeedback"), "blockReason")
    finish = text_at(candidate, "finishReason")
    members = {} if content is None else rawjson.fields(content)
    read = [present(part_fields(part)) for part in elements_at(members, "parts")]
    if "error" in fields:
        found.append(Problem("provider_error", _describe(fields["error"])))
    elif content is None and blocked:
        found.append(Problem("blocked", f"the prompt was blocked: {blocked}"))
    elif content is None:
        ended = finish or "none"
        found.append(Problem("no_answer", f"no candidate has a content; finish reason: {ended}"))
    else:
        found += _content_problems(read)
    if content is not None:
        found += role_problems(ROLES.get(text_at(members, "role"), "user"))
    return Answer(
        raw=content,
        finish=_finish(
            finish, blocked, called=any(part_kind(part) == "functionCall" for part in read)
        ),
        finish_raw=finish or blocked or None,
        usage=read_usage(fields.get("usageMetadata")),
        problems=tuple(found),
        cut=any(problem.code == "cut" for problem in found),
        model=text_at(fields, "modelVersion") or None,
        response_id=text_at(fields, "responseId") or None,
        around=Around(
            fields, ("usageMetadata",), "candidates", Around(candidate, ("content", "index"))
        ),
    )


def _finish(finish: str, blocked: str, *, called: bool) -> Finish | None:
    """Gemini says STOP for calls too."""
    if not finish:
        return "filtered" if blocked else None
    neutral = FINISHES.get(finish, "other")
    return "tool_calls" if called and neutral == "stop" else neutral


def _content_problems(parts: list[dict[str, bytes]]) -> Iterable[Problem]:
    if not parts:
        yield Problem("empty", "the content has no parts")
    elif all(says_nothing(fields) and "text" in fields for fields in parts):
        yield Problem("empty", "the content has parts, and nothing is said in them")
    for index, fields in enumerate(parts):
        if not fields or fields == {"thought": b"false"}:
            yield Problem("empty", f"parts[{index}] has no field set")
        flaw = call_flaw(fields)
        if flaw:
            yield Problem("bad_arguments", f"the call in parts[{index}] {flaw}")


def call_flaw(fields: dict[str, bytes]) -> str:
    """Say why the call in a part cannot be made; empty where it can, or there is none."""
    call = present(object_at(fields, "functionCall"))
    if "functionCall" not in fields:
        return ""
    if "partialArgs" in call or call.get("willContinue") == b"true":
        return "came in pieces; leave streamFunctionCallArguments out of the request"
    if not text_at(call, "name"):
        return "names no function"
    return "" if call.get("args", b"{}").startswith(b"{") else "has args that are no JSON object"


def _describe(raw: bytes) -> str:
    error = rawjson.fields(raw) if raw.startswith(b"{") else {}
    code = error.get("code", b"").decode()
    said = f"{code} {text_at(error, 'status')}".strip()
    return f"{said}: {text_at(error, 'message')}" if error else raw.decode()


def read_usage(raw: bytes | None) -> Usage | None:
    """Read the figures. Results of server tools count as input, thoughts as output."""
    if raw is None or not raw.startswith(b"{"):
        return None
    figures = rawjson.value(raw)
    thoughts = count(figures, "thoughtsTokenCount")
    return Usage(
        input_tokens=count(figures, "promptTokenCount") + count(figures, "toolUsePromptTokenCount"),
        output_tokens=count(figures, "candidatesTokenCount") + thoughts,
        cached_tokens=count(figures, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
        raw=raw,
    )
