"""The guide's travel example, through `Chat`, against the provider's side of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hansard import Chat, user
from hansard.errors import ProviderError
from tests.support.travel import (
    DIALECTS,
    guide_server,
    options,
    own,
    travel,
    travel_async,
    travel_server,
)

if TYPE_CHECKING:
    from hansard import Reply
    from hansard.testing.wire_server import WireServer

HOTELS_AND_FLIGHTS = "Tokyo is 12°C and cloudy. Paris is 8°C and rainy. Found 2 flights"


def check(server: WireServer, replies: list[Reply]) -> None:
    assert server.refusals == []
    assert len(server.requests) == 3
    assert [[call.name for call in reply.tool_calls] for reply in replies] == [
        ["get_weather", "get_weather", "search_flights"],
        ["search_hotels"],
        ["book_flight", "book_hotel"],
    ]
    assert [reply.has_thoughts for reply in replies] == [True, True, False]
    assert replies[1].text.startswith(HOTELS_AND_FLIGHTS)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("under_asyncio", [False, True], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_travel_example_runs_in_every_dialect(
    dialect: str, *, under_asyncio: bool, streamed: bool
) -> None:
    server = travel_server(dialect)
    if under_asyncio:
        check(server, asyncio.run(travel_async(server, own(server), streamed=streamed)))
    else:
        check(server, travel(server, own(server), streamed=streamed))
    assert [request.stream for request in server.requests] == [streamed] * 3


def test_a_lenient_server_takes_the_example_as_the_guide_has_it() -> None:
    server = guide_server(strict=False)
    check(server, travel(server, own(server)))


def test_a_strict_server_refuses_the_example_as_the_guide_has_it() -> None:
    server = guide_server(strict=True)
    with pytest.raises(ProviderError, match="missing a thought_signature"):
        travel(server, own(server))
    assert [refusal.rule for refusal in server.refusals] == [
        "In the current turn the first call of each step is signed."
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_that_is_not_the_examples_own_is_refused(dialect: str) -> None:
    server = travel_server(dialect)
    refused = pytest.raises(ProviderError, match='expected "I')
    with server, own(server) as model, refused:
        Chat(model, **options(server)).send(None, user("Hello"))
    assert [refusal.rule for refusal in server.refusals] == ["The request is the expected one."]
