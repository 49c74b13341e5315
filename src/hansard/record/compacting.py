"""What becomes of a context when messages are made to stand for a range of it.

This costs what the new context costs, however long the old one was: the range is stepped over,
not walked through. (What a blob brought is taken apart for it, once.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..messages import Message
from .context import Context, Line, Replaced, Root, has_calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..dialects.dialect import Dialect
    from .entries import Compaction

__all__ = ["compacted", "covers"]


def compacted(
    context: Context, compaction: Compaction, dialect: Dialect, *, whole: Context | None = None
) -> Context:
    """Make the context in which the compaction's messages stand for its range of entries.

    They stand where the range began. What is pinned stays, after them, with what it needs to be
    understood: see `_held`. ``whole`` is the context with the open turn, whose pins count too.
    """
    old = _taken_apart(context)
    end = old.back(lambda at: at.place > compaction.last)
    start = end.back(lambda at: at.place >= compaction.first)
    holds = old if whole is None else _taken_apart(whole)
    held = [at for at in _held(holds, dialect) if start.count <= at < end.count]
    raws = [bytes(raw) for raw in compaction.messages]
    summary = [Line(compaction, raw, dialect.project(raw)) for raw in raws]
    stays = [_line(old, at) for at in held]
    kept = [*start.lines(), *summary, *stays, *old.added(since=end)]
    new = Context(Replaced(context, len(kept)))
    for line in kept:
        new = new.add(line)
    unseen = [at for at in (*held, *range(end.count, old.count)) if at >= context.seen]
    new.seen = new.count - len(unseen)
    new.tokens = compaction.tokens_after
    new.compacted_us = compaction.at_us
    new.tidy = not new.mend(dialect).repairs
    return new


def covers(compaction: Compaction, context: Context) -> bool:
    """Whether any message of a context is in the compaction's range."""
    end = _taken_apart(context).back(lambda at: at.place > compaction.last)
    return end.place >= compaction.first


def _taken_apart(context: Context) -> Context:
    """Make the same messages one by one of what was loaded together."""
    if not context.root.count:
        return context
    apart = Context(Root())
    for line in context.lines():
        apart = apart.add(line)
    return apart


def _line(context: Context, index: int) -> Line:
    at = context.back(lambda at: at.count > index + 1)
    return at.added(since=at.parent)[0]


# -- what no compaction takes away ------------------------------------------------------------


def _held(context: Context, dialect: Dialect) -> list[int]:
    """The indexes of what no compaction takes away, in order.

    That is what is pinned. Of an exchange in which anything is pinned, the answer and all results
    stay: a result without its call is no message, and a call without its result reads as if it
    had been interrupted.
    """
    pins = list(_pins(context))
    return sorted({at for pin in pins for at in (pin, *_exchange(context, pin, dialect))})


def _pins(context: Context) -> Iterator[int]:
    at: Context | None = context
    while at is not None:
        if at.line is not None and at.line.pin:
            yield at.count - 1
        at = at.pinned


def _exchange(context: Context, pin: int, dialect: Dialect) -> list[int]:
    """The indexes of an answer with calls and of their results, if a message is one of these."""

    def raw(index: int) -> bytes:
        return _line(context, index).raw

    def is_answer(index: int) -> bool:
        return _is_answer(dialect, raw(index))

    if not has_calls(dialect, raw(pin)):
        return []
    start = pin
    while start and not is_answer(start):
        start -= 1
    if not is_answer(start):
        return []  # Results that answer nothing.
    while dialect.merges and start and is_answer(start - 1):
        start -= 1
    after = start + 1
    while dialect.merges and after < context.count and is_answer(after):
        after += 1
    end = after
    while end < context.count and not is_answer(end):
        end += 1
    results = [index for index in range(after, end) if has_calls(dialect, raw(index))]
    return [*range(start, after), *results]


def _is_answer(dialect: Dialect, raw: bytes) -> bool:
    """Whether a message is the model's, or at least calls something."""
    message = Message(dialect, raw)
    return message.role == "assistant" or bool(message.tool_calls)
