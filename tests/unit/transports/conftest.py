"""A server, and what calls it: each test that takes `connect` runs blocking and under asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.support.http_server import serving
from tests.unit.transports.calling import CALLERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.http_server import HttpServer
    from tests.unit.transports.calling import Caller


class Connect(Protocol):
    def __call__(self, url: str, **options: Any) -> Caller: ...


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serving() as state:
        yield state


@pytest.fixture(params=CALLERS)
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    """Make a caller of a transport to that address, which ends with the test."""
    made: list[Caller] = []

    def make(url: str, **options: Any) -> Caller:
        made.append(CALLERS[request.param](url, **options))
        return made[-1]

    yield make
    for caller in made:
        caller.end()
