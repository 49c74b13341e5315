"""Conversations in a file of SQLite, which any number of processes of one machine can share."""

from __future__ import annotations

from .store import SQLiteStore

__all__ = ["SQLiteStore"]
