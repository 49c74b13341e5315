"""Being the one who is at work on a conversation, and staying that as long as it takes.

A lease is taken with the first append of a turn and let go of with the last, so that it costs
nothing. In between it is renewed from a thread of its own, which no tool can block.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from .. import clock
from ..errors import HansardError, LeaseLost
from ..stores.store import Hold

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Tenure", "owner_name"]


def owner_name() -> str:
    """Make a name for one who works on conversations, which says where to look for them."""
    return f"{_host()}:{os.getpid()}:{clock.new_name()[:8]}"


@cache
def _host() -> str:
    return socket.gethostname()


class Tenure:
    """The lease of one conversation, from one worker's side.

    ``renew`` is told the hold with which to renew, from another thread.
    """

    def __init__(self, owner: str, ttl_s: float, renew: Callable[[Hold], object]) -> None:
        self.owner = owner
        self.ttl_s = ttl_s
        self.renew = renew
        self.fence: int | None = None
        self._asked_s = 0.0
        self._until_s = 0.0

    @property
    def held(self) -> bool:
        """Whether the lease was taken and has not been let go of."""
        return self.fence is not None

    def hold(self, *, last: bool = False) -> Hold:
        """What to append with: it takes the lease, or holds on to it, or lets go of it."""
        self._asked_s = time.monotonic()
        # What begins and ends at once needs no lease.
        return Hold(self.owner, 0 if last else self.ttl_s, self.fence)

    def took(self, fence: int) -> None:
        """Note that what was asked for last is held from then on."""
        self._until_s = self._asked_s + self.ttl_s
        if self.fence is None:
            _RENEWALS.add(self)
        self.fence = fence

    def ended(self) -> None:
        """Note that it is not held any more."""
        if self.fence is not None:
            self.fence = None
            _RENEWALS.remove(self)

    def check(self) -> None:
        """Raise `LeaseLost` where it must have run out, as far as can be told from here."""
        if self.fence is not None and time.monotonic() >= self._until_s:
            raise LeaseLost(
                f"expected to hold the lease of the conversation all the time, found that it was "
                f"not renewed for {self.ttl_s} s: somebody else may be at work on it"
            )

    def renew_now(self) -> None:
        """Renew. What fails now is noticed at the next append."""
        if (fence := self.fence) is None:
            return
        began_s = time.monotonic()
        with suppress(HansardError):
            self.renew(Hold(self.owner, self.ttl_s, fence))
            self._until_s = began_s + self.ttl_s


class _Renewals:
    """The one thread that renews the leases of a process, begun when there is one to renew."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due_s: dict[Tenure, float] = {}
        self._wakes_s = 0.0
        self._thread: threading.Thread | None = None

    def add(self, tenure: Tenure) -> None:
        due_s = time.monotonic() + tenure.ttl_s / 3
        with self._changed:
            self._due_s[tenure] = due_s
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="hansard-leases", daemon=True
                )
                self._thread.start()
            elif due_s < self._wakes_s:
                self._changed.notify()

    def remove(self, tenure: Tenure) -> None:
        with self._changed:
            self._due_s.pop(tenure, None)

    def _run(self) -> None:
        while True:
            for tenure in self._wait():
                tenure.renew_now()

    def _wait(self) -> list[Tenure]:
        """Wait until something is due, and give it."""
        with self._changed:
            now_s = time.monotonic()
            # With nothing to do it looks now and then: what is added meanwhile is due later.
            self._wakes_s = min(self._due_s.values(), default=now_s + _IDLE_S)
            if self._wakes_s > now_s:
                self._changed.wait(self._wakes_s - now_s)
            now_s = time.monotonic()
            due = [tenure for tenure, due_s in self._due_s.items() if due_s <= now_s]
            for tenure in due:
                self._due_s[tenure] = now_s + tenure.ttl_s / 3
            return due


_IDLE_S = 60.0
_RENEWALS = _Renewals()


def _begin_anew() -> None:
    """A forked process has no such thread, and what it inherits is its parent's to renew."""
    global _RENEWALS  # noqa: PLW0603 - there is one a process
    _RENEWALS = _Renewals()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
