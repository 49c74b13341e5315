"""The guide's three-turn travel example, told in items.

Reasoning is an item of its own here, signed by its encrypted content, so it makes no difference
whether a server looks for signatures on thoughts or on calls. Earlier answers go back whole.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from hansard import rawjson
from hansard.dialects.dialect import Ask, ToolSpec
from hansard.dialects.openai_responses import OpenAIResponses
from hansard.dialects.pairing import repair
from hansard.messages import Message, system, user

TRAVEL = Path(__file__).parents[2] / "data" / "travel" / "openai_responses"
RESPONSES = OpenAIResponses()

TOOLS = (
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
)

RESULTS: dict[str, object] = {
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


def wire(name: str) -> bytes:
    return (TRAVEL / f"{name}.json").read_bytes()


def ask(messages: list[bytes]) -> bytes:
    return RESPONSES.request(
        Ask(
            "gpt-5-mini",
            [RESPONSES.splice(message) for message in messages],
            [system("You are a helpful travel assistant.")],
            TOOLS,
            parameters={"temperature": 0.7},
        )
    ).body


def answer(turn: int) -> Message:
    found = RESPONSES.parse(wire(f"answer_{turn}"))
    assert found.valid
    assert found.raw is not None
    return Message(RESPONSES, found.raw)


def answered(message: Message) -> list[bytes]:
    return [RESPONSES.result(call, call.answer(RESULTS[call.id])) for call in message.tool_calls]


def tell() -> tuple[list[bytes], list[bytes]]:
    """Hold the conversation; give its three requests, and its messages at the end."""
    asked = "I'm planning a trip. What's the weather in Tokyo and Paris? Also search for flights."
    messages = [RESPONSES.say(user(asked))[0].raw]
    bodies = [ask(messages)]
    first = answer(1)
    messages += [first.raw, *RESPONSES.frame(answered(first))]
    bodies.append(ask(messages))
    second = answer(2)
    booked = RESPONSES.say(user("Yes, book the JAL flight and Hotel Paris please."))[0].raw
    messages += [second.raw, *RESPONSES.frame(answered(second), [booked])]
    bodies.append(ask(messages))
    return bodies, messages


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_each_request_is_the_one_on_the_wire(turn: int) -> None:
    body = tell()[0][turn - 1]
    assert json.loads(body) == json.loads(wire(f"request_{turn}"))
    assert rawjson.fields(body)["input"] in rawjson.compact(wire(f"request_{turn}"))


def test_earlier_answers_go_back_as_the_bytes_they_came_in() -> None:
    bodies, messages = tell()
    for turn, body in ((1, bodies[1]), (1, bodies[2]), (2, bodies[2])):
        output = rawjson.fields(rawjson.compact(wire(f"answer_{turn}")))["output"]
        assert output[1:-1] in body
    assert all(message[1:-1] in bodies[2] for message in messages)


def test_each_request_begins_with_the_one_before() -> None:
    for earlier, later in pairwise(tell()[0]):
        assert later.startswith(earlier.removesuffix(b"]}") + b",")


def test_every_call_of_the_example_is_paired_with_its_result() -> None:
    _, messages = tell()
    for at in (1, 3):
        calls = Message(RESPONSES, messages[at]).tool_calls
        assert RESPONSES.paired(calls, messages[at + 1 :])
        assert not RESPONSES.paired(calls, messages[at + 2 :])
    assert repair(RESPONSES, messages).repairs == ()


def test_nothing_of_the_example_is_cut_before_it_is_sent() -> None:
    assert all(RESPONSES.project(message) == message for message in tell()[1])


def test_the_views_of_the_first_answer_are_what_the_guide_shows() -> None:
    first = answer(1)
    assert first.text == ""
    assert first.has_thoughts
    assert first.thought_text.startswith("User wants weather for two cities")
    assert first.thought_signatures == ("sig_abc123_thought1",)
    assert [(call.id, call.parsed) for call in first.tool_calls] == [
        ("call_weather_tokyo", {"city": "Tokyo"}),
        ("call_weather_paris", {"city": "Paris"}),
        ("call_flight_1", {"from": "Tokyo", "to": "Paris", "date": "2024-01-15"}),
    ]


def test_the_second_answer_speaks_and_calls_at_once() -> None:
    second = answer(2)
    assert second.text.startswith("Tokyo is 12°C and cloudy.")
    assert [call.name for call in second.tool_calls] == ["search_hotels"]


def test_an_answer_without_usage_is_valid() -> None:
    found = RESPONSES.parse(wire("answer_3"))
    assert (found.valid, found.finish, found.usage) == (True, "tool_calls", None)
