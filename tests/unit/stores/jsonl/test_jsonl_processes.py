"""`JSONLinesStore` where others write too, where the disk is full, and where nobody may write."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hansard.errors import RevisionConflict, StoreUnavailable
from hansard.stores.jsonl import JSONLinesStore
from tests.conftest import scale
from tests.support.appending import Growing, reopened, texts

if TYPE_CHECKING:
    from random import Random

REPOSITORY = Path(__file__).parents[4]


def python(script: str, *arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


WRITER = """
import sys
from hansard.errors import RevisionConflict
from hansard.stores.jsonl import JSONLinesStore
from tests.support.appending import Growing

store = JSONLinesStore(sys.argv[1], durability="normal")
print("ready", flush=True)
sys.stdin.readline()
conflicts = 0
for number in range(25):
    while True:
        try:
            Growing.reopened(store, "c", by=sys.argv[2]).turn(f"{sys.argv[2]} {number}")
            break
        except RevisionConflict:
            conflicts += 1
print(conflicts)
"""


def test_processes_that_append_to_one_file_lose_nothing(tmp_path: Path) -> None:
    store = JSONLinesStore(tmp_path, durability="normal")
    Growing(store).turn("first")
    writers = [python(WRITER, tmp_path, name) for name in "abc"]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    outputs = [writer.communicate("go\n")[0] for writer in writers]

    assert [writer.returncode for writer in writers] == [0, 0, 0], outputs
    said = texts(reopened(store, "c"))[::2]
    assert sorted(said) == sorted(
        ["first", *[f"{name} {number}" for name in "abc" for number in range(25)]]
    )
    for name in "abc":
        own = [text for text in said if text.startswith(name)]
        assert own == [f"{name} {number}" for number in range(25)]


FULL = """
import resource, sys
from hansard.errors import StoreUnavailable
from hansard.stores.jsonl import JSONLinesStore
from tests.support.appending import Growing

store = JSONLinesStore(sys.argv[1])
talk = Growing(store)
talk.turn()
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
page, head = talk.next_page("too much " * 1000)
for _ in range(2):
    try:
        store.append("c", page, head)
    except StoreUnavailable as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(store.head("c").seq)
store.append("c", page, head)
talk.check()
print(store.append("c", page, head).revision.seq)
"""


def test_a_disk_that_is_full_changes_nothing(tmp_path: Path) -> None:
    output, _ = python(FULL, tmp_path).communicate()
    first, second, before, after = output.splitlines()
    assert first == second
    assert "File too large: raise the limit on the size of files" in first
    assert (before, after) == ("4", "8")


def test_a_place_that_nobody_may_write_to_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable, match="expected to read and write") as caught:
        JSONLinesStore("/proc/conversations")
    assert isinstance(caught.value.__cause__, OSError)


def test_a_directory_that_is_a_file_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnavailable):
        JSONLinesStore(tmp_path / "file")


def test_who_holds_a_file_for_too_long_makes_it_unavailable(tmp_path: Path) -> None:
    store = JSONLinesStore(tmp_path, wait_s=0)
    talk = Growing(store)
    talk.turn()
    page, head = talk.next_page()
    with (tmp_path / "c.jsonl").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        talk_elsewhere = Growing(store, "d")
        talk_elsewhere.turn()
        assert store.read("c") is not None
        with pytest.raises(StoreUnavailable, match="another process has it locked"):
            store.append("c", page, head)
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(StoreUnavailable, match="another process has it locked"):
            store.read("c")
    store.append("c", page, head)
    talk.check()


def test_who_is_late_conflicts(tmp_path: Path) -> None:
    one, other = (JSONLinesStore(tmp_path, durability="normal") for _ in range(2))
    mine, theirs = Growing(one), Growing(other, by="d")
    mine.turn("mine")
    with pytest.raises(RevisionConflict):
        theirs.turn("theirs")


KILLED = """
import sys
from hansard.stores.jsonl import JSONLinesStore
from hansard.stores.store import Hold
from tests.support.appending import Growing

store = JSONLinesStore(sys.argv[1])
talk = Growing.reopened(store, "c", by=sys.argv[2])
while True:
    talk.turn("more " * 2000, hold=Hold("me", 60))
    print(talk.head.seq, flush=True)
"""


def test_a_writer_that_is_killed_loses_nothing_it_has_acknowledged(
    tmp_path: Path, rng: Random
) -> None:
    store = JSONLinesStore(tmp_path)
    Growing(store).turn()
    for number in range(scale(5, 50)):
        writer = python(KILLED, tmp_path, f"{number}-")
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(rng.randint(1, 9))]
        writer.kill()
        lines += writer.communicate()[0].splitlines(keepends=True)
        acknowledged = max([int(line) for line in lines if line.endswith("\n")])
        talk = Growing.reopened(store, "c", by=f"{number}+")
        assert talk.head.seq >= acknowledged
        talk.turn()
        talk.check()
