"""What a streamed Chat Completions answer sends in pieces: calls, and lists of typed objects."""

from __future__ import annotations

from ... import rawjson
from ..fields import object_at, present, text_at
from ..openai_answers import parses
from ..stream import ObjectDelta
from .reading import read_calls

__all__ = ["ONCE", "CallPieces", "ListPieces"]

ONCE = frozenset(
    {"role", "id", "name", "type", "index", "format", "signature", "thought_signature"}
)
"""Members that are set by their first value: servers repeat them with every piece."""


class CallPieces:
    """One tool call that comes in pieces."""

    def __init__(self, index: bytes | None, position: int) -> None:
        self.index = index
        self.position = position
        self._members = ObjectDelta(ONCE)
        self._bodies: dict[str, ObjectDelta] = {}

    def add(self, piece: dict[str, bytes]) -> str:
        """Add a piece; give what it adds to the arguments."""
        shown = ""
        for key, raw in piece.items():
            if key in _BODIES and raw.startswith(b"{"):
                self._members.put(key, b"{}")
                body = self._bodies.setdefault(key, ObjectDelta(ONCE))
                for name, part in rawjson.fields(raw).items():
                    text = body.put(name, part)
                    shown += text if name in _ARGUMENTS else ""
            elif key != "index":
                self._members.put(key, raw)
        return shown

    def add_arguments(self, raw: bytes) -> str:
        """Add to the arguments of a function; give what can be shown now."""
        body = self._bodies.get("function")
        return (
            self.add({"function": b'{"arguments":' + raw + b"}"})
            if body is None
            else body.put("arguments", raw)
        )

    @property
    def id(self) -> str:
        """The id, empty until it comes."""
        return _text(self._members, "id")

    @property
    def name(self) -> str:
        """The name of the tool, empty until it comes."""
        return next((_text(body, "name") for body in self._bodies.values()), "")

    def is_followed_by(self, piece: dict[str, bytes]) -> bool:
        """Whether a piece without an id begins another call, this one being whole."""
        bodies = [body for key in _BODIES if (body := object_at(piece, key))]
        begins = any(text_at(body, "name") and text_at(body, "arguments") for body in bodies)
        if not begins:
            return False
        (call,) = read_calls({"tool_calls": b"[" + self.literal + b"]"})
        return bool(call.arguments.strip()) and parses(call)

    @property
    def literal(self) -> bytes:
        """The whole call so far."""
        bodies = {key: body.literal for key, body in self._bodies.items()}
        return rawjson.join_object(self._members.members() | bodies)


def _text(members: ObjectDelta, key: str) -> str:
    return text_at({key: members.get(key) or b""}, key)


_BODIES = ("function", "custom")
_ARGUMENTS = ("arguments", "input")


class ListPieces:
    """A list of typed objects that come in pieces: text goes on with the last, if of its kind.

    An index cannot tell which one it goes on with, since OpenRouter gives all the same.
    """

    def __init__(self) -> None:
        self._items: list[bytes | ObjectDelta] = []

    def add(self, raw: bytes) -> str:
        """Add an array of pieces; give the text that can be shown now."""
        return "".join([self._add(element) for element in rawjson.elements(raw)])

    def add_text(self, literal: bytes | None) -> str:
        """Add bare text as a piece of its own kind."""
        if literal in (None, b"null", b'""'):
            return ""
        return self._add(rawjson.join_object([("type", b'"text"'), ("text", literal or b"")]))

    def _add(self, raw: bytes) -> str:
        piece = rawjson.fields(raw) if raw.startswith(b"{") else {}
        if text_at(piece, "type") not in _TEXT_KINDS:
            self._items.append(raw)
            return ""
        last = self._items[-1] if self._items else None
        if not isinstance(last, ObjectDelta) or not _goes_on(last, piece):
            last = ObjectDelta(ONCE)
            self._items.append(last)
        texts = [(key, last.put(key, part)) for key, part in piece.items()]
        return "".join([text for key, text in texts if key in ("text", "summary")])

    @property
    def literal(self) -> bytes:
        """The whole list so far."""
        return rawjson.join_array(
            [item if isinstance(item, bytes) else item.literal for item in self._items]
        )


_TEXT_KINDS = frozenset({"text", "reasoning.text", "reasoning.summary"})


def _goes_on(last: ObjectDelta, piece: dict[str, bytes]) -> bool:
    """Whether a piece goes on with the last item. A signature ends it."""
    # Only what is compared is looked at: the text so far may be long.
    known = present({key: raw for key in _TOLD_BY if (raw := last.get(key)) is not None})
    more = present(piece)
    same = all(known.get(key, more.get(key)) == more.get(key, known.get(key)) for key in _SAME)
    return same and not text_at(known, "signature")


_SAME = ("type", "id", "index")
_TOLD_BY = (*_SAME, "signature")
