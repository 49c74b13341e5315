"""What `Chat` says in all kinds of conversations, strict servers of every format take."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hansard import Chat, event, image, models, system, tool, user
from hansard.testing import WireServer, blocked, call, cut_after, empty, forever, say
from hansard.testing.wire_rules import RULEBOOKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hansard import Reply
    from hansard.state import State
    from hansard.testing.script import Play

MAKERS: dict[str, Any] = {
    "openai": models.openai,
    "openai-responses": models.openai_responses,
    "anthropic": models.anthropic,
    "gemini": models.gemini,
}
LOOKS = (call("look", at="a"), call("look", at="bad"))


@tool
def look(at: str) -> str:
    """Look at something."""
    if at == "bad":
        raise ValueError(at)
    return f"{at} is there"


@dataclass
class City:
    name: str


@pytest.fixture(params=RULEBOOKS)
def wire_format(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@contextmanager
def chat(server: WireServer, **options: Any) -> Iterator[Chat]:
    make = MAKERS[server.wire_format]
    with make("test-1", base_url=server.url, api_key="k", retries=0) as model:
        yield Chat(model, tools=[look], **options)


def say_it(talking: Chat, state: bytes | None, *said: Any, stream: bool) -> Reply:
    if not stream:
        return talking.send(state, *said)
    with talking.stream(state, *said) as streaming:
        list(streaming)
    return streaming.reply


def converse(server: WireServer, *, stream: bool) -> State:
    """Hold a long conversation with all that can be said in one."""
    with chat(server) as talking:
        reply = say_it(talking, None, system("Be terse."), user("One."), stream=stream)
        said = [user("Two."), system("Be kind."), user("Three.")]
        reply = say_it(talking, reply.state, *said, stream=stream)
        state = talking.append(reply.state, event("It rains."))
        seen = user("Four.", image(b"\x89PNG", "image/png"))
        return say_it(talking, state, seen, stream=stream).state


def answers() -> list[Play]:
    thoughtful = say("Hi.", thoughts="Hm.", calls=LOOKS, signature="c2ln")
    unknown = say(calls=[call("nobody_knows")], extra={"zz": [1]})
    return [thoughtful, say(calls=LOOKS[:1]), say("Done.", thoughts="Ha."), unknown, forever("Ok.")]


@pytest.mark.parametrize("stream", [False, True])
def test_a_long_conversation_is_taken(wire_format: str, *, stream: bool) -> None:
    with WireServer(wire_format, *answers()) as server:
        converse(server, stream=stream)
    assert server.refusals == []
    assert len(server.requests) == 6


@pytest.mark.parametrize("other", RULEBOOKS)
def test_a_conversation_carried_to_another_provider_is_taken(wire_format: str, other: str) -> None:
    with WireServer(wire_format, *answers()) as server:
        state = converse(server, stream=False)
    with WireServer(other) as server, chat(server, convert=True) as talking:
        assert talking.send(state, user("Go on.")).text == "OK"
    assert server.refusals == []


TROUBLE = {
    "thoughts alone": say(thoughts="Hm.", finish="length", signature="c2ln"),
    "too long": say("Hi", finish="length"),
    "nothing": empty(),
    "blocked": blocked(),
    "half a call": say(calls=[call("look", arguments='{"at": "a')], finish="length"),
    "half a stream": cut_after(say("Hi.", thoughts="Hm.", calls=LOOKS), chunks=5),
}


@pytest.mark.parametrize("answer", TROUBLE.values(), ids=TROUBLE)
def test_what_follows_an_answer_in_trouble_is_taken(wire_format: str, answer: Play) -> None:
    stream = answer.is_cut
    with WireServer(wire_format, answer, forever("OK")) as server, chat(server) as talking:
        reply = say_it(talking, None, user("One."), stream=stream)
        assert say_it(talking, reply.state, user("Two."), stream=stream).text == "OK"
    assert server.refusals == []


def _append_to_pending(talking: Chat) -> None:
    reply = talking.send(None, user("One."), run_tools=False)
    state = talking.append(reply.state, event("It rains."), system("Be kind."))
    results = [made.answer("there") for made in reply.tool_calls]
    reply = talking.send_tool_results(state, results, user("Two."))
    talking.send(reply.state, user("Three."))


def _abandon(talking: Chat) -> None:
    reply = talking.send(None, user("One."), run_tools=False)
    talking.send(talking.abandon(reply.state), user("Two."))


def _begin_by_appending(talking: Chat) -> None:
    talking.send(talking.append(None, system("Be kind.")), user("One."))


@pytest.mark.parametrize("way", [_append_to_pending, _abandon, _begin_by_appending])
def test_odd_ways_through_a_conversation_are_taken(
    wire_format: str, way: Callable[[Chat], None]
) -> None:
    looks = say("Hi.", thoughts="Hm.", calls=LOOKS)
    with WireServer(wire_format, looks, forever("OK")) as server, chat(server) as talking:
        way(talking)
    assert server.refusals == []
    assert len(server.requests) > 1


@pytest.mark.parametrize("choice", ["auto", "required", "none", "look"])
def test_every_tool_choice_is_taken(wire_format: str, choice: str) -> None:
    with WireServer(wire_format) as server, chat(server) as talking:
        talking.send(None, user("One."), tool_choice=choice)
    assert server.refusals == []


def test_asking_for_a_type_is_taken(wire_format: str) -> None:
    with WireServer(wire_format, '{"name": "Tokyo"}') as server, chat(server) as talking:
        assert talking.send(None, user("Where?"), output=City).output == City("Tokyo")
    assert server.refusals == []
