"""What cannot be a tool, said where it is written and not when a model first calls it."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import rawjson
from ..errors import DecodeError, Invalid
from .policies import check_policy
from .signature import unwrapped

if TYPE_CHECKING:
    from ..rawjson import JSON, JSONObject
    from .tool import Tool

__all__ = ["check_name", "check_options", "check_takes", "checked_schema", "is_async", "takes_all"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def check_name(name: object) -> None:
    """Raise `Invalid` for a name that some provider does not take."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Invalid(
            "expected a tool's name of 1 to 64 letters of a-z and A-Z, digits, _ and -, "
            f"found {name!r}; give one with name="
        )


def check_options(tool: Tool) -> None:
    """Raise `Invalid` for options that are wrong, or that contradict each other."""
    if not isinstance(tool.description, str):
        raise Invalid(f"expected a description of {tool.name} in words, found {tool.description!r}")
    if tool.run is not None and not callable(tool.run):
        raise Invalid(f"expected run= of {tool.name} to be a function or None, found {tool.run!r}")
    if tool.policy is not None:
        check_policy(tool.policy)
    _check_count(tool, "retries", tool.retries, 0)
    if tool.max_concurrent is not None:
        _check_count(tool, "max_concurrent", tool.max_concurrent, 1)
    _check_time(tool)
    _check_callbacks(tool)
    if tool.policy == "once" and tool.retries:
        raise Invalid(
            f"expected no retries= of {tool.name}, which runs once; declare it policy='keyed' "
            "if it can tell by its idempotency key that it has run"
        )
    if tool.policy not in (None, "once") and tool.on_unknown is not None:
        raise Invalid(
            f"expected no on_unknown= of {tool.name}: a call with the policy {tool.policy} that "
            "may have run is run again"
        )


def _check_count(tool: Tool, option: str, found: object, least: int) -> None:
    if not isinstance(found, int) or isinstance(found, bool) or found < least:
        raise Invalid(f"expected {option}= of {tool.name} to be {least} or more, found {found!r}")


def _check_time(tool: Tool) -> None:
    found: Any = tool.timeout_s
    if found is None:
        return
    is_count = isinstance(found, int | float) and not isinstance(found, bool)
    if not is_count or not 0 < found < math.inf:
        raise Invalid(f"expected timeout_s= of {tool.name} to be seconds above 0, found {found!r}")


def _check_callbacks(tool: Tool) -> None:
    asks = tool.needs_approval
    if not isinstance(asks, bool) and not callable(asks):
        raise Invalid(
            f"expected needs_approval= of {tool.name} to be true, false or a function of the "
            f"arguments, found {asks!r}"
        )
    if tool.on_unknown is not None and not callable(tool.on_unknown):
        raise Invalid(
            f"expected on_unknown= of {tool.name} to be a function of the call, "
            f"found {tool.on_unknown!r}"
        )
    if callable(asks) and is_async(asks, tool.name):
        raise Invalid(
            f"expected needs_approval= of {tool.name} not to be async: it is asked at once"
        )
    if tool.on_unknown is not None:
        is_async(tool.on_unknown, tool.name)  # It may be; it may not yield.


def checked_schema(name: str, schema: object) -> JSONObject:
    """Give a copy of a schema that stays what it is. Raises `Invalid` unless it takes names."""
    if not isinstance(schema, Mapping):
        raise Invalid(
            f"expected the parameters of {name} as a JSON schema, found {type(schema).__name__}: "
            '{"type": "object", "properties": {…}}'
        )
    try:
        copy = rawjson.value(rawjson.dump(dict(schema)))
    except (TypeError, ValueError, RecursionError, DecodeError) as error:
        raise Invalid(f"expected the parameters of {name} to be JSON: {error}") from None
    made = copy if isinstance(copy, dict) else {}
    kind = made.setdefault("type", "object")
    properties = made.setdefault("properties", {})
    if kind not in ("object", "OBJECT") or not isinstance(properties, dict):
        raise Invalid(
            f"expected the parameters of {name} to be an object's, with properties by name, "
            f"found the type {kind!r}: a model gives arguments by name"
        )
    return made


def check_takes(run: Callable[..., object], tool: Tool) -> None:
    """Raise `Invalid` where a function would not take what its schema lets a model give."""
    taken = _taken(run)
    if taken is None:
        return  # Built in, perhaps. It will say itself what it does not take.
    properties = _names(tool.parameters.get("properties"))
    if tool.context_name in properties:
        raise Invalid(
            f"expected {tool.name} to take its ToolContext under a name of its own, "
            f"found {tool.context_name} in its schema too"
        )
    by_name = [each.name for each in taken if each.kind in _BY_NAME]
    extra = [name for name in properties if name not in by_name]
    if extra and not takes_all(run):
        raise Invalid(
            f"expected run= of {tool.name} to take {', '.join(extra)} by name, as its schema says; "
            f"found a function of ({', '.join(by_name)}): write run(**arguments) to take all"
        )
    given = {*_names(tool.parameters.get("required")), tool.context_name}
    needed = [each for each in taken if each.default is each.empty and each.kind not in _VARIABLE]
    if missing := [each.name for each in needed if each.name not in given]:
        raise Invalid(
            f"expected the schema of {tool.name} to require {', '.join(missing)}, without which "
            "run= cannot be called; or give it a default"
        )


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _names(found: JSON) -> list[str]:
    names = found if isinstance(found, list | dict) else ()
    return [name for name in names if isinstance(name, str)]


def takes_all(run: Callable[..., object]) -> bool:
    """Whether a function takes any name, or nobody can tell which."""
    taken = _taken(run)
    return taken is None or any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken)


def _taken(run: Callable[..., object]) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(run).parameters.values())
    except (TypeError, ValueError, NameError):
        return None


def is_async(function: Callable[..., object], name: str) -> bool:
    """Whether what a function gives has to be awaited. Raises `Invalid` for one that yields."""
    outer: object = function
    while isinstance(outer, functools.partial):
        outer = outer.func
    called = outer if inspect.isroutine(outer) else getattr(type(outer), "__call__", None)  # noqa: B004
    kinds = (outer, called, unwrapped(function))
    if any(inspect.isgeneratorfunction(kind) or inspect.isasyncgenfunction(kind) for kind in kinds):
        raise Invalid(f"{name} cannot be a tool: it yields, and a tool returns one result")
    return any(inspect.iscoroutinefunction(kind) for kind in kinds)
