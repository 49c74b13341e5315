"""The JSON schema of a signature, and the values that arguments become."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, Literal, NamedTuple, Required, TypedDict

import msgspec
import pydantic
import pytest
from msgspec import Meta

from hansard.errors import Invalid, ToolError
from hansard.messages import ToolCall
from hansard.rawjson import dump
from hansard.tools.tool import FunctionTool, tool


def given(made: FunctionTool[..., Any], **arguments: object) -> Any:
    """What the function is called with, when a model gives these."""
    return dict(made.invoke(ToolCall("1", made.name, json.dumps(arguments))).arguments)


def of(annotation: Any) -> FunctionTool[..., Any]:
    """A tool that takes ``it``, of a type."""

    def take(it: Any) -> object:
        return it

    take.__annotations__["it"] = annotation
    return tool(take)


def schema_of(annotation: Any) -> Any:
    return of(annotation).parameters["properties"]["it"]  # type: ignore[index, call-overload]


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Place:
    city: str
    country: str = "JP"


class Point(msgspec.Struct):
    """A point on a map."""

    x: float
    y: float = 0.0


class Filter(TypedDict, total=False):
    word: Required[str]
    limit: int


class Pair(NamedTuple):
    left: int
    right: str


UUID = uuid.UUID(int=7)
DAY = dt.date(2026, 3, 1)
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)

TYPES: list[tuple[Any, Any, object, object]] = [
    (str, {"type": "string"}, "a", "a"),
    (int, {"type": "integer"}, 3, 3),
    (float, {"type": "number"}, 3, 3.0),
    (bool, {"type": "boolean"}, True, True),
    (None, {"type": "null"}, None, None),
    (Any, {}, [1, {"a": None}], [1, {"a": None}]),
    (list[int], {"type": "array", "items": {"type": "integer"}}, [1, 2], [1, 2]),
    (Sequence[int], {"type": "array", "items": {"type": "integer"}}, [1, 2], [1, 2]),
    (
        set[int],
        {"type": "array", "uniqueItems": True, "items": {"type": "integer"}},
        [1, 2],
        {1, 2},
    ),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1, 2], (1, 2)),
    (
        dict[str, int],
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"a": 1},
        {"a": 1},
    ),
    (dict[int, str], None, {"5": "a"}, {5: "a"}),
    (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "a", "a"),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, "b", "b"),
    (Literal[1, 2], {"type": "integer", "enum": [1, 2]}, 2, 2),
    (Unit, {"type": "string", "enum": ["c", "f"]}, "f", Unit.FAHRENHEIT),
    (Level, {"type": "integer", "enum": [1, 2]}, 2, Level.HIGH),
    (
        dt.datetime,
        {"type": "string", "format": "date-time"},
        "2026-03-01T12:00:00Z",
        NOON,
    ),
    (dt.date, {"type": "string", "format": "date"}, "2026-03-01", DAY),
    (dt.timedelta, {"type": "string", "format": "duration"}, "PT90S", dt.timedelta(seconds=90)),
    (uuid.UUID, {"type": "string", "format": "uuid"}, str(UUID), UUID),
    (
        decimal.Decimal,
        {"type": "string", "format": "decimal"},
        "1.50",
        decimal.Decimal("1.50"),
    ),
    (bytes, {"type": "string", "contentEncoding": "base64"}, "aGk=", b"hi"),
    (
        Annotated[int, Meta(ge=1, le=9)],
        {"type": "integer", "minimum": 1, "maximum": 9},
        9,
        9,
    ),
    (
        Annotated[str, "Where to look."],
        {"type": "string", "description": "Where to look."},
        "a",
        "a",
    ),
    (
        Place,
        {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "country": {"type": "string", "default": "JP"},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
        {"city": "Tokyo"},
        Place("Tokyo"),
    ),
    (
        Point,
        {
            "description": "A point on a map.",
            "type": "object",
            "properties": {"x": {"type": "number"}, "y": {"type": "number", "default": 0.0}},
            "required": ["x"],
            "additionalProperties": False,
        },
        {"x": 1.5},
        Point(1.5),
    ),
    (
        Filter,
        {
            "type": "object",
            "properties": {"limit": {"type": "integer"}, "word": {"type": "string"}},
            "required": ["word"],
            "additionalProperties": False,
        },
        {"word": "a"},
        {"word": "a"},
    ),
    (Pair, None, [1, "a"], Pair(1, "a")),
    (list[Place], None, [{"city": "Tokyo", "country": "FR"}], [Place("Tokyo", "FR")]),
]


@pytest.mark.parametrize(
    ("annotation", "schema", "said", "value"), TYPES, ids=[str(row[0]) for row in TYPES]
)
def test_a_type_has_its_schema_and_arguments_become_values_of_it(
    annotation: Any, schema: Any, said: object, value: object
) -> None:
    if schema is not None:
        assert schema_of(annotation) == schema
    made = given(of(annotation), it=said)["it"]
    assert made == value
    assert type(made) is type(value)


def test_a_schema_is_the_same_bytes_each_time() -> None:
    again = [dump(of(list[Place] | dict[str, Filter] | Unit).parameters) for _ in range(3)]
    assert len(set(again)) == 1


def test_defaults_are_shown_and_filled_in() -> None:
    def find(word: str, limit: int = 5, unit: Unit = Unit.CELSIUS) -> object:
        return word, limit, unit

    made = tool(find)

    assert dump(made.parameters) == (
        b'{"type":"object","properties":{"word":{"type":"string"},'
        b'"limit":{"type":"integer","default":5},'
        b'"unit":{"type":"string","enum":["c","f"],"default":"c"}},'
        b'"required":["word"],"additionalProperties":false}'
    )
    assert given(made, word="a") == {"word": "a", "limit": 5, "unit": Unit.CELSIUS}


def test_a_default_that_json_cannot_say_stays_the_functions_own() -> None:
    nothing = object()

    def find(word: str = nothing, least: float = float("-inf")) -> object:  # type: ignore[assignment]
        return word, least

    made = tool(find)

    assert made.parameters["properties"] == {
        "word": {"type": "string"},
        "least": {"type": "number"},
    }
    assert given(made) == {"word": nothing, "least": float("-inf")}


def test_a_parameter_whose_default_is_none_may_be_none() -> None:
    def find(word: str = None) -> object:  # type: ignore[assignment]  # noqa: RUF013
        return word

    assert given(tool(find), word=None) == {"word": None}
    assert given(tool(find), word="a") == {"word": "a"}


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    def now() -> str:
        return "noon"

    assert tool(now).parameters == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_a_type_that_is_used_twice_is_defined_once() -> None:
    def travel(start: Place, end: Place) -> object:
        return start, end

    made = tool(travel)

    assert made.parameters["properties"] == {
        "start": {"$ref": "#/$defs/Place"},
        "end": {"$ref": "#/$defs/Place"},
    }
    assert list(made.parameters["$defs"]) == ["Place"]  # type: ignore[arg-type]
    assert given(made, start={"city": "a"}, end={"city": "b"})["end"] == Place("b")


@dataclass
class Folder:
    name: str
    folders: list[Folder] = field(default_factory=list)


def test_a_type_may_contain_itself() -> None:
    tree = {"name": "a", "folders": [{"name": "b"}, {"name": "c", "folders": [{"name": "d"}]}]}

    made = given(of(Folder), it=tree)["it"]

    assert made == Folder("a", [Folder("b"), Folder("c", [Folder("d")])])


class Circle(msgspec.Struct, tag="circle"):
    radius: float


class Square(msgspec.Struct, tag="square"):
    side: float


def test_tagged_structs_are_told_apart() -> None:
    made = of(Circle | Square)

    assert given(made, it={"type": "square", "side": 2})["it"] == Square(2.0)
    assert given(made, it={"type": "circle", "radius": 2})["it"] == Circle(2.0)


def test_types_that_only_the_function_around_knows_are_found() -> None:
    @dataclass
    class Local:
        x: int

    def take(it: Local) -> object:
        return it

    assert given(tool(take), it={"x": 1})["it"] == Local(1)


def test_whole_numbers_may_be_written_with_a_point() -> None:
    assert given(of(int), it=5.0) == {"it": 5}
    assert given(of(list[Place] | dict[str, list[int]]), it={"a": [5.0]}) == {"it": {"a": [5]}}


# -- descriptions ---------------------------------------------------------------------------------


def test_the_docstring_describes_parameters_that_their_types_do_not() -> None:
    @tool
    def find(word: str, limit: Annotated[int, "How many."] = 5) -> object:
        """Find words.

        Args:
            word: What to find.
            limit: Less than the annotation.

        """
        return word, limit

    said = find.parameters["properties"]
    assert find.description == "Find words."
    assert said["word"]["description"] == "What to find."  # type: ignore[index, call-overload]
    assert said["limit"]["description"] == "How many."  # type: ignore[index, call-overload]


def test_a_description_of_anything_in_annotated_counts() -> None:
    @dataclass
    class Note:
        description: str
        more: list[int] = field(default_factory=list)  # which makes it unhashable

    assert schema_of(Annotated[int, Note("How many.")])["description"] == "How many."
    by_pydantic = Annotated[int, pydantic.Field(description="How many.")]
    assert schema_of(by_pydantic)["description"] == "How many."


# -- models that describe themselves --------------------------------------------------------------


class Guest(pydantic.BaseModel):
    name: str = pydantic.Field(description="Full name", max_length=10)
    age: int | None = None


class Stay(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)

    guest: Guest
    arrival: dt.date
    departure: dt.date

    @pydantic.model_validator(mode="after")
    def has_a_night(self) -> Stay:
        if self.departure <= self.arrival:
            raise ValueError("it has no night")
        return self


def test_a_pydantic_model_describes_itself() -> None:
    assert schema_of(Guest) == {
        "type": "object",
        "properties": {
            "name": {"description": "Full name", "maxLength": 10, "type": "string"},
            "age": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


def test_arguments_become_pydantic_models_also_inside_other_types() -> None:
    anna = Guest(name="Anna")

    assert given(of(Guest), it={"name": "Anna"})["it"] == anna
    assert given(of(list[Guest]), it=[{"name": "Anna"}])["it"] == [anna]
    assert given(of(Guest | None), it=None)["it"] is None


def test_a_strict_pydantic_model_takes_dates_as_json_spells_them() -> None:
    days = {"arrival": "2026-03-01", "departure": "2026-03-02"}

    stay = given(of(Stay), it={"guest": {"name": "Anna"}, **days})["it"]

    assert stay.arrival == DAY


def test_what_a_pydantic_model_refuses_the_model_is_told() -> None:
    days = {"arrival": "2026-03-01", "departure": "2026-03-01"}

    with pytest.raises(ToolError, match=r"it: expected a valid value .*it has no night"):
        given(of(Stay), it={"guest": {"name": "Anna"}, **days})
    with pytest.raises(ToolError, match=r"it\.guest\.name: expected at most 10 characters"):
        given(of(Stay), it={"guest": {"name": "Anna" * 5}, **days})


def test_two_models_of_one_name_are_told_apart() -> None:
    def models(kind: type) -> type[pydantic.BaseModel]:
        inner = pydantic.create_model("Inner", x=(kind, ...))
        return pydantic.create_model("Outer", one=(inner, ...), two=(inner, ...))

    numbers, words = models(int), models(str)

    def take(numbers: object, words: object) -> object:
        return numbers, words

    take.__annotations__.update(numbers=numbers, words=words)
    made = tool(take)

    one = {"one": {"x": 1}, "two": {"x": 2}}
    other = {"one": {"x": "a"}, "two": {"x": "b"}}
    assert given(made, numbers=one, words=other)
    with pytest.raises(ToolError, match=r"words\.one\.x: expected a string"):
        given(made, numbers=one, words=one)


# -- refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize("annotation", [object, complex, Callable[[int], int], type[int]])
def test_a_type_that_json_cannot_say_is_refused_and_named(annotation: Any) -> None:
    with pytest.raises(Invalid, match="expected a type that JSON can say for it of take, found"):
        of(annotation)


def test_two_types_that_nobody_could_tell_apart_are_refused() -> None:
    def local(kind: type) -> type:
        return make_dataclass("Local", [("x", kind)])

    def take(one: object, other: object) -> object:
        return one, other

    take.__annotations__.update(one=local(int), other=local(str))
    with pytest.raises(Invalid, match=r"different names in take, found two that are .*Local"):
        tool(take)


def test_a_type_that_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(Invalid, match="it has no type: division by zero"):
        of("list[1 / 0]")
