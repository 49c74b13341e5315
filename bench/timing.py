"""Timing contenders in one process, interleaved, so that noise hits all alike."""

from __future__ import annotations

import asyncio
import gc
import inspect
import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

__all__ = ["Contender", "contest", "row"]

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


def row(*cells: object) -> str:
    """Format one row of a table."""
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.2f}" if cell < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
