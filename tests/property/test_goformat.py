"""Whatever a version 1 blob says, it says the same after it was read and written."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hansard import rawjson
from hansard.errors import DecodeError
from hansard.record import goformat, gomessages
from tests.property.strategies import (
    ANY_TEXT,
    broken_documents,
    json_objects,
    string_literals,
)

MESSAGES = st.lists(st.one_of(json_objects(), st.just(b"null")), max_size=4)
COUNTS = st.integers(-(2**63), 2**63 - 1)
PROVIDERS = st.one_of(st.just("openai"), st.text(max_size=10))


def rewrite(blob: goformat.GoBlob) -> bytes:
    return goformat.write(
        provider=blob.provider, processed_length=blob.processed_length, messages=[blob.view]
    )


@given(PROVIDERS, COUNTS, MESSAGES)
def test_a_written_blob_reads_as_what_was_written(
    provider: str, processed_length: int, messages: list[bytes]
) -> None:
    data = goformat.write(provider=provider, processed_length=processed_length, messages=messages)
    blob = goformat.read(data)
    assert (blob.provider, blob.processed_length) == (provider, processed_length)
    assert blob.count == len(messages)
    assert json.loads(b"[%b]" % blob.messages) == [json.loads(each) for each in messages]


@given(PROVIDERS, COUNTS, MESSAGES)
def test_what_was_rewritten_once_is_in_gos_spelling(
    provider: str, processed_length: int, messages: list[bytes]
) -> None:
    first = rewrite(
        goformat.read(
            goformat.write(provider=provider, processed_length=processed_length, messages=messages)
        )
    )
    assert rewrite(goformat.read(first)) == first
    assert not any(mark in first.decode() for mark in "<>&\u2028\u2029\t\r\n")


@given(MESSAGES)
def test_both_ways_of_reading_say_the_same(messages: list[bytes]) -> None:
    """An unknown member in front sends the very same blob down the slow road."""
    data = goformat.write(provider="openai", processed_length=1, messages=messages)
    walked = goformat.read(b'{"x":0,' + data.removeprefix(b"{"))
    assert goformat.read(data) == goformat.read(b" " + data) == walked


@given(st.one_of(broken_documents(), st.binary(max_size=40)), st.booleans())
def test_any_bytes_are_a_blob_or_a_refusal(splinter: bytes, canonical: bool) -> None:
    head = b'{"version":1,"provider":"openai","processed_length":2,"messages":['
    data = head + splinter + b"]}" if canonical else splinter
    try:
        blob = goformat.read(data)
    except DecodeError:
        return
    json.loads(data)
    assert rewrite(goformat.read(rewrite(blob))) == rewrite(blob)


ODD_KEYS = st.sampled_from([b"role", b"Role", rb"\u0072ole", b"content", b"Content", b"tool_calls"])
VALUES = st.sampled_from([b"null", b'"user"', b'"tool"', b'"hi"', b"[]", b"5", b'[{"ID":"c"}]'])


@given(st.lists(st.lists(st.tuples(ODD_KEYS, VALUES), max_size=4), max_size=3))
def test_what_is_known_at_a_glance_is_what_a_closer_look_gives(
    given_: list[list[tuple[bytes, bytes]]],
) -> None:
    messages = [
        b"{%b}" % b",".join([b'"%b":%b' % member for member in members]) for members in given_
    ]
    array = b"[%b]" % b",".join(messages)
    if gomessages.kind_of(array)[1] is not None or gomessages.are_understood(array):
        for message in messages:
            understood = gomessages.understood(message)
            assert rawjson.fields(understood) == rawjson.fields(message)


KNOWN = ("role", "content", "name", "tool_calls", "tool_call_id")


def without_empties(message: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in message.items()
        if not (key in KNOWN and value in (None, "", []) and not isinstance(value, bool))
    }


@given(json_objects())
def test_a_spelled_message_says_what_it_said(raw: bytes) -> None:
    """Only fields that Go knows and would have left out are gone."""
    spelled = json.loads(gomessages.spell(raw))
    assert without_empties(spelled) == without_empties(json.loads(raw))
    assert next(iter(spelled)) == "role"


@given(string_literals(), string_literals(), string_literals())
def test_spelling_a_spelled_message_changes_nothing(
    content: bytes, name: bytes, arguments: bytes
) -> None:
    raw = (
        b'{"tool_calls":[{"function":{"arguments":%b,"name":%b},"type":"function","id":"c"}],'
        b'"content":%b,"role":"assistant","z":%b}' % (arguments, name, content, content)
    )
    spelled = gomessages.spell(raw)
    assert gomessages.spell(spelled) == spelled
    data = goformat.write(provider="openai", processed_length=1, messages=[spelled])
    assert goformat.read(data).messages == spelled
    assert json.loads(spelled) == without_empties(json.loads(raw))


@given(ANY_TEXT, ANY_TEXT)
def test_appending_a_message_leaves_the_earlier_ones_alone(earlier: str, later: str) -> None:
    first = gomessages.spell(json.dumps({"role": "user", "content": earlier}).encode())
    second = gomessages.spell(json.dumps({"role": "user", "content": later}).encode())
    held = goformat.read(goformat.write(provider="openai", processed_length=1, messages=[first]))
    data = goformat.write(provider="openai", processed_length=2, messages=[held.view, second])
    assert goformat.read(data).messages == first + b"," + second
