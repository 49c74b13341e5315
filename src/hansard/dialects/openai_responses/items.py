"""Output items of a streamed Responses answer, while they are still coming.

An item is known by its place in the output or, where a server gives none, by its id. It is whole
when it is done. Until then it is what was added, and the pieces that came since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ... import rawjson
from ..fields import text_at
from ..stream import StringDelta
from .reading import item_kind

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GROWTHS", "PARTS", "Growth", "Item", "Items", "Piece"]


class Growth(NamedTuple):
    """Where a delta belongs: the kind of item, its member; there the kind of part, its member."""

    kind: str
    member: str
    part: str = ""
    text: str = ""


GROWTHS = {
    "response.output_text": Growth("message", "content", "output_text", "text"),
    "response.refusal": Growth("message", "content", "refusal", "refusal"),
    "response.reasoning_text": Growth("reasoning", "content", "reasoning_text", "text"),
    "response.reasoning_summary_text": Growth("reasoning", "summary", "summary_text", "text"),
    "response.function_call_arguments": Growth("function_call", "arguments"),
    "response.custom_tool_call_input": Growth("custom_tool_call", "input"),
    "response.mcp_call_arguments": Growth("mcp_call", "arguments"),
    "response.code_interpreter_call_code": Growth("code_interpreter_call", "code"),
}
"""What grows, by the name of its events without ``.delta`` or ``.done``."""

PARTS = {growth.part: growth for growth in GROWTHS.values() if growth.part}
"""What grows, by the kind of part."""

_BARE: dict[str, dict[str, bytes]] = {
    "message": {"content": b"[]", "role": b'"assistant"'},
    "reasoning": {"summary": b"[]"},
}
"""What an item has at least, if its deltas came and nothing else."""

_MARKED = frozenset({"message", "reasoning", "function_call"})
"""The kinds of item that can say of themselves that they are incomplete."""


class Piece:
    """A part of an item, or a member of it, that comes in pieces."""

    def __init__(self, growth: Growth) -> None:
        self.growth = growth
        self.given: dict[str, bytes] = {}
        self.text = StringDelta()
        self.done = False
        self.shown = False

    @property
    def literal(self) -> bytes:
        """The part so far; as the provider said it, if it is done."""
        if self.done:
            return rawjson.join_object(self.given)
        growth = self.growth
        members = {"type": rawjson.quote(growth.part)}
        if growth.part == "output_text":
            members["annotations"] = b"[]"
        members |= self.given
        if growth.text:
            members[growth.text] = self.text.literal
        return rawjson.join_object(members)


class Item:
    """One item that is coming."""

    def __init__(self, index: int | None, item_id: str) -> None:
        self.index = index
        self.id = item_id
        self.call_id = ""
        self.kind = ""
        self.added: bytes | None = None
        self.done: bytes | None = None
        self.position: int | None = None
        self.started = False
        self.shown = False
        self._pieces: dict[tuple[str, int], Piece] = {}

    def know(self, raw: bytes) -> None:
        """Learn from the item as the provider says it."""
        fields = rawjson.fields(raw)
        self.kind = item_kind(fields)
        self.id = text_at(fields, "id") or self.id
        self.call_id = text_at(fields, "call_id")

    def piece(self, growth: Growth, index: int | None) -> Piece:
        """Find the piece where a delta belongs."""
        key = (growth.member, index or 0)
        piece = self._pieces.get(key)
        if piece is None:
            self.kind = self.kind or growth.kind
            piece = self._pieces[key] = Piece(growth)
        return piece

    def unshown(self, text: str) -> str:
        """Give what of the item's text no delta brought."""
        pieces = [piece for _, piece in sorted(self._pieces.items(), key=lambda pair: pair[0])]
        texts = [piece.text.literal for piece in pieces if piece.growth.part == "output_text"]
        shown = "".join([rawjson.unquote(literal) for literal in texts])
        return text[len(shown) :] if text.startswith(shown) else ""

    @property
    def pieced(self) -> bytes | None:
        """The item as far as it came, put together from its pieces. None if nothing came."""
        if self.added is not None:
            members = rawjson.fields(self.added)
        else:
            said_id = {"id": rawjson.quote(self.id)} if self.id else {}
            members = said_id | {"type": rawjson.quote(self.kind)} | _BARE.get(self.kind, {})
        for member, literal in self._grown(members):
            members[member] = literal
        if self.kind == "message" and members.get("content", b"[]") == b"[]":
            return None
        if self.kind in _MARKED:
            members["status"] = b'"incomplete"'
        return rawjson.join_object(members)

    def _grown(self, members: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
        """Give the members that grew; parts that came stand in the place of those given before."""
        parts: dict[str, dict[int, bytes]] = {}
        for (member, index), piece in sorted(self._pieces.items(), key=lambda pair: pair[0]):
            if not piece.growth.part:
                yield member, piece.text.literal if piece.text else members.get(member, b'""')
                continue
            if member not in parts:
                given = members.get(member, b"")
                elements = rawjson.elements(given) if given.startswith(b"[") else []
                parts[member] = dict(enumerate(elements))
            parts[member][index] = piece.literal
        for member, found in parts.items():
            yield member, rawjson.join_array([found[index] for index in sorted(found)])


class Items:
    """All items of an answer."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._by_key: dict[int | str, Item] = {}

    def place(self, index: int | None, item_id: str | None) -> Item:
        """Find the item that is meant: by its place or its id; without either, the last one."""
        key = _key(index, item_id)
        if key is None and self._items:
            return self._items[-1]
        found = None if key is None else self._by_key.get(key)
        if found is None and item_id:
            unplaced = [item for item in self._items if index is None or item.index is None]
            found = next((item for item in unplaced if item.id == item_id), None)
        return found or self._append(index, item_id or "")

    def place_added(self, index: int | None, raw: bytes) -> Item:
        """Find the item that is added. Another one may stand in its place already."""
        item = self.place(index, item_id := text_at(rawjson.fields(raw), "id"))
        other = item.id != item_id or not item_id
        if (item.added or item.done) and other:
            item = self._append(index, item_id)
        item.know(raw)
        item.added = raw
        return item

    def place_done(self, index: int | None, raw: bytes) -> Item:
        """Find the item that is done. Another one may be done in its place already."""
        item = self.place(index, item_id := text_at(rawjson.fields(raw), "id"))
        if item.done and item.done != raw and (item.id != item_id or not item_id):
            item = self._append(index, item_id)
        return item

    def place_repeated(self, index: int, raw: bytes) -> Item:
        """Find what the terminal event repeats: by its ids, or else by its place and kind."""
        said = Item(index, "")
        said.know(raw)
        for item in self._items:
            if item.done == raw or (said.id and said.id == item.id):
                return item
            if said.call_id and (said.kind, said.call_id) == (item.kind, item.call_id):
                return item
        there = self._by_key.get(index) or next(iter(self._items[index : index + 1]), None)
        if there is None or there.kind != said.kind or there.index not in (None, index):
            there = self._append(index, said.id)
        return there

    def ordered(self) -> list[Item]:
        """All items, by their places if every one has one, else as they came."""
        if any(item.index is None for item in self._items):
            return list(self._items)
        return sorted(self._items, key=lambda item: item.index or 0)

    def _append(self, index: int | None, item_id: str) -> Item:
        item = Item(index, item_id)
        self._items.append(item)
        key = _key(index, item_id)
        if key is not None:
            self._by_key[key] = item
        return item


def _key(index: int | None, item_id: str | None) -> int | str | None:
    return index if index is not None else item_id or None
