"""What loops are tried with: both kinds, and every handler there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hansard import FileCheckpointHandler, StoreCheckpointHandler
from hansard.stores.memory import MemoryStore
from tests.support.talkers import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=["files", "store"])
def handlers(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Give what makes a handler, each time as another process would have it."""
    if request.param == "files":
        return lambda: FileCheckpointHandler(tmp_path / "checkpoints")
    store = MemoryStore()
    return lambda: StoreCheckpointHandler(store)
