"""What the answers of a wire-checking server come to: a status, and the pieces of a body."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from .. import rawjson
from ..errors import DecodeError, Invalid
from .script import Fail, Play, Raw, Say, played
from .wire_answers import SPELLINGS
from .wire_answers_spelling import Stamp, members, objects, sse

if TYPE_CHECKING:
    from ..rawjson import JSONObject
    from .script import Event
    from .wire_rules.rule import WireRequest

__all__ = ["Reply", "WireAnswer", "refuse", "spell"]

WireAnswer: TypeAlias = "str | Play | JSONObject | Sequence[JSONObject | bytes]"
"""An answer in the words of a script, as a whole body, or as the events of a stream."""

_OK = 200


@dataclass(frozen=True)
class Reply:
    """What comes over the wire, and what has to happen before.

    ``whole`` is the answer as the service remembers it, if it is known.
    """

    pieces: tuple[bytes, ...]
    status: int = _OK
    stream: bool = False
    whole: JSONObject | None = None
    retry_after_s: float | None = None
    until: threading.Event | None = None
    wait_s: float = 0.0
    wait_each_s: float = 0.0
    broken: bool = False


def spell(wire_format: str, given: WireAnswer, request: WireRequest, number: int) -> Reply:
    """Say what an answer comes to for a request."""
    if isinstance(given, dict):
        return _body(wire_format, given, stream=request.stream)
    if isinstance(given, Sequence) and not isinstance(given, str):
        events = [event if isinstance(event, bytes) else sse(event) for event in given]
        return Reply(tuple(events), stream=True)
    return _played(wire_format, played(given), request, number)


def refuse(wire_format: str, fail: Fail) -> Reply:
    """Give an error in the provider's shape."""
    body = rawjson.dump(SPELLINGS[wire_format].error(fail)) if fail.body is None else fail.body
    return Reply((body,), fail.status, retry_after_s=fail.retry_after_s)


def _played(wire_format: str, play: Play, request: WireRequest, number: int) -> Reply:
    said = play.answer
    if play.error is not None and not request.stream:
        said = play.error
    if isinstance(said, Fail):
        reply = refuse(wire_format, said)
    elif isinstance(said, Say):
        stamp = Stamp(number, str(request.json.get("model", "test")))
        spelled = SPELLINGS[wire_format].answer(said, stamp)
        reply = _body(wire_format, _parsed(rawjson.dump(spelled)), stream=request.stream)
    else:
        reply = _exact(said, stream=request.stream)
    return _impeded(wire_format, play, reply)


def _body(wire_format: str, whole: JSONObject, *, stream: bool) -> Reply:
    if not stream:
        return Reply((rawjson.dump(whole),), whole=whole)
    events = SPELLINGS[wire_format].events(_with_an_end(whole))
    return Reply(tuple(events), stream=True, whole=whole)


def _exact(raw: Raw, *, stream: bool) -> Reply:
    whole = None if stream else _parsed(b"".join(raw.pieces))
    return Reply(raw.pieces, stream=stream, whole=whole)


def _parsed(body: bytes) -> JSONObject:
    try:
        return members(rawjson.value(body))
    except DecodeError:
        return {}


def _impeded(wire_format: str, play: Play, reply: Reply) -> Reply:
    pieces = reply.pieces
    if play.is_cut and reply.stream:
        pieces = pieces[: play.chunks]
        if play.body_bytes is not None:
            pieces = (b"".join(pieces)[: play.body_bytes],)
    ending = SPELLINGS[wire_format]
    if play.error is not None and reply.stream:
        pieces = (*pieces, ending.error_event(ending.error(play.error)))
    return Reply(
        pieces,
        reply.status,
        reply.stream,
        reply.whole,
        reply.retry_after_s,
        _waitable(play.until),
        play.wait_s,
        play.wait_each_s,
        broken=play.broken or (play.is_cut and not reply.stream and reply.status == _OK),
    )


def _waitable(until: Event | None) -> threading.Event | None:
    if until is None or isinstance(until, threading.Event):
        return until
    raise Invalid("expected hold(…, until=threading.Event()): the server runs in its own thread")


# -- streams of answers that are given as bodies ----------------------------------------------


def _with_an_end(whole: JSONObject) -> JSONObject:
    """Say how an answer ended where it does not: a body may leave it out, a stream may not."""
    told = deepcopy(whole)
    for choice in objects(told.get("choices")):
        calls = members(choice.get("message")).get("tool_calls")
        choice.setdefault("finish_reason", "tool_calls" if calls else "stop")
    for candidate in objects(told.get("candidates")):
        candidate.setdefault("finishReason", "STOP")
    for block in objects(told.get("content")):
        if block.get("type") == "tool_use":
            block["input"] = msgspec.Raw(rawjson.dump(block["input"]))  # type: ignore[assignment]
    return told
