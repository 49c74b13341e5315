"""Judging a Responses answer: why it ended, what it cost, and whether it is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import rawjson
from ...messages import Refusal, Text, Thought, ToolCall
from ..dialect import Answer, Problem, role_problems
from ..fields import Around, object_at, text_at
from ..openai_answers import describe_error, parses, read_figures
from .reading import CALLS, item_kind, read_items

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...messages import Finish, Part, Role, Usage

__all__ = ["make_answer", "read_usage"]


_COMPACTION = "response.compaction"
"""What a compaction gives: the user's messages, and an item that stands for all the rest."""


def make_answer(
    response: dict[str, bytes], raw: bytes | None, problems: Iterable[Problem] = ()
) -> Answer:
    """Judge an answer, wherever it comes from: a whole body, or a stream that was put together.

    ``response`` is the envelope without what is null, ``raw`` the array of the output items.
    """
    found = list(problems)
    finished = not any(problem.code == "cut" for problem in found)
    role, parts = _read(raw)
    found += _envelope_problems(response)
    found += _output_problems(response, raw, parts) if not found else []
    found += _item_problems(raw, parts) if raw is not None else []
    if text_at(response, "object") != _COMPACTION:
        found += role_problems(role)
    finish, finish_raw = _read_finish(response, parts) if finished else (None, None)
    return Answer(
        raw=raw,
        finish=finish,
        finish_raw=finish_raw,
        usage=read_usage(response.get("usage")),
        problems=tuple(found),
        cut=any(problem.code == "cut" for problem in found),
        model=text_at(response, "model") or None,
        response_id=text_at(response, "id") or None,
        around=Around(response, _NOT_AROUND),
    )


_NOT_AROUND = ("output", "usage", "input", "instructions", "prompt", "text", "tools")
"""The message, the figures, and what the server repeats of the request, which may be long."""


def _read(raw: bytes | None) -> tuple[Role, Sequence[Part]]:
    """Read the items; none at all are nobody's but the assistant's."""
    if raw is None:
        return "assistant", ()
    reading = read_items(raw)
    return reading.role, reading.parts


_REASONS: dict[str, Finish] = {"max_output_tokens": "length", "content_filter": "filtered"}

_OVERFLOWS = frozenset({"context_length_exceeded", "exceed_context_size_error"})


def _read_finish(
    response: dict[str, bytes], parts: Iterable[Part]
) -> tuple[Finish | None, str | None]:
    status = text_at(response, "status")
    if "error" in response or status == "failed":
        error = object_at(response, "error")
        codes = {text_at(error, "code"), text_at(error, "type")}
        return ("overflow" if codes & _OVERFLOWS else "other"), status or None
    if status in ("", "completed"):
        kinds = {type(part) for part in parts}
        if ToolCall in kinds:
            return "tool_calls", status or None
        return ("refused" if Refusal in kinds else "stop"), status or None
    reason = _reason(response)
    return _REASONS.get(reason, "other"), reason or status


def _reason(response: dict[str, bytes]) -> str:
    """Why an answer is incomplete."""
    return text_at(object_at(response, "incomplete_details"), "reason")


def _envelope_problems(response: dict[str, bytes]) -> Iterable[Problem]:
    status = text_at(response, "status")
    if "error" in response:
        yield Problem("provider_error", describe_error(response["error"]))
    elif status in ("failed", "cancelled"):
        yield Problem("provider_error", f"the response is {status}, and no error says why")
    elif status in ("queued", "in_progress"):
        yield Problem("no_answer", f"the response is {status}; ask for it again by its id")
    elif status == "incomplete" and not _reason(response):
        yield Problem("incomplete", "the response is incomplete, and does not say why")


def _output_problems(
    response: dict[str, bytes], raw: bytes | None, parts: Sequence[Part]
) -> Iterable[Problem]:
    """Look for something said. Reasoning alone is not enough: sent back, it is refused."""
    said = [part for part in parts if not isinstance(part, Thought)]
    if not all(isinstance(part, Text | Refusal) and not part.text for part in said):
        return
    if _REASONS.get(_reason(response)) == "filtered":
        yield Problem("blocked", "a filter left nothing of the answer")
    elif raw is None and "output" not in response:
        yield Problem("no_answer", "the answer has no output")
    elif parts and not said:
        yield Problem("empty", "the answer is reasoning only; it may need more output tokens")
    else:
        yield Problem("empty", "the answer has no output items, or an empty one")


def _item_problems(raw: bytes, parts: Sequence[Part]) -> Iterable[Problem]:
    items = [rawjson.fields(item) for item in rawjson.elements(raw)]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    called = [fields for fields in items if item_kind(fields) in CALLS]
    for call, fields in zip(calls, called, strict=True):
        if text_at(fields, "status") == "incomplete":
            yield Problem("bad_arguments", f"the model did not finish its call of {call.name}")
        elif not parses(call):
            yield Problem("bad_arguments", f"the arguments of {call.name} are not JSON")


def read_usage(raw: bytes | None) -> Usage | None:
    """Read the figures of usage."""
    return read_figures(raw, "input", "output")
