"""Every version that was ever written is read; the current one is what becomes of it."""

from __future__ import annotations

import json

import pytest

import hansard
from hansard.errors import DecodeError, Invalid, UnknownDialect
from hansard.record import versions, views
from tests.support.conversations import DIALECTS, Writer, context_bytes

GO = (
    b'{"version":1,"provider":"openai","processed_length":1,'
    b'"messages":[{"role":"user","content":"Hi"}]}'
)
OLD = b'{"version":77,"of":"a format that was never written"}'


def read(data: bytes) -> hansard.Record:
    return versions.read(data, hansard.dialect, conversation="c1")


@pytest.mark.parametrize(
    ("data", "version"),
    [
        (b'{"version":1,"provider":"openai"}', 1),
        (b'{"version":2,', 2),
        (b'{"version":31,"more":1}', 31),
        (b' {"version":2,', 1),
        (b'{"dialect":"openai","version":2}', 1),
        (b'{"version":02,', 1),
        (b'{"version":2,"version":1}', 1),
        (b'{"version":2,"provider":"openai", "Version" : 1}', 1),
        (b'{"version":2,"dialect":"openai","messages":[{"version":1}]}', 2),
        (b'{"version":3,"messages":[{"content":"\\"version\\":"}]}', 3),
        (b"", 1),
    ],
)
def test_a_blob_says_its_version_first_and_whatever_does_not_is_of_version_1(
    data: bytes, version: int
) -> None:
    assert versions.version_of(data) == version


def test_there_is_a_reader_for_every_version_up_to_the_current_one() -> None:
    assert list(versions.READERS) == list(range(1, versions.CURRENT + 1))


def test_a_version_with_a_reader_is_read_and_upgraded_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_zeroth(
        data: bytes, find: versions.Find, conversation: str, messages_max: int
    ) -> hansard.Record:
        return versions.READERS[1](data.removeprefix(OLD), find, conversation, messages_max)

    monkeypatch.setitem(versions.READERS, 77, read_zeroth)
    upgraded = versions.upgrade(OLD + GO, hansard.dialect, conversation="c1")
    assert upgraded == versions.upgrade(GO, hansard.dialect, conversation="c1")
    assert versions.upgrade(upgraded, hansard.dialect, conversation="c2") == upgraded
    with pytest.raises(DecodeError, match="more than the limit"):
        versions.read(OLD + GO, hansard.dialect, conversation="c1", messages_max=0)


def test_a_later_version_is_refused_and_says_what_to_do() -> None:
    with pytest.raises(DecodeError, match="later release; keep it") as caught:
        read(b'{"version":3,"all":"new"}')
    assert caught.value.reason == "version"


def test_no_other_version_can_be_written() -> None:
    with pytest.raises(Invalid, match="expected version 1 or 2, found 3"):
        versions.write(Writer().exchange(), 3)


def test_version_1_has_no_words_for_an_open_turn() -> None:
    writer = Writer()
    writer.begin()
    with pytest.raises(Invalid, match="finish it, or write version 2"):
        versions.write(writer.record, 1)
    assert read(versions.write(writer.record)).turn is not None


def test_a_dialect_nobody_knows_is_refused_in_both_versions() -> None:
    for data in (GO, versions.write(read(GO))):
        with pytest.raises(UnknownDialect):
            read(data.replace(b"openai", b"openxx")) if data is GO else versions.read(
                data, _nobody, conversation="c"
            )


def _nobody(name: str) -> hansard.Dialect:
    raise UnknownDialect(name)


@pytest.mark.parametrize("dialect", DIALECTS, ids=[dialect.name for dialect in DIALECTS])
def test_version_1_is_written_and_read_in_every_dialect(dialect: hansard.Dialect) -> None:
    """Of an itemized dialect each item is a message there."""
    record = Writer(dialect).exchange("Hello", "Hi")
    data = versions.write(record, 1)
    loaded = read(data)
    assert loaded.processed == json.loads(data)["processed_length"] == 2
    assert context_bytes(loaded) == context_bytes(record)
    assert versions.write(loaded, 1) == data
    longer = Writer(dialect, loaded).exchange()
    assert versions.write(longer, 1).startswith(data[: data.index(b'"processed')])
    assert read(versions.write(longer, 1)).context.count == 4


def test_nulls_that_go_stored_are_no_messages_and_are_written_as_they_were() -> None:
    data = GO.replace(b'[{"role"', b'[null,{"role"').replace(b"}]}", b"},null]}")
    loaded = read(data)
    assert (loaded.context.count, len(views.context(loaded))) == (1, 1)
    assert versions.write(loaded, 1) == data
    assert b"null" not in context_bytes(loaded)


@pytest.mark.parametrize("stored", [-5, 0, 99])
def test_a_count_that_cannot_be_is_kept_and_not_believed(stored: int) -> None:
    data = GO.replace(b'length":1', b'length":%d' % stored)
    loaded = read(data)
    assert loaded.processed == min(max(stored, 0), 1)
    assert versions.write(loaded, 1) == data


def test_an_upgrade_is_done_once() -> None:
    upgraded = versions.upgrade(GO, hansard.dialect, conversation="c1")
    assert versions.upgrade(upgraded, hansard.dialect, conversation="c2") == upgraded
    assert json.loads(upgraded)["messages"] == json.loads(GO)["messages"]
    with pytest.raises(DecodeError):
        versions.upgrade(upgraded[:-1], hansard.dialect, conversation="c2")


def test_the_same_json_in_another_spelling_is_said_to_be_rewritten() -> None:
    data = versions.write(Writer().exchange())
    with pytest.raises(DecodeError, match="a column that rewrites JSON") as caught:
        read(json.dumps(json.loads(data)).encode())
    assert caught.value.reason == "checksum"
