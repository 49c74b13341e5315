"""A model: made when it is first called, shared by threads, closed and used again."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hansard import models
from hansard.errors import Invalid
from tests.support.http_server import serving
from tests.unit.models.asking import request_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.http_server import HttpServer


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serving() as server:
        yield server


def test_nothing_is_connected_before_the_first_call(server: HttpServer) -> None:
    with models.openai("m-1", base_url=server.url) as model:
        assert "not yet made" in repr(model.transport)
        model.blocking()
        assert server.connections == 0
        model.blocking().send(request_to(model))
        assert server.connections == 1


def test_a_closed_model_connects_anew(server: HttpServer) -> None:
    model = models.openai("m-1", base_url=server.url)
    for _ in range(2):
        with model:
            assert model.blocking().send(request_to(model)) == b"{}"
            server.await_request()
        server.await_leaving()
        model.close()
    assert server.connections == 2


def test_a_closed_model_connects_anew_under_asyncio(server: HttpServer) -> None:
    model = models.openai("m-1", base_url=server.url)

    async def ask_twice() -> None:
        for _ in range(2):
            async with model:
                assert await model.asyncio().send(request_to(model)) == b"{}"
            await model.aclose()

    asyncio.run(ask_twice())
    assert server.connections == 2


def test_aclose_lets_go_of_blocking_connections_too(server: HttpServer) -> None:
    model = models.openai("m-1", base_url=server.url)
    model.blocking().send(request_to(model))
    asyncio.run(model.aclose())
    server.await_leaving()


def test_a_stream_goes_through_both_sides(server: HttpServer) -> None:
    model = models.openai("m-1", base_url=server.url)
    with model, model.blocking().stream(request_to(model)) as pieces:
        assert b"".join(pieces) == b"{}"

    async def streamed() -> bytes:
        async with model, model.asyncio().stream(request_to(model)) as pieces:
            return b"".join([piece async for piece in pieces])

    assert asyncio.run(streamed()) == b"{}"


def test_threads_share_one_transport(server: HttpServer) -> None:
    with models.openai("m-1", base_url=server.url) as model, ThreadPoolExecutor(8) as pool:
        asked = [request_to(model)] * 16
        assert list(pool.map(model.blocking().send, asked)) == [b"{}"] * 16
        assert server.connections <= 8


def test_a_model_that_has_one_side_says_what_to_do_for_the_other() -> None:
    model = models.openai("m-1", api_key="k")
    with pytest.raises(Invalid, match="use AsyncChat, or give it the provider's blocking client"):
        replace(model, transport=None).blocking()
    with pytest.raises(Invalid, match="use Chat, or give it the provider's async client"):
        replace(model, async_transport=None).asyncio()


def test_closing_what_was_never_called_is_harmless() -> None:
    model = models.openai("m-1")
    model.close()
    asyncio.run(model.aclose())
    replace(model, transport=None, async_transport=None).close()
