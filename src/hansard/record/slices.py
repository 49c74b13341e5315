"""Slices: typed application state beside a conversation, as events among its entries.

What stands in a slice follows from the entries alone. An event stands until the conversation is
rewound to before it; one that seeds puts its items in the place of all that stood there before.
Types and reducers are the application's: here an item is its JSON.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import msgspec

from .. import rawjson
from ..errors import DecodeError
from .entries import Rewind, SliceEvent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .entries import Entry

__all__ = ["Events", "Link", "SliceItems", "items_of", "opaque", "since"]


class Link(msgspec.Struct, frozen=True):
    """An event that stands, and those before it: ``count`` in all."""

    event: SliceEvent
    before: Link | None
    count: int


class SliceItems(msgspec.Struct, frozen=True):
    """What is in a slice, or in one that nobody here knows, each item as its JSON."""

    slice_type: str
    item_type: str
    items: tuple[msgspec.Raw, ...]


class Events:
    """The events that stand, after each entry; it takes the entries in order, from the first."""

    def __init__(self) -> None:
        self.next = 0
        self._points: list[tuple[int, Link | None]] = [(0, None)]

    @property
    def last(self) -> Link | None:
        """The last event that stands now."""
        return self._points[-1][1]

    def at(self, seq: int) -> Link | None:
        """The last event that stood before an entry."""
        return self._points[bisect_right(self._points, seq, key=lambda point: point[0]) - 1][1]

    def take(self, entry: Entry) -> None:
        """Take the next entry; one that was taken before is none."""
        if entry.seq < self.next:
            return
        if entry.seq > self.next:
            raise DecodeError(
                f"expected entry {self.next}, found entry {entry.seq}", reason="missing_page"
            )
        self.next = entry.seq + 1
        if isinstance(entry, SliceEvent):
            last = self.last
            self._points.append((self.next, Link(entry, last, last.count + 1 if last else 1)))
        elif isinstance(entry, Rewind):
            self._points.append((self.next, self.at(entry.to)))


def since(known: Link | None, last: Link | None) -> list[SliceEvent] | None:
    """The events from one to another, in order; None where the one is not on the way to it."""
    found: list[SliceEvent] = []
    count = known.count if known else 0
    while last is not None and last.count > count:
        found.append(last.event)
        last = last.before
    if last is not known:
        return None
    found.reverse()
    return found


def items_of(event: SliceEvent) -> list[bytes]:
    """The items that an event puts into its slice. Raises `DecodeError` where it has none."""
    return rawjson.elements(bytes(event.item)) if event.seeds else [bytes(event.item)]


def opaque(last: Link | None) -> Iterator[SliceItems]:
    """What stands in each slice, by the types of its items, as if nothing was ever replaced.

    That is all that can be said of a slice without knowing its reducer.
    """
    found: dict[tuple[str, str], list[msgspec.Raw]] = {}
    for event in since(None, last) or ():
        if event.seeds:
            found = {key: items for key, items in found.items() if key[0] != event.slice_type}
        items = [msgspec.Raw(item) for item in items_of(event)]
        found.setdefault((event.slice_type, event.item_type), []).extend(items)
    for (slice_type, item_type), items in found.items():
        yield SliceItems(slice_type, item_type, tuple(items))
