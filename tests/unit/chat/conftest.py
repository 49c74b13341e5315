"""Every test of a chat speaks for both kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.talkers import KINDS, Kind, Talkers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=KINDS)
def talker(request: pytest.FixtureRequest) -> Iterator[Talkers]:
    """Give what makes a chat, blocking or under asyncio."""
    kind: Kind = request.param
    talkers = Talkers(kind)
    yield talkers
    talkers.close()
