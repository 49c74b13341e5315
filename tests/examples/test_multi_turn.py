"""Users are kept apart, and a worker's death loses and doubles nothing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from examples import multi_turn
from examples.multi_turn import CLAIM, GREETINGS, SCHEMA, Conflict, Conversation, clerk, main, work
from hansard import Chat
from hansard.testing import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "conversations.db")


def state_of(path: str, who: str) -> bytes:
    with closing(sqlite3.connect(path)) as database:
        found = database.execute("SELECT state FROM conversation WHERE who = ?", (who,))
        state: bytes = found.fetchone()[0]
    return state


def die(path: str) -> None:
    """Let a worker take Ada's claim, and die."""
    died = subprocess.run([sys.executable, multi_turn.__file__, "", path], check=False)
    assert died.returncode == 1


def test_a_message_that_a_worker_died_of_is_answered_as_if_nothing_had_happened(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = ScriptedModel(clerk)
    main(model, path)
    printed = capsys.readouterr().out
    assert "ended with status 1" in printed
    assert printed.count("Opened a claim for P-7, again") == 1
    assert printed.count("It has been in Leeds since Monday. I have opened a claim.") == 2
    assert printed.endswith("Claims: ['P-7']\n")


def test_after_a_crash_the_model_is_asked_for_nothing_that_it_has_said(path: str) -> None:
    work(ScriptedModel(clerk), path, *GREETINGS)
    die(path)
    model = ScriptedModel(clerk)
    work(model, path, CLAIM)
    work(model, path, CLAIM)
    (request,) = model.requests
    found, opened = [result.text for result in request.results]
    assert '"place":"Leeds"' in found
    assert opened == "It is open."


def test_all_that_had_ended_before_the_crash_is_in_the_database(path: str) -> None:
    die(path)
    record = Chat(ScriptedModel(clerk)).load(state_of(path, "ada"))
    assert record.turn is not None
    assert record.turn.begin.turn_id == "message-3"
    assert record.turn.round is not None
    assert [call.name for call in record.turn.round.pending] == ["open_claim"]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT parcel FROM claim").fetchall() == [("P-7",)]


def test_each_user_has_a_conversation_of_their_own(path: str) -> None:
    model = ScriptedModel(clerk)
    work(model, path, *GREETINGS, ("ada", "message-4", "Are you there?"))
    ada, bob, again = model.requests
    assert [message.text for message in ada.messages] == [GREETINGS[0][2]]
    assert [message.text for message in bob.messages] == [GREETINGS[1][2]]
    assert [message.text for message in again.messages][::2] == [GREETINGS[0][2], "Are you there?"]
    assert "talk to ada" in again.system


def test_of_two_workers_who_answer_the_same_user_one_fails_and_changes_nothing(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(SCHEMA)
        one, other = Conversation(database, "ada"), Conversation(database, "ada")
        one.save(b"one")
        with pytest.raises(Conflict, match="ada"):
            other.save(b"other")
        one.save(b"one, later")
    assert state_of(path, "ada") == b"one, later"
