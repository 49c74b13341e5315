"""A record that is written entry by entry, each a millisecond after the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

import msgspec

from hansard.messages import Draft, Message, ToolCall, user
from hansard.record.entries import (
    CallKey,
    Compaction,
    Outcome,
    PromptIdentity,
    Said,
    TurnBegin,
    TurnEnd,
    instant,
)
from hansard.record.record import Record

if TYPE_CHECKING:
    from datetime import datetime

    from hansard.dialects.dialect import Dialect
    from hansard.record.entries import Author, Entry

START_US = 1_700_000_000_000_000


def time_of(seq: int) -> datetime:
    """Give the time of an entry."""
    return instant(START_US + seq * 1000)


class Next(TypedDict):
    """What every entry has."""

    seq: int
    turn: int
    at_us: int


class Recording:
    """Writes a record, and keeps every stage of it."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.record = Record("conversation", dialect)
        self.stages = [self.record]

    @property
    def next(self) -> Next:
        """The number, the turn and the time of the next entry."""
        seq = self.record.length
        return {"seq": seq, "turn": self.record.turn_number, "at_us": START_US + seq * 1000}

    def apply(self, entry: Entry) -> int:
        """Write an entry, and give its number."""
        self.record = self.record.apply(entry)
        self.stages.append(self.record)
        return entry.seq

    def begin(self, turn_id: str, prompt: PromptIdentity | None = None) -> None:
        """Begin a turn."""
        head = self.next
        head["turn"] += 1
        self.apply(TurnBegin(**head, turn_id=turn_id, prompt=prompt))

    def said(self, what: Draft | str, author: Author = "input") -> int:
        """Say something, a user's words if it is a text."""
        draft = user(what) if isinstance(what, str) else what
        (raw,) = self.dialect.compose(draft).messages
        role = self.dialect.read(raw).role
        entry = Said(**self.next, role=role, author=author, raw=msgspec.Raw(raw))
        return self.apply(entry)

    def answered(self, draft: Draft) -> int:
        """Answer as the model."""
        return self.said(draft, "model")

    def ended(self, answer: int, position: int, text: str) -> int:
        """End a call."""
        call = self.calls(answer)[position]
        raw = self.dialect.result(call, call.answer(text))
        key = CallKey(answer, position, call.id)
        return self.apply(Outcome(**self.next, call=key, status="ok", raw=msgspec.Raw(raw)))

    def unknown(self, answer: int, position: int) -> int:
        """Let it be unknown what became of a call."""
        key = CallKey(answer, position, self.calls(answer)[position].id)
        return self.apply(Outcome(**self.next, call=key, status="unknown"))

    def calls(self, answer: int) -> tuple[ToolCall, ...]:
        """Give the calls of an answer."""
        entry = self.record.entry(answer)
        assert isinstance(entry, Said)
        return Message(self.dialect, bytes(entry.raw)).tool_calls

    def end(self, status: Literal["done", "failed", "abandoned"] = "done") -> int:
        """End the turn."""
        return self.apply(TurnEnd(**self.next, status=status))

    def compact(self, first: int, last: int, text: str) -> int:
        """Let a summary stand for some entries."""
        (raw,) = self.dialect.compose(user(text)).messages
        messages = (msgspec.Raw(raw),)
        return self.apply(
            Compaction(**self.next, first=first, last=last, messages=messages, strategy="summary")
        )
