"""Answers of a type."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from hansard.errors import Invalid, OutputMismatch
from hansard.tools.outputs import decode, output_schema


@dataclass
class Place:
    city: str
    country: str = "JP"


class Point(msgspec.Struct):
    x: float


class Filter(TypedDict):
    word: str


class Guest(pydantic.BaseModel):
    name: str = pydantic.Field(max_length=5)
    age: int | None = None


@dataclass
class Folder:
    name: str
    folders: list[Folder] = field(default_factory=list)


TYPES: list[tuple[Any, str, object]] = [
    (Place, '{"city":"Tokyo","country":"JP"}', Place("Tokyo")),
    (Point, '{"x":1}', Point(1.0)),
    (Filter, '{"word":"a"}', {"word": "a"}),
    (Guest, '{"name":"Anna","age":null}', Guest(name="Anna")),
    (Folder, '{"value":{"name":"a","folders":[]}}', Folder("a")),
    (int, '{"value":3}', 3),
    (list[Place], '{"value":[{"city":"a","country":"b"}]}', [Place("a", "b")]),
    (str, '{"value":"a"}', "a"),
    (dict[str, int], '{"value":{"a":1}}', {"a": 1}),
    (Literal["yes", "no"], '{"value":"no"}', "no"),
    (Place | None, '{"value":null}', None),
    (dt.date, '{"value":"2026-03-01"}', dt.date(2026, 3, 1)),
]


@pytest.mark.parametrize(("kind", "text", "value"), TYPES, ids=[str(row[0]) for row in TYPES])
def test_the_schema_is_of_a_closed_object_in_which_all_is_required(
    kind: Any, text: str, value: object
) -> None:
    schema, is_wrapped = output_schema(kind)

    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(schema["properties"])  # type: ignore[arg-type]
    assert is_wrapped == text.startswith('{"value"')
    assert decode(kind, text) == value


def test_no_default_is_left_in_the_schema() -> None:
    schema, _ = output_schema(list[Place])

    assert b"default" not in msgspec.json.encode(schema)
    assert b'"required":["city","country"]' in msgspec.json.encode(schema)


def test_an_answer_may_leave_out_what_has_a_default_and_have_space_around_it() -> None:
    assert decode(Place, '\n {"city": "Tokyo"} \n') == Place("Tokyo")


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        (Place, "Tokyo, I think.", "of the type Place, found what is none (expected JSON"),
        (Place, "", "(expected JSON"),
        (Place, '{"city":1}', "(city: expected a string, got a number (1))"),
        (Place, "[]", "(the answer: expected an object, got an array)"),
        (Place, "{}", "(city: expected a string, got nothing)"),
        (Place, '{"city":"a","town":"b"}', "town: expected no such name"),
        (int, "3", "(the answer: expected an object, got a number (3))"),
        (int, '{"value":"3"}', "(value: expected a whole number"),
        (dt.date, '{"value":"today"}', "(value: expected a valid RFC3339 encoded date"),
        (Guest, '{"name":"Anna Bell"}', "(name: expected at most 5 characters"),
        (list[Place], '{"value":[{"city":1},{}]}', "(value[0].city: expected a string"),
    ],
)
def test_an_answer_of_another_type_is_an_error_with_its_text(
    kind: Any, text: str, said: str
) -> None:
    with pytest.raises(OutputMismatch) as caught:
        decode(kind, text)

    assert said in str(caught.value)
    assert caught.value.text == text


def test_a_type_that_json_cannot_say_is_refused() -> None:
    with pytest.raises(Invalid, match="expected a type that JSON can say"):
        output_schema(object)
