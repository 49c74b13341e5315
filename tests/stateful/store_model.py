"""What a store promises, in plain Python: conversations that share nothing and never run out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import hansard
from hansard.record.pages import Head, page_of
from hansard.stores.store import Metadata
from hansard.testing.store_talk import Append, Talk
from tests.property.test_record import Play, Step
from tests.support.record_model import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.record.record import Record

__all__ = ["Lease", "Spoken", "words"]


class Lease(NamedTuple):
    """The last lease of a conversation; nobody has it if it has no owner."""

    fence: int = 0
    owner: str | None = None


class Spoken(Talk):
    """A conversation in which anything is said that can be, and all that a store knows of it."""

    def __init__(self, name: str, play: Play, head: Head) -> None:
        super().__init__(name, dialect=head.dialect, record=play.record, head=head)
        self.play = play
        self.models: list[Model] = [play.model]
        self.appends: list[Append] = []
        self.turns: list[tuple[str, int]] = []
        self.metadata = Metadata()
        self.lease = Lease()

    @classmethod
    def new(cls, name: str, dialect: str, incarnation: str) -> Spoken:
        return cls(name, Play(hansard.dialect(dialect)), Head(incarnation, dialect))

    def speak(self, steps: Sequence[Step], commit: str, turn_id: str | None) -> Append | None:
        """Do all of this, and give what is to be appended for it, if anything could be done."""
        before = self.record
        for step in steps:
            getattr(self.play, step.kind)(step)
        self.play.twin = self.record = self.play.record
        entries = list(self.record.entries(before.length))
        if not entries:
            return None
        page, head = page_of(self.head, before, self.record, entries, commit)
        return Append(self.name, page, head, turn_id)

    def keep(self, made: Append) -> None:
        """Know that it has been appended."""
        self.head = made.head
        self.appends.append(made)
        if made.turn_id is not None:
            self.turns.append((made.turn_id, made.page.first))
        if self.record.turn is None:
            self.stands.append((self.record, self.head))
            self.models.append(self.play.model)

    def at(self, stand: int, name: str, incarnation: str) -> Spoken:
        """The conversation as it stood, under a name, with all that is shared."""
        record, head = self.stands[stand]
        play = Play(self.dialect)
        play.record = play.twin = record
        play.model = self.models[stand]
        fork = Spoken(name, play, _named(head, incarnation))
        fork.turns = [(turn_id, seq) for turn_id, seq in self.turns if seq < head.seq]
        return fork

    def began(self, turn_id: str) -> int | None:
        """Where the last turn of that id began."""
        return dict(self.turns).get(turn_id)

    @property
    def is_between_turns(self) -> bool:
        return self.record.turn is None


def _named(head: Head, incarnation: str) -> Head:
    kept: dict[str, object] = {name: getattr(head, name) for name in head.__struct_fields__}
    return Head(**{**kept, "incarnation": incarnation})  # type: ignore[arg-type]


def words(record: Record, size: int) -> Step:
    """Say something long, whatever has been said before; others say the same now and then."""
    return Step("said", 3, (f"{record.length % 8} " * size)[:size], ["a"])
