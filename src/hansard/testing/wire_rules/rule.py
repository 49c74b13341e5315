"""What a rule of a wire format is: a sentence, a check, and a request that breaks nothing else.

Each format has one right request. A rule is shown by a change to it that the rule alone refuses,
and by the neighbour of that: the right request, or another change to it, which no rule refuses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias, cast
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from ...rawjson import JSON, JSONObject

__all__ = ["Change", "Check", "Rule", "Rulebook", "WireRequest", "cut", "put"]


@dataclass(frozen=True)
class WireRequest:
    """A request as it came: exact bytes, and headers by their names in lower case.

    ``earlier`` are the answers that the server gave before, parsed.
    """

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    earlier: tuple[JSONObject, ...] = field(default=(), repr=False)

    @cached_property
    def parsed(self) -> JSON:
        """The body, parsed, or nothing if it is no JSON in UTF-8."""
        try:
            found: JSON = json.loads(self.body.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return None
        return found

    @property
    def json(self) -> JSONObject:
        """The body, parsed; empty where it is no JSON object."""
        return self.parsed if isinstance(self.parsed, dict) else {}

    @property
    def bare_path(self) -> str:
        """The path, without the question mark and what follows it."""
        return urlsplit(self.path).path

    @property
    def query(self) -> dict[str, str]:
        """What stands behind the question mark of the path."""
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}

    @property
    def stream(self) -> bool:
        """Whether a stream is asked for."""
        return self.json.get("stream") is True or ":streamGenerateContent" in self.path


def _refuse(constant: str) -> None:
    raise ValueError(constant)


# -- examples ---------------------------------------------------------------------------------

Change: TypeAlias = tuple[tuple[str, "JSON"], ...]
"""What to change in a request: places, and what is to stand there.

A place is a path of names and numbers in the body, ``headers.`` with a name, ``path``, ``raw``
(the body as bytes), or ``earlier`` (answers that the server gave before). Changes are added with +.
"""

CUT: Final = "(cut)"
"""Stands for nothing at all, which is not null."""


def put(place: str, value: JSON) -> Change:
    """Put a value somewhere."""
    return ((place, value),)


def cut(place: str) -> Change:
    """Take away what stands somewhere."""
    return ((place, CUT),)


def changed(request: WireRequest, change: Change) -> WireRequest:
    """Make the request that a change makes of another."""
    body = deepcopy(request.json)
    headers = dict(request.headers)
    path, earlier, raw = request.path, request.earlier, None
    for place, value in change:
        if place == "path":
            path = str(value)
        elif place == "raw":
            raw = str(value).encode("latin-1")
        elif place == "earlier":
            earlier = cast("tuple[JSONObject, ...]", (value,))
        elif place.startswith("headers."):
            _set(cast("JSONObject", headers), [place.removeprefix("headers.")], value)
        else:
            _set(body, place.split("."), value)
    spelled = json.dumps(body, ensure_ascii=False).encode() if raw is None else raw
    return WireRequest(path, headers, spelled, earlier)


def _set(inside: JSON, steps: list[str], value: JSON) -> None:
    for step in steps[:-1]:
        inside = inside[int(step)] if isinstance(inside, list) else cast("JSONObject", inside)[step]
    last = steps[-1]
    if isinstance(inside, list):
        at = int(last)
        inside[at : at + 1] = [] if value == CUT else [value]
    elif value == CUT:
        del cast("JSONObject", inside)[last]
    else:
        cast("JSONObject", inside)[last] = value


def in_words(change: Change) -> str:
    """Say what a change does, for the docs."""
    told = [
        f"no `{place}`" if value == CUT else f"`{place}`: `{json.dumps(value, ensure_ascii=False)}`"
        for place, value in change
    ]
    return ", ".join(told)


# -- rules ------------------------------------------------------------------------------------

Check: TypeAlias = Callable[[WireRequest], Iterator[str]]
"""Gives the words of each refusal."""


@dataclass(frozen=True)
class Rule:
    """One thing that a service refuses. ``strict`` ones are for strict servers alone."""

    says: str
    check: Check = field(repr=False)
    refused: Change = field(repr=False)
    accepted: Change = field(repr=False, default=())
    status: int = 400
    strict: bool = False

    def complaint(self, request: WireRequest) -> str | None:
        """Say what is wrong with a request, or nothing."""
        return next(self.check(request), None)


@dataclass
class Rulebook:
    """The rules of one wire format, in the order in which they are asked."""

    wire_format: str
    right: WireRequest
    rules: list[Rule] = field(default_factory=list)

    def rule(
        self,
        says: str,
        check: Check,
        refused: Change,
        accepted: Change = (),
        *,
        status: int = 400,
        strict: bool = False,
    ) -> None:
        """Put a rule into the book."""
        self.rules.append(Rule(says, check, refused, accepted, status, strict))

    def broken(self, request: WireRequest, *, strict: bool) -> Iterator[tuple[Rule, str]]:
        """Give each rule that a request breaks, with the words of the refusal."""
        for rule in self.rules:
            words = rule.complaint(request) if strict or not rule.strict else None
            if words is not None:
                yield rule, words
                if not request.json:
                    return  # Of an empty body nothing more can be said.

    def example(self, change: Change) -> WireRequest:
        """Make the right request of this format, changed."""
        return changed(self.right, change)


def right_request(path: str, headers: Mapping[str, str], body: JSONObject) -> WireRequest:
    """Make the request of which all examples of a format are changes."""
    sent = {"content-type": "application/json", **headers}
    return changed(WireRequest(path, sent, b"{}"), tuple(body.items()))
