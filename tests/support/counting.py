"""How much work a call is, counted in the steps of the interpreter: no clock, so no chance."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["Work", "count"]


class Work(NamedTuple):
    """The bytecode instructions that ran, and the bytes that were taken at most meanwhile.

    What is written in C runs in one instruction, but cannot build anything long without memory.
    """

    steps: int
    memory: int


def count(call: Callable[[], object]) -> Work:
    """Count the work of a call. It runs twice before, so that what is made once is there."""
    call()
    call()
    return Work(_steps(call), _memory(call))


def _steps(call: Callable[[], object]) -> int:
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        call()
    finally:
        sys.settrace(before)
    return steps


def _memory(call: Callable[[], object]) -> int:
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        kept = call()
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()
    del kept
    return taken
