"""Going back, parting ways, and what is known of a conversation beside what is said in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hansard import Chat, Invalid, InvalidTransition, Overloaded, Tool
from hansard.errors import LeaseLost, NoSuchConversation, RevisionConflict
from hansard.stores.store import Metadata
from hansard.testing import ScriptedModel, call, fail, forever, say

if TYPE_CHECKING:
    from hansard.stores.memory import MemoryStore
    from hansard.testing import ScriptedRequest
    from tests.support.sessions import Sessions, Speaker


def echo(request: ScriptedRequest) -> str:
    return f"re {request.text}"


def texts(session: Speaker, *, everything: bool = False) -> list[str]:
    return [message.text for message in session.history(everything=everything)]


def test_a_conversation_goes_back_to_a_mark(sessions: Sessions, store: MemoryStore) -> None:
    session = sessions(store, ScriptedModel(echo))
    session.send("a")
    point = session.mark("here")
    session.send("b")
    sessions(store, ScriptedModel(echo)).rewind("here")
    assert texts(session) == ["a", "re a"]
    session.send("c")
    session.rewind(point)
    assert texts(session) == texts(sessions(store, ScriptedModel(echo))) == ["a", "re a"]
    said = ["a", "re a", "b", "re b", "c", "re c"]
    assert texts(session, everything=True) == said
    assert texts(sessions(store, ScriptedModel(echo)), everything=True) == said


def test_the_last_mark_of_a_name_counts(sessions: Sessions, store: MemoryStore) -> None:
    session = sessions(store, ScriptedModel(echo))
    session.mark("here")
    session.send("a")
    session.mark("here")
    session.send("b")
    session.rewind("here")
    assert texts(session) == ["a", "re a"]


def test_a_mark_that_is_not_there_is_refused_with_those_that_are(
    sessions: Sessions, store: MemoryStore
) -> None:
    session = sessions(store, ScriptedModel(echo))
    session.mark("one")
    session.mark("two")
    with pytest.raises(Invalid, match="'three'; there are: one, two"):
        session.rewind("three")
    with pytest.raises(Invalid, match="'three'; there are: one, two"):
        session.fork("new", at="three")
    with pytest.raises(Invalid):
        session.rewind(99)
    with pytest.raises(Invalid):
        session.fork("new", at=99)
    assert store.head("new") is None


def test_points_are_between_turns_only(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel("Hi.", fail(503), fail(503))
    session = sessions(store, model)
    session.send("a")
    point = session.mark("here")
    with pytest.raises(Overloaded):
        session.send("b")
    for refused in (
        lambda: session.mark("there"),
        lambda: session.rewind(point),
        session.clear,
        lambda: session.fork("new"),
        lambda: session.fork("new", at=point),
    ):
        with pytest.raises(InvalidTransition):
            refused()
    session.abandon()
    with pytest.raises(InvalidTransition):
        session.rewind(point + 2)
    with pytest.raises(InvalidTransition):
        session.fork("new", at=point + 2)


def test_clear_empties_the_history_and_the_log_stays(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel(echo)
    session = sessions(store, model)
    session.send("a")
    length = len(session.log())
    session.clear()
    assert texts(session) == texts(sessions(store, model)) == []
    assert texts(session, everything=True) == ["a", "re a"]
    assert len(session.log()) == length + 1
    session.send("b")
    assert [message.text for message in model.requests[-1].messages] == ["b"]


def test_clearing_what_is_not_there_does_nothing_bad(
    sessions: Sessions, store: MemoryStore
) -> None:
    session = sessions(store, ScriptedModel(echo))
    session.clear()
    session.abandon()
    assert store.head("talk") is None
    assert texts(session) == []
    assert session.log() == session.repairs() == session.pending() == ()


def test_forks_go_their_own_ways(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel(echo)
    session = sessions(store, model)
    session.send("a")
    fork = session.fork("fork")
    assert fork.name == "fork"
    session.send("b")
    fork.send("c")
    assert texts(session) == ["a", "re a", "b", "re b"]
    assert texts(fork) == texts(sessions(store, model, "fork")) == ["a", "re a", "c", "re c"]
    session.delete()
    assert texts(sessions(store, model, "fork")) == ["a", "re a", "c", "re c"]
    assert texts(session) == []


@pytest.mark.parametrize("cold", [False, True])
def test_a_fork_can_part_at_any_point_between_turns(
    sessions: Sessions, store: MemoryStore, cold: bool
) -> None:
    """Whatever was rewound in between, and whatever the fork has to share."""
    model = ScriptedModel(echo)
    session = sessions(store, model)
    points: list[tuple[int, list[str]]] = []
    for text in "abc":
        session.send(text)
        points.append((session.mark(text), texts(session)))
    session.rewind("a")
    points.append((session.mark("back"), texts(session)))
    session.send("d")
    session.append("e")
    points.append((session.mark("end"), texts(session)))
    session.clear()
    points.append((session.mark("cleared"), []))
    session.send("f")
    for at, said in [(0, []), *points]:
        if cold:
            session = sessions(store, model)
        fork = session.fork(f"fork {at}", at=at)
        assert texts(fork) == said
        again = sessions(store, model, f"fork {at}")
        assert texts(again) == said
        again.send("on")
        assert [message.text for message in model.requests[-1].messages] == [*said, "on"]
        assert texts(fork) == [*said, "on", "re on"]
        assert fork.fork(f"fork of {at}").resume().text == "re on"


def test_a_fork_of_nothing_or_onto_something_is_refused(
    sessions: Sessions, store: MemoryStore
) -> None:
    session = sessions(store, ScriptedModel(echo))
    with pytest.raises(Invalid, match="none to fork"):
        session.fork("fork")
    session.send("a")
    session.fork("fork")
    with pytest.raises(RevisionConflict):
        session.fork("fork")
    with pytest.raises(RevisionConflict):
        session.fork("talk")


def test_a_conversation_is_described(sessions: Sessions, store: MemoryStore) -> None:
    session = sessions(store, ScriptedModel(echo))
    assert session.metadata() == Metadata()
    with pytest.raises(NoSuchConversation):
        session.describe(title="Early")
    sessions(store, ScriptedModel(echo), "talk and more").send("b")
    assert session.metadata() == Metadata()
    session.send("a")
    session.describe(title="A talk", user="ann", tags=["x", "y"])
    known = Metadata("A talk", "ann", ("x", "y"))
    assert sessions(store, ScriptedModel(echo)).metadata() == known
    assert session.fork("fork").metadata() == Metadata()
    session.describe(title="Another")
    assert session.metadata() == Metadata("Another")


def test_what_was_deleted_begins_anew(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel(echo)
    session, behind = sessions(store, model), sessions(store, model)
    session.send("a")
    behind.history()
    session.delete()
    session.delete()
    assert store.head("talk") is None
    assert behind.send("b").text == "re b"
    assert texts(session) == texts(behind) == ["b", "re b"]
    assert session.revision is not None


def test_what_others_deleted_and_began_anew_is_read_anew(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel(echo)
    behind = sessions(store, model)
    for text in "abc":
        behind.send(text)
    other = sessions(store, model)
    other.delete()
    other.send("d")
    assert behind.send("e").text == "re e"
    assert texts(behind) == ["d", "re d", "e", "re e"]


@pytest.mark.parametrize("begins_anew", [False, True])
def test_a_conversation_that_is_gone_in_the_middle_of_a_turn_begins_anew(
    sessions: Sessions, store: MemoryStore, begins_anew: bool
) -> None:
    model = ScriptedModel(fail(503), forever("Fine."))
    behind = sessions(store, model)
    with pytest.raises(Overloaded):
        behind.send("a")
    other = sessions(store, model)
    other.delete()
    if begins_anew:
        other.send("b")
    assert behind.send("c").text == "Fine."
    assert texts(behind) == [*(["b", "Fine."] if begins_anew else []), "c", "Fine."]


@pytest.mark.parametrize("begins_anew", [False, True])
def test_a_turn_whose_conversation_is_deleted_under_it_says_so(
    sessions: Sessions, store: MemoryStore, begins_anew: bool
) -> None:
    """And of which conversation that was, as far as it had come."""
    known = []

    def delete() -> None:
        known.append(store.head("talk"))
        store.delete("talk")
        if begins_anew:
            Chat(ScriptedModel("Other.")).session(store, "talk").append("b")

    tools = [Tool("delete", "", {"properties": {}}, delete)]
    model = ScriptedModel(say(calls=[call("delete", id="1")]), forever("Fine."))
    session = sessions(store, model, tools=tools)
    with pytest.raises(LeaseLost, match="deleted") as raised:
        session.send("a")
    [head] = known
    assert head is not None
    assert raised.value.revision == session.revision == head.revision
    assert session.send("c").text == "Fine."
    assert texts(session) == [*(["b"] if begins_anew else []), "c", "Fine."]
