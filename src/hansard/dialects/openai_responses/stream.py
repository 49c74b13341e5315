"""A streamed Responses answer: items that are added, grow by deltas, and are done.

Which spelling is kept: the item in ``response.output_item.done``, as it stands there. What the
terminal event repeats of it is not used: that may be empty or null, or lack what only the item
had. Only items that were never done are taken from there. If the stream is cut before either
came, an item is put together from its pieces and marked ``incomplete``, so that nothing that
was paid for is lost. What is said of a delta and not of the item (``logprobs``, ``obfuscation``)
is not put into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import msgspec

from ... import rawjson
from ...errors import DecodeError
from ...messages import Refusal, Text, Thought, ToolCall
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
from ..fields import object_at, present, text_at
from ..stream import StreamReader
from .answer import make_answer, read_usage
from .items import GROWTHS, PARTS, Growth, Items
from .reading import CALLS, PARAGRAPH, read_items

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dialect import Answer
    from ..events import StreamEvent
    from .items import Item, Piece

__all__ = ["ResponsesStream"]


class _Delta(msgspec.Struct):
    type: str = ""
    delta: msgspec.Raw = msgspec.Raw()
    item_id: str | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None


_decode = msgspec.json.Decoder(_Delta).decode

_NEUTRAL = frozenset({"message", "reasoning", *CALLS})
"""The kinds of item that neutral events tell of. Of others the native events do."""

_QUICK = {f"{name}.delta": growth for name, growth in GROWTHS.items() if growth.kind in _NEUTRAL}

_SHOWN: dict[str, type[TextDelta | ThoughtDelta | RefusalDelta]] = {
    "output_text": TextDelta,
    "refusal": RefusalDelta,
    "reasoning_text": ThoughtDelta,
    "summary_text": ThoughtDelta,
}


class ResponsesStream(StreamReader):
    """Reads one streamed Responses answer. ``[DONE]`` is no end; some servers add it."""

    def __init__(self) -> None:
        super().__init__()
        self._response: dict[str, bytes] = {}
        self._items = Items()
        self._calls = 0

    def _take(self, data: bytes, events: list[StreamEvent]) -> None:
        if data == b"[DONE]":
            return
        try:
            delta = _decode(data)
        except (msgspec.DecodeError, RecursionError):
            delta = _Delta()
        growth = _QUICK.get(delta.type)
        literal = bytes(delta.delta)
        if growth is None or not literal.startswith(b'"'):
            self._take_slowly(rawjson.compact(data), events)
            return
        item = self._items.place(delta.output_index, delta.item_id)
        index = delta.summary_index if growth.member == "summary" else delta.content_index
        self._grow(item, item.piece(growth, index), literal, events)

    def _take_slowly(self, data: bytes, events: list[StreamEvent]) -> None:
        """Take what is no plain delta, or one with a lone surrogate or something else odd."""
        fields = present(rawjson.fields(data))
        kind = text_at(fields, "type")
        name, _, step = kind.rpartition(".")
        if step in ("delta", "done") and name in GROWTHS:
            told = self._take_growth(GROWTHS[name], fields, events)
        elif kind in self._handlers:
            told = self._handlers[kind](self, fields, events)
        else:
            told = False
        if not told:
            events.append(NativeEvent(kind, data))

    # -- items in pieces ----------------------------------------------------------------------

    def _take_growth(
        self, growth: Growth, fields: dict[str, bytes], events: list[StreamEvent]
    ) -> bool:
        """Take a delta. The event that ends them counts as one where none came."""
        item = self._place(fields)
        index = "summary_index" if growth.member == "summary" else "content_index"
        piece = item.piece(growth, _whole(fields, index))
        literal = fields.get("delta", b"")
        if not literal and not piece.text:
            literal = fields.get(growth.text or growth.member, b"")
        if literal.startswith(b'"'):
            self._grow(item, piece, literal, events)
        return growth.kind in _NEUTRAL

    def _grow(self, item: Item, piece: Piece, literal: bytes, events: list[StreamEvent]) -> None:
        text = piece.text.add(literal)
        if not text:
            return
        growth = piece.growth
        shown = _SHOWN.get(growth.part)
        if shown is not None:
            if growth.kind == "reasoning" and item.shown and not piece.shown:
                text = PARAGRAPH + text
            events.append(shown(text))
        elif growth.kind in CALLS:
            events.append(CallDelta(self._position(item), text))
        piece.shown = item.shown = True

    def _take_part(self, fields: dict[str, bytes], events: list[StreamEvent]) -> bool:
        """Take a part as it is before its deltas, or after them."""
        part = object_at(fields, "part")
        kind = text_at(part, "type")
        member = "summary" if "summary_index" in fields else "content"
        growth = PARTS.get(kind) or Growth("message", member, kind)
        item = self._place(fields)
        piece = item.piece(growth, _whole(fields, f"{member}_index"))
        literal = part.get(growth.text, b"")
        if not piece.text and literal.startswith(b'"'):
            self._grow(item, piece, literal, events)
        piece.given = part
        piece.done = text_at(fields, "type").endswith(".done")
        return kind in PARTS

    def _take_annotation(self, fields: dict[str, bytes], _events: list[StreamEvent]) -> bool:
        item = self._place(fields)
        piece = item.piece(PARTS["output_text"], _whole(fields, "content_index"))
        before = piece.given.get("annotations", b"[]")
        if "annotation" in fields and before.startswith(b"["):
            annotations = [*rawjson.elements(before), fields["annotation"]]
            piece.given["annotations"] = rawjson.join_array(annotations)
        return False

    def _place(self, fields: dict[str, bytes]) -> Item:
        return self._items.place(_whole(fields, "output_index"), text_at(fields, "item_id"))

    # -- whole items --------------------------------------------------------------------------

    def _add_item(self, fields: dict[str, bytes], events: list[StreamEvent]) -> bool:
        raw = fields.get("item", b"")
        if not raw.startswith(b"{"):
            return True
        item = self._items.place_added(_whole(fields, "output_index"), raw)
        if item.kind in CALLS:
            self._start_call(item, raw, events)
        return item.kind in _NEUTRAL

    def _end_item(self, fields: dict[str, bytes], events: list[StreamEvent]) -> bool:
        raw = fields.get("item", b"")
        if not raw.startswith(b"{"):
            return False
        item = self._items.place_done(_whole(fields, "output_index"), raw)
        if item.done != raw:
            self._settle(item, raw, events)
        return item.kind in _NEUTRAL

    def _settle(self, item: Item, raw: bytes, events: list[StreamEvent]) -> None:
        """Keep a whole item, and tell of it what was not told yet."""
        item.know(raw)
        item.done = raw
        parts = read_items(rawjson.join_array([raw])).parts
        said = "".join([part.text for part in parts if isinstance(part, Text)])
        if more := item.unshown(said):
            events.append(TextDelta(more))
        for part in parts:
            if isinstance(part, ToolCall):
                self._start_call(item, raw, events)
                position = self._position(item)
                if part.arguments and not item.shown:
                    events.append(CallDelta(position, part.arguments))
                events.append(CallComplete(msgspec.structs.replace(part, position=position)))
            elif isinstance(part, Thought | Refusal) and part.text and not item.shown:
                show = ThoughtDelta if isinstance(part, Thought) else RefusalDelta
                events.append(show(part.text))
        item.shown = True

    def _start_call(self, item: Item, raw: bytes, events: list[StreamEvent]) -> None:
        if not item.started:
            item.started = True
            name = text_at(rawjson.fields(raw), "name")
            events.append(CallStarted(self._position(item), item.call_id, name))

    def _position(self, item: Item) -> int:
        if item.position is None:
            item.position = self._calls
            self._calls += 1
        return item.position

    # -- the response around them -------------------------------------------------------------

    def _begin(self, fields: dict[str, bytes], _events: list[StreamEvent]) -> bool:
        self._take_response(object_at(fields, "response"))
        return True

    def _take_response(self, response: dict[str, bytes]) -> None:
        """Keep what stands around the items. A response says what became of it when it ends."""
        given = present(response)
        self._response |= {key: given[key] for key in given if key not in _AT_THE_END}

    def _finish(self, fields: dict[str, bytes], events: list[StreamEvent]) -> bool:
        self._done = True
        response = present(object_at(fields, "response"))
        status = text_at(fields, "type").removeprefix("response.")
        self._response |= {"status": rawjson.quote(status), **response}
        output = response.get("output", b"")
        for index, raw in enumerate(rawjson.elements(output) if output.startswith(b"[") else ()):
            item = self._items.place_repeated(index, raw) if raw.startswith(b"{") else None
            if item is not None and item.done is None:
                self._settle(item, raw, events)
        if usage := read_usage(response.get("usage")):
            events.append(UsageReported(usage))
        return True

    def _fail(self, fields: dict[str, bytes], _events: list[StreamEvent]) -> bool:
        """Take an error, which is the event itself or a member of it."""
        if "error" not in fields and not text_at(fields, "type"):
            return False
        self._done = True
        said = {key: raw for key, raw in fields.items() if key in _OF_ERRORS}
        self._response.setdefault("error", fields.get("error") or rawjson.join_object(said))
        return True

    def _pass(self, _fields: dict[str, bytes], _events: list[StreamEvent]) -> bool:
        """Take what says nothing but that the server is there."""
        return True

    _handlers: ClassVar[
        dict[str, Callable[[ResponsesStream, dict[str, bytes], list[StreamEvent]], bool]]
    ] = {
        "response.created": _begin,
        "response.queued": _begin,
        "response.in_progress": _begin,
        "response.output_item.added": _add_item,
        "response.output_item.done": _end_item,
        "response.content_part.added": _take_part,
        "response.content_part.done": _take_part,
        "response.reasoning_summary_part.added": _take_part,
        "response.reasoning_summary_part.done": _take_part,
        "response.output_text.annotation.added": _take_annotation,
        "response.completed": _finish,
        "response.incomplete": _finish,
        "response.failed": _finish,
        "response.cancelled": _finish,
        "error": _fail,
        "": _fail,
        "keepalive": _pass,
    }
    """What takes an event, and says whether the neutral events tell all of it."""

    def _answer(self) -> Answer:
        output = [raw for item in self._items.ordered() if (raw := self._literal(item)) is not None]
        raw = rawjson.join_array(output) if output else None
        return make_answer(self._response, raw, self._problems)

    def _literal(self, item: Item) -> bytes | None:
        if item.done is not None:
            return item.done
        pieced = item.pieced
        if pieced is not None and self._response.get("status") == b'"completed"':
            self._problem("malformed_event", "the provider never finished one of its items")
        try:
            return pieced and rawjson.compact(pieced, depth_max=rawjson.DEPTH_MAX - 1)
        except DecodeError as error:
            self._problem("malformed_event", str(error))
            return None


def _whole(fields: dict[str, bytes], key: str) -> int | None:
    """Read the index under a key."""
    raw = fields.get(key, b"")
    return int(raw) if raw.isdigit() and len(raw) <= _DIGITS_MAX else None


_DIGITS_MAX = 9
_OF_ERRORS = ("code", "message", "param")
_AT_THE_END = frozenset({"status", "error", "incomplete_details", "output", "usage"})
