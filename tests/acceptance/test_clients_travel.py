"""The guide's travel example through the providers' own clients, checked by the provider's side.

Every request has to be the very bytes that our own transport sends.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest
from google import genai

from tests.support.travel import (
    DIALECTS,
    own,
    travel,
    travel_async,
    travel_model,
    travel_server,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard import Reply
    from hansard.testing.wire_server import WireServer

CLIENTS: dict[str, tuple[Callable[[str], Any], Callable[[str], Any]]] = {
    "openai": (
        lambda url: openai.OpenAI(base_url=url, api_key="k"),
        lambda url: openai.AsyncOpenAI(base_url=url, api_key="k"),
    ),
    "anthropic": (
        lambda url: anthropic.Anthropic(base_url=url, api_key="k"),
        lambda url: anthropic.AsyncAnthropic(base_url=url, api_key="k"),
    ),
    "gemini": (
        lambda url: genai.Client(api_key="k", http_options={"base_url": url}),
        lambda url: genai.Client(api_key="k", http_options={"base_url": url}).aio,
    ),
}
"""The blocking client and the one for asyncio, of each provider."""


def clients(server: WireServer) -> tuple[Callable[[str], Any], Callable[[str], Any]]:
    return CLIENTS[server.wire_format.partition("-")[0]]


def through_client(server: WireServer, *, streamed: bool) -> list[Reply]:
    client = clients(server)[0](server.url)
    try:
        model = travel_model(server.wire_format, client=client)
        return travel(server, model, streamed=streamed)
    finally:
        client.close()


async def through_async_client(server: WireServer, *, streamed: bool) -> list[Reply]:
    client = clients(server)[1](server.url)
    try:
        model = travel_model(server.wire_format, client=client)
        return await travel_async(server, model, streamed=streamed)
    finally:
        await (client.aclose() if hasattr(client, "aclose") else client.close())


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("under_asyncio", [False, True], ids=["blocking", "asyncio"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_example_through_a_client_is_the_example_through_our_own_transport(
    dialect: str, *, under_asyncio: bool, streamed: bool
) -> None:
    theirs, ours = travel_server(dialect), travel_server(dialect)
    if under_asyncio:
        replies = asyncio.run(through_async_client(theirs, streamed=streamed))
    else:
        replies = through_client(theirs, streamed=streamed)
    expected = travel(ours, own(ours), streamed=streamed)
    assert theirs.refusals == ours.refusals == []
    assert [request.body for request in theirs.requests] == [
        request.body for request in ours.requests
    ]
    assert [request.path for request in theirs.requests] == [
        request.path for request in ours.requests
    ]
    assert len(theirs.requests) == 3
    for reply, other in zip(replies, expected, strict=True):
        assert reply.text == other.text
        assert reply.tool_calls == other.tool_calls
        assert reply.thought_signatures == other.thought_signatures
