"""The words in which a test writes what a model answers.

An answer is text, or what one of these gives:

- `say`: text, thoughts, calls, a finish reason, figures, unknown fields;
- `raw`: exact bytes;
- `blocked` and `empty`: an answer in which nothing is said;
- `fail`, `overflow` and `unreachable`: no answer;
- `delay`, `hold`, `cut_after` and `fail_after`: another answer, with something in its way;
- `forever`: another answer, to every request that is still to come;
- a function, which is given the request and gives any of these.

They are in no provider's words: a scripted model spells them in those of its dialect.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from .. import rawjson
from ..errors import HansardError, Invalid
from ..messages import Thought, Usage
from ..rawjson import JSON
from .scripted_request import ScriptedRequest

__all__ = [
    "Answers",
    "Call",
    "Event",
    "Fail",
    "Play",
    "Raw",
    "Say",
    "ScriptEnded",
    "blocked",
    "call",
    "cut_after",
    "delay",
    "empty",
    "fail",
    "fail_after",
    "forever",
    "hold",
    "overflow",
    "played",
    "raw",
    "say",
    "unreachable",
]

Event: TypeAlias = threading.Event | asyncio.Event

USUAL = Usage(input_tokens=10, output_tokens=5)
"""The figures of an answer of which the test says none."""


class ScriptEnded(HansardError, AssertionError):
    """More was asked than the script has answers for."""


class Call(msgspec.Struct, frozen=True):
    """A call that the model makes. Without an id it gets one that is new, but none in Gemini."""

    name: str
    arguments: str = "{}"
    id: str | None = None
    signature: str | None = None
    custom: bool = False


class Say(msgspec.Struct, frozen=True):
    """What a model says. ``signature`` goes where its provider puts one.

    ``blocked`` is the reason why it says nothing; empty where it is not blocked.
    """

    text: str = ""
    thoughts: tuple[Thought, ...] = ()
    signature: str | None = None
    calls: tuple[Call, ...] = ()
    finish: str | None = None
    usage: Usage | None = USUAL
    extra: Mapping[str, JSON] = msgspec.field(default_factory=dict)
    blocked: str = ""


class Raw(msgspec.Struct, frozen=True):
    """A body, in the pieces in which a stream brings it."""

    pieces: tuple[bytes, ...] = ()


class Fail(msgspec.Struct, frozen=True):
    """An error. What is left out is what the provider usually says with that status."""

    status: int
    code: str = ""
    message: str = ""
    body: bytes | None = None
    retry_after_s: float | None = None
    is_overflow: bool = False


class Play(msgspec.Struct, frozen=True):
    """One answer, and what stands in its way.

    It comes when ``until`` has happened, ``wait_s`` later, and each piece of it ``wait_each_s``
    after the one before. Only its first ``chunks`` pieces or ``body_bytes`` bytes come; then the
    connection is ``broken``, or an ``error`` comes. ``repeats`` says that it is given for ever.
    """

    answer: Say | Raw | Fail
    until: Event | None = None
    wait_s: float = 0.0
    wait_each_s: float = 0.0
    chunks: int | None = None
    body_bytes: int | None = None
    broken: bool = False
    error: Fail | None = None
    repeats: bool = False

    @property
    def is_cut(self) -> bool:
        """Whether a part of the answer does not come."""
        return self.chunks is not None or self.body_bytes is not None


Answers: TypeAlias = str | Play | Callable[[ScriptedRequest], str | Play]
"""What a script is made of."""


def played(answer: object) -> Play:
    """Take text as what is said. Raises `Invalid` for what is no answer."""
    if isinstance(answer, str):
        return Play(Say(answer))
    if isinstance(answer, Play):
        return answer
    raise Invalid(
        f"expected an answer such as text, say(…) or a function that gives one, "
        f"found {type(answer).__name__}"
    )


def say(
    text: str = "",
    *,
    thoughts: str | Thought | Sequence[Thought] = (),
    signature: str | None = None,
    calls: Sequence[Call] = (),
    finish: str | None = None,
    usage: Usage | None = USUAL,
    extra: Mapping[str, JSON] | None = None,
) -> Play:
    """Answer with text, calls, or both.

    ``finish`` is neutral (``"length"``, ``"refused"``, ``"paused"``…) or the provider's own word;
    left out, it is what fits. A provider that has no such end refuses it with `Invalid`.
    ``usage=None`` leaves the figures out. ``extra`` are fields that nobody knows; `msgspec.Raw`
    in them is kept as it is spelled.
    """
    thought = [Thought(thoughts)] if isinstance(thoughts, str) else thoughts
    given = (thought,) if isinstance(thought, Thought) else tuple(thought)
    return Play(Say(text, given, signature, tuple(calls), finish, usage, dict(extra or {})))


def call(
    name: str,
    /,
    *,
    arguments: str | Mapping[str, JSON] | None = None,
    id: str | None = None,  # noqa: A002 - every provider calls it so
    signature: str | None = None,
    custom: bool = False,
    **named: JSON,
) -> Call:
    """Call a tool: ``call("get_weather", city="Tokyo")``.

    ``arguments=`` takes all of them at once, whatever they are called; text goes out as it is,
    also where it is no JSON.
    """
    if arguments is not None and named:
        raise Invalid("expected either arguments= or arguments by name, found both; give one")
    whole = named if arguments is None else arguments
    spelled = whole if isinstance(whole, str) else rawjson.dump(whole).decode()
    return Call(name, spelled, id, signature, custom)


def raw(*pieces: bytes) -> Play:
    """Answer with exactly this body; if it is streamed, in these pieces."""
    return Play(Raw(pieces))


def blocked(reason: str = "SAFETY", *, usage: Usage | None = USUAL) -> Play:
    """Say nothing, because a filter (in Gemini: of the prompt) or the model refused."""
    if not reason:
        raise Invalid("expected a reason, found none; an answer without one is empty()")
    return Play(Say(usage=usage, blocked=reason))


def empty(*, usage: Usage | None = USUAL) -> Play:
    """Say nothing, for no reason: an answer that is not valid."""
    return Play(Say(usage=usage))


def fail(
    status: int,
    code: str = "",
    message: str = "",
    *,
    body: bytes | None = None,
    retry_after_s: float | None = None,
) -> Play:
    """Answer with an error, in the provider's shape unless ``body`` is given."""
    return Play(Fail(status, code, message, body, retry_after_s))


def overflow() -> Play:
    """Refuse a request because it is longer than the model can take, as the provider says it."""
    return Play(Fail(400, is_overflow=True))


def unreachable() -> Play:
    """Let nobody answer."""
    return Play(Raw(), broken=True)


def delay(seconds: float, answer: str | Play, *, each_chunk: bool = False) -> Play:
    """Wait before an answer, or before each piece of it. Past the timeout nobody answers."""
    late = played(answer)
    if each_chunk:
        return replace(late, wait_each_s=late.wait_each_s + seconds)
    return replace(late, wait_s=late.wait_s + seconds)


def hold(answer: str | Play, *, until: Event) -> Play:
    """Keep an answer back until an event is set. Past the timeout nobody answers.

    It is a `threading.Event` for blocking calls, an `asyncio.Event` for those under asyncio.
    """
    return replace(played(answer), until=until)


def cut_after(
    answer: str | Play,
    *,
    chunks: int | None = None,
    body_bytes: int | None = None,
    broken: bool = False,
) -> Play:
    """End a stream early, after so many pieces or bytes: quietly, or ``broken``.

    An answer that is not streamed can only break.
    """
    if (chunks is None) == (body_bytes is None):
        raise Invalid("expected either chunks= or body_bytes=, how much of the answer comes")
    return replace(played(answer), chunks=chunks, body_bytes=body_bytes, broken=broken, error=None)


def fail_after(answer: str | Play, chunks: int, status: int = 500, message: str = "") -> Play:
    """End a stream after so many pieces with an error in it. Unstreamed, it is that error."""
    error = Fail(status, "", message)
    return replace(played(answer), chunks=chunks, body_bytes=None, broken=False, error=error)


def forever(answer: str | Play) -> Play:
    """Answer every request that is still to come, always in the same bytes. It stands last."""
    return replace(played(answer), repeats=True)
