"""What is `JSONLinesStore`'s own; what all stores promise is in tests/conformance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from hansard.errors import Invalid, LeaseLost, StoreCorrupt, StoreUnavailable
from hansard.record.entries import Rewind
from hansard.record.pages import Page, merge
from hansard.stores.jsonl import JSONLinesStore
from hansard.stores.jsonl.names import conversation_of, file_name
from hansard.stores.store import Hold, Metadata
from tests.conftest import scale
from tests.support.appending import Growing
from tests.support.conversations import add_odd, said_by_user

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def store(tmp_path: Path) -> JSONLinesStore:
    return JSONLinesStore(tmp_path, durability="normal")


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def size_of(directory: Path) -> int:
    """How many bytes there are in all files, each counted once however many links it has."""
    found = {path.stat().st_ino: path.stat().st_size for path in directory.rglob("*.jsonl")}
    return sum(found.values())


def test_messages_stand_in_the_lines_as_they_were_said(
    store: JSONLinesStore, tmp_path: Path
) -> None:
    talk = Growing(store)
    said = add_odd(talk.writer.dialect, said_by_user(talk.writer.dialect, "Grüße, 👋"))
    talk.writer.begin()
    talk.writer.say(said)
    talk.writer.answer()
    talk.writer.end()
    store.append("c", *talk.page())

    header, line = lines_of(tmp_path / "c.jsonl")

    assert b'"body":[%b,' % said in line
    assert json.loads(header)["conversation"] == "c"
    shown = json.loads(line)
    assert [message["role"] for message in shown["body"]] == ["user", "assistant"]
    assert shown["head"]["seq"] == shown["next"]


@pytest.mark.parametrize(
    "name", ["plain", "Capitals", "ä/ö", "..", ".hidden", "a~b", "50%", "n" * 500, "ü" * 100, "\0"]
)
def test_any_name_will_do(store: JSONLinesStore, tmp_path: Path, name: str) -> None:
    talk = Growing(store, name)
    talk.turn()
    talk.check()
    [path] = tmp_path.glob("*.jsonl")
    assert path.stem == path.stem.lower() or "%" in path.stem
    assert conversation_of(path.stem) in (name, None)
    assert [each.conversation for each in store.list().conversations] == [name]


def test_names_that_differ_have_files_that_differ() -> None:
    long = "x" * 300
    names = ["a", "A", "%41", "a/b", "a%2Fb", "a~b", long, long + "y", file_name(long)]
    assert len({file_name(name).lower() for name in names}) == len(names)


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_a_name_that_is_none_is_refused(store: JSONLinesStore, name: str) -> None:
    with pytest.raises(Invalid, match="expected a conversation's name"):
        store.head(name)


def test_a_page_that_cannot_be_shown_is_packed(store: JSONLinesStore, tmp_path: Path) -> None:
    talk = Growing(store)
    pages = [talk.next_page(text) for text in "xyz"]
    (first, _), (second, _), (third, last) = pages
    sealed = Page(0, second.next, merge([first, second]).meta, second.body)
    alone = msgspec.structs.replace(third, alone=True, body=b"\x00\xff\n")
    store.append("c", sealed, pages[1][1])
    store.append("c", alone, last)

    assert store.pages("c") == (sealed, alone)
    assert [json.loads(line).get("packed") is None for line in lines_of(tmp_path / "c.jsonl")] == [
        True,
        False,
        False,
    ]


def test_each_entry_is_found_in_a_long_file(store: JSONLinesStore) -> None:
    talk = Growing(store)
    made = []
    for number in range(120):
        page, head = talk.next_page("long " * 1500 if number % 7 == 0 else "short")
        made.append((page, head))
        store.append("c", page, head, turn_id=f"t{number % 100}")

    for page, head in made:
        assert store.append("c", page, head).revision == head.revision
        for after in (page.first, page.next - 1):
            assert store.pages("c", after=after)[0] == page
    assert store.pages("c", after=480) == ()
    for turn_id, known in (("t3", 412), ("t50", 200), ("t", None), ("t2000", None)):
        assert store.find("c", turn_id) == known
    talk.check()


def test_an_id_that_somebody_only_speaks_of_is_not_that_of_a_turn(store: JSONLinesStore) -> None:
    talk = Growing(store)
    odd = said_by_user(talk.writer.dialect)[:-1] + b',"begins":"t1","sizes":[]}'
    talk.turn(turn_id="t1")
    talk.writer.begin()
    talk.writer.say(odd)
    store.append("c", *talk.page(), turn_id="t2")

    assert store.find("c", "t1") == 0


def test_reading_begins_with_the_spans(store: JSONLinesStore, tmp_path: Path) -> None:
    talk = Growing(store)
    for _ in range(3):
        talk.turn()
    talk.writer.apply(Rewind(seq=12, turn=3, to=0))
    store.append("c", *talk.page())
    talk.turn("again")
    talk.check()

    path = tmp_path / "c.jsonl"
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"Hello")] ^= 1  # Before what the context is made of.
    path.write_bytes(raw)

    assert store.read("c") is not None
    with pytest.raises(StoreCorrupt, match="as it was written"):
        store.pages("c")


def torn_files(tmp_path: Path) -> Sequence[bytes]:
    """A conversation as it is when each byte of its last line was the last one written."""
    talk = Growing(JSONLinesStore(tmp_path / "whole"))
    for text in ("one", "zwölf 👋"):
        talk.turn(text)
    path = tmp_path / "whole" / "c.jsonl"
    *_, last = lines_of(path)
    raw = path.read_bytes()
    return [raw[: len(raw) - cut] for cut in range(1, len(last) + 1)]


def test_a_torn_tail_is_dropped_whichever_byte_was_the_last(tmp_path: Path) -> None:
    store = JSONLinesStore(tmp_path, durability="normal")
    path = tmp_path / "c.jsonl"
    for raw in torn_files(tmp_path):
        path.write_bytes(raw)
        talk = Growing(store)
        page, head = talk.next_page("one")
        talk.check()
        assert store.append("c", page, head).revision == head.revision
        talk.turn("more")
        talk.check()
        assert len(lines_of(path)) == 3


def test_a_conversation_that_was_torn_when_it_was_made_is_not_there(tmp_path: Path) -> None:
    store = JSONLinesStore(tmp_path / "torn", durability="normal")
    Growing(JSONLinesStore(tmp_path)).turn()
    raw = (tmp_path / "c.jsonl").read_bytes()
    path = tmp_path / "torn" / "c.jsonl"
    for length in range(0, len(raw), scale(3, 1)):
        path.write_bytes(raw[:length])
        assert store.read("c") is None
        assert store.list().conversations == ()
        talk = Growing(store)
        talk.turn()
        talk.check()
        assert len(lines_of(path)) == 2


@pytest.mark.parametrize("from_end", [1, 5, 100, 500])
def test_blocks_that_never_came_to_the_disk_are_a_torn_tail(tmp_path: Path, from_end: int) -> None:
    store = JSONLinesStore(tmp_path)
    talk = Growing(store)
    talk.turn("one")
    whole = (tmp_path / "c.jsonl").stat().st_size
    Growing(JSONLinesStore(tmp_path / "more"))
    page, head = talk.next_page("two")
    store.append("c", page, head)
    raw = bytearray((tmp_path / "c.jsonl").read_bytes())
    raw[whole : len(raw) - from_end] = bytes(len(raw) - from_end - whole)
    (tmp_path / "c.jsonl").write_bytes(raw)

    assert store.append("c", page, head).revision == head.revision

    talk.check()


def test_damage_anywhere_is_noticed(tmp_path: Path) -> None:
    store = JSONLinesStore(tmp_path, durability="normal")
    talk = Growing(store)
    for text in "xyz":
        talk.turn(text)
    path = tmp_path / "c.jsonl"
    raw = path.read_bytes()
    for at in range(0, len(raw) - 1, scale(7, 1)):
        damaged = bytearray(raw)
        damaged[at] ^= 4
        path.write_bytes(damaged)
        with pytest.raises((StoreCorrupt, StoreUnavailable)):
            store.pages("c")


@pytest.mark.parametrize("number", [1, 2])
def test_a_line_that_is_missing_is_noticed(tmp_path: Path, number: int) -> None:
    store = JSONLinesStore(tmp_path, durability="normal")
    talk = Growing(store)
    for text in "xyz":
        talk.turn(text)
    lines = lines_of(tmp_path / "c.jsonl")
    (tmp_path / "c.jsonl").write_bytes(b"".join([*lines[:number], *lines[number + 1 :]]))
    with pytest.raises(StoreCorrupt):
        store.read("c")


def test_a_later_format_is_left_alone(store: JSONLinesStore, tmp_path: Path) -> None:
    Growing(store).turn()
    path = tmp_path / "c.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"hansard":1', b'{"hansard":2', 1))
    with pytest.raises(StoreUnavailable, match="in format 1 or earlier, found 2"):
        store.read("c")


def test_forks_share_a_file_and_what_none_needs_is_cut_off(
    store: JSONLinesStore, tmp_path: Path
) -> None:
    talk = Growing(store)
    for text in ("x" * 1000, "y" * 1000, "z" * 1000):
        talk.turn(text)
    whole = size_of(tmp_path)
    eight = talk.fork("eight", 8)
    four = eight.fork("four", 4)
    assert size_of(tmp_path) < whole + 1500

    sizes = []
    for name, living in (("c", [eight, four]), ("eight", [four]), ("four", [])):
        store.delete(name)
        for other in living:
            other.check()
        sizes.append(size_of(tmp_path))

    assert sizes[0] < whole - 500
    assert sizes[1] < sizes[0] - 1500
    assert sizes[2] == 0
    assert [path for path in tmp_path.rglob("*") if path.name != ".shared"] == []


def test_deleting_a_fork_leaves_a_living_file_alone(store: JSONLinesStore, tmp_path: Path) -> None:
    talk = Growing(store)
    talk.turn()
    talk.fork("d", 4)
    talk.turn()
    whole = (tmp_path / "c.jsonl").read_bytes()
    store.delete("d")
    assert (tmp_path / "c.jsonl").read_bytes() == whole


def test_a_name_used_again_has_nothing_of_what_it_was_before(store: JSONLinesStore) -> None:
    talk = Growing(store)
    talk.turn(hold=Hold("a", 60))
    store.describe("c", Metadata("title"))
    before = store.list().conversations
    store.delete("c")
    again = Growing(store, incarnation="j")
    assert again.turn(hold=Hold("b", 60)).fence == 1
    assert [each.metadata for each in (*before, *store.list().conversations)] == [
        Metadata("title"),
        Metadata(),
    ]


def test_a_fence_is_never_given_twice(store: JSONLinesStore, tmp_path: Path) -> None:
    talk = Growing(store)
    assert talk.turn(hold=Hold("a", 60)).fence == 1
    assert store.lease("c", Hold("a", 60)) == 2
    talk.turn(hold=Hold("a", 60, 2))
    (tmp_path / "c.lease.json").write_bytes(bytes(100))  # It was not on the disk yet.
    with pytest.raises(LeaseLost):
        store.lease("c", Hold("a", 60, 2))
    assert store.lease("c", Hold("b", 60)) == 3


def test_what_is_asked_for_is_what_can_be_had(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="durability 'full' or 'normal', found 'none'"):
        JSONLinesStore(tmp_path, durability="none")
    with JSONLinesStore(tmp_path) as store:
        assert store.durability == "full"
        assert repr(store) == f"JSONLinesStore({str(tmp_path)!r}, durability='full')"
    store.close()
    with pytest.raises(Invalid, match="which is closed"):
        store.list()


def test_what_a_dead_process_left_linked_does_not_stay(
    store: JSONLinesStore, tmp_path: Path
) -> None:
    talk = Growing(store)
    for text in ("x" * 1000, "y" * 1000, "z" * 1000):
        talk.turn(text)
    four = talk.fork("n" * 300, 4)
    talk.fork("dead", 12)
    (tmp_path / "dead.jsonl").write_bytes(b"")  # It had not come to its header.

    store.delete("c")

    four.check()
    assert size_of(tmp_path) < 4000
    store.delete("n" * 300)
    assert size_of(tmp_path) == 0
