"""The schema of an answer, in the part of JSON schema that Anthropic takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import Unsayable
from ...subschemas import is_recursive
from ..schemas import STRUCTURE, is_closed, narrowed

if TYPE_CHECKING:
    from ...rawjson import JSONObject
    from ..schemas import Taken

__all__ = ["say_schema"]

_TAKEN: Taken = {
    **STRUCTURE,
    "allOf": None,
    "default": None,
    "format": [
        "date-time",
        "time",
        "date",
        "duration",
        "email",
        "hostname",
        "uri",
        "ipv4",
        "ipv6",
        "uuid",
    ],
    "minItems": (0, 1),
}


def say_schema(schema: JSONObject) -> JSONObject:
    """Say a schema. Raises `Unsayable` for one that the service has no way to follow."""
    said = narrowed(schema, _TAKEN)
    if is_recursive(said):
        found = "one that stands inside itself"
    elif not is_closed(said):
        found = "one with an object of any names, a list of anything or a value of any kind"
    else:
        return said
    raise Unsayable(
        f"expected a type for output= all of which can be told to Anthropic, found {found}: "
        "give it fields of known types, or ask for text and read it yourself",
        dialect="anthropic",
    )
