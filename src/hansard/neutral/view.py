"""The neutral view of a conversation: of a record, or of native messages.

Ids and times follow from the entries. So the same record always gives the same view, and a message
keeps its id and its time while the record grows.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING

from ..messages import Message
from ..record.context import Line, curated
from ..record.entries import Outcome, PromptIdentity, Said, TurnBegin, TurnEnd, instant
from .rounds import Heard, Rounds, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ..record.entries import Entry
    from ..record.record import Record
    from .records import ConversationState

__all__ = ["conversation_state", "state_of_messages"]


def conversation_state(
    record: Record,
    *,
    prompt: PromptIdentity | None = None,
    system: str = "",
    evaluation_id: str | None = None,
) -> ConversationState:
    """View a record: all valid messages, as if nothing had been compacted.

    Of a round that waits for results, those that there are stand in the last turn. ``prompt`` is
    that of the last turn on the record, where it is not given, and the evaluation the record's
    conversation. ``system`` is the leading system text, which no record holds.
    """
    lines = [*curated(record.context), *_open_round(record)]
    known = _Known(record)
    rounds = Rounds(record.conversation, evaluation_id or record.conversation)
    for line in lines:
        rounds.hear(known.heard(line, Message(record.dialect, line.raw)))
    entries = [*[line.entry for line in lines[:1]], *islice(record.entries(), 1)]
    first = min(entries, key=lambda entry: entry.seq, default=None)
    return rounds.state(prompt or known.prompt, system, instant(first.at_us if first else 0))


def state_of_messages(
    messages: Sequence[Message],
    *,
    conversation: str,
    at: datetime,
    prompt: PromptIdentity | None = None,
    system: str = "",
    evaluation_id: str | None = None,
) -> ConversationState:
    """View native messages that are on no record. Ids follow from their order in ``conversation``.

    Raises `InvalidMessage` where one round is in several dialects.
    """
    rounds = Rounds(conversation, evaluation_id or conversation)
    for index, message in enumerate(messages):
        rounds.hear(Heard(message, f"message {index}", at))
    return rounds.state(prompt or PromptIdentity(), system, at)


def _open_round(record: Record) -> list[Line]:
    """Give the results of a round that waits for more of them, and what was said meanwhile."""
    round_ = record.turn.round if record.turn else None
    if round_ is None:
        return []
    outcomes = [round_.outcome(call) for call in round_.calls]
    settled = [each for each in outcomes if each is not None and each.status != "unknown"]
    last = max(settled, key=lambda outcome: outcome.seq, default=None)
    if last is None:
        return round_.waiting.added()
    framed = record.dialect.frame([bytes(outcome.raw) for outcome in settled])
    return [*[Line(last, raw, raw) for raw in framed], *round_.waiting.added()]


class _Known:
    """What a record says beside its messages: prompts, when calls ended, what came meanwhile."""

    def __init__(self, record: Record) -> None:
        self.prompt = PromptIdentity()
        self._turn_ids = dict(record.start.root.turn_ids())
        self._outcomes: dict[int, list[Outcome]] = {}
        self._said: list[Said] = []
        self._answer = -1
        self._next = 0
        for entry in record.entries():
            self._note(entry)

    def _note(self, entry: Entry) -> None:
        if isinstance(entry, TurnBegin):
            self._turn_ids[entry.turn] = entry.turn_id
            self.prompt = entry.prompt or self.prompt
        elif isinstance(entry, Outcome) and entry.status != "unknown":
            self._outcomes.setdefault(entry.call.answer, []).append(entry)
        elif isinstance(entry, Said):
            self._said.append(entry)

    def heard(self, line: Line, message: Message) -> Heard:
        """Say what is known of a message of the context. They come in order."""
        entry = line.entry
        if message.role == "assistant":
            self._answer = entry.seq
            self._next = bisect_right(self._said, entry.seq, key=lambda said: said.seq)
        source = self._meanwhile(entry, message) or entry
        return Heard(
            message,
            f"entry {source.seq}",
            instant(source.at_us),
            self._turn_ids.get(entry.turn),
            self._ended(entry),
        )

    def _meanwhile(self, entry: Entry, message: Message) -> Said | None:
        """Find where words were said that came while calls were pending, and were framed later."""
        framed = isinstance(entry, Outcome | TurnEnd)
        if not framed or not words(message) or self._next == len(self._said):
            return None
        said = self._said[self._next]
        if said.seq > entry.seq:
            return None
        self._next += 1
        return said

    def _ended(self, entry: Entry) -> dict[int, datetime]:
        """Say when the calls of the last answer ended, as far as it was known by this entry."""
        ended: dict[int, datetime] = {}
        for outcome in self._outcomes.get(self._answer, ()):
            if outcome.seq <= entry.seq:
                ended.setdefault(outcome.call.position, instant(outcome.at_us))
        return ended
