"""What goaitools promises of a conversation, kept here."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard import (
    ModelCalled,
    ToolContext,
    ToolError,
    ToolRan,
    TooManyRounds,
    TurnEnded,
    event,
    system,
    tool,
    user,
)
from hansard.dialects.events import TextDelta
from hansard.testing import ScriptedModel, call, forever, say
from tests.support.wired import DIALECTS

if TYPE_CHECKING:
    from tests.support.talkers import Talkers


@tool(policy="reads")
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"clear in {city}"


def weather(**options: Any) -> Any:
    return say(calls=[call("get_weather", city="Rome")], **options)


def said(model: ScriptedModel, number: int = -1) -> list[tuple[str, str]]:
    """Give what a request said, as roles and texts."""
    return [(message.role, message.text) for message in model.requests[number].messages]


# -- one call ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_call_takes_a_state_and_gives_a_text_and_a_state(talker: Talkers, dialect: str) -> None:
    """A.state_in_and_out: what the next call needs to know is the state, and nothing else is."""
    first = talker(ScriptedModel("Good day.", dialect=dialect)).send(None, user("Hello"))
    model = ScriptedModel("Harrogate.", dialect=dialect)
    second = talker(model).send(first.state, user("Where am I?"))
    assert (first.text, second.text) == ("Good day.", "Harrogate.")
    assert said(model) == [("user", "Hello"), ("assistant", "Good day."), ("user", "Where am I?")]
    assert second.state != first.state


@pytest.mark.parametrize("nothing", [None, b""], ids=["None", "empty"])
def test_without_a_state_a_call_stands_alone(talker: Talkers, nothing: bytes | None) -> None:
    """A.no_state: with no state it is a single chat, which knows of no other."""
    model = ScriptedModel("One.", "Two.")
    chat = talker(model)
    chat.send(nothing, user("1?"))
    reply = chat.send(nothing, user("2?"))
    assert reply.text == "Two."
    assert reply.rejected is None
    assert said(model) == [("user", "2?")]


def test_what_a_call_is_given_is_for_that_call(talker: Talkers) -> None:
    """A.options_per_call: tools, listeners and parameters go with a call, and end with it."""
    told: list[Any] = []
    model = ScriptedModel("One.", "Two.")
    chat = talker(model)
    state = chat.send(
        None, "1?", tools=[get_weather], observers=[told.append], temperature=0.5
    ).state
    count = len(told)
    chat.send(state, "2?")
    assert [request.tools for request in model.requests] == [("get_weather",), ()]
    assert [request.json.get("temperature") for request in model.requests] == [0.5, None]
    assert count == len(told) > 0


def test_nothing_is_left_out_unless_somebody_asks_for_it(talker: Talkers) -> None:
    """A.keeps_everything: without a compactor every message of every turn is sent."""
    model = ScriptedModel(forever("Yes."))
    chat = talker(model)
    state = None
    for number in range(40):
        state = chat.send(state, f"Question {number}").state
    expected = [text for number in range(39) for text in (f"Question {number}", "Yes.")]
    assert [text for _, text in said(model)] == [*expected, "Question 39"]


# -- the order of what is sent ----------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_leading_system_text_then_what_is_stored_then_the_rest(
    talker: Talkers, dialect: str
) -> None:
    """A.sent_order: leading system messages, the stored messages, the other messages."""
    model = ScriptedModel("One.", "Two.", dialect=dialect)
    chat = talker(model)
    first = chat.send(None, system("Old."), user("1?"))
    chat.send(first.state, system("Be terse."), system("It rains."), event("Now."), user("2?"))
    assert model.requests[1].system == "Be terse.\n\nIt rains."
    assert [text for _, text in said(model)] == ["1?", "One.", "Now.", "2?"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_leading_system_text_is_not_saved(talker: Talkers, dialect: str) -> None:
    """A.leading_not_saved: the state has the conversation, and no leading system message."""
    model = ScriptedModel("One.", "Two.", dialect=dialect)
    chat = talker(model)
    state = chat.send(None, system("Be terse."), user("1?")).state
    assert b"terse" not in bytes(state)
    chat.send(state, user("2?"))
    assert b"terse" in model.requests[0].body
    assert b"terse" not in model.requests[1].body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_leading_system_text_is_given_afresh_each_time(talker: Talkers, dialect: str) -> None:
    """A.leading_afresh: each call says its own, changed or not, and it stands there once."""
    model = ScriptedModel(forever("Yes."), dialect=dialect)
    chat = talker(model)
    state = None
    for day in ("Monday", "Tuesday", "Tuesday"):
        state = chat.send(state, system(f"It is {day}."), user("What day is it?")).state
    assert [request.system for request in model.requests] == [
        "It is Monday.",
        "It is Tuesday.",
        "It is Tuesday.",
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_later_system_messages_are_kept_where_they_stand(talker: Talkers, dialect: str) -> None:
    """A.later_system_kept: after any other message a system message is stored, in its place."""
    model = ScriptedModel("One.", "Two.", dialect=dialect)
    chat = talker(model)
    first = chat.send(None, user("1?"), system("User completed task X"), user("And?"))
    chat.send(first.state, user("2?"))
    texts = [text for _, text in said(model)]
    places = [next(at for at, text in enumerate(texts) if word in text) for word in ORDER]
    assert places == sorted(set(places))
    assert model.requests[1].system == ""


ORDER = ("1?", "task X", "And?", "One.", "2?")


# -- without the model ------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_messages_are_added_without_asking_the_model(talker: Talkers, dialect: str) -> None:
    """A.append: messages are put on the state with no call of the model, which sees them next."""
    model = ScriptedModel("Good day.", "At the theatre.", dialect=dialect)
    chat = talker(model)
    state = chat.send(None, "Hello").state
    longer = chat.append(state, user("I am at the theatre."), user("It rains."))
    assert len(model.requests) == 1
    chat.send(longer, "Where am I?")
    texts = [text for _, text in said(model)]
    assert texts == ["Hello", "Good day.", "I am at the theatre.", "It rains.", "Where am I?"]


def test_messages_are_added_to_nothing(talker: Talkers) -> None:
    """A.append_to_nothing: adding works on an empty state, and begins the conversation."""
    model = ScriptedModel("In Rome.")
    chat = talker(model)
    chat.send(chat.append(chat.append(None, event("User landed.")), event("In Rome.")), "Where?")
    assert [text for _, text in said(model)] == ["User landed.", "In Rome.", "Where?"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_events_are_stored_in_the_users_role(talker: Talkers, dialect: str) -> None:
    """A.event: what happened is told to the model as the user's words."""
    model = ScriptedModel("Good day.", "Harrogate.", dialect=dialect)
    chat = talker(model)
    state = chat.append(chat.send(None, "Hello").state, event("User visited Harrogate Theatre"))
    chat.send(state, "Where was I?")
    assert ("user", "User visited Harrogate Theatre") in said(model)


# -- tools ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_turn_has_at_most_ten_calls_of_the_model(talker: Talkers, dialect: str) -> None:
    """A.rounds_default: ten model calls are made, and an eleventh is not."""
    enough = ScriptedModel(*[weather()] * 9, "Clear.", dialect=dialect)
    assert talker(enough, tools=[get_weather]).send(None, "Weather?").text == "Clear."
    endless = ScriptedModel(forever(weather()), dialect=dialect)
    with pytest.raises(TooManyRounds):
        talker(endless, tools=[get_weather]).send(None, "Weather?")
    assert len(endless.requests) == 10


def test_the_limit_is_set_for_a_chat_and_for_a_call(talker: Talkers) -> None:
    """A.rounds_settable: the call's limit counts before the chat's, the chat's before ten."""
    model = ScriptedModel(forever(weather()))
    chat = talker(model, tools=[get_weather], max_rounds=3)
    counts = []
    for given in ({}, {"max_rounds": 2}, {"max_rounds": 12}):
        model.requests.clear()
        with pytest.raises(TooManyRounds):
            chat.send(None, "Weather?", **given)
        counts.append(len(model.requests))
    assert counts == [3, 2, 12]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_unknown_tool_is_told_to_the_model(talker: Talkers, dialect: str) -> None:
    """A.unknown_tool: the model is told "Error: tool not found", and the turn goes on."""
    model = ScriptedModel(say(calls=[call("nope")]), "I see.", dialect=dialect)
    assert talker(model, tools=[get_weather]).send(None, "Go!").text == "I see."
    [result] = model.requests[1].results
    assert result.text.startswith("Error: tool not found")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_tools_error_is_its_result(talker: Talkers, dialect: str) -> None:
    """A.tool_error: what a tool raises is told to the model, and the other tools still run."""

    def broken() -> str:
        """Fail."""
        raise OSError("db down")

    def refusing() -> str:
        """Refuse."""
        raise ToolError("bad city")

    calls = [call("broken"), call("refusing"), call("get_weather", city="Rome")]
    model = ScriptedModel(say(calls=calls), "I see.", dialect=dialect)
    chat = talker(model, tools=[broken, refusing, get_weather])
    assert chat.send(None, "Go!").text == "I see."
    texts = [result.text for result in model.requests[1].results]
    assert [word in text for word, text in zip(TOLD, texts, strict=True)] == [True] * 3


TOLD = ("db down", "bad city", "clear in Rome")


# -- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_messages_are_read_through_one_interface(talker: Talkers, dialect: str) -> None:
    """A.reading: role, text, tool calls and the answered call's id are read alike everywhere."""
    first = say(calls=[call("get_weather", id="call_1", city="Rome")])
    model = ScriptedModel(first, "Clear.", dialect=dialect)
    talker(model, tools=[get_weather]).send(None, "Weather?")
    asked, calling, answered = model.requests[1].messages
    assert [message.role for message in (asked, calling, answered)] == ["user", "assistant", "tool"]
    assert asked.text == "Weather?"
    [made] = calling.tool_calls
    assert (made.id, made.name, made.parsed) == ("call_1", "get_weather", {"city": "Rome"})
    assert answered.tool_call_id == "call_1"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_backend_makes_and_takes_its_own_messages(dialect: str) -> None:
    """A.factories: a dialect makes system, user and tool messages, and reads them back as bytes."""
    spoken = hansard.dialect(dialect)
    calling = hansard.ToolCall("call_1", "get_weather", "{}")
    results = spoken.frame([spoken.result(calling, calling.answer("clear"))])
    made = [
        *spoken.say(system("Be terse.")),
        *spoken.say(user("Hello")),
        *[spoken.message(raw) for raw in results],
    ]
    assert ["terse" in made[0].text, made[1].text, made[2].tool_results[0].text] == [
        True,
        "Hello",
        "clear",
    ]
    assert made[1].role == "user"
    assert made[2].tool_call_id == "call_1"
    assert [spoken.message(message.raw) for message in made] == made


# -- who listens ------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_observer_hears_of_each_call_of_the_model(talker: Talkers, dialect: str) -> None:
    """A.observer: usage and message count are told after each model call, before the next."""
    heard: list[ModelCalled] = []

    def observe(step: Any) -> None:
        if isinstance(step, ModelCalled):
            heard.append(step)

    def second(_: object) -> str:
        assert len(heard) == 1
        return "Clear."

    first = weather(usage=hansard.Usage(input_tokens=100, output_tokens=7))
    model = ScriptedModel(first, second, dialect=dialect)
    talker(model, tools=[get_weather], observers=[observe]).send(None, "Weather?")
    assert [step.messages for step in heard] == [1, 3]
    assert heard[0].usage is not None
    assert (heard[0].usage.input_tokens, heard[0].usage.output_tokens) == (100, 7)


def test_telemetry_hears_of_every_step_and_of_no_content(talker: Talkers) -> None:
    """A.telemetry: hooks are told of model calls, tools and turns, in numbers and names alone."""
    heard: list[Any] = []
    model = ScriptedModel(weather(), "secretly clear")
    talker(model, tools=[get_weather], observers=[heard.append]).send(None, "secret?")
    assert [type(step) for step in heard] == [ModelCalled, ToolRan, ModelCalled, TurnEnded]
    assert [step.duration_s >= 0 for step in heard] == [True] * 4
    assert (heard[1].name, heard[1].status, heard[3].status) == ("get_weather", "ok", "done")
    assert heard[3].usage == heard[0].usage + heard[2].usage
    assert "secret" not in repr(heard)
    assert "clear" not in repr(heard)


def test_the_system_log_is_told_of_trouble(
    talker: Talkers, caplog: pytest.LogCaptureFixture
) -> None:
    """A.system_log: a state that is set aside is logged as an error, by its code alone."""
    secret = b'{"version":1,"provider":"other","messages":["my secret"]}'
    with caplog.at_level(logging.DEBUG):
        talker(ScriptedModel("Yes.")).send(secret, "Hello")
    [logged] = [record for record in caplog.records if record.name == "hansard"]
    assert logged.levelno == logging.ERROR
    assert "corrupt_message" in logged.getMessage()
    assert "secret" not in caplog.text


def create(name: str, context: ToolContext) -> str:
    """Create a place."""
    context.log(f"Created place {name}")
    context.log({"kind": "place", "name": name})
    return "ok"


def test_people_are_told_what_tools_did(talker: Talkers) -> None:
    """A.tool_log: what tools report for people comes as they do it, and is not for the model."""
    heard: list[Any] = []

    def second(request: Any) -> str:
        assert len(heard) == 2
        assert b"Created place" not in request.body
        return "Done."

    model = ScriptedModel(say(calls=[call("create", name="X")]), second)
    talker(model, tools=[create]).send(None, "Create X", on_action=heard.append)
    assert heard == ["Created place X", {"kind": "place", "name": "X"}]


def test_what_tools_did_is_collected_and_can_be_told_again(talker: Talkers) -> None:
    """A.tool_log_replay: a reply has the actions of all its rounds, in order, to tell again."""
    heard: list[Any] = []
    rounds = [say(calls=[call("create", name=name)]) for name in ("X", "Y")]
    model = ScriptedModel(*rounds, "Done.")
    reply = talker(model, tools=[create], on_action=heard.append).send(None, "Create X and Y")
    assert list(reply.actions) == heard
    assert [action for action in reply.actions if isinstance(action, str)] == [
        "Created place X",
        "Created place Y",
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_figures_are_the_providers_own(talker: Talkers, dialect: str) -> None:
    """A.token_usage: what a turn cost is what the provider reported, call by call and summed."""
    usage = hansard.Usage(input_tokens=1_000, output_tokens=20)
    model = ScriptedModel(weather(usage=usage), say("Clear.", usage=usage), dialect=dialect)
    reply = talker(model, tools=[get_weather]).send(None, "Weather?")
    assert [each.input_tokens for each in reply.usages] == [1_000, 1_000]
    assert reply.usage.total_tokens == 2_040
    assert reply.record.tokens == 1_020


# -- designed there, and never built ----------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_has_the_state_at_its_end(plain_talker: Talkers, dialect: str) -> None:
    """A.streaming: the text comes in pieces, and when all have come the state is there."""
    model = ScriptedModel("In Harrogate, sir.", "Yes.", dialect=dialect)
    chat = plain_talker(model)
    with chat.stream(None, "Where am I?") as stream:
        pieces = [part.text for part in stream if isinstance(part, TextDelta)]
    assert len(pieces) > 1
    assert "".join(pieces) == stream.reply.text == "In Harrogate, sir."
    chat.send(stream.reply.state, "Really?")
    assert said(model)[1] == ("assistant", "In Harrogate, sir.")
