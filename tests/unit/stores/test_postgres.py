"""What is PostgreSQL's own: its versions, its settings, and how it fails."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import psycopg
import pytest

from hansard.errors import Invalid, MissingExtra, StoreCorrupt, StoreUnavailable
from hansard.stores.postgres import AsyncPostgresStore, PostgresStore
from hansard.stores.postgres.asking import atomic, run
from hansard.stores.postgres.reading import read
from hansard.stores.postgres.schema import SCRIPTS, migrate
from hansard.stores.store import Bodies
from hansard.testing.store_suite import expect_conversation
from hansard.testing.store_talk import Talk
from tests.support.postgres_proxy import CuttingProxy
from tests.support.postgres_server import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from hansard.record.bodies import Cutter
    from hansard.record.loading import Loading
    from hansard.stores.postgres.asking import Asking
    from hansard.stores.store import Durability
    from hansard.testing.store_talk import Append

COLUMNS = """
SELECT table_name, column_name, ordinal_position, data_type, collation_name, is_nullable,
    column_default, is_identity
FROM information_schema.columns WHERE table_schema = current_schema()
ORDER BY table_name, ordinal_position
"""
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
TABLES = """
SELECT relname, reloptions, (
    SELECT array_agg(attname || attstorage::text ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = pg_class.oid AND attnum > 0
) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 1
"""
CONSTRAINTS = """
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace ORDER BY 1
"""
OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


LONG = "long" * 10_000
NO_CUTTER = SimpleNamespace(cut=lambda page: (page, {}))


@pytest.fixture
def url(postgres: PostgresServer, tmp_path: Path) -> str:
    return postgres.schema(str(tmp_path))


@pytest.fixture
def store(url: str) -> Generator[PostgresStore]:
    with PostgresStore(url, pool_size=4, timeout_s=5.0) as opened:
        yield opened


def make_version(url: str, version: int) -> None:
    scripts = {number: SCRIPTS[number] for number in range(1, version + 1)}
    with psycopg.connect(url, autocommit=True) as connection:
        run(connection, atomic(migrate(scripts), "on"))


def again(append: Append, store: PostgresStore) -> None:
    """Make an append again and again until it is answered."""
    for _ in range(1000):
        try:
            append.to(store)
        except StoreUnavailable:
            continue
        return
    raise AssertionError("the store never recovered")


# -- versions ------------------------------------------------------------------------------------


def test_all_versions_one_after_the_other_come_to_the_schema_of_today(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    migrated, today = (postgres.schema(f"{tmp_path}{which}") for which in ("migrated", "today"))
    make_version(migrated, 1)
    PostgresStore(migrated).close()
    postgres.execute((files("hansard.stores.postgres") / "sql/schema.sql").read_text(), today)

    def described(url: str) -> list[str]:
        found = [postgres.execute(each, url) for each in (COLUMNS, INDEXES, TABLES, CONSTRAINTS)]
        return [re.sub(r"\bt[0-9a-f]{16}\.", "", repr(rows)) for rows in found]

    assert described(migrated) == described(today)


def test_conversations_of_an_older_version_are_there_in_todays(
    postgres: PostgresServer, url: str
) -> None:
    talk = Talk()
    make_version(url, 1)
    # What is read and written by an append is the same in all versions but for what is long.
    with PostgresStore(url) as store:
        store._cutter = cast("Cutter", NO_CUTTER)  # noqa: SLF001
        talk.turn(LONG, "~hansard-body:" + "0a" * 32).to(store)
    postgres.execute(
        "DROP INDEX hansard_conversation_by_user; DROP TABLE hansard_body, hansard_reference; "
        "DELETE FROM hansard_schema_version WHERE version > 1",
        url,
    )
    with PostgresStore(url) as store:
        expect_conversation(store, talk)
        talk.turn(LONG).to(store)
        assert store.bodies() == Bodies(1, len(LONG))
        for _ in range(50):
            talk.turn("on " * 1000).to(store)
        expect_conversation(store, talk)


def test_tables_of_a_newer_version_are_left_alone(postgres: PostgresServer, url: str) -> None:
    PostgresStore(url).close()
    postgres.execute("INSERT INTO hansard_schema_version (version) VALUES (99)", url)
    with pytest.raises(Invalid, match="found version 99: use the release"):
        PostgresStore(url)


def test_several_processes_make_the_tables_at_once(url: str) -> None:
    script = f"from hansard.stores.postgres import PostgresStore; PostgresStore({url!r}).close()"
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(3)]

    assert [process.wait() for process in processes] == [0] * 3
    with PostgresStore(url) as store:
        Talk().turn().to(store)


# -- bodies --------------------------------------------------------------------------------------


def test_owners_share_nothing_and_read_all(url: str) -> None:
    talks = [Talk(name) for name in "ab"]
    with PostgresStore(url, owner="u1") as one, PostgresStore(url, owner="u2") as other:
        talks[0].turn(LONG).to(one)
        talks[1].turn(LONG).to(other)
        assert one.bodies() == other.bodies() == Bodies(2, 2 * len(LONG))
        for store in (one, other):
            for talk in talks:
                expect_conversation(store, talk)


@pytest.mark.parametrize("damaged", ["hansard_body", "hansard_reference"])
def test_a_body_that_is_missing_is_corrupt(
    store: PostgresStore, postgres: PostgresServer, url: str, damaged: str
) -> None:
    talk = Talk()
    talk.turn(LONG).to(store)
    postgres.execute(f"TRUNCATE {damaged}", url)

    for reading in (store.read, store.pages):
        with pytest.raises(StoreCorrupt) as failed:
            reading(talk.name)
        assert failed.value.reason == "missing_body"


def test_a_body_that_somebody_begins_to_refer_to_is_not_taken_away(store: PostgresStore) -> None:
    """Who deletes the last that referred to it waits for what comes of the other."""
    first, other = Talk("first"), Talk("other")
    first.turn(LONG).to(store)
    transaction = store.begin()
    other.turn(LONG).to(transaction)
    deleting = threading.Thread(target=store.delete, args=(first.name,))
    deleting.start()
    deleting.join(0.05)  # It is right in any order; mostly it waits by now.
    transaction.commit()
    deleting.join()
    expect_conversation(store, other)
    assert store.bodies() == Bodies(1, len(LONG))


@pytest.mark.parametrize("made_anew", [False, True])
def test_what_is_deleted_while_it_is_read_is_read_again(
    store: PostgresStore, made_anew: bool
) -> None:
    old, new = Talk(), Talk()
    old.turn(LONG).to(store)
    made = new.turn(LONG[1:])
    meanwhile: list[Callable[[], object]] = [lambda: store.delete(old.name)]
    if made_anew:
        meanwhile.append(lambda: made.to(store))

    def interrupted(operation: Asking[Loading | None]) -> Asking[Loading | None]:
        queries = next(operation)
        while True:
            while meanwhile and queries[0].statement == "bodies":
                meanwhile.pop(0)()
            rows = yield queries
            try:
                queries = operation.send(rows)
            except StopIteration as done:
                found: Loading | None = done.value
                return found

    loading = store._run(interrupted(read(old.name)))  # noqa: SLF001
    assert not meanwhile
    assert (loading.head if loading else None) == (new.head if made_anew else None)


# -- opening -------------------------------------------------------------------------------------


def test_no_password_is_shown(url: str) -> None:
    secret = f"{url}&password=hunter2"
    with PostgresStore(secret) as store:
        assert "hunter2" not in repr(store)
        assert "dbname=postgres" in repr(store)
    assert "hunter2" not in repr(AsyncPostgresStore(secret))


def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable, match="at user=x host=/nowhere dbname=x"):
        PostgresStore("postgresql://x@/x?host=/nowhere", timeout_s=0.2)


def test_a_url_that_is_none_is_refused_without_showing_it() -> None:
    with pytest.raises(Invalid, match="expected a URL of PostgreSQL"):
        PostgresStore("postgresql://x@/x?hunter=2")


def test_what_lasts_less_than_a_server_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="found 'none'"):
        PostgresStore(url, durability="none")


def test_without_its_driver_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg_pool", None)
    with pytest.raises(MissingExtra, match=r"hansard\[postgres\]") as failed:
        PostgresStore("postgresql://x@/x")
    assert failed.value.extra == "postgres"


@pytest.mark.parametrize(
    ("durability", "found"), [("full", "on"), ("normal", "off")], ids=["full", "normal"]
)
def test_durability_is_the_servers_synchronous_commit(
    url: str, durability: Durability, found: str
) -> None:
    with PostgresStore(url, durability=durability) as store:
        transaction = store.begin()
        show = transaction.connection.execute("SHOW synchronous_commit").fetchone()
        transaction.rollback()
        assert show == (found,)
    assert store.durability == durability


def test_a_server_that_does_not_reach_its_disk_is_refused_for_full(
    postgres: PostgresServer, url: str
) -> None:
    PostgresStore(url).close()
    postgres.execute("ALTER SYSTEM SET fsync = off")
    postgres.control("reload")
    try:
        with pytest.raises(Invalid, match="fsync off: turn it on, or ask for"):
            PostgresStore(url)
        PostgresStore(url, durability="normal").close()
    finally:
        postgres.execute("ALTER SYSTEM RESET fsync")
        postgres.control("reload")


# -- faults: nothing is lost, and the same append can be made again -------------------------------


def test_an_append_whose_answer_was_cut_off_was_made_and_is_known(
    postgres: PostgresServer, url: str
) -> None:
    [(folder,)] = postgres.execute("SHOW unix_socket_directories")
    proxy = CuttingProxy(f"{folder}/.s.PGSQL.5432")
    talk = Talk()
    through = f"{url}&host=127.0.0.1&port={proxy.port}"
    with PostgresStore(through, pool_size=1) as store, PostgresStore(url) as beside:
        talk.turn().to(store)
        cut = set()
        for text in ("a plain one", "x" * 70_000):
            for passes in range(6):
                made = talk.turn(text)
                proxy.passes = passes
                try:
                    made.to(store)
                except StoreUnavailable:
                    was_made = beside.head(talk.name) == talk.head
                    cut.add((len(text) > 1000, was_made))
                proxy.passes = None
                again(made, store)
                made.to(store)
                expect_conversation(beside, talk)
        # Before it was made and after, in one statement and in several.
        assert cut >= {(False, True), (True, False), (True, True)}
    proxy.close()


def test_connections_that_were_ended_are_replaced(postgres: PostgresServer, url: str) -> None:
    with PostgresStore(url, pool_size=4) as store:
        talk = Talk()
        talk.turn().to(store)
        postgres.execute(OTHERS)
        again(talk.turn(), store)
        expect_conversation(store, talk)


def test_a_server_that_is_started_anew_under_load_loses_and_doubles_nothing() -> None:
    server = PostgresServer()
    try:
        with PostgresStore(server.schema("load"), pool_size=4, timeout_s=0.5) as store:
            talks = [Talk(f"talk {number}") for number in range(4)]
            stopped, enough = threading.Event(), threading.Event()

            def work(talk: Talk) -> None:
                while not enough.is_set():
                    made = talk.turn()
                    try:
                        made.to(store)
                    except StoreUnavailable:
                        stopped.set()
                        again(made, store)

            threads = [threading.Thread(target=work, args=(talk,)) for talk in talks]
            for thread in threads:
                thread.start()
            server.stop()
            assert stopped.wait(60)
            server.start()
            enough.set()
            for thread in threads:
                thread.join()
            for talk in talks:
                again(talk.turn(), store)
                expect_conversation(store, talk)
    finally:
        server.remove()


def test_a_database_that_can_only_be_read_is_unavailable(url: str, store: PostgresStore) -> None:
    talk = Talk()
    talk.turn().to(store)
    only = url.replace("options=", "options=-cdefault_transaction_read_only%3Don%20")
    with PostgresStore(only) as reading:
        with pytest.raises(StoreUnavailable, match="only be read: name the server"):
            talk.turn().to(reading)
        assert reading.head(talk.name) is not None


# -- transactions and processes ------------------------------------------------------------------


def test_a_transaction_that_a_tool_ended_is_not_gone_on_with(store: PostgresStore) -> None:
    transaction = store.begin()
    transaction.connection.execute("COMMIT")
    with pytest.raises(Invalid, match="ended through its connection"):
        Talk().turn().to(transaction)
    with pytest.raises(Invalid, match="over: begin another"):
        transaction.commit()
    Talk().turn().to(store)


def test_a_transaction_under_asyncio_that_a_tool_ended_is_not_gone_on_with(url: str) -> None:
    async def play() -> None:
        async with AsyncPostgresStore(url) as store:
            transaction = await store.begin()
            await transaction.connection.execute("COMMIT")  # type: ignore[attr-defined]
            with pytest.raises(Invalid, match="ended through its connection"):
                await transaction.commit()

    asyncio.run(play())


def test_parent_and_child_go_on_after_a_fork(url: str) -> None:
    script = f"""
import os, warnings
warnings.simplefilter("ignore")
from hansard.stores.postgres import PostgresStore
from hansard.testing.store_suite import expect_conversation
from hansard.testing.store_talk import Talk
store = PostgresStore({url!r})
ours, theirs = Talk("ours"), Talk("theirs")
ours.turn().to(store)
child = os.fork()
talk = ours if child else theirs
for number in range(20):
    talk.turn(str(number)).to(store)
if child:
    assert os.waitpid(child, 0)[1] == 0
expect_conversation(store, talk)
store.close()
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    with PostgresStore(url) as store:
        assert [each.conversation for each in store.list().conversations] == ["ours", "theirs"]
