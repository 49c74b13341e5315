"""What both drivers promise is asked of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.drivers.driving import KINDS, Drivers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=KINDS)
def drivers(request: pytest.FixtureRequest) -> Iterator[Drivers]:
    """Give what makes drivers, blocking or under asyncio."""
    made = Drivers(request.param)
    yield made
    made.close()
