"""Conversations in PostgreSQL, which any number of machines can share.

Needs ``hansard[postgres]``, which is loaded when the first store is made.
"""

from __future__ import annotations

from .async_store import AsyncPostgresStore
from .store import PostgresStore

__all__ = ["AsyncPostgresStore", "PostgresStore"]
