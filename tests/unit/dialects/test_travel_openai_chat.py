"""The guide's three-turn travel example, as a Chat Completions provider would tell it.

The thoughts are reasoning items, signed as OpenRouter passes them on. Results are messages of
their own, and what the user says beside them comes after. Earlier answers are replayed whole.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hansard import rawjson
from hansard.dialects.dialect import Ask, ToolSpec
from hansard.dialects.openai_chat import OpenAIChat
from hansard.messages import Draft, Message, system, user

TRAVEL = Path(__file__).parents[2] / "data" / "travel" / "openai_chat"
chat = OpenAIChat()

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
    return chat.request(
        Ask(
            "travel-model",
            messages,
            system=[system("You are a helpful travel assistant.")],
            tools=TOOLS,
            parameters={"temperature": 0.7},
        )
    ).body


def answer(turn: int) -> Message:
    found = chat.parse(wire(f"answer_{turn}"))
    assert found.valid
    assert found.raw is not None
    return Message(chat, found.raw)


def answered(message: Message) -> list[bytes]:
    return [chat.result(call, call.answer(RESULTS[call.id])) for call in message.tool_calls]


def tell() -> tuple[list[bytes], list[bytes]]:
    """Hold the conversation; give its three requests, and its messages at the end."""
    asked = "I'm planning a trip. What's the weather in Tokyo and Paris? Also search for flights."
    messages = [chat.say(user(asked))[0].raw]
    bodies = [ask(messages)]
    first = answer(1)
    messages += [first.raw, *chat.frame(answered(first))]
    bodies.append(ask(messages))
    second = answer(2)
    booked = chat.say(user("Yes, book the JAL flight and Hotel Paris please."))[0].raw
    messages += [second.raw, *chat.frame(answered(second), [booked])]
    bodies.append(ask(messages))
    return bodies, messages


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_each_request_is_the_one_on_the_wire(turn: int) -> None:
    assert json.loads(tell()[0][turn - 1]) == json.loads(wire(f"request_{turn}"))


def test_earlier_answers_go_back_as_the_bytes_they_came_in() -> None:
    bodies, messages = tell()
    for turn, body in ((1, bodies[1]), (1, bodies[2]), (2, bodies[2])):
        body_came = rawjson.fields(rawjson.compact(wire(f"answer_{turn}")))
        (choice,) = rawjson.elements(body_came["choices"])
        assert rawjson.fields(choice)["message"] in body
    assert bodies[2].endswith(b",".join(messages) + b"]}")


def test_each_request_begins_with_the_one_before() -> None:
    first, second, third = tell()[0]
    assert second.startswith(first.removesuffix(b"]}"))
    assert third.startswith(second.removesuffix(b"]}"))


def test_every_call_of_the_example_is_paired_with_its_result() -> None:
    _, messages = tell()
    for index in (1, 5):
        calls = Message(chat, messages[index]).tool_calls
        assert chat.paired(calls, messages[index + 1 :])
        assert not chat.paired(calls, messages[index + 2 :])


def test_the_views_of_the_first_answer_are_what_the_guide_shows() -> None:
    first = answer(1)
    assert first.text == ""
    assert first.thought_text.startswith("User wants weather for two cities")
    assert first.thought_signatures == ("sig_abc123_thought1",)
    assert [(call.id, call.parsed) for call in first.tool_calls] == [
        ("call_weather_tokyo", {"city": "Tokyo"}),
        ("call_weather_paris", {"city": "Paris"}),
        ("call_flight_1", {"from": "Tokyo", "to": "Paris", "date": "2024-01-15"}),
    ]


def test_text_and_calls_of_one_answer_are_both_seen() -> None:
    second = answer(2)
    assert second.text.startswith("Tokyo is 12°C and cloudy.")
    assert [call.name for call in second.tool_calls] == ["search_hotels"]


def test_an_answer_without_finish_reason_or_usage_is_valid() -> None:
    found = chat.parse(wire("answer_3"))
    assert found.valid
    assert (found.finish, found.usage) == (None, None)
    assert found.raw is not None
    calls = Message(chat, found.raw).tool_calls
    assert [call.name for call in calls] == ["book_flight", "book_hotel"]


def test_the_example_carried_to_a_server_of_another_maker_leaks_no_thought() -> None:
    _, messages = tell()
    carried: list[bytes] = []
    lost: list[str] = []
    for raw in messages:
        reading = chat.read(raw)
        composition = chat.compose(Draft(reading.role, reading.parts), foreign=True)
        carried += composition.messages
        lost += [loss.part for loss in composition.losses]
    assert lost == ["thought", "thought"]
    assert b"sig_" not in ask(carried)
    assert b"reasoning" not in ask(carried)
    assert chat.paired(Message(chat, carried[1]).tool_calls, carried[2:])
