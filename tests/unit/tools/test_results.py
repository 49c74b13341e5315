"""What the model is told of a call: whatever a tool returns or raises becomes a result."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import gc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

import hansard
from hansard.errors import ToolError
from hansard.messages import Native, Text, ToolCall, ToolResult, image
from hansard.tools import results

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = ToolCall("call_1", "get_weather", position=2)
DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")
PNG = image(b"png", "image/png")


@dataclass
class Place:
    city: str


class Guest(pydantic.BaseModel):
    name: str
    born: dt.date


class Unit(enum.Enum):
    CELSIUS = "c"


class Loud(str):
    """Text with ideas of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.upper()


class Nothing:
    """Something that JSON cannot say."""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("rain", "rain"),
        ("", ""),
        (Loud("sun"), "sun"),
        ({"celsius": 12}, '{"celsius":12}'),
        ([1, "a", None], '[1,"a",null]'),
        ([], "[]"),
        ((1, 2), "[1,2]"),
        (True, "true"),
        (0, "0"),
        (1.50, "1.5"),
        (Place("Tokyo"), '{"city":"Tokyo"}'),
        ([Place("Tokyo")], '[{"city":"Tokyo"}]'),
        (Guest(name="Anna", born=dt.date(2000, 1, 2)), '{"name":"Anna","born":"2000-01-02"}'),
        ({5: Unit.CELSIUS}, '{"5":"c"}'),
        (dt.date(2026, 3, 1), '"2026-03-01"'),
        ({"half": "\ud83d"}, '{"half":"\\ud83d"}'),
        (None, results.NOTHING),
    ],
)
def test_a_value_is_told_as_text_or_as_its_json(value: object, text: str) -> None:
    result = results.answer(CALL, value)

    assert result == ToolResult("call_1", "get_weather", (Text(text),), position=2)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (PNG, (PNG,)),
        ([PNG, "a cat"], (PNG, Text("a cat"))),
        (("a cat", PNG), (Text("a cat"), PNG)),
        ([Text("a"), {"b": 1}], (Text("a"), Text('{"b":1}'))),
        ([Native("odd", b"{}")], (Native("odd", b"{}"),)),
    ],
)
def test_parts_are_told_as_they_are(value: object, content: tuple[object, ...]) -> None:
    assert results.answer(CALL, value).content == content


def test_a_result_made_by_hand_becomes_that_of_the_call() -> None:
    made = ToolResult("other", "other", (Text("no"),), is_error=True)

    assert results.answer(CALL, made) == CALL.answer("no", is_error=True)


class Touchy:
    """Something that does not want to be looked at."""

    @property
    def model_dump(self) -> object:
        raise ZeroDivisionError("do not look")


def _count() -> Iterator[int]:
    yield 1


def _circle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


@pytest.mark.parametrize(
    "value",
    [
        Nothing(),
        [Nothing()],
        {"a": Nothing()},
        [PNG, Nothing()],
        b"png",
        Touchy(),
        _count(),
        _circle(),
        ValueError("returned, not raised"),
        Place,
        Guest,
        lambda: 1,
        {(1, 2): 3},
        1 + 2j,
        math.nan,
        {"price": math.nan},
        [1.5, {"most": (math.inf,)}],
        [PNG, -math.inf],
    ],
)
def test_what_cannot_be_said_is_an_error_that_says_the_tool_has_run(value: object) -> None:
    result = results.answer(CALL, value)

    assert result.is_error
    assert result.text.startswith("The tool has run, but what it returned cannot be passed on: ")
    assert (result.call_id, result.position) == ("call_1", 2)


def test_bytes_are_answered_with_advice() -> None:
    assert "return image(data, media_type)" in results.answer(CALL, b"png").text


def test_something_to_wait_for_is_an_error_and_is_put_away() -> None:
    async def later() -> str:
        return "never"

    assert "write the tool with async def" in results.answer(CALL, later()).text
    gc.collect()  # A coroutine that nobody put away would complain now.


def test_a_future_is_an_error_too() -> None:
    async def ask() -> ToolResult:
        return results.answer(CALL, asyncio.get_running_loop().create_future())

    assert asyncio.run(ask()).is_error


def test_what_the_provider_has_no_words_for_is_named_to_the_model() -> None:
    made = CALL.answer([Text("see"), PNG, Native("odd", b"{}")])
    result = results.unsayable(CALL, made)
    assert result == CALL.answer(
        "The tool has run, but what it returned cannot be passed on: "
        "there is no way to show image, odd here.",
        is_error=True,
    )


def test_what_the_provider_has_no_words_for_need_be_of_no_kind() -> None:
    assert "there is no way to show it here" in results.unsayable(CALL, CALL.answer("x")).text


# -- what was raised ----------------------------------------------------------------------------


class Mute(Exception):
    """An error that cannot be said."""

    def __str__(self) -> str:
        raise ZeroDivisionError


class MuteToolError(ToolError):
    """A tool's own error that cannot be said."""

    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("No such city: try Paris."), "No such city: try Paris."),
        (ToolError(), "The tool failed."),
        (ToolError("Look:", content={"a": 1}), 'Look:\n{"a":1}'),
        (ToolError(content={"a": 1}), '{"a":1}'),
        (MuteToolError("x"), "The tool failed."),
        (ValueError("bad city"), "ValueError: bad city"),
        (KeyError(), "KeyError"),
        (Mute(), "Mute"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_what_a_tool_raises_is_an_error_result(error: BaseException, text: str) -> None:
    failed = results.failure(CALL, error)

    assert (failed.text, failed.is_error) == (text, True)
    assert (failed.call_id, failed.position) == ("call_1", 2)


def test_a_tool_error_may_carry_parts() -> None:
    failed = results.failure(CALL, ToolError("Not a cat:", content=PNG))

    assert failed.content == (Text("Not a cat:\n"), PNG)
    assert failed.is_error


def test_content_of_an_error_that_cannot_be_said_is_still_an_error() -> None:
    failed = results.failure(CALL, ToolError("Look:", content=Nothing()))

    assert failed.is_error
    assert failed.text.startswith("Look:\nThe tool has run, but")


def test_an_error_of_no_end_is_cut_and_a_tools_own_words_are_not() -> None:
    assert len(results.failure(CALL, ValueError("x" * 100_000)).text) < 3_000
    assert len(results.failure(CALL, ToolError("x" * 100_000)).text) == 100_000


# -- calls that did not run ---------------------------------------------------------------------


def test_an_unknown_tool_is_named_with_those_that_there_are() -> None:
    told = results.unknown_tool(CALL, ["get_flights", "book"])

    assert told.is_error
    assert told.text == "Error: tool not found: get_weather. There are: get_flights, book."
    assert results.unknown_tool(CALL).text == "Error: tool not found: get_weather."


def test_an_unknown_tool_is_told_shortly() -> None:
    call = ToolCall("1", "x" * 10_000)

    assert len(results.unknown_tool(call, map(str, range(10_000))).text) < 500


def test_a_denied_call_is_told_with_the_reason_if_there_is_one() -> None:
    assert results.denied(CALL).text == "This call was denied, and was not run."
    told = results.denied(CALL, "too dear")
    assert told.text == "This call was denied, and was not run: too dear"
    assert told.is_error


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("value", ["", "rain", None, {"a": [1]}, [], b"png"])
def test_every_dialect_can_say_what_a_tool_gave(name: str, value: object) -> None:
    dialect = hansard.dialect(name)
    raw = dialect.say(hansard.assistant(CALL))[0].raw
    (call,) = dialect.message(raw).tool_calls

    (framed,) = dialect.frame([dialect.result(call, results.answer(call, value))])

    (said,) = dialect.message(framed).tool_results
    assert said.text == results.answer(call, value).text
