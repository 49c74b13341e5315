"""Entries: one of each kind comes back as it was, with the bytes of its raw parts untouched."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import msgspec
import pytest

from hansard.errors import DecodeError
from hansard.messages import Usage
from hansard.record import entries
from hansard.record.entries import (
    Attempt,
    CallKey,
    Compaction,
    Decision,
    Entry,
    Intent,
    Mark,
    Outcome,
    PromptIdentity,
    Rewind,
    Said,
    SliceEvent,
    TurnBegin,
    TurnEnd,
    decode_entries,
    encode_entries,
)

RAW = rb'{"n":[1e5,1.50,-0.0,1E+400,123456789012345678901234567890],"s":"\/\u00e9\ud800","n":1}'
"""Numbers, escapes and a name twice, as no library would spell them."""

ODD = 'naïve 🜁\x00\n"\\ \ud83d'
"""Text with half a surrogate pair, as providers and users do send."""

CALL = CallKey(3, 1, ODD)
FULL: list[Entry] = [
    TurnBegin(
        seq=0,
        turn=7,
        at_us=1,
        turn_id=ODD,
        prompt=PromptIdentity(ODD, "key", "digest"),
        input_digest="d",
        preamble="p",
    ),
    Said(
        seq=1,
        turn=7,
        at_us=2,
        role="assistant",
        author="model",
        raw=msgspec.Raw(RAW),
        pin=True,
        finish="stop",
        usage=Usage(1, 2, 3, 4, 5),
        problems=("cut", ODD),
        cut=True,
    ),
    Attempt(seq=2, turn=7, error="overloaded", detail=ODD, answered=True, usage=Usage(1, 2)),
    Intent(seq=3, turn=7, call=CALL),
    Outcome(seq=4, turn=7, call=CALL, status="error", raw=msgspec.Raw(RAW)),
    Outcome(seq=5, turn=7, call=CALL, status="unknown"),
    Decision(seq=6, turn=7, call=CALL, verdict="not_run", by=ODD, reason=ODD),
    TurnEnd(seq=7, turn=7, status="failed", error=ODD),
    Compaction(
        seq=8,
        turn=7,
        first=0,
        last=7,
        messages=(msgspec.Raw(RAW), msgspec.Raw(b"[" + RAW + b"]")),
        strategy=ODD,
        tokens_before=9,
        tokens_after=0,
    ),
    Mark(seq=9, turn=7, name=ODD),
    Rewind(seq=10, turn=7, to=9),
    SliceEvent(seq=11, turn=7, slice_type=ODD, item_type="Step", item=msgspec.Raw(RAW)),
]


def kind_of(entry: Entry) -> str:
    return f"{entry.seq}-{type(entry).__name__}"


def test_there_is_one_of_each_kind_here() -> None:
    assert {type(entry) for entry in FULL} == set(get_args(Entry))


def test_the_kinds_are_named_as_the_design_names_them() -> None:
    assert [kind.__struct_config__.tag for kind in get_args(Entry)] == [
        *("turn.begin", "message", "attempt", "intent", "outcome", "decision", "turn.end"),
        *("compaction", "mark", "rewind", "slice"),
    ]


@pytest.mark.parametrize("entry", FULL, ids=kind_of)
def test_an_entry_comes_back_as_it_was(entry: Entry) -> None:
    spelled = encode_entries([entry])
    assert decode_entries(spelled) == [entry]
    assert encode_entries(decode_entries(spelled)) == spelled


def test_entries_together_come_back_as_they_were() -> None:
    spelled = encode_entries(FULL)
    assert decode_entries(spelled) == FULL
    assert spelled.count(RAW) == 5


def test_an_entry_is_spelled_small_its_defaults_left_out() -> None:
    said = Said(seq=1, role="user", author="input", raw=msgspec.Raw(b'{"role":"user"}'))
    assert encode_entries([said]) == (
        b'[{"kind":"message","role":"user","author":"input","raw":{"role":"user"},"seq":1}]'
    )
    assert encode_entries([]) == b"[]"


@pytest.mark.parametrize("name", ["", ODD], ids=["plain", "odd"])
def test_what_a_later_release_adds_to_an_entry_is_no_reason_to_refuse_it(name: str) -> None:
    mark = Mark(seq=9, name=name)
    spelled = encode_entries([mark])[:-2] + b',"new":{"a":[1e5]}}]'
    assert decode_entries(spelled) == [mark]


@pytest.mark.parametrize(
    "broken",
    [
        b'[{"kind":"never","seq":1}]',
        b'[{"seq":1}]',
        b'[{"kind":"mark","seq":1}]',
        b'[{"kind":"mark","seq":"1","name":"x"}]',
        rb'[{"kind":"mark","seq":"1","name":"\ud800"}]',
        rb'[{"kind":"\ud800"}]',
        rb'[{"kind":"compaction","seq":1,"first":0,"last":0,"strategy":"\ud800","messages":1}]',
        b'[{"kind":"turn.end","seq":1,"status":"over"}]',
        b"[1]",
        rb'[1,"\ud800"]',
        rb'{"kind":"mark","seq":1,"name":"\ud800"}',
        b'{"kind":"mark","seq":1,"name":"x"}',
    ],
)
def test_what_is_no_entry_is_refused_as_corrupt(broken: bytes) -> None:
    with pytest.raises(DecodeError, match="expected") as caught:
        decode_entries(broken)
    assert caught.value.reason == "corrupt_entry"


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b"", "not_json"),
        (encode_entries(FULL)[:-1], "not_json"),
        (b'[{"kind":"message","raw":{"a":"\xff"}}]', "not_utf8"),
        (b'[{"kind":"slice","item":' + b"[" * 100_000, "too_deep"),
    ],
)
def test_what_is_not_json_is_refused_for_that(broken: bytes, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_entries(broken)
    assert caught.value.reason == reason


def test_times_are_of_the_callers_clock_to_the_microsecond() -> None:
    moment = entries.instant(1_700_000_000_000_001)
    assert moment == datetime(2023, 11, 14, 22, 13, 20, 1, tzinfo=UTC)
    assert entries.instant(-1) < datetime(1970, 1, 1, tzinfo=UTC)
