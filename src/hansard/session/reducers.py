"""Reducers: what becomes of a slice's items when an event comes.

A reducer is given the items and the event, and gives the items after it. It is called again for
the same event in every process that looks, so it must depend on nothing else, and change neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

__all__ = ["Reducer", "append_all", "replace_latest", "upsert_by"]

Reducer: TypeAlias = Callable[[tuple[Any, ...], Any], Iterable[Any]]
"""From the items of a slice and an event on it, to the items after it."""

Item = TypeVar("Item")


def append_all(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """Keep every item, in order."""
    return (*items, item)


def replace_latest(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """Keep the last item alone."""
    del items
    return (item,)


def upsert_by(key: Callable[[Any], object]) -> Reducer:
    """Keep one item for each key: a new one takes the place of the one that had its key."""

    def upsert(items: tuple[Any, ...], item: object) -> tuple[Any, ...]:
        mine = key(item)
        if not any([key(each) == mine for each in items]):
            return (*items, item)
        return tuple([item if key(each) == mine else each for each in items])

    return upsert
