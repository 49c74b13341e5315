"""Rounds of tool calls: who runs them, how many, and what the model is told."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    Invalid,
    PendingCalls,
    Text,
    Tool,
    ToolContext,
    ToolError,
    ToolIdempotencyError,
    TooManyRounds,
    image,
    tool,
    user,
)
from hansard.testing import ScriptedModel, call, forever, say

if TYPE_CHECKING:
    from tests.support.talkers import Talkers

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")


@tool(policy="reads")
def get_weather(city: str) -> dict[str, str]:
    """Tell the weather of a city."""
    return {"city": city, "sky": "clear"}


def weather_in(*cities: str) -> Any:
    return say(calls=[call("get_weather", id=f"call_{city}", city=city) for city in cities])


def told(model: ScriptedModel) -> list[str]:
    """Give what the last request says of the calls."""
    return [result.text for result in model.requests[-1].results]


# -- ours -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tools_run_and_the_model_is_told_what_they_gave(talker: Talkers, dialect: str) -> None:
    model = ScriptedModel(weather_in("Tokyo", "Paris"), "Clear in both.", dialect=dialect)
    reply = talker(model, tools=[get_weather]).send(None, "Weather in Tokyo and Paris?")
    assert reply.text == "Clear in both."
    assert [result.call_id for result in model.requests[1].results] in (
        ["call_Tokyo", "call_Paris"],
        ["", ""],
    )
    assert [("Tokyo" in text, "Paris" in text) for text in told(model)] == [
        (True, False),
        (False, True),
    ]


def test_plain_functions_are_tools(talker: Talkers) -> None:
    def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    model = ScriptedModel(say(calls=[call("add", a=1)]), "3.")
    talker(model, tools=[add]).send(None, "1 + 2?")
    assert told(model) == ["3"]
    assert model.requests[0].tools == ("add",)


def test_async_tools_run_in_both_kinds_of_chat(talker: Talkers) -> None:
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        await asyncio.sleep(0)
        return a + b

    model = ScriptedModel(say(calls=[call("add", a=1, b=2), call("add", a=2, b=2)]), "3, 4.")
    talker(model, tools=[add]).send(None, "1 + 2, 2 + 2?")
    assert told(model) == ["3", "4"]


def test_calls_of_one_answer_run_side_by_side(talker: Talkers) -> None:
    both = threading.Barrier(2, timeout=20)

    def meet() -> str:
        """Wait for the other."""
        both.wait()
        return "met"

    model = ScriptedModel(say(calls=[call("meet"), call("meet")]), "Done.")
    talker(model, tools=[meet]).send(None, "Meet!")
    assert told(model) == ["met", "met"]


def test_a_tool_can_be_kept_to_one_call_at_a_time(talker: Talkers) -> None:
    inside: list[int] = []
    most: list[int] = []

    @tool(max_concurrent=1)
    def alone() -> str:
        """Be alone."""
        inside.append(1)
        most.append(len(inside))
        inside.pop()
        return "ok"

    model = ScriptedModel(say(calls=[call("alone") for _ in range(6)]), "Done.")
    talker(model, tools=[alone]).send(None, "Go!")
    assert told(model) == ["ok"] * 6
    assert set(most) == {1}


def test_a_tool_that_fails_is_an_error_result(talker: Talkers) -> None:
    def broken() -> str:
        """Fail."""
        raise KeyError("seat")

    def refusing() -> str:
        """Refuse."""
        raise ToolError("The museum is closed on Mondays.")

    def odd() -> object:
        """Return what cannot be said."""
        return object()

    model = ScriptedModel(
        say(calls=[call("broken"), call("refusing"), call("odd"), call("nobody")]), "I see."
    )
    reply = talker(model, tools=[broken, refusing, odd]).send(None, "Go!")
    assert reply.text == "I see."
    assert told(model)[0] == "KeyError: 'seat'"
    assert told(model)[1] == "The museum is closed on Mondays."
    assert "cannot be passed on" in told(model)[2]
    assert "not found: nobody" in told(model)[3]


def test_a_tool_that_returns_nothing_has_still_run(talker: Talkers) -> None:
    def note() -> None:
        """Take a note."""

    model = ScriptedModel(say(calls=[call("note")]), "Noted.")
    assert talker(model, tools=[note]).send(None, "Note!").text == "Noted."
    assert len(told(model)) == 1


def test_arguments_that_do_not_fit_are_told_to_the_model(talker: Talkers) -> None:
    model = ScriptedModel(say(calls=[call("get_weather", town="Rome")]), "Sorry.")
    talker(model, tools=[get_weather]).send(None, "Weather?")
    assert "city" in told(model)[0]


def test_a_result_can_have_pictures(talker: Talkers) -> None:
    def paint() -> list[Any]:
        """Paint."""
        return [Text("A tree:"), image(data=b"PNG", media_type="image/png")]

    model = ScriptedModel(say(calls=[call("paint")]), "Nice.", dialect="anthropic")
    talker(model, tools=[paint]).send(None, "Paint!")
    assert b'"media_type":"image/png"' in model.requests[1].body


def test_actions_are_for_people_and_not_for_the_model(talker: Talkers) -> None:
    def create(name: str, context: ToolContext) -> str:
        """Create a place."""
        context.log(f"Created place {name}")
        return "ok"

    heard: list[Any] = []
    model = ScriptedModel(say(calls=[call("create", name="X")]), "Done.")
    reply = talker(model, tools=[create], on_action=heard.append).send(None, "Create X")
    assert reply.actions == ("Created place X",)
    assert heard == ["Created place X"]
    assert b"Created place" not in model.requests[1].body


def test_too_many_rounds_are_an_error_whose_state_goes_on(talker: Talkers) -> None:
    model = ScriptedModel(forever(weather_in("Rome")))
    chat = talker(model, tools=[get_weather], max_rounds=3)
    with pytest.raises(TooManyRounds) as error:
        chat.send(None, "Weather?")
    assert len(model.requests) == 3
    after = ScriptedModel("Hello again.")
    assert talker(after).send(error.value.state, "Hello?").text == "Hello again."


def test_the_limit_of_rounds_can_be_set_for_one_call(talker: Talkers) -> None:
    model = ScriptedModel(weather_in("Rome"), weather_in("Oslo"), "Clear.")
    with pytest.raises(TooManyRounds):
        talker(model, tools=[get_weather]).send(None, "Weather?", max_rounds=1)
    assert len(model.requests) == 1


def test_ten_rounds_are_allowed_by_default(talker: Talkers) -> None:
    model = ScriptedModel(*[weather_in(f"City{n}") for n in range(9)], "Clear everywhere.")
    reply = talker(model, tools=[get_weather]).send(None, "Weather?")
    assert reply.text == "Clear everywhere."


def test_a_choice_of_tool_is_forced_once_and_then_left_to_the_model(talker: Talkers) -> None:
    model = ScriptedModel(weather_in("Rome"), "Clear.")
    talker(model, tools=[get_weather]).send(None, "Weather?", tool_choice="get_weather")
    assert "tool_choice" in model.requests[0].json
    assert "tool_choice" not in model.requests[1].json


# -- the caller's ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_caller_can_run_the_tools(talker: Talkers, dialect: str) -> None:
    model = ScriptedModel(weather_in("Tokyo", "Paris"), "Clear in both.", dialect=dialect)
    chat = talker(model, tools=[get_weather])
    waiting = chat.send(None, "Weather in Tokyo and Paris?", run_tools=False)
    assert [one.name for one in waiting.tool_calls] == ["get_weather", "get_weather"]
    assert waiting.valid
    results = [one.answer({"sky": one.parsed}) for one in waiting.tool_calls]
    reply = chat.send_tool_results(waiting.state, results, user("Be brief."))
    assert reply.text == "Clear in both."
    assert ["Tokyo" in text for text in told(model)] == [True, False]
    assert model.requests[1].text == "Be brief."


def test_a_tool_without_run_is_the_callers_while_others_run(talker: Talkers) -> None:
    pay = Tool("pay", "Pay.", {"type": "object", "properties": {}})
    model = ScriptedModel(say(calls=[call("pay"), call("get_weather", city="Rome")]), "Paid.")
    chat = talker(model, tools=[pay, get_weather])
    waiting = chat.send(None, "Pay, and tell me the weather.")
    assert [one.name for one in waiting.tool_calls] == ["pay"]
    reply = chat.send_tool_results(waiting.state, [waiting.tool_calls[0].answer("paid")])
    assert reply.text == "Paid."
    assert told(model)[0] == "paid"
    assert "clear" in told(model)[1]


@pytest.mark.parametrize("wrong", ["missing", "doubled", "strange"])
def test_results_that_do_not_fit_the_calls_are_refused_and_nothing_is_recorded(
    talker: Talkers, wrong: str
) -> None:
    model = ScriptedModel(weather_in("Tokyo", "Paris"))
    chat = talker(model, tools=[get_weather], run_tools=False)
    waiting = chat.send(None, "Weather?")
    one, two = [each.answer("clear") for each in waiting.tool_calls]
    strange = call_answer("call_nobody")
    given = {"missing": [one], "doubled": [one, two, two], "strange": [one, two, strange]}[wrong]
    with pytest.raises(Invalid, match="nothing recorded") as error:
        chat.send_tool_results(waiting.state, given)
    assert chat.load(error.value.state or b"").length == chat.load(waiting.state).length


def call_answer(call_id: str) -> Any:
    from hansard import ToolCall

    return ToolCall(call_id, "get_weather", "{}", 0).answer("clear")


def test_a_new_prompt_over_calls_that_wait_for_the_caller_is_refused(talker: Talkers) -> None:
    model = ScriptedModel(weather_in("Tokyo"))
    chat = talker(model, tools=[get_weather], run_tools=False)
    waiting = chat.send(None, "Weather?")
    with pytest.raises(PendingCalls, match="get_weather"):
        chat.send(waiting.state, "Never mind")


def test_an_abandoned_turn_makes_room_for_another(talker: Talkers) -> None:
    model = ScriptedModel(weather_in("Tokyo"), "Fine.")
    chat = talker(model, tools=[get_weather], run_tools=False)
    waiting = chat.send(None, "Weather?")
    reply = chat.send(chat.abandon(waiting.state), "Never mind")
    assert reply.text == "Fine."


def test_results_without_calls_that_wait_for_them_are_refused(talker: Talkers) -> None:
    chat = talker(ScriptedModel("Hi."))
    state = chat.send(None, "Hello").state
    with pytest.raises(Invalid, match="no call does"):
        chat.send_tool_results(state, [call_answer("call_1")])


# -- approval -------------------------------------------------------------------------------------


@tool(needs_approval=True)
def book(n: int) -> str:
    """Book a seat."""
    return f"booked {n}"


def test_a_call_waits_for_approval_and_runs_once_it_has_it(talker: Talkers) -> None:
    model = ScriptedModel(say(calls=[call("book", n=1)]), "Booked.")
    chat = talker(model, tools=[book])
    waiting = chat.send(None, "Book seat 1")
    assert [one.name for one in waiting.approvals] == ["book"]
    assert not waiting.tool_calls
    reply = chat.resume(chat.approve(waiting.state, by="Ada"))
    assert reply.text == "Booked."
    assert told(model) == ["booked 1"]


def test_a_denied_call_does_not_run_and_the_model_is_told_why(talker: Talkers) -> None:
    model = ScriptedModel(say(calls=[call("book", n=1)]), "As you wish.")
    chat = talker(model, tools=[book])
    waiting = chat.send(None, "Book seat 1")
    state = chat.deny(waiting.state, waiting.approvals[0], reason="too expensive")
    assert chat.resume(state).text == "As you wish."
    assert "too expensive" in told(model)[0]
    assert "booked" not in told(model)[0]


def test_approval_can_depend_on_the_arguments(talker: Talkers) -> None:
    @tool(needs_approval=lambda arguments: arguments["n"] > 10)
    def buy(n: int) -> str:
        """Buy."""
        return f"bought {n}"

    model = ScriptedModel(say(calls=[call("buy", id="a", n=5), call("buy", id="b", n=50)]), "Ok.")
    chat = talker(model, tools=[buy])
    waiting = chat.send(None, "Buy 5 and 50")
    assert [one.id for one in waiting.approvals] == ["b"]
    assert chat.resume(chat.approve(waiting.state, "b")).text == "Ok."
    assert told(model) == ["bought 5", "bought 50"]


def test_approving_what_does_not_wait_for_it_is_refused(talker: Talkers) -> None:
    chat = talker(ScriptedModel("Hi."), tools=[book])
    state = chat.send(None, "Hello").state
    with pytest.raises(Invalid, match="found none"):
        chat.approve(state)
    with pytest.raises(Invalid, match="call_9"):
        chat.approve(state, "call_9")


# -- time -----------------------------------------------------------------------------------------


def test_a_started_tool_that_times_out_is_unknown_until_somebody_settles_it(
    talker: Talkers,
) -> None:
    never = threading.Event()

    @tool(timeout_s=0.05)
    def slow() -> str:
        """Take for ever."""
        never.wait(60)
        return "done"

    model = ScriptedModel(say(calls=[call("slow", id="a")]), "It is done.")
    chat = talker(model, tools=[slow])
    with pytest.raises(ToolIdempotencyError, match="slow") as error:
        chat.send(None, "Go!")
    assert [one.id for one in error.value.calls] == ["a"]
    with pytest.raises(ToolIdempotencyError):
        chat.resume(error.value.state)
    reply = chat.resume(chat.settle(error.value.state or b"", "a", "done after all"))
    never.set()
    assert reply.text == "It is done."
    assert told(model) == ["done after all"]


def test_a_tool_that_only_reads_and_times_out_is_an_error_result(talker: Talkers) -> None:
    never = threading.Event()

    @tool(policy="reads", timeout_s=0.05)
    def slow() -> str:
        """Take for ever."""
        never.wait(60)
        return "done"

    model = ScriptedModel(say(calls=[call("slow")]), "Too slow.")
    assert talker(model, tools=[slow]).send(None, "Go!").text == "Too slow."
    never.set()
    assert told(model) == ["It did not end within 0.05 seconds."]


def test_a_keyed_tool_that_times_out_is_not_told_to_the_model_as_failed(talker: Talkers) -> None:
    never = threading.Event()
    booked: dict[str, str] = {}
    runs: list[str] = []

    @tool(policy="keyed", timeout_s=0.05)
    def book(seat: str, context: ToolContext) -> str:
        """Book a seat, late the first time."""
        runs.append(context.idempotency_key)
        if len(runs) == 1:
            never.wait(60)
        booked.setdefault(context.idempotency_key, seat)
        return "booked"

    model = ScriptedModel(say(calls=[call("book", seat="1A", id="a")]), "It is yours.")
    chat = talker(model, tools=[book])
    with pytest.raises(ToolIdempotencyError, match="book") as error:
        chat.send(None, "Book 1A")
    assert len(model.requests) == 1
    assert chat.resume(error.value.state).text == "It is yours."
    never.set()
    assert told(model) == ["booked"]
    assert list(booked) == [runs[0]] == [runs[1]]


def test_a_tool_can_say_itself_what_became_of_an_unknown_call(talker: Talkers) -> None:
    never = threading.Event()

    def slow() -> str:
        """Take for ever."""
        never.wait(60)
        return "done"

    looked: list[str] = []

    def look_up(one: Any) -> str:
        looked.append(one.id)
        return "it went through"

    model = ScriptedModel(say(calls=[call("slow", id="a")]), "Good.")
    chat = talker(model, tools=[tool(slow, timeout_s=0.05, on_unknown=look_up)])
    assert chat.send(None, "Go!").text == "Good."
    never.set()
    assert looked == ["a"]
    assert told(model) == ["it went through"]


def test_a_tool_that_raised_is_tried_again_as_often_as_it_allows(talker: Talkers) -> None:
    tries: list[str] = []

    @tool(policy="keyed", retries=2)
    def flaky(context: ToolContext) -> str:
        """Fail twice."""
        tries.append(context.idempotency_key)
        if len(tries) < 3:
            raise OSError("busy")
        return "ok"

    model = ScriptedModel(say(calls=[call("flaky")]), "Done.")
    talker(model, tools=[flaky]).send(None, "Go!")
    assert told(model) == ["ok"]
    assert len(tries) == 3
    assert len(set(tries)) == 1


def test_tools_of_one_name_are_refused(talker: Talkers) -> None:
    with pytest.raises(Invalid, match="two named get_weather"):
        talker(ScriptedModel(), tools=[get_weather, get_weather])
