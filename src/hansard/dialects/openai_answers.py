"""What the answers of OpenAI's two interfaces share: schemas, errors, arguments, figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import DecodeError
from ..messages import Usage
from .fields import count, text_at
from .schemas import STRUCTURE, every, is_closed, narrowed

if TYPE_CHECKING:
    from ..messages import ToolCall
    from ..rawjson import JSONObject
    from .dialect import Ask
    from .schemas import Taken

__all__ = ["describe_error", "parses", "read_figures", "say_schema"]

_FORMATS = ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]

_STRICTLY: Taken = {
    **STRUCTURE,
    **dict.fromkeys(("pattern", "multipleOf", "minItems", "maxItems")),
    **dict.fromkeys(("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")),
    "format": _FORMATS,
}
"""The part of JSON schema that is followed to the letter."""


def say_schema(ask: Ask, schema: JSONObject) -> JSONObject:
    """Say which schema an answer is to follow: strictly, unless it is too open for that."""
    strict = narrowed(schema, _STRICTLY)
    if is_closed(strict) and every(strict, _requires_all):
        return {"name": ask.output_name, "schema": strict, "strict": True}
    return {"name": ask.output_name, "schema": schema, "strict": False}


def _requires_all(schema: JSONObject) -> bool:
    properties, required = schema.get("properties"), schema.get("required")
    named = set(properties) if isinstance(properties, dict) else set()
    return named <= (set(map(str, required)) if isinstance(required, list) else set())


def describe_error(raw: bytes) -> str:
    """Say for people what an error says: its type, code and message, as far as they are there."""
    error = rawjson.fields(raw) if raw.startswith(b"{") else {"message": raw}
    code = text_at(error, "code") or error.get("code", b"").decode()
    said = [text_at(error, "type"), code, text_at(error, "message")]
    return ": ".join([word for word in said if word and word != "null"]) or raw.decode()


def parses(call: ToolCall) -> bool:
    """Whether the arguments of a call are whole."""
    try:
        _ = call.parsed
    except DecodeError:
        return False
    return True


def read_figures(raw: bytes | None, asked: str, said: str) -> Usage | None:
    """Read the figures of usage, which are known by what was ``asked`` and what was ``said``.

    DeepSeek counts what came from its cache in a place of its own.
    """
    figures = rawjson.value(raw) if raw is not None else None
    if not isinstance(figures, dict):
        return None
    details = figures.get(f"{asked}_tokens_details")
    cached = count(details, "cached_tokens") or count(figures, f"{asked}_cache_hit_tokens")
    return Usage(
        input_tokens=count(figures, f"{asked}_tokens"),
        output_tokens=count(figures, f"{said}_tokens"),
        cached_tokens=cached,
        cache_write_tokens=count(details, "cache_write_tokens"),
        reasoning_tokens=count(figures.get(f"{said}_tokens_details"), "reasoning_tokens"),
        raw=raw,
    )
