"""Which types a session keeps slices of, and how their items are spelled.

An item goes on the record as JSON, under the name of its type. A name on a record is only ever
looked up among those that were registered: nothing is imported because somebody wrote its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, TypeVar

import msgspec

from .. import rawjson
from ..errors import DecodeError, Invalid
from ..neutral import ConversationState
from ..record.entries import spell
from ..record.heads import decoded
from .reducers import Reducer, append_all

__all__ = ["SliceType", "SliceTypes", "name_of"]

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True)
class SliceType:
    """A type of which there is a slice: its name on the record, its reducer, types of events."""

    kind: type
    name: str
    reducer: Reducer
    events: Mapping[str, type]

    def spell(self, item: object) -> tuple[str, bytes]:
        """Name an event and spell it. Raises `Invalid` for one that could not be read again."""
        found = [(name, kind) for name, kind in self.events.items() if type(item) is kind]
        if not found:
            names = ", ".join([kind.__name__ for kind in self.events.values()])
            raise Invalid(
                f"expected for the slice of {self.kind.__name__} one of {names}, found "
                f"{type(item).__name__}: name it in events= where the slice is registered"
            )
        [(name, kind)] = found
        try:
            raw = rawjson.compact(spell(item))
            decoded(raw, kind)
        except (TypeError, ValueError, RecursionError) as error:
            raise Invalid(
                f"expected a {kind.__name__} that JSON can say and give back, found one that it "
                f"cannot: {error}"
            ) from error
        return name, raw

    def read(self, item_type: str, raw: bytes) -> object:
        """Read an event again. Raises `DecodeError` for one that is not of its type here."""
        kind = self.events.get(item_type)
        if kind is None:
            raise DecodeError(
                f"expected an event on {self.name}, found {item_type!r}, which is not registered",
                reason="unknown_item",
            )
        return decoded(raw, kind)

    def reduce(self, items: tuple[Any, ...], item: object) -> tuple[Any, ...]:
        """Give the items after an event. Raises whatever the reducer does."""
        after = tuple(self.reducer(items, item))
        odd = {*map(type, after)} - {self.kind}
        if odd:
            found = ", ".join(sorted([kind.__name__ for kind in odd]))
            raise TypeError(
                f"expected items of {self.kind.__name__} from the reducer, found {found}"
            )
        return after


class SliceTypes:
    """The types that were registered."""

    def __init__(self) -> None:
        self._by_kind: dict[type, SliceType] = {}

    def register(
        self,
        kind: Kind,
        reducer: Reducer = append_all,
        *,
        name: str | None = None,
        events: tuple[type, ...] = (),
    ) -> Kind:
        """Register a type, as `Session.register` says."""
        for each in (kind, *events):
            if not isinstance(each, type) or not (
                is_dataclass(each) or issubclass(each, msgspec.Struct)
            ):
                raise Invalid(f"expected a dataclass or a msgspec.Struct, found {each!r}")
        if kind is ConversationState:
            raise Invalid("expected a type of your own: ConversationState is always there")
        if not callable(reducer):
            raise Invalid(f"expected reducer= to be a function, found {reducer!r}")
        given = SliceType(
            kind,
            name_of(kind) if name is None else name,
            reducer,
            {(name or name_of(kind)): kind, **{name_of(each): each for each in events}},
        )
        taken = [t for t in self._by_kind.values() if t.name == given.name and t.kind is not kind]
        if taken or not given.name:
            raise Invalid(
                f"expected a name of its own for the slice of {kind.__name__}, found "
                f"{given.name!r}: give another name="
            )
        for each in given.events.values():
            rawjson.prepared(each)
        self._by_kind[kind] = given
        return kind

    def of(self, kind: type) -> SliceType:
        """The slice of a type. Raises `Invalid` for one that was not registered."""
        found = self._by_kind.get(kind)
        if found is None:
            shown = getattr(kind, "__name__", repr(kind))
            raise Invalid(
                f"expected a type that was registered, found {shown}: call "
                f"session.register({shown}) first"
            )
        return found

    def __iter__(self) -> Iterator[SliceType]:
        return iter(tuple(self._by_kind.values()))

    def copy(self) -> SliceTypes:
        """The same, for another session."""
        made = SliceTypes()
        made._by_kind = dict(self._by_kind)
        return made


def name_of(kind: type) -> str:
    """The name by which a type goes on the record, where it was given none."""
    return f"{kind.__module__}:{kind.__qualname__}"
