"""A streamed Chat Completions answer: chunks of one ``delta`` each, until a finish reason.

Only a finish reason says that an answer is whole: proxies send ``[DONE]`` after a cut one too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ... import rawjson
from ...errors import DecodeError
from ..events import (
    CallComplete,
    CallDelta,
    CallStarted,
    NativeEvent,
    RefusalDelta,
    TextDelta,
    ThoughtDelta,
    UsageReported,
)
from ..fields import object_at, objects_at, present, text_at
from ..openai_answers import parses
from ..stream import ObjectDelta, StreamReader
from .answer import make_answer, read_usage
from .pieces import ONCE, CallPieces, ListPieces
from .reading import read_calls

if TYPE_CHECKING:
    from ...messages import ToolCall
    from ..dialect import Answer
    from ..events import StreamEvent

__all__ = ["ChatStream"]

_NULL = msgspec.Raw(b"null")


class _Choice(msgspec.Struct):
    index: int = 0
    delta: dict[str, msgspec.Raw] | None = None
    finish_reason: str | None = None
    error: msgspec.Raw = _NULL


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = _NULL
    error: msgspec.Raw = _NULL
    id: str | None = None
    model: str | None = None
    object: str | None = None


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    arguments: msgspec.Raw


class _MoreArguments(msgspec.Struct, forbid_unknown_fields=True):
    index: int
    function: _Arguments


_decode = msgspec.json.Decoder(_Chunk).decode
_decode_more = msgspec.json.Decoder(list[_MoreArguments]).decode

_NAMES = ("id", "model")
_NOT_AROUND = frozenset({"choices", "usage", "error", *_NAMES})
_NOT_AROUND_DELTA = frozenset({"delta", "error", "finish_reason", "logprobs"})
_NOBODY = (b"null", b'""')
_TOLD = frozenset({"role", "refusal", "function_call"})
_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")


class ChatStream(StreamReader):
    """Reads one streamed Chat Completions answer."""

    def __init__(self) -> None:
        super().__init__()
        self._message = ObjectDelta(ONCE)
        self._lists: dict[str, ListPieces] = {}
        self._calls: list[CallPieces] = []
        self._thoughts_in: str | None = None
        self._choice: dict[str, bytes] = {}
        self._envelope: dict[str, bytes] = {}
        self._begun = False

    def _take(self, data: bytes, events: list[StreamEvent]) -> None:
        if data == b"[DONE]":
            return
        try:
            chunk = _decode(data)
        except (msgspec.DecodeError, RecursionError):
            chunk = _decode_odd(rawjson.compact(data))
        for choice in chunk.choices or ():
            if choice.index == 0:
                self._take_choice(choice, events)
        self._take_envelope(chunk, data, events)

    def _take_choice(self, choice: _Choice, events: list[StreamEvent]) -> None:
        self._thoughts_in = None
        for key, piece in (choice.delta or {}).items():
            raw = bytes(piece)
            if key == "content":
                self._take_content(raw, events)
            elif key in _THOUGHTS:
                self._take_thought(key, raw, events)
            elif key == "tool_calls":
                self._take_calls(raw, events)
            else:
                self._take_other(key, raw, events)
        if choice.error != _NULL:
            self._choice["error"] = bytes(choice.error)
        if choice.finish_reason and not self._done:
            self._done = True
            self._choice["finish_reason"] = rawjson.quote(choice.finish_reason)
            events += [CallComplete(call) for call in self._read_calls() if parses(call)]

    def _take_content(self, raw: bytes, events: list[StreamEvent]) -> None:
        """Add content. Once a part came, text is a part too (Mistral sends both in turn)."""
        parts = self._lists.get("content")
        if parts is None and not raw.startswith(b"["):
            text = self._message.put("content", raw)
        else:
            if parts is None:
                parts = self._lists["content"] = ListPieces()
                parts.add_text(self._message.get("content"))
            text = parts.add(raw) if raw.startswith(b"[") else parts.add_text(raw)
        if text:
            events.append(TextDelta(text))

    def _take_thought(self, key: str, raw: bytes, events: list[StreamEvent]) -> None:
        """Add reasoning. OpenRouter sends it under two keys at once: the first is shown."""
        if key == "reasoning_details" and raw.startswith(b"["):
            text = self._lists.setdefault(key, ListPieces()).add(raw)
        else:
            text = self._message.put(key, raw)
        if text and self._thoughts_in in (None, key):
            self._thoughts_in = key
            events.append(ThoughtDelta(text))

    def _take_other(self, key: str, raw: bytes, events: list[StreamEvent]) -> None:
        """Add any other member. Sound comes with its words."""
        text = self._message.put(key, raw)
        if key == "refusal" and text:
            events.append(RefusalDelta(text))
        elif key not in _TOLD and raw != b"null":
            events.append(NativeEvent(key, raw))
            if key == "audio" and (words := text_at(object_at({key: raw}, key), "transcript")):
                events.append(TextDelta(words))

    def _take_calls(self, raw: bytes, events: list[StreamEvent]) -> None:
        if raw.startswith(b"["):
            if not self._take_more(raw, events):
                for element in rawjson.elements(raw):
                    self._take_call(rawjson.fields(element), events)
        elif raw != b"null":
            self._message.put("tool_calls", raw)

    def _take_more(self, raw: bytes, events: list[StreamEvent]) -> bool:
        """Take what nearly every piece is, more arguments of the last call, the quick way."""
        try:
            (more,) = _decode_more(raw)
        except (msgspec.DecodeError, ValueError):
            return False
        call = self._calls[-1] if self._calls else None
        if call is None or call.index != b"%d" % more.index:
            return False
        if text := call.add_arguments(bytes(more.function.arguments)):
            events.append(CallDelta(call.position, text))
        return True

    def _take_call(self, piece: dict[str, bytes], events: list[StreamEvent]) -> None:
        call = self._call_of(piece)
        was_named = bool(call.name)
        more = call.add(piece)
        if call.name and not was_named:
            events.append(CallStarted(call.position, call.id, call.name))
        if more:
            events.append(CallDelta(call.position, more))

    def _call_of(self, piece: dict[str, bytes]) -> CallPieces:
        """Find the call that a piece belongs to, or begin it.

        Calls go by index, without one by id; a piece with neither goes on with the last call.
        Servers that give all calls one index tell them apart by id, or only by beginning anew.
        """
        index, call_id = present(piece).get("index"), text_at(piece, "id")
        found = [call for call in reversed(self._calls) if index in (None, call.index)]
        if index is None and call_id:
            found.sort(key=lambda call: call.id != call_id)
        if found:
            call = found[0]
            another = call.id not in ("", call_id) if call_id else call.is_followed_by(piece)
            if not another:
                return call
        call = CallPieces(index, len(self._calls))
        self._calls.append(call)
        return call

    def _read_calls(self) -> list[ToolCall]:
        if not (self._calls or self._message.get("function_call")):
            return []
        return read_calls(rawjson.fields(rawjson.compact(self._assembled())))

    def _take_envelope(self, chunk: _Chunk, data: bytes, events: list[StreamEvent]) -> None:
        if len(self._envelope) < len(_NAMES):
            for key in _NAMES:
                if text := getattr(chunk, key):
                    self._envelope.setdefault(key, rawjson.quote(text))
        if not self._begun or self._done or not chunk.choices or chunk.usage != _NULL:
            self._begun = True
            self._take_around(rawjson.fields(rawjson.compact(data)))
        if chunk.usage != _NULL:
            self._envelope["usage"] = raw = rawjson.compact(bytes(chunk.usage))
            if usage := read_usage(raw):
                events.append(UsageReported(usage))
        if chunk.error != _NULL:
            self._envelope["error"] = bytes(chunk.error)
        elif chunk.object == "error":
            self._envelope["error"] = data

    def _take_around(self, fields: dict[str, bytes]) -> None:
        """Keep what the chunks that begin and end an answer say of it; the others repeat it."""
        given = present(fields)
        self._envelope |= {key: given[key] for key in given if key not in _NOT_AROUND}
        for choice in objects_at(given, "choices"):
            if choice.get("index", b"0") == b"0":
                said = present(choice)
                self._choice |= {key: said[key] for key in said if key not in _NOT_AROUND_DELTA}

    def _assembled(self) -> bytes:
        message = {"role": b"null", "content": b"null"} | self._message.members()
        if message["role"] in _NOBODY:
            message["role"] = b'"assistant"'
        message |= {key: pieces.literal for key, pieces in self._lists.items()}
        if self._calls:
            message["tool_calls"] = rawjson.join_array([call.literal for call in self._calls])
        return rawjson.join_object(message)

    def _answer(self) -> Answer:
        message = None
        if self._message or self._lists or self._calls:
            try:
                message = rawjson.compact(self._assembled())
            except DecodeError as error:
                self._problem("malformed_event", str(error))
        return make_answer(self._envelope, self._choice, message, self._problems)


# -- odd chunks -------------------------------------------------------------------------------


def _decode_odd(data: bytes) -> _Chunk:
    """Decode a chunk that the quick way refused: lone surrogates, or members of odd types."""
    fields = rawjson.fields(data)
    return _Chunk(
        [_choice_odd(choice) for choice in objects_at(fields, "choices")],
        msgspec.Raw(fields.get("usage", b"null")),
        msgspec.Raw(fields.get("error", b"null")),
        text_at(fields, "id"),
        text_at(fields, "model"),
        text_at(fields, "object"),
    )


def _choice_odd(fields: dict[str, bytes]) -> _Choice:
    index = rawjson.value(fields.get("index", b"0"))
    return _Choice(
        index if isinstance(index, int) else 0,
        {key: msgspec.Raw(piece) for key, piece in object_at(fields, "delta").items()},
        text_at(fields, "finish_reason") or None,
        msgspec.Raw(fields.get("error", b"null")),
    )
