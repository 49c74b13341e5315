"""Timing contenders in one process, interleaved, so that noise hits all alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

__all__ = ["contest", "row"]


def contest(
    contenders: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 9,
    round_s: float = 0.05,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Give each contender's best time for one run, in microseconds.

    Rounds take turns; a round repeats its contender for about ``round_s``.
    """
    repeats = {name: _repeats(run, round_s) for name, run in contenders.items()}
    best = dict.fromkeys(contenders, float("inf"))
    gc.disable()
    try:
        for _ in range(rounds):
            for name, run in contenders.items():
                best[name] = min(best[name], _time(run, repeats[name], clock))
                gc.collect()
    finally:
        gc.enable()
    return best


def _repeats(run: Callable[[], object], round_s: float) -> int:
    run()
    once = _time(run, 1, time.perf_counter)
    return max(1, int(round_s * 1e6 / max(once, 0.1)))


def _time(run: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeats):
        run()
    return (clock() - start) / repeats * 1e6


def row(*cells: object) -> str:
    """Format one row of a table."""
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.2f}" if cell < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
