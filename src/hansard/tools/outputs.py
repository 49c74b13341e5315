"""Answers of a type: the JSON schema that a model is to follow, and reading what it wrote.

Providers want the schema of an object, closed, and with everything in it required. What is no
such object goes into one, under the name ``value``.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import DecodeError, OutputMismatch
from ..subschemas import rewrite
from .checking import mismatches
from .converting import convert
from .schema import enriched, parameters_schema
from .signature import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..rawjson import JSONObject

__all__ = ["decode", "output_schema"]

_WRAPPED = "value"


def output_schema(kind: object) -> tuple[JSONObject, bool]:
    """Give the schema of an object for a type, and whether the value stands in it as ``value``.

    It requires also what has a default; `decode` does not. Raises `Invalid` for a type that JSON
    cannot say.
    """
    schema, is_wrapped = _schema(kind)
    demanding = rewrite(schema, _demand)
    assert isinstance(demanding, dict)  # noqa: S101 - an object is rewritten to an object
    return demanding, is_wrapped


def decode(kind: object, text: str) -> object:
    """Make a model's answer into a value of a type.

    Raises `OutputMismatch`, with the text, naming by its path all that does not fit.
    """
    schema, is_wrapped = _schema(kind)
    try:
        given = rawjson.value(rawjson.compact(text.strip().encode("utf-8", "backslashreplace")))
    except DecodeError as error:
        raise _mismatch(kind, text, [str(error)]) from None
    if wrong := mismatches(given, schema):
        raise _mismatch(kind, text, [one.within("the answer") for one in wrong])
    if is_wrapped and isinstance(given, dict):
        given = given[_WRAPPED]
    made = convert(given, _enriched(kind), (_WRAPPED,) if is_wrapped else ())
    if made.mismatch is not None:
        raise _mismatch(kind, text, [made.mismatch.within("the answer")])
    return made.value


def _enriched(kind: object) -> object:
    return enriched(kind, inspect.Parameter.empty)


def _schema(kind: object) -> tuple[JSONObject, bool]:
    it = Parameter(_WRAPPED, _enriched(kind), inspect.Parameter.empty)
    schema = parameters_schema((it,), {}, "output=")
    properties = schema["properties"]
    inner = properties[_WRAPPED] if isinstance(properties, dict) else None
    if not isinstance(inner, dict) or not _is_closed_object(inner):
        return schema, True
    definitions = schema.get("$defs")
    return ({**inner, "$defs": definitions} if definitions else inner), False


def _is_closed_object(schema: JSONObject) -> bool:
    return schema.get("type") == "object" and schema.get("additionalProperties") is False


def _demand(schema: JSONObject) -> JSONObject:
    """Require all that is named, so that no default is needed."""
    made = {key: value for key, value in schema.items() if key != "default"}
    if isinstance(properties := made.get("properties"), dict) and properties:
        made["required"] = list(properties)
    return made


def _mismatch(kind: object, text: str, wrong: Iterable[str]) -> OutputMismatch:
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    found = "; ".join(wrong)
    return OutputMismatch(
        f"expected an answer of the type {name}, found what is none ({found}); its text is on "
        "this error: ask again, or read it yourself",
        text=text,
    )
