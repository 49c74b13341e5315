"""The guide's travel example, through `Chat`, against the provider's side of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest
from google import genai

from hansard import AsyncChat, Chat, user
from hansard.errors import ProviderError
from tests.support.travel import (
    ASKED,
    BOOKED,
    DIALECTS,
    SYSTEM,
    answers_of,
    guide_server,
    travel_model,
    travel_server,
    travel_tools,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard import Reply
    from hansard.testing.wire_server import WireServer

HOTELS_AND_FLIGHTS = "Tokyo is 12°C and cloudy. Paris is 8°C and rainy. Found 2 flights"


def options(server: WireServer) -> dict[str, Any]:
    return {"tools": travel_tools(server.wire_format), "run_tools": False, "system": SYSTEM}


def reach(server: WireServer) -> Any:
    return travel_model(server.wire_format, base_url=server.url, api_key="k", retries=0)


def reach_through_client(server: WireServer) -> Any:
    return travel_model(server.wire_format, client=CLIENTS[server.wire_format](server.url))


CLIENTS: dict[str, Callable[[str], object]] = {
    "openai": lambda url: openai.OpenAI(base_url=url, api_key="k", max_retries=0),
    "openai-responses": lambda url: openai.OpenAI(base_url=url, api_key="k", max_retries=0),
    "anthropic": lambda url: anthropic.Anthropic(base_url=url, api_key="k", max_retries=0),
    "gemini": lambda url: genai.Client(api_key="k", http_options={"base_url": url}),
}


def travel(server: WireServer, how: Callable[[WireServer], Any] = reach) -> list[Reply]:
    with server, Chat(how(server), **options(server)) as chat:
        first = chat.send(None, user(ASKED))
        results = answers_of(first.tool_calls)
        second = chat.send_tool_results(first.state, results)
        results = answers_of(second.tool_calls)
        third = chat.send_tool_results(second.state, results, user(BOOKED))
    return [first, second, third]


def travel_streamed(server: WireServer, how: Callable[[WireServer], Any] = reach) -> list[Reply]:
    replies: list[Reply] = []
    with server, Chat(how(server), **options(server)) as chat:
        said: list[Any] = [user(ASKED)]
        for more in ([], [user(BOOKED)], []):
            state = replies[-1].state if replies else None
            with chat.stream(state, *said) as stream:
                for _ in stream:
                    pass
            replies.append(stream.reply)
            if len(replies) < 3:
                said = [*answers_of(stream.reply.tool_calls), *more]
    return replies


async def travel_async(server: WireServer) -> list[Reply]:
    with server:
        async with AsyncChat(reach(server), **options(server)) as chat:
            first = await chat.send(None, user(ASKED))
            results = answers_of(first.tool_calls)
            second = await chat.send_tool_results(first.state, results)
            results = answers_of(second.tool_calls)
            third = await chat.send_tool_results(second.state, results, user(BOOKED))
    return [first, second, third]


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


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_travel_example_runs_in_every_dialect(dialect: str) -> None:
    server = travel_server(dialect)
    check(server, travel(server))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_travel_example_runs_streamed_in_every_dialect(dialect: str) -> None:
    server = travel_server(dialect)
    check(server, travel_streamed(server))
    assert all(request.stream for request in server.requests)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_travel_example_runs_under_asyncio_in_every_dialect(dialect: str) -> None:
    server = travel_server(dialect)
    check(server, asyncio.run(travel_async(server)))


@pytest.mark.parametrize("go", [travel, travel_streamed], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_providers_own_client_sends_the_same_bodies_of_the_example(
    dialect: str, go: Callable[..., list[Reply]]
) -> None:
    ours, theirs = travel_server(dialect), travel_server(dialect)
    check(ours, go(ours))
    check(theirs, go(theirs, reach_through_client))
    assert [request.body for request in theirs.requests] == [
        request.body for request in ours.requests
    ]


def test_a_lenient_server_takes_the_example_as_the_guide_has_it() -> None:
    server = guide_server(strict=False)
    check(server, travel(server))


def test_a_strict_server_refuses_the_example_as_the_guide_has_it() -> None:
    server = guide_server(strict=True)
    with pytest.raises(ProviderError, match="missing a thought_signature"):
        travel(server)
    assert [refusal.rule for refusal in server.refusals] == [
        "In the current turn the first call of each step is signed."
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_that_is_not_the_examples_own_is_refused(dialect: str) -> None:
    server = travel_server(dialect)
    refused = pytest.raises(ProviderError, match='expected "I')
    with server, Chat(reach(server), **options(server)) as chat, refused:
        chat.send(None, user("Hello"))
    assert [refusal.rule for refusal in server.refusals] == ["The request is the expected one."]
