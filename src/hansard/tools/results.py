"""What the model is told of a call: what the tool gave, that it failed, or why it did not run.

Nothing here raises: whatever a tool returns or raises becomes a result.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from itertools import islice

import msgspec

from .. import rawjson
from ..errors import ToolError
from ..messages import Media, Native, Text, ToolCall, ToolResult
from .schema import to_builtins

__all__ = ["NOTHING", "answer", "denied", "failure", "unknown_tool", "unsayable"]

NOTHING = "The tool has run, and has nothing to say."
"""The result of a tool that returns None. An empty result is left out by some providers."""

_NOT_PASSED_ON = "The tool has run, but what it returned cannot be passed on"

_WORDS_MAX = 2_000
_NAME_MAX = 64
_KNOWN_MAX = 50


def answer(call: ToolCall, value: object) -> ToolResult:
    """Tell the model what a tool returned.

    Text and parts go as they are, several in a list; anything else as its JSON. What has none is
    an error result.
    """
    try:
        if isinstance(value, ToolResult):
            return msgspec.structs.replace(
                value, call_id=call.id, name=call.name, position=call.position
            )
        return call.answer(_parts(value))
    except Exception as error:  # noqa: BLE001 - a value may raise anything when it is looked at
        return _error(call, f"{_NOT_PASSED_ON}: {_words(error)}")


def failure(call: ToolCall, error: BaseException) -> ToolResult:
    """Tell the model that a call failed: a `ToolError` in its own words, others by type."""
    if not isinstance(error, ToolError):
        words = _words(error)
        name = type(error).__name__
        return _error(call, f"{name}: {words}" if words else name)
    words = _words(error, None)
    if error.content is None:
        return _error(call, words or "The tool failed.")
    said = msgspec.structs.replace(answer(call, error.content), is_error=True)
    before = (Text(f"{words}\n"),) if words else ()
    return msgspec.structs.replace(said, content=(*before, *said.content))


def unsayable(call: ToolCall, result: ToolResult) -> ToolResult:
    """Tell the model that a call has a result which its provider has no words for."""
    kinds = {part.kind for part in result.content if isinstance(part, Media | Native)}
    listed = ", ".join([_cut(kind, _NAME_MAX) for kind in sorted(kinds)])
    return _error(call, f"{_NOT_PASSED_ON}: there is no way to show {listed or 'it'} here.")


def unknown_tool(call: ToolCall, known: Iterable[str] = ()) -> ToolResult:
    """Tell the model that it called what does not exist, and what does."""
    names = list(islice(known, _KNOWN_MAX + 1))
    listed = ", ".join([*names[:_KNOWN_MAX], *(["…"] if names[_KNOWN_MAX:] else [])])
    tools = f" There are: {listed}." if names else ""
    return _error(call, f"Error: tool not found: {_cut(call.name, _NAME_MAX)}.{tools}")


def denied(call: ToolCall, reason: str = "") -> ToolResult:
    """Tell the model that a person or program did not let the call run."""
    because = f": {reason}" if reason else "."
    return _error(call, f"This call was denied, and was not run{because}")


def _error(call: ToolCall, words: str) -> ToolResult:
    return call.answer(words, is_error=True)


def _parts(value: object) -> tuple[Text | Media | Native, ...]:
    if value is None:
        return (Text(NOTHING),)
    items = value if isinstance(value, list | tuple) else (value,)
    if any([isinstance(item, Text | Media | Native) for item in items]):
        return tuple([_part(item) for item in items])
    return (_part(value),)


def _part(item: object) -> Text | Media | Native:
    if isinstance(item, Text | Media | Native):
        return item
    if isinstance(item, str):
        return Text(str.__str__(item))
    if isinstance(item, bytes | bytearray | memoryview):
        raise TypeError("bytes have no meaning of their own; return image(data, media_type)")
    if inspect.isawaitable(item):
        _close(item)
        raise TypeError("it has to be awaited; write the tool with async def")
    return Text(rawjson.dump_finite(to_builtins(item)).decode())


def _close(awaitable: object) -> None:
    """Put away what nobody will wait for, so that Python does not complain of it later."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()


def _words(error: BaseException, most: int | None = _WORDS_MAX) -> str:
    try:
        return _cut(str(error).strip(), most)
    except Exception:  # noqa: BLE001 - an error that cannot be said is one all the same
        return ""


def _cut(text: str, most: int | None) -> str:
    return text if most is None or len(text) <= most else f"{text[:most]}…"
