"""A request as a test looks at it: its exact bytes, and what they say."""

from __future__ import annotations

from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import HansardError, Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..dialects.dialect import Dialect, Request
    from ..messages import Message, ToolResult
    from ..rawjson import JSON, JSONObject

__all__ = ["ScriptedRequest"]


class ScriptedRequest:
    """One request that came. ``number`` counts from 1; everything is read when it is asked for."""

    def __init__(self, dialect: Dialect, request: Request, number: int) -> None:
        self.dialect = dialect
        self.request = request
        self.number = number

    @property
    def path(self) -> str:
        """The path, below the base URL."""
        return self.request.path

    @property
    def body(self) -> bytes:
        """The body, byte for byte."""
        return self.request.body

    @property
    def headers(self) -> dict[str, str]:
        """The headers, by their names in lower case."""
        return {name.lower(): value for name, value in self.request.headers}

    @cached_property
    def json(self) -> JSONObject:
        """The body, parsed."""
        parsed = rawjson.value(self.body)
        return parsed if isinstance(parsed, dict) else {}

    @cached_property
    def _fields(self) -> dict[str, bytes]:
        return rawjson.fields(rawjson.compact(self.body))

    @cached_property
    def _split(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """Leading system messages, where they stand among the others, and the others."""
        key = next((key for key in _MESSAGES if key in self._fields), None)
        if key is None:
            raise Invalid(
                f"expected a body with one of {', '.join(_MESSAGES)}, found one with "
                f"{', '.join(self._fields)}: read it yourself, in .body or .json"
            )
        elements = rawjson.elements(self._fields[key])
        said = tuple([self.dialect.message(raw) for raw in elements])
        leading = 0
        if "messages" in self._fields and "system" not in self._fields:
            leading = len(list(takewhile(lambda message: message.role == "system", said)))
        return said[:leading], said[leading:]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, without leading system messages. In Responses each item is one."""
        return self._split[1]

    @property
    def system(self) -> str:
        """The leading system text, wherever its provider wants it."""
        apart = [_text(self.json.get(key)) for key in _SYSTEM & self.json.keys()]
        return "\n\n".join([*apart, *[message.text for message in self._split[0]]])

    @property
    def stream(self) -> bool:
        """Whether a stream is asked for."""
        return self.json.get("stream") is True or ":streamGenerateContent" in self.path

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The names of the functions that the model may call."""
        return tuple(_names(self.json.get("tools")))

    @property
    def text(self) -> str:
        """The text of the last message."""
        return self.messages[-1].text if self.messages else ""

    @cached_property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results that stand after the model's last message."""
        found: list[ToolResult] = []
        for message in self.messages:
            found = [] if message.role == "assistant" else [*found, *message.tool_results]
        return tuple(found)

    def __repr__(self) -> str:
        return f"<ScriptedRequest {self.number} {self.path} {_glimpse(self)}>"


_MESSAGES = ("messages", "input", "contents")
_SYSTEM = frozenset({"system", "instructions", "systemInstruction"})


def _glimpse(request: ScriptedRequest) -> str:
    """What came last, in few words. Never raises: it is for errors."""
    try:
        last = request.messages[-1]
        said = " ".join([last.text, *[f"result: {found.text}" for found in last.tool_results]])
    except (HansardError, IndexError):
        return f"{len(request.body)} bytes"
    shown = said.strip()
    return f"{last.role}: {shown[:80]!r}{'…' if len(shown) > 80 else ''}"  # noqa: PLR2004


def _text(given: JSON) -> str:
    """The text in a string, or in an array or object of texts."""
    if isinstance(given, dict):
        return _text(given.get("parts", given.get("text")))
    if isinstance(given, list):
        return "\n\n".join([_text(item) for item in given])
    return given if isinstance(given, str) else ""


def _names(tools: JSON) -> Iterator[str]:
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            function = tool.get("function")
            name = (function if isinstance(function, dict) else tool).get("name")
            if isinstance(name, str):
                yield name
            yield from _names(tool.get("functionDeclarations"))
