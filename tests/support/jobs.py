"""Jobs for loops of either kind: a review that takes two steps, and processes that die in it."""

from __future__ import annotations

import asyncio
import atexit
import inspect
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from hansard import AsyncChat, AsyncLoop, Chat, Loop, Prompt, ToolContext, tool
from hansard.stores.memory import MemoryStore
from hansard.testing import ScriptedModel, call, say

if TYPE_CHECKING:
    from hansard import Checkpoint, CheckpointHandler, Model, Snapshot
    from tests.support.talkers import Kind


@dataclass(frozen=True)
class Job:
    id: str
    diff: str = "x = 1"


@dataclass(frozen=True)
class Review:
    verdict: str


class Died(BaseException):
    """The process is gone."""


class Effects:
    """What the tools of a job did, in order: each run, its key, and whether it was a resumption.

    In the run ``dies_in`` the process dies: nothing is saved any more, see `survive`.
    """

    def __init__(
        self, *, policy: Any = "keyed", dies_in: str = "", needs_approval: bool = False
    ) -> None:
        self.runs: list[tuple[str, str, bool]] = []
        self.dies_in = dies_in
        self.died = False

        @tool(policy=policy, needs_approval=needs_approval)
        def inspect_file(context: ToolContext, path: str) -> str:
            """Inspect a file."""
            self.runs.append((path, context.idempotency_key, context.is_resume))
            self.died = path == self.dies_in
            return f"{path} is fine"

        self.tool = inspect_file

    def survive(self) -> None:
        """Raise if the process is gone."""
        if self.died:
            raise Died

    def another(self) -> None:
        """Begin another process."""
        self.dies_in, self.died = "", False

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.runs]

    @property
    def keys(self) -> set[str]:
        return {key for _, key, _ in self.runs}


SCRIPT = (
    say("Let me look.", calls=[call("inspect_file", path="a"), call("inspect_file", path="b")]),
    say(calls=[call("inspect_file", path="c")]),
    '{"verdict":"good"}',
)


def answering(dialect: str = "openai") -> ScriptedModel:
    """Answer by what is on the record: so it is the same whichever process asks."""

    def answer(request: Any) -> Any:
        results = sum(len(message.tool_results) for message in request.messages)
        return SCRIPT[{0: 0, 2: 1, 3: 2}[results]]

    return ScriptedModel(answer, dialect=dialect)


class Reviews:
    """A loop of either kind, blocking for whoever tests it."""

    def __init__(
        self,
        kind: Kind,
        model: Model,
        effects: Effects,
        handler: Any = None,
        *,
        session: Any = None,
        changes: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if effects.died:
            effects.another()
        self.runner = _runner()
        asked: dict[str, Any] = {
            "ns": "reviews",
            "key": "code",
            "template": "Review this: $diff",
            "system": "You are kind.",
            "tools": [effects.tool],
            "output": Review,
            **(changes or {}),
        }
        made: Any = {"blocking": (Chat, Loop), "asyncio": (AsyncChat, AsyncLoop)}[kind]
        chat_type, loop_type = made

        class ReviewLoop(loop_type):  # type: ignore[misc, valid-type]
            def create_prompt(self, request: Job) -> Prompt[Review]:
                return Prompt(values={"diff": request.diff}, **asked)

            def create_session(self, request: Job) -> Any:
                return super().create_session(request) if session is None else session(self.chat)

        self.chat: Any = chat_type(model, max_concurrent=1)
        kept = None if handler is None else Mortal(handler, effects=effects)
        self.loop: Any = ReviewLoop(self.chat, checkpoint_handler=kept, **options)

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **options: self.wait(getattr(self.loop, name)(*given, **options))

    def wait(self, given: Any) -> Any:
        return self.runner.run(_awaited(given)) if inspect.isawaitable(given) else given


@cache
def _runner() -> asyncio.Runner:
    """One event loop for all: it is closed with the process."""
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


async def _awaited(given: Any) -> Any:
    return await given


class MortalStore(MemoryStore):
    """A store of a process that dies in the middle of a tool."""

    def __init__(self, effects: Effects) -> None:
        super().__init__()
        self.effects = effects

    def append(self, *given: Any, **options: Any) -> Any:
        self.effects.survive()
        return super().append(*given, **options)


class Mortal:
    """A handler in whose hands the process dies: with the save of that number, before or after."""

    def __init__(
        self,
        handler: CheckpointHandler[Job],
        at: int = 0,
        *,
        after: bool = False,
        effects: Effects | None = None,
    ) -> None:
        self.handler = handler
        self.left = at
        self.after = after
        self.effects = effects

    def load(self, request: Job, /) -> Checkpoint | None:
        return self.handler.load(request)

    def save(self, request: Job, snapshot: Snapshot, /) -> None:
        if self.effects is not None:
            self.effects.survive()
        self.left -= 1
        if self.left == 0 and not self.after:
            raise Died
        self.handler.save(request, snapshot)
        if self.left == 0:
            raise Died

    def clear(self, request: Job, /) -> None:
        self.handler.clear(request)
