"""Schemas of answers, as each service takes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import pytest

import hansard
from hansard import Unsayable
from hansard.dialects.dialect import Ask
from hansard.dialects.schemas import STRUCTURE, is_closed, narrowed
from hansard.testing.wire_rules import RULEBOOKS
from hansard.testing.wire_rules.rule import WireRequest
from hansard.tools.outputs import output_schema

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")


@dataclass
class Trip:
    """A trip."""

    city: Annotated[str, msgspec.Meta(max_length=40)]
    nights: Annotated[int, msgspec.Meta(ge=1, le=30, description="How many")]
    days: Annotated[list[int], msgspec.Meta(min_length=2)]
    seat: tuple[int, str]
    kind: Literal["rail", "air"] = "rail"
    note: str | None = None


@dataclass
class Node:
    """A node."""

    name: str
    next: Node | None = None


def asked(dialect: str, kind: object) -> dict[str, Any]:
    """Give the schema that is asked for, and what stands beside it."""
    ask = Ask("test-1", output=output_schema(kind)[0])
    request = hansard.dialect(dialect).request(ask)
    book = RULEBOOKS[dialect]
    said = json.loads(request.body)
    said.pop("messages", said.pop("input", said.pop("contents", None)))
    right = json.loads(book.right.body)
    merged = WireRequest(
        book.right.path, book.right.headers, json.dumps({**right, **said}).encode()
    )
    assert [words for _, words in book.broken(merged, strict=True)] == []
    form: dict[str, Any]
    match dialect:
        case "openai":
            form = said["response_format"]["json_schema"]
        case "openai-responses":
            form = said["text"]["format"]
        case "anthropic":
            form = said["output_config"]["format"]
        case _:
            form = {"schema": said["generationConfig"]["responseJsonSchema"]}
    return form


KINDS: list[object] = [Trip, list[Trip], int, Literal["a", "b"], tuple[int, str], str | None]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_common_types_are_asked_for_as_the_service_takes_them(dialect: str, kind: object) -> None:
    assert asked(dialect, kind).get("strict", True)


def test_limits_that_anthropic_refuses_are_told_in_words() -> None:
    properties = asked("anthropic", Trip)["schema"]["properties"]
    assert properties["nights"] == {
        "type": "integer",
        "description": "How many\n\n{minimum: 1, maximum: 30}",
    }
    assert properties["city"] == {"type": "string", "description": "{maxLength: 40}"}
    assert properties["days"]["description"] == "{minItems: 2}"
    assert properties["seat"]["items"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert "prefixItems" in properties["seat"]["description"]
    assert properties["kind"] == {"type": "string", "enum": ["air", "rail"]}


@pytest.mark.parametrize("dialect", ["openai", "openai-responses"])
def test_limits_that_openai_takes_stay(dialect: str) -> None:
    properties = asked(dialect, Trip)["schema"]["properties"]
    assert properties["nights"]["minimum"] == 1
    assert properties["days"]["minItems"] == 2
    assert properties["city"] == {"type": "string", "description": "{maxLength: 40}"}


@pytest.mark.parametrize("dialect", ["openai", "openai-responses"])
@pytest.mark.parametrize("kind", [dict[str, int], list, Any])
def test_openai_is_not_strict_about_what_is_open(dialect: str, kind: object) -> None:
    form = asked(dialect, kind)
    assert form["strict"] is False
    assert form["schema"] == output_schema(kind)[0]


@pytest.mark.parametrize("dialect", ["openai", "openai-responses"])
def test_openai_is_not_strict_about_what_need_not_be_given(dialect: str) -> None:
    schema: Any = {**output_schema(Trip)[0], "required": ["city"]}
    request = hansard.dialect(dialect).request(Ask("test-1", output=schema))
    assert b'"strict":false' in request.body


@pytest.mark.parametrize(
    ("kind", "words"),
    [(dict[str, int], "any names"), (list, "a list of anything"), (Any, "any kind")],
)
def test_what_is_open_cannot_be_told_to_anthropic(kind: object, words: str) -> None:
    with pytest.raises(Unsayable, match=words) as error:
        asked("anthropic", kind)
    assert error.value.dialect == "anthropic"


def test_what_stands_inside_itself_cannot_be_told_to_anthropic() -> None:
    with pytest.raises(Unsayable, match="stands inside itself"):
        asked("anthropic", Node)
    for dialect in ("openai", "openai-responses", "gemini"):
        assert asked(dialect, Node)


def test_nothing_stands_beside_a_reference() -> None:
    schema: Any = {"properties": {"a": {"$ref": "#/$defs/A", "description": "One."}}}
    assert narrowed(schema, STRUCTURE) == {
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/A"}], "description": "One."}}
    }


def test_what_is_taken_is_left_as_it_is() -> None:
    schema = output_schema(Node)[0]
    assert narrowed(schema, STRUCTURE) == schema


def test_one_of_is_any_of() -> None:
    assert narrowed({"oneOf": [{"type": "null"}]}, STRUCTURE) == {"anyOf": [{"type": "null"}]}


def test_a_format_that_is_not_taken_is_told_in_words() -> None:
    taken = {**STRUCTURE, "format": ("date",)}
    assert narrowed({"type": "string", "format": "date"}, taken)["format"] == "date"
    assert narrowed({"type": "string", "format": "uri"}, taken) == {
        "type": "string",
        "description": '{format: "uri"}',
    }


@pytest.mark.parametrize(
    ("schema", "closed"),
    [
        ({"type": "integer"}, True),
        ({}, False),
        ({"type": "object"}, False),
        ({"type": "object", "additionalProperties": False}, True),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, False),
        ({"type": "array"}, False),
        ({"type": "array", "items": {"type": "object"}}, False),
        ({"anyOf": [{"type": "null"}, {"enum": [1]}]}, True),
    ],
)
def test_a_schema_is_closed_where_everything_in_it_is(schema: Any, closed: bool) -> None:
    assert is_closed(schema) is closed
