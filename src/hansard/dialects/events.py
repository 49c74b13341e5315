"""What a stream tells as it comes. Every event has ``text``, so that a loop can print it."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..messages import ToolCall, Usage

__all__ = [
    "CallComplete",
    "CallDelta",
    "CallStarted",
    "NativeEvent",
    "RefusalDelta",
    "StreamEvent",
    "TextDelta",
    "ThoughtDelta",
    "UsageReported",
]


class TextDelta(msgspec.Struct, frozen=True, tag=True):
    """More of the answer's text."""

    text: str


class ThoughtDelta(msgspec.Struct, frozen=True, tag=True):
    """More of the reasoning."""

    thought: str
    text: str = ""


class RefusalDelta(msgspec.Struct, frozen=True, tag=True):
    """More of the words in which the model declines."""

    refusal: str
    text: str = ""


class CallStarted(msgspec.Struct, frozen=True, tag=True):
    """The model has begun to write a tool call; its arguments follow."""

    position: int
    id: str
    name: str
    text: str = ""


class CallDelta(msgspec.Struct, frozen=True, tag=True):
    """More of a call's arguments."""

    position: int
    arguments: str
    text: str = ""


class CallComplete(msgspec.Struct, frozen=True, tag=True):
    """The model has written a whole call. Nothing has run yet."""

    call: ToolCall
    text: str = ""


class UsageReported(msgspec.Struct, frozen=True, tag=True):
    """What the call has cost so far."""

    usage: Usage
    text: str = ""


class NativeEvent(msgspec.Struct, frozen=True, tag=True):
    """Something that only this provider streams, as it was spelled."""

    kind: str
    raw: bytes
    text: str = ""


StreamEvent: TypeAlias = (
    TextDelta
    | ThoughtDelta
    | RefusalDelta
    | CallStarted
    | CallDelta
    | CallComplete
    | UsageReported
    | NativeEvent
)
