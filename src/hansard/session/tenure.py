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
from ..stores.store import Hold

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Tenure"]


class Tenure:
    """The lease of one conversation, from one worker's side.

    ``asked`` says that it was asked for since it was last let go of: who was cut off then cannot
    know whether it was taken. ``renew`` is told, in another thread, the hold with which to renew,
    and whom to tell when that has come through. What fails then is noticed by whoever goes on.
    """

    def __init__(self, ttl_s: float, renew: Callable[[Hold, Callable[[], None]], object]) -> None:
        self.ttl_s = ttl_s
        self.fence: int | None = None
        self.asked = False
        self._renew = renew
        self._name = clock.new_name()[:8]
        self._asked_s = 0.0
        self._until_s = 0.0
        self._renewing = threading.Lock()

    @property
    def owner(self) -> str:
        """A name that nobody else goes by, not even in a fork of this process: where to look."""
        return f"{_host()}:{os.getpid()}:{self._name}"

    @property
    def held(self) -> bool:
        """Whether the lease was taken and has not been let go of."""
        return self.fence is not None

    @property
    def overdue(self) -> bool:
        """Whether it may have run out, as far as can be told from here."""
        return self.fence is not None and time.monotonic() >= self._until_s

    def hold(self, *, last: bool = False) -> Hold:
        """What to append with: it takes the lease, or holds on to it, or lets go of it."""
        self._asked_s = time.monotonic()
        self.asked = True
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
        self.asked = False
        if self.fence is not None:
            self.fence = None
            _RENEWALS.remove(self)

    def renew_now(self) -> None:
        """Renew it, where it is held, and is not being renewed already."""
        if not self._renewing.acquire(blocking=False):
            return
        try:
            self._renew_now()
        finally:
            self._renewing.release()

    def _renew_now(self) -> None:
        if (fence := self.fence) is None:
            return
        until_s = time.monotonic() + self.ttl_s

        def renewed() -> None:
            self._until_s = until_s

        # Whatever fails, the renewals of others go on.
        with suppress(Exception):
            self._renew(Hold(self.owner, self.ttl_s, fence), renewed)


@cache
def _host() -> str:
    return socket.gethostname()


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

    def disown(self) -> None:
        """Hold none of them any more."""
        for tenure in self._due_s:
            tenure.fence, tenure.asked = None, False

    def _run(self) -> None:
        while True:
            for tenure in self._wait():
                # A thread for each, so that a store that hangs holds up no other.
                threading.Thread(
                    target=tenure.renew_now, name="hansard-renewal", daemon=True
                ).start()

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
    """A forked process has no such thread, and what it inherits is its parent's."""
    global _RENEWALS  # noqa: PLW0603 - there is one a process
    _RENEWALS.disown()
    _RENEWALS = _Renewals()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
