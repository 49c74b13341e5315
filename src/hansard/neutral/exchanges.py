"""Who says what, message by message.

A conversation is taken apart into *utterances*: what one speaker says in one message. They form
*exchanges*: an answer (messages of the assistant that follow each other are one) and everything
that is said before the next.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from .. import rawjson
from ..dialects.dialect import Dialect
from ..messages import Draft, Message, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..messages import Part, Reading, Role

__all__ = ["Exchange", "Source", "Utterance", "exchanges", "utterances"]

Source: TypeAlias = Message | Draft
"""What can be carried into a dialect: a message in another's words, or in nobody's."""


class Utterance(msgspec.Struct, frozen=True):
    """What one speaker says in one message; ``index`` is that of the message."""

    index: int
    role: Role
    parts: tuple[Part, ...]

    @property
    def results(self) -> list[ToolResult]:
        """The results of tools in it."""
        return [part for part in self.parts if isinstance(part, ToolResult)]

    @property
    def words(self) -> tuple[Part, ...]:
        """Everything else."""
        return tuple([part for part in self.parts if not isinstance(part, ToolResult)])


class Exchange(msgspec.Struct, frozen=True):
    """An answer, none only at the beginning, and what is said before the next."""

    answer: tuple[Utterance, ...]
    after: tuple[Utterance, ...]

    @property
    def calls(self) -> list[tuple[int, ToolCall]]:
        """All calls of the answer, each with the index of its message."""
        return [
            (said.index, part)
            for said in self.answer
            for part in said.parts
            if isinstance(part, ToolCall)
        ]

    @property
    def results(self) -> list[tuple[int, ToolResult]]:
        """All results, each with the index of its message."""
        return [(said.index, result) for said in self.after for result in said.results]


def utterances(index: int, source: Source) -> Iterator[Utterance]:
    """Take a message apart by its speakers."""
    for role, parts in _speeches(source):
        if role != "assistant":
            yield Utterance(index, role, parts)
            continue
        for is_result, group in groupby(parts, lambda part: isinstance(part, ToolResult)):
            yield Utterance(index, "tool" if is_result else role, tuple(group))


def _speeches(source: Source) -> Iterable[tuple[Role, tuple[Part, ...]]]:
    """Give who speaks and what. In an itemized message there may be several, item by item."""
    reader = source.reader if isinstance(source, Message) else None
    if not isinstance(reader, Dialect) or not reader.itemized or not isinstance(source, Message):
        yield source.role, source.parts
        return
    readings = [reader.read(rawjson.join_array([item])) for item in rawjson.elements(source.raw)]
    for role, said in groupby(readings, _role):
        yield role, tuple([part for reading in said for part in reading.parts])


def _role(reading: Reading) -> Role:
    return reading.role


def exchanges(said: Iterable[Utterance]) -> list[Exchange]:
    """Group utterances by the answer that they contain or follow."""
    found: list[tuple[list[Utterance], list[Utterance]]] = [([], [])]
    for utterance in said:
        if utterance.role != "assistant":
            found[-1][1].append(utterance)
        elif found[-1][1]:
            found.append(([utterance], []))
        else:
            found[-1][0].append(utterance)
    return [Exchange(tuple(answer), tuple(after)) for answer, after in found]
