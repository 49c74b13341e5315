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
from ..messages import ToolCall, ToolResult
from .entries import Compaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..dialects.dialect import Dialect
    from ..dialects.pairing import Repair, Repaired
    from .entries import Entry
    from .turns import TurnHead

__all__ = [
    "Context",
    "Line",
    "Replaced",
    "Root",
    "Stored",
    "curated",
    "has_calls",
    "position",
    "sent",
]

_SEGMENTS_MAX = 64
"""From how many pieces on the joined messages are kept for the next request."""


class Line(NamedTuple):
    """One message of a context: the entry that it stems from, its bytes, and the bytes to send.

    ``sent`` is None for a message that the provider would refuse, and that is left out. What has a
    ``pin`` is kept when the context is compacted; so has a result with pinned words in it.
    """

    entry: Entry
    raw: bytes
    sent: bytes | None
    pin: bool = False


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

    def turns(self) -> Sequence[TurnHead]:
        """The closed turns that the messages are of, in order, as far as they are known."""
        return ()

    def turn(self, turn_id: str) -> TurnHead | None:
        """The closed turn of that id; the last one, if several were given it."""
        found = [head for head in self.turns() if head.turn_id == turn_id]
        return found[-1] if found else None

    def turn_at(self, seq: int) -> TurnHead | None:
        """The closed turn that began with an entry, as far as that is known here."""
        del seq  # What is loaded from a blob has no entries.
        return None

    def entries_of(self, number: int) -> tuple[Entry, ...]:
        """What is here of the entries of one turn."""
        return tuple([line.entry for line in self.lines() if line.entry.turn == number])

    def turn_ids(self) -> Mapping[int, str]:
        """The ids of those turns, by number."""
        return {head.number: head.turn_id for head in self.turns()}


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

    def __getstate__(self) -> dict[str, object]:
        """Pickle the bytes of which slices were kept."""
        return {
            name: bytes(value) if isinstance(value, memoryview) else value
            for name, value in vars(self).items()
        }

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

    ``place`` is how far in the order of entries the messages reach. ``pinned`` is the last context
    before this one that ends with a pinned message. ``jump`` is one further back, so chosen that
    `back` finds any place in a number of steps that grows as slowly as a logarithm.
    """

    __slots__ = (
        "_joined",
        "_mended",
        "compacted_us",
        "count",
        "jump",
        "line",
        "parent",
        "pinned",
        "place",
        "repaired",
        "root",
        "seen",
        "tidy",
        "tokens",
    )

    def __init__(self, root: Root) -> None:
        self.root = root
        self.parent: Context | None = None
        self.jump: Context | None = None
        self.pinned: Context | None = None
        self.line: Line | None = None
        self.place = -1
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
        longer.jump = self._far()
        longer.pinned = self if self.line is not None and self.line.pin else self.pinned
        longer.line = line
        longer.place = max(self.place, position(line))
        longer.count = self.count + 1
        longer.tidy = self.tidy and tidy
        return longer

    def answered(self, line: Line, tokens: int | None) -> Context:
        """Make the context that has one message more, by a model which has seen all of it."""
        longer = self.add(line)
        longer.seen = longer.count
        longer.tokens = tokens
        return longer

    def _far(self) -> Context:
        """Where the context that has one message more jumps to: jumps double as they go back."""
        near = self.jump
        far = None if near is None else near.jump
        if near is None or far is None or self.count - near.count != near.count - far.count:
            return self
        return far

    def back(self, beyond: Callable[[Context], bool]) -> Context:
        """Go back as long as a context is ``beyond``, which may only change once on the way."""
        at = self
        while at.parent is not None and beyond(at):
            at = at.jump if at.jump is not None and beyond(at.jump) else at.parent
        return at

    def _copy(self) -> Context:
        """Make the same context, but for the bytes that were kept for requests."""
        copy = Context.__new__(Context)
        copy.root = self.root
        copy.parent = self.parent
        copy.jump = self.jump
        copy.pinned = self.pinned
        copy.line = self.line
        copy.place = self.place
        copy.count = self.count
        copy.seen = self.seen
        copy.tidy = self.tidy
        copy.tokens = self.tokens
        copy.compacted_us = self.compacted_us
        copy.repaired = self.repaired
        copy._mended = None
        copy._joined = None
        return copy

    def added(self, since: Context | None = None) -> list[Line]:
        """The messages since the root, or since a context on the way to it, in order."""
        lines = []
        at: Context | None = self
        while at is not None and at is not since:
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
            if (sent := at.line.sent) is not None:
                walked.append(dialect.splice(sent))
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


def has_calls(dialect: Dialect, raw: bytes) -> bool:
    """Whether there are calls or results in a message."""
    if not dialect.may_have_calls(raw):
        return False
    parts = dialect.read(raw).parts
    return any([isinstance(part, ToolCall | ToolResult) for part in parts])


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
