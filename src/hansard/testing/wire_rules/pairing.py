"""Calls and their results, as all formats have them, and what goes back as it was given.

Each format says what its rounds are: the calls that were made at one place, and the results that
stand where theirs should. A name stands for a call there: its id, or what takes the place of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from .shape import find, found

if TYPE_CHECKING:
    from ...rawjson import JSON
    from .rule import Check, WireRequest

__all__ = ["Round", "Rounds", "answered_once", "every_call_answered", "goes_back", "nothing_else"]


@dataclass(frozen=True)
class Round:
    """Calls, the results that follow them, and where that is."""

    where: str
    called: list[str]
    answered: list[str]


Rounds: TypeAlias = Callable[["WireRequest"], Iterator[Round]]


def every_call_answered(rounds: Rounds) -> Check:
    """Expect as many results for each call as it is made."""

    def check(request: WireRequest) -> Iterator[str]:
        for each in rounds(request):
            if missing := _left(each.called, each.answered):
                yield f"{each.where}: found no result for the calls {', '.join(missing)}"

    return check


def nothing_else(rounds: Rounds) -> Check:
    """Expect results only for calls that were made right before."""

    def check(request: WireRequest) -> Iterator[str]:
        for each in rounds(request):
            if odd := [name for name in each.answered if name not in each.called]:
                yield f"{each.where}: found results without their calls before: {', '.join(odd)}"

    return check


def answered_once(rounds: Rounds) -> Check:
    """Expect no more results for a call than it is made."""

    def check(request: WireRequest) -> Iterator[str]:
        for each in rounds(request):
            more = _left(each.answered, each.called)
            if twice := [name for name in more if name in each.called]:
                yield f"{each.where}: found more than one result for {', '.join(twice)}"

    return check


def _left(wanted: list[str], found: list[str]) -> list[str]:
    return sorted((Counter(wanted) - Counter(found)).elements())


def goes_back(sent: str, given: str, kept: Callable[[JSON], tuple[JSON, JSON]]) -> Check:
    """Expect of what the service gave that something of it is still as it was.

    ``sent`` is a path in a body, ``given`` one in an answer. Of what they lead to, ``kept`` gives
    what to know it by, and what has to be as it was. What is not known is from elsewhere.
    """

    def check(request: WireRequest) -> Iterator[str]:
        answers = [kept(value) for answer in request.earlier for value in found(answer, given)]
        for where, value in find(request.json, sent):
            name, now = kept(value)
            then = [was for known, was in answers if known == name] if name else []
            if then and now not in then:
                yield f"{where}: what was given with it cannot be modified or left out"

    return check
