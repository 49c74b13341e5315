"""The JSON schema of what a function takes.

It stands for itself, closes every object (what is not named may not be given), and is the same
bytes each time. msgspec says how each type looks. Types that describe themselves, as pydantic's
models do with ``model_json_schema``, are asked; pydantic itself is never imported.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import operator
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from .. import rawjson
from ..errors import Invalid
from ..subschemas import REFERENCE, gather_definitions, inline_definitions, rewrite
from .signature import Parameter

if TYPE_CHECKING:
    from ..rawjson import JSON, JSONObject

__all__ = ["describes_itself", "enriched", "parameters_schema", "to_builtins"]


def parameters_schema(
    parameters: tuple[Parameter, ...], descriptions: Mapping[str, str], owner: str
) -> JSONObject:
    """Say in a JSON schema what the parameters of ``owner`` take.

    Raises `Invalid`, naming the parameter, for a type that has no JSON.
    """
    for parameter in parameters:
        _check_type(parameter, owner)
    try:
        found, definitions = _schemas([parameter.annotation for parameter in parameters])
    except KeyError as error:
        raise Invalid(
            f"expected types of different names in {owner}, found two that are {error}"
        ) from None
    properties: JSONObject = {}
    for parameter, said in zip(parameters, found, strict=True):
        properties[parameter.name] = _with_more(parameter, said, descriptions)
    schema: JSONObject = {"type": "object", "properties": properties}
    required: list[JSON] = [parameter.name for parameter in parameters if parameter.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    # Gathering meets types that describe themselves before it meets the top.
    gathered = gather_definitions({**schema, "$defs": definitions} if definitions else schema)
    tidied = rewrite(gathered, _tidy)
    assert isinstance(tidied, dict)  # noqa: S101 - an object is rewritten to an object
    return inline_definitions(tidied)


def _check_type(parameter: Parameter, owner: str) -> None:
    try:
        _schemas([parameter.annotation])
    except Exception as error:  # noqa: BLE001 - models that describe themselves may raise anything
        why = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        raise Invalid(
            f"expected a type that JSON can say for {parameter.name} of {owner}, "
            f"found {_name(parameter.annotation)} ({why[0]})"
        ) from None


def _schemas(annotations: list[object]) -> tuple[tuple[JSONObject, ...], JSONObject]:
    found, definitions = msgspec.json.schema_components(
        annotations, schema_hook=_described, ref_template=REFERENCE + "{name}"
    )
    return found, definitions


def _name(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _with_more(
    parameter: Parameter, said: JSONObject, descriptions: Mapping[str, str]
) -> JSONObject:
    """Add the docstring's words, where the type has none, and the default."""
    more: JSONObject = {}
    words = descriptions.get(parameter.name)
    if words and "description" not in said:
        more["description"] = words
    if not parameter.required and (default := _spelled(parameter.default)) is not None:
        more["default"] = rawjson.value(default)
    return {**said, **more}


def _spelled(default: object) -> bytes | None:
    """Spell a default, or give None for one that JSON cannot say. It stays the function's own."""
    if isinstance(default, float) and not math.isfinite(default):
        return None
    try:
        return rawjson.dump(to_builtins(default))
    except Exception:  # noqa: BLE001 - any object may be a default
        return None


def _tidy(schema: JSONObject) -> JSONObject:
    """Close objects, name the type of a choice, and leave out what tells a model nothing."""
    made = {key: value for key, value in schema.items() if key not in ("title", "discriminator")}
    if isinstance(made.get("properties"), dict):
        made.setdefault("additionalProperties", False)
    if made.get("required") == []:
        del made["required"]
    choices = made.get("enum")
    if isinstance(choices, list) and "type" not in made:
        kinds = {_JSON_TYPES.get(type(choice)) for choice in choices}
        if len(kinds) == 1 and (kind := kinds.pop()):
            made = {"type": kind, **made}
    return made


_JSON_TYPES: dict[type, str] = {str: "string", int: "integer"}


# -- types ------------------------------------------------------------------------------------


def describes_itself(kind: object) -> bool:
    """Whether a type makes its own schema and checks its own values, as pydantic's models do."""
    return isinstance(kind, type) and all(
        callable(getattr(kind, name, None)) for name in ("model_json_schema", "model_validate")
    )


def _described(kind: type) -> JSONObject:
    if not describes_itself(kind):
        raise NotImplementedError
    said: JSONObject = kind.model_json_schema()  # type: ignore[attr-defined]
    return said


def to_builtins(value: object) -> object:
    """Turn a value into what JSON is made of. Raises for what has no JSON."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_dumped)


def _dumped(value: object) -> object:
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        raise TypeError(f"{type(value).__name__} has no JSON")
    return dump(mode="json", by_alias=True)


def enriched(annotation: object, default: object) -> object:
    """Give a type the meaning that people write and msgspec does not read.

    Plain text in ``Annotated`` describes; ``description`` of anything there does too. A time is
    said to be one. A parameter whose default is None may be None.
    """
    made = _enriched(annotation)
    return made | None if default is None and not _takes_none(made) else made  # type: ignore[operator]


def _enriched(annotation: object) -> object:
    if annotation is dt.datetime:
        return _TIME
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _annotated(_enriched(inner[0]), inner[1:])
    if origin in (None, typing.Literal) or not inner:
        return annotation
    made = tuple([item if item is ... else _enriched(item) for item in inner])
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, made)
    return origin[made] if hasattr(origin, "__class_getitem__") else annotation


def _annotated(kind: object, metadata: tuple[object, ...]) -> object:
    said: list[object] = []
    for item in metadata:
        words = item if isinstance(item, str) else getattr(item, "description", None)
        if isinstance(item, msgspec.Meta) or not isinstance(words, str):
            said.append(item)
        else:
            said.append(msgspec.Meta(description=words))
    return typing.Annotated[(kind, *said)]


def _takes_none(annotation: object) -> bool:
    if typing.get_origin(annotation) is typing.Annotated:
        return _takes_none(typing.get_args(annotation)[0])
    if annotation in (None, type(None), typing.Any):
        return True
    if typing.get_origin(annotation) is typing.Literal:
        return None in typing.get_args(annotation)
    choices = typing.get_args(annotation) if _is_union(annotation) else ()
    return any(_takes_none(choice) for choice in choices)


def _is_union(annotation: object) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


_TIME = typing.Annotated[dt.datetime, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""msgspec leaves the format unsaid, since it also reads times without a zone."""
