"""Processes that are given orders and tell what they have done, each a line of JSON on a pipe."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

__all__ = ["WAIT_S", "Child"]

WAIT_S = 120.0
"""What takes longer has come to a standstill, on any machine."""


class Child:
    """A process of a module under `tests.kills`: it says that it is ready, and waits for orders.

    What it writes to standard error is in the file ``errors``.
    """

    def __init__(self, module: str, errors: Path) -> None:
        self._errors = errors
        with errors.open("ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-m", f"tests.kills.{module}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders = self._process.stdin
        self._said = self._process.stdout.fileno()
        self._came = b""
        self._lines: deque[list[Any]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self.end()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def order(self, orders: bytes) -> None:
        """Give it a line."""
        self._orders.write(orders + b"\n")
        self._orders.flush()

    def hear(self, *expected: object) -> list[Any]:
        """Give the next line that it says, which begins as expected."""
        ends_s = time.monotonic() + WAIT_S
        while not self._lines:
            assert self._listen(ends_s), self.told(f"expected {expected}, found nothing more")
        line = self._lines.popleft()
        assert line[: len(expected)] == [*expected], self.told(f"expected {expected}, found {line}")
        return line[len(expected) :]

    def rest(self, after_s: float | None = None) -> tuple[list[list[Any]], bool]:
        """Give all lines that it says until its end, and whether it was killed.

        It is killed after a while, if one is given.
        """
        ends_s = time.monotonic() + (WAIT_S if after_s is None else after_s)
        while self._listen(ends_s):
            pass
        if time.monotonic() >= ends_s:
            self.send(signal.SIGABRT if after_s is None else signal.SIGKILL)
            while self._listen(None):
                pass
        code = self.end()
        assert code in (0, -signal.SIGKILL), self.told(f"expected its end, found code {code}")
        lines = [*self._lines]
        self._lines.clear()
        return lines, code != 0

    def _listen(self, until_s: float | None) -> bool:
        """Take what it says next; False where it says nothing more, or not in time."""
        left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
        if not select.select([self._said], [], [], left_s)[0]:
            return False
        piece = os.read(self._said, 1 << 16)
        *lines, self._came = (self._came + piece).split(b"\n")
        self._lines.extend(map(json.loads, lines))
        return bool(piece)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def stop(self) -> None:
        """Stop it where it is, and wait until it stands."""
        self.send(signal.SIGSTOP)
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)
        assert found is not None

    def told(self, what: str) -> str:
        """Tell what went wrong, with all that it has said of it."""
        return f"{what}\n{[*self._lines]}\n{self._errors.read_text(errors='replace')}"

    def end(self) -> int:
        """Let go of it, and wait for its end. One that never had orders ends by itself."""
        with suppress(BrokenPipeError):
            self._orders.close()
        code = self._process.wait(WAIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        return code
