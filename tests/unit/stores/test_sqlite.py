"""What is SQLite's own: its file, its versions, and how it fails."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from hansard.errors import Invalid, StoreCorrupt, StoreUnavailable
from hansard.stores.sqlite import SQLiteStore
from hansard.stores.sqlite.connections import Connections
from hansard.stores.sqlite.schema import SCRIPTS, migrate
from hansard.stores.store import Bodies
from hansard.testing.store_suite import expect_conversation
from hansard.testing.store_talk import Talk

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from hansard.record.bodies import Cutter
    from hansard.stores.store import Durability

LONG = "long" * 10_000
NO_CUTTER = SimpleNamespace(cut=lambda page: (page, {}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path) -> Generator[SQLiteStore]:
    with SQLiteStore(path, busy_s=0.05) as opened:
        yield opened


def connection_of(store: SQLiteStore) -> sqlite3.Connection:
    [connection] = store._connections._idle  # noqa: SLF001 -- what is set there is SQLite's own
    return connection


def make_version(path: Path, version: int) -> None:
    connections = Connections(str(path), "full", 1.0)
    migrate(connections, {number: SCRIPTS[number] for number in range(1, version + 1)})
    connections.close()


def schema_of(connection: sqlite3.Connection) -> dict[str, str]:
    found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: re.sub(r"--.*|\s+|IF NOT EXISTS", "", sql) for name, sql in found}


# -- versions ------------------------------------------------------------------------------------


def test_all_versions_one_after_the_other_come_to_the_schema_of_today(path: Path) -> None:
    make_version(path, 1)
    SQLiteStore(path).close()
    today = sqlite3.connect(":memory:")
    today.executescript((files("hansard.stores.sqlite") / "sql/schema.sql").read_text())
    migrated = sqlite3.connect(path)

    assert schema_of(migrated) == schema_of(today)
    today.close()
    migrated.close()


def test_conversations_of_an_older_version_are_there_in_todays(path: Path) -> None:
    talk = Talk()
    make_version(path, 1)
    # What is read and written by an append is the same in all versions but for what is long.
    with SQLiteStore(path) as store:
        store._cutter = cast("Cutter", NO_CUTTER)  # noqa: SLF001
        talk.turn(LONG, "~hansard-body:" + "0a" * 32).to(store)
    old = sqlite3.connect(path)
    old.executescript(
        "DROP INDEX conversation_by_user; DROP TABLE body; DROP TABLE reference;"
        "DELETE FROM schema_version WHERE version > 1"
    )
    old.close()

    with SQLiteStore(path) as store:
        expect_conversation(store, talk)
        talk.turn(LONG).to(store)
        assert store.bodies() == Bodies(1, len(LONG))
        for _ in range(50):
            talk.turn("on " * 1000).to(store)
        expect_conversation(store, talk)


def test_owners_share_nothing_and_read_all(path: Path) -> None:
    talks = [Talk(name) for name in "ab"]
    with SQLiteStore(path, owner="u1") as one, SQLiteStore(path, owner="u2") as other:
        talks[0].turn(LONG).to(one)
        talks[1].turn(LONG).to(other)
        assert one.bodies() == other.bodies() == Bodies(2, 2 * len(LONG))
        for store in (one, other):
            for talk in talks:
                expect_conversation(store, talk)


def test_bodies_too_small_to_be_kept_apart_are_refused(path: Path) -> None:
    with pytest.raises(Invalid, match="expected bodies of 256 bytes or more"):
        SQLiteStore(path, body_bytes=255)


def test_a_file_does_not_grow_by_what_is_said_again(path: Path) -> None:
    talk = Talk()
    with SQLiteStore(path) as store:
        for _ in range(20):
            talk.turn("long" * 250_000).to(store)
        expect_conversation(store, talk)
    assert path.stat().st_size < 2_000_000


def test_tables_of_a_newer_version_are_left_alone(path: Path) -> None:
    SQLiteStore(path).close()
    newer = sqlite3.connect(path, isolation_level=None)
    newer.execute("INSERT INTO schema_version VALUES (99, 0)")
    newer.close()

    with pytest.raises(Invalid, match="found version 99: use the release"):
        SQLiteStore(path)


def test_several_processes_make_a_file_at_once(path: Path) -> None:
    script = f"from hansard.stores.sqlite import SQLiteStore; SQLiteStore({str(path)!r}).close()"
    processes = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(4)]

    assert [process.wait() for process in processes] == [0] * 4
    with SQLiteStore(path) as store:
        Talk().turn().to(store)


# -- opening -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", ":memory:", "file:chats.db"])
def test_what_is_no_path_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="expected a path of a file"):
        SQLiteStore(name)


def test_a_file_that_lasts_not_even_as_long_as_the_process_is_refused(path: Path) -> None:
    with pytest.raises(Invalid, match="expected durability 'full' or 'normal', found 'none'"):
        SQLiteStore(path, durability="none")


@pytest.mark.parametrize(("durability", "synchronous"), [("full", 2), ("normal", 1)])
def test_durability_is_sqlites_synchronous(path: Path, durability: str, synchronous: int) -> None:
    with SQLiteStore(path, durability=cast("Durability", durability)) as store:
        connection = connection_of(store)
        assert connection.execute("PRAGMA synchronous").fetchone() == (synchronous,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert store.durability == durability


def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="cannot be opened: see to the folder"):
        SQLiteStore(tmp_path / "nowhere" / "chats.db")


def test_a_file_that_is_no_database_is_corrupt(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1000)
    with pytest.raises(StoreCorrupt) as failed:
        SQLiteStore(path)
    assert failed.value.reason == "not_a_database"


@pytest.mark.parametrize("name", ["", "nul\0", "half \ud800", "x" * 1001])
def test_a_name_that_cannot_be_kept_is_refused(store: SQLiteStore, name: str) -> None:
    with pytest.raises(Invalid, match="conversation's name"):
        store.head(name)


# -- faults: nothing is lost, and the same append can be made again -------------------------------


def test_a_full_disk_is_unavailable_until_there_is_room(store: SQLiteStore) -> None:
    talk = Talk()
    talk.turn().to(store)
    connection = connection_of(store)
    connection.execute("PRAGMA max_page_count = 1")  # It is as large as it is already.
    late = talk.twin()
    big = talk.turn("x" * 100_000)

    with pytest.raises(StoreUnavailable, match="full: make room") as failed:
        big.to(store)
    assert isinstance(failed.value.__cause__, sqlite3.Error)
    expect_conversation(store, late)

    connection.execute("PRAGMA max_page_count = 1000000")
    big.to(store)
    big.to(store)
    expect_conversation(store, talk)


def test_a_locked_file_is_unavailable_until_it_is_not(store: SQLiteStore, path: Path) -> None:
    talk = Talk()
    talk.turn().to(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    following = talk.turn()

    with pytest.raises(StoreUnavailable, match="locked: another transaction is open"):
        following.to(store)
    assert store.read(talk.name) is not None

    other.execute("ROLLBACK")
    other.close()
    following.to(store)
    expect_conversation(store, talk)


def test_a_transaction_that_is_open_makes_others_of_the_process_wait(store: SQLiteStore) -> None:
    transaction = store.begin()
    talk = Talk()
    following = talk.turn()

    with pytest.raises(StoreUnavailable, match="another transaction of this process"):
        following.to(store)

    transaction.rollback()
    transaction.rollback()
    following.to(store)
    expect_conversation(store, talk)


@pytest.mark.skipif(os.name != "posix", reason="rights are those of POSIX")
def test_a_file_that_may_not_be_written_is_unavailable(path: Path) -> None:
    script = f"""
import os
from hansard.errors import StoreUnavailable
from hansard.stores.sqlite import SQLiteStore
from hansard.testing.store_talk import Talk
path = {str(path)!r}
store = SQLiteStore(path)
talk = Talk()
talk.turn().to(store)
store.close()
for folder in (os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
    os.chmod(folder, 0o755)
os.chmod(path, 0o444)
os.chmod(os.path.dirname(path), 0o555)
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    with SQLiteStore(path) as store:
        talk.turn().to(store)
except StoreUnavailable as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "expected to use the database" in done.stdout


def test_a_row_that_was_damaged_is_corrupt(store: SQLiteStore, path: Path) -> None:
    talk = Talk()
    talk.turn().to(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("UPDATE page SET meta = substr(meta, 2)")
    other.close()

    for read in (store.read, store.head, store.pages):
        with pytest.raises(StoreCorrupt):
            read(talk.name)


@pytest.mark.parametrize("damage", ["DELETE FROM body", "DELETE FROM reference"])
def test_a_body_that_is_missing_is_corrupt(store: SQLiteStore, path: Path, damage: str) -> None:
    talk = Talk()
    talk.turn(LONG).to(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(damage)
    other.close()

    for read in (store.read, store.pages):
        with pytest.raises(StoreCorrupt) as failed:
            read(talk.name)
        assert failed.value.reason == "missing_body"


# -- transactions and processes ------------------------------------------------------------------


def test_a_transaction_that_a_tool_ended_is_not_gone_on_with(store: SQLiteStore) -> None:
    transaction = store.begin()
    transaction.connection.execute("COMMIT")
    with pytest.raises(Invalid, match="ended through its connection"):
        Talk().turn().to(transaction)
    with pytest.raises(Invalid, match="over: begin another"):
        transaction.commit()
    Talk().turn().to(store)


def test_parent_and_child_go_on_after_a_fork(path: Path) -> None:
    script = f"""
import os, sys
from hansard.stores.sqlite import SQLiteStore
from hansard.testing.store_suite import expect_conversation
from hansard.testing.store_talk import Talk
store = SQLiteStore({str(path)!r})
ours, theirs = Talk("ours"), Talk("theirs")
ours.turn().to(store)
child = os.fork()
talk = ours if child else theirs
for number in range(50):
    talk.turn(str(number)).to(store)
if child:
    assert os.waitpid(child, 0)[1] == 0
expect_conversation(store, talk)
store.close()
sys.stdout.flush()
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    with SQLiteStore(path) as store:
        assert [each.conversation for each in store.list().conversations] == ["ours", "theirs"]


def test_it_says_where_it_is(store: SQLiteStore, path: Path) -> None:
    assert repr(store) == f"<SQLiteStore {str(path)!r} durability='full'>"
