"""Checks of the schemas that answers are to follow, and of every schema inside one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from .shape import find, members, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...rawjson import JSON, JSONObject
    from .rule import Check, WireRequest

__all__ = ["at", "closed", "requires_all", "strictly_at", "takes", "without_itself"]

Schemas: TypeAlias = "Callable[[WireRequest], Iterator[tuple[str, JSON]]]"
"""Gives the schemas that a check is about, each with its place."""

_BY_NAME = ("properties", "$defs", "definitions")
_ONE = ("items", "additionalProperties")
_MANY = ("anyOf", "allOf", "oneOf", "prefixItems")
_SAYS = ("type", "enum", "const", "$ref", *_MANY)


def inside(schema: JSON, where: str) -> Iterator[tuple[str, JSONObject]]:
    """Give a schema and each inside it, with its place."""
    if not isinstance(schema, dict):
        return
    yield where, schema
    for key in _BY_NAME:
        for name, inner in members(schema.get(key)).items():
            yield from inside(inner, f"{where}.{key}.{name}")
    for key in _ONE:
        yield from inside(schema.get(key), f"{where}.{key}")
    for key in _MANY:
        choices = schema.get(key)
        for at, inner in enumerate(choices if isinstance(choices, list) else ()):
            yield from inside(inner, f"{where}.{key}[{at}]")


def at(path: str) -> Schemas:
    """Give the schema that a path leads to."""
    return lambda request: find(request.json, path)


def strictly_at(path: str) -> Schemas:
    """Give the schema in what a path leads to, if that is strict."""

    def given(request: WireRequest) -> Iterator[tuple[str, JSON]]:
        for where, format_ in find(request.json, path):
            if members(format_).get("strict") is True:
                yield f"{where}.schema", members(format_).get("schema")

    return given


def _each(request: WireRequest, schemas: Schemas) -> Iterator[tuple[str, JSONObject]]:
    for where, schema in schemas(request):
        yield from inside(schema, where)


def closed(schemas: Schemas) -> Check:
    """Expect every object to say that it takes no other names, and every schema to say a type."""

    def check(request: WireRequest) -> Iterator[str]:
        for where, schema in _each(request, schemas):
            if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
                yield f"{where}: for 'object' type, 'additionalProperties' must be set to false"
            if schema.get("type") == "array" and not isinstance(schema.get("items"), dict):
                yield f"{where}: array schema missing items"
            if not any(key in schema for key in _SAYS):
                yield f"{where}: schema must have a 'type' key"

    return check


def requires_all(schemas: Schemas) -> Check:
    """Expect every object to require all that it names."""

    def check(request: WireRequest) -> Iterator[str]:
        for where, schema in _each(request, schemas):
            required = schema.get("required")
            known = required if isinstance(required, list) else []
            for name in members(schema.get("properties")):
                if name not in known:
                    yield f"{where}: 'required' is missing {name!r}"

    return check


def takes(schemas: Schemas, *refused: str) -> Check:
    """Expect none of some keywords. One may be written with the values that it can have."""

    def check(request: WireRequest) -> Iterator[str]:
        for where, schema in _each(request, schemas):
            for each in refused:
                key, _, values = each.partition("=")
                if key in schema and str(schema[key]) not in values.split("|"):
                    yield f"{where}: property {key!r} is not supported"

    return check


def without_itself(schemas: Schemas) -> Check:
    """Expect no definition that leads back to itself."""

    def check(request: WireRequest) -> Iterator[str]:
        for where, schema in schemas(request):
            definitions = members(members(schema).get("$defs"))
            refers = {name: _refers(inner) for name, inner in definitions.items()}
            for name in definitions:
                seen, waiting = set[str](), [*refers[name]]
                while waiting and name not in seen:
                    seen.add(waiting[-1])
                    waiting += refers.get(waiting.pop(), set()) - seen
                if name in seen:
                    yield f"{where}.$defs.{name}: recursive schemas are not supported"

    return check


def _refers(schema: JSON) -> set[str]:
    found = [text(inner.get("$ref")) for _, inner in inside(schema, "")]
    return {each.removeprefix("#/$defs/") for each in found if each}
