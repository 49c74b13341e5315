"""Judging an Anthropic answer: why it ended, what it cost, and whether it is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import rawjson
from ...messages import Usage
from ..dialect import Answer, Problem, role_problems
from ..fields import Around, count, object_at, present, text_at
from .reading import ROLES, blocks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...messages import Finish

__all__ = ["make_answer", "read_usage"]

FINISHES: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "pause_turn": "paused",
    "compaction": "paused",
    "refusal": "refused",
    "model_context_window_exceeded": "overflow",
}

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def make_answer(
    fields: dict[str, bytes], content: bytes | None, found: Iterable[Problem] = ()
) -> Answer:
    """Judge an answer, from wherever it came: a whole body, or a stream that was put together.

    The native message is the answer's role and content. Its other members are not a message's:
    the API refuses them there. Those that mean something everywhere become the answer's.
    """
    problems = list(found)
    finish = text_at(fields, "stop_reason") or None
    if "error" in fields:
        problems.append(Problem("provider_error", _error_detail(fields)))
    role = fields.get("role", b'"assistant"')
    if content is not None:
        problems += _content_problems(fields, content)
        problems += role_problems(ROLES.get(text_at({"role": role}, "role"), "user"))
    elif "error" not in fields:
        problems.append(Problem("no_answer", "the answer has no content"))
    return Answer(
        raw=None if content is None else b'{"role":' + role + b',"content":' + content + b"}",
        finish=None if finish is None else FINISHES.get(finish, "other"),
        finish_raw=finish,
        usage=read_usage(fields.get("usage", b"")),
        problems=tuple(problems),
        cut=any(problem.code == "cut" for problem in problems),
        model=text_at(fields, "model") or None,
        response_id=text_at(fields, "id") or None,
        around=Around(fields, _NOT_AROUND),
    )


_NOT_AROUND = ("role", "content", "usage")


def _content_problems(fields: dict[str, bytes], content: bytes) -> Iterable[Problem]:
    spoken = [rawjson.fields(raw) for raw in blocks(content) if raw.startswith(b"{")]
    if all(block.get("text") == b'""' for block in spoken):
        yield _silence(fields)
    for block in spoken:
        arguments = block.get("input", b"")
        if text_at(block, "type") in _CALLS and not arguments.startswith(b"{"):
            name = text_at(block, "name")
            yield Problem("bad_arguments", f"the arguments of {name} are not a JSON object")


def _silence(fields: dict[str, bytes]) -> Problem:
    """Say why there is nothing: a refusal before the first word has nothing to keep either."""
    if text_at(fields, "stop_reason") != "refusal":
        return Problem("empty", "the message has no content")
    details = present(object_at(fields, "stop_details"))
    reasons = [text_at(details, key) for key in ("category", "explanation")]
    return Problem("blocked", ": ".join(["the model declined", *filter(None, reasons)]))


def _error_detail(fields: dict[str, bytes]) -> str:
    error = object_at(fields, "error")
    said = [text_at(error, "type"), text_at(error, "message")]
    return ": ".join(filter(None, said)) or fields["error"].decode()


def read_usage(raw: bytes) -> Usage | None:
    """Read the figures. What was written to or read from the cache is input beside the rest."""
    if not raw.startswith(b"{"):
        return None
    figures = rawjson.value(raw)
    written = count(figures, "cache_creation_input_tokens")
    cached = count(figures, "cache_read_input_tokens")
    details = figures.get("output_tokens_details") if isinstance(figures, dict) else None
    return Usage(
        input_tokens=count(figures, "input_tokens") + written + cached,
        output_tokens=count(figures, "output_tokens"),
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=count(details, "thinking_tokens"),
        raw=raw,
    )
