"""A streamed Anthropic answer: blocks that start, grow by deltas and stop, until ``message_stop``.

Text and thinking append, a signature is assigned, citations gather, and the pieces of a tool's
input are joined: they must be a JSON object in the end. An input that is not is kept as a string,
exactly as far as it came. A string can never be taken for an input, and the answer is invalid
with ``bad_arguments``. Nothing is ever completed by guessing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import msgspec

from ... import rawjson
from ...errors import DecodeError
from ..events import (
    CallComplete,
    CallDelta,
    CallStarted,
    NativeEvent,
    TextDelta,
    ThoughtDelta,
    UsageReported,
)
from ..fields import object_at, present, text_at
from ..stream import StreamReader, StringDelta
from .answer import make_answer, read_usage
from .reading import read_call

if TYPE_CHECKING:
    from ..dialect import Answer
    from ..events import StreamEvent

__all__ = ["MessageStream"]


_Piece = TypeVar("_Piece", str, msgspec.Raw)


class _Text(
    msgspec.Struct, Generic[_Piece], tag="text_delta", forbid_unknown_fields=True, gc=False
):
    grows: ClassVar[str] = "text"
    piece: _Piece = msgspec.field(name="text")


class _Thinking(
    msgspec.Struct, Generic[_Piece], tag="thinking_delta", forbid_unknown_fields=True, gc=False
):
    grows: ClassVar[str] = "thinking"
    piece: _Piece = msgspec.field(name="thinking")


class _Input(
    msgspec.Struct, Generic[_Piece], tag="input_json_delta", forbid_unknown_fields=True, gc=False
):
    grows: ClassVar[str] = "input"
    piece: _Piece = msgspec.field(name="partial_json")


class _Delta(msgspec.Struct, Generic[_Piece], tag="content_block_delta", gc=False):
    index: int
    delta: _Text[_Piece] | _Thinking[_Piece] | _Input[_Piece]


_decode_plain = msgspec.json.Decoder(_Delta[str]).decode
_decode_escaped = msgspec.json.Decoder(_Delta[msgspec.Raw]).decode
"""The quick ways, for the events that come by the thousand. All others are taken apart."""

_GROWS = {
    ("text_delta", "text"): "text",
    ("thinking_delta", "thinking"): "thinking",
    ("input_json_delta", "partial_json"): "input",
}
"""Of a kind of delta and its member: the member of the block that grows by it."""

_GATHERS = {("citations_delta", "citation"): "citations"}
_ASSIGNS = frozenset({"signature_delta", "compaction_delta"})
_HINTS = frozenset({"estimated_tokens"})
"""What a delta tells a progress bar. The API would refuse the block with it."""

_START = frozenset({"id", "type", "role", "content", "model", "usage"})
_STOP = frozenset({"stop_reason", "stop_sequence"})
_EVENT = frozenset({"type", "delta", "usage"})
_NOT_BESIDE = _EVENT | _START | _STOP | {"error"}
"""What an answer says elsewhere: beside a delta it means nothing."""

_DEPTH_MAX = rawjson.DEPTH_MAX - 8
"""What comes in an event may nest a little deeper in the message."""


class MessageStream(StreamReader):
    """Reads one streamed answer of ``/v1/messages``."""

    def __init__(self) -> None:
        super().__init__()
        self._fields: dict[str, bytes] = {}
        self._usage: dict[str, bytes] = {}
        self._blocks: dict[int, _Block] = {}
        self._calls = 0

    def _take(self, data: bytes, events: list[StreamEvent]) -> None:
        try:
            if b"\\" in data:
                self._take_escaped(_decode_escaped(data), events)
            else:
                self._take_plain(_decode_plain(data), events)
        except msgspec.DecodeError:
            if data != b"[DONE]":  # some compatible servers close with it
                self._take_apart(rawjson.compact(data, depth_max=_DEPTH_MAX), events)

    def _take_plain(self, event: _Delta[str], events: list[StreamEvent]) -> None:
        """Take a piece that is spelled as it reads, as nothing in it is escaped."""
        delta = event.delta
        block = self._blocks.get(event.index) or self._block(event.index)
        text = block.growing(delta.grows).add_plain(delta.piece)
        if text:
            _show(block, delta.grows, text, events)

    def _take_escaped(self, event: _Delta[msgspec.Raw], events: list[StreamEvent]) -> None:
        literal = bytes(event.delta.piece)
        if not literal.startswith(b'"'):
            raise _unexpected(f"a delta of {event.delta.grows} that is no text")
        block = self._block(event.index)
        if text := block.growing(event.delta.grows).add(literal):
            _show(block, event.delta.grows, text, events)

    def _take_apart(self, data: bytes, events: list[StreamEvent]) -> None:
        fields = rawjson.fields(data)
        match text_at(fields, "type"):
            case "content_block_delta":
                self._take_delta(self._block(_index(fields)), fields, events)
            case "content_block_start":
                self._start(_index(fields), fields.get("content_block", b"null"), events)
            case "content_block_stop":
                self._stop(self._block(_index(fields)), events)
            case "message_start":
                self._take_start(fields, events)
            case "message_delta":
                self._take_end(data, fields, events)
            case "message_stop":
                self._done = True
            case "ping":
                pass
            case kind if "error" in fields:
                self._fields["error"] = fields["error"]
            case kind:
                events.append(NativeEvent(kind, data))

    def _take_start(self, fields: dict[str, bytes], events: list[StreamEvent]) -> None:
        message = present(object_at(fields, "message"))
        self._fields |= message
        if message.keys() - _START - _STOP:
            events.append(NativeEvent("message_start", fields["message"]))
        self._take_usage(message, events)
        for index, raw in enumerate(rawjson.elements(message.get("content", b"[]"))):
            self._start(index, raw, events)

    def _take_end(self, data: bytes, fields: dict[str, bytes], events: list[StreamEvent]) -> None:
        delta = present(object_at(fields, "delta"))
        beside = present(fields)
        self._fields |= delta
        self._fields |= {key: beside[key] for key in beside if key not in _NOT_BESIDE}
        if delta.keys() - _STOP or beside.keys() - _EVENT:
            events.append(NativeEvent("message_delta", data))
        self._take_usage(fields, events)

    def _take_usage(self, fields: dict[str, bytes], events: list[StreamEvent]) -> None:
        """Take figures over the earlier ones: they are totals. A null replaces nothing."""
        figures = object_at(fields, "usage")
        self._usage |= {
            key: raw for key, raw in figures.items() if raw != b"null" or key not in self._usage
        }
        usage = read_usage(rawjson.join_object(self._usage)) if figures else None
        if usage is not None:
            events.append(UsageReported(usage))

    # -- blocks -------------------------------------------------------------------------------

    def _block(self, index: int) -> _Block:
        if index not in self._blocks:
            raise _unexpected(f"an event for block {index}, which has not started")
        return self._blocks[index]

    def _start(self, index: int, raw: bytes, events: list[StreamEvent]) -> None:
        if index in self._blocks:
            raise _unexpected(f"another start of block {index}")
        block = self._blocks[index] = _Block(raw)
        if block.kind == "tool_use":
            block.position = self._calls
            self._calls += 1
            call = read_call(block.members)
            events.append(CallStarted(block.position, call.id, call.name))
        elif block.kind == "fallback":
            served_by = object_at(block.members, "to").get("model")
            self._fields |= {"model": served_by} if served_by else {}
        elif text := text_at(block.members, "text"):
            events.append(TextDelta(text))
        elif thought := text_at(block.members, "thinking"):
            events.append(ThoughtDelta(thought))

    def _stop(self, block: _Block, events: list[StreamEvent]) -> None:
        if block.position is None:
            if block.kind not in _PLAIN:
                events.append(NativeEvent(block.kind, block.literal))
            return
        members = rawjson.fields(block.literal)
        if members.get("input", b"").startswith(b"{"):
            call = read_call(members)
            events.append(CallComplete(msgspec.structs.replace(call, position=block.position)))

    def _take_delta(
        self, block: _Block, fields: dict[str, bytes], events: list[StreamEvent]
    ) -> None:
        """Take a delta apart. What nobody knew is kept in the block, and shown as it came."""
        delta = object_at(fields, "delta")
        kind, odd = text_at(delta, "type"), False
        for key, raw in delta.items():
            if (kind, key) in _GROWS:
                rawjson.unquote(raw)
                if text := block.growing(_GROWS[kind, key]).add(raw):
                    _show(block, _GROWS[kind, key], text, events)
            elif (kind, key) in _GATHERS:
                block.gather(_GATHERS[kind, key], raw)
                odd = True
            elif key == "type":
                continue
            elif kind in _ASSIGNS:
                block.assign(key, raw)
            elif raw != b"null":
                odd = True
                if key not in _HINTS:
                    block.put(key, raw)
        if odd:
            events.append(NativeEvent(kind, fields["delta"]))

    def _answer(self) -> Answer:
        blocks = [block.literal for _, block in sorted(self._blocks.items(), key=_by_index)]
        content = rawjson.join_array(blocks) if blocks or self._done else None
        if self._usage:
            self._fields["usage"] = rawjson.join_object(self._usage)
        return make_answer(self._fields, content, self._problems)


def _show(block: _Block, member: str, text: str, events: list[StreamEvent]) -> None:
    if member == "text":
        events.append(TextDelta(text))
    elif member == "thinking":
        events.append(ThoughtDelta(text))
    elif block.position is not None:
        events.append(CallDelta(block.position, text))


class _Words(StringDelta):
    """A string that comes in pieces, most of them without an escape."""

    __slots__ = ()

    def add_plain(self, text: str) -> str:
        """Add a piece that is spelled as it reads; give the text that can be shown now."""
        if self._held:
            return self.add(b'"' + text.encode() + b'"')
        self._pieces.append(text.encode())
        return text


_PLAIN = frozenset({"text", "thinking", "redacted_thinking"})


class _Block:
    """One block that comes in pieces: what it started with, and what came since."""

    __slots__ = ("_gathered", "_grown", "_raw", "kind", "members", "position")

    def __init__(self, raw: bytes) -> None:
        self._raw: bytes | None = raw
        self._grown: dict[str, _Words] = {}
        self._gathered: dict[str, list[bytes]] = {}
        self.members = rawjson.fields(raw)
        self.kind = text_at(self.members, "type")
        self.position: int | None = None

    def growing(self, member: str) -> _Words:
        """Give the string that a member grows to be."""
        grown = self._grown.get(member)
        if grown is None:
            grown = self._grown[member] = _Words()
            started = self.members.get(member, b"")
            if started.startswith(b'"'):
                grown.add(started)
            self._raw = None
        return grown

    def gather(self, member: str, raw: bytes) -> None:
        """Add an element to a list."""
        if member not in self._gathered:
            started = self.members.get(member, b"")
            self._gathered[member] = rawjson.elements(started) if started[:1] == b"[" else []
            self._raw = None
        self._gathered[member].append(raw)

    def assign(self, member: str, raw: bytes) -> None:
        """Set a member."""
        self.members[member] = raw
        self._raw = None

    def put(self, member: str, raw: bytes) -> None:
        """Take what nobody knew: strings append, everything else is set."""
        if raw.startswith(b'"'):
            self.growing(member).add(raw)
        else:
            self.assign(member, raw)

    @property
    def literal(self) -> bytes:
        """The whole block so far."""
        if self._raw is not None:
            return self._raw
        grown = {member: text.literal for member, text in self._grown.items()}
        if "input" in grown:
            grown["input"] = _joined_input(grown["input"], self.members.get("input"))
        for member, elements in self._gathered.items():
            grown[member] = rawjson.join_array(elements)
        return rawjson.join_object(self.members | grown)


def _joined_input(literal: bytes, started: bytes | None) -> bytes:
    """Give the input that a literal spells; the literal itself where that is no JSON."""
    text = rawjson.unquote(literal)
    if not text:
        return started or b"{}"
    try:
        return rawjson.compact(text.encode("utf-8", "surrogatepass"), depth_max=_DEPTH_MAX)
    except DecodeError:
        return literal


def _index(fields: dict[str, bytes]) -> int:
    index = rawjson.value(fields.get("index", b"null"))
    if not isinstance(index, int):
        raise _unexpected("an event of a block without its index")
    return index


def _by_index(item: tuple[int, _Block]) -> int:
    return item[0]


def _unexpected(found: str) -> DecodeError:
    return DecodeError(
        f"expected events of blocks in their order, found {found}", reason="unexpected_event"
    )
