"""Tools that write to a database: all that a turn did is committed with its state, or none of it.

The map of a game is drawn in conversation. One transaction spans a turn: it begins before the state
is read, the tools write in it, and it commits with the new state. So the map and the conversation
about it always agree, and that is what makes each call of a tool happen exactly once here: a turn
that fails, or whose process dies, leaves no trace in either, and can be said again.

- A turn that failed goes on from the state in the database, and never from the ``.state`` of its
  error: that one says that tools have run, and what they did has been rolled back.
- So no state with a call in doubt is ever kept, and ``once``, the default policy, never has to ask
  anybody. It is for what no transaction takes back: a letter, a payment. ``keyed`` is for another
  system, which can tell by ``context.idempotency_key`` that it has seen a call before.
- A tool that raises is no failed turn: the model is told, and goes on. Its savepoint undoes what
  that tool alone has written.
- What tools report for people is true once it is committed: hence ``reply.actions``, and not
  ``on_action=``.
- ``max_concurrent=1``: tools run one by one, in the thread to which the connection belongs.
- SQLite has one write lock, which is held while the model thinks. That keeps turns of the same
  conversation apart, and those of others too: give each conversation a file, or take a larger
  database.

Run it with the name of a model (``openai:gpt-5-mini``), or without one for a script.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from hansard import Chat, HansardError, Model, Reply, ToolContext
from hansard.testing import ScriptedModel, call, say, unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = """
PRAGMA foreign_keys = ON;
CREATE TABLE IF NOT EXISTS game (name TEXT PRIMARY KEY, state BLOB);
CREATE TABLE IF NOT EXISTS place (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS way (here TEXT REFERENCES place, there TEXT REFERENCES place);
"""
SYSTEM = "You draw the map of a game. Use the tools, then say in one sentence what you have done."
SAID = (
    "There is a theatre, and a pump room. One can walk between them.",
    "Add a garden behind the theatre.",  # The script loses the line after the tool has run.
    "Add a garden behind the theatre.",
)


class Atlas:
    """The map, as tools see it: they write, and leave it to others to commit."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database

    def create_place(self, context: ToolContext, name: str) -> str:
        """Create a place on the map."""
        with self.savepoint():
            self.database.execute("INSERT INTO place VALUES (?)", (name,))
        context.log(f"Created place {name}")
        return "Created."

    def connect_places(self, context: ToolContext, here: str, there: str) -> str:
        """Let people walk from one place to another, and back."""
        with self.savepoint():
            for way in ((here, there), (there, here)):
                self.database.execute("INSERT INTO way VALUES (?, ?)", way)
        context.log(f"Connected {here} and {there}")
        return "Connected."

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what is written inside, if it raises."""
        self.database.execute("SAVEPOINT tool")
        try:
            yield
        except BaseException:
            self.database.execute("ROLLBACK TO tool")
            raise
        finally:
            self.database.execute("RELEASE tool")


def take_turn(chat: Chat, database: sqlite3.Connection, game: str, said: str) -> Reply:
    """Take one turn in one transaction. Whatever it raises has undone all of it."""
    with database:  # Commits at its end, and rolls back where something is raised.
        database.execute("BEGIN IMMEDIATE")
        found = database.execute("SELECT state FROM game WHERE name = ?", (game,)).fetchone()
        reply = chat.send(found and found[0], said)
        database.execute("REPLACE INTO game VALUES (?, ?)", (game, reply.state))
    return reply


def main(model: str | Model, path: str = ":memory:") -> None:
    """Draw a map; a turn that fails is said again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(SCHEMA)
        atlas = Atlas(database)
        with Chat(
            model,
            system=SYSTEM,
            tools=[atlas.create_place, atlas.connect_places],
            max_concurrent=1,
            strict=True,  # An answer that is invalid or was cut is an error, and undoes its turn.
        ) as chat:
            for said in SAID:
                print(f"> {said}")
                try:
                    reply = take_turn(chat, database, "harrogate", said)
                except HansardError as error:
                    print(f"  rolled back, because of {type(error).__name__}")
                else:
                    print("".join([f"  {action}\n" for action in reply.actions]) + reply.text)
                places = [name for (name,) in database.execute("SELECT name FROM place")]
                print(f"  on the map: {', '.join(places)}\n")


def script() -> ScriptedModel:
    """Give a model that draws this map, with a slip of the pen and a line that breaks."""
    theatre, pump = call("create_place", name="theatre"), call("create_place", name="pump room")
    slip = call("connect_places", here="theatre", there="pmup room")
    garden = say(calls=[call("create_place", name="garden")])
    return ScriptedModel(
        say(calls=[theatre, pump, slip]),
        say(calls=[call("connect_places", here="theatre", there="pump room")]),
        "There are a theatre and a pump room now, and a way between them.",
        *(garden, unreachable()),
        *(garden, say(calls=[call("connect_places", here="theatre", there="garden")])),
        "There is a garden behind the theatre.",
    )


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else script())
