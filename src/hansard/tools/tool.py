"""Tools: functions that a model may call, with all that has to be known to run them safely.

`tool` makes one of a function: its name, docstring and signature say everything. `Tool` makes one
by hand, from a JSON schema.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar, overload

from ..errors import Invalid
from ..rawjson import prepared
from .checking import mismatches
from .converting import convert
from .docstrings import read_docstring
from .invocation import Invocation, read_arguments, unfit
from .policies import Policy
from .refusals import (
    check_name,
    check_options,
    check_takes,
    checked_schema,
    is_async,
    takes_all,
)
from .schema import enriched, parameters_schema
from .signature import Parameter, context_parameter, read_signature, unwrapped

if TYPE_CHECKING:
    from ..messages import ToolCall
    from ..rawjson import JSONObject

__all__ = ["FunctionTool", "NeedsApproval", "OnUnknown", "Tool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

NeedsApproval: TypeAlias = bool | Callable[[Mapping[str, Any]], bool]
"""Whether a person has to agree to a call; or a function of its arguments that says so."""

OnUnknown: TypeAlias = "Callable[[ToolCall], object]"
"""What says what became of a call that may have run: it gives the result, or raises `ToolError`."""

_OPEN = {"additionalProperties", "patternProperties", "$ref", "anyOf", "oneOf", "allOf"}
"""What can make a schema take more names than it lists."""


@dataclass(frozen=True, eq=False, repr=False)
class Tool:
    """A tool made by hand. ``parameters`` is the JSON schema of an object.

    ``run`` is called with the arguments by name, as JSON values, and with the `ToolContext` in the
    parameter that is annotated with it or that ``context_name`` names; it may be async. Without
    ``run`` the calls are handed to the caller.

    ``policy`` says what happens to a call after a crash (see `hansard.tools.policies`); None
    leaves that to the chat. ``on_unknown`` is asked instead of a person about a ``once`` call
    that may have run. ``needs_approval`` makes calls wait for a person: always, or where a
    function of the arguments says so or fails. ``timeout_s`` bounds one run. ``retries`` says how
    often a run that raised is tried again; a ``once`` tool never is, and a `ToolError` is an
    answer. ``max_concurrent`` bounds how many calls of this tool run at once.

    Raises `Invalid` for what could never work.
    """

    name: str
    description: str
    parameters: JSONObject
    run: Callable[..., object] | None = None
    policy: Policy | None = field(default=None, kw_only=True)
    on_unknown: OnUnknown | None = field(default=None, kw_only=True)
    needs_approval: NeedsApproval = field(default=False, kw_only=True)
    timeout_s: float | None = field(default=None, kw_only=True)
    retries: int = field(default=0, kw_only=True)
    max_concurrent: int | None = field(default=None, kw_only=True)
    context_name: str | None = field(default=None, kw_only=True)
    is_async: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        """Check everything where it is written, and find out how ``run`` is to be called."""
        check_name(self.name)
        check_options(self)
        self._set(parameters=checked_schema(self.name, self.parameters))
        if self.run is not None:
            self._set(is_async=is_async(self.run, self.name))
            self._set(context_name=self.context_name or context_parameter(self.run, self.name))
            check_takes(self.run, self)

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def invoke(self, call: ToolCall) -> Invocation:
        """Decode and check the arguments of a call.

        Raises `ToolError`, worded for the model, naming by its path each that does not fit.
        """
        given = read_arguments(call)
        if wrong := mismatches(given, self._checked_by):
            raise unfit(wrong)
        return Invocation(self.run, self._converted(given), self.context_name, self.is_async)

    def asks_approval(self, invocation: Invocation) -> bool:
        """Whether a person has to agree before this runs. One that cannot tell asks."""
        if isinstance(self.needs_approval, bool):
            return self.needs_approval
        try:
            return bool(self.needs_approval(invocation.arguments))
        except Exception:  # noqa: BLE001 - a person decides where the function could not
            return True

    @cached_property
    def _checked_by(self) -> JSONObject:
        """The schema, closed where ``run`` would not take other names."""
        is_open = bool(_OPEN & self.parameters.keys())
        if self.run is None or is_open or takes_all(self.run):
            return self.parameters
        return {**self.parameters, "additionalProperties": False}

    def _converted(self, given: JSONObject) -> Mapping[str, object]:
        return given

    def __repr__(self) -> str:
        """Show how it is called, and what is special about it."""
        known = self.parameters.get("properties")
        names = ", ".join(known if isinstance(known, dict) else ())
        said = [f"{self.name}({names})", *([self.policy] if self.policy else [])]
        said += ["the caller's"] if self.run is None else ["async"] if self.is_async else []
        said += ["needs approval"] if self.needs_approval else []
        return f"<{type(self).__name__} {', '.join(said)}>"


@dataclass(frozen=True, eq=False, repr=False)
class FunctionTool(Tool, Generic[P, R]):
    """A function that is a tool. It can be called as before."""

    signature_parameters: tuple[Parameter, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Be known by the function's name and docstring too."""
        super().__post_init__()
        for parameter in self.signature_parameters:
            prepared(parameter.annotation)
        real = unwrapped(self.function)
        named = ("__name__", "__qualname__", "__module__", "__doc__")
        self.__dict__.update({name: getattr(real, name, None) for name in named})
        self.__dict__["__wrapped__"] = self.function

    @property
    def function(self) -> Callable[P, R]:
        """The function."""
        assert self.run is not None  # noqa: S101 - it was made of one
        return self.run  # type: ignore[return-value]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, as if it were no tool."""
        return self.function(*args, **kwargs)

    def _converted(self, given: JSONObject) -> Mapping[str, object]:
        """Make each argument what its annotation says, and fill in the defaults."""
        arguments: dict[str, object] = {}
        wrong = []
        for parameter in self.signature_parameters:
            if parameter.name not in given:
                arguments[parameter.name] = parameter.default
                continue
            value, mismatch = convert(
                given[parameter.name], parameter.annotation, (parameter.name,)
            )
            arguments[parameter.name] = value
            wrong += [mismatch] if mismatch else []
        if wrong:
            raise unfit(wrong)
        return arguments


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    policy: Policy | None = None,
    on_unknown: OnUnknown | None = None,
    needs_approval: NeedsApproval = False,
    timeout_s: float | None = None,
    retries: int = 0,
    max_concurrent: int | None = None,
) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    policy: Policy | None = None,
    on_unknown: OnUnknown | None = None,
    needs_approval: NeedsApproval = False,
    timeout_s: float | None = None,
    retries: int = 0,
    max_concurrent: int | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    **options: Any,
) -> Any:
    """Make a tool of a function: ``@tool``, ``@tool(policy="reads")``, ``tool(thing.method)``.

    The JSON schema comes from the signature, the description from the docstring. Each argument
    arrives as its annotation says; one annotated `ToolContext` is not the model's to give. The
    options are those of `Tool`. Raises `Invalid`, where it is written, for a function whose
    parameters a model could not fill in.
    """
    if function is None:
        return lambda given: tool(given, name=name, description=description, **options)
    if isinstance(function, Tool) or not callable(function):
        raise Invalid(f"expected a function to make a tool of, found {function!r}")
    real = unwrapped(function)
    called = name if name is not None else _own_name(function, real)
    check_name(called)
    doc = read_docstring(_own_doc(function, real))
    found = read_signature(function, called)
    typed = tuple(
        [replace(one, annotation=enriched(one.annotation, one.default)) for one in found.parameters]
    )
    return FunctionTool(
        called,
        doc.description if description is None else description,
        parameters_schema(typed, doc.parameters, called),
        function,
        signature_parameters=typed,
        context_name=found.context,
        **options,
    )


def _own_name(function: Callable[..., object], real: Callable[..., object]) -> str:
    named = real if real.__name__ != "__call__" else type(function)
    return named.__name__


def _own_doc(function: Callable[..., object], real: Callable[..., object]) -> str | None:
    return inspect.getdoc(real) or inspect.getdoc(function)
