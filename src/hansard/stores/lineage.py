"""Lineage: which conversation keeps which stretch of a fork's log.

A fork keeps what was appended to it; what is before the point where it parted is kept by the one
that it stems from, or by one that this stems from in turn. Numbers are a database's own for its
conversations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Ancestor", "Stretch", "keeper", "stretches"]


class Ancestor(NamedTuple):
    """A conversation that a fork stems from, or itself; and where it parted from its parent."""

    number: int
    parent: int | None
    parting: int | None


class Stretch(NamedTuple):
    """The entries from ``start`` up to ``end``, which a conversation keeps."""

    number: int
    start: int
    end: int


def stretches(line: Sequence[Ancestor], start: int, end: int) -> list[Stretch]:
    """Say who keeps the entries from ``start`` up to ``end``, in order.

    ``line`` is a conversation, what it stems from, what that stems from, and so on.
    """
    found = []
    for number, _, parting in line:
        if end <= start:
            break
        begins = parting or 0
        if begins < end:
            found.append(Stretch(number, max(begins, start), end))
            end = begins
    found.reverse()
    return found


def keeper(line: Sequence[Ancestor], seq: int) -> int | None:
    """Say who keeps the entry before ``seq``; None where there is none."""
    kept = stretches(line, max(seq - 1, 0), seq)
    return kept[0].number if kept else None
