"""Checks that need nothing but a path into the body and what is expected there.

A path is made of names, of ``*`` for each element of an array, and of ``*name=one|other`` for those
elements that have a member of such a value (an empty one stands for a missing member). A last name
that is not there is found as null, or not at all if it ends in ``?``. Whatever is missing or odd on
the way leads nowhere: another rule is about that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...rawjson import JSON, JSONObject
    from .rule import Check, WireRequest

__all__ = [
    "ABSENT",
    "FILLED",
    "FILLED_ARRAY",
    "FILLED_TEXT",
    "OBJECT",
    "SAID",
    "TEXT",
    "TOOL_NAME",
    "Expect",
    "at_most",
    "at_most_times",
    "each",
    "exclusive",
    "find",
    "found",
    "known_fields",
    "matching",
    "members",
    "named_in",
    "needs",
    "objects",
    "one_of",
    "text",
    "unique",
]


def find(given: JSON, path: str) -> Iterator[tuple[str, JSON]]:
    """Give each value that a path leads to, with its place."""
    return _walk(given, path.split("."), "")


def found(given: JSON, path: str) -> list[JSON]:
    """Give the values that a path leads to."""
    return [value for _, value in find(given, path)]


def _walk(given: JSON, steps: list[str], where: str) -> Iterator[tuple[str, JSON]]:
    if not steps:
        yield where, given
        return
    step, rest = steps[0], steps[1:]
    if step.startswith("*"):
        for place, item in enumerate(given if isinstance(given, list) else ()):
            if _fits(item, step[1:]):
                yield from _walk(item, rest, f"{where}[{place}]")
    elif isinstance(given, dict):
        key = step.removesuffix("?")
        if key in given or (step == key and not rest):
            yield from _walk(given.get(key), rest, f"{where}.{key}".removeprefix("."))


def _fits(item: JSON, wanted: str) -> bool:
    key, _, values = wanted.partition("=")
    if not key:
        return True
    return isinstance(item, dict) and str(item.get(key, "")) in values.split("|")


def objects(given: JSON) -> list[JSONObject]:
    """Give the objects of an array, each in its place: what is no object is an empty one."""
    return [members(item) for item in given] if isinstance(given, list) else []


def members(given: JSON) -> JSONObject:
    """Give an object, empty if it is none."""
    return given if isinstance(given, dict) else {}


def text(given: JSON) -> str:
    """Give a string, empty if it is none."""
    return given if isinstance(given, str) else ""


# -- what is expected -------------------------------------------------------------------------


@dataclass(frozen=True)
class Expect:
    """What a value has to be, in words and as a test."""

    words: str
    fits: Callable[[JSON], bool]


def one_of(*values: str) -> Expect:
    """Expect one of some strings."""
    return Expect(f"one of {', '.join(values)}", lambda given: given in values)


def matching(pattern: str) -> Expect:
    """Expect a string that a pattern fits whole."""
    fits = re.compile(pattern).fullmatch
    return Expect(f"a string like {pattern}", lambda given: bool(fits(text(given))))


def at_most(length: int) -> Expect:
    """Expect no more than so many characters."""
    return Expect(f"a maximum length of {length}", lambda given: len(text(given)) <= length)


TEXT = Expect("a string", lambda given: isinstance(given, str))
FILLED_TEXT = Expect("a string that is not empty", lambda given: text(given) != "")
OBJECT = Expect("an object", lambda given: isinstance(given, dict))
FILLED = Expect("a string or an array, not empty", bool)
SAID = Expect(
    "a string, or an array of parts that is not empty",
    lambda given: isinstance(given, str) or (isinstance(given, list) and bool(given)),
)
FILLED_ARRAY = Expect(
    "an array of objects with at least one in it",
    lambda given: (
        bool(objects(given)) and all(isinstance(item, dict) for item in found(given, "*"))
    ),
)
ABSENT = Expect("nothing", lambda _: False)
TOOL_NAME = matching("[A-Za-z0-9_-]{1,64}")


# -- checks -----------------------------------------------------------------------------------


def each(path: str, expect: Expect) -> Check:
    """Expect the same of everything that a path leads to."""

    def check(request: WireRequest) -> Iterator[str]:
        for where, value in find(request.json, path):
            if not expect.fits(value):
                yield f"{where}: expected {expect.words}, found {_glimpse(value)}"

    return check


def _glimpse(value: JSON) -> str:
    spelled = json.dumps(value)
    return spelled if len(spelled) <= _GLIMPSE_MAX else f"{spelled[:_GLIMPSE_MAX]}…"


_GLIMPSE_MAX = 60


def known_fields(names: str) -> Check:
    """Expect no other fields in the body than these, which are given in one string."""
    known = names.split()

    def check(request: WireRequest) -> Iterator[str]:
        for name in request.json:
            if name not in known:
                yield f"Unknown name '{name}': expected one of {', '.join(known)}"

    return check


def needs(path: str, other: str) -> Check:
    """Expect something beside what a path leads to."""

    def check(request: WireRequest) -> Iterator[str]:
        given = [value for value in found(request.json, path) if value is not None]
        if given and not any(found(request.json, other)):
            yield f"{path.rstrip('?')} is only allowed when {other.rstrip('?')} is specified"

    return check


def exclusive(*paths: str) -> Check:
    """Expect only one of some fields."""

    def check(request: WireRequest) -> Iterator[str]:
        given = [path for path in paths if any(found(request.json, path))]
        if len(given) > 1:
            yield f"Mutually exclusive parameters: {' and '.join(given)}"

    return check


def named_in(path: str, *declared: str) -> Check:
    """Expect what a path leads to to be among what others lead to."""

    def check(request: WireRequest) -> Iterator[str]:
        known = [name for path in declared for name in found(request.json, path)]
        for where, name in find(request.json, path):
            if name not in known:
                yield f"{where}: {name!r} is not declared; expected one of {known}"

    return check


def unique(path: str) -> Check:
    """Expect nothing twice among what a path leads to."""

    def check(request: WireRequest) -> Iterator[str]:
        seen: list[JSON] = []
        for where, value in find(request.json, path):
            if value in seen:
                yield f"{where}: expected no value twice, found {value!r} again"
            seen.append(value)

    return check


def at_most_times(limit: int, *paths: str) -> Check:
    """Expect paths to lead to no more than so many values together."""

    def check(request: WireRequest) -> Iterator[str]:
        count = len([value for path in paths for value in found(request.json, path)])
        if count > limit:
            yield f"A maximum of {limit} is allowed of {', '.join(paths)}, found {count}"

    return check
