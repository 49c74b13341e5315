"""Going through JSON schemas: to every schema inside one, and to what it refers to.

A JSON object is a schema only in certain places: below ``properties``, the keys are names that
the caller chose. Everything that changes schemas goes through `rewrite`, which knows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .rawjson import JSON, JSONObject

__all__ = ["REFERENCE", "gather_definitions", "inline_definitions", "is_recursive", "rewrite"]

REFERENCE = "#/$defs/"

_BY_NAME = ("properties", "$defs", "patternProperties", "dependentSchemas")
_ONE = ("items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else")
_MANY = ("prefixItems", "anyOf", "oneOf", "allOf")


def rewrite(schema: JSON, change: Callable[[JSONObject], JSONObject]) -> JSON:
    """Make a schema anew from the inside out; ``change`` is given each, already remade inside."""
    if not isinstance(schema, dict):
        return schema  # true and false are schemas too
    made: JSONObject = {}
    for key, value in schema.items():
        if key in _BY_NAME and isinstance(value, dict):
            made[key] = {name: rewrite(inner, change) for name, inner in value.items()}
        elif key in _ONE:
            made[key] = rewrite(value, change)
        elif key in _MANY and isinstance(value, list):
            made[key] = [rewrite(inner, change) for inner in value]
        else:
            made[key] = value
    return change(made)


def gather_definitions(schema: JSONObject) -> JSONObject:
    """Bring the definitions of all schemas inside to the top, where references point.

    A type that describes itself brings its own. Two of one name that differ are told apart.
    """
    gathered: JSONObject = {}

    def gather(inner: JSONObject) -> JSONObject:
        found = inner.get("$defs")
        if not isinstance(found, dict):
            return inner
        names = {name: _free_name(gathered, name, body) for name, body in found.items()}
        gathered.update({names[name]: _renamed(body, names) for name, body in found.items()})
        rest: JSONObject = {key: value for key, value in inner.items() if key != "$defs"}
        return _renamed(rest, names)

    top = rewrite(schema, gather)
    assert isinstance(top, dict)  # noqa: S101 - an object is rewritten to an object
    return {**top, "$defs": gathered} if gathered else top


def _free_name(taken: JSONObject, name: str, body: JSON) -> str:
    number, free = 1, name
    while free in taken and taken[free] != body:
        number += 1
        free = f"{name}_{number}"
    return free


def _renamed(schema: JSON, names: dict[str, str]) -> JSONObject:
    def rename(inner: JSONObject) -> JSONObject:
        name = _referred(inner)
        return {**inner, "$ref": REFERENCE + names[name]} if name in names else inner

    made = rewrite(schema, rename)
    return made if isinstance(made, dict) else {}


def inline_definitions(schema: JSONObject) -> JSONObject:
    """Put each definition that is used once where it is used, and drop those that are not.

    Those used twice stay definitions, so that a schema never grows; so do recursive ones.
    """
    while isinstance(found := schema.get("$defs"), dict):
        rest: JSONObject = {key: value for key, value in schema.items() if key != "$defs"}
        uses = Counter(_references({**rest, "$defs": found}))
        outer = set(_reachable(rest, found))
        kept: JSONObject = {name: body for name, body in found.items() if name in outer}
        once = next((name for name in kept if uses[name] == 1), None)
        if once is None and len(kept) == len(found):
            return schema
        if once is not None:
            body = kept.pop(once)
            rest = _inlined(rest, once, body)
            kept = {name: _inlined(inner, once, body) for name, inner in kept.items()}
        schema = {**rest, "$defs": kept} if kept else rest
    return schema


def is_recursive(schema: JSONObject) -> bool:
    """Whether a definition leads back to itself."""
    found = schema.get("$defs")
    definitions = found if isinstance(found, dict) else {}
    return any([name in _reachable(body, definitions) for name, body in definitions.items()])


def _inlined(schema: JSON, name: str, body: JSON) -> JSONObject:
    def inline(inner: JSONObject) -> JSONObject:
        if _referred(inner) != name or not isinstance(body, dict):
            return inner
        # What stands beside a reference says more of this one use.
        return {**body, **{key: value for key, value in inner.items() if key != "$ref"}}

    made = rewrite(schema, inline)
    return made if isinstance(made, dict) else {}


def _reachable(schema: JSON, definitions: JSONObject) -> Iterator[str]:
    seen: set[str] = set()
    waiting = _references(schema)
    while waiting:
        name = waiting.pop()
        if name not in seen and name in definitions:
            seen.add(name)
            waiting += _references(definitions[name])
            yield name


def _references(schema: JSON) -> list[str]:
    found: list[str] = []

    def note(inner: JSONObject) -> JSONObject:
        name = _referred(inner)
        if name is not None:
            found.append(name)
        return inner

    rewrite(schema, note)
    return found


def _referred(schema: JSONObject) -> str | None:
    said = schema.get("$ref")
    if isinstance(said, str) and said.startswith(REFERENCE):
        return said.removeprefix(REFERENCE)
    return None
