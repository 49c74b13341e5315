"""One call over HTTP: until when it may take, how often it was tried, and what became of it.

What both transports decide is decided here; they only wait. Clocks and chance are handed in.

No error made here leads to one of the HTTP library, not even by ``__cause__`` or ``__context__``:
those hold the request, and with it keys and what was said. The operating system's own error, which
holds neither, is kept as the cause.
"""

from __future__ import annotations

import logging
import math
import random
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import httpx2

from ...errors import Invalid, ProviderError, Unreachable
from ..retry import Backoff, may_pass, with_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...dialects.dialect import Dialect
    from .address import Address

__all__ = ["ERROR_BODY_MAX", "Call", "Failed", "Rules", "World", "closed"]

ERROR_BODY_MAX = 1 << 20
"""How much of an error is read. Of an answer all is."""

_REDIRECTS = range(300, 400)
_PLAIN = frozenset({"builtins", "socket", "ssl"})
"""Whose errors are made again of their ``args``."""

_log = logging.getLogger("hansard.transports")


@dataclass(frozen=True)
class World:
    """What a call takes from outside the program. Tests hand in their own."""

    clock: Callable[[], float] = time.monotonic
    wall_clock: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random


@dataclass(frozen=True)
class Rules:
    """How long and how often a transport tries.

    ``read_timeout_s`` is the longest silence, from the request to its answer or between two
    pieces; None: as long as the whole call may take, since a model may think in silence.
    """

    timeout_s: float = 600.0
    connect_timeout_s: float = 10.0
    read_timeout_s: float | None = None
    backoff: Backoff = field(default_factory=Backoff)

    def __post_init__(self) -> None:
        limits = {"timeout_s": self.timeout_s, "connect_timeout_s": self.connect_timeout_s}
        if self.read_timeout_s is not None:
            limits["read_timeout_s"] = self.read_timeout_s
        for name, limit in limits.items():
            if not limit > 0:
                raise Invalid(f"expected a {name} above 0, found {limit}")
        if self.backoff.retries < 0:
            raise Invalid(f"expected retries of 0 or more, found {self.backoff.retries}")


def closed(address: Address) -> Invalid:
    """Say that a transport was closed before it was asked."""
    return Invalid(
        f"expected an open transport to {address.host}, found one that was closed: make another, "
        "or close it later"
    )


class Failed(NamedTuple):
    """A try that gave no answer, and whether the next one may."""

    error: ProviderError
    may_pass: bool


class Call:
    """One call, from its first try to the end of its answer."""

    def __init__(
        self,
        address: Address,
        dialect: Dialect,
        rules: Rules,
        world: World,
        timeout_s: float | None,
    ) -> None:
        self._address = address
        self._dialect = dialect
        self._rules = rules
        self._world = world
        self._timeout_s = rules.timeout_s if timeout_s is None else timeout_s
        self._tried = 0
        self.at_s = world.clock() + self._timeout_s
        self.came_bytes = 0

    def left_s(self) -> float | None:
        """How long it may still take; None: for ever."""
        if self.at_s == math.inf:
            return None
        return max(0.0, self.at_s - self._world.clock())

    def begin_try(self) -> httpx2.Timeout:
        """Count a try, and say how long each step of it may take."""
        self._tried += 1
        left_s = self.left_s()
        return httpx2.Timeout(
            connect=_shorter(self._rules.connect_timeout_s, left_s),
            read=_shorter(self._rules.read_timeout_s, left_s),
            write=left_s,
            pool=left_s,
        )

    def pause_s(self, failed: Failed) -> float:
        """How long to wait before the next try. Raises the error where there is to be none."""
        error = failed.error
        pause_s = None
        if failed.may_pass:
            left_s = self.left_s()
            pause_s = self._rules.backoff.pause_s(
                error,
                tried=self._tried,
                left_s=math.inf if left_s is None else left_s,
                chance=self._world.chance(),
            )
        if pause_s is None:
            if self._tried > 1:
                error.add_note(f"It was tried {self._tried} times.")
            raise error
        _log.info(
            "no answer from %s (%s, status %s): trying again in %.3f s",
            self._address.host,
            type(error).__name__,
            error.status,
            pause_s,
        )
        return pause_s

    # -- what became of it ------------------------------------------------------------------

    def refused(self, status: int, headers: dict[str, str], body: bytes) -> Failed:
        """Say which error an answer is that is none."""
        body = self._address.blot(body)
        if status in _REDIRECTS:
            error = ProviderError(
                f"expected an answer from {self._address.host}, found that it leads elsewhere "
                f"(HTTP {status}), where keys are not to be sent unasked: set base_url to the "
                "address that it leads to",
                status=status,
                body=body,
            )
            return Failed(error, may_pass=False)
        headers = with_seconds(headers, now_s=self._world.wall_clock())
        failure = self._dialect.failure(status, body, headers)
        return Failed(failure, may_pass(failure, headers))

    def late(self) -> Failed:
        """Say that the time for the call is over."""
        return self._unreachable(f"none within {self._timeout_s:g} s", "allow more time")

    def broken(self, error: Exception) -> Failed:
        """Say what an error of the HTTP library means."""
        if isinstance(error, httpx2.ConnectTimeout) and self.left_s() != 0.0:
            limit_s = self._rules.connect_timeout_s
            return self._unreachable(
                f"no connection within {limit_s:g} s", "check the address and the network"
            )
        if isinstance(error, httpx2.TimeoutException | TimeoutError):
            silence_s = self._rules.read_timeout_s
            if silence_s is None or self.left_s() == 0.0:
                return self.late()
            return self._unreachable(f"silence for {silence_s:g} s", "allow a longer one")
        root = _root(error)
        why = f" ({root.strerror or root})" if root is not None else ""
        if isinstance(error, httpx2.ConnectError | httpx2.ProxyError):
            found = f"no connection{why}"
        elif isinstance(error, httpx2.DecodingError):
            found = "one whose compression is broken"
        elif isinstance(error, httpx2.ProtocolError):
            found = "a connection that ended too early, or something that is no HTTP"
        else:
            found = f"a broken connection{why}"
        return self._unreachable(found, "check the address and the network", root)

    def _unreachable(self, found: str, then: str, root: OSError | None = None) -> Failed:
        came = f", after {self.came_bytes} bytes of it" if self.came_bytes else ""
        error = Unreachable(
            f"expected an answer from {self._address.host}, found {found}{came}: "
            f"try again, or {then}"
        )
        error.__cause__ = root
        return Failed(error, may_pass=not self.came_bytes)


def _shorter(limit_s: float | None, left_s: float | None) -> float | None:
    known = [each for each in (limit_s, left_s) if each is not None]
    return min(known) if known else None


def _root(error: BaseException) -> OSError | None:
    """Find what the operating system said, as the cause of an error or as what it was made of.

    Contexts are left alone: they may be the caller's.
    """
    seen: BaseException | None = error
    found: OSError | None = None
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
        if isinstance(seen, OSError):
            found = seen
        seen = seen.__cause__ or next(
            (each for each in seen.args if isinstance(each, OSError)), None
        )
    if found is None:
        return None
    # A new one, since the frames of the old one hold the request.
    if type(found).__module__ in _PLAIN:
        return type(found)(*found.args)
    return OSError(str(found))
