"""Turns on conversations of an age, of which there are enough that turns make none much older."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .texts import exchanges
from .timing import interleave

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .timing import Times

__all__ = ["Age", "Turns", "measure"]


class Age(NamedTuple):
    """How many turns a conversation has, how many there are, and how often each gets a turn."""

    turns: int
    conversations: int
    rounds: int


class Turns(Protocol):
    """A contender. Its methods may be coroutine functions, which share an event loop."""

    def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> object:
        """Make a conversation of earlier questions and answers."""

    def turn(self, name: str, question: str, answer: str) -> object:
        """Have a turn on it: load what a request needs, append the question, then the answer."""

    def close(self) -> object:
        """Let go of everything."""


def measure(makers: Mapping[str, Callable[[], Turns]], age: Age) -> dict[str, Times]:
    """Give what a turn takes, in seconds, by contender. They take turns at it."""
    with asyncio.Runner() as runner:
        contenders = {name: make() for name, make in makers.items()}
        try:
            for each in contenders.values():
                for number in range(age.conversations):
                    _wait(each.seed(f"c{number}", exchanges(age.turns)), runner)
            runs = {name: _turns(each, age) for name, each in contenders.items()}
            interleave(runs, 1, runner)  # What is imported on first use is there now.
            return interleave(runs, age.conversations * age.rounds, runner)
        finally:
            for contender in contenders.values():
                _wait(contender.close(), runner)


def _wait(done: object, runner: asyncio.Runner) -> None:
    if inspect.iscoroutine(done):
        runner.run(done)


def _turns(contender: Turns, age: Age) -> Callable[[int], object]:
    """What has a turn on one conversation after the other."""
    said = exchanges(100)

    async def turn_later(number: int) -> object:
        return await turn(number)

    def turn(number: int) -> object:
        return contender.turn(f"c{number % age.conversations}", *said[number % len(said)])

    return turn_later if inspect.iscoroutinefunction(contender.turn) else turn
