"""A turn id: what it was given once, it gives again, whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard import Chat, Invalid, InvalidTurn, Overloaded, TimedOut, Tool
from hansard.record.entries import TurnBegin
from hansard.testing import ScriptedModel, call, fail, forever, say

if TYPE_CHECKING:
    from hansard.stores.memory import MemoryStore
    from tests.support.sessions import Sessions, Speaker, TroubledStore


def begun(session: Speaker) -> list[str]:
    return [entry.turn_id for entry in session.log() if isinstance(entry, TurnBegin)]


@pytest.mark.parametrize("cold", [False, True])
def test_a_turn_that_is_over_gives_its_reply_again(
    sessions: Sessions, store: MemoryStore, cold: bool
) -> None:
    runs: list[int] = []
    tool = Tool("book", "", {"properties": {}}, lambda: runs.append(1))
    model = ScriptedModel(say(calls=[call("book", id="1")]), "Booked.", "Later.")
    session = sessions(store, model, tools=[tool])
    first = session.send("Book it", turn_id="a")
    session.send("And?", turn_id="b")
    if cold:
        session = sessions(store, model, tools=[tool])
    before = session.revision, store.head("talk")
    again = session.send("Book it", turn_id="a")
    assert (again.text, again.usage) == (first.text, first.usage) == ("Booked.", first.usage)
    assert session.send("And?", turn_id="b").text == "Later."
    with session.stream("Book it", turn_id="a") as stream:
        assert [part.text for part in stream] == []
        assert stream.reply.text == "Booked."
    assert (len(model.requests), len(runs)) == (3, 1)
    assert store.head("talk") == before[1]


def test_a_turn_of_which_a_session_does_not_know_yet_is_found(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel("Zero.", "One.", "Two.")
    behind, other = sessions(store, model), sessions(store, model)
    behind.send("Nought")
    other.send("First", turn_id="a")
    assert behind.send("First", turn_id="a").text == "One."
    assert behind.send("Second", turn_id="b").text == "Two."
    assert other.send("Second", turn_id="b").text == "Two."


def test_a_turn_that_is_at_hand_is_known_whatever_the_index_has_lost(
    sessions: Sessions, troubled: TroubledStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ScriptedModel("One.", fail(503), "Two.")
    session = sessions(troubled, model)
    session.send("First", turn_id="a")
    with pytest.raises(Overloaded):
        session.send("Second", turn_id="b")
    session.abandon()
    monkeypatch.setattr(troubled, "find", lambda *_: None)
    assert session.send("First", turn_id="a").text == "One."
    assert len(model.requests) == 2
    assert session.send("Second", turn_id="b").text == "Two."
    assert session.send("Second", turn_id="b").text == "Two."
    with pytest.raises(InvalidTurn):
        session.send("Other", turn_id="a")


def test_a_turn_id_with_another_input_is_refused(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel("One.")
    sessions(store, model).send("First", turn_id="a")
    with pytest.raises(InvalidTurn) as raised:
        sessions(store, model).send("Another", turn_id="a")
    assert raised.value.conversation == "talk"


def test_an_open_turn_with_another_input_is_refused(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel(fail(503), "One.")
    with pytest.raises(Overloaded):
        sessions(store, model).send("First", turn_id="a")
    with pytest.raises(InvalidTurn):
        sessions(store, model).send("Another", turn_id="a")
    assert sessions(store, model, busy="raise").send("First", turn_id="a").text == "One."


@pytest.mark.parametrize("streamed", [False, True])
def test_a_turn_that_is_not_over_is_resumed(
    sessions: Sessions, store: MemoryStore, streamed: bool
) -> None:
    model = ScriptedModel(fail(503), "One.")
    session = sessions(store, model)
    with pytest.raises(Overloaded):
        session.send("First", turn_id="a")
    if streamed:
        with session.stream("First", turn_id="a") as stream:
            assert stream.finish().text == "One."
    else:
        assert session.send("First", turn_id="a").text == "One."
    assert begun(session) == ["a"]
    assert [message.text for message in session.history()] == ["First", "One."]


def test_a_turn_that_came_to_nothing_can_be_had_anew(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel(fail(503), "One.")
    session = sessions(store, model)
    with pytest.raises(Overloaded):
        session.send("First", turn_id="a")
    session.abandon()
    cold = sessions(store, model)
    assert cold.send("First", turn_id="a").text == "One."
    assert session.send("First", turn_id="a").text == "One."
    assert begun(session) == ["a", "a"]


@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("back", ["rewind", "clear"])
def test_what_was_rewound_is_still_known_by_its_id(
    sessions: Sessions, store: MemoryStore, back: str, cold: bool
) -> None:
    model = ScriptedModel("One.", "Two.", "Three.", "Four.")
    session = sessions(store, model)
    session.send("First", turn_id="a")
    mark = session.mark("here")
    session.send("Second", turn_id="b")
    if back == "rewind":
        session.rewind(mark)
    else:
        session.clear()
    session = sessions(store, model) if cold else session
    assert session.send("Second", turn_id="b").text == "Two."
    assert session.send("First", turn_id="a").text == "One."
    assert session.send("Third").text == "Three."
    kept = ["First", "One."] if back == "rewind" else []
    assert [message.text for message in model.requests[-1].messages] == [*kept, "Third"]
    cold_one = sessions(store, model)
    assert cold_one.send("Second", turn_id="b").text == "Two."
    assert cold_one.send("Last").text == "Four."
    assert [m.text for m in cold_one.history()] == [*kept, "Third", "Three.", "Last", "Four."]


def test_a_fork_knows_the_turns_that_it_shares_and_no_others(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel("One.", "Two.", "Two, otherwise.")
    session = sessions(store, model)
    session.send("First", turn_id="a")
    fork = session.fork("fork")
    session.send("Second", turn_id="b")
    assert fork.send("First", turn_id="a").text == "One."
    assert fork.send("Second", turn_id="b").text == "Two, otherwise."
    assert session.send("Second", turn_id="b").text == "Two."
    assert sessions(store, model, "fork").send("Second", turn_id="b").text == "Two, otherwise."


@pytest.mark.parametrize("shared", [True, False])
def test_a_fork_of_an_earlier_point_does_not_know_what_came_after_it(
    sessions: Sessions, store: MemoryStore, shared: bool
) -> None:
    model = ScriptedModel("One.", "Two.", "Three.", "Otherwise.")
    session = sessions(store, model)
    session.send("First", turn_id="a")
    session.mark("here")
    session.send("Second", turn_id="b")
    if not shared:
        session.rewind("here")
        session.send("Third", turn_id="c")
    fork = session.fork("fork", at="here")
    assert [message.text for message in fork.history()] == ["First", "One."]
    if shared:
        assert fork.send("Second", turn_id="b").text == "Three."
    assert fork.send("First", turn_id="a").text == "One."


def test_a_turn_id_is_of_its_own_conversation(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel("One.", "Other.", "New.")
    sessions(store, model).send("First", turn_id="a")
    assert sessions(store, model, "other").send("First", turn_id="a").text == "Other."
    sessions(store, model).delete()
    assert sessions(store, model).send("First", turn_id="a").text == "New."


def test_stream_without_messages_goes_on_with_an_open_turn(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel(fail(503), "One.")
    session = sessions(store, model)
    with pytest.raises(Overloaded):
        session.send("First")
    with sessions(store, model).stream() as stream:
        assert stream.finish().text == "One."
    with pytest.raises(Invalid, match="something to say"):
        session.send()


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("known", ["nothing", "an open turn", "what was there"])
def test_who_is_overtaken_by_the_same_turn_at_any_moment_does_not_begin_it_again(
    sessions: Sessions, troubled: TroubledStore, known: str, when: str, place: int
) -> None:
    model = ScriptedModel(fail(503), forever("Fine."))
    session = sessions(troubled, model)
    if known != "nothing":
        with pytest.raises(Overloaded):
            session.send("Before")
        if known != "an open turn":
            session.resume()
    calls = 0

    def overtake(_: str) -> None:
        nonlocal calls
        calls += 1
        if calls == place + 1:
            try:
                faster.send("Go", turn_id="a", timeout_s=0.02)
            except TimedOut:  # This one is at work already.
                return

    faster = Chat(model).session(troubled, "talk")
    if known == "nothing":
        with pytest.raises(Overloaded):
            Chat(model).session(troubled, "other").send("Hi")
    setattr(troubled, when, overtake)
    assert session.send("Go", turn_id="a").text == "Fine."
    setattr(troubled, when, lambda _: None)
    assert begun(session).count("a") == 1
    assert [message.text for message in session.history()].count("Go") == 1
