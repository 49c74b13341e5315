"""Both kinds of chat behind one face, so that one test speaks for both."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hansard import AsyncChat, Chat

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from hansard import Model, Reply, TurnEvent

Kind: TypeAlias = Literal["blocking", "asyncio"]

KINDS: tuple[Kind, ...] = ("blocking", "asyncio")


class Talkers:
    """Makes chats of one kind; those of asyncio share one event loop."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._runner = asyncio.Runner()

    def __call__(self, model: str | Model, **options: Any) -> Talker:
        return Talker(model, self._runner if self.kind == "asyncio" else None, options)

    def close(self) -> None:
        self._runner.close()


class Talker:
    """A chat; what has to be awaited is."""

    def __init__(
        self, model: str | Model, runner: asyncio.Runner | None, options: dict[str, Any]
    ) -> None:
        self._runner = runner
        self.chat: Any = Chat(model, **options) if runner is None else AsyncChat(model, **options)
        self.settle = self.chat.settle
        self.approve = self.chat.approve
        self.deny = self.chat.deny
        self.append = self.chat.append
        self.abandon = self.chat.abandon
        self.check = self.chat.check
        self.load = self.chat.load

    def send(self, *given: Any, **options: Any) -> Reply:
        reply: Reply = self._wait(self.chat.send(*given, **options))
        return reply

    def resume(self, *given: Any, **options: Any) -> Reply:
        reply: Reply = self._wait(self.chat.resume(*given, **options))
        return reply

    def send_tool_results(self, *given: Any, **options: Any) -> Reply:
        reply: Reply = self._wait(self.chat.send_tool_results(*given, **options))
        return reply

    def stream(self, *given: Any, **options: Any) -> Streamed:
        return Streamed(self.chat.stream(*given, **options), self._runner)

    def close_chat(self) -> None:
        self._wait(self.chat.close())

    def close(self) -> None:
        """Close the chat and its model, whoever made that."""
        self.close_chat()
        model = self.chat.model
        self._wait(model.close() if self._runner is None else model.aclose())

    def _wait(self, given: Any) -> Any:
        return given if self._runner is None else self._runner.run(_awaited(given))


class Streamed:
    """A stream of either kind."""

    def __init__(self, stream: Any, runner: asyncio.Runner | None) -> None:
        self._stream = stream
        self._runner = runner

    def __iter__(self) -> Iterator[TurnEvent]:
        if self._runner is None:
            yield from self._stream
            return
        while True:
            try:
                event: TurnEvent = self._runner.run(_awaited(anext(self._stream)))
            except StopAsyncIteration:
                return
            yield event

    @property
    def reply(self) -> Reply:
        reply: Reply = self._stream.reply
        return reply

    @property
    def state(self) -> bytes:
        state: bytes = self._stream.state
        return state

    def finish(self) -> Reply:
        reply: Reply = self._wait(self._stream.finish())
        return reply

    def close(self) -> None:
        self._wait(self._stream.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _wait(self, given: Any) -> Any:
        return given if self._runner is None else self._runner.run(_awaited(given))


async def _awaited(given: Any) -> Any:
    return await given
