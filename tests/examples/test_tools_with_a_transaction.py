"""What a turn did to the database is committed with its state, or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from examples.tools_with_a_transaction import SAID, SCHEMA, Atlas, main, script, take_turn
from hansard import Chat
from hansard.record import views
from hansard.testing import ScriptedModel, call, say

if TYPE_CHECKING:
    from pathlib import Path


def test_the_map_and_the_conversation_know_nothing_of_the_turn_that_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = script()
    main(model, str(tmp_path / "game.db"))
    assert model.left == 0

    with closing(sqlite3.connect(tmp_path / "game.db")) as database:
        places = database.execute("SELECT name FROM place ORDER BY rowid").fetchall()
        ways = database.execute("SELECT here, there FROM way ORDER BY rowid").fetchall()
        [(state,)] = database.execute("SELECT state FROM game").fetchall()
    assert places == [("theatre",), ("pump room",), ("garden",)]
    there, back = ("theatre", "pump room"), ("pump room", "theatre")
    assert ways == [there, back, ("theatre", "garden"), ("garden", "theatre")]

    said = [message.text for message in views.curated(Chat(script()).load(state))]
    assert [text for text in said if text in SAID] == [SAID[0], SAID[1]]

    _, second, third = capsys.readouterr().out.split("> ")[1:]
    assert "rolled back, because of Unreachable" in second
    assert "on the map: theatre, pump room\n" in second
    assert "on the map: theatre, pump room, garden\n" in third


def test_the_turn_that_is_said_again_is_asked_as_if_for_the_first_time() -> None:
    model = script()
    main(model)
    failed, again = model.requests[3], model.requests[5]
    assert failed.text == SAID[1]
    assert failed.body == again.body


def test_the_model_is_told_of_a_tool_that_failed_and_the_turn_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = script()
    main(model)
    *created, slipped = [result.text for result in model.requests[1].results]
    assert created == ["Created.", "Created."]
    assert "FOREIGN KEY constraint failed" in slipped
    assert "pmup" not in capsys.readouterr().out


@pytest.fixture
def database() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.executescript(SCHEMA)
    return database


def test_a_tool_that_fails_in_mid_way_undoes_what_it_alone_has_written(
    database: sqlite3.Connection,
) -> None:
    atlas = Atlas(database)

    def build(name: str) -> None:
        """Build two houses."""
        with atlas.savepoint():
            database.execute("INSERT INTO place VALUES (?)", (f"{name} 1",))
            if name == "ruin":
                raise RuntimeError("it fell down")
            database.execute("INSERT INTO place VALUES (?)", (f"{name} 2",))

    calls = [call("build", name="house"), call("build", name="ruin")]
    model = ScriptedModel(say(calls=calls), "Half done.")
    with closing(database), Chat(model, tools=[build], max_concurrent=1) as chat:
        take_turn(chat, database, "harrogate", "Build.")
        found = database.execute("SELECT name FROM place").fetchall()
    assert found == [("house 1",), ("house 2",)]
    assert [result.text for result in model.requests[1].results][1] == "RuntimeError: it fell down"


def test_an_answer_that_was_cut_undoes_what_its_turn_has_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    creating = say(calls=[call("create_place", name="theatre")])
    cut = say("I have cre", finish="length")
    main(ScriptedModel(creating, cut, "Where?", "Where?"), str(tmp_path / "game.db"))
    assert "rolled back, because of AnswerCut" in capsys.readouterr().out
    with closing(sqlite3.connect(tmp_path / "game.db")) as database:
        assert database.execute("SELECT * FROM place").fetchall() == []
        [(state,)] = database.execute("SELECT state FROM game").fetchall()
    said = [message.text for message in views.curated(Chat(script()).load(state))]
    assert said == [SAID[1], "Where?", SAID[2], "Where?"]
