"""The stores whose writers are killed: how each is named that is in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.postgres_server import shared_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["URLS"]

URLS: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: f"sqlite:///{folder}/chats.db",
    "jsonl": lambda folder: f"file:{folder}/chats",
    "postgresql": lambda folder: shared_server().schema(str(folder)),
}
