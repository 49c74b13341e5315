"""What the author of a dialect gives to the conformance suite: real bytes of the provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..messages import Finish, Role
    from ..rawjson import JSON

__all__ = ["AnswerSample", "DialectSamples", "MessageSample", "StreamSample"]


@dataclass(frozen=True, kw_only=True)
class MessageSample:
    """A native message, spelled as the provider spells it, and how it is to be read.

    What is None is not compared. ``calls`` are names and parsed arguments, ``results`` are call
    ids and texts.
    """

    raw: bytes
    role: Role | None = None
    text: str | None = None
    calls: tuple[tuple[str, JSON], ...] | None = None
    results: tuple[tuple[str, str], ...] | None = None
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class AnswerSample:
    """The body of a complete answer, and what it is to be read as.

    ``message`` is the native message, in any spacing. ``problems`` are codes, in order. What is
    None is not compared.
    """

    body: bytes
    message: bytes | None = None
    role: Role | None = "assistant"
    text: str | None = None
    finish: Finish | None = None
    problems: tuple[str, ...] | None = ()
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class StreamSample:
    """The body of a streamed answer as server-sent events, and what it is to be read as.

    As in `AnswerSample`. The stream of a provider that hung up has the problem ``cut``.
    """

    body: bytes
    message: bytes | None = None
    role: Role | None = "assistant"
    text: str | None = None
    finish: Finish | None = None
    problems: tuple[str, ...] | None = ()
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class DialectSamples:
    """All samples of one dialect.

    The more the better: every kind of part, unknown fields, odd numbers, empty text, calls in
    parallel, their results, refusals, errors, and a stream of each kind of answer.
    """

    messages: tuple[MessageSample, ...] = ()
    answers: tuple[AnswerSample, ...] = ()
    streams: tuple[StreamSample, ...] = ()
    model: str = "some-model"
