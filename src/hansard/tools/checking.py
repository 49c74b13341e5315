"""Checking a JSON value against a JSON schema, worded for the model that wrote it.

This is the part of JSON schema that describes arguments: types, choices, objects, arrays,
limits, references. Patterns and formats are for the type that the value becomes; keywords that
are not known here allow everything.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeGuard

from .wording import Mismatch, Path, allowed_kinds, either, expected, kind_of, no_such, shown

if TYPE_CHECKING:
    from ..rawjson import JSON, JSONObject

__all__ = ["MISMATCHES_MAX", "mismatches"]

MISMATCHES_MAX = 10
"""How many mistakes are told at once."""

_STEPS_MAX = 100_000
_DEPTH_MAX = 64
"""How deep a value is looked into. Far from Python's own limit."""

_Names = tuple[str, ...]


def mismatches(value: JSON, schema: JSONObject) -> list[Mismatch]:
    """List where a value does not follow a schema, in order, the first few of them."""
    return list(islice(_Checker(schema).check(value, schema, (), ()), MISMATCHES_MAX))


class _Checker:
    """One check. It counts its steps, since a schema can ask for exponentially many."""

    def __init__(self, root: JSONObject) -> None:
        self._root = root
        self._steps = 0

    def check(self, value: JSON, schema: JSON, path: Path, seen: _Names) -> Iterator[Mismatch]:
        """Yield what is wrong; ``seen`` are the references that led here from this same value."""
        self._steps += 1
        if self._steps > _STEPS_MAX:
            yield Mismatch(path, "something simpler", "too many possibilities to check")
        elif len(path) > _DEPTH_MAX:
            yield Mismatch(path, "something nested less deeply", shown(value))
        elif schema is False:
            yield Mismatch(path, "nothing", shown(value))
        elif isinstance(schema, dict):
            if not _COMBINING.isdisjoint(schema):
                yield from self._combined(value, schema, path, seen)
            yield from self._alone(value, schema, path)

    def _combined(
        self, value: JSON, schema: JSONObject, path: Path, seen: _Names
    ) -> Iterator[Mismatch]:
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            yield from self.check(value, self._find(reference), path, (*seen, reference))
        for key in ("anyOf", "oneOf"):
            if isinstance(options := schema.get(key), list):
                yield from self._any(value, options, path, seen)
        if isinstance(parts := schema.get("allOf"), list):
            for part in parts:
                yield from self.check(value, part, path, seen)

    def _find(self, reference: str) -> JSON:
        found: JSON = self._root
        for name in reference.removeprefix("#").split("/")[1:]:
            key = name.replace("~1", "/").replace("~0", "~")
            found = found.get(key, True) if isinstance(found, dict) else True
        return found

    def _any(
        self, value: JSON, options: list[JSON], path: Path, seen: _Names
    ) -> Iterator[Mismatch]:
        """Where no option fits, speak of the one that was meant.

        That is one whose tags the value has, in which the first mistake lies deepest, and which
        has the fewest.
        """
        tried: list[list[Mismatch]] = []
        for option in [each for each in options if self._may_be_meant(value, each)] or options:
            wrong = list(islice(self.check(value, option, path, seen), MISMATCHES_MAX))
            if not wrong:
                return
            tried.append(wrong)
        if not tried:
            return
        meant = min(tried, key=lambda wrong: (-len(wrong[0].path), len(wrong)))
        alike = [wrong[0] for wrong in tried if wrong[0].path == meant[0].path]
        if alike[1:]:
            yield meant[0]._replace(expected=either([mismatch.expected for mismatch in alike]))
        else:
            yield from meant

    def _may_be_meant(self, value: JSON, option: JSON) -> bool:
        """Whether an object has all the constants that an option would have in their places."""
        if isinstance(option, dict) and isinstance(reference := option.get("$ref"), str):
            option = self._find(reference)
        known = option.get("properties") if isinstance(option, dict) else None
        if not isinstance(known, dict) or not isinstance(value, dict):
            return True
        tags = {name: each for name, each in known.items() if name in value and _is_tag(each)}
        return all([_is_allowed(value[name], tag) for name, tag in tags.items()])

    def _alone(self, value: JSON, schema: JSONObject, path: Path) -> Iterator[Mismatch]:
        """Check what a schema says itself, without the schemas that it combines."""
        if not _is_allowed(value, schema):
            yield Mismatch(path, expected(schema), shown(value))
        elif isinstance(value, dict):
            yield from self._object(value, schema, path)
        elif isinstance(value, list):
            yield from self._array(value, schema, path)
        elif not _LIMITING.isdisjoint(schema) and (limit := _beyond(value, schema)) is not None:
            yield Mismatch(path, limit, shown(value))

    def _object(self, value: JSONObject, schema: JSONObject, path: Path) -> Iterator[Mismatch]:
        known = schema.get("properties")
        if not isinstance(known, dict):
            known = {}
        for name, inner in known.items():
            if name in value:
                yield from self.check(value[name], inner, (*path, name), ())
        required = schema.get("required")
        for needed in required if isinstance(required, list) else ():
            if isinstance(needed, str) and needed not in value:
                yield Mismatch((*path, needed), expected(known.get(needed)), "nothing")
        more = schema.get("additionalProperties", True)
        for name in () if more is True or "patternProperties" in schema else value:
            if name in known:
                continue
            if more is False:
                yield Mismatch((*path, name), no_such(known), "one")
            else:
                yield from self.check(value[name], more, (*path, name), ())
        if limit := _beyond_size(len(value), schema, ("minProperties", "maxProperties"), "members"):
            yield Mismatch(path, limit, str(len(value)))

    def _array(self, value: list[JSON], schema: JSONObject, path: Path) -> Iterator[Mismatch]:
        if limit := _beyond_size(len(value), schema, ("minItems", "maxItems"), "items"):
            yield Mismatch(path, limit, str(len(value)))
        first = schema.get("prefixItems")
        kinds = first if isinstance(first, list) else []
        for at, (item, kind) in enumerate(zip(value, kinds, strict=False)):
            yield from self.check(item, kind, (*path, at), ())
        rest = schema.get("items", True)
        for at in range(len(kinds), len(value) if rest is not True else 0):
            yield from self.check(value[at], rest, (*path, at), ())


_COMBINING = frozenset(["$ref", "anyOf", "oneOf", "allOf"])


# -- one value --------------------------------------------------------------------------------


def _is_allowed(value: JSON, schema: JSONObject) -> bool:
    """Whether a value is of a type, and among the choices, that a schema itself allows."""
    if not _is_of_kind(value, schema):
        return False
    choices = schema.get("enum")
    if isinstance(choices, list) and not any([_same(value, choice) for choice in choices]):
        return False
    return "const" not in schema or _same(value, schema["const"])


def _is_tag(schema: JSON) -> TypeGuard[JSONObject]:
    if not isinstance(schema, dict):
        return False
    choices = schema.get("enum")
    return "const" in schema or (isinstance(choices, list) and len(choices) == 1)


def _is_of_kind(value: JSON, schema: JSONObject) -> bool:
    kind = kind_of(value)
    if schema.get("type") == kind and kind != "number":
        return True
    kinds = allowed_kinds(schema)
    if not kinds:
        return True
    if isinstance(value, float):
        # 5.0 is a whole number, and infinity is none that can be told.
        fits = "number" in kinds or ("integer" in kinds and value.is_integer())
        return fits and math.isfinite(value)
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _same(one: JSON, other: JSON) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


_LIMITS = (
    ("minimum", "at least", operator.lt),
    ("maximum", "at most", operator.gt),
    ("exclusiveMinimum", "more than", operator.le),
    ("exclusiveMaximum", "less than", operator.ge),
)
_LIMITING = frozenset([*[key for key, _, _ in _LIMITS], "multipleOf", "minLength", "maxLength"])


def _beyond(value: JSON, schema: JSONObject) -> str | None:
    """Say which limit a string or number goes beyond."""
    if isinstance(value, str):
        return _beyond_size(len(value), schema, ("minLength", "maxLength"), "characters")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    for key, words, breaks in _LIMITS:
        limit = _number(schema, key)
        if limit is not None and breaks(value, limit):
            return f"a number {words} {limit}"
    step = _number(schema, "multipleOf")
    if isinstance(step, int) and isinstance(value, int) and step > 0 and value % step:
        return f"a multiple of {step}"
    return None


def _beyond_size(size: int, schema: JSONObject, keys: tuple[str, str], what: str) -> str | None:
    least, most = _number(schema, keys[0]), _number(schema, keys[1])
    if least is not None and size < least:
        return f"at least {least} {what}"
    if most is not None and size > most:
        return f"at most {most} {what}"
    return None


def _number(schema: JSONObject, key: str) -> int | float | None:
    said = schema.get(key)
    return said if isinstance(said, int | float) and not isinstance(said, bool) else None
