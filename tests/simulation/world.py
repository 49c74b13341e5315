"""A made-up world for one turn: a provider, tools with effects, people who decide.

All that it does follows from a seed and from what it is asked, never from when: whoever crashes and
asks again gets the same words. What happens in it lasts, as the world outlives a process.
"""

from __future__ import annotations

import random
from collections import Counter
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from hansard.dialects.dialect import Request
from hansard.dialects.registry import dialect as dialect_named
from hansard.errors import ToolError
from hansard.messages import ToolCall
from hansard.testing import (
    ScriptedModel,
    ScriptedRequest,
    blocked,
    call,
    cut_after,
    empty,
    fail,
    forever,
    overflow,
    say,
)
from hansard.tools.context import ToolContext
from hansard.tools.tool import Tool
from hansard.turn.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from hansard.rawjson import JSONObject
    from hansard.testing.script import Play
    from hansard.tools.policies import Policy
    from hansard.transports.transport import Transport

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")

NUMBER: JSONObject = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Effect:
    """Something that a tool did, for good."""

    tool: str
    n: int
    key: str


class Nature(NamedTuple):
    """What a provider's answers follow from, beside what it is asked."""

    seed: int
    dialect: str
    chunk_bytes: int
    rounds: int


class Hang(Exception):
    """A tool that is never heard of again."""


class World:
    """What there is besides the process that may crash."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        drawn = random.Random(seed)
        self.nature = Nature(
            seed,
            dialect=drawn.choice(DIALECTS),
            chunk_bytes=drawn.choice((300, 2000)),
            rounds=drawn.choice((0, 1, 1, 1, 2, 3)),
        )
        self.is_streamed = drawn.random() < 0.5
        self.rules = Rules(
            tools=TOOLS,
            concurrent_max=drawn.choice((1, 2, 8)),
            rounds_max=drawn.choice((2, 10, 10)),
        )
        _present.set(self)
        self.ledger: list[Effect] = []
        self.started: set[tuple[str, int]] = set()
        self._hung: set[tuple[str, int]] = set()
        self._asked: Counter[bytes] = Counter()
        self._chunk_bytes = drawn.choice((300, 2000))

    # -- the provider -----------------------------------------------------------------------------

    def send(self, request: Request) -> bytes:
        """Answer a request, or raise what its provider would."""
        return self._answer(request).send(request)

    def stream(self, request: Request) -> AbstractContextManager[Iterator[bytes]]:
        """Answer a request piece by piece."""
        return self._answer(request).stream(request)

    def _answer(self, request: Request) -> Transport:
        """Give what answers a request: mostly well, and now and then not at once."""
        self._asked[request.body] += 1
        first = self._asked[request.body] == 1
        return _answer(self.nature, request.path, request.body, first=first)

    # -- tools ------------------------------------------------------------------------------------

    def act(self, name: str, n: int, key: str) -> str:
        self.started.add((name, n))
        hangs = random.Random(f"{self.seed} {name} {n}").choices(
            (None, "before", "after"), (90, 5, 5)
        )[0]
        if name == "read":
            # The model is told how this ended: it does whatever it did before.
            if hangs == "before":
                raise Hang
        elif (name, n) not in self._hung and hangs:
            self._hung.add((name, n))
            if hangs == "after":
                self.ledger.append(Effect(name, n, key))
            raise Hang
        self.ledger.append(Effect(name, n, key))
        return f"{name} {n} done"

    # -- people -----------------------------------------------------------------------------------

    def interrupts(self, call: ToolCall) -> str:
        """What a person says while a call waits for its result; mostly nothing."""
        drawn = random.Random(f"{self.seed} said {call.arguments}")
        return f"By the way: {call.arguments}" if drawn.random() < 0.4 else ""

    def approves(self, call: ToolCall) -> bool:
        """What a person says to a call."""
        return random.Random(f"{self.seed} {call.arguments}").random() < 0.7

    def result(self, call: ToolCall) -> str | None:
        """What came of a call that has had its effect; None if it has not."""
        ran = any([(effect.tool, effect.n) == (call.name, _n(call)) for effect in self.ledger])
        return f"{call.name} {_n(call)} done" if ran else None

    def look_up(self, call: ToolCall) -> str:
        found = self.result(call)
        if found is None:
            self.ledger.append(Effect(call.name, _n(call), "by hand"))
        return found or f"{call.name} {_n(call)} done"


def _tools() -> Iterator[Tool]:
    """Make the tools. They find the world in which they act where a real one finds its session."""

    def made(name: str, policy: Policy, run: Callable[..., object], **more: Any) -> Tool:
        return Tool(name, name, NUMBER, run, policy=policy, **more)

    def acting(name: str) -> Callable[..., object]:
        def run(n: int, context: ToolContext) -> object:
            return _world(context).act(name, n, context.idempotency_key)

        return run

    async def awaited(n: int, context: ToolContext) -> object:
        return _world(context).act("awaited", n, context.idempotency_key)

    def failing(n: int) -> object:
        raise ToolError(f"no {n} today") if n % 2 else OSError(f"no way to {n}")

    yield made("read", "reads", acting("read"))
    yield made("put", "keyed", acting("put"), retries=1)
    yield made("book", "once", acting("book"), max_concurrent=1)
    yield made("book_known", "once", acting("book_known"), on_unknown=_look_up)
    yield made("write", "transactional", acting("write"))
    yield made("awaited", "once", awaited)
    yield made("asked", "once", acting("asked"), needs_approval=True)
    yield made("asked_odd", "keyed", acting("asked_odd"), needs_approval=_is_odd)
    yield made("failing", "once", failing)
    yield made("failing_again", "keyed", failing, retries=2)
    yield made("unsayable", "reads", lambda n: object())  # noqa: ARG005
    yield Tool("yours", "yours", NUMBER)


def _world(context: ToolContext) -> World:
    assert isinstance(context.session, World)
    return context.session


def _is_odd(arguments: Any) -> bool:
    return bool(arguments["n"] % 2)


_present: ContextVar[World] = ContextVar("_present")


def _look_up(call: ToolCall) -> str:
    return _present.get().look_up(call)


TOOLS = {tool.name: tool for tool in _tools()}


@lru_cache(maxsize=4096)
def _answer(nature: Nature, path: str, body: bytes, *, first: bool) -> Transport:
    """Give what answers a request, always in the same words."""
    dialect = dialect_named(nature.dialect)
    request = ScriptedRequest(dialect, Request(path, body), 1)
    place = len(request.messages)
    drawn = random.Random(f"{nature.seed} {place}")
    kinds = ("none", "invalid", "transient", "cut", "always invalid", "overflow")
    trouble = drawn.choices(kinds, (70, 9, 9, 9, 2, 1))[0]
    answer = _whole(request, nature.rounds, drawn)
    if trouble == "always invalid":
        answer = drawn.choice((blocked(), empty()))
    elif trouble == "invalid" and first:
        answer = empty()
    elif trouble == "transient" and first:
        answer = fail(drawn.choice((429, 500, 503, 529)))
    elif trouble == "cut" and first and request.stream:
        answer = cut_after(answer, chunks=1, broken=drawn.random() < 0.5)
    elif trouble == "overflow":
        answer = overflow()
    model = ScriptedModel(forever(answer), dialect=dialect, chunk_bytes=nature.chunk_bytes)
    return model.blocking()


def _whole(request: ScriptedRequest, rounds: int, drawn: random.Random) -> Play:
    place = len(request.messages)
    done = [message for message in request.messages if message.role == "assistant"]
    if len(done) >= rounds:
        return say(f"That is all, after {len(done)} rounds.")
    names = drawn.choices([*request.tools, "nobody"], k=drawn.randint(1, 3))
    calls = [
        call(
            name,
            id=None if request.dialect.name == "gemini" else f"call_{place}_{at}",
            n="seven" if drawn.random() < 0.05 else 10 * place + at,
        )
        for at, name in enumerate(names)
    ]
    return say("Let me see." if drawn.random() < 0.5 else "", calls=calls)


def _n(call: ToolCall) -> int:
    given: Any = call.parsed
    return int(given["n"])
