"""Records with an open round of calls, written as a turn would, and the tools that they call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hansard
from hansard.dialects.dialect import Answer, Problem
from hansard.messages import ToolCall, Usage, assistant, user
from hansard.record.record import Record
from hansard.tools.tool import Tool
from hansard.turn import writing
from hansard.turn.effects import Append, AskTool, CallModel, RunTool
from hansard.turn.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from hansard.dialects.dialect import Dialect
    from hansard.messages import Finish
    from hansard.record.entries import Entry
    from hansard.turn.effects import Effect

NUMBER: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
}


def act(n: int) -> str:
    return f"did {n}"


def made(name: str, **options: Any) -> Tool:
    """Make a tool that takes a number. ``run=None`` makes it the caller's."""
    return Tool(name, name, NUMBER, options.pop("run", act), **options)


def rules_of(*tools: Tool, **options: Any) -> Rules:
    return Rules(tools={tool.name: tool for tool in tools}, **options)


def asking(call_id: str, name: str, arguments: str = '{"n":1}') -> ToolCall:
    return ToolCall(call_id, name, arguments)


class Turn:
    """A turn that is written entry by entry; ``record`` is the newest record."""

    def __init__(self, conversation: str = "c0", dialect: Dialect | str = "openai") -> None:
        spoken = hansard.dialect(dialect) if isinstance(dialect, str) else dialect
        self.record = Record(conversation, spoken)

    def apply(self, *entries: Entry) -> Turn:
        for entry in entries:
            self.record = self.record.apply(entry)
        return self

    def begin(self) -> Turn:
        self.apply(writing.begin(self.record, f"t{self.record.turn_number}", at_us=0))
        [message] = self.record.dialect.say(user("Go ahead."))
        return self.apply(*writing.said(self.record, [(message, False)], "input", at_us=0))

    def answer(self, *said: str | ToolCall, problems: str = "", finish: Finish = "stop") -> Turn:
        """The model says this; with problems, in vain."""
        given = self.given(*said, problems=problems, finish=finish)
        return self.apply(writing.answer(self.record, given, at_us=0))

    def given(self, *said: str | ToolCall, problems: str = "", finish: Finish = "stop") -> Answer:
        """What a dialect would read; ``problems`` are codes."""
        [message] = self.record.dialect.say(assistant(*said))
        found = tuple([Problem(code, f"it is {code}") for code in problems.split()])
        return Answer(message.raw, finish=finish, usage=Usage(10, 5), problems=found)

    def call(self, *names: str) -> Turn:
        """The model calls tools, whose ids are ``a``, ``b`` and so on."""
        return self.answer(
            *[asking(call_id, name) for call_id, name in zip("abcdefgh", names, strict=False)]
        )

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the open round."""
        assert self.record.turn is not None
        assert self.record.turn.round is not None
        return self.record.turn.round.calls

    def intend(self, at: int = 0) -> Turn:
        return self.apply(writing.intent(self.record, self.calls[at], at_us=0))

    def lose(self, at: int = 0) -> Turn:
        """Nobody can say what became of a call."""
        return self.apply(writing.unknown(self.record, self.calls[at], at_us=0))

    def result(self, at: int = 0, text: str = "done") -> Turn:
        call = self.calls[at]
        return self.apply(writing.outcome(self.record, call, call.answer(text), at_us=0))

    def decide(
        self,
        verdict: Literal["approved", "denied", "settled", "not_run"],
        at: int = 0,
        *,
        reason: str = "",
    ) -> Turn:
        call = self.calls[at]
        return self.apply(writing.decision(self.record, call, verdict, at_us=0, reason=reason))


def shown(effects: Iterable[Effect]) -> list[str]:
    """Show effects in a few words each: ``run a``, ``append intent a, outcome b``, ``finish``."""
    return [_shown(effect) for effect in effects]


def _shown(effect: Effect) -> str:
    if isinstance(effect, Append):
        return f"append {', '.join([_entry(entry) for entry in effect.entries])}"
    if isinstance(effect, RunTool | AskTool):
        return f"{'run' if isinstance(effect, RunTool) else 'ask'} {effect.call.id}"
    if isinstance(effect, CallModel):
        return "model"
    calls = [f"{call.id} for {what}" for call, what in getattr(effect, "calls", ())]
    return " ".join([effect.key, ", ".join(calls)]).strip()


def _entry(entry: Any) -> str:
    name = type(entry).__name__.lower()
    if name == "turnend":
        return f"end {entry.status} {entry.error}".strip()
    return f"{name} {entry.call.id}"
