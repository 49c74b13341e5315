"""Several processes at once: whoever sends is answered, once, and nobody gets in another's way."""

from __future__ import annotations

import random
import signal
from collections import Counter, defaultdict
from contextlib import ExitStack
from typing import TYPE_CHECKING, get_args

import msgspec
import pytest

import hansard
from hansard import Chat, Message, ToolIdempotencyError, user
from hansard.record.entries import Said, TurnBegin, TurnEnd
from hansard.testing import ScriptedModel
from tests.conftest import scale
from tests.kills import crowd, stopped
from tests.kills.children import Child
from tests.kills.effects import Effects
from tests.kills.stores import URLS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hansard.record.entries import Entry

OPENAI = hansard.dialect("openai")


# -- sending at once ------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [2, 4, 8])
@pytest.mark.parametrize("kind", URLS)
def test_processes_that_send_to_one_conversation_and_to_many_lose_and_double_nothing(
    kind: str, processes: int, tmp_path: Path, rng: random.Random
) -> None:
    """Each has turns of its own, and one in each conversation that all of them ask for."""
    conversations = ["one", *[f"many{number}" for number in range(scale(3, 8))]]
    turns: dict[str, list[tuple[str, str]]] = {}
    for number in range(processes):
        own = [("one", f"{number}.one.{at}") for at in range(scale(2, 12))]
        own += [(name, f"{number}.{name}") for name in conversations[1:]]
        shared = [(name, f"shared.{name}") for name in conversations]
        turns[f"p{number}"] = rng.sample([*own, *shared], len(own) + len(shared))
    replies = all_at_once(URLS[kind](tmp_path), tmp_path, turns)

    wanted: dict[str, set[str]] = defaultdict(set)
    for name, asked in turns.items():
        assert set(replies[name]) == {turn_id for _, turn_id in asked}, f"{name} misses a reply"
        for conversation, turn_id in asked:
            wanted[conversation].add(turn_id)
    by_turn: dict[str, set[str]] = defaultdict(set)
    for told in replies.values():
        for turn_id, text in told.items():
            by_turn[turn_id].add(text)
    for turn_id, texts in by_turn.items():
        assert len(texts) == 1, f"turn {turn_id} was answered twice: {texts}"
        writer, _, written = next(iter(texts)).partition(" wrote ")
        assert written == turn_id, f"turn {turn_id} has the reply of another: {texts}"
        if not turn_id.startswith("shared"):
            assert writer == f"p{turn_id.partition('.')[0]}"

    with hansard.open_store(URLS[kind](tmp_path)) as store:
        chat = Chat(ScriptedModel())
        for conversation in conversations:
            log = chat.session(store, conversation).log()
            assert turns_in(log) == Counter(wanted[conversation])
    done = Effects(tmp_path).done()
    assert done == Counter([f"{who} {turn}" for who in ("tool", "model") for turn in by_turn])


def all_at_once(
    url: str, folder: Path, turns: dict[str, list[tuple[str, str]]]
) -> dict[str, dict[str, str]]:
    """Let a process take each of the rows of turns; give what each was told, by turn."""
    with ExitStack() as stack:
        children = {
            name: stack.enter_context(Child("crowd", folder / f"{name}.err")) for name in turns
        }
        for child in children.values():
            child.hear("ready")
        for name, child in children.items():
            child.order(msgspec.json.encode(crowd.Orders(url, str(folder), name, turns[name])))
        replies = {}
        for name, child in children.items():
            lines, _ = child.rest()
            assert lines[-1:] == [["over"]], child.told(f"expected {name} to come to its end")
            replies[name] = {turn_id: text for _, _, turn_id, text in lines[:-1]}
        return replies


def turns_in(log: Sequence[Entry]) -> Counter[str]:
    """How often each turn is on a log, which has no gap, and in which each has ended well.

    What is said in a turn, and what its tool has written, is its own.
    """
    assert [entry.seq for entry in log] == list(range(len(log)))
    begins = {entry.turn: entry.turn_id for entry in log if isinstance(entry, TurnBegin)}
    ends = {entry.turn: entry.status for entry in log if isinstance(entry, TurnEnd)}
    assert ends == dict.fromkeys(begins, "done")
    said: dict[int, list[str]] = defaultdict(list)
    for entry in log:
        if isinstance(entry, Said):
            said[entry.turn].append(Message(OPENAI, bytes(entry.raw)).text)
    for turn, turn_id in begins.items():
        assert said[turn][0] == crowd.said_in(turn_id)
        assert said[turn][-1].endswith(f" wrote {turn_id}")
    return Counter(begins.values())


# -- one that is stopped --------------------------------------------------------------------------


@pytest.mark.parametrize("policy", get_args(stopped.Policy))
@pytest.mark.parametrize("place", get_args(stopped.Place))
@pytest.mark.parametrize("kind", URLS)
def test_who_was_stopped_and_wakes_after_its_lease_ran_out_cannot_write(
    kind: str, place: stopped.Place, policy: stopped.Policy, tmp_path: Path
) -> None:
    """Another takes the turn over, and finishes it.

    Only a tool that had been started before comes to its end, then: its key is the same.
    """
    url = URLS[kind](tmp_path)
    with Child("stopped", tmp_path / "stopped.err") as child, hansard.open_store(url) as store:
        child.hear("ready")
        orders = stopped.Orders(url, str(tmp_path), place, policy, lease_s=0.5)
        child.order(msgspec.json.encode(orders))
        child.hear("stands", place)
        child.stop()
        child.order(b"Go on.")  # It has this in its pipe, and does not read it yet.

        session = stopped.make_chat(tmp_path, policy).session(store, "c")
        if policy == "once" and place != "before the answer is recorded":
            with pytest.raises(ToolIdempotencyError) as doubt:
                session.send(user(stopped.PROMPT), turn_id="t")
            assert not Effects(tmp_path).done()
            session.settle(doubt.value.calls[0], not_run=True)
        reply = session.send(user(stopped.PROMPT), turn_id="t")
        assert reply.text == "It is booked."
        log = session.log()

        child.send(signal.SIGCONT)
        child.hear("failed", "LeaseLost")
        assert session.log() == log, "it has written"
        child.order(b"And once more.")
        child.hear("replied", "It is booked.")
        assert session.log() == log
    effects = Effects(tmp_path)
    assert len({begun.key for begun in effects.begun()}) == 1
    if policy == "keyed":
        assert effects.kept() == {"booked": 1}
    else:  # What had started cannot be stopped: it was said not to have run, and then it did.
        assert effects.done() == {"booked": 2 if place == "in the tool" else 1}
