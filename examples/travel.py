"""A trip planned in three steps, in which no tool is run for you: you have the calls, and answer.

It is the example of Gemini's guide to conversations, in any dialect. The model asks for the weather
in two cities and for flights, all at once; then, beside what it says, for hotels; then it books.
You send the results back, with what the user has said meanwhile. Which result belongs to which
call, in which shape and place, and that signatures go back with their calls, is no concern of
yours.

Run it with the name of a model (``gemini:gemini-3-flash``), or with that of a dialect
(``gemini``, ``openai``, ``openai-responses``, ``anthropic``) for a script in it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import hansard
from hansard import Chat, Model, user
from hansard.testing import ScriptedModel, call, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard import Reply, ToolCall

SYSTEM = "You are a helpful travel assistant."
ASKED = "I'm planning a trip. What's the weather in Tokyo and Paris? Also search for flights."
CHOSEN = "Yes, book the JAL flight and Hotel Paris please."


def get_weather(city: str) -> dict[str, object]:
    """Get current weather for a city."""
    celsius, conditions = {"Tokyo": (12, "cloudy"), "Paris": (8, "rainy")}.get(city, (15, "fair"))
    return {"temperature": celsius, "unit": "C", "conditions": conditions}


def search_flights(origin: str, destination: str) -> list[dict[str, object]]:
    """Search available flights."""
    route = f"{origin}-{destination}"
    return [
        {"route": route, "airline": "JAL", "departure": "10:00", "price": 850},
        {"route": route, "airline": "AirFrance", "departure": "14:30", "price": 920},
    ]


def search_hotels(city: str, nights: int) -> list[dict[str, object]]:
    """Search available hotels."""
    return [{"name": f"Hotel {city}", "price": 150 * nights}, {"name": "Le Marais Inn"}]


def book_flight(airline: str, departure: str) -> str:
    """Book a flight."""
    return f"Booked: {airline} at {departure}."


def book_hotel(name: str, nights: int) -> str:
    """Book a hotel."""
    return f"Booked: {name}, {nights} nights."


TOOLS: dict[str, Callable[..., object]] = {
    "get_weather": get_weather,
    "search_flights": search_flights,
    "search_hotels": search_hotels,
    "book_flight": book_flight,
    "book_hotel": book_hotel,
}


def run(call: ToolCall) -> object:
    """Do what a call asks for, or let a browser, a queue or a person do it."""
    arguments: Any = call.parsed
    return TOOLS[call.name](**arguments)


def answer(chat: Chat, reply: Reply, *said: str) -> Reply:
    """Answer the calls of a reply, and say something beside it."""
    if not reply.tool_calls and not said:
        return reply
    results = []
    for wanted in reply.tool_calls:
        found = run(wanted)
        print(f"  {wanted.name}{wanted.arguments} → {found}")
        results.append(wanted.answer(found))
    for text in said:
        print(f"> {text}")
    reply = chat.send(reply.state, *results, *map(user, said))
    print(reply.text or "  …")
    return reply


def main(model: str | Model) -> Reply:
    """Plan the trip."""
    with Chat(model, system=SYSTEM, tools=[*TOOLS.values()], run_tools=False) as chat:
        print(f"> {ASKED}")
        reply = chat.send(None, user(ASKED))
        reply = answer(chat, reply)
        reply = answer(chat, reply, CHOSEN)
        while reply.tool_calls:
            reply = answer(chat, reply)
    return reply


SCRIPT = (
    say(
        thoughts="They want the weather in two cities, and flights.",
        calls=[
            call("get_weather", city="Tokyo"),
            call("get_weather", city="Paris"),
            call("search_flights", origin="Tokyo", destination="Paris"),
        ],
        signature="c2lnX2FiYzEyM19zdGVwMQ==",
    ),
    say(
        "Tokyo is 12 °C and cloudy, Paris is 8 °C and rainy. Shall I book JAL at 10:00 for $850?",
        calls=[call("search_hotels", city="Paris", nights=3)],
        signature="c2lnX2RlZjQ1Nl9zdGVwMg==",
    ),
    say(
        calls=[
            call("book_flight", airline="JAL", departure="10:00"),
            call("book_hotel", name="Hotel Paris", nights=3),
        ],
        signature="c2lnX2doaTc4OV9zdGVwMw==",
    ),
    "Both are booked. Have a good trip!",
)

if __name__ == "__main__":
    given = sys.argv[1] if sys.argv[1:] else "gemini"
    main(ScriptedModel(*SCRIPT, dialect=given) if given in hansard.dialects() else given)
