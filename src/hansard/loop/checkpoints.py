"""Checkpoints: what a job can be resumed from, and who keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar
from urllib.parse import quote

from ..errors import Invalid
from ..session.snapshots import Snapshot

__all__ = [
    "AsyncCheckpointHandler",
    "Checkpoint",
    "CheckpointHandler",
    "Key",
    "key_of",
    "quoted",
]

Request = TypeVar("Request")
Asked = TypeVar("Asked", contravariant=True)  # noqa: PLC0105 - it is seen in the docs


@dataclass(frozen=True)
class Checkpoint:
    """What was saved of a job."""

    snapshot: Snapshot


class CheckpointHandler(Protocol[Asked]):
    """Keeps the checkpoint of each request. A loop calls it; anybody may write one.

    What `save` was given must be safe when it returns: the loop has calls run that depend on it.
    """

    def load(self, request: Asked, /) -> Checkpoint | None:
        """Give what was saved last; None where nothing is.

        Raises `SnapshotRestoreError` for what is broken: `clear` it, and begin again.
        """
        ...

    def save(self, request: Asked, snapshot: Snapshot, /) -> None:
        """Keep this in the place of what was saved before, all of it or nothing."""
        ...

    def clear(self, request: Asked, /) -> None:
        """Keep nothing any more. Harmless where nothing is. A loop does it after success alone."""
        ...


class AsyncCheckpointHandler(Protocol[Asked]):
    """`CheckpointHandler` with methods that are awaited, for an `AsyncLoop`."""

    async def load(self, request: Asked, /) -> Checkpoint | None:
        """`CheckpointHandler.load`."""
        ...

    async def save(self, request: Asked, snapshot: Snapshot, /) -> None:
        """`CheckpointHandler.save`."""
        ...

    async def clear(self, request: Asked, /) -> None:
        """`CheckpointHandler.clear`."""
        ...


Key = Callable[[Request], str]
"""What tells one request from another, over the end of the process."""


def key_of(request: object) -> str:
    """Take a request's ``id``, or the request itself where it is text or a number."""
    found = request if isinstance(request, str | int) else getattr(request, "id", None)
    if not isinstance(found, str | int) or found == "":
        raise Invalid(
            f"expected a request with an id, found {type(request).__name__}: say with key= what "
            "tells one request from another"
        )
    return str(found)


def quoted(key: str) -> str:
    """Spell a key so that it can be part of any name."""
    return quote(key, safe="")
