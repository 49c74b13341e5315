"""What the answers of OpenAI's two interfaces have in common: errors, arguments, figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import DecodeError
from ..messages import Usage
from .fields import count, text_at

if TYPE_CHECKING:
    from ..messages import ToolCall

__all__ = ["describe_error", "parses", "read_figures"]


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
