"""A turn that is told while it goes on.

Leaving a stream early loses nothing: what has come is on the record, and ``state`` has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Protocol

from ..errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType
    from typing import Self

    from ..drivers.acts import Act
    from ..drivers.asynchronous import AsyncDriver
    from ..drivers.blocking import BlockingDriver
    from ..state import State
    from ..turn.events import TurnEvent
    from .reply import Reply

__all__ = ["AsyncStream", "Stream"]


class Telling(Protocol):
    """What goes on while it is told: a talk, or a turn of a session."""

    @property
    def state(self) -> State:
        """The conversation so far."""
        ...

    def acts(self) -> Generator[Act, object, Reply]:
        """What a driver is to carry out."""
        ...


class Stream:
    """The events of a turn, over all its rounds. Every event has ``text``: print it.

    Use it as a context manager, so that it ends when you leave::

        with chat.stream(state, user("Hello")) as stream:
            for part in stream:
                print(part.text, end="")
        save(stream.reply.state)
    """

    def __init__(self, talk: Telling, driver: BlockingDriver) -> None:
        self._talk = talk
        self._events = driver.stream(talk.acts())
        self._reply: Reply | None = None
        self._failed: BaseException | None = None
        self._left = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TurnEvent:
        try:
            return next(self._events)
        except StopIteration as done:
            if done.value is not None:
                self._reply = done.value
            raise
        except BaseException as error:
            self._failed = error
            raise

    @property
    def reply(self) -> Reply:
        """The same as `Chat.send` gives. Raises `Invalid` before the end of the stream."""
        return self._reply or _missing(self._failed, left=self._left)

    @property
    def state(self) -> State:
        """The conversation so far, at any time."""
        return self._talk.state

    def finish(self) -> Reply:
        """Take all that is still to come, and give the reply."""
        for _ in self:
            pass
        return self.reply

    def close(self) -> None:
        """Leave. The answer is cut off here, and what has come of it is on the record."""
        self._left = True
        self._events.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncStream:
    """`Stream` under asyncio: ``async with`` it, and ``async for`` over it."""

    def __init__(self, talk: Telling, driver: AsyncDriver[Reply]) -> None:
        self._talk = talk
        self._driver = driver
        self._events = driver.stream(talk.acts())
        self._failed: BaseException | None = None
        self._left = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TurnEvent:
        try:
            return await anext(self._events)
        except StopAsyncIteration:
            raise
        except BaseException as error:
            self._failed = error
            raise

    @property
    def reply(self) -> Reply:
        """The same as `AsyncChat.send` gives. Raises `Invalid` before the end of the stream."""
        return self._driver.outcome or _missing(self._failed, left=self._left)

    @property
    def state(self) -> State:
        """The conversation so far, at any time."""
        return self._talk.state

    async def finish(self) -> Reply:
        """Take all that is still to come, and give the reply."""
        async for _ in self:
            pass
        return self.reply

    async def close(self) -> None:
        """Leave. The answer is cut off here, and what has come of it is on the record."""
        self._left = True
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


_RESUME = "go on with resume(stream.state) of the chat, or with resume() of the session"


def _missing(failed: BaseException | None, *, left: bool) -> NoReturn:
    """Say why there is no reply, and what to do."""
    if failed is not None:
        found = f"one that ended with {type(failed).__name__}: {_RESUME}"
    elif left:
        found = f"one that was left: {_RESUME}"
    else:
        found = (
            "one that has not: read it to its end, or call finish() first; stream.state has the "
            "conversation so far"
        )
    raise Invalid(f"expected a stream that has ended with a reply, found {found}")
