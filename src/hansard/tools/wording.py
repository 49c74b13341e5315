"""JSON values and schemas in words, for the model that wrote the one and is to follow the other.

What it wrote is repeated, but never at length: it stands in the conversation already.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from .. import rawjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..rawjson import JSON, JSONObject

__all__ = ["Mismatch", "Path", "allowed_kinds", "either", "expected", "kind_of", "no_such", "shown"]

Path = tuple[str | int, ...]
"""The way to a value: names in objects, indexes in arrays."""

_ECHO_MAX = 40
_NAMES_MAX = 20

_KINDS = {
    "string": "a string",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "object": "an object",
    "array": "an array",
}

_KINDS_OF_TYPES: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class Mismatch(NamedTuple):
    """Where a value is not what it should be."""

    path: Path
    expected: str
    found: str

    def within(self, whole: str) -> str:
        """Say it in a line; ``whole`` is what the outermost value is called."""
        return f"{_spelled(self.path) or whole}: expected {self.expected}, got {self.found}"


def _spelled(path: Path) -> str:
    said = ""
    for step in path:
        if isinstance(step, int):
            said += f"[{step}]"
        else:
            name = _cut(rawjson.quote(step).decode()[1:-1])
            said += f".{name}" if said else name
    return said


def kind_of(value: JSON) -> str:
    """Name the kind of a JSON value, in JSON schema's words."""
    return _KINDS_OF_TYPES[type(value)]


def allowed_kinds(schema: JSONObject) -> list[str]:
    """The types that a schema names. OpenAPI spells them in capitals, and null as a flag.

    None at all allow everything, and so does a type that nobody knows.
    """
    said = schema.get("type")
    named = said if isinstance(said, list) else [said]
    kinds = [kind.lower() for kind in named if isinstance(kind, str)]
    if not all(kind in _KINDS for kind in kinds):
        return []
    return [*kinds, "null"] if kinds and schema.get("nullable") is True else kinds


def expected(schema: JSON) -> str:
    """Say what a schema wants."""
    if not isinstance(schema, dict):
        return "a value"
    if isinstance(choices := schema.get("enum"), list) and choices:
        listed = _listed([rawjson.dump(choice).decode() for choice in choices])
        return f"one of {listed}" if choices[1:] else listed
    if "const" in schema:
        return expected({"enum": [schema["const"]]})
    options = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(options, list) and options:
        return either([expected(option) for option in options])
    return either([_KINDS[kind] for kind in allowed_kinds(schema)] or ["a value"])


def either(wanted: Iterable[str]) -> str:
    """Join what would all do."""
    *first, last = dict.fromkeys(wanted)
    return f"{', '.join(first)} or {last}" if first else last


def no_such(known: JSONObject) -> str:
    """Say which names an object may have, where it has another."""
    return f"no such name (there {'are: ' + _listed(known) if known else 'is none'})"


def shown(value: JSON) -> str:
    """Say what was found, repeating only little of it."""
    kind = kind_of(value)
    if kind in ("object", "array", "null"):
        return _KINDS[kind]
    if isinstance(value, float) and not math.isfinite(value):
        return "a number beyond what can be counted"
    spelled = _cut(rawjson.dump(value).decode())
    if kind == "boolean":
        return spelled
    return f"{'a string' if kind == 'string' else 'a number'} ({spelled})"


def _listed(names: Iterable[str]) -> str:
    few = [_cut(name) for name in names]
    return ", ".join([*few[:_NAMES_MAX], "…"] if len(few) > _NAMES_MAX else few)


def _cut(text: str) -> str:
    return text if len(text) <= _ECHO_MAX else f"{text[:_ECHO_MAX]}…"
