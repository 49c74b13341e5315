"""How long a call may still take, and what it is when it took longer."""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ...errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Deadline"]


class Deadline:
    """The end of a call that may take so long. None: it may take for ever.

    A blocking call is checked between reads, each of which waits no longer than was left when the
    answer began: a server that falls silent in the middle can hold it for twice its time at most.
    """

    def __init__(self, timeout_s: float | None) -> None:
        self.timeout_s = timeout_s
        self._at = math.inf if timeout_s is None else time.monotonic() + timeout_s

    def left_s(self) -> float:
        """Say how long is left. Raises `Unreachable` once that is nothing."""
        left_s = self._at - time.monotonic()
        if left_s <= 0:
            raise self.passed()
        return left_s

    def check(self) -> None:
        """Raise `Unreachable` if the time is over."""
        self.left_s()

    def passed(self) -> Unreachable:
        """Make the error for a call that took too long."""
        return Unreachable(
            f"expected an answer within {self.timeout_s:g} seconds, found none, or not all of it; "
            "try again, or allow more time"
        )

    @asynccontextmanager
    async def bound(self) -> AsyncIterator[None]:
        """End what is awaited inside when the time is up, with `Unreachable`."""
        left_s = self.left_s()
        limit = asyncio.timeout(None if left_s == math.inf else left_s)
        try:
            async with limit:
                yield
        except TimeoutError as error:
            if limit.expired():
                raise self.passed() from error
            raise
