"""Judging a Chat Completions answer: why it ended, what it cost, and whether it is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import rawjson
from ...messages import Reading, Refusal, Text, Thought, ToolCall
from ..dialect import Answer, Problem, role_problems
from ..fields import Around, text_at
from ..openai_answers import describe_error, parses, read_figures
from .reading import read_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...messages import Finish, Part, Usage

__all__ = ["make_answer", "read_usage"]

FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filtered",
}

_FAILED = frozenset({"error", "insufficient_system_resource"})
"""Finish reasons of OpenRouter and DeepSeek that say the model was stopped by a failure."""


def make_answer(
    fields: dict[str, bytes],
    choice: dict[str, bytes],
    message: bytes | None,
    found: Iterable[Problem] = (),
) -> Answer:
    """Judge an answer, from wherever it came: a whole body, or a stream that was put together."""
    problems = list(found)
    finish = text_at(choice, "finish_reason") or None
    reading = read_message(message) if message is not None else Reading("assistant")
    parts = reading.parts
    if failure := _failure(fields, choice, finish):
        problems.insert(0, Problem("provider_error", failure))
    elif message is None:
        problems.append(Problem("no_answer", "the answer has no choice with a message"))
    if message is not None:
        problems += _message_problems(parts, finish)
        problems += role_problems(reading.role)
    return Answer(
        raw=message,
        finish=_read_finish(finish, parts),
        finish_raw=finish,
        usage=read_usage(fields.get("usage")),
        problems=tuple(problems),
        cut=any([problem.code == "cut" for problem in problems]),
        model=text_at(fields, "model") or None,
        response_id=text_at(fields, "id") or None,
        around=Around(fields, ("usage",), "choices", Around(choice, ("message", "index"))),
    )


def _read_finish(finish: str | None, parts: Sequence[Part]) -> Finish | None:
    """Read why it ended. Many servers say ``stop`` where a refusal or calls say more."""
    if finish is None:
        return None
    read = FINISHES.get(finish, "other")
    if read != "stop":
        return read
    kinds = {type(part) for part in parts}
    return "refused" if Refusal in kinds else "tool_calls" if ToolCall in kinds else "stop"


def _failure(fields: dict[str, bytes], choice: dict[str, bytes], finish: str | None) -> str:
    """Say what failed; nothing where nothing did.

    An error stands in the body, in OpenRouter's choices, in older vLLM *is* the body.
    """
    for raw in (fields.get("error", b"null"), choice.get("error", b"null")):
        if raw != b"null":
            return describe_error(raw)
    if text_at(fields, "object") == "error":
        return describe_error(rawjson.join_object(fields))
    return f"the model was stopped: {finish}" if finish in _FAILED else ""


def _message_problems(parts: Sequence[Part], finish: str | None) -> Iterable[Problem]:
    if not any([_says_something(part) for part in parts]):
        if FINISHES.get(finish or "") == "filtered":
            yield Problem("blocked", "a filter left nothing of the answer")
        else:
            yield Problem("empty", "the message has no content, refusal, audio or calls")
    for part in parts:
        if isinstance(part, ToolCall) and not parses(part):
            yield Problem("bad_arguments", f"the arguments of {part.name} are not JSON")


def _says_something(part: Part) -> bool:
    return bool(part.text) if isinstance(part, _WORDS) else not isinstance(part, Thought)


_WORDS = (Text, Refusal)


def read_usage(raw: bytes | None) -> Usage | None:
    """Read the figures of usage."""
    return read_figures(raw, "prompt", "completion")
