"""Version 1 as a record: what Go stored reads as it reads in Go, and is written as it was."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import hansard
from hansard.errors import DecodeError, Unsayable
from hansard.record import goblob, versions, views
from hansard.record.entries import Said
from tests.support.conversations import Writer, context_bytes
from tests.support.goblobs import DATA, cases, is_utf8, text_of

V1 = b'{"version":1,"provider":"%b","processed_length":1,"messages":[%b]}'
CALLED = (
    b'{"Role":"assistant","Tool_Calls":[{"ID":"c","Type":"function",'
    b'"Function":{"Name":"pay","Arguments":"{}"}}]}'
)
PAID = b'{"role":"tool","Content":"paid","tool_call_id":"c"}'


def read(data: bytes) -> hansard.Record:
    return versions.read(data, hansard.dialect, conversation="c1")


def of_openai(*messages: bytes) -> bytes:
    return V1 % (b"openai", b",".join(messages))


def test_messages_whose_keys_are_in_another_case_read_as_in_go() -> None:
    asked = b'{"ROLE":"user","content":"a","Content":"Pay!"}'
    data = of_openai(asked, CALLED, PAID)
    loaded = read(data)
    said, called, paid = views.context(loaded)
    assert (said.role, said.text) == ("user", "Pay!")
    assert [(call.id, call.name) for call in called.tool_calls] == [("c", "pay")]
    assert (paid.tool_call_id, paid.tool_results[0].text) == ("c", "paid")
    assert views.repairs(loaded) == ()
    assert b"Role" not in context_bytes(loaded)
    assert versions.write(loaded, 1) == data
    again = read(versions.write(loaded))
    assert context_bytes(again) == context_bytes(loaded)


def test_new_messages_are_added_behind_those_in_another_case() -> None:
    data = of_openai(CALLED, PAID)
    writer = Writer(hansard.dialect("openai"), read(data))
    writer.exchange()
    assert versions.write(writer.record, 1).count(CALLED + b"," + PAID + b",{") == 1


TAKEN = {"m content arr", "m tc args obj"}
"""What Go refuses and we take: servers give such content, and such arguments."""


@pytest.mark.parametrize("case", cases("reading.json"))
def test_messages_are_taken_and_refused_as_go_does(case: dict[str, Any]) -> None:
    data = text_of(case, "blob")
    if not is_utf8(data):
        return
    if case.get("refused") == "message" and case["name"] not in TAKEN:
        assert refusal(data) == "corrupt_message"
    elif case.get("refused") in ("message", None):
        record = versions.read(data, openai, conversation="c1")
        assert len(views.curated(record)) == record.context.count
        views.context(record)
        rewritten = json.loads(versions.write(record, 1))["messages"]
        assert rewritten == json.loads(text_of(case, "rewritten"))["messages"]


def openai(_name: str) -> hansard.Dialect:
    return hansard.dialect("openai")


def refusal(data: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        versions.read(data, openai, conversation="c1")
    return caught.value.reason


def test_a_message_of_no_dialect_is_found_when_it_is_loaded_and_not_later() -> None:
    content = b'{"role":"user","parts":[{"text":"Hi"}]}'
    data = V1 % (b"gemini", content + b"," + content.replace(b'[{"text":"Hi"}]', b"5"))
    with pytest.raises(DecodeError, match="to be a message of gemini") as caught:
        read(data)
    assert (caught.value.reason, caught.value.path) == ("corrupt_message", "messages[1]")
    assert read(V1 % (b"gemini", content)).context.count == 1


def test_what_could_not_be_loaded_again_is_not_written() -> None:
    raw = b'{"role":"assistant","content":"x","tool_calls":{}}'
    record = Writer().exchange()
    entry = Said(
        seq=record.length,
        turn=record.turn_number,
        role="assistant",
        author="append",
        raw=msgspec.Raw(raw),
    )
    with pytest.raises(Unsayable, match="whose tool_calls is of another type"):
        versions.write(record.apply(entry), 1)


@pytest.mark.parametrize("name", ["01_openai_plain.json", "03_openai_appended.json"])
def test_what_go_wrote_is_not_taken_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goblob, "_understood", None)
    data = (DATA / name).read_bytes()
    assert versions.write(read(data), 1) == data
    with pytest.raises(TypeError):
        read(of_openai(CALLED))
