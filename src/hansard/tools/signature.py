"""What a function takes: the parameters that a model fills in, and the one for the context.

Annotations are resolved here, also where they are strings and where they name types that exist
only in the function in which the tool is defined.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Invalid
from .context import ToolContext

__all__ = ["Parameter", "Signature", "context_parameter", "read_signature", "unwrapped"]

_KINDS = {
    inspect.Parameter.VAR_POSITIONAL: "it takes *{name}, and a model gives arguments by name",
    inspect.Parameter.VAR_KEYWORD: "it takes **{name}, which says nothing of what it expects",
    inspect.Parameter.POSITIONAL_ONLY: "{name} is positional-only, and a model gives names",
}
_UNIONS = (typing.Union, types.UnionType)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One that the model fills in. ``default`` is ``inspect.Parameter.empty`` where required."""

    name: str
    annotation: object
    default: object

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Signature:
    """All that a function takes."""

    parameters: tuple[Parameter, ...] = ()
    context: str | None = None


def unwrapped(function: Callable[..., object]) -> Callable[..., object]:
    """Give what is really called: of a partial its function, of an object its ``__call__``."""
    called: Any = function
    while isinstance(called, functools.partial):
        called = called.func
    is_plain = inspect.isroutine(called) or inspect.isclass(called)
    real: Callable[..., object] = inspect.unwrap(called if is_plain else type(called).__call__)
    return real


def read_signature(function: Callable[..., object], name: str) -> Signature:
    """Read a function's parameters. Raises `Invalid` for any that a model could not fill in."""
    parameters: list[Parameter] = []
    contexts: list[str] = []
    for parameter in _open_parameters(function, name):
        if parameter.kind in _KINDS:
            why = _KINDS[parameter.kind].format(name=parameter.name)
            raise Invalid(f"{name} cannot be a tool: {why}")
        annotation = _resolve(function, parameter, name)
        if _is_context(annotation):
            contexts.append(parameter.name)
        else:
            parameters.append(Parameter(parameter.name, annotation, parameter.default))
    if len(contexts) > 1:
        both = " and ".join(contexts)
        raise Invalid(f"{name} cannot be a tool: expected one ToolContext, found {both}")
    return Signature(tuple(parameters), contexts[0] if contexts else None)


def context_parameter(function: Callable[..., object], name: str) -> str | None:
    """Read only where the context goes; what else the function takes is its own affair."""
    for parameter in _open_parameters(function, name):
        said = parameter.annotation
        if "ToolContext" in (said if isinstance(said, str) else repr(said)):
            return parameter.name
    return None


def _open_parameters(function: Callable[..., object], name: str) -> list[inspect.Parameter]:
    try:
        found = inspect.signature(function).parameters.values()
    except (NameError, TypeError, ValueError) as error:
        raise Invalid(
            f"expected a function whose parameters can be read, found {name}: {error}; "
            "make a Tool(name, description, parameters, run) by hand"
        ) from None
    bound = function.keywords if isinstance(function, functools.partial) else {}
    return [parameter for parameter in found if parameter.name not in bound]


def _is_context(annotation: object) -> bool:
    if isinstance(annotation, type):
        return issubclass(annotation, ToolContext)
    origin = typing.get_origin(annotation)
    choices = typing.get_args(annotation) if origin in _UNIONS else ()
    if origin is typing.Annotated:
        choices = typing.get_args(annotation)[:1]
    return any(_is_context(choice) for choice in choices)


# -- annotations ------------------------------------------------------------------------------


def _resolve(function: Callable[..., object], parameter: inspect.Parameter, name: str) -> object:
    said = parameter.annotation
    if said is inspect.Parameter.empty:
        advice = "decorate the bound method: tool(thing.method)" if parameter.name == "self" else ""
        advice = advice or f"write {parameter.name}: str, or whatever it is"
        raise Invalid(f"{name} cannot be a tool: {parameter.name} has no type; {advice}")
    real = unwrapped(function)
    names: dict[str, object] = {}
    unknown: Exception | None = None
    for more in ({}, *_scopes(real), {"ToolContext": ToolContext}):
        names = {**more, **names}
        try:
            return _evaluate(said, getattr(real, "__globals__", {}), names)
        except NameError as error:
            unknown = error
        except Exception as error:  # noqa: BLE001 - an annotation is any expression at all
            why = f"{parameter.name} has no type: {error}"
            raise Invalid(f"{name} cannot be a tool: {why}") from None
    raise Invalid(
        f"{name} cannot be a tool: the type of {parameter.name} cannot be found ({unknown}); "
        "import it where the program runs, not only for the type checker"
    )


def _evaluate(
    said: object, global_names: Mapping[str, object], local_names: Mapping[str, object]
) -> object:
    holder = types.SimpleNamespace(__annotations__={"it": said})
    # A copy: evaluating fills in __builtins__.
    hints = typing.get_type_hints(
        holder, dict(global_names), dict(local_names), include_extras=True
    )
    return hints["it"]


def _scopes(function: Callable[..., object]) -> Iterator[Mapping[str, object]]:
    """Give the names that can be seen where a function stands, from the inside out.

    The functions around it are still running when it is decorated, so their names are found
    on the stack; `typing` alone would know those of its module only.
    """
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    if code is not None:
        yield dict(_filled(code.co_freevars, cells))
    around = set(getattr(function, "__qualname__", "").split(".")[:-1]) - {"<locals>"}
    file = getattr(code, "co_filename", None)
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name in around and frame.f_code.co_filename == file:
            yield frame.f_locals
        frame = frame.f_back


def _filled(
    names: tuple[str, ...], cells: tuple[types.CellType, ...]
) -> Iterator[tuple[str, object]]:
    for name, cell in zip(names, cells, strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # Not assigned yet: it cannot be a type that is in use.
            continue
