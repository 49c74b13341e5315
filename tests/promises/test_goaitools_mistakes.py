"""What goes wrong in goaitools, and does not here. Each test fails where the mistake is made."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    HansardError,
    Rejected,
    event,
    system,
)
from hansard.testing import (
    ScriptedModel,
    WireServer,
    blocked,
    call,
    empty,
    fail,
    forever,
    overflow,
    raw,
    say,
    unreachable,
)
from tests.support.wired import DIALECTS, reach

if TYPE_CHECKING:
    from tests.support.talkers import Talkers


class Desk:
    """A tool that books, and counts how often it did."""

    def __init__(self) -> None:
        self.booked = 0

    def book(self) -> str:
        """Book a seat."""
        self.booked += 1
        return "seat 12"


BOOK = say(calls=[call("book", id="call_1")])


# -- fields that nobody knows -----------------------------------------------------------------

EXTRAS = (
    b'{"role":"assistant","content":"Hi.","reasoning_content":"A greeting.","refusal":null,'
    b'"annotations":[],"confidence":0.950,"reasoning_details":[{"type":"x","n":1e0}]}'
)


def openai_answer(message: bytes) -> Any:
    return raw(b'{"choices":[{"index":0,"message":' + message + b',"finish_reason":"stop"}]}')


def test_fields_that_nobody_knows_do_not_vanish_from_an_answer(plain_talker: Talkers) -> None:
    """A.mistake.fields_vanish: answers are kept as they came, and not rebuilt from known fields."""
    model = ScriptedModel(openai_answer(EXTRAS), "Yes.")
    chat = plain_talker(model)
    state = chat.send(None, "Hello").state
    assert EXTRAS in bytes(state)
    chat.send(state, "And now?")
    assert EXTRAS in model.requests[1].body


def test_fields_that_are_in_a_state_already_are_sent(plain_talker: Talkers) -> None:
    """A.mistake.stored_fields_not_sent: what an earlier state holds goes to the model whole."""
    state = b'{"version":1,"provider":"openai","processed_length":1,"messages":[' + EXTRAS + b"]}"
    model = ScriptedModel("Yes.")
    plain_talker(model).send(state, "And now?")
    assert EXTRAS in model.requests[0].body


ARRAY = (
    b'{"role":"assistant","content":[{"type":"text","text":"Look:"},'
    b'{"type":"image_url","image_url":{"url":"https://example.org/a.png"}},{"type":"new","a":1}]}'
)


@pytest.mark.parametrize("version", [1, 2])
def test_content_may_be_an_array(plain_talker: Talkers, version: int) -> None:
    """A.mistake.content_array: an array as content breaks neither answer, state nor request."""
    model = ScriptedModel(openai_answer(ARRAY), "Yes.")
    chat = plain_talker(model, state_version=version)
    reply = chat.send(None, "Show me")
    assert reply.text == "Look:"
    assert ARRAY in bytes(reply.state)
    assert chat.send(reply.state, "And now?").rejected is None
    assert ARRAY in model.requests[1].body


# -- errors that lose the conversation --------------------------------------------------------

FAILURES: dict[str, tuple[Any, dict[str, Any]]] = {
    "refused": (fail(400), {}),
    "unauthorized": (fail(401), {}),
    "rate limit": (fail(429), {}),
    "down": (fail(503), {}),
    "overflow": (overflow(), {}),
    "unreachable": (unreachable(), {}),
    "too many rounds": (BOOK, {"max_rounds": 2}),
    "invalid": (empty(), {"strict": True, "retries": 0}),
    "blocked": (blocked(), {"strict": True}),
    "cut": (say("Onc", finish="length"), {"strict": True}),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_every_error_has_the_state_with_all_tools_that_finished(
    talker: Talkers, failure: str
) -> None:
    """A.mistake.errors_lose_the_turn: what tools did is in the error's state, and never redone."""
    desk = Desk()
    answer, options = FAILURES[failure]
    with pytest.raises(HansardError) as error:
        talker(ScriptedModel(BOOK, answer), tools=[desk.book]).send(None, "Book", **options)
    model = ScriptedModel(forever("It is booked."))
    after = talker(model, tools=[desk.book])
    assert after.send(error.value.state, "Is it booked?").text == "It is booked."
    assert b"seat 12" in model.requests[-1].body
    assert desk.booked == 1


def test_a_newer_state_is_handed_over_before_anything_takes_its_place(talker: Talkers) -> None:
    """A.mistake.newer_overwritten: a later version's state is given back, before the next save."""
    newer = b'{"version":3,"all":"that a later release knows"}'
    told: list[object] = []
    chat = talker(ScriptedModel("Hello."), on_rejected=told.append)
    reply = chat.send(newer, "Hello?", checkpoint=told.append)
    rejected = told[0]
    assert isinstance(rejected, Rejected)
    assert (rejected.reason, rejected.blob) == ("version", newer)
    assert reply.rejected == rejected
    assert len(told) == 3
    told.clear()
    chat.append(newer, event("User landed."))
    assert told == [rejected]


# -- what is sent -----------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stored_system_message_in_first_place_stays(talker: Talkers, dialect: str) -> None:
    """A.mistake.first_system_dropped: a stored system message is not taken for a leading one."""
    model = ScriptedModel(forever("Yes."), dialect=dialect)
    chat = talker(model)
    state = chat.append(None, system("Score is 150"))
    for number in range(3):
        state = chat.send(state, system(f"Lead {number}."), f"Question {number}").state
    for number, request in enumerate(model.requests):
        assert request.body.count(b"Score is 150") == 1
        assert request.body.count(b"Lead") == 1
        assert f"Lead {number}.".encode() in request.body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_under_stop_are_answered(talker: Talkers, dialect: str) -> None:
    """A.mistake.stop_with_calls: a call is run and answered, whatever the answer ended with."""
    desk = Desk()
    answer = say(calls=[call("book", id="call_1", signature=SIGNED[dialect])], finish="stop")
    with WireServer(dialect, answer, "Booked.", "Yes.") as server:
        with closing(talker(reach(server), tools=[desk.book])) as chat:
            reply = chat.send(None, "Book")
            chat.send(reply.state, "Really?")
        assert (reply.text, desk.booked) == ("Booked.", 1)
        assert server.refusals == []


SIGNED = {"openai": None, "openai-responses": None, "anthropic": None, "gemini": "c2ln"}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_empty_result_is_still_a_result(talker: Talkers, dialect: str, version: int) -> None:
    """A.mistake.empty_result_left_out: a result of no text is sent in a form that is taken."""
    answer = say(calls=[call("hush", id="call_1", signature=SIGNED[dialect])])
    with WireServer(dialect, answer, "Done.", "Yes.") as server:
        with closing(talker(reach(server), tools=[hush], state_version=version)) as chat:
            chat.send(chat.send(None, "Hush!").state, "Really?")
        assert server.refusals == []
    if dialect == "openai":
        for request in server.requests[1:]:
            [result] = [each for each in request.json["messages"] if each["role"] == "tool"]  # type: ignore[union-attr,index,call-overload]
            assert result["content"] == ""  # type: ignore[index,call-overload]


def hush() -> str:
    """Say nothing."""
    return ""


# -- panics -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_tool_may_return_nothing(talker: Talkers, dialect: str) -> None:
    """A.mistake.nil_result: a tool that returns nothing has run, and the model is told so."""

    def note() -> None:
        """Take a note."""

    model = ScriptedModel(say(calls=[call("note")]), "Noted.", dialect=dialect)
    assert talker(model, tools=[note]).send(None, "Note!").text == "Noted."
    [result] = model.requests[1].results
    assert result.text
    assert not result.is_error


SHORT = {
    "openai": (b'{"choices":[]}', b'{"choices":[null]}', b'{"choices":[{"message":null}]}'),
    "openai-responses": (b'{"output":[],"status":"completed"}', b'{"output":[null]}'),
    "anthropic": (b'{"role":"assistant","content":[]}', b'{"role":"assistant","content":[null]}'),
    "gemini": (b'{"candidates":[]}', b'{"candidates":[{"content":{"role":"model","parts":[]}}]}'),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_lists_may_be_shorter_than_they_should(plain_talker: Talkers, dialect: str) -> None:
    """A.mistake.short_lists: an answer without choices, items or parts is a problem, no crash."""
    for body in (*SHORT[dialect], b"{}", b"[]", b"null"):
        model = ScriptedModel(raw(body), "Hello.", dialect=dialect)
        chat = plain_talker(model, retries=0)
        reply = chat.send(None, "Anybody?")
        assert (reply.valid, reply.text) == (False, "")
        assert chat.send(reply.state, "Hello?").text == "Hello."
        assert [message.text for message in model.requests[1].messages] == ["Hello?"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_provider_may_report_no_usage(talker: Talkers, dialect: str) -> None:
    """A.mistake.no_usage: where no figures are given there are none, and all else goes on."""
    desk = Desk()
    told: list[Any] = []
    answers = [say(calls=[call("book")], usage=None), say("Booked.", usage=None)]
    chat = talker(ScriptedModel(*answers, dialect=dialect), tools=[desk.book])
    reply = chat.send(None, "Book", observers=[told.append])
    assert (reply.text, reply.usages, reply.usage.total_tokens) == ("Booked.", (), 0)
    assert [each.usage for each in told if hasattr(each, "finish")] == [None, None]
    assert chat.load(bytes(reply.state)).tokens is None
