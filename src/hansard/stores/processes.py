"""Processes: what is held open does not survive `os.fork`, and is opened anew in the child."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["renew_in_children"]


class _Renewed(Protocol):
    def renew(self) -> None:
        """Forget what belongs to the parent process, without closing it."""


_ALL: WeakSet[_Renewed] = WeakSet()


def renew_in_children(opened: _Renewed) -> None:
    """Have ``opened.renew()`` called in every child process, before anything else there."""
    _ALL.add(opened)


def _renew() -> None:
    for opened in [*_ALL]:
        opened.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
