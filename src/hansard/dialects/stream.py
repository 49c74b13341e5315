"""Reading a streamed answer: bytes in, events out, and at the end one native message.

`StreamReader` is the frame that all dialects share: lines, broken events, errors in
mid-stream, and the question whether the provider said that it was done. A dialect
implements ``_take`` and ``_answer``.

`StringDelta` and `ObjectDelta` join what comes in pieces, without decoding any of it, so that
escapes and the halves of surrogate pairs that were cut apart meet again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import DecodeError
from .dialect import Answer, Problem
from .sse import EventLines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .events import StreamEvent

__all__ = ["ObjectDelta", "StreamReader", "StringDelta"]


class StreamReader(ABC):
    """Reads one streamed answer.

    Feed it the bytes of the body, cut anywhere, then `close` it: also early, for what came so
    far. How the bytes were cut never changes the answer. Broken events become problems of the
    answer, never exceptions. ``last_events`` are those that only `close` could tell: of what had
    no blank line after it.
    """

    def __init__(self) -> None:
        self._lines = EventLines()
        self._problems: list[Problem] = []
        self._done = False
        self._answered: Answer | None = None
        self.last_events: tuple[StreamEvent, ...] = ()

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take the next bytes of the body; give the events that they complete."""
        events: list[StreamEvent] = []
        for data in self._lines.feed(chunk):
            if data:
                self._take_safely(data, events)
        return events

    def close(self) -> Answer:
        """Give the answer, as far as it came. Twice is harmless."""
        if self._answered is None:
            events: list[StreamEvent] = []
            for data in (*self._lines.close(), self._lines.bare):
                self._take_last(data, events)
            self.last_events = tuple(events)
            if not self._done:
                self._problem("cut", "the stream ended before the provider said it was done")
            self._answered = self._answer()
        return self._answered

    @property
    def cut(self) -> bool:
        """Whether the provider has not yet said that it is done."""
        return not self._done

    @abstractmethod
    def _take(self, data: bytes, events: list[StreamEvent]) -> None:
        """Take the data of one event; set ``_done`` when the provider says so.

        May raise `DecodeError`, which becomes a problem.
        """

    @abstractmethod
    def _answer(self) -> Answer:
        """Assemble the answer. Always the same spelling for the same events."""

    def _problem(self, code: str, detail: str = "") -> None:
        if all(problem.code != code for problem in self._problems):
            self._problems.append(Problem(code, detail))

    def _take_safely(self, data: bytes, events: list[StreamEvent]) -> None:
        try:
            if not data.isascii():
                rawjson.check_utf8(data)
            self._take(data, events)
        except DecodeError as error:
            self._problem("malformed_event", str(error))

    def _take_last(self, data: bytes, events: list[StreamEvent]) -> None:
        """Take what had no blank line after it, unless it was cut off in the middle."""
        try:
            if data != b"[DONE]":
                rawjson.compact(data)
        except DecodeError:
            return
        self._take_safely(data, events)


_SURROGATE_FIRST, _SURROGATE_LAST = "\ud800", "\udfff"


class StringDelta:
    """A string that comes in pieces."""

    __slots__ = ("_held", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held = b""

    def add(self, literal: bytes) -> str:
        """Add a piece, a string literal; give the text that can be shown now.

        Half of a surrogate pair is held back until the other half comes.
        """
        text = rawjson.unquote(literal)
        self._pieces.append(literal[1:-1])
        if self._held or (text and _SURROGATE_FIRST <= text[-1] <= _SURROGATE_LAST):
            return self._pair(literal)
        return text

    def _pair(self, literal: bytes) -> str:
        joined = self._held + literal[1:-1]
        text = rawjson.unquote(b'"' + joined + b'"')
        self._held = b""
        if text and _SURROGATE_FIRST <= text[-1] <= "\udbff":
            self._held = joined[-6:]
            text = text[:-1]
        return text

    @property
    def literal(self) -> bytes:
        """The whole string so far, as a literal."""
        return b'"' + b"".join(self._pieces) + b'"'

    def __bool__(self) -> bool:
        return any(self._pieces)


_LEVELS_MAX = 16
"""How deep pieces are merged. Deeper ones are kept whole, so that no stream exhausts the stack."""


class ObjectDelta:
    """An object that comes in pieces, with fields that nobody knew kept.

    Strings append, but for those named in ``once``, which are set by their first value that is
    not empty. Objects merge. Lists of objects merge by ``index``, other lists extend. Everything
    else is replaced. A null never replaces anything.
    """

    __slots__ = ("_levels", "_once", "_values")

    def __init__(self, once: frozenset[str], levels: int = _LEVELS_MAX) -> None:
        self._once = once
        self._levels = levels
        self._values: dict[str, bytes | StringDelta | ObjectDelta | ListDelta] = {}

    def add(self, raw: bytes) -> None:
        """Add a piece, a compact object."""
        self.update(rawjson.fields(raw).items())

    def update(self, fields: Iterable[tuple[str, bytes]]) -> None:
        """Add a piece, as its members."""
        for key, raw in fields:
            self.put(key, raw)

    def put(self, key: str, raw: bytes) -> str:
        """Add a piece of one member; give the text that can be shown now, if it is a string."""
        known = self._values.get(key)
        if isinstance(known, StringDelta) and raw.startswith(b'"'):
            return known.add(raw)
        if known is None or known == b"null":
            return self._begin(key, raw)
        if raw == b"null":
            return ""
        if (isinstance(known, ObjectDelta) and raw.startswith(b"{")) or (
            isinstance(known, ListDelta) and raw.startswith(b"[")
        ):
            known.add(raw)
        elif key not in self._once or known == b'""':
            return self._begin(key, raw)
        return ""

    def _begin(self, key: str, raw: bytes) -> str:
        if raw.startswith(b'"') and key not in self._once:
            text = self._values[key] = StringDelta()
            return text.add(raw)
        if raw.startswith(b"{") and self._levels:
            self._values[key] = merged = ObjectDelta(self._once, self._levels - 1)
            merged.add(raw)
        elif raw.startswith(b"[") and self._levels:
            self._values[key] = grown = ListDelta(self._once, self._levels - 1)
            grown.add(raw)
        else:
            self._values[key] = raw
        return ""

    def get(self, key: str) -> bytes | None:
        """The raw value of a member as it is so far."""
        known = self._values.get(key)
        return known if known is None or isinstance(known, bytes) else known.literal

    def members(self) -> dict[str, bytes]:
        """All members as they are so far, in order of their first appearance."""
        return {
            key: known if isinstance(known, bytes) else known.literal
            for key, known in self._values.items()
        }

    def __bool__(self) -> bool:
        return bool(self._values)

    @property
    def literal(self) -> bytes:
        """The whole object so far."""
        return rawjson.join_object(self.members())


class ListDelta:
    """A list that comes in pieces."""

    __slots__ = ("_indexed", "_items", "_levels", "_once")

    def __init__(self, once: frozenset[str], levels: int = _LEVELS_MAX) -> None:
        self._once = once
        self._levels = levels
        self._items: list[bytes | ObjectDelta] = []
        self._indexed: dict[bytes, ObjectDelta] = {}

    def add(self, raw: bytes) -> None:
        """Add a piece, a compact array."""
        for element in rawjson.elements(raw):
            index = rawjson.fields(element).get("index") if element.startswith(b"{") else None
            if index is None or index == b"null":
                self._items.append(element)
            elif index in self._indexed:
                self._indexed[index].add(element)
            else:
                merged = ObjectDelta(self._once, self._levels)
                merged.add(element)
                self._indexed[index] = merged
                self._items.append(merged)

    @property
    def literal(self) -> bytes:
        """The whole list so far."""
        return rawjson.join_array(
            [item if isinstance(item, bytes) else item.literal for item in self._items]
        )
