"""Making tools of functions, and by hand."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from hansard.errors import Invalid
from hansard.messages import ToolCall
from hansard.tools.context import ToolContext
from hansard.tools.tool import FunctionTool, Tool, tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from hansard.rawjson import JSONObject

CONTEXT = ToolContext(call_id="1", tool_name="any", idempotency_key="key")

CITY: JSONObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


def run(made: Tool, arguments: str = "{}", context: ToolContext = CONTEXT) -> Any:
    return made.invoke(ToolCall("1", made.name, arguments)).run(context)


@tool
def get_weather(city: str, days: int = 3) -> dict[str, object]:
    """Current weather for a city."""
    return {"city": city, "days": days}


@tool(policy="reads")
async def look_up(word: str) -> str:
    """Look up a word."""
    return f"{word}: a word"


def test_a_function_becomes_a_tool_by_its_name_docstring_and_signature() -> None:
    assert get_weather.name == "get_weather"
    assert get_weather.description == "Current weather for a city."
    assert get_weather.parameters == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
        "required": ["city"],
        "additionalProperties": False,
    }


def test_a_function_that_is_a_tool_can_be_called_and_looked_at_as_before() -> None:
    assert get_weather("Tokyo", days=1) == {"city": "Tokyo", "days": 1}
    assert get_weather.__name__ == "get_weather"  # type: ignore[attr-defined]
    assert get_weather.__doc__ == "Current weather for a city."
    assert list(inspect.signature(get_weather).parameters) == ["city", "days"]


def test_a_call_runs_the_function_with_its_arguments_and_defaults() -> None:
    assert run(get_weather, '{"city":"Tokyo"}') == {"city": "Tokyo", "days": 3}


def test_an_async_function_gives_something_to_wait_for() -> None:
    assert look_up.is_async
    assert not get_weather.is_async
    assert asyncio.run(_wait(run(look_up, '{"word":"cat"}'))) == "cat: a word"


async def _wait(given: Awaitable[object]) -> object:
    return await given


def test_a_decorated_async_function_that_answers_at_once_can_be_waited_for_too() -> None:
    async def slow(word: str) -> str:
        return f"found {word}"

    @functools.wraps(slow)
    def cached(word: str) -> object:
        return "remembered" if word == "cat" else slow(word)

    made = tool(cached)

    assert made.is_async
    assert asyncio.run(_wait(run(made, '{"word":"cat"}'))) == "remembered"
    assert asyncio.run(_wait(run(made, '{"word":"dog"}'))) == "found dog"


def test_name_and_description_can_be_given() -> None:
    made = tool(lambda: 1, name="one", description="Gives one.")

    assert (made.name, made.description) == ("one", "Gives one.")


class Counter:
    """Counts."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, number: int) -> int:
        """Add a number."""
        self.count += number
        return self.count

    def __call__(self, number: int) -> int:
        """Add a number, by calling."""
        return self.add(number)


def test_a_bound_method_an_object_and_a_partial_become_tools() -> None:
    counter = Counter()
    added = functools.partial(counter.add, 5)

    assert tool(counter.add).name == "add"
    assert run(tool(counter.add), '{"number":2}') == 2
    assert tool(counter).name == "Counter"
    assert tool(counter).description == "Add a number, by calling."
    assert run(tool(counter), '{"number":2}') == 4
    assert tool(added).parameters["properties"] == {}
    assert run(tool(added)) == 9


def test_what_a_partial_fixes_by_name_is_not_asked_of_the_model() -> None:
    def say(greeting: str, name: str) -> str:
        return f"{greeting} {name}"

    made = tool(functools.partial(say, greeting="Hello"))

    assert made.parameters["properties"] == {"name": {"type": "string"}}
    assert run(made, '{"name":"you"}') == "Hello you"


def test_a_tool_is_shown_by_how_it_is_called() -> None:
    assert repr(get_weather) == "<FunctionTool get_weather(city, days)>"
    assert repr(look_up) == "<FunctionTool look_up(word), reads, async>"
    mine = Tool("ask", "Ask a person.", CITY, needs_approval=True)
    assert repr(mine) == "<Tool ask(city), the caller's, needs approval>"


# -- the context --------------------------------------------------------------------------------


def test_the_context_goes_where_the_annotation_says_and_the_model_never_sees_it() -> None:
    @tool
    def book(context: ToolContext, hotel: str) -> str:
        return f"{hotel} {context.idempotency_key}"

    assert list(book.parameters["properties"]) == ["hotel"]  # type: ignore[arg-type]
    assert run(book, '{"hotel":"Ritz"}') == "Ritz key"


def test_a_context_that_may_be_none_is_given_all_the_same() -> None:
    @tool
    def book(hotel: str, context: ToolContext | None = None) -> bool:
        return context is CONTEXT and hotel == "Ritz"

    assert run(book, '{"hotel":"Ritz"}') is True


def test_a_tool_made_by_hand_gets_the_context_too() -> None:
    def named(city: str, context: ToolContext) -> str:
        return f"{city} {context.call_id}"

    def unnamed(city: str, it: Any) -> str:
        return f"{city} {it.call_id}"

    assert run(Tool("a", "", CITY, named), '{"city":"Tokyo"}') == "Tokyo 1"
    told = Tool("b", "", CITY, unnamed, context_name="it")
    assert run(told, '{"city":"Tokyo"}') == "Tokyo 1"


# -- by hand ------------------------------------------------------------------------------------


def test_a_tool_made_by_hand_is_called_with_json_values() -> None:
    made = Tool("weather", "Weather.", CITY, lambda city: f"rain in {city}")

    assert run(made, '{"city":"Tokyo"}') == "rain in Tokyo"


def test_a_tool_without_a_function_checks_arguments_and_does_not_run() -> None:
    made = Tool("weather", "Weather.", CITY)
    invocation = made.invoke(ToolCall("1", "weather", '{"city":"Tokyo"}'))

    assert invocation.arguments == {"city": "Tokyo"}
    with pytest.raises(Invalid, match="the caller's"):
        invocation.run(CONTEXT)


def test_a_schema_may_leave_out_that_it_is_of_an_object() -> None:
    assert Tool("a", "", {}).parameters == {"type": "object", "properties": {}}
    capitals: JSONObject = {"type": "OBJECT", "properties": {"x": {"type": "STRING"}}}
    assert Tool("a", "", capitals).parameters == capitals


def test_a_schema_that_its_writer_changes_later_changes_no_tool() -> None:
    properties: JSONObject = {"city": {"type": "string"}}
    made = Tool("a", "", {"type": "object", "properties": properties})
    properties["city"] = {"type": "integer"}

    assert made.parameters["properties"] == {"city": {"type": "string"}}


# -- options ------------------------------------------------------------------------------------


def test_the_options_of_a_tool_are_kept() -> None:
    made = tool(policy="keyed", timeout_s=2.5, retries=3, max_concurrent=1, needs_approval=True)(
        Counter().add
    )

    assert isinstance(made, FunctionTool)
    assert (made.policy, made.timeout_s, made.retries) == ("keyed", 2.5, 3)
    assert (made.max_concurrent, made.needs_approval) == (1, True)


def test_a_tool_that_says_nothing_leaves_it_to_the_chat() -> None:
    assert (get_weather.policy, get_weather.timeout_s, get_weather.retries) == (None, None, 0)
    assert (get_weather.max_concurrent, get_weather.needs_approval) == (None, False)
    assert get_weather.on_unknown is None


def test_approval_can_depend_on_the_arguments() -> None:
    @tool(needs_approval=lambda arguments: arguments["euros"] > 100)
    def pay(euros: int) -> None:
        """Pay."""

    assert not pay.asks_approval(pay.invoke(ToolCall("1", "pay", '{"euros":100}')))
    assert pay.asks_approval(pay.invoke(ToolCall("1", "pay", '{"euros":101}')))


def test_approval_that_cannot_tell_asks() -> None:
    @tool(needs_approval=lambda arguments: arguments["unheard of"])
    def pay(euros: int) -> None:
        """Pay."""

    assert pay.asks_approval(pay.invoke(ToolCall("1", "pay", '{"euros":1}')))


async def _agree(_: object) -> bool:
    return True


def _ask_twice(_: object) -> Iterator[str]:
    yield "once"
    yield "and again"


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"policy": "twice"}, "policy= one of reads, keyed, transactional, once, found 'twice'"),
    ({"timeout_s": 0}, "timeout_s= of f to be seconds above 0, found 0"),
    ({"timeout_s": float("nan")}, "timeout_s="),
    ({"timeout_s": float("inf")}, "timeout_s="),
    ({"timeout_s": True}, "timeout_s="),
    ({"timeout_s": "5"}, "timeout_s="),
    ({"retries": -1}, "retries= of f to be 0 or more, found -1"),
    ({"retries": 1.5}, "retries="),
    ({"retries": True}, "retries="),
    ({"max_concurrent": 0}, "max_concurrent= of f to be 1 or more, found 0"),
    ({"needs_approval": "yes"}, "needs_approval= of f to be true, false or a function"),
    ({"needs_approval": _agree}, "needs_approval= of f not to be async"),
    ({"on_unknown": "tell"}, "on_unknown= of f to be a function of the call"),
    ({"on_unknown": _ask_twice}, "it yields"),
    ({"policy": "once", "retries": 1}, "no retries= of f, which runs once"),
    ({"policy": "reads", "on_unknown": print}, "no on_unknown= of f"),
    ({"description": 5}, "a description of f in words, found 5"),
]


@pytest.mark.parametrize(("options", "said"), BAD_OPTIONS)
def test_options_that_could_never_work_are_refused_where_they_are_written(
    options: dict[str, Any], said: str
) -> None:
    def f(x: int) -> int:
        return x

    with pytest.raises(Invalid) as caught:
        tool(f, **options)
    assert said in str(caught.value)


@pytest.mark.parametrize("name", ["", "get weather", "wetter.holen", "größe", "a" * 65, 5])
def test_a_name_that_some_provider_refuses_is_refused(name: Any) -> None:
    with pytest.raises(Invalid, match="give one with name="):
        Tool(name, "", CITY)


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(Invalid, match="give one with name="):
        tool(lambda: 1)


def _yields(x: int) -> Any:
    yield x


async def _yields_async(x: int) -> Any:
    yield x


def _star(*numbers: int) -> object:
    return numbers


def _open(**names: int) -> object:
    return names


def _untyped(x) -> object:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return x


def _positional(x: int, /) -> object:
    return x


def _two(one: ToolContext, other: ToolContext) -> object:
    return one, other


def _unknown_name(x: Nowhere) -> object:  # type: ignore[name-defined]  # noqa: F821
    return x


def _no_json(x: Counter) -> object:
    return x


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_yields, "it yields"),
        (_yields_async, "it yields"),
        (_star, "takes *numbers"),
        (_open, "takes **names"),
        (_untyped, "x has no type; write x: str"),
        (_positional, "x is positional-only"),
        (_two, "expected one ToolContext, found one and other"),
        (_unknown_name, "the type of x cannot be found"),
        (_no_json, "expected a type that JSON can say for x of _no_json, found Counter"),
        (Counter.add, "decorate the bound method: tool(thing.method)"),
        (5, "expected a function to make a tool of, found 5"),
        (get_weather, "expected a function to make a tool of, found <FunctionTool"),
    ],
)
def test_a_function_that_a_model_could_not_call_is_refused(
    function: Callable[..., object], said: str
) -> None:
    with pytest.raises(Invalid) as caught:
        tool(function)
    assert said in str(caught.value)


def _takes_city(city: str) -> object:
    return city


def _takes_more(city: str, country: str) -> object:
    return city, country


def _takes_context(city: ToolContext) -> object:
    return city


@pytest.mark.parametrize(
    ("parameters", "function", "said"),
    [
        ([], None, "as a JSON schema, found list"),
        ({"x": object()}, None, "to be JSON"),
        ({"type": "string"}, None, "found the type 'string'"),
        ({"properties": ["city"]}, None, "with properties by name"),
        ({"properties": {"town": {}}}, _takes_city, "to take town by name"),
        (CITY, _takes_more, "to require country"),
        (CITY, _takes_context, "under a name of its own"),
        ({"properties": {"city": {}}}, _takes_city, "to require city"),
        (CITY, "weather", "run= of weather to be a function or None"),
    ],
)
def test_a_schema_that_does_not_go_with_its_function_is_refused(
    parameters: Any, function: Any, said: str
) -> None:
    with pytest.raises(Invalid) as caught:
        Tool("weather", "", parameters, function)
    assert said in str(caught.value)


def test_a_tool_can_be_made_anew_with_another_option() -> None:
    patient = dataclasses.replace(get_weather, timeout_s=30)

    assert patient.timeout_s == 30
    assert get_weather.timeout_s is None
    assert run(patient, '{"city":"Tokyo"}') == {"city": "Tokyo", "days": 3}
