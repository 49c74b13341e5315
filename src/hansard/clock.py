"""The one place where time and ids are made up, for callers who do not bring their own.

The pure packages get both from outside. What they call here are the defaults of public
constructors, and only when somebody leaves a field out; their own code never does.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

__all__ = ["new_id", "new_name", "now", "now_us"]


def now() -> datetime:
    """The time, in UTC."""
    from datetime import UTC, datetime

    return datetime.now(UTC)


def now_us() -> int:
    """The time, in microseconds since 1970 in UTC."""
    return time.time_ns() // 1000


def new_id() -> UUID:
    """An id that nobody has had before."""
    from uuid import uuid4

    return uuid4()


def new_name() -> str:
    """An id that nobody has had before, as text: as much chance as in a UUID, and sooner made."""
    return os.urandom(16).hex()
