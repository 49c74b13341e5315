"""How a chat asks: what can be set on a chat, and again for one call.

What a call does not set is as the chat has it. Tools, rounds and the rest replace the chat's;
request parameters are added to the chat's, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeGuard

from ..dialects.dialect import ToolSpec
from ..errors import Invalid
from ..rawjson import prepared
from ..tools.policies import DEFAULT_POLICY, Policy, check_policy
from ..tools.tool import Tool, tool
from ..turn.rules import Rules
from .listeners import check_listener
from .parameters import check_names, check_values

if TYPE_CHECKING:
    from ..messages import Content, Draft
    from ..rawjson import JSON
    from ..state import State
    from ..tools.context import Action
    from ..turn.events import Observer

__all__ = ["CallOptions", "Options", "ToolLike", "split_options"]

ToolLike: TypeAlias = "Tool | ToolSpec | Callable[..., object]"
"""A tool, a function that becomes one, or a declaration: of one that the provider runs where it is
``native``, else of one whose calls are the caller's to answer."""


class CallOptions(TypedDict, total=False):
    """What `Chat.send` and its like take by name. Every other name is a request parameter too.

    What is None is not given; but None takes back what the chat has of ``tool_choice``, ``output``,
    ``timeout_s``, ``on_action`` and ``checkpoint``. A request parameter that is to be null goes
    into ``parameters``.

    - ``system``: leading system text; not stored, and given afresh with each call.
    - ``tools``: functions, `Tool` values, and `ToolSpec` values: ``native`` ones for tools that the
      provider runs; the calls of others are the caller's to answer.
    - ``run_tools``: False hands all calls to the caller, in ``reply.tool_calls``.
    - ``tool_choice``: ``"auto"``, ``"none"``, ``"required"`` or the name of a tool. A choice that
      forces a call holds for the first answer of a turn only.
    - ``max_rounds``: how many valid answers a turn may take, the last one included. Calls in the
      last of them are not run, and `TooManyRounds` is raised.
    - ``retries``: how often an invalid answer is asked for again.
    - ``max_concurrent``: how many tools run at once.
    - ``default_policy``: that of tools which declare none.
    - ``output``: a type; the model is asked for its JSON, and ``reply.output`` is one.
    - ``strict``: raise `InvalidAnswer` and `AnswerCut` instead of giving a reply that says so.
    - ``timeout_s``: how long the whole call may take. Then `TimedOut` is raised.
    - ``observers``: told of each step, with numbers and without content. Not async.
    - ``on_action``: told what tools report for people, as they do. Not async.
    - ``checkpoint``: given a new state whenever something has to be durable before the turn goes
      on. Under asyncio it may be async.
    - ``parameters``: request parameters, for names that clash with these or are much like them.
    """

    system: str | Draft | Sequence[str | Draft]
    tools: Sequence[ToolLike]
    run_tools: bool
    tool_choice: str
    max_rounds: int
    retries: int
    max_concurrent: int
    default_policy: Policy
    output: Any
    strict: bool
    timeout_s: float
    observers: Sequence[Observer]
    on_action: Callable[[Action], object]
    checkpoint: Callable[[State], object]
    parameters: Mapping[str, JSON]
    temperature: float
    top_p: float
    max_tokens: int
    max_output_tokens: int
    max_completion_tokens: int
    stop: Sequence[str]
    seed: int
    reasoning: JSON
    reasoning_effort: str
    thinking: JSON


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to ask, checked. `CallOptions` says what each means."""

    system: str | Draft | Sequence[Content | Draft] = ()
    tools: Sequence[ToolLike] = ()
    run_tools: bool = True
    tool_choice: str | None = None
    max_rounds: int = 10
    retries: int = 2
    max_concurrent: int = 8
    default_policy: Policy = DEFAULT_POLICY
    output: Any = None
    strict: bool = False
    timeout_s: float | None = None
    observers: Sequence[Observer] = ()
    on_action: Callable[[Action], object] | None = None
    checkpoint: Callable[[State], object] | None = None
    parameters: Mapping[str, JSON] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what could never work, where it is written."""
        check_policy(self.default_policy)
        for name, least in (("max_rounds", 1), ("retries", 0), ("max_concurrent", 1)):
            found = getattr(self, name)
            if not isinstance(found, int) or found < least:
                raise Invalid(f"expected {name}= of {least} or more, found {found!r}")
        if self.timeout_s is not None and not _is_time(self.timeout_s):
            raise Invalid(f"expected timeout_s= above 0, found {self.timeout_s!r}")
        if self.output is not None:
            prepared(self.output)
        check_values(self.parameters)
        self._check_listeners()
        # Made once, so that a call that changes something else need not make them again.
        tools = tuple([_tool(given) for given in _listed("tools", self.tools)])
        object.__setattr__(self, "tools", tools)
        self._check_tools()

    def _check_listeners(self) -> None:
        observers = _listed("observers", self.observers)
        object.__setattr__(self, "observers", observers)
        listeners: list[tuple[str, object]] = [("observers", each) for each in observers]
        listeners += [("on_action", self.on_action)] if self.on_action is not None else []
        for name, listener in listeners:
            check_listener(name, listener)
        if self.checkpoint is not None and not callable(self.checkpoint):
            raise Invalid(f"expected checkpoint= to be a function, found {self.checkpoint!r}")

    def _check_tools(self) -> None:
        for native in [given for given in self.tools if _is_native(given)]:
            if native.name in self.toolbox:
                raise _two_named(native.name)
        for made in self.toolbox.values():
            if made.retries and (made.policy or self.default_policy) == "once":
                raise Invalid(
                    f"expected no retries= of {made.name}, which runs once, as nothing else is "
                    "declared: give it a policy=, such as 'keyed' if it can tell by its "
                    "idempotency key that it has run"
                )

    def but(self, given: Mapping[str, Any]) -> Options:
        """Make the options of one call. What is None there stays, unless it can be none at all."""
        if not given:
            return self
        named, parameters = split_options(given)
        changes = {
            name: value
            for name, value in named.items()
            if value is not None or name in _MAY_BE_NONE
        }
        if parameters:
            changes["parameters"] = {**self.parameters, **parameters}
        return replace(self, **changes)

    @cached_property
    def toolbox(self) -> dict[str, Tool]:
        """The tools by name. Raises `Invalid` for two of one name."""
        box: dict[str, Tool] = {}
        for given in self.tools:
            if isinstance(given, Tool):
                made = given
            elif isinstance(given, ToolSpec) and given.native is None:
                made = Tool(given.name, given.description, given.parameters)
            else:
                continue  # The provider runs it.
            if made.name in box:
                raise _two_named(made.name)
            box[made.name] = made
        return box

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them."""
        own = [given for given in self.tools if isinstance(given, Tool)]
        return (
            *[ToolSpec(made.name, made.description, made.parameters) for made in own],
            *[given for given in self.tools if isinstance(given, ToolSpec)],
        )

    @cached_property
    def rules(self) -> Rules:
        """What the turn machine has to know."""
        return Rules(
            tools=self.toolbox,
            default_policy=self.default_policy,
            rounds_max=self.max_rounds,
            retries=self.retries,
            concurrent_max=self.max_concurrent,
            run_tools=self.run_tools,
        )


_NAMES = frozenset([each.name for each in fields(Options)])
_MAY_BE_NONE = frozenset([each.name for each in fields(Options) if each.default is None])
_KNOWN = frozenset(CallOptions.__annotations__)


def split_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell options from request parameters, which are given in the same way.

    What is None among these is not given. Raises `Invalid` for a slip in the name of an option.
    """
    named = {name: value for name, value in given.items() if name in _NAMES}
    others = {
        name: value for name, value in given.items() if name not in _NAMES and value is not None
    }
    check_names(given.keys() - _KNOWN, _NAMES)
    explicit = named.pop("parameters", None) or {}
    check_values(explicit)
    return named, {**others, **explicit}


def _listed(name: str, given: Any) -> tuple[Any, ...]:  # noqa: ANN401 - anything may be given
    """Take a list of things. Raises `Invalid` for one thing alone."""
    if callable(given) or isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise Invalid(f"expected {name}= as a list, found {given!r}: write {name}=[…]")
    return tuple(given)


def _tool(given: ToolLike) -> Tool | ToolSpec:
    return given if isinstance(given, Tool | ToolSpec) else tool(given)


def _is_native(given: ToolLike) -> TypeGuard[ToolSpec]:
    """Whether something is the provider's to run."""
    return isinstance(given, ToolSpec) and given.native is not None


def _two_named(name: str) -> Invalid:
    return Invalid(f"expected tools of different names, found two named {name}")


def _is_time(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and given > 0
