"""What both kinds of stream promise is asked of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.talkers import KINDS, Talkers

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=KINDS)
def talker(request: pytest.FixtureRequest) -> Iterator[Talkers]:
    """Give what makes chats, blocking or under asyncio."""
    talkers = Talkers(request.param)
    yield talkers
    talkers.close()
