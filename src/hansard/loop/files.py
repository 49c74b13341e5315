"""Checkpoints in files: one a request, which is there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Generic, TypeVar

from ..session.snapshots import Snapshot
from .checkpoints import Checkpoint, Key, key_of, quoted

__all__ = ["FileCheckpointHandler"]

Request = TypeVar("Request")

_NAME_MAX = 180


class FileCheckpointHandler(Generic[Request]):
    """Keeps checkpoints as JSON in a folder, which it makes.

    A file is written beside the old one, made durable and put in its place; then the folder is
    made durable. So after a crash, or the loss of power, there is the old one or the new one.
    ``key`` tells one request from another; left out, it is the request's ``id``.
    """

    def __init__(self, folder: str | Path, *, key: Key[Request] = key_of) -> None:
        self._folder = Path(folder)
        self._key = key

    def path(self, request: Request) -> Path:
        """Where the checkpoint of a request is, if there is one."""
        name = quoted(self._key(request))
        if len(name) > _NAME_MAX:
            name = f"{name[:_NAME_MAX]}-{blake2b(name.encode(), digest_size=8).hexdigest()}"
        return self._folder / f"{name}.json"

    def load(self, request: Request, /) -> Checkpoint | None:
        """`CheckpointHandler.load`."""
        try:
            data = self.path(request).read_bytes()
        except FileNotFoundError:
            return None
        return Checkpoint(Snapshot.from_json(data))

    def save(self, request: Request, snapshot: Snapshot, /) -> None:
        """`CheckpointHandler.save`. On any error the old checkpoint is there as before."""
        path = self.path(request)
        data = snapshot.to_json().encode()
        self._folder.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=self._folder, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(beside).replace(path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
        self._make_durable()

    def clear(self, request: Request, /) -> None:
        """`CheckpointHandler.clear`. What a crash left beside it goes too."""
        path = self.path(request)
        if not self._folder.is_dir():
            return
        for left in self._folder.iterdir():
            if left.name == path.name or (
                left.name.startswith(f".{path.name}.") and left.suffix == ".tmp"
            ):
                left.unlink(missing_ok=True)
        self._make_durable()

    def _make_durable(self) -> None:
        """Make durable which files are in the folder. Windows neither needs nor can do that."""
        with suppress(PermissionError):
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
