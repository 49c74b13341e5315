"""Every test of a session speaks for both kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard.stores.memory import MemoryStore
from tests.support.sessions import Clock, Sessions, TroubledStore
from tests.support.talkers import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=KINDS)
def sessions(request: pytest.FixtureRequest) -> Iterator[Sessions]:
    """Give what makes a session, blocking or under asyncio."""
    made = Sessions(request.param)
    yield made
    made.close()


@pytest.fixture
def clock() -> Clock:
    """Give the clock by which leases are measured."""
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    """Give a store whose leases run out only if the clock is moved."""
    return MemoryStore(clock=clock)


@pytest.fixture
def troubled(clock: Clock) -> TroubledStore:
    """Give a store in which something can happen."""
    return TroubledStore(clock=clock)
