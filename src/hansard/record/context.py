"""The context: the messages that the model is sent next.

A context never changes. `Context.add` makes a longer one that shares all of the old one, so that
adding costs the same at any length, and a fork or a rewind is a matter of keeping the old one.

The last message is the head of the chain; at its root stands nothing, or a stretch of messages
that were loaded together and are not taken apart until somebody looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .. import rawjson
from ..dialects.pairing import repair
from .entries import Compaction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..dialects.dialect import Dialect
    from ..dialects.pairing import Repair, Repaired
    from .entries import Entry

__all__ = [
    "Context",
    "Line",
    "Replaced",
    "Root",
    "Stored",
    "compacted",
    "covers",
    "curated",
    "position",
    "sent",
]

_SEGMENTS_MAX = 64
"""From how many pieces on the joined messages are kept for the next request."""


class Line(NamedTuple):
    """One message of a context: the entry that it stems from, its bytes, and the bytes to send.

    ``sent`` is None for a message that the provider would refuse, and that is left out.
    """

    entry: Entry
    raw: bytes
    sent: bytes | None


class Root:
    """What a context begins with: here, nothing. `blob.LoadedRoot` has messages."""

    count: int = 0
    seen: int = 0
    tidy: bool = True
    tokens: int | None = None
    compacted_us: int | None = None

    def lines(self) -> Sequence[Line]:
        """The messages, one by one."""
        return ()

    def segment(self) -> bytes | memoryview:
        """The messages as they are sent, joined by commas."""
        return b""


class Stored(Root):
    """A root with messages that are not taken apart until somebody looks.

    ``plain``: they are sent as they stand here.
    """

    def __init__(
        self,
        dialect: Dialect,
        messages: bytes | memoryview,
        count: int,
        *,
        tidy: bool,
        plain: bool,
    ) -> None:
        self.dialect = dialect
        self.messages = messages
        self.count = count
        self.tidy = tidy
        self.plain = plain
        self._sent: bytes | None = None

    def items(self) -> list[bytes]:
        """The elements that stand here, checked, as nobody has looked at them yet."""
        array = b"[%b]" % bytes(self.messages)
        return rawjson.elements(rawjson.compact(array, depth_max=rawjson.DEPTH_MAX + 1))

    def segment(self) -> bytes | memoryview:
        if self.plain:
            return self.messages
        if self._sent is None:
            sendable = [line.sent for line in self.lines()]
            self._sent = b",".join(
                [self.dialect.splice(raw) for raw in sendable if raw is not None]
            )
        return self._sent


class Replaced(Root):
    """The root of a compacted context: it remembers what stood there before.

    The first ``kept`` messages after it are the summary, and what was there already.
    """

    def __init__(self, earlier: Context, kept: int) -> None:
        self.earlier = earlier
        self.kept = kept


class Context:
    """A message, and the context before it.

    ``tidy``: every result is known to have its call and every call its result, so that no repair
    is needed. ``repaired`` is what had to be mended for that. The messages are kept as they were
    said, and the mended ones only as the bytes to send.

    ``seen`` counts the messages, from the first on, that a model has seen. ``tokens`` and
    ``compacted_us`` are what was last known of its size, and when it was last compacted.
    """

    __slots__ = (
        "_joined",
        "_mended",
        "compacted_us",
        "count",
        "line",
        "parent",
        "repaired",
        "root",
        "seen",
        "tidy",
        "tokens",
    )

    def __init__(self, root: Root) -> None:
        self.root = root
        self.parent: Context | None = None
        self.line: Line | None = None
        self.count = root.count
        self.seen = root.seen
        self.tidy = root.tidy
        self.tokens = root.tokens
        self.compacted_us = root.compacted_us
        self.repaired: tuple[Repair, ...] = ()
        self._mended: bytes | None = None
        self._joined: bytes | None = None

    def add(self, line: Line, *, tidy: bool = True) -> Context:
        """Make the context that has one message more."""
        longer = self._copy()
        longer.parent = self
        longer.line = line
        longer.count = self.count + 1
        longer.tidy = self.tidy and tidy
        return longer

    def answered(self, line: Line, tokens: int | None) -> Context:
        """Make the context that has one message more, by a model which has seen all of it."""
        longer = self.add(line)
        longer.seen = longer.count
        longer.tokens = tokens
        return longer

    def _copy(self) -> Context:
        """Make the same context, but for the bytes that were kept for requests."""
        copy = Context.__new__(Context)
        copy.root = self.root
        copy.parent = self.parent
        copy.line = self.line
        copy.count = self.count
        copy.seen = self.seen
        copy.tidy = self.tidy
        copy.tokens = self.tokens
        copy.compacted_us = self.compacted_us
        copy.repaired = self.repaired
        copy._mended = None
        copy._joined = None
        return copy

    def added(self) -> list[Line]:
        """The messages since the root, in order."""
        lines = []
        at: Context | None = self
        while at is not None:
            if at.line is not None:
                lines.append(at.line)
            at = at.parent
        lines.reverse()
        return lines

    def lines(self) -> list[Line]:
        """All messages, in order."""
        return [*self.root.lines(), *self.added()]

    def segments(self, dialect: Dialect) -> list[bytes | memoryview]:
        """All messages as they are sent, in pieces to be joined by commas."""
        if not self.tidy:
            return self.mended(dialect).segments(dialect)
        walked: list[bytes | memoryview] = []
        at = self
        while (known := at._known()) is None and at.line is not None and at.parent is not None:
            walked.append(b"" if at.line.sent is None else dialect.splice(at.line.sent))
            at = at.parent
        walked.append(at.root.segment() if known is None else known)
        pieces = [piece for piece in reversed(walked) if piece]
        if len(walked) <= _SEGMENTS_MAX:
            return pieces
        at._joined = None
        self._joined = b",".join(pieces)
        return pieces

    def _known(self) -> bytes | None:
        joined = self._joined  # Looked at once: another thread may take it away.
        return self._mended if joined is None else joined

    def mend(self, dialect: Dialect, *, pending: bool = False) -> Repaired:
        """Look at every message, and mend what no provider would take.

        With ``pending``, the calls of the last answer still wait for their results.
        """
        return repair(dialect, [line.raw for line in self.lines()], pending=pending)

    def mended(self, dialect: Dialect) -> Context:
        """Make the context that is known to be in order; this one, if it is."""
        if self.tidy:
            return self
        repaired = self.mend(dialect)
        tidy = self._copy()
        tidy.tidy = True
        tidy.repaired = repaired.repairs
        if repaired.repairs or self.repaired:
            tidy._mended = sent(dialect, repaired.messages)
        return tidy


def sent(dialect: Dialect, messages: Iterable[bytes]) -> bytes:
    """Give messages as they are sent, joined by commas."""
    projected = [dialect.project(raw) for raw in messages]
    return b",".join([dialect.splice(raw) for raw in projected if raw is not None])


def compacted(context: Context, compaction: Compaction, dialect: Dialect) -> Context:
    """Make the context in which the compaction's messages stand for its range of entries."""
    raws = [bytes(raw) for raw in compaction.messages]
    summary = [Line(compaction, raw, dialect.project(raw)) for raw in raws]
    before: list[Line] = []
    after: list[Line] = []
    for line in context.lines():
        seq = position(line)
        if seq < compaction.first:
            before.append(line)
        elif seq > compaction.last:
            after.append(line)
    lines = [*before, *summary, *after]
    shorter = Context(Replaced(context, len(lines)))
    for line in lines:
        shorter = shorter.add(line)
    unseen = min(context.count - context.seen, len(after))
    shorter.seen = shorter.count - unseen
    shorter.tokens = compaction.tokens_after
    shorter.compacted_us = compaction.at_us
    shorter.tidy = not shorter.mend(dialect).repairs
    return shorter


def covers(compaction: Compaction, context: Context) -> bool:
    """Whether any message of a context is in the compaction's range."""
    return any(compaction.first <= position(line) <= compaction.last for line in context.lines())


def position(line: Line) -> int:
    """Where a message stands in the order of entries: a summary, at the end of its range."""
    return line.entry.last if isinstance(line.entry, Compaction) else line.entry.seq


def curated(context: Context) -> list[Line]:
    """All valid messages, as if nothing had ever been compacted."""
    stretches = []
    while isinstance(context.root, Replaced):
        stretches.append(context.added()[context.root.kept :])
        context = context.root.earlier
    stretches.append(context.lines())
    return [line for stretch in reversed(stretches) for line in stretch]
