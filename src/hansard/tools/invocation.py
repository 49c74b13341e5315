"""A call that can be run: its arguments are decoded, and are what the tool takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from ..errors import DecodeError, Invalid, ToolError
from .wording import shown

if TYPE_CHECKING:
    from ..messages import ToolCall
    from ..rawjson import JSONObject
    from .context import ToolContext
    from .wording import Mismatch

__all__ = ["Invocation", "read_arguments", "unfit"]

_ADVICE = "The tool was not run. Call it again with arguments that follow its schema."


class Invocation(msgspec.Struct, frozen=True):
    """A function and what it is called with. ``context_name`` is where the context goes."""

    function: Callable[..., object] | None
    arguments: Mapping[str, object]
    context_name: str | None = None
    is_async: bool = False

    def run(self, context: ToolContext) -> object:
        """Call the function, once. Of an async one this gives something to wait for.

        Whatever the function raises comes out as it is.
        """
        if self.function is None:
            raise Invalid("expected a tool that can run, found one whose calls are the caller's")
        given = {} if self.context_name is None else {self.context_name: context}
        value = self.function(**self.arguments, **given)
        # A decorated async function may answer at once, from a cache for instance.
        return _at_once(value) if self.is_async and not inspect.isawaitable(value) else value


async def _at_once(value: object) -> object:
    return value


def read_arguments(call: ToolCall) -> JSONObject:
    """Parse the arguments of a call. None at all, and null, are an empty object.

    Raises `ToolError`, worded for the model, for what is no JSON object.
    """
    try:
        given = call.parsed
    except DecodeError as error:
        raise ToolError(f"The arguments are not JSON: {error}. {_ADVICE}") from None
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ToolError(f"The arguments: expected an object, got {shown(given)}. {_ADVICE}")
    return given


def unfit(wrong: list[Mismatch]) -> ToolError:
    """Tell the model all that is wrong with its arguments, each by its path."""
    listed = "\n".join([f"- {mismatch.within('the arguments')}" for mismatch in wrong])
    return ToolError(f"The arguments do not fit:\n{listed}\n{_ADVICE}")
