"""The Gemini guide's three-turn travel example: its provider as a server, and its caller's words.

Weather twice and flights; hotels; two bookings. The bodies are in `tests/data/travel`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hansard import AsyncChat, Chat, models, user
from hansard.testing.wire_server import WireServer
from hansard.tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hansard import Reply
    from hansard.messages import ToolCall, ToolResult
    from hansard.models import Model
    from hansard.rawjson import JSONObject

__all__ = [
    "ASKED",
    "BOOKED",
    "DIALECTS",
    "SYSTEM",
    "answers_of",
    "options",
    "own",
    "travel",
    "travel_async",
    "travel_model",
    "travel_server",
    "travel_tools",
]

_DATA = Path(__file__).parents[1] / "data" / "travel"

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")
SYSTEM = "You are a helpful travel assistant."
ASKED = "I'm planning a trip. What's the weather in Tokyo and Paris? Also search for flights."
BOOKED = "Yes, book the JAL flight and Hotel Paris please."

_RESULTS: dict[str, object] = {
    "call_weather_tokyo": {"temperature": 12, "unit": "C", "conditions": "cloudy"},
    "call_weather_paris": {"temperature": 8, "unit": "C", "conditions": "rainy"},
    "call_flight_1": {
        "flights": [
            {"airline": "JAL", "price": 850, "departure": "10:00"},
            {"airline": "AirFrance", "price": 920, "departure": "14:30"},
        ]
    },
    "call_hotel_1": {
        "hotels": [
            {"name": "Hotel Paris", "price": 150, "rating": 4.5},
            {"name": "Le Marais Inn", "price": 200, "rating": 4.8},
        ]
    },
}
_FOLDERS = {
    "openai": "openai_chat",
    "openai-responses": "openai_responses",
    "anthropic": "anthropic",
    "gemini": "gemini/strict",
}


def travel_server(dialect: str) -> WireServer:
    """Play the provider, strictly: a request that is not the example's own is refused."""
    return WireServer.replay(dialect, _DATA / _FOLDERS[dialect])


def guide_server(*, strict: bool) -> WireServer:
    """Play Gemini as the guide has it, which signs thoughts and not calls."""
    return WireServer.replay("gemini", _DATA / "gemini" / "lenient", strict=strict)


def travel_model(dialect: str, **options: Any) -> Model:
    """The example's model, reached by ``base_url=`` or ``client=``, at the guide's temperature."""
    make, name = _MODELS[dialect]
    made: Model = make(name, temperature=0.7, **options)
    return made


_MODELS: dict[str, tuple[Any, str]] = {
    "openai": (models.openai, "travel-model"),
    "openai-responses": (models.openai_responses, "gpt-5-mini"),
    "anthropic": (models.anthropic, "claude-test-1"),
    "gemini": (models.gemini, "gemini-3-flash"),
}


def travel_tools(dialect: str) -> list[Tool]:
    """The example's two tools, whose calls the caller runs. Gemini's types are in capitals."""
    city: JSONObject = {"type": "string", "description": "City name"}
    route: dict[str, JSONObject] = {key: {"type": "string"} for key in ("from", "to", "date")}
    weather = _schema(dialect, {"city": city}, ["city"])
    flights = _schema(dialect, route, ["from", "to"])
    return [
        Tool("get_weather", "Get current weather for a city", weather),
        Tool("search_flights", "Search available flights", flights),
    ]


def _schema(dialect: str, fields: dict[str, JSONObject], required: list[str]) -> JSONObject:
    kinds = ("OBJECT", "STRING") if dialect == "gemini" else ("object", "string")
    return {
        "type": kinds[0],
        "properties": {name: {**field, "type": kinds[1]} for name, field in fields.items()},
        "required": [*required],
    }


def answers_of(calls: Iterable[ToolCall]) -> list[ToolResult]:
    """What the example's tools say to these calls."""
    return [call.answer(_RESULTS[call.id]) for call in calls]


# -- the caller -----------------------------------------------------------------------------------


def options(server: WireServer) -> dict[str, Any]:
    return {"tools": travel_tools(server.wire_format), "run_tools": False, "system": SYSTEM}


def own(server: WireServer) -> Model:
    """Give the model that reaches a server by our own transport."""
    return travel_model(server.wire_format, base_url=server.url, api_key="k", retries=0)


def next_said(replies: list[Reply]) -> list[Any]:
    """What the caller says next: a question, results, results and a wish."""
    if not replies:
        return [user(ASKED)]
    wish = [user(BOOKED)] if len(replies) == 2 else []
    return [*answers_of(replies[-1].tool_calls), *wish]


def travel(server: WireServer, model: Model, *, streamed: bool = False) -> list[Reply]:
    replies: list[Reply] = []
    with server, model:
        chat = Chat(model, **options(server))
        while len(replies) < 3:
            state = replies[-1].state if replies else None
            said = next_said(replies)
            if streamed:
                with chat.stream(state, *said) as stream:
                    list(stream)
                replies.append(stream.reply)
            else:
                replies.append(chat.send(state, *said))
    return replies


async def travel_async(server: WireServer, model: Model, *, streamed: bool = False) -> list[Reply]:
    replies: list[Reply] = []
    with server:
        async with model:
            chat = AsyncChat(model, **options(server))
            while len(replies) < 3:
                state = replies[-1].state if replies else None
                said = next_said(replies)
                if streamed:
                    async with chat.stream(state, *said) as stream:
                        _ = [part async for part in stream]
                    replies.append(stream.reply)
                else:
                    replies.append(await chat.send(state, *said))
    return replies
