"""A tool is killed half-way, with SIGKILL; another process goes on, and nothing is done twice.

A restaurant charges a card and writes down a table. The first process is gone in between. All that
the second one has is the store: it finds the turn open and the call without an outcome, and runs
the tool again under the same idempotency key, as its policy ``keyed`` says. So the card is charged
once. What may run only once is ``once``: then `Session.settle` has to be told what became of it.

Run by ``./dev demo``, and by itself. A script plays the model; the processes are real.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import hansard
from hansard import Chat, ToolContext, tool, user
from hansard.record.entries import Outcome
from hansard.testing import ScriptedModel, ScriptedRequest, call, say

if TYPE_CHECKING:
    from hansard.testing.script import Play

PROMPT = "A table for two at eight, please, and charge my card."
LEASE_S = 1.0  # For so long the dead process is taken to be at work.


def main(arguments: list[str]) -> int:
    """Tell the story; with arguments, be one of its processes."""
    if arguments:
        work(Path(arguments[1]), resumes=arguments[0] == "resume")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        tell(Path(folder))
    return 0


def tell(folder: Path) -> None:
    """Let one process be killed in its tool, and another one finish the turn."""
    print(dim("\nAnd if the process is killed in the middle of a tool?"))
    print(f"> {PROMPT}")
    run("send", folder)
    with hansard.open_store(f"sqlite:///{folder}/chats.db") as store:
        session = chat(folder).session(store, "table")
        [pending] = session.pending()
        print(dim(f"  on the record: {pending.name} was called, and nobody knows how it ended"))
        run("resume", folder)
        outcomes = [entry for entry in session.log() if isinstance(entry, Outcome)]
    with closing(books(folder)) as kept:
        charges = len(kept.execute("SELECT * FROM charge").fetchall())
        seats = len(kept.execute("SELECT * FROM seat").fetchall())
    print(dim(f"  {charges} charge, {seats} table and {len(outcomes)} outcome on the books"))


def run(what: str, folder: Path) -> None:
    """Run a process to its end, whatever that is."""
    sys.stdout.flush()
    with subprocess.Popen([sys.executable, __file__, what, str(folder)]) as process:
        code = process.wait()
    if code == -signal.SIGKILL:
        print(f"  {process.pid}  killed by SIGKILL")
    elif code:
        raise SystemExit(f"expected the process to be killed or to end well, found code {code}")


def work(folder: Path, *, resumes: bool) -> None:
    """Be a process that holds the conversation."""
    with hansard.open_store(f"sqlite:///{folder}/chats.db") as store:
        session = chat(folder).session(store, "table", lease_s=LEASE_S)
        if resumes:
            note("resumes, as soon as the lease of the other has run out")
            print(session.resume().text)
        else:
            session.send(user(PROMPT), turn_id="t1")


def chat(folder: Path) -> Chat:
    """Make a chat whose tool charges a card and writes down a table."""

    @tool(policy="keyed")
    def book_table(at: str, context: ToolContext) -> str:
        """Charge the card, and write down the table."""
        with closing(books(folder)) as kept:
            charge = "INSERT OR IGNORE INTO charge VALUES (?)"
            is_new = kept.execute(charge, (context.idempotency_key,)).rowcount
            note("charges the card" if is_new else "finds that the card was charged, by the key")
            if not context.is_resume:
                os.kill(os.getpid(), signal.SIGKILL)  # The worst moment.
            kept.execute("INSERT INTO seat VALUES (?, ?)", (context.idempotency_key, at))
            note("writes down the table")
        return "Booked."

    def answer(request: ScriptedRequest) -> str | Play:
        if not request.results:
            return say(calls=[call("book_table", at="20:00")])
        return "Your table is booked."

    return Chat(ScriptedModel(answer), tools=[book_table])


def books(folder: Path) -> sqlite3.Connection:
    """Open the books of the restaurant, which know nothing of conversations."""
    kept = sqlite3.connect(folder / "books.db", isolation_level=None)
    kept.execute("CREATE TABLE IF NOT EXISTS charge (key TEXT PRIMARY KEY)")
    kept.execute("CREATE TABLE IF NOT EXISTS seat (key TEXT PRIMARY KEY, at TEXT)")
    return kept


def note(what: str) -> None:
    """Say at once what this process does."""
    print(f"  {os.getpid()}  {what}", flush=True)


def dim(text: str) -> str:
    """Make a remark look like one, on a terminal."""
    return f"\x1b[2m{text}\x1b[0m" if sys.stdout.isatty() else text


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
