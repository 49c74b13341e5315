"""Handlers of checkpoints: what was saved last is there whole, and nothing after it was cleared."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    Chat,
    FileCheckpointHandler,
    Invalid,
    Session,
    SnapshotRestoreError,
    StoreCheckpointHandler,
)
from hansard.stores.memory import MemoryStore
from hansard.stores.threads import AsyncOver
from hansard.testing import ScriptedModel, forever

if TYPE_CHECKING:
    from collections.abc import Callable


def talked(turns: int = 1) -> Session:
    session = Chat(ScriptedModel(forever("Yes."))).session()
    for number in range(turns):
        session.send(f"{number}?")
    return session


def test_what_was_saved_last_is_loaded(handlers: Callable[[], Any]) -> None:
    session = talked()
    assert handlers().load("job") is None
    handler = handlers()
    for _ in range(3):
        session.send("More?")
        snapshot = session.snapshot()
        handler.save("job", snapshot)
        handler.save("job", snapshot)
        found = handlers().load("job").snapshot
        assert found.revision == snapshot.revision
        assert found.entries == snapshot.entries
    handlers().save("job", talked().snapshot())
    assert len(handlers().load("job").snapshot.state().turns) == 1


def test_each_request_has_its_own(handlers: Callable[[], Any]) -> None:
    keys = ["job", "job2", "a/b", "../up", "a\\b", "ü", ".", "", "x" * 400, "x" * 401]
    for number, key in enumerate(keys):
        if key:
            handlers().save(key, talked(number + 1).snapshot())
    for number, key in enumerate(keys):
        if key:
            assert len(handlers().load(key).snapshot.state().turns) == number + 1
    handlers().clear("job")
    assert handlers().load("job") is None
    assert handlers().load("job2") is not None


def test_clearing_is_harmless_twice_and_where_nothing_is(handlers: Callable[[], Any]) -> None:
    handlers().clear("never")
    handlers().save("job", talked().snapshot())
    for _ in range(2):
        handlers().clear("job")
        assert handlers().load("job") is None


def test_a_request_is_known_by_its_id_or_by_what_one_says(tmp_path: Path) -> None:
    @dataclass
    class Named:
        id: int

    @dataclass
    class Other:
        name: str

    handler: Any = FileCheckpointHandler(tmp_path)
    assert handler.path(Named(7)).name == handler.path(7).name == "7.json"
    with pytest.raises(Invalid, match="key="):
        handler.path(Other("x"))
    mine = FileCheckpointHandler[Other](tmp_path, key=lambda other: other.name)
    assert mine.path(Other("a/b")).name == "a%2Fb.json"


def test_a_file_is_made_durable_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(handle: int) -> None:
        steps.append("folder" if Path(f"/proc/self/fd/{handle}").resolve().is_dir() else "file")
        fsync(handle)

    def replaced(path: Path, target: Path) -> Path:
        steps.append("replace")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    FileCheckpointHandler[str](tmp_path).save("job", talked().snapshot())
    assert steps == ["file", "replace", "folder"]


def test_a_save_that_fails_leaves_the_old_checkpoint_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = FileCheckpointHandler[str](tmp_path)
    session = talked()
    handler.save("job", session.snapshot())
    before = handler.path("job").read_bytes()
    session.send("More?")

    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        handler.save("job", session.snapshot())
    assert handler.path("job").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]


def test_what_a_crash_left_half_written_is_not_read_and_goes_with_the_checkpoint(
    tmp_path: Path,
) -> None:
    handler = FileCheckpointHandler[str](tmp_path)
    handler.save("job", talked().snapshot())
    torn = tmp_path / ".job.json.abc.tmp"
    torn.write_text('{"version":1,"conv')
    assert handler.load("job") is not None
    handler.clear("job")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[]", b'{"version":2}'])
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path, data: bytes) -> None:
    handler = FileCheckpointHandler[str](tmp_path)
    handler.path("job").write_bytes(data)
    with pytest.raises(SnapshotRestoreError):
        handler.load("job")


def test_a_store_is_given_only_what_is_new() -> None:
    store = _Weighing()
    handler = StoreCheckpointHandler[str](store)
    session = talked(30)
    handler.save("job", session.snapshot())
    first = store.written
    session.send("More?")
    handler.save("job", session.snapshot())
    assert store.written - first < first / 10


class _Weighing(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def append(self, conversation: str, page: Any, *given: Any, **options: Any) -> Any:
        self.written += page.size
        return super().append(conversation, page, *given, **options)


def test_a_job_that_was_begun_again_takes_the_place_of_the_old_one_once_it_is_safe() -> None:
    store = _Weighing()
    handler = StoreCheckpointHandler[str](store)
    handler.save("job", talked(1).snapshot())
    StoreCheckpointHandler[str](store).save("job", talked(2).snapshot())
    [left] = store.list(prefix="checkpoint/job/").conversations
    found = handler.load("job")
    assert found is not None
    assert left.conversation == found.snapshot.conversation
    handler.save("job", talked(3).snapshot())
    assert len(store.list().conversations) == 1


def test_a_store_that_is_awaited_is_refused_at_once() -> None:
    store: Any = AsyncOver(MemoryStore())
    with pytest.raises(Invalid, match="open_store"):
        StoreCheckpointHandler[str](store)
