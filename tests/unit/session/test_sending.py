"""Sending in a session: what is kept, what is told, and by whom it can be gone on with."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    AsyncChat,
    Chat,
    Invalid,
    Overloaded,
    PendingCalls,
    Tool,
    ToolContext,
    ToolIdempotencyError,
    event,
    system,
    user,
)
from hansard.record import views
from hansard.record.entries import Outcome, TurnBegin, TurnEnd
from hansard.stores.memory import MemoryStore
from hansard.stores.threads import async_over
from hansard.testing import ScriptedModel, call, fail, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.sessions import Sessions, Speaker, TroubledStore


def named(name: str, run: Callable[..., object] | None = None, **options: Any) -> Tool:
    """A tool that takes nothing."""
    return Tool(name, name, {"properties": {}}, run, **options)


def texts(session: Speaker, *, everything: bool = False) -> list[str]:
    return [message.text for message in session.history(everything=everything)]


def noting(runs: list[int], result: str) -> Callable[[], str]:
    """Make what a tool does: note that it ran, and give a result."""

    def run() -> str:
        runs.append(len(runs))
        return result

    return run


def contents(state: bytes) -> list[str]:
    """Give what is said in a state."""
    record = Chat(ScriptedModel("Hi")).load(state)
    return [message.text for message in views.context(record)]


def results(model: ScriptedModel) -> list[str]:
    """Give what the last request says of the calls."""
    return [result.text for result in model.requests[-1].results]


def test_a_session_goes_on_where_another_stopped(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel("Hello, Ann.", "You are Ann.")
    assert sessions(store, model).send("I am Ann.").text == "Hello, Ann."
    again = sessions(store, model)
    assert again.send("Who am I?").text == "You are Ann."
    assert [message.text for message in model.requests[-1].messages] == [
        "I am Ann.",
        "Hello, Ann.",
        "Who am I?",
    ]
    assert texts(again) == ["I am Ann.", "Hello, Ann.", "Who am I?", "You are Ann."]


def test_a_plain_turn_is_two_appends_and_no_other_call(
    sessions: Sessions, troubled: TroubledStore
) -> None:
    session = sessions(troubled, ScriptedModel("One.", "Two."))
    session.send("First")
    assert troubled.calls == {"read": 1, "append": 2}
    session.send("Second")
    assert troubled.calls == {"read": 1, "append": 4}


def test_a_session_without_a_store_is_kept_in_memory() -> None:
    session = Chat(ScriptedModel("Hello.")).session()
    assert session.send("Hi").text == "Hello."
    assert session.name
    assert session.history()[1].text == "Hello."


def test_leading_system_messages_are_not_stored_and_later_ones_are(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel("Fine.", "Good.")
    session = sessions(store, model)
    session.send(system("Be terse."), user("Hi"), system("It rains."))
    session.send("Go on")
    assert "Be terse." in model.requests[0].system
    assert texts(session) == ["Hi", "It rains.", "Fine.", "Go on", "Good."]


def test_what_was_appended_is_seen_the_next_time(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel("Welcome.")
    session = sessions(store, model)
    session.append(event("Ann has come in."))
    assert not model.requests
    sessions(store, model).send("Hi")
    assert [message.text for message in model.requests[0].messages] == ["Ann has come in.", "Hi"]


def test_a_tool_is_given_the_session(sessions: Sessions, store: MemoryStore) -> None:
    given: list[object] = []

    def look(context: ToolContext) -> str:
        given.append(context.session)
        return "ok"

    model = ScriptedModel(say(calls=[call("look", id="1")]), "Done.")
    session = sessions(store, model, tools=[named("look", look)])
    assert session.send("Go").text == "Done."
    assert given == [session.session]


def test_a_stream_tells_and_keeps_what_send_does(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel("One two three.", "Four.")
    session = sessions(store, model)
    with session.stream("Count") as stream:
        told = "".join([part.text for part in stream])
    assert told == "One two three." == stream.reply.text
    with session.stream("On") as stream:
        assert stream.finish().text == "Four."
    assert texts(sessions(store, model)) == ["Count", "One two three.", "On", "Four."]


def test_a_stream_has_the_state_of_the_conversation_at_any_time(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel("Before.", "One two three.", "After.")
    session = sessions(store, model)
    with session.stream("Early") as stream:
        assert contents(stream.state) == []
        stream.finish()
    with session.stream("Count") as stream:
        parts = iter(stream)
        next(parts)
        assert contents(stream.state) == ["Early", "Before.", "Count"]
        assert len(list(parts)) > 1
        state = stream.state
    assert Chat(model).send(state, "More").text == "After."


def test_a_stream_that_was_left_is_resumed(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel("One two three.", "One two three, again.")
    session = sessions(store, model)
    with session.stream("Count") as stream:
        next(iter(stream))
    with pytest.raises(Invalid, match="was left"):
        _ = stream.reply
    assert sessions(store, model).resume().text == "One two three, again."


def test_a_stream_that_was_left_before_it_began_has_done_nothing(
    sessions: Sessions, troubled: TroubledStore
) -> None:
    session = sessions(troubled, ScriptedModel("One."))
    with session.stream("Count"):
        pass
    assert not troubled.calls


def test_leaving_a_stream_lets_go_of_the_conversation(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel("One two three.", "Again.", "Next.")
    session = sessions(store, model)
    with session.stream("Count") as stream:
        next(iter(stream))
    other = sessions(store, model, busy="raise")
    assert other.send("Other").text == "Next."
    assert texts(other) == ["Count", "Again.", "Other", "Next."]


def test_who_sends_first_finishes_what_was_left_open(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel(fail(503), "First.", "Second.")
    with pytest.raises(Overloaded):
        sessions(store, model).send("One")
    reply = sessions(store, model).send("Two")
    assert reply.text == "Second."
    assert reply.earlier is not None
    assert reply.earlier.text == "First."


def test_resume_without_an_open_turn_gives_the_last_reply_again(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel("Once.")
    sessions(store, model).send("Say it")
    assert sessions(store, model).resume().text == "Once."
    with pytest.raises(Invalid, match="begin with send"):
        sessions(store, model, "another").resume()
    with pytest.raises(Invalid, match="use send"):
        sessions(store, model).resume("And?")


def test_calls_can_be_the_callers(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel(say(calls=[call("look", id="1"), call("look", id="2")]), "Both fine.")
    session = sessions(store, model, tools=[named("look")])
    reply = session.send("Look twice")
    assert [one.id for one in reply.tool_calls] == ["1", "2"] == [c.id for c in session.pending()]
    other = sessions(store, model, tools=[named("look")])
    with pytest.raises(PendingCalls) as raised:
        other.send("Something else")
    assert [one.id for one in raised.value.calls] == ["1", "2"]
    with pytest.raises(Invalid):
        other.send_tool_results([other.pending()[0].answer("a")])
    assert [one.id for one in other.pending()] == ["1", "2"]
    given = [one.answer(f"result {one.id}") for one in other.pending()]
    assert other.send_tool_results(given, "Be brief.").text == "Both fine."
    assert session.pending() == ()
    assert results(model) == ["result 1", "result 2"]


def test_what_is_appended_while_calls_are_pending_comes_after_the_results(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel(say(calls=[call("look", id="1")]), "Fine.")
    session = sessions(store, model, tools=[named("look")])
    reply = session.send("Look")
    sessions(store, model).append("By the way.")
    assert session.send_tool_results([reply.tool_calls[0].answer("seen")]).text == "Fine."
    assert [message.role for message in session.history()] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_calls_wait_for_approval(sessions: Sessions, store: MemoryStore, verdict: str) -> None:
    ran: list[int] = []
    tool = named("pay", noting(ran, "paid"), needs_approval=True)
    model = ScriptedModel(say(calls=[call("pay", id="1")]), "Done.")
    session = sessions(store, model, tools=[tool])
    assert [one.id for one in session.send("Pay").approvals] == ["1"]
    other = sessions(store, model, tools=[tool])
    getattr(other, verdict)(by="Ann", reason="as she likes")
    with pytest.raises(Invalid):
        session.approve("1")
    assert session.resume().text == "Done."
    assert len(ran) == (verdict == "approve")
    assert ("as she likes" in results(model)[0]) == (verdict == "deny")


def doubtful(sessions: Sessions, store: MemoryStore, model: ScriptedModel) -> Speaker:
    """Give a session in which nobody knows whether a call ran."""

    def book() -> object:
        gone.wait()
        return "late"

    gone = threading.Event()
    session = sessions(store, model, tools=[named("book", book, timeout_s=0.01)])
    with pytest.raises(ToolIdempotencyError):
        session.send("Book")
    gone.set()
    return session


@pytest.mark.parametrize("ran", [True, False])
def test_what_became_of_a_call_can_be_settled(
    sessions: Sessions, store: MemoryStore, ran: bool
) -> None:
    model = ScriptedModel(say(calls=[call("book", id="1")]), "Booked.")
    session = doubtful(sessions, store, model)
    with pytest.raises(ToolIdempotencyError):
        session.send("And?")
    again: list[int] = []
    other = sessions(store, model, tools=[named("book", noting(again, "anew"))])
    [pending] = other.pending()
    if ran:
        other.settle(pending, "it is booked", by="Ann")
    else:
        other.settle(pending.id, not_run=True)
    assert other.resume().text == "Booked."
    assert results(model) == (["it is booked"] if ran else ["anew"])
    assert len(again) == (not ran)


def test_a_turn_can_be_abandoned(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel(fail(503), "Fine.")
    session = sessions(store, model)
    with pytest.raises(Overloaded):
        session.send("One")
    sessions(store, model).abandon()
    sessions(store, model).abandon()
    assert session.send("Two").text == "Fine."
    assert texts(session) == ["Two", "Fine."]
    assert texts(session, everything=True) == ["One", "Two", "Fine."]


def test_errors_say_how_far_the_conversation_has_come(
    sessions: Sessions, store: MemoryStore
) -> None:
    session = sessions(store, ScriptedModel(fail(503)), "the talk")
    assert session.revision is None
    with pytest.raises(Overloaded) as raised:
        session.send("One")
    assert raised.value.conversation == "the talk"
    head = store.head("the talk")
    assert head is not None
    assert raised.value.revision == head.revision == session.revision


def test_the_log_has_every_entry_and_repairs_are_told(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel(say(calls=[call("look", id="1")]), "Well.")
    session = sessions(store, model, tools=[named("look")])
    session.send("Look")
    session.abandon()
    log = session.log()
    assert [entry.seq for entry in log] == list(range(len(log)))
    assert isinstance(log[0], TurnBegin)
    assert isinstance(log[-1], TurnEnd)
    assert not [entry for entry in log if isinstance(entry, Outcome)]
    session.append("And?")
    cold = sessions(store, model)
    assert cold.repairs() == session.repairs()
    assert cold.log()[: len(log)] == log


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"busy": "later"}, "'wait' or 'raise'"),
        ({"lease_s": 0}, "above 0"),
        ({"lease_s": float("inf")}, "seconds"),
        ({"lease_s": float("nan")}, "seconds"),
        ({"lease_s": "15"}, "seconds"),
        ({"lease_s": None}, "seconds"),
        ({"name": ""}, "name"),
        ({"name": 7}, "name"),
    ],
)
def test_what_a_session_is_given_is_checked(
    sessions: Sessions, store: MemoryStore, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(Invalid, match=words):
        sessions(store, "openai:gpt-5-mini", **given)


def test_a_session_takes_no_checkpoint(sessions: Sessions, store: MemoryStore) -> None:
    with pytest.raises(Invalid, match="checkpoint"):
        sessions(store, ScriptedModel("Hi")).send("Hi", checkpoint=print)
    assert store.head("talk") is None


def test_a_conversation_of_another_dialect_is_refused(
    sessions: Sessions, store: MemoryStore
) -> None:
    sessions(store, ScriptedModel("Hi", dialect="openai")).send("Hi")
    with pytest.raises(Invalid, match="anthropic"):
        sessions(store, ScriptedModel("Hi", dialect="anthropic")).send("Hi")


def test_sessions_say_what_they_are() -> None:
    assert repr(Chat(ScriptedModel("Hi")).session(name="talk")) == "<Session 'talk'>"
    assert repr(AsyncChat(ScriptedModel("Hi")).session(name="talk")) == "<AsyncSession 'talk'>"


def test_a_store_of_the_other_kind_is_refused_with_what_to_do() -> None:
    model = ScriptedModel("unheard")
    with pytest.raises(Invalid, match="open_async_store"):
        AsyncChat(model).session(MemoryStore(), "talk")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="open_store"):
        Chat(model).session(async_over(MemoryStore()), "talk")  # type: ignore[arg-type]
