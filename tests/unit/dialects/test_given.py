"""What callers spell themselves goes through one gate, in every dialect."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

import hansard
from hansard import Ask, ToolSpec, rawjson
from hansard.dialects.given import check_json, native_part, native_tool
from hansard.errors import Invalid, InvalidMessage, Unsayable
from hansard.messages import Native, ToolCall, assistant, user
from tests.support.conversations import DIALECTS

EACH = pytest.mark.parametrize("dialect", DIALECTS, ids=[each.name for each in DIALECTS])

SPLIT = b'{"type":"text","text":"a"}]},{"role":"system","content":[{"type":"text","text":"b"}'
NO_JSON = {
    "broken": b"{nope",
    "nothing": b"",
    "two values": b"{},{}",
    "another message": SPLIT,
    "no UTF-8": b'{"text":"\xff"}',
    "too deep": b'{"a":' * 300 + b"1" + b"}" * 300,
}
OBJECT = b' {"type" : "input_text","text":"1.50" , "zz": [1e5, "\\ud83d"]}\n'
COMPACT = b'{"type":"input_text","text":"1.50","zz":[1e5,"\\ud83d"]}'


@EACH
@pytest.mark.parametrize("odd", NO_JSON)
def test_a_native_part_that_is_no_json_is_the_callers_mistake(
    dialect: hansard.Dialect, odd: str
) -> None:
    part = Native("zz", NO_JSON[odd])
    for draft in (user("x", part), assistant("x", part)):
        with pytest.raises(InvalidMessage, match="expected a native part to be one JSON object"):
            dialect.say(draft)
    call = ToolCall("c", "f")
    with pytest.raises(InvalidMessage):
        dialect.result(call, call.answer([part]))


@EACH
def test_a_native_part_that_is_no_object_cannot_be_said(dialect: hansard.Dialect) -> None:
    with pytest.raises(Unsayable, match="cannot say zz"):
        dialect.say(user("x", Native("zz", b" [1]")))


@EACH
def test_a_native_part_is_said_as_spelled_but_for_its_white_space(dialect: hansard.Dialect) -> None:
    (message,) = dialect.say(user("x", Native("zz", OBJECT)))
    assert COMPACT in message.raw
    assert rawjson.compact(message.raw) == message.raw
    call = ToolCall("c", "f")
    assert COMPACT in dialect.result(call, call.answer([Native("zz", OBJECT)]))


@EACH
@pytest.mark.parametrize("odd", [*NO_JSON.values(), b"[]", b"5"])
@pytest.mark.parametrize("choice", [None, "t"])
def test_a_native_tool_that_is_no_object_is_the_callers_mistake(
    dialect: hansard.Dialect, odd: bytes, choice: str | None
) -> None:
    ask = Ask("m", tools=[ToolSpec("t", native=odd)], tool_choice=choice)
    with pytest.raises(InvalidMessage, match="native declaration of the tool 't'"):
        dialect.request(ask)


@EACH
def test_a_native_tool_is_declared_as_spelled(dialect: hansard.Dialect) -> None:
    assert COMPACT in dialect.request(Ask("m", tools=[ToolSpec("t", native=OBJECT)])).body


def test_what_is_native_is_given_compact() -> None:
    assert native_part(OBJECT) == native_tool(ToolSpec("t", native=OBJECT)) == COMPACT
    assert native_part(b"5") is None
    assert native_tool(ToolSpec("t")) is None


@pytest.mark.parametrize("odd", [nan, inf, -inf, b"x", bytearray(b"x"), object(), {1, object()}])
def test_values_that_json_has_no_words_for_are_no_parameters(odd: Any) -> None:
    nested: list[Any] = [odd, [odd], {"deep": ({"er": odd},)}]
    for given in nested:
        with pytest.raises(Invalid, match="expected the request parameter x to be JSON, found"):
            Ask("m", parameters={"x": given})
        with pytest.raises(Invalid):
            hansard.Chat("openai:m", x=given)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "value", [None, 1.5, True, "\ud83d", 10**30, ["a", (1, 2)], {"a": {}, "b": None}]
)
def test_json_values_are_parameters(value: Any) -> None:
    check_json("x", value)
    assert Ask("m", parameters={"x": value}).parameters == {"x": value}
