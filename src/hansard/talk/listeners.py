"""Listeners: functions of the caller's that are told what happens, and have no say in it."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING

from ..errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_listener", "tell"]

_LOG = logging.getLogger("hansard")


def check_listener(name: str, listener: object) -> None:
    """Raise `Invalid` for what cannot be told anything, or would have to be awaited."""
    if not callable(listener):
        raise Invalid(f"expected {name}= to be functions, found {listener!r}")
    if _is_async(listener):
        raise Invalid(
            f"expected {name}= not to be async, as it is called at once and nobody would "
            "await it: give a function that hands on what it is told"
        )


def tell(listener: Callable[..., object], said: object) -> None:
    """Tell a listener. What it raises is logged, and changes nothing."""
    try:
        listener(said)
    except Exception:  # noqa: BLE001 - a listener's failure is not the conversation's
        _LOG.exception("a listener failed: %r", listener)


def _is_async(listener: Callable[..., object]) -> bool:
    called = getattr(type(listener), "__call__", None)  # noqa: B004 - of an object that is called
    return inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(called)
