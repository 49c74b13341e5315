"""Acts: what a `Drive` asks of a driver, one at a time, and what it gets back.

Whatever carrying out an act raises is thrown into the drive, which records what it must and lets
it go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec

from ..turn.events import TurnEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dialects.dialect import Request
    from ..record.entries import Entry
    from ..record.record import Record
    from ..stores.store import AsyncTransaction, Transaction

__all__ = [
    "AWAIT_JOBS",
    "READ",
    "STOP_JOBS",
    "Act",
    "AwaitJobs",
    "Call",
    "Commit",
    "Deed",
    "Do",
    "Ended",
    "Job",
    "Left",
    "Open",
    "Pause",
    "Read",
    "StartJobs",
    "StopJobs",
]


class Left(BaseException):
    """Thrown into a drive whose stream the caller has left before its end."""


class Deed(msgspec.Struct, frozen=True):
    """An act that the driver carries out. All others are events, for whoever listens."""


class Commit(Deed, frozen=True):
    """Make these entries durable; ``record`` is what they lead to.

    Gives nothing; or the record that they have led to, where others had appended meanwhile. With
    ``within`` they become durable together with what was written in that transaction.
    """

    entries: tuple[Entry, ...]
    record: Record
    within: Transaction | AsyncTransaction | None = None


class Do(Deed, frozen=True):
    """Call this, and give what it gives. Under asyncio it gives something to wait for."""

    run: Callable[[], object]


class Pause(Deed, frozen=True):
    """Wait for so long. Gives nothing."""

    seconds: float


class Call(Deed, frozen=True):
    """Send a request. Gives the body of the answer."""

    request: Request
    timeout_s: float | None


class Open(Deed, frozen=True):
    """Send a request whose answer is streamed. Gives nothing."""

    request: Request
    timeout_s: float | None


class Read(Deed, frozen=True):
    """Give the next bytes of the open stream; None at its end."""


class Job(msgspec.Struct, frozen=True):
    """A tool to run. ``run`` gives its value; of an async one, something to wait for."""

    number: int
    run: Callable[[], object]
    is_async: bool = False
    timeout_s: float | None = None


class StartJobs(Deed, frozen=True):
    """Run these, all at once if there are several. Gives nothing."""

    jobs: tuple[Job, ...]


class AwaitJobs(Deed, frozen=True):
    """Wait until a job ends. Gives all that have ended by then, as `Ended`."""


class StopJobs(Deed, frozen=True):
    """Stop what can be stopped. Gives an `Ended` for every job that had not been reported."""


class Ended(msgspec.Struct, frozen=True):
    """What became of a job. One that timed out or was stopped may still be running."""

    number: int
    how: Literal["returned", "raised", "timed_out", "stopped"]
    value: object = None
    error: BaseException | None = None


Act: TypeAlias = (
    Commit | Call | Open | Read | StartJobs | AwaitJobs | StopJobs | Do | Pause | TurnEvent
)

READ: Final = Read()
AWAIT_JOBS: Final = AwaitJobs()
STOP_JOBS: Final = StopJobs()
