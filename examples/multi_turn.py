"""Conversations of several users, as a web handler or the worker of a queue has them.

The state of each user is a column in a database. `Conversation.save` replaces it only where it is
still the one that was loaded: of two workers who answer the same user at once one fails, and no
answer is lost unseen. Saving is the checkpoint too: the question is in the database before the
model is asked, the model's calls before any tool runs, each result before anything follows it, and
the answer at the end.

So nothing special is done after a crash. The queue delivers the message again, and the same code
runs: the turn with that ``turn_id`` goes on where it stopped, or gives its reply again if it is
over. The model is not asked for what it has said. A tool that has ended is not run again; one that
may have begun is, because it is declared ``keyed``: the key tells it that it has been here.

Run it with the name of a model (``openai:gpt-5-mini``), or without one for a script.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from typing import TYPE_CHECKING

from hansard import Chat, Model, Reply, ToolContext, system, tool, user
from hansard.testing import ScriptedModel, ScriptedRequest, call, say

if TYPE_CHECKING:
    from hansard.testing.script import Play

SCHEMA = """
CREATE TABLE IF NOT EXISTS conversation (who TEXT PRIMARY KEY, state BLOB);
CREATE TABLE IF NOT EXISTS claim (key TEXT PRIMARY KEY, parcel TEXT);
"""
GREETINGS = (
    ("ada", "message-1", "Hello! I am waiting for parcel P-7."),
    ("bob", "message-2", "Hello! I am Bob."),
)
CLAIM = ("ada", "message-3", "It has not come. Where is it? And open a claim for it, please.")


class Conflict(Exception):
    """Somebody else has answered this user in the meantime."""


class Conversation:
    """The state of one user, as this worker last saw it."""

    def __init__(self, database: sqlite3.Connection, who: str) -> None:
        self.database, self.who = database, who
        database.execute("INSERT OR IGNORE INTO conversation (who) VALUES (?)", (who,))
        found = database.execute("SELECT state FROM conversation WHERE who = ?", (who,))
        self.state: bytes | None = found.fetchone()[0]

    def save(self, state: bytes) -> None:
        """Replace the state. Raises `Conflict` where it is no longer the one that was loaded."""
        replaced = self.database.execute(
            "UPDATE conversation SET state = ? WHERE who = ? AND state IS ?",
            (state, self.who, self.state),
        )
        if replaced.rowcount != 1:
            raise Conflict(f"expected the state of {self.who} as it was loaded, found another")
        self.state = state


class Desk:
    """What the model can do for a user."""

    def __init__(self, database: sqlite3.Connection, *, power_fails: bool = False) -> None:
        self.database, self.power_fails = database, power_fails

    def find_parcel(self, number: str) -> dict[str, str]:
        """Say where a parcel is."""
        return {"number": number, "place": "Leeds", "since": "Monday"}

    def open_claim(self, context: ToolContext, number: str) -> str:
        """Open a claim for a lost parcel."""
        claim = (context.idempotency_key, number)
        self.database.execute("INSERT OR IGNORE INTO claim VALUES (?, ?)", claim)
        if self.power_fails:
            os._exit(1)  # The claim is in the database, and nobody has been told.
        context.log(f"Opened a claim for {number}{', again' if context.is_resume else ''}")
        return "It is open."


def work(model: str | Model, path: str, *messages: tuple[str, str, str], **desk: bool) -> None:
    """Answer messages as one worker."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.executescript(SCHEMA)
        at = Desk(database, **desk)
        find, claim = tool(at.find_parcel, policy="reads"), tool(at.open_claim, policy="keyed")
        with Chat(model, tools=[find, claim], max_concurrent=1) as chat:
            for who, message_id, text in messages:
                reply = handle(chat, database, who, message_id, text)
                print(f"{who}: {text}")
                print("".join([f"  {action}\n" for action in reply.actions]) + f"  {reply.text}\n")


def handle(chat: Chat, database: sqlite3.Connection, who: str, message_id: str, text: str) -> Reply:
    """Answer one message, for the first time or not."""
    conversation = Conversation(database, who)
    told = system(f"You are at the desk of a parcel service, and talk to {who}. Be brief.")
    return chat.send(
        conversation.state, told, user(text), turn_id=message_id, checkpoint=conversation.save
    )


def main(model: str | Model, path: str) -> None:
    """Talk to two users, and let a worker die in the middle of an answer to one of them."""
    work(model, path, *GREETINGS)
    named = model if isinstance(model, str) else ""
    died = subprocess.run([sys.executable, __file__, named, path], check=False)
    print(f"A worker has taken Ada's message, and ended with status {died.returncode}.\n")
    work(model, path, CLAIM)  # It was not acknowledged, so it comes to another worker,
    work(model, path, CLAIM)  # and once more, because queues do that.
    with closing(sqlite3.connect(path)) as database:
        claims = database.execute("SELECT parcel FROM claim").fetchall()
    print(f"Claims: {[parcel for (parcel,) in claims]}")


def clerk(request: ScriptedRequest) -> str | Play:
    """Answer as a model would, out of what has been said."""
    if request.results:
        return "It has been in Leeds since Monday. I have opened a claim."
    if "claim" in request.text:
        return say(calls=[call(name, number="P-7") for name in ("find_parcel", "open_claim")])
    return f"Hello! You are the one who said: {request.text}"


if __name__ == "__main__":
    given = sys.argv[1] if sys.argv[1:] else ""
    if sys.argv[2:]:
        work(given or ScriptedModel(clerk), sys.argv[2], CLAIM, power_fails=True)
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(given or ScriptedModel(clerk), f"{folder}/conversations.db")
