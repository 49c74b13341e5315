"""Version 2 of the blob: how it is spelled, and what it promises beyond what properties say."""

from __future__ import annotations

import json
from zlib import crc32

import msgspec
import pytest

import hansard
from hansard.errors import DecodeError
from hansard.messages import ToolCall, assistant
from hansard.record import blob, views
from hansard.record.entries import Compaction, Said, TurnBegin, TurnEnd
from hansard.record.record import Record
from tests.support.conversations import Writer, calling, result_of

OPENAI = hansard.dialect("openai")


def test_a_blob_is_one_json_text_with_its_sums() -> None:
    data = blob.write(Writer().exchange("é", "Hi"))
    parsed = json.loads(data)
    start = data.index(b'"messages":[') + len(b'"messages":[')
    messages = data[start : start + parsed["size"]]
    assert messages == (
        '{"role":"user","content":"é"},{"role":"assistant","content":"Hi"}'.encode()
    )
    assert parsed["crc"] == f"{crc32(messages):08x}"
    assert parsed["sum"] == f"{crc32(data[:start] + data[start + len(messages) : -18]):08x}"
    assert list(parsed)[:6] == ["version", "dialect", "id", "size", "crc", "messages"]
    assert parsed["turns"] == [[1, "t", "", "done", ""]]


def test_messages_are_not_looked_at_until_somebody_asks() -> None:
    """Broken messages under right sums load, go on and are refused when they are looked at."""
    data = blob.write(Writer().exchange("abcdef", "Hi"))
    size = json.loads(data)["size"]
    start = data.index(b'"messages":[') + len(b'"messages":[')
    messages = data[start : start + size].replace(b'"abcdef"', b"abcdefgh")
    head = data[:start].replace(json.loads(data)["crc"].encode(), b"%08x" % crc32(messages))
    end = data[start + size : -18]
    forged = b'%b%b%b,"sum":"%08x"}' % (head, messages, end, crc32(end, crc32(head)))
    record = blob.read(forged, hansard.dialect)
    assert record.context.count == 2
    assert blob.write(record) == forged
    with pytest.raises(DecodeError) as caught:
        views.context(record)
    assert caught.value.reason == "not_json"


def test_a_header_too_few_is_refused_when_somebody_looks() -> None:
    record = blob.read(blob.write(Writer().exchange()), hansard.dialect)
    root = record.context.root
    assert isinstance(root, blob.LoadedRoot)
    assert len(root.lines()) == 2
    assert root.segment() == root.messages
    fewer = json.loads(bytes(root.rest.heads))[:1]
    written = blob.write(Writer().exchange()).decode()
    start, end = written.index('"heads":') + 8, written.index(',"turns"')
    body = written[written.index("],") : start] + json.dumps(fewer) + written[end:-18]
    head = written[: written.index("],")]
    forged = f'{head}{body},"sum":"'.encode()
    prefix = head[: head.index("[") + 1].encode()
    total = crc32(body.encode(), crc32(prefix))
    loaded = blob.read(b'%b%08x"}' % (forged, total), hansard.dialect)
    with pytest.raises(DecodeError, match="header for each") as caught:
        views.context(loaded)
    assert caught.value.reason == "corrupt_blob"


def test_pins_authors_and_summaries_come_back() -> None:
    writer = Writer()
    writer.exchange()
    writer.say("keep", "append", pin=True)
    raw = b'{"role":"system","content":"So far: \\ud83d"}'
    summary = Compaction(
        seq=writer.seq,
        turn=writer.turn,
        first=0,
        last=3,
        messages=(msgspec.Raw(raw),),
        strategy="s \ud800",
    )
    writer.apply(summary)
    loaded = blob.read(blob.write(writer.record), hansard.dialect)
    entries = [line.entry for line in loaded.context.lines()]
    assert loaded.context.lines()[0].raw == raw
    assert isinstance(entries[0], Compaction)
    assert (entries[0].first, entries[0].last, entries[0].strategy) == (0, 3, "s \ud800")
    assert entries[1] == writer.record.entry(4)


def test_what_had_to_be_mended_is_mended_again_after_loading() -> None:
    writer = Writer()
    raw = calling(OPENAI, "a")
    writer.say(raw, "append")
    writer.say("What now?", "append")
    orphan = result_of(OPENAI, raw, 0)
    writer.say(orphan.replace(b'"a"', b'"zz"'), "append")
    loaded = blob.read(blob.write(writer.record), hansard.dialect)
    assert views.repairs(loaded) == views.repairs(writer.record) != ()
    assert [message.raw for message in views.context(loaded)] == [
        message.raw for message in views.context(writer.record)
    ]


def test_what_the_open_turn_pins_of_a_closed_one_stays_in_a_compacted_state() -> None:
    """Messages of one role that follow each other count as one: a pin among them holds them all."""
    dialect = hansard.dialect("anthropic")
    call = assistant(ToolCall("a", "look", "{}"))
    said = [dialect.say(one)[0].raw for one in (assistant("Hm."), call, assistant("So."))]
    record = Record("c0", dialect)
    for entry in (
        TurnBegin(seq=0, turn=1, turn_id="t1"),
        Said(seq=1, turn=1, role="assistant", author="model", raw=msgspec.Raw(said[0])),
        TurnEnd(seq=2, turn=1, status="done"),
        TurnBegin(seq=3, turn=2, turn_id="t2"),
        Said(seq=4, turn=2, role="assistant", author="append", raw=msgspec.Raw(said[1]), pin=True),
        Compaction(seq=5, turn=2, first=1, last=1, messages=(), strategy="none"),
    ):
        record = record.apply(entry)
    loaded = blob.read(blob.write(record), hansard.dialect)
    assert [line.raw for line in record.context.lines()] == said[:2]
    assert [line.raw for line in loaded.context.lines()] == said[:2]
