"""How a pending call stands: what is on the record of it, and what its tool says to that.

`STANDINGS` is the table of all that can be, and of what is done then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from ..errors import ToolError
from ..tools import results
from ..tools.policies import needs_intent, runs_again

if TYPE_CHECKING:
    from ..messages import ToolCall, ToolResult
    from ..record.record import Record, Round
    from ..tools.invocation import Invocation
    from ..tools.tool import Tool
    from .rules import Rules

__all__ = ["IN_DOUBT", "STANDINGS", "Doing", "Look", "Standing", "callers_calls", "look"]

Standing: TypeAlias = Literal[
    "running",  # this driver has it in flight
    "in doubt",  # it started, and must not start again
    "in doubt, its tool decides",
    "no such tool",
    "denied",
    "no round left",  # the turn has had as many answers as it may
    "the caller's",
    "unfit",  # its arguments are not what the tool takes
    "unapproved",
    "ready",  # it can start, and start again
    "ready, once",  # it can start, and that has to be on the record first
]

Doing: TypeAlias = Literal[
    "leave",
    "answer",
    "run",
    "intend, run",
    "ask the tool",
    "wait for a result",
    "wait for approval",
    "wait for settlement",
]

STANDINGS: dict[Standing, Doing] = {
    "running": "leave",
    "in doubt": "wait for settlement",
    "in doubt, its tool decides": "ask the tool",
    "no such tool": "answer",
    "denied": "answer",
    "no round left": "answer",
    "the caller's": "wait for a result",
    "unfit": "answer",
    "unapproved": "wait for approval",
    "ready": "run",
    "ready, once": "intend, run",
}

IN_DOUBT: frozenset[Standing] = frozenset({"in doubt", "in doubt, its tool decides"})
"""It may have run, and nothing may be said of it before somebody knows."""


class Look(NamedTuple):
    """How a call stands, with the answer that this gives, or what is to be run."""

    standing: Standing
    result: ToolResult | None = None
    invocation: Invocation | None = None


def look(call: ToolCall, round_: Round, rules: Rules) -> Look:
    """See how a call stands that is not running."""
    tool = rules.tools.get(call.name)
    policy = rules.policy(tool) if tool else rules.default_policy
    started = call.position in round_.intents or round_.outcome(call) is not None
    given_up = (round_.answer.seq, call.position) in rules.to_settle
    if started and (given_up or not runs_again(policy)):
        decides = tool is not None and tool.on_unknown is not None and not given_up
        return Look("in doubt, its tool decides" if decides else "in doubt")
    if not rules.run_tools:
        return Look("the caller's")
    if tool is None:
        return Look("no such tool", results.unknown_tool(call, tuple(rules.tools)))
    decision = round_.decision(call)
    if decision is not None and decision.verdict == "denied":
        return Look("denied", results.denied(call, decision.reason))
    if tool.run is None:
        return Look("the caller's")
    must_say = needs_intent(policy) and not started
    return _look_at_arguments(call, tool, decided=decision is not None, must_say=must_say)


def _look_at_arguments(call: ToolCall, tool: Tool, *, decided: bool, must_say: bool) -> Look:
    """See whether a call that may run can."""
    try:
        invocation = tool.invoke(call)
    except ToolError as error:
        return Look("unfit", results.failure(call, error))
    if not decided and tool.asks_approval(invocation):
        return Look("unapproved")
    return Look("ready, once" if must_say else "ready", invocation=invocation)


def callers_calls(record: Record, rules: Rules) -> tuple[ToolCall, ...]:
    """The pending calls that are the caller's to answer."""
    round_ = record.turn.round if record.turn else None
    if round_ is None:
        return ()
    seen = [(call, look(call, round_, rules)) for call in round_.pending]
    return tuple([call for call, found in seen if found.standing == "the caller's"])
