"""What must be true of a store and of the world, whatever was killed, and whenever."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import hansard
from hansard import Chat, Message
from hansard.record.entries import Outcome, Said, TurnBegin, TurnEnd
from hansard.testing import ScriptedModel
from tests.kills import plan
from tests.kills.effects import Effects
from tests.kills.tools import POLICIES
from tests.kills.watched import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.record.entries import Entry
    from hansard.stores.store import Store

__all__ = ["Acknowledged", "check"]


class Page(NamedTuple):
    """Entries whose append was acknowledged."""

    conversation: str
    first: int
    until: int
    digest: str


@dataclass
class Acknowledged:
    """What was acknowledged to processes that were killed later, or not."""

    pages: list[Page] = field(default_factory=list)
    replies: dict[str, str] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    conversations: set[str] = field(default_factory=set)


class _Call(NamedTuple):
    """A call that has an outcome on the record."""

    tool: str
    mark: str
    status: str


def check(
    url: str, folder: Path, acknowledged: Acknowledged, seed: int, *, transactions: bool
) -> Counter[str]:
    """See that nothing was lost, and nothing done twice; count what was done."""
    counts: Counter[str] = Counter()
    with hansard.open_store(url) as store:
        chat = Chat(ScriptedModel(plan.answer))
        logs = {
            name: chat.session(store, name).log() for name in sorted(acknowledged.conversations)
        }
        written = _written(store) if transactions else Counter()
    for name, log in logs.items():
        assert [entry.seq for entry in log] == list(range(len(log))), f"{name} has gaps"
        counts["entries"] += len(log)
        counts["turns"] += _check_turns(name, log, acknowledged, seed)
    for page in acknowledged.pages:
        found = logs[page.conversation][page.first : page.until]
        assert digest(found) == page.digest, f"{page} is lost, or something else"
    calls = {call.mark: call for log in logs.values() for call in _calls(log)}
    counts += _check_effects(calls, Effects(folder), written, transactions=transactions)
    return counts


def _written(store: Store) -> Counter[str]:
    transaction: Any = store.begin()  # type: ignore[attr-defined]
    try:
        return Effects.written(transaction.connection)
    finally:
        transaction.rollback()


def _check_turns(name: str, log: Sequence[Entry], acknowledged: Acknowledged, seed: int) -> int:
    """See that every turn has ended as it was to end, and was there once; count them."""
    begins = {entry.turn: entry.turn_id for entry in log if isinstance(entry, TurnBegin)}
    ids = Counter(begins.values())
    assert not ids or max(ids.values()) == 1, f"{name} has turns twice: {ids.most_common(3)}"
    ended = {entry.turn: entry.status for entry in log if isinstance(entry, TurnEnd)}
    said = {
        entry.turn: Message(hansard.dialect("openai"), bytes(entry.raw)).text
        for entry in log
        if isinstance(entry, Said) and entry.author == "model"
    }
    for turn, turn_id in begins.items():
        assert ended.get(turn) == "done", f"turn {turn_id} ended as {ended.get(turn)}"
        conversation, _, number = turn_id.rpartition(".")
        assert said[turn] == plan.step(seed, conversation, int(number)).text
    for turn_id, text in acknowledged.replies.items():
        if turn_id.rpartition(".")[0] == name:
            assert ids[turn_id] == 1, f"the reply of turn {turn_id} was acknowledged, and is lost"
            assert text == f"Done with {turn_id}.", f"turn {turn_id} had the reply {text!r}"
    notes = Counter(
        [
            Message(hansard.dialect("openai"), bytes(entry.raw)).text
            for entry in log
            if isinstance(entry, Said) and entry.author == "append"
        ]
    )
    assert not notes or max(notes.values()) == 1, f"{name} has notes twice: {notes.most_common(3)}"
    lost = set(acknowledged.notes[name]) - notes.keys()
    assert not lost, f"acknowledged notes are lost: {lost}"
    return len(begins)


def _calls(log: Sequence[Entry]) -> list[_Call]:
    """The calls that the model has made, each with what is on the record of it."""
    asked: dict[tuple[int, int], tuple[str, str]] = {}
    calls = []
    for entry in log:
        if isinstance(entry, Said) and entry.author == "model":
            message = Message(hansard.dialect("openai"), bytes(entry.raw))
            for call in message.tool_calls:
                asked[entry.seq, call.position] = (call.name, call.id)
        elif isinstance(entry, Outcome) and entry.status != "unknown":
            key = (entry.call.answer, entry.call.position)
            assert key in asked, f"an outcome of no call, or a second one: {entry}"
            tool, mark = asked.pop(key)
            calls.append(_Call(tool, mark, entry.status))
    assert not asked, f"calls without an outcome: {asked}"
    return calls


def _check_effects(
    calls: dict[str, _Call], effects: Effects, written: Counter[str], *, transactions: bool
) -> Counter[str]:
    done, kept, begun = effects.done(), effects.kept(), effects.begun()
    keys: dict[str, set[str]] = defaultdict(set)
    for begin in begun:
        assert begin.is_resume or not keys[begin.mark], f"{begin} was begun before"
        keys[begin.mark].add(begin.key)
    for mark, different in keys.items():
        assert len(different) == 1, f"{mark} has had several keys: {different}"
        assert mark in calls, f"{mark} was begun, and its call is lost"
    counts: Counter[str] = Counter({"begun again": len(begun) - len(keys)})
    for found, what in ((done, "once"), (kept, "keyed"), (written, "transactional")):
        twice = [mark for mark, times in found.items() if times > 1]
        assert not twice, f"{what} effects happened twice: {twice}"
        assert found.keys() <= calls.keys(), f"{what} effects without an outcome"
        counts[what] = len(found)
    by_policy = {"keyed": kept, "transactional": written if transactions else done, "once": done}
    for call in calls.values():
        policy = POLICIES[call.tool]
        if policy == "reads":
            counts["reads"] += 1
        else:
            happened = by_policy[policy][call.mark]
            assert happened == (call.status == "ok"), f"{call} has had {happened} effects"
    return counts
