"""What goaitools promises of its state, and the bytes in which it writes it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard import Rejected, event, system, user
from hansard.testing import ScriptedModel, call, raw, say
from tests.support.wired import DIALECTS

if TYPE_CHECKING:
    from tests.support.talkers import Talkers

BLOBS = Path(__file__).parents[1] / "data" / "goblobs"
HEAD = b'{"version":1,"provider":"openai","processed_length":1,"messages":['


def version_1(*messages: bytes) -> bytes:
    return HEAD + b",".join(messages) + b"]}"


def said(model: ScriptedModel, number: int = -1) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in model.requests[number].messages]


# -- any bytes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_state_is_bytes_that_any_column_keeps(talker: Talkers, kind: Any) -> None:
    """A.opaque_state: whatever gives back the same bytes can keep a conversation."""
    model = ScriptedModel("One.", "Two.")
    chat = talker(model)
    state = chat.send(None, "1?").state
    assert isinstance(state, bytes)
    assert chat.send(kind(bytes(state)), "2?").rejected is None
    assert said(model)[:2] == [("user", "1?"), ("assistant", "One.")]


@pytest.mark.parametrize("version", [1, 2])
def test_a_state_is_json_that_people_can_read(talker: Talkers, version: int) -> None:
    """A.state_is_json: a state names its version, and its messages can be read in it."""
    chat = talker(ScriptedModel("Café."), state_version=version)
    state = bytes(chat.send(None, "Où?").state)
    assert json.loads(state)["version"] == version
    assert "Café." in state.decode("utf-8")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_small_state_can_be_had(talker: Talkers, dialect: str) -> None:
    """A.gzip: a state can be packed; any chat reads it, and goes on from the same bytes."""
    states, bodies = [], []
    for packing in ({}, {"compress": "gzip"}):
        model = ScriptedModel("Yes.", "No.", dialect=dialect)
        state = talker(model, **packing).send(None, "Hello, hello. " * 300).state
        talker(model).send(state, "And now?")
        states.append(state)
        bodies.append(model.requests[1].body)
    assert len(states[1]) < len(states[0]) / 5
    assert bodies[0] == bodies[1]


# -- a state that cannot be used ----------------------------------------------------------------

USER = b'{"role":"user","content":"Hi"}'
BAD = {
    "not JSON": (b'{"version":1,', "not_json"),
    "no state": (b'{"role":"user"}', "version"),
    "version 0": (version_1(USER).replace(b":1,", b":0,", 1), "version"),
    "version 3": (version_1(USER).replace(b":1,", b":3,", 1), "version"),
    "other provider": (version_1(USER).replace(b"openai", b"gemini"), "other_dialect"),
    "nobody's": (version_1(USER).replace(b"openai", b"acme"), "unknown_dialect"),
    "bad message": (version_1(USER, b"7"), "corrupt_message"),
}


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_state_is_set_aside_and_the_conversation_starts_afresh(
    talker: Talkers, bad: str
) -> None:
    """A.bad_state: no JSON, another version or provider, a bad message: nobody is ever stuck."""
    state, reason = BAD[bad]
    model = ScriptedModel("Hello.", "Still here.")
    chat = talker(model)
    reply = chat.send(state, "Hello?")
    assert reply.rejected is not None
    assert (reply.text, reply.rejected.reason, reply.rejected.blob) == ("Hello.", reason, state)
    assert said(model) == [("user", "Hello?")]
    assert chat.send(reply.state, "And now?").rejected is None


@pytest.mark.parametrize("bad", BAD)
def test_adding_to_a_bad_state_starts_afresh_too(
    plain_talker: Talkers, bad: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A.bad_state_append: adding to a bad state begins anew with what is added, and says so."""
    told: list[Rejected] = []
    model = ScriptedModel("Yes.")
    chat = plain_talker(model, on_rejected=told.append)
    with caplog.at_level(logging.ERROR, "hansard"):
        state = chat.append(BAD[bad][0], event("User landed."))
    assert [(each.reason, each.blob) for each in told] == [(BAD[bad][1], BAD[bad][0])]
    assert "set aside" in caplog.text
    chat.send(state, "Where?")
    assert said(model) == [("user", "User landed."), ("user", "Where?")]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("other", DIALECTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_state_is_of_one_provider(
    plain_talker: Talkers, dialect: str, other: str, version: int
) -> None:
    """A.provider_locked: a state goes on where it was made, and is set aside everywhere else."""
    chat = plain_talker(ScriptedModel("Yes.", dialect=dialect), state_version=version)
    state = chat.send(None, "Hello").state
    rejected = plain_talker(ScriptedModel(dialect=other)).check(state)
    assert (rejected.reason if rejected else "taken") == (
        "taken" if other == dialect else "other_dialect"
    )


def test_time_ends_no_conversation(talker: Talkers, monkeypatch: pytest.MonkeyPatch) -> None:
    """A.no_expiry: however old a state is, it goes on; whoever wants an end passes no state."""
    model = ScriptedModel("One.", "Two.", "Three.")
    chat = talker(model)
    state = chat.send(None, "1?").state
    monkeypatch.setattr("hansard.clock.now_us", lambda: 10**16)  # In the year 2286.
    assert chat.send(state, "2?").rejected is None
    assert said(model)[0] == ("user", "1?")
    chat.send(None, "3?")
    assert said(model) == [("user", "3?")]


# -- what is kept beside the messages -----------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_the_state_counts_what_a_model_has_seen(plain_talker: Talkers, version: int) -> None:
    """A.processed_length: messages that a model has seen count, appended ones do not yet."""
    chat = plain_talker(ScriptedModel("One.", "Two."), state_version=version)
    state = chat.send(None, "1?").state
    longer = chat.append(state, event("a"), event("b"))
    counts = [chat.load(each).processed for each in (state, longer)]
    assert [*counts, chat.load(chat.send(longer, "2?").state).processed] == [2, 2, 6]
    if version == 1:
        assert json.loads(bytes(longer))["processed_length"] == 2


def test_the_state_knows_how_long_the_conversation_is_in_tokens(talker: Talkers) -> None:
    """A.tokens_kept: the tokens of the conversation are in its state, as last reported."""
    usage = hansard.Usage(input_tokens=400, output_tokens=20)
    chat = talker(ScriptedModel(say("Yes.", usage=usage)))
    assert chat.load(bytes(chat.send(None, "Hello").state)).tokens == 420


def test_version_1_becomes_version_2(talker: Talkers) -> None:
    """A.migration: an older state is read and written as the current version, with all it had."""
    model = ScriptedModel("At the theatre.", "Yes.")
    chat = talker(model)
    old = (BLOBS / "03_openai_appended.json").read_bytes()
    reply = chat.send(old, "Where am I?")
    assert (json.loads(bytes(reply.state))["version"], reply.rejected) == (2, None)
    chat.send(reply.state, "Really?")
    first, second = (said(model, number) for number in (0, 1))
    assert second[: len(first)] == first
    assert len(first) == len(json.loads(old)["messages"]) + 1
    assert first[-3:-1] == [
        ("user", "User checked in at Harrogate Theatre"),
        ("system", "Score is now 150"),
    ]


# -- version 1, byte by byte --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["01_openai_plain.json", "03_openai_appended.json"])
def test_a_real_state_of_goaitools_comes_back_byte_for_byte(
    plain_talker: Talkers, name: str
) -> None:
    """A.v1.real_blobs: what Go wrote is read, and written identically."""
    blob = (BLOBS / name).read_bytes()
    chat = plain_talker(ScriptedModel(), state_version=1)
    assert chat.check(blob) is None
    assert chat.append(blob) == blob


def test_the_members_of_a_state_stand_in_gos_order(talker: Talkers) -> None:
    """A.v1.key_order: compact, no newline; version, provider, processed_length, messages."""
    chat = talker(ScriptedModel("Yes."), state_version=1)
    assert bytes(chat.send(None, system("Be terse."), "Hi").state) == (
        b'{"version":1,"provider":"openai","processed_length":2,"messages":['
        b'{"role":"user","content":"Hi"},{"role":"assistant","content":"Yes."}]}'
    )


def test_the_members_of_a_message_stand_in_gos_order(plain_talker: Talkers) -> None:
    """A.v1.message_fields: role, content, name, tool_calls, tool_call_id; what is empty is not."""
    wire = (
        b'{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{}","name":"look"},'
        b'"id":"a","type":"function"}],"content":"","role":"assistant"},"finish_reason":"stop"}]}'
    )
    named = hansard.dialect("openai").message(b'{"name":"Ada","content":"Hi","role":"user"}')
    chat = plain_talker(ScriptedModel(raw(wire), "Yes."), state_version=1, tools=[look])
    assert bytes(chat.send(None, named).state) == (
        b'{"version":1,"provider":"openai","processed_length":4,"messages":['
        b'{"role":"user","content":"Hi","name":"Ada"},'
        b'{"role":"assistant","tool_calls":[{"id":"a","type":"function",'
        b'"function":{"name":"look","arguments":"{}"}}]},'
        b'{"role":"tool","content":"a tree","tool_call_id":"a"},'
        b'{"role":"assistant","content":"Yes."}]}'
    )


def look() -> str:
    """Look around."""
    return "a tree"


def test_a_state_is_escaped_as_go_escapes(talker: Talkers) -> None:
    """A.v1.escapes: < > & and the two line separators are escaped, all else is raw UTF-8."""
    chat = talker(ScriptedModel("<b>é</b> \u2028 😀"), state_version=1)
    assert (
        bytes(chat.send(None, 'a & b \u2029 "q" \x01\b\f\n\x7f').state)
        == (
            '{"version":1,"provider":"openai","processed_length":2,"messages":['
            '{"role":"user","content":"a \\u0026 b \\u2029 \\"q\\" \\u0001\\b\\f\\n\x7f"},'
            '{"role":"assistant","content":"\\u003cb\\u003eé\\u003c/b\\u003e \\u2028 😀"}]}'
        ).encode()
    )


def test_numbers_and_lone_surrogates_are_kept_as_they_are_spelled(plain_talker: Talkers) -> None:
    """A.v1.spelling: numbers keep their text, and half a surrogate pair survives."""
    odd = rb'{"role":"user","content":"\ud800","n":[1e5,1.50,-0.0,123456789012345678901]}'
    chat = plain_talker(ScriptedModel(), state_version=1)
    assert chat.append(version_1(odd)) == version_1(odd)
    assert version_1(odd)[:-2] in bytes(chat.append(version_1(odd), user("More")))


LENIENT = {
    "any case": b'{"VERSION":1,"Provider":"openai","MesSages":[%b]}' % USER,
    "the last duplicate": b'{"version":1,"provider":"x","provider":"openai",'
    b'"processed_length":5,"messages":[7],"messages":[%b],"processed_length":0}' % USER,
    "null among messages": b'{"version":1,"provider":"openai","messages":[null,%b]}' % USER,
    "no processed_length": b'{"version":1,"provider":"openai","messages":[%b]}' % USER,
    "any case in messages": b'{"version":1,"provider":"openai","messages":[%b]}'
    % USER.replace(b'"role"', b'"Role"').replace(b'"content"', b'"content":"x","CONTENT"'),
    "spaces and unknown": b' {"more":[1], "version" : 1,\n"provider":"openai","messages":[%b]} '
    % USER,
}
EMPTY = {
    "messages null": b'{"version":1,"provider":"openai","messages":null}',
    "messages absent": b'{"version":1,"provider":"openai"}',
}


@pytest.mark.parametrize("how", [*LENIENT, *EMPTY])
def test_a_state_is_read_as_leniently_as_go_reads(plain_talker: Talkers, how: str) -> None:
    """A.v1.lenient: case of keys, duplicates, null and absent members are taken as Go does."""
    model = ScriptedModel("Yes.")
    chat = plain_talker(model)
    state = (LENIENT | EMPTY)[how]
    assert chat.load(state).processed == 0
    assert chat.send(state, "And now?").rejected is None
    earlier = [("user", "Hi")] if how in LENIENT else []
    assert said(model) == [*earlier, ("user", "And now?")]


REFUSED = {
    "version 1.0": (b'{"version":1.0,"provider":"openai","messages":[]}', "version"),
    'version "1"': (b'{"version":"1","provider":"openai","messages":[]}', "version"),
    "a later duplicate": (version_1(USER)[:-1] + b',"version":9}', "version"),
    "a byte-order mark": (b"\xef\xbb\xbf" + version_1(USER), "not_json"),
    "more after it": (version_1(USER) + b"{}", "not_json"),
    "a stray bracket": (version_1(USER) + b"]", "not_json"),
    "a role that is no text": (version_1(b'{"role":5}'), "corrupt_message"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_state_is_refused_where_go_refuses_it(plain_talker: Talkers, how: str) -> None:
    """A.v1.refused: a version that is no integer, a byte-order mark, anything after the value."""
    state, reason = REFUSED[how]
    rejected = plain_talker(ScriptedModel()).check(state)
    assert rejected is not None
    assert rejected.reason == reason


def test_go_and_python_take_turns_on_one_state(talker: Talkers) -> None:
    """A.v1.shared: a turn said here is added behind what Go wrote, whose bytes stay."""
    blob = (BLOBS / "03_openai_appended.json").read_bytes()
    model = ScriptedModel(say(calls=[call("look", id="z")]), "A tree.")
    state = bytes(talker(model, state_version=1, tools=[look]).send(blob, "What is there?").state)
    messages = blob[blob.index(b'"messages":[') : -2]
    assert messages in state
    assert json.loads(state)["processed_length"] == len(json.loads(state)["messages"]) == 17
