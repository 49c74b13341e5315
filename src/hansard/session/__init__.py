"""Sessions: conversations that are kept on a store."""

from .asynchronous import AsyncSession
from .blocking import Session

__all__ = ["AsyncSession", "Session"]
