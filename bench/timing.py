"""Timing contenders in one process, interleaved, so that noise hits all alike."""

from __future__ import annotations

import asyncio
import gc
import inspect
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

__all__ = ["Contender", "Times", "contest", "interleave", "row", "undisturbed"]

Contender: TypeAlias = Callable[[], object]
"""What is timed. A coroutine function is awaited, in an event loop that is running already."""


def contest(
    contenders: Mapping[str, Contender],
    *,
    rounds: int = 9,
    round_s: float = 0.05,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Give each contender's best time for one run, in microseconds.

    Rounds take turns; a round repeats its contender for about ``round_s``.
    """
    best = dict.fromkeys(contenders, float("inf"))
    with asyncio.Runner() as runner:
        repeats = {name: _repeats(run, round_s, runner) for name, run in contenders.items()}
        gc.disable()
        try:
            for _ in range(rounds):
                for name, run in contenders.items():
                    best[name] = min(best[name], _time(run, repeats[name], clock, runner))
                    gc.collect()
        finally:
            gc.enable()
    return best


def _repeats(run: Contender, round_s: float, runner: asyncio.Runner) -> int:
    _time(run, 1, time.perf_counter, runner)
    once = _time(run, 1, time.perf_counter, runner)
    return max(1, int(round_s * 1e6 / max(once, 0.1)))


def _time(
    run: Contender, repeats: int, clock: Callable[[], float], runner: asyncio.Runner
) -> float:
    if inspect.iscoroutinefunction(run):
        return runner.run(_time_awaited(run, repeats, clock))
    start = clock()
    for _ in range(repeats):
        run()
    return (clock() - start) / repeats * 1e6


async def _time_awaited(run: Contender, repeats: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeats):
        await run()
    return (clock() - start) / repeats * 1e6


class Times(NamedTuple):
    """What one of ten runs stayed below, what half of them did, and what nine of ten did."""

    p10: float
    p50: float
    p90: float

    def over(self, other: Times) -> str:
        """Give the ratio to another's p50; and to its p10, which noise disturbs least."""
        return f"{self.p50 / other.p50:.2f} ({self.p10 / other.p10:.2f})"

    @classmethod
    def of(cls, samples: Sequence[float]) -> Times:
        """Sum up what was measured."""
        some = sorted(samples)
        return cls(*[some[len(some) * tenths // 10] for tenths in (1, 5, 9)])


def interleave(
    contenders: Mapping[str, Callable[[int], object]],
    count: int,
    runner: asyncio.Runner,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Times]:
    """Give what one run of each takes, in seconds; each is told which of ``count`` it is.

    For what changes with every run, as a conversation does: nothing is repeated. Nobody always
    comes after the same one, and each begins rested: who has just used up a processor's time is
    the first to be interrupted for others.
    """
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    dice = random.Random(count)
    with undisturbed():
        for number in range(count):
            for name, run in dice.sample([*contenders.items()], len(contenders)):
                gc.collect()
                time.sleep(_REST_S)
                if inspect.iscoroutinefunction(run):
                    samples[name].append(runner.run(_awaited(run, number, clock)))
                else:
                    start = clock()
                    run(number)
                    samples[name].append(clock() - start)
    return {name: Times.of(some) for name, some in samples.items()}


_REST_S = 0.002


async def _awaited(
    run: Callable[[int], Awaitable[object]], number: int, clock: Callable[[], float]
) -> float:
    start = clock()
    await run(number)
    return clock() - start


@contextmanager
def undisturbed() -> Iterator[None]:
    """Have garbage collected where that is asked for, and what there is now not looked at."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def row(*cells: object) -> str:
    """Format one row of a table."""
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.2f}" if cell < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
