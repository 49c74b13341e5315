"""Messages of version 1: read as Go reads them, spelled as Go spells them."""

from __future__ import annotations

from typing import Any

import pytest

from hansard.errors import DecodeError
from hansard.record import gomessages
from tests.support.goblobs import cases, text_of

CALL = b'{"role":"assistant","tool_calls":[%b]}'
SAID = b'{"role":"user","content":"hi"}'


@pytest.mark.parametrize(
    ("given", "read"),
    [
        pytest.param(b'{"ROLE":"user","conTent":"hi"}', SAID, id="keys in any case"),
        pytest.param(b'{"r\\u006fle":"user","Content":"hi"}', SAID, id="keys spelled with escapes"),
        pytest.param(
            b'{"role":"tool","tool_call_id\xc5\xbf":"x","tool_call\xc5\xbf":null}',
            b'{"role":"tool","tool_call_id\xc5\xbf":"x","tool_calls":null}',
            id="a long s is an s",
        ),
        pytest.param(b'{"role":"user","content":"a","Content":"hi"}', SAID, id="the last counts"),
        pytest.param(
            b'{"role":"user","Content":"a","content":"hi","CONTENT":null}', SAID, id="but no null"
        ),
        pytest.param(
            b'{"role":"user","content":"hi","Refusal":null}',
            b'{"role":"user","content":"hi","Refusal":null}',
            id="fields that Go does not know keep their names",
        ),
        pytest.param(
            CALL % b'{"ID":"c","Type":"function","Function":{"Name":"f","ARGUMENTS":"{}"}}',
            CALL % b'{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}',
            id="calls, and what is called",
        ),
        pytest.param(
            CALL % b'{"function":{"name":"f"},"Function":{"arguments":"{}"},"function":null}',
            CALL % b'{"function":{"name":"f","arguments":"{}"}}',
            id="functions said twice are one",
        ),
        pytest.param(
            b'{"role":"user","tool_calls":[null],"Tool_Calls":null}',
            b'{"role":"user","tool_calls":null}',
            id="but calls said twice are not",
        ),
    ],
)
def test_a_message_reads_as_go_reads_it(given: bytes, read: bytes) -> None:
    assert gomessages.understood(given) == read
    assert gomessages.understood(read) == read
    assert not gomessages.are_understood(b"[%b]" % given) or given == read


@pytest.mark.parametrize(
    "raw",
    [
        SAID,
        b'{"role":"user","content":[{"type":"text","text":"hi"}]}',
        b'{"x":{"Y":1,"y":2},"role":"tool"}',
        rb'{"\ud83d":1e5,"role":"\u0075ser"}',
        CALL % b'{"function":{"arguments":{"a":1}}}',
        CALL % b"null",
    ],
)
def test_a_message_that_reads_as_it_stands_stays_as_it_stands(raw: bytes) -> None:
    assert gomessages.understood(raw) is raw


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"role":5}', "role"),
        (b'{"Role":[]}', "role"),
        (b'{"name":{}}', "name"),
        (b'{"Content":5}', "content"),
        (b'{"content":{}}', "content"),
        (b'{"tool_call_id":true}', "tool_call_id"),
        (b'{"tool_calls":{}}', "tool_calls"),
        (CALL % b"5", "tool_calls[0]"),
        (CALL % b'{},{"ID":5}', "tool_calls[1].id"),
        (CALL % b'{"type":5}', "tool_calls[0].type"),
        (CALL % b'{"function":"f"}', "tool_calls[0].function"),
        (CALL % b'{"function":{"arguments":[]}}', "tool_calls[0].function.arguments"),
        (CALL % b'{"function":{"name":5}}', "tool_calls[0].function.name"),
    ],
)
def test_a_member_that_go_could_not_read_is_refused(raw: bytes, path: str) -> None:
    with pytest.raises(DecodeError, match="keep the bytes and start afresh") as caught:
        gomessages.understood(raw, "messages[7]")
    assert (caught.value.reason, caught.value.path) == ("corrupt_message", f"messages[7].{path}")
    assert not gomessages.are_understood(b"[%b]" % raw)


def test_what_most_messages_say_is_known_at_a_glance() -> None:
    call = CALL % (
        rb'{"id":"c","type":"function","function":{"name":"f","arguments":"{\"Role\":\"x\"}"}}'
    )
    result = b'{"role":"tool","content":"paid","tool_call_id":"c"}'
    assert gomessages.kind_of(b"[%b,%b]" % (SAID, SAID)) == (2, "words")
    assert gomessages.kind_of(b"[%b,%b,%b]" % (SAID, call, result)) == (3, "own")
    for own in (call, result, b'{"role":"assistant"}'):
        assert gomessages.kind_of(b"[%b]" % own) == (1, "own")
    known = call.replace(b'"tool_calls"', rb'"refusal":null,"x":"y\"Role\":","tool_calls"')
    assert gomessages.kind_of(b"[%b]" % known) == (0, None)
    assert gomessages.are_understood(b"[%b,%b]" % (known, result))
    for odd in (b'{"role":"user","content":null}', b'{"role":"user","content":[]}', b"null"):
        assert gomessages.kind_of(b"[%b,%b]" % (SAID, odd)) == (0, None)


@pytest.mark.parametrize("case", cases("spelling.json"))
def test_messages_are_spelled_as_go_spells_its_struct(case: dict[str, Any]) -> None:
    assert gomessages.spell(text_of(case, "message")) == text_of(case, "spelled")


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        pytest.param(
            b'{"reasoning_content":"","role":"assistant","refusal":null,"content":"x"}',
            b'{"role":"assistant","content":"x","reasoning_content":"","refusal":null}',
            id="fields that Go does not know follow, empty or not",
        ),
        pytest.param(
            b'{"n": [1e5, 1.50, -0, 1E400], "role":"user"}',
            b'{"role":"user","n":[1e5,1.50,-0,1E400]}',
            id="numbers keep their text",
        ),
        pytest.param(
            b'{"<k>":"<\xe2\x80\xa8>","role":"user"}',
            rb'{"role":"user","\u003ck\u003e":"\u003c\u2028\u003e"}',
            id="unknown fields are escaped too",
        ),
        pytest.param(
            rb'{"role":"user","content":"\uD83D \uDE00\u0041","x":"\uD83D"}',
            rb'{"role":"user","content":"\ud83d \ude00A","x":"\uD83D"}',
            id="lone surrogates survive",
        ),
        pytest.param(
            b'{"content":[ {"type":"text","text":"a"} ],"role":"user"}',
            b'{"role":"user","content":[{"type":"text","text":"a"}]}',
            id="content that is an array keeps its place",
        ),
        pytest.param(
            b'{"role":"a","tool_calls":{"0":{}},"name":5}',
            b'{"role":"a","name":5,"tool_calls":{"0":{}}}',
            id="known fields of another type keep their value",
        ),
        pytest.param(
            b'{"role":"a","tool_calls":[{"index":0,"id":"c","function":{"arguments":"{}",'
            b'"name":"f","extra":1},"extra_content":{"google":{"thought_signature":"s="}}}]}',
            b'{"role":"a","tool_calls":[{"id":"c","type":"","function":{"name":"f",'
            b'"arguments":"{}","extra":1},"index":0,'
            b'"extra_content":{"google":{"thought_signature":"s="}}}]}',
            id="calls keep unknown fields on every level",
        ),
        pytest.param(
            b'{"role":"a","tool_calls":[{"id":"c","type":"custom","custom":{"input":"x"}}]}',
            b'{"role":"a","tool_calls":[{"id":"c","type":"custom","custom":{"input":"x"}}]}',
            id="a call of another kind gets no function",
        ),
        pytest.param(
            b'{"role":"a","tool_calls":[null,{"id":"c","type":"function",'
            b'"function":{"name":"f","arguments":{"a":1}}},{"id":"d","type":"x","function":1}]}',
            b'{"role":"a","tool_calls":[null,{"id":"c","type":"function",'
            b'"function":{"name":"f","arguments":{"a":1}}},{"id":"d","type":"x","function":1}]}',
            id="calls of odd shapes stay",
        ),
    ],
)
def test_what_go_would_have_lost_is_kept(given: bytes, spelled: bytes) -> None:
    assert gomessages.spell(given) == spelled
    assert gomessages.spell(spelled) == spelled


@pytest.mark.parametrize("raw", [b"[]", b"null", b'"x"', b"5", b"{", b'{"a":"\xff"}'])
def test_only_an_object_can_be_spelled_as_a_message(raw: bytes) -> None:
    with pytest.raises(DecodeError):
        gomessages.spell(raw)
