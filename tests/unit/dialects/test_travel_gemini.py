"""The guide's three-turn travel example, in its own words.

What the guide abridges is written out in the data: earlier answers are replayed whole, and every
request says the same about system, tools and temperature. ``lenient`` signs the thoughts, as the
guide does; ``strict`` signs the first call of each step, as the newest models demand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hansard import rawjson
from hansard.dialects.dialect import Ask, ToolSpec
from hansard.dialects.gemini import Gemini
from hansard.messages import Draft, Message, system, user

TRAVEL = Path(__file__).parents[2] / "data" / "travel" / "gemini"
GEMINI = Gemini()

TOOLS = (
    ToolSpec(
        "get_weather",
        "Get current weather for a city",
        {
            "type": "OBJECT",
            "properties": {"city": {"type": "STRING", "description": "City name"}},
            "required": ["city"],
        },
    ),
    ToolSpec(
        "search_flights",
        "Search available flights",
        {
            "type": "OBJECT",
            "properties": {
                "from": {"type": "STRING"},
                "to": {"type": "STRING"},
                "date": {"type": "STRING"},
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


def wire(mode: str, name: str) -> bytes:
    return (TRAVEL / mode / name).read_bytes()


def ask(messages: list[bytes]) -> bytes:
    return GEMINI.request(
        Ask(
            "gemini-3-flash",
            messages,
            system=[system("You are a helpful travel assistant.")],
            tools=TOOLS,
            parameters={"temperature": 0.7},
        )
    ).body


def answer(mode: str, turn: int) -> Message:
    found = GEMINI.parse(wire(mode, f"answer_{turn}.json"))
    assert found.valid
    assert found.raw is not None
    return Message(GEMINI, found.raw)


def answered(message: Message) -> list[bytes]:
    return [GEMINI.result(call, call.answer(RESULTS[call.id])) for call in message.tool_calls]


def tell(mode: str) -> tuple[list[bytes], list[bytes]]:
    """Hold the conversation; give its three requests, and its messages at the end."""
    asked = "I'm planning a trip. What's the weather in Tokyo and Paris? Also search for flights."
    messages = [GEMINI.say(user(asked))[0].raw]
    bodies = [ask(messages)]
    first = answer(mode, 1)
    messages += [first.raw, *GEMINI.frame(answered(first))]
    bodies.append(ask(messages))
    second = answer(mode, 2)
    booked = GEMINI.say(user("Yes, book the JAL flight and Hotel Paris please."))[0].raw
    messages += [second.raw, *GEMINI.frame(answered(second), [booked])]
    bodies.append(ask(messages))
    return bodies, messages


@pytest.mark.parametrize("mode", ["lenient", "strict"])
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_each_request_is_the_one_on_the_wire(mode: str, turn: int) -> None:
    bodies, _ = tell(mode)
    assert json.loads(bodies[turn - 1]) == json.loads(wire(mode, f"request_{turn}.json"))


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_earlier_answers_go_back_as_the_bytes_they_came_in(mode: str) -> None:
    bodies, messages = tell(mode)
    for turn, body in ((1, bodies[1]), (1, bodies[2]), (2, bodies[2])):
        candidate = rawjson.elements(
            rawjson.fields(rawjson.compact(wire(mode, f"answer_{turn}.json")))["candidates"]
        )[0]
        assert rawjson.fields(candidate)["content"] in body
    assert all(message in bodies[2] for message in messages)


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_each_request_begins_with_the_one_before(mode: str) -> None:
    first, second, third = tell(mode)[0]
    assert second.startswith(first.removesuffix(b"]}"))
    assert third.startswith(second.removesuffix(b"]}"))


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_every_call_of_the_example_is_paired_with_its_result(mode: str) -> None:
    _, messages = tell(mode)
    for index in (1, 3):
        calls = Message(GEMINI, messages[index]).tool_calls
        assert GEMINI.paired(calls, messages[index + 1 :])
        assert not GEMINI.paired(calls, messages[index + 2 :])


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_the_views_of_the_first_answer_are_what_the_guide_shows(mode: str) -> None:
    first = answer(mode, 1)
    assert first.text == ""
    assert first.has_thoughts
    assert first.thought_text.startswith("User wants weather for two cities")
    assert [call.id for call in first.tool_calls] == [
        "call_weather_tokyo",
        "call_weather_paris",
        "call_flight_1",
    ]
    assert len(first.thought_signatures) == 1


@pytest.mark.parametrize("mode", ["lenient", "strict"])
def test_an_answer_without_finish_reason_or_usage_is_valid(mode: str) -> None:
    found = GEMINI.parse(wire(mode, "answer_3.json"))
    assert found.valid
    assert (found.finish, found.usage) == (None, None)


def unsigned_steps(body: bytes) -> list[int]:
    """Give the contents of the current turn whose first call a strict server would refuse."""
    contents: list[dict[str, Any]] = json.loads(body)["contents"]
    starts = [index for index, content in enumerate(contents) if says_something(content)]
    refused = []
    for index in range(starts[-1] + 1, len(contents)):
        calls = [part for part in contents[index]["parts"] if "functionCall" in part]
        if calls and "thoughtSignature" not in calls[0]:
            refused.append(index)
    return refused


def says_something(content: dict[str, Any]) -> bool:
    return content["role"] == "user" and "functionResponse" not in content["parts"][0]


def test_a_strict_server_takes_every_strict_request_and_refuses_the_guides() -> None:
    assert [unsigned_steps(body) for body in tell("strict")[0]] == [[], [], []]
    assert [unsigned_steps(body) for body in tell("lenient")[0]] == [[], [1], [1, 3]]


def test_the_example_carried_over_from_another_provider_passes_a_strict_server() -> None:
    _, messages = tell("lenient")
    carried: list[bytes] = []
    for raw in messages:
        reading = GEMINI.read(raw)
        carried += GEMINI.compose(Draft(reading.role, reading.parts), foreign=True).messages
    assert unsigned_steps(ask(carried)) == []
    assert b"sig_abc123" not in ask(carried)
    assert b'"thought"' not in ask(carried)
