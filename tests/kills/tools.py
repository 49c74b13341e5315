"""The tools of the processes that are killed: one of each policy, and one that has to be asked for.

Each says, before it does anything, that it was begun. What it does follows from its ``mark``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard import Tool, ToolContext, ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hansard.rawjson import JSONObject
    from hansard.tools.policies import Policy
    from tests.kills.effects import Effects
    from tests.kills.watched import Line

__all__ = ["POLICIES", "make_tools", "result"]

POLICIES: dict[str, Policy] = {
    "read": "reads",
    "put": "keyed",
    "write": "transactional",
    "book": "once",
    "ask": "once",
}

_PARAMETERS: JSONObject = {
    "type": "object",
    "properties": {
        "mark": {"type": "string"},
        "size": {"type": "integer"},
        "fails": {"type": "boolean"},
    },
    "required": ["mark", "size", "fails"],
}


def result(mark: str) -> str:
    """What a tool that has come to its end says, but for its padding."""
    return f"{mark} is done."


def make_tools(effects: Effects, line: Line) -> Iterator[Tool]:
    """Make the tools of a process."""

    def book(mark: str, _: ToolContext) -> None:
        effects.do(mark)

    def put(mark: str, context: ToolContext) -> None:
        effects.keep(mark, context.idempotency_key)

    def write(mark: str, context: ToolContext) -> None:
        if context.connection is None:  # On this store it is a tool that runs once.
            effects.do(mark)
        else:
            effects.write(context.transaction, mark)

    def read(_: str, __: ToolContext) -> None:
        pass

    doing = {"read": read, "put": put, "write": write, "book": book, "ask": book}
    for name, policy in POLICIES.items():
        run = _running(doing[name], effects, line, fails_late=name == "write")
        asks = name == "ask"
        yield Tool(name, name, _PARAMETERS, run, policy=policy, needs_approval=asks)


def _running(
    do: Callable[[str, ToolContext], None], effects: Effects, line: Line, *, fails_late: bool
) -> Callable[..., str]:
    """What is done around an effect. One that is in a transaction is taken back by a failure."""

    def run(*, mark: str, size: int, fails: bool, context: ToolContext) -> str:
        effects.begin(mark, context.idempotency_key, is_resume=context.is_resume)
        line.place()
        if fails and not (fails_late and context.connection is not None):
            raise ToolError("It is shut today.")
        do(mark, context)
        line.place()
        if fails:
            raise ToolError("It is shut today.")
        return result(mark) + "." * size

    return run
