"""Whether to try a request again, and after what pause. Pure: time and chance are handed in.

What may pass by itself is tried again: no connection, a broken one, a provider that is busy or
down, a request that it gave up on (408) or that met another (409, 425). What will not pass is
raised at once: a request it refuses, a key, an account without money. A provider that says in
``x-should-retry`` what it wants is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import Overloaded, ProviderError, RateLimited, Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Backoff", "may_pass", "with_seconds"]

_PASSING = frozenset({408, 409, 425})
_TOO_MANY = 429


@dataclass(frozen=True)
class Backoff:
    """How often to try again, and how long to wait before it.

    The pause is drawn evenly from nothing to a bound that doubles each time, up to
    ``longest_s`` (full jitter). Where the provider asks for a time, that long at least; if it
    asks for more than ``asked_longest_s`` the failure is raised instead, with what it asked for.
    """

    retries: int = 2
    first_s: float = 0.5
    longest_s: float = 8.0
    asked_longest_s: float = 60.0

    def pause_s(
        self, failure: ProviderError, *, tried: int, left_s: float, chance: float
    ) -> float | None:
        """How long to wait before trying again; None where that is hopeless or not allowed.

        ``tried`` counts the attempts made, ``chance`` is a random number from 0 to 1. A pause
        that would use up all the time left is not begun.
        """
        if tried > self.retries:
            return None
        asked_s = failure.retry_after_s or 0.0
        if asked_s > self.asked_longest_s:
            return None
        # No more doublings than a float can hold.
        bound_s = min(self.longest_s, self.first_s * 2.0 ** min(tried - 1, 64))
        pause_s = max(asked_s, chance * bound_s)
        return pause_s if pause_s < left_s else None


def may_pass(failure: ProviderError, headers: Mapping[str, str] | None = None) -> bool:
    """Whether the same request may succeed later. ``headers`` are those of the failed answer."""
    wish = (headers or {}).get("x-should-retry", "").lower()
    if wish in ("true", "false"):
        return wish == "true"
    if isinstance(failure, Unreachable) or failure.status in _PASSING:
        return True
    if failure.status is not None and 400 <= failure.status < 500:  # noqa: PLR2004 - its fault
        return failure.status == _TOO_MANY and isinstance(failure, RateLimited)
    return isinstance(failure, RateLimited | Overloaded)


def with_seconds(headers: Mapping[str, str], *, now_s: float) -> dict[str, str]:
    """Give headers in which a ``retry-after`` that is a date says seconds instead.

    They are counted from the date of the answer, by the provider's own clock; from ``now_s``, in
    seconds since 1970, where it has none.
    """
    given = {name.lower(): value for name, value in headers.items()}
    until_s = _since_1970(given.get("retry-after", ""))
    if until_s is not None:
        from_s = _since_1970(given.get("date", ""))
        wait_s = until_s - (now_s if from_s is None else from_s)
        given["retry-after"] = f"{max(0.0, wait_s):.3f}"
    return given


def _since_1970(date: str) -> float | None:
    from email.utils import mktime_tz, parsedate_tz

    try:
        parsed = parsedate_tz(date)
        return None if parsed is None else float(mktime_tz(parsed))
    except (ValueError, OverflowError, IndexError):
        return None
