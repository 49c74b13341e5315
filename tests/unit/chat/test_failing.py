"""What becomes of a turn when something goes wrong: nothing is lost, and it can go on."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    AnswerCut,
    ContextOverflow,
    HansardError,
    Invalid,
    InvalidAnswer,
    NotAuthorized,
    OutputMismatch,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
    ToolContext,
    Unreachable,
    tool,
)
from hansard.testing import (
    ScriptedModel,
    blocked,
    call,
    empty,
    fail,
    forever,
    overflow,
    raw,
    say,
    unreachable,
)

if TYPE_CHECKING:
    from hansard import State
    from tests.support.talkers import Talkers

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")


# -- the provider ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (fail(429), RateLimited),
        (fail(503), Overloaded),
        (fail(401), NotAuthorized),
        (unreachable(), Unreachable),
    ],
    ids=["429", "503", "401", "unreachable"],
)
def test_after_trouble_that_passes_the_turn_is_still_open(
    talker: Talkers, dialect: str, answer: Any, kind: type[ProviderError]
) -> None:
    model = ScriptedModel(answer, "Hello.", dialect=dialect)
    chat = talker(model)
    with pytest.raises(kind) as error:
        chat.send(None, "Hi")
    reply = chat.resume(error.value.state)
    assert reply.text == "Hello."
    assert [message.text for message in model.requests[1].messages] == ["Hi"]


def test_a_new_prompt_after_trouble_finishes_the_open_turn_first(talker: Talkers) -> None:
    model = ScriptedModel(fail(503), "One.", "Two.")
    chat = talker(model)
    with pytest.raises(Overloaded) as error:
        chat.send(None, "1?")
    reply = chat.send(error.value.state, "2?")
    assert reply.text == "Two."
    assert [message.text for message in model.requests[2].messages] == ["1?", "One.", "2?"]


def test_the_same_turn_id_after_trouble_goes_on_with_that_turn(talker: Talkers) -> None:
    model = ScriptedModel(fail(503), "One.")
    chat = talker(model)
    with pytest.raises(Overloaded) as error:
        chat.send(None, "1?", turn_id="a")
    assert chat.send(error.value.state, "1?", turn_id="a").text == "One."
    assert [message.text for message in model.requests[1].messages] == ["1?"]


def test_a_request_that_the_provider_refuses_ends_the_turn(talker: Talkers) -> None:
    model = ScriptedModel(fail(400), "Hello.")
    chat = talker(model)
    with pytest.raises(ProviderError) as error:
        chat.send(None, "Something refused")
    reply = chat.send(error.value.state, "Hi")
    assert reply.text == "Hello."
    assert [message.text for message in model.requests[1].messages] == ["Hi"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_conversation_that_is_too_long_says_so_and_is_not_lost(
    talker: Talkers, dialect: str
) -> None:
    model = ScriptedModel("One.", overflow(), "Two.", dialect=dialect)
    chat = talker(model)
    reply = chat.send(None, "1?")
    with pytest.raises(ContextOverflow) as error:
        chat.send(reply.state, "far too long")
    assert chat.send(error.value.state, "2?").text == "Two."
    assert [message.text for message in model.requests[2].messages] == ["1?", "One.", "2?"]


def test_a_request_that_nobody_can_make_leaves_the_conversation_as_it_was(
    talker: Talkers,
) -> None:
    chat = talker(ScriptedModel("One.", dialect="gemini"))
    reply = chat.send(None, "1?")
    with pytest.raises(Invalid) as error:
        chat.send(reply.state, "2?", contents=[])
    assert error.value.state == reply.state


def test_time_that_runs_out_is_told_and_the_turn_goes_on_later(talker: Talkers) -> None:
    import time

    def slow() -> str:
        """Take longer than there is."""
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            pass
        return "done"

    model = ScriptedModel(say(calls=[call("slow")]), "Done.")
    chat = talker(model, tools=[tool(slow, policy="reads")])
    with pytest.raises(TimedOut) as error:
        chat.send(None, "Go!", timeout_s=0.01)
    assert chat.resume(error.value.state).text == "Done."


# -- the answer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_invalid_answer_is_recorded_left_out_and_asked_for_again(
    talker: Talkers, dialect: str
) -> None:
    model = ScriptedModel(empty(), "Hello.", dialect=dialect)
    chat = talker(model)
    reply = chat.send(None, "Hi")
    assert reply.text == "Hello."
    assert model.requests[0].body == model.requests[1].body
    assert len(reply.usages) == 2


def test_invalid_answers_end_the_turn_after_so_many_tries(talker: Talkers) -> None:
    model = ScriptedModel(forever(empty()))
    chat = talker(model)
    reply = chat.send(None, "Hi")
    assert len(model.requests) == 3
    assert reply.problems == ("empty",)
    assert not reply.valid
    again = ScriptedModel("Hello.")
    talker(again).send(reply.state, "Anybody there?")
    assert [message.text for message in again.requests[0].messages] == ["Anybody there?"]


def test_how_often_to_try_can_be_set_and_survives_a_resume(talker: Talkers) -> None:
    model = ScriptedModel(empty(), fail(503), empty(), empty(), "Hello.")
    chat = talker(model, retries=1)
    with pytest.raises(Overloaded) as error:
        chat.send(None, "Hi")
    assert chat.resume(error.value.state).problems == ("empty",)
    assert len(model.requests) == 3


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_blocked_prompt_is_not_asked_again_and_leaves_the_conversation(
    talker: Talkers, dialect: str
) -> None:
    model = ScriptedModel(blocked(), "Hello.", dialect=dialect)
    chat = talker(model)
    reply = chat.send(None, "Something filtered")
    assert "blocked" in reply.problems
    assert len(model.requests) == 1
    chat.send(reply.state, "Hi")
    assert [message.text for message in model.requests[1].messages] == ["Hi"]


def test_strict_raises_for_an_invalid_answer(talker: Talkers) -> None:
    with pytest.raises(InvalidAnswer, match="empty") as error:
        talker(ScriptedModel(forever(empty()))).send(None, "Hi", strict=True)
    assert error.value.state is not None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_cut_by_its_length_is_marked_and_an_error_only_if_asked(
    talker: Talkers, dialect: str
) -> None:
    def model() -> ScriptedModel:
        return ScriptedModel(say("Once upon a", finish="length"), dialect=dialect)

    reply = talker(model()).send(None, "Tell me")
    assert (reply.finish_reason, reply.text, reply.valid) == ("length", "Once upon a", True)
    with pytest.raises(AnswerCut) as error:
        talker(model()).send(None, "Tell me", strict=True)
    assert error.value.text == "Once upon a"


def test_a_paused_turn_is_gone_on_with(talker: Talkers) -> None:
    model = ScriptedModel(say("Searching…", finish="paused"), "Found.", dialect="anthropic")
    reply = talker(model).send(None, "Search")
    assert reply.text == "Found."
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant"]


def test_a_body_that_is_no_answer_at_all_is_a_problem_and_not_a_crash(talker: Talkers) -> None:
    reply = talker(ScriptedModel(forever(raw(b"<html>busy</html>")))).send(None, "Hi")
    assert reply.problems
    assert reply.message is None
    assert reply.text == ""


# -- structured answers ---------------------------------------------------------------------------


@dataclass
class Place:
    """A place."""

    name: str
    stars: int


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_answer_can_be_of_a_type(talker: Talkers, dialect: str) -> None:
    model = ScriptedModel('{"name":"Betty\'s","stars":5}', dialect=dialect)
    reply = talker(model).send(None, "Where?", output=Place)
    assert reply.output == Place("Betty's", 5)
    assert b'"stars"' in model.requests[0].body


def test_an_answer_of_a_simple_type_is_asked_for_in_an_object(talker: Talkers) -> None:
    reply = talker(ScriptedModel('{"value":[1,2]}')).send(None, "Which?", output=list[int])
    assert reply.output == [1, 2]


def test_an_answer_that_is_not_of_the_type_is_an_error_with_its_text(talker: Talkers) -> None:
    reply = talker(ScriptedModel('{"name":"X","stars":"five"}')).send(None, "Where?", output=Place)
    with pytest.raises(OutputMismatch, match="stars") as error:
        _ = reply.output
    assert error.value.text == '{"name":"X","stars":"five"}'


def test_an_answer_for_which_no_type_was_asked_has_no_output(talker: Talkers) -> None:
    assert talker(ScriptedModel("Hi.")).send(None, "Hi").output is None


# -- a turn that is finished first ----------------------------------------------------------------


def test_what_a_call_asks_for_is_not_asked_of_the_turn_before(talker: Talkers) -> None:
    @tool
    def look() -> str:
        """Look."""
        return "a tree"

    model = ScriptedModel(
        unreachable(), "Earlier.", say(calls=[call("look")]), '{"name":"X","stars":1}'
    )
    chat = talker(model, tools=[look])
    with pytest.raises(Unreachable) as error:
        chat.send(None, "One")
    reply = chat.send(error.value.state, "Two", output=Place, tool_choice="required")
    _, finishing, asking, _ = [request.json for request in model.requests]
    assert "response_format" not in finishing
    assert "tool_choice" not in finishing
    assert asking["tool_choice"] == "required"
    assert "response_format" in asking
    assert reply.output == Place("X", 1)
    assert reply.earlier is not None
    assert (reply.earlier.text, reply.earlier.output) == ("Earlier.", None)


def test_what_tools_reported_is_told_with_the_turn_that_they_ran_for(talker: Talkers) -> None:
    @tool(policy="reads")
    def look(at: str, context: ToolContext) -> str:
        """Look."""
        context.log(f"looked at {at}")
        return "a tree"

    kept: list[State] = []

    def save(state: State) -> None:
        kept.append(state)
        if len(kept) == 2:
            raise OSError("disk full")

    model = ScriptedModel(
        say(calls=[call("look", at="one")]), "One.", say(calls=[call("look", at="two")]), "Two."
    )
    chat = talker(model, tools=[look])
    with pytest.raises(OSError, match="disk full"):
        chat.send(None, "One", checkpoint=save)
    reply = chat.send(kept[1], "Two")
    assert reply.earlier is not None
    assert reply.earlier.actions == ("looked at one",)
    assert reply.actions == ("looked at two",)


# -- who listens ----------------------------------------------------------------------------------


def test_a_checkpoint_is_given_a_state_wherever_something_must_be_durable(
    talker: Talkers,
) -> None:
    kept: list[State] = []

    @tool
    def book() -> str:
        """Book."""
        assert b'"book"' in bytes(kept[-1])
        return "booked"

    model = ScriptedModel(say(calls=[call("book")]), "Booked.")
    chat = talker(model, tools=[book])
    reply = chat.send(None, "Book", checkpoint=kept.append)
    lengths = [chat.load(state).length for state in kept]
    assert lengths == sorted(set(lengths))
    assert kept[-1] == reply.state


def test_a_plain_turn_is_made_durable_twice(talker: Talkers) -> None:
    kept: list[State] = []
    talker(ScriptedModel("Hi.")).send(None, "Hello", checkpoint=kept.append)
    assert len(kept) == 2


def test_a_checkpoint_that_fails_stops_the_turn_before_anything_is_done(
    talker: Talkers,
) -> None:
    def full(_: State) -> None:
        raise OSError("disk full")

    model = ScriptedModel("Hi.")
    with pytest.raises(OSError, match="disk full"):
        talker(model).send(None, "Hello", checkpoint=full)
    assert not model.requests


@dataclass(frozen=True)
class Frozen(Exception):
    """An error that takes nothing more."""

    code: int


class Located(Exception):
    """An error with a state of its own."""

    state = "Bavaria"


@pytest.mark.parametrize("raised", [Frozen(7), Located("there")])
def test_an_error_that_takes_no_state_is_raised_as_it_is(
    talker: Talkers, raised: Exception
) -> None:
    def failing(_: State) -> None:
        raise raised

    with pytest.raises(type(raised)) as error:
        talker(ScriptedModel("Hi.")).send(None, "Hello", checkpoint=failing)
    assert error.value is raised
    assert getattr(error.value, "state", "Bavaria") == "Bavaria"


def test_an_error_that_is_raised_again_has_the_state_of_the_last_turn_that_it_ended(
    talker: Talkers,
) -> None:
    full = OSError("disk full")

    def failing(_: State) -> None:
        raise full

    chat = talker(ScriptedModel(forever("Hi.")), checkpoint=failing)
    for prompt in ("One", "Two"):
        with pytest.raises(OSError, match="disk full"):
            chat.send(None, prompt)
        assert prompt.encode() in bytes(full.state)  # type: ignore[attr-defined]


def test_from_any_checkpoint_the_turn_comes_to_the_same_end(talker: Talkers) -> None:
    kept: list[State] = []

    @tool(policy="reads")
    def look() -> str:
        """Look."""
        return "a tree"

    def model() -> ScriptedModel:
        return ScriptedModel(
            lambda asked: "A tree." if asked.results else say(calls=[call("look", id="a")])
        )

    chat = talker(model(), tools=[look])
    reply = chat.send(None, "Look", checkpoint=kept.append)
    assert len(kept) > 2
    for state in kept:
        assert talker(model(), tools=[look]).resume(state).text == reply.text


def test_observers_are_told_of_each_step_with_numbers_and_without_content(
    talker: Talkers,
) -> None:
    from hansard import ModelCalled, ToolRan, TurnEnded

    @tool
    def book(secret: str) -> str:
        """Book."""
        return secret

    told: list[Any] = []
    model = ScriptedModel(say(calls=[call("book", secret="hush")]), "hush hush")
    talker(model, tools=[book], observers=[told.append]).send(None, "hush?")
    assert [type(one) for one in told] == [ModelCalled, ToolRan, ModelCalled, TurnEnded]
    assert [one.messages for one in told if isinstance(one, ModelCalled)] == [1, 3]
    assert told[-1].status == "done"
    assert told[-1].usage.total_tokens == 30
    assert "hush" not in repr(told)


def test_an_observer_that_fails_is_logged_and_changes_nothing(
    talker: Talkers, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("no disk")

    with caplog.at_level(logging.ERROR, "hansard"):
        assert talker(ScriptedModel("Hi."), observers=[broken]).send(None, "Hello").text == "Hi."
    assert "no disk" in caplog.text


def test_every_error_of_a_turn_is_one_of_ours_and_has_the_state(talker: Talkers) -> None:
    for answer in (fail(400), fail(401), fail(429), fail(500), overflow(), unreachable()):
        with pytest.raises(HansardError) as error:
            talker(ScriptedModel(answer)).send(None, "Hi")
        assert error.value.state is not None
