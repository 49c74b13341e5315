"""Schemas of answers, in the part of JSON schema that a service takes.

What a service refuses in a schema, such as limits, is put into words beside it: the model reads
it, and whoever reads the answer checks it all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias

from .. import rawjson
from ..subschemas import rewrite

if TYPE_CHECKING:
    from ..rawjson import JSON, JSONObject

__all__ = ["STRUCTURE", "Taken", "every", "is_closed", "narrowed"]

Taken: TypeAlias = "Mapping[str, Collection[JSON] | None]"
"""The keywords that a service takes, each with the values that it takes there; None for any."""

STRUCTURE: Taken = dict.fromkeys(
    (
        "$ref",
        "$defs",
        "type",
        "enum",
        "const",
        "anyOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "description",
    )
)
"""What every service takes."""

_SAYS = ("type", "enum", "const", "anyOf", "$ref")


def narrowed(schema: JSONObject, taken: Taken) -> JSONObject:
    """Say a schema in what is taken; the rest goes into the descriptions."""

    def narrow(inner: JSONObject) -> JSONObject:
        plain = _plain(inner)
        kept = {key: value for key, value in plain.items() if _is_taken(key, value, taken)}
        left = {key: value for key, value in plain.items() if key not in kept}
        return _described(kept, left) if left else kept

    made = rewrite(schema, narrow)
    assert isinstance(made, dict)  # noqa: S101 - an object is rewritten to an object
    return made


def is_closed(schema: JSONObject) -> bool:
    """Whether all that may stand in an answer is said: no open objects, no values of any kind."""
    return every(schema, _is_closed)


def every(schema: JSONObject, holds: Callable[[JSONObject], bool]) -> bool:
    """Whether something holds of a schema and of each inside it."""
    seen: list[bool] = []

    def note(inner: JSONObject) -> JSONObject:
        seen.append(holds(inner))
        return inner

    rewrite(schema, note)
    return all(seen)


def _is_closed(schema: JSONObject) -> bool:
    kind = schema.get("type")
    if kind == "array" or "items" in schema:
        return isinstance(schema.get("items"), dict)
    if kind == "object" or "properties" in schema:
        return schema.get("additionalProperties") is False
    return any([key in schema for key in _SAYS])


def _is_taken(key: str, value: JSON, taken: Taken) -> bool:
    if key not in taken:
        return False
    values = taken[key]
    return values is None or value in values


def _plain(schema: JSONObject) -> JSONObject:
    """Say the same, or a little less, in more common words."""
    made = dict(schema)
    if isinstance(choices := made.pop("oneOf", None), list):
        made.setdefault("anyOf", choices)
    if isinstance(places := made.get("prefixItems"), list) and places:
        kinds = [kind for at, kind in enumerate(places) if kind not in places[:at]]
        made["items"] = {"anyOf": kinds} if kinds[1:] else kinds[0]
    if "$ref" in made and len(made) > 1 and "$defs" not in made:
        made["anyOf"] = [{"$ref": made.pop("$ref")}]  # Nothing may stand beside a reference.
    return made


def _described(kept: JSONObject, left: JSONObject) -> JSONObject:
    words = kept.get("description")
    more = ", ".join([f"{key}: {rawjson.dump(value).decode()}" for key, value in left.items()])
    return {**kept, "description": f"{words}\n\n{{{more}}}" if words else f"{{{more}}}"}
