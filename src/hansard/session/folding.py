"""What is in slices now: events folded by the reducers, each once as long as nothing is rewound.

A reducer that raises leaves its slice as it was, and that is reported: the event is passed over.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import ReducerFailed
from ..record.entries import spell
from ..record.slices import Events, Link, SliceItems, items_of, opaque, since

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..record.entries import SliceEvent
    from .slice_types import SliceType, SliceTypes

__all__ = ["Folding", "SliceFailure"]

_LOG = logging.getLogger("hansard")


class SliceFailure(msgspec.Struct, frozen=True):
    """An event that its slice was left unchanged by: which entry it is, and what was raised."""

    seq: int
    slice_type: str
    item_type: str
    error: str
    detail: str = ""


@dataclass
class _Folded:
    """A slice up to an event."""

    type: SliceType
    upto: Link | None = None
    items: tuple[Any, ...] = ()
    failures: list[SliceFailure] = field(default_factory=list)


class Folding:
    """The slices of one conversation."""

    def __init__(self, types: SliceTypes) -> None:
        self.types = types
        self.events = Events()
        self._folded: dict[type, _Folded] = {}
        self._told: set[SliceFailure] = set()

    def reset(self) -> None:
        """Begin again, with another conversation."""
        self.events = Events()
        self._folded.clear()

    def items(self, kind: type) -> tuple[Any, ...]:
        """What is in a slice now."""
        return self._fold(self.types.of(kind)).items

    def failures(self, kind: type) -> tuple[SliceFailure, ...]:
        """The events that the slice was left unchanged by."""
        return tuple(self._fold(self.types.of(kind)).failures)

    def check(self, event: SliceEvent, kind: type) -> None:
        """Raise `ReducerFailed` for an event that would leave its slice unchanged."""
        folded = self._fold(self.types.of(kind))
        try:
            _after(folded.type, folded.items, event)
        except Exception as error:
            raise ReducerFailed(
                f"expected the reducer of {event.slice_type} to take a {event.item_type}, found "
                f"that it raised {type(error).__name__}: {error}; the slice is as it was, and "
                "nothing was recorded",
                slice_type=event.slice_type,
                item_type=event.item_type,
            ) from error

    def rows(self) -> Iterator[SliceItems]:
        """All slices, those too that nobody here knows, which are given as they stand."""
        known = {each.name: each for each in self.types}
        shown: set[str] = set()
        for row in opaque(self.events.last):
            if row.slice_type not in known:
                yield row
            elif row.slice_type not in shown:
                shown.add(row.slice_type)
                items = self._fold(known[row.slice_type]).items
                raw = tuple([msgspec.Raw(spell(item)) for item in items])
                yield SliceItems(row.slice_type, row.slice_type, raw)

    def _fold(self, given: SliceType) -> _Folded:
        folded = self._folded.get(given.kind)
        last = self.events.last
        events = None
        if folded is not None and folded.type is given:
            events = since(folded.upto, last)
        if folded is None or events is None:  # It was rewound, or registered anew.
            folded = _Folded(given)
            events = since(None, last) or []
        for event in events:
            if event.slice_type == given.name:
                self._take(folded, event)
        folded.upto = last
        self._folded[given.kind] = folded
        return folded

    def _take(self, folded: _Folded, event: SliceEvent) -> None:
        try:
            folded.items = _after(folded.type, folded.items, event)
        except Exception as error:  # noqa: BLE001 - a reducer is anybody's
            failure = SliceFailure(
                event.seq, event.slice_type, event.item_type, type(error).__name__, str(error)
            )
            folded.failures.append(failure)
            if failure not in self._told:
                self._told.add(failure)
                _LOG.error(
                    "an event leaves its slice unchanged: entry %d, %s on %s (%s)",
                    event.seq,
                    event.item_type,
                    event.slice_type,
                    failure.error,
                )


def _after(given: SliceType, items: tuple[Any, ...], event: SliceEvent) -> tuple[Any, ...]:
    """The items of a slice after an event. Raises where that leaves it unchanged."""
    read = [given.read(event.item_type, raw) for raw in items_of(event)]
    return tuple(read) if event.seeds else given.reduce(items, read[0])
