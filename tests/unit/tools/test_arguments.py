"""Arguments that do not fit, and what the model is told of them."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import pytest

from hansard.errors import ToolError
from hansard.messages import ToolCall
from hansard.tools.checking import MISMATCHES_MAX, mismatches
from hansard.tools.tool import Tool, tool

if TYPE_CHECKING:
    from hansard.rawjson import JSON, JSONObject


def refusal(made: Tool, arguments: str) -> str:
    with pytest.raises(ToolError) as caught:
        made.invoke(ToolCall("1", made.name, arguments))
    return str(caught.value)


def wrong(value: JSON, schema: JSONObject) -> list[str]:
    return [mismatch.within("it") for mismatch in mismatches(value, schema)]


@tool
def forecast(city: str, days: Annotated[int, msgspec.Meta(ge=1, le=9)] = 3) -> object:
    """Forecast the weather."""
    return city, days


def test_the_model_is_told_all_that_is_wrong_and_what_to_do() -> None:
    assert refusal(forecast, '{"days":10,"town":"Tokyo"}') == (
        "The arguments do not fit:\n"
        "- days: expected a number at most 9, got a number (10)\n"
        "- city: expected a string, got nothing\n"
        "- town: expected no such name (there are: city, days), got one\n"
        "The tool was not run. Call it again with arguments that follow its schema."
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"city":', "The arguments are not JSON: "),
        ("Tokyo", "The arguments are not JSON: "),
        ('["Tokyo"]', "The arguments: expected an object, got an array."),
        ('"Tokyo"', 'The arguments: expected an object, got a string ("Tokyo").'),
        ('{"city":NaN}', "The arguments are not JSON: "),
        ("[" * 1_000 + "]" * 1_000, "nested at most 256 deep"),
    ],
)
def test_what_is_no_json_object_is_refused(arguments: str, said: str) -> None:
    told = refusal(forecast, arguments)

    assert said in told
    assert told.endswith("Call it again with arguments that follow its schema.")


@pytest.mark.parametrize("arguments", ["", " ", "null", "{}", " { } "])
def test_no_arguments_at_all_are_an_empty_object(arguments: str) -> None:
    @tool
    def now() -> None:
        """Tell the time."""

    assert now.invoke(ToolCall("1", "now", arguments)).arguments == {}


def test_of_a_name_given_twice_the_last_counts() -> None:
    call = ToolCall("1", "forecast", '{"city":"Tokyo","city":"Paris"}')
    assert forecast.invoke(call).arguments["city"] == "Paris"


def test_half_a_surrogate_pair_is_text_like_any_other() -> None:
    call = ToolCall("1", "forecast", r'{"city":"\ud83d"}')
    assert forecast.invoke(call).arguments["city"] == "\ud83d"
    assert r"days: expected a whole number, got a string (" in refusal(
        forecast, r'{"city":"a","days":"\ud83d"}'
    )


def test_long_values_are_not_repeated_at_length() -> None:
    told = refusal(forecast, json.dumps({"city": "a", "days": "x" * 10_000, "y" * 10_000: 1}))
    assert len(told) < 500
    assert len(refusal(forecast, json.dumps({str(n): n for n in range(1_000)}))) < 2_000


def test_not_more_mistakes_are_told_than_help() -> None:
    many: JSONObject = {str(n): n for n in range(1_000)}
    assert len(mismatches(many, {"additionalProperties": False})) == MISMATCHES_MAX


# -- by type ------------------------------------------------------------------------------------


class Day(msgspec.Struct):
    number: int

    def __post_init__(self) -> None:
        """Refuse in every way."""
        if self.number > 31:
            raise ValueError("a month has 31 days at most")
        if self.number < 0:
            raise ZeroDivisionError


@pytest.mark.parametrize(
    ("annotation", "given", "said"),
    [
        (
            dt.datetime,
            "tomorrow",
            'it: expected a valid RFC3339 encoded datetime, got a string ("tom',
        ),
        (dt.date, "2026-02-30", 'it: expected a valid RFC3339 encoded date, got a string ("2026-'),
        (Annotated[str, msgspec.Meta(pattern="^a")], "b", "it: expected str matching regex '^a'"),
        (list[dt.date], ["2026-02-01", "x"], "it[1]: expected a valid RFC3339 encoded date, got"),
        (dict[str, dt.date], {"a": "x"}, "expected a valid RFC3339 encoded date"),
        (
            Day,
            {"number": 32},
            "it: expected a valid value (a month has 31 days at most), got an obj",
        ),
        (list[Day], [{"number": 1}, {"number": 32}], "it[1]: expected a valid value (a month"),
        (Day, {"number": -1}, "it: expected a valid value, got an object"),
        (int, 5.5, "it: expected a whole number, got a number (5.5)"),
        (int, True, "it: expected a whole number, got true"),
        (bool, 1, "it: expected true or false, got a number (1)"),
    ],
)
def test_what_only_the_type_knows_is_told_too(annotation: Any, given: object, said: str) -> None:
    def take(it: object) -> object:
        return it

    take.__annotations__["it"] = annotation

    assert said in refusal(tool(take), json.dumps({"it": given}))


@dataclass
class Folder:
    name: str
    folders: list[Folder] = field(default_factory=list)


def test_what_nests_too_deep_is_refused_and_does_no_harm() -> None:
    @tool
    def walk(folder: Folder) -> object:
        return folder

    tree: dict[str, object] = {"name": "a"}
    for _ in range(100):
        tree = {"name": "a", "folders": [tree]}

    assert "expected something nested less deeply" in refusal(walk, json.dumps({"folder": tree}))


# -- by a schema written by hand ----------------------------------------------------------------

TREE: JSONObject = {
    "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}},
    "$ref": "#/$defs/tree",
}
SHAPES: JSONObject = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
            "required": ["kind", "radius"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
            "required": ["kind", "side"],
            "additionalProperties": False,
        },
    ]
}
WEATHER: JSONObject = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}

UNFIT: list[tuple[JSONObject, JSON, list[str]]] = [
    ({"type": "string"}, 1, ["it: expected a string, got a number (1)"]),
    ({"type": "integer"}, 1.5, ["it: expected a whole number, got a number (1.5)"]),
    ({"type": "number"}, float("inf"), ["it: expected a number, got a number beyond what can be"]),
    ({"type": "null"}, {}, ["it: expected null, got an object"]),
    ({"type": ["string", "null"]}, False, ["it: expected a string or null, got false"]),
    ({"type": "STRING", "nullable": True}, [], ["it: expected a string or null, got an array"]),
    ({"enum": ["a", 1]}, True, ['it: expected one of "a", 1, got true']),
    ({"const": "a"}, "b", ['it: expected "a", got a string ("b")']),
    ({"minLength": 2}, "a", ["it: expected at least 2 characters"]),
    ({"maxLength": 2}, "abc", ["it: expected at most 2 characters"]),
    ({"minimum": 1}, 0, ["it: expected a number at least 1, got a number (0)"]),
    ({"maximum": 0.5}, 1, ["it: expected a number at most 0.5, got a number (1)"]),
    ({"exclusiveMinimum": 1}, 1, ["it: expected a number more than 1, got a number (1)"]),
    ({"exclusiveMaximum": 1}, 1.0, ["it: expected a number less than 1, got a number (1.0)"]),
    ({"multipleOf": 5}, 7, ["it: expected a multiple of 5, got a number (7)"]),
    ({"minItems": 1}, [], ["it: expected at least 1 items, got 0"]),
    ({"maxItems": 1}, [1, 2], ["it: expected at most 1 items, got 2"]),
    ({"minProperties": 1}, {}, ["it: expected at least 1 members, got 0"]),
    ({"items": {"type": "string"}}, ["a", 1], ["[1]: expected a string, got a number (1)"]),
    ({"prefixItems": [{}, {"type": "null"}]}, [1, 2], ["[1]: expected null, got a number (2)"]),
    ({"prefixItems": [{}], "items": False}, [1, 2], ["[1]: expected nothing, got a number (2)"]),
    ({"required": ["a"]}, {}, ["a: expected a value, got nothing"]),
    ({"additionalProperties": False}, {"a": 1}, ["a: expected no such name (there is none), got"]),
    ({"additionalProperties": {"type": "null"}}, {"a": 1}, ["a: expected null, got a number (1)"]),
    ({"properties": {"a": False}}, {"a": 1}, ["a: expected nothing, got a number (1)"]),
    (WEATHER, {"city": 1}, ["city: expected a string, got a number (1)"]),
    (
        {"allOf": [{"type": "string"}, {"maxLength": 1}]},
        "ab",
        ["it: expected at most 1 characters"],
    ),
    (
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        None,
        ["it: expected a string or a whole number, got null"],
    ),
    (TREE, {"left": {"left": 1}}, ["left.left: expected an object, got a number (1)"]),
    (SHAPES, {"kind": "line"}, ['kind: expected "circle" or "square", got a string ("line")']),
    (SHAPES, {"kind": "square"}, ["side: expected a number, got nothing"]),
    (
        SHAPES,
        {"kind": "square", "side": "a", "radius": 1},
        ["side: expected a number, got a string", "radius: expected no such name"],
    ),
]


@pytest.mark.parametrize(("schema", "value", "said"), UNFIT, ids=str)
def test_a_schema_written_by_hand_is_held_to(
    schema: JSONObject, value: JSON, said: list[str]
) -> None:
    found = wrong(value, schema)

    assert len(found) == len(said)
    for told, begins in zip(found, said, strict=True):
        assert told.startswith(begins)


FIT: list[tuple[JSON, JSONObject]] = [
    (1.0, {"type": "integer"}),
    (1, {"type": "number"}),
    (None, {"type": "string", "nullable": True}),
    (2**80, {"type": "integer", "minimum": 0.5}),
    (7.5, {"multipleOf": 5}),
    ("any", {"type": "colour"}),
    ("any", {"pattern": "^[a-c]+$", "format": "email", "x-unknown": 1}),
    ({"x-1": 1}, {"patternProperties": {"^x": {}}, "additionalProperties": False}),
    ({"a": 1}, {"properties": [], "required": "a"}),
    ({"left": {"left": {}}}, TREE),
    ({"kind": "circle", "radius": 1}, SHAPES),
    (1, {"$ref": "#/nowhere"}),
    (1, {"$ref": "#"}),
    (1, {"$ref": "https://example.org/schema"}),
    ([1, "a"], {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}),
]


@pytest.mark.parametrize(("value", "schema"), FIT, ids=str)
def test_what_follows_a_schema_or_what_nobody_knows_passes(value: JSON, schema: JSONObject) -> None:
    assert wrong(value, schema) == []


def test_a_reference_may_point_at_names_with_any_characters() -> None:
    schema: JSONObject = {"$defs": {"a/b~c": {"type": "null"}}, "$ref": "#/$defs/a~1b~0c"}
    assert wrong(1, schema) == ["it: expected null, got a number (1)"]


def test_references_that_only_lead_to_each_other_end() -> None:
    both: JSON = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
    assert wrong(1, {"$defs": both, "$ref": "#/$defs/a"}) == []


def test_a_schema_of_exponentially_many_possibilities_ends() -> None:
    definitions: JSONObject = {"60": True}
    for level in range(60):
        further: JSON = {"$ref": f"#/$defs/{level + 1}"}
        definitions[str(level)] = {"allOf": [further, further]}

    told = wrong(1, {"$defs": definitions, "$ref": "#/$defs/0"})

    assert told[0] == "it: expected something simpler, got too many possibilities to check"


def test_a_tool_made_by_hand_refuses_names_that_its_function_does_not_take() -> None:
    schema: JSONObject = {"properties": {"city": {"type": "string"}}}

    closed = Tool("a", "", schema, lambda city="": city)
    opened = Tool("b", "", schema, lambda **names: names)

    assert "town: expected no such name (there are: city)" in refusal(closed, '{"town":"Tokyo"}')
    assert opened.invoke(ToolCall("1", "b", '{"town":"Tokyo"}')).arguments == {"town": "Tokyo"}
