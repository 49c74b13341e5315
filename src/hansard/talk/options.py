"""How a chat asks: what can be set on a chat, and again for one call.

What a call does not set is as the chat has it. Tools, rounds and the rest replace the chat's;
request parameters are added to the chat's, one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from ..dialects.dialect import ToolSpec
from ..errors import Invalid
from ..tools.policies import DEFAULT_POLICY, Policy, check_policy
from ..tools.tool import Tool, tool
from ..turn.rules import Rules

if TYPE_CHECKING:
    from ..messages import Content, Draft
    from ..rawjson import JSON
    from ..state import State
    from ..tools.context import Action
    from ..turn.events import Observer

__all__ = ["CallOptions", "Options", "ToolLike", "split_options"]

ToolLike: TypeAlias = "Tool | ToolSpec | Callable[..., object]"
"""A tool, a function that becomes one, or the declaration of one that the provider runs."""


class CallOptions(TypedDict, total=False):
    """What `Chat.send` and its like take by name. Every other name is a request parameter too.

    - ``system``: leading system text; not stored, and given afresh with each call.
    - ``tools``: functions, `Tool` values, and `ToolSpec` values for tools that the provider runs.
    - ``run_tools``: False hands all calls to the caller, in ``reply.tool_calls``.
    - ``tool_choice``: ``"auto"``, ``"none"``, ``"required"`` or the name of a tool. A choice that
      forces a call holds for the first answer of a turn only.
    - ``max_rounds``: how many answers with calls a turn may have. Then `TooManyRounds` is raised.
    - ``retries``: how often an invalid answer is asked for again.
    - ``max_concurrent``: how many tools run at once.
    - ``default_policy``: that of tools which declare none.
    - ``output``: a type; the model is asked for its JSON, and ``reply.output`` is one.
    - ``strict``: raise `InvalidAnswer` and `AnswerCut` instead of giving a reply that says so.
    - ``timeout_s``: how long the whole call may take. Then `TimedOut` is raised.
    - ``observers``: told of each step, with numbers and without content.
    - ``on_action``: told what tools report for people, as they do.
    - ``checkpoint``: given a new state whenever something has to be durable before the turn goes
      on. Under asyncio it may be async.
    - ``parameters``: request parameters, for names that clash with these.
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
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise Invalid(f"expected timeout_s= above 0, found {self.timeout_s!r}")
        _ = self.toolbox

    def but(self, given: Mapping[str, Any]) -> Options:
        """Make the options of one call; what is None there stays as it is."""
        if not given:
            return self
        named, parameters = split_options(given)
        changes = {name: value for name, value in named.items() if value is not None}
        if parameters:
            changes["parameters"] = {**self.parameters, **parameters}
        return replace(self, **changes)

    @cached_property
    def toolbox(self) -> dict[str, Tool]:
        """The tools by name. Raises `Invalid` for two of one name."""
        box: dict[str, Tool] = {}
        for made in _tools(self.tools):
            if made.name in box:
                raise Invalid(f"expected tools of different names, found two named {made.name}")
            box[made.name] = made
        return box

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model is told of them."""
        own = self.toolbox.values()
        return (
            *[ToolSpec(tool.name, tool.description, tool.parameters) for tool in own],
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


def split_options(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tell options from request parameters, which are given in the same way."""
    named = {name: value for name, value in given.items() if name in _NAMES}
    others = {name: value for name, value in given.items() if name not in _NAMES}
    return named, {**others, **(named.pop("parameters", None) or {})}


def _tools(given: Iterable[ToolLike]) -> list[Tool]:
    found = [each for each in given if not isinstance(each, ToolSpec)]
    return [each if isinstance(each, Tool) else tool(each) for each in found]
