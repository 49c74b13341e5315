"""Making a JSON value into a value of a type.

A JSON schema has looked at it before, and has said most of what can be wrong in the model's own
terms. What only the type knows, as a pattern or a date that is none, is said here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from .. import rawjson
from .schema import describes_itself
from .wording import Mismatch, Path, shown

if TYPE_CHECKING:
    from ..rawjson import JSON

__all__ = ["Converted", "convert"]

_AT = re.compile(r"(.*?)(?: - at `(?:key in )?\$(.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"Expected (.*?)(?:, got .*)?", re.DOTALL)
_INVALID = re.compile(r"Invalid (.*)", re.DOTALL)
_WHY_MAX = 200


class Converted(NamedTuple):
    """A value, or what was wrong with it."""

    value: object
    mismatch: Mismatch | None = None


def convert(value: JSON, kind: Any, path: Path = ()) -> Converted:  # noqa: ANN401 - any type form
    """Make a JSON value into one of a type. Types of their own making may refuse it too."""
    try:
        return Converted(_convert(value, kind))
    except Exception as error:  # noqa: BLE001 - the type may be of anybody's making
        first = error
    try:
        return Converted(_convert(_whole(value), kind))
    except Exception:  # noqa: BLE001 - what was wrong with the value as it is says more
        return Converted(None, _mismatch(first, value, path))


def _convert(value: JSON, kind: Any) -> object:  # noqa: ANN401 - any type form
    return msgspec.convert(value, kind, str_keys=True, dec_hook=_validated)


def _whole(value: JSON) -> JSON:
    """Spell whole numbers without a point. JSON schema takes 5.0 for one, msgspec does not."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    return value


def _validated(kind: type, value: Any) -> object:  # noqa: ANN401 - whatever JSON there is
    if not describes_itself(kind):
        raise TypeError(f"Expected `{kind.__name__}`")
    try:
        if callable(strictly := getattr(kind, "model_validate_json", None)):
            # Strict models take a date's text from JSON only.
            return strictly(rawjson.dump(value))
        return kind.model_validate(value)  # type: ignore[attr-defined]
    except Exception as error:  # noqa: BLE001 - models may raise anything
        raise ValueError(f"Invalid value ({_why(error)})") from None


# -- words ------------------------------------------------------------------------------------


def _mismatch(error: Exception, value: JSON, path: Path) -> Mismatch:
    said = _AT.fullmatch(str(error))
    words, where = (said[1], said[2] or "") if said else ("", "")
    steps = [
        name or (int(number) if number.isdigit() else "…") for name, number in _STEP.findall(where)
    ]
    return Mismatch((*path, *steps), _expected(words), shown(_find(value, steps)))


def _expected(words: str) -> str:
    if said := _EXPECTED.fullmatch(words):
        return said[1].replace("`", "")
    if said := _INVALID.fullmatch(words):
        return f"a valid {said[1]}"
    return f"a valid value ({words[:_WHY_MAX]})" if words else "a valid value"


def _why(error: Exception) -> str:
    """Say shortly what a model's own validation found."""
    try:
        found = [(".".join(map(str, one["loc"])), one["msg"]) for one in error.errors()]  # type: ignore[attr-defined]
    except (AttributeError, TypeError, KeyError):
        return str(error)[:_WHY_MAX]
    said = "; ".join([f"{where}: {words}" if where else words for where, words in found])
    return said[:_WHY_MAX]


def _find(value: JSON, steps: list[str | int]) -> JSON:
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
    return value
