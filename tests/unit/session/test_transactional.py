"""What a transactional tool writes is durable together with its outcome, or not at all."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from hansard import AsyncChat, Chat, ToolError, tool, user
from hansard.errors import HansardError, LeaseLost, StoreUnavailable
from hansard.record.entries import Outcome
from hansard.stores.postgres import AsyncPostgresStore, PostgresStore
from hansard.stores.sqlite import SQLiteStore
from hansard.stores.threads import async_over
from hansard.testing import ScriptedModel, call, say
from hansard.tools.context import ToolContext
from tests.support.postgres_server import shared_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hansard.stores.store import Store

MAKE = "CREATE TABLE seat (name TEXT)"


class SQLite:
    """A store in a file, and the seats that tools have booked in it."""

    insert = "INSERT INTO seat VALUES (?)"

    def __init__(self, place: Path) -> None:
        self.path = place / "chats.db"
        self.store: Store = SQLiteStore(self.path, durability="normal", busy_s=2)
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute(MAKE)

    def seats(self) -> list[str]:
        with closing(sqlite3.connect(self.path)) as connection:
            return [name for (name,) in connection.execute("SELECT name FROM seat ORDER BY name")]

    def asynchronous(self) -> Any:
        return async_over(self.store)


class Postgres:
    """The same on a server."""

    insert = "INSERT INTO seat VALUES (%s)"

    def __init__(self, place: Path) -> None:
        self.url = shared_server().schema(str(place))
        self.store: Store = PostgresStore(self.url, durability="normal", pool_size=3)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(MAKE)

    def seats(self) -> list[str]:
        with psycopg.connect(self.url) as connection:
            return [name for (name,) in connection.execute("SELECT name FROM seat ORDER BY name")]

    def asynchronous(self) -> Any:
        return AsyncPostgresStore(self.url, durability="normal", pool_size=3)


@pytest.fixture(params=[SQLite, Postgres])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    made = request.param(tmp_path)
    yield made
    made.store.close()


def booking(database: Any, after: Callable[[], object] = lambda: None) -> Any:
    """A tool that books a seat, and then does something else."""

    @tool(policy="transactional")
    def book(seat: str, context: ToolContext) -> str:
        """Book a seat."""
        context.transaction.execute(database.insert, (seat,))
        after()
        return f"{seat} is booked"

    return book


def answer(request: Any) -> Any:
    return "Done." if request.results else say(calls=[call("book", seat="1A")])


def both(request: Any) -> Any:
    calls = [call("book", seat="1A"), call("book", seat="1B")]
    return "Done." if request.results else say(calls=calls)


def results(session: Any) -> list[str]:
    return [result.text for message in session.history() for result in message.tool_results]


def test_what_was_written_is_there_when_the_outcome_is(database: Any) -> None:
    session = Chat(ScriptedModel(both), tools=[booking(database)]).session(database.store, "c")
    assert session.send(user("Book")).text == "Done."
    assert database.seats() == ["1A", "1B"]
    assert results(session) == ["1A is booked", "1B is booked"]


def test_nothing_is_seen_of_it_before(database: Any) -> None:
    seen: list[list[str]] = []
    tools = [booking(database, lambda: seen.append(database.seats()))]
    Chat(ScriptedModel(answer), tools=tools).session(database.store, "c").send(user("Book"))
    assert seen == [[]]


def test_what_a_tool_wrote_that_failed_is_taken_back(database: Any) -> None:
    def fail() -> None:
        raise ToolError("No.")

    session = Chat(ScriptedModel(answer), tools=[booking(database, fail)]).session(
        database.store, "c"
    )
    session.send(user("Book"))
    assert database.seats() == []
    assert results(session) == ["No."]


def test_a_crash_in_the_tool_leaves_nothing_and_it_runs_again(database: Any) -> None:
    crashes = [KeyboardInterrupt()]

    def crash() -> None:
        if crashes:
            raise crashes.pop()

    tools = [booking(database, crash)]
    chat = Chat(ScriptedModel(answer), tools=tools)
    with pytest.raises(KeyboardInterrupt):
        chat.session(database.store, "c", lease_s=0.2).send(user("Book"))
    assert database.seats() == []
    assert chat.session(database.store, "c").resume().text == "Done."
    assert database.seats() == ["1A"]


def test_a_tool_that_takes_too_long_can_write_nothing_more(database: Any) -> None:
    over, failed = threading.Event(), threading.Event()

    @tool(policy="transactional", timeout_s=0.05)
    def book(seat: str, context: ToolContext) -> str:
        """Book a seat."""
        connection = context.transaction
        try:
            connection.execute(database.insert, (seat,))
            over.wait(30)
            connection.execute(database.insert, ("late",))
        except (sqlite3.Error, psycopg.Error):
            failed.set()
            raise
        return seat

    session = Chat(ScriptedModel(answer), tools=[book]).session(database.store, "c")
    session.send(user("Book"))
    over.set()
    assert failed.wait(30)
    assert database.seats() == []
    assert results(session) == ["It did not end within 0.05 seconds."]


def test_what_somebody_said_meanwhile_comes_before_the_outcome(database: Any) -> None:
    """In SQLite nobody can while it is open, so that it is said just before."""
    other = Chat(ScriptedModel("unheard")).session(database.store, "c")
    if isinstance(database, Postgres):
        tools = [booking(database, lambda: other.append("Wait!"))]
    else:
        tools = [booking(database)]
    model = ScriptedModel(answer)
    session = Chat(model, tools=tools).session(database.store, "c")
    session.send(user("Book"))
    assert database.seats() == ["1A"]
    assert results(session) == ["1A is booked"]
    told = [message.text for message in session.history() if message.role == "user"]
    assert told == (["Book", "Wait!"] if isinstance(database, Postgres) else ["Book"])


def test_it_is_not_made_where_the_outcome_cannot_be_recorded(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = database.store.begin
    broken = [True]

    def troubled() -> Any:
        transaction = begin()
        if broken.pop() if broken else False:

            def refuse(*_: object, **__: object) -> None:
                raise StoreUnavailable("the disk is full")

            transaction.append = refuse
        return transaction

    monkeypatch.setattr(database.store, "begin", troubled)
    chat = Chat(ScriptedModel(answer), tools=[booking(database)])
    with pytest.raises(HansardError):
        chat.session(database.store, "c").send(user("Book"))
    assert database.seats() == []
    session = chat.session(database.store, "c")
    assert session.resume().text == "Done."
    assert database.seats() == ["1A"]
    assert results(session) == ["1A is booked"]


def test_an_async_tool_writes_through_the_async_connection(tmp_path: Path) -> None:
    database = Postgres(tmp_path)

    @tool(policy="transactional")
    async def book(seat: str, context: ToolContext) -> str:
        """Book a seat."""
        await context.transaction.execute("INSERT INTO seat VALUES (%s)", (seat,))
        return f"{seat} is booked"

    async def talk() -> str:
        store = database.asynchronous()
        session = AsyncChat(ScriptedModel(both), tools=[book]).session(store, "c")
        reply = await session.send(user("Book"))
        await store.close()
        return reply.text

    assert asyncio.run(talk()) == "Done."
    assert database.seats() == ["1A", "1B"]
    database.store.close()


def test_a_plain_tool_under_asyncio_writes_through_a_blocking_connection(database: Any) -> None:
    async def talk() -> str:
        store = database.asynchronous()
        session = AsyncChat(ScriptedModel(answer), tools=[booking(database)]).session(store, "c")
        reply = await session.send(user("Book"))
        await store.close()
        return reply.text

    assert asyncio.run(talk()) == "Done."
    assert database.seats() == ["1A"]


def test_of_two_workers_who_run_one_call_only_one_writes(tmp_path: Path) -> None:
    """The lease of the first runs out while its tool takes long, and another goes on."""
    database = Postgres(tmp_path)
    first_is_in, second_is_done = threading.Event(), threading.Event()
    runs: list[str] = []

    @tool(policy="transactional")
    def book(seat: str, context: ToolContext) -> str:
        """Book a seat."""
        runs.append(seat)
        context.transaction.execute(database.insert, (f"{seat} by {len(runs)}",))
        if len(runs) == 1:
            first_is_in.set()
            second_is_done.wait(30)
        return "booked"

    chat = Chat(ScriptedModel(answer), tools=[book])
    raised: list[BaseException] = []

    def work() -> None:
        session = chat.session(database.store, "c", lease_s=0.2)
        session.parts[0].tenure._renew = lambda *_: None  # noqa: SLF001 - it is stopped
        try:
            session.send(user("Book"))
        except LeaseLost as error:
            raised.append(error)

    stopped = threading.Thread(target=work)
    stopped.start()
    assert first_is_in.wait(30)
    assert chat.session(database.store, "c", lease_s=20).resume().text == "Done."
    second_is_done.set()
    stopped.join()
    assert database.seats() == ["1A by 2"]
    assert len(raised) == 1
    log = chat.session(database.store, "c").log()
    assert len([entry for entry in log if isinstance(entry, Outcome)]) == 1
    database.store.close()


@pytest.mark.parametrize("decide", ["settle", "abandon"])
def test_what_is_not_asked_for_any_more_is_taken_back(tmp_path: Path, decide: str) -> None:
    database = Postgres(tmp_path)
    chat = Chat(ScriptedModel(answer), tools=[booking(database)])
    other = chat.session(database.store, "c")

    def end() -> None:
        if decide == "settle":
            other.settle(other.pending()[0], not_run=True)
        else:
            other.abandon()

    chat = Chat(ScriptedModel(answer), tools=[booking(database, end)])
    with pytest.raises(LeaseLost):
        chat.session(database.store, "c").send(user("Book"))
    assert database.seats() == []
    database.store.close()


def test_a_tool_may_take_longer_than_the_lease_where_nobody_else_can_write(tmp_path: Path) -> None:
    """In SQLite it holds the one write lock, so that its own lease cannot be renewed."""
    database = SQLite(tmp_path)
    session = Chat(
        ScriptedModel(answer),
        tools=[booking(database, lambda: threading.Event().wait(0.3))],
    ).session(database.store, "c", lease_s=0.1)
    assert session.send(user("Book")).text == "Done."
    assert database.seats() == ["1A"]
    database.store.close()
