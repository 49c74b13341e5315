"""What a turn tells while it goes on: to whoever reads its stream, and to observers.

A stream carries what the model says (`dialects.events`) and, of the turn around it, `CallFinished`
and `AnswerDropped`. Every event of a stream has ``text``, so that a loop can print it. Observers
are told of whole steps, with numbers and without content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from ..dialects.dialect import Problem
from ..dialects.events import StreamEvent
from ..messages import Finish, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "AnswerDropped",
    "CallFinished",
    "ModelCalled",
    "Observation",
    "Observer",
    "ToolRan",
    "TurnEnded",
    "TurnEvent",
]


class CallFinished(msgspec.Struct, frozen=True, tag=True):
    """A tool has run, and this is what the model will be told."""

    call: ToolCall
    result: ToolResult
    text: str = ""


class AnswerDropped(msgspec.Struct, frozen=True, tag=True):
    """What was streamed of this answer does not count. Another try follows, or the turn ends."""

    problems: tuple[Problem, ...]
    text: str = ""


TurnEvent: TypeAlias = StreamEvent | CallFinished | AnswerDropped


class ModelCalled(msgspec.Struct, frozen=True, kw_only=True):
    """The model was called: with how many messages, at what cost, and how that ended.

    ``error`` is the type of the error where there was no answer, and the code of the first problem
    where the answer was invalid.
    """

    conversation: str
    turn: int
    model: str
    messages: int
    usage: Usage | None = None
    finish: Finish | None = None
    error: str = ""
    duration_s: float = 0.0


class ToolRan(msgspec.Struct, frozen=True, kw_only=True):
    """A tool was run, and this is how that ended."""

    conversation: str
    turn: int
    name: str
    call_id: str
    status: Literal["ok", "error", "unknown"]
    duration_s: float = 0.0


class TurnEnded(msgspec.Struct, frozen=True, kw_only=True):
    """A turn is over, or waits for somebody (``status`` is ``open`` then)."""

    conversation: str
    turn: int
    status: Literal["done", "failed", "abandoned", "open"]
    rounds: int = 0
    usage: Usage = Usage()
    duration_s: float = 0.0


Observation: TypeAlias = ModelCalled | ToolRan | TurnEnded
Observer: TypeAlias = "Callable[[Observation], object]"
"""Told of each step. It must not block; what it raises is logged, and changes nothing."""
