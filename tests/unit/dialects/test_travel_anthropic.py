"""The travel example in Anthropic's words: three requests, made from what is stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from hansard import rawjson
from hansard.dialects.anthropic import Anthropic
from hansard.dialects.dialect import Ask, ToolSpec
from hansard.messages import system, user

if TYPE_CHECKING:
    from hansard.messages import Message
    from hansard.rawjson import JSON

TRAVEL = Path(__file__).parents[2] / "data" / "travel" / "anthropic"
DIALECT = Anthropic()

TOOLS = [
    ToolSpec(
        "get_weather",
        "Get current weather for a city",
        {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "City name"}},
            "required": ["city"],
        },
    ),
    ToolSpec(
        "search_flights",
        "Search available flights",
        {
            "type": "object",
            "properties": {
                "from": {"type": "string"},
                "to": {"type": "string"},
                "date": {"type": "string"},
            },
            "required": ["from", "to"],
        },
    ),
]

RESULTS: dict[str, JSON] = {
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


def ask(stored: list[bytes]) -> bytes:
    request = DIALECT.request(
        Ask(
            "claude-test-1",
            stored,
            system=[system("You are a helpful travel assistant.")],
            tools=TOOLS,
            parameters={"temperature": 0.7},
        )
    )
    return request.body


def answer(turn: int) -> Message:
    found = DIALECT.parse((TRAVEL / f"answer_{turn}.json").read_bytes())
    assert found.valid
    assert found.raw is not None
    return DIALECT.message(found.raw)


def results(message: Message, *then: bytes) -> tuple[bytes, ...]:
    fragments = [DIALECT.result(call, call.answer(RESULTS[call.id])) for call in message.tool_calls]
    return DIALECT.frame(fragments, then)


def test_the_three_requests_are_those_of_the_guide() -> None:
    """Built from stored messages alone, with every earlier answer replayed whole."""
    (asked,) = DIALECT.say(
        user("I'm planning a trip. What's the weather in Tokyo and Paris? Also search for flights.")
    )
    (confirmed,) = DIALECT.say(user("Yes, book the JAL flight and Hotel Paris please."))
    stored = [asked.raw]
    bodies = [ask(stored)]
    for turn, then in ((1, ()), (2, (confirmed.raw,))):
        message = answer(turn)
        stored += [message.raw, *results(message, *then)]
        bodies.append(ask(stored))

    for turn, body in enumerate(bodies, 1):
        expected = (TRAVEL / f"request_{turn}.json").read_bytes()
        assert json.loads(body) == json.loads(expected)
        messages = rawjson.fields(rawjson.compact(expected))["messages"]
        assert body.endswith(b'"messages":' + messages + b"}")
    assert [call.name for call in answer(3).tool_calls] == ["book_flight", "book_hotel"]


def test_thoughts_and_parallel_calls_can_be_seen_on_the_way() -> None:
    """The guide's accessors, on what was stored."""
    first = answer(1)
    assert first.thought_signatures == ("sig_abc123_thought1",)
    assert first.thought_text.startswith("User wants weather for two cities")
    assert first.text == ""
    assert [call.id for call in first.tool_calls] == [
        "call_weather_tokyo",
        "call_weather_paris",
        "call_flight_1",
    ]
    assert DIALECT.paired(first.tool_calls, results(first))
    assert answer(2).text.startswith("Tokyo is 12°C and cloudy.")
