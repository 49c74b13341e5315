"""Several at work on one conversation: who comes first, who waits, and who has lost it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hansard import Chat, Invalid, TimedOut, Tool, ToolContext, ToolIdempotencyError
from hansard.errors import Busy, LeaseLost
from hansard.record.entries import Outcome
from hansard.session.tenure import Tenure
from hansard.testing import ScriptedModel, call, forever, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard import Message
    from hansard.session import Session
    from hansard.stores.memory import MemoryStore
    from hansard.testing import ScriptedRequest
    from tests.support.sessions import Clock, Sessions, Speaker, TroubledStore


def named(run: Callable[..., object], name: str = "act", **options: Any) -> Tool:
    """A tool that takes nothing."""
    return Tool(name, name, {"properties": {}}, run, **options)


def words(message: Message) -> str:
    """What is said in a message, also by a tool."""
    return message.text or " ".join([result.text for result in message.tool_results])


def texts(session: Speaker | Session) -> list[str]:
    return [words(message) for message in session.history()]


def other(store: MemoryStore, *answers: Any, **options: Any) -> Session:
    """Give somebody else's session of the same conversation, who blocks, also under asyncio."""
    told = {name: options.pop(name) for name in ("busy", "lease_s") if name in options}
    return Chat(ScriptedModel(*answers), **options).session(store, "talk", **told)


ACT = say(calls=[call("act", id="1")])


# -- coming first ---------------------------------------------------------------------------------


def test_who_is_behind_says_it_after_what_others_have_said(
    sessions: Sessions, store: MemoryStore
) -> None:
    model = ScriptedModel(forever("Fine."))
    behind = sessions(store, model)
    behind.send("a")
    other(store, "Good.").send("b")
    other(store, "Good.").append("c")
    behind.send("d")
    told = ["a", "Fine.", "b", "Good.", "c", "d"]
    assert [words(message) for message in model.requests[-1].messages] == told
    assert texts(behind) == [*told, "Fine."]
    assert len(model.requests) == 2


@pytest.mark.parametrize("method", ["append", "mark", "history", "pending", "abandon", "clear"])
def test_who_is_behind_sees_what_others_have_done(
    sessions: Sessions, store: MemoryStore, method: str
) -> None:
    behind = sessions(store, ScriptedModel(forever("Fine.")))
    behind.send("a")
    for _ in range(3):
        other(store, "Good.").send("b")
    getattr(behind, method)(*(["x"] if method in ("append", "mark") else []))
    said = ["a", "Fine.", *["b", "Good."] * 3]
    after = {"append": [*said, "x"], "clear": []}.get(method, said)
    assert texts(behind) == texts(sessions(store, ScriptedModel("Hi"))) == after


def test_a_rewind_by_others_is_followed(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel(forever("Fine."))
    cold = sessions(store, model)
    cold.send("a")
    point = cold.mark("here")
    cold.send("b")
    behind = sessions(store, model)
    assert texts(behind) == ["a", "Fine.", "b", "Fine."]
    other(store, "Hi").rewind(point)
    assert texts(behind) == ["a", "Fine."]
    behind.send("c")
    assert texts(cold) == ["a", "Fine.", "c", "Fine."]


# -- what is appended in the middle of a turn -----------------------------------------------------


def test_what_others_append_while_a_tool_runs_comes_after_its_result(
    sessions: Sessions, store: MemoryStore
) -> None:
    keys: list[str] = []

    def act(context: ToolContext) -> str:
        keys.append(context.idempotency_key)
        other(store, "Hi").append("By the way.")
        return "done"

    model = ScriptedModel(ACT, "Fine.")
    session = sessions(store, model, tools=[named(act)])
    assert session.send("Go").text == "Fine."
    assert len(keys) == 1
    assert [words(message) for message in model.requests[-1].messages] == [
        "Go",
        "",
        "done",
        "By the way.",
    ]
    assert texts(session) == texts(sessions(store, model))
    assert [entry.seq for entry in session.log()] == list(range(len(session.log())))


def test_what_others_append_while_the_model_answers_comes_before_the_answer(
    sessions: Sessions, store: MemoryStore
) -> None:
    def answer(request: ScriptedRequest) -> Any:
        other(store, "Hi").append(f"Meanwhile {request.number}.")
        return ACT if request.number == 1 else f"Answer {request.number}."

    keys: list[str] = []

    def act(context: ToolContext) -> str:
        keys.append(context.idempotency_key)
        return "done"

    model = ScriptedModel(answer)
    session = sessions(store, model, tools=[named(act)])
    session.send("Go")
    session.send("On")
    told = ["Go", "Meanwhile 1.", "", "done", "Meanwhile 2.", "Answer 2.", "On", "Meanwhile 3."]
    assert texts(session) == texts(sessions(store, model)) == [*told, "Answer 3."]
    assert len(keys) == 1


def test_a_call_keeps_its_key_when_its_answer_is_moved(
    sessions: Sessions, store: MemoryStore
) -> None:
    keys: list[str] = []

    class Gone(KeyboardInterrupt):
        pass

    def act(context: ToolContext) -> str:
        keys.append(context.idempotency_key)
        if len(keys) == 1:
            raise Gone
        return "done"

    def answer(request: ScriptedRequest) -> Any:
        if request.number == 1:
            other(store, "Hi").append("Meanwhile.")
            return ACT
        return "Fine."

    model = ScriptedModel(answer)
    tools = [named(act, policy="keyed")]
    alone = Chat(model, tools=tools).session(store, "talk")
    with pytest.raises(Gone):
        alone.send("Go")
    assert sessions(store, model, tools=tools).resume().text == "Fine."
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_the_model_sees_what_came_while_its_request_was_made(
    sessions: Sessions, troubled: TroubledStore
) -> None:
    def say_something(name: str) -> None:
        if name == "append" and troubled.calls["append"] == 3:
            other(troubled, "Hi").append("Wait!")

    model = ScriptedModel(ACT, "Fine.")
    session = sessions(troubled, model, tools=[named(lambda: "done")])
    troubled.before = say_something
    session.send("Go")
    told = [words(message) for message in model.requests[-1].messages]
    assert told == ["Go", "", "done", "Wait!"]
    assert texts(session) == [*told, "Fine."]


def test_a_tool_can_append_to_its_own_conversation(sessions: Sessions, store: MemoryStore) -> None:
    def act(context: ToolContext) -> str:
        assert context.session is session.session
        if sessions.kind == "blocking":
            session.append("Noted.")
        return "done"

    async def act_later(context: ToolContext) -> str:
        await context.session.append("Noted.")  # type: ignore[attr-defined]
        return "done"

    model = ScriptedModel(ACT, "Fine.")
    run = act if sessions.kind == "blocking" else act_later
    session = sessions(store, model, tools=[named(run)])
    assert session.send("Go").text == "Fine."
    assert texts(session) == ["Go", "", "done", "Noted.", "Fine."]


def test_tools_of_one_round_can_append_at_the_same_time(store: MemoryStore) -> None:
    """Whatever comes of the race, everything is on the record once."""
    both = threading.Barrier(8)

    def act(context: ToolContext) -> str:
        both.wait()
        for number in range(10):
            context.session.append(f"{context.call_id} {number}")  # type: ignore[attr-defined]
        return context.call_id

    calls = [call("act", id=f"c{number}") for number in range(8)]
    chat = Chat(ScriptedModel(say(calls=calls), "Fine."), tools=[named(act)])
    session = chat.session(store, "talk")
    assert session.send("Go").text == "Fine."
    said = texts(session)
    assert sorted(said[-81:-1]) == sorted([f"c{a} {b}" for a in range(8) for b in range(10)])
    assert texts(chat.session(store, "talk")) == said


# -- one at a time --------------------------------------------------------------------------------


def test_who_may_not_wait_is_told_that_somebody_is_at_work(
    sessions: Sessions, store: MemoryStore
) -> None:
    raised: list[Busy] = []
    model = ScriptedModel(forever("Good."))
    known = Chat(model).session(store, "talk", busy="raise")
    known.send("Before")

    def act() -> str:
        for session in (known, Chat(model).session(store, "talk", busy="raise")):
            with pytest.raises(Busy) as busy:
                session.send("Me too")
            raised.append(busy.value)
        return "done"

    session = sessions(store, ScriptedModel(ACT, "Fine."), tools=[named(act)])
    session.send("Go")
    assert [(one.conversation, f":{os.getpid()}:" in one.owner) for one in raised] == [
        ("talk", True)
    ] * 2
    assert len(model.requests) == 1
    known.send("Now")
    assert texts(session)[-2:] == ["Now", "Good."]


def test_who_waits_has_only_so_much_time(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel("Good.")

    def act() -> str:
        with pytest.raises(TimedOut, match="expected nobody at work") as late:
            Chat(model).session(store, "talk").send("Me too", timeout_s=0.03)
        return f"{late.value.conversation}"

    session = sessions(store, ScriptedModel(ACT, "Fine."), tools=[named(act)])
    session.send("Go")
    assert not model.requests
    assert texts(session) == ["Go", "", "talk", "Fine."]


@pytest.mark.parametrize("same", [True, False])
def test_who_waits_goes_on_when_the_other_has_done(
    sessions: Sessions, troubled: TroubledStore, same: bool
) -> None:
    """Whoever has the same to say, by its id, is given what the other was given."""
    waits, at_work = threading.Event(), threading.Event()

    def act() -> str:
        at_work.set()
        assert waits.wait(20)
        return "done"

    def note(name: str) -> None:
        if name == "lease" and threading.current_thread() is thread:
            waits.set()

    def send() -> None:
        at_work.wait(20)
        given = ("Go", "a") if same else ("Me too", "b")
        session = other(troubled, "Mine.", tools=[named(act)])
        replies.append(session.send(given[0], turn_id=given[1]).text)

    replies: list[str] = []
    troubled.before = note
    thread = threading.Thread(target=send)
    thread.start()
    session = sessions(troubled, ScriptedModel(ACT, "Fine."), tools=[named(act)])
    assert session.send("Go", turn_id="a").text == "Fine."
    thread.join(20)
    assert replies == ["Fine." if same else "Mine."]
    said = ["Go", "", "done", "Fine."]
    assert texts(session) == (said if same else [*said, "Me too", "Mine."])


def test_a_session_does_one_turn_at_a_time(sessions: Sessions, store: MemoryStore) -> None:
    def act() -> str:
        if sessions.kind == "blocking":
            with pytest.raises(Invalid, match="in the middle of a turn"):
                session.send("Again")
        return "done"

    session = sessions(store, ScriptedModel(ACT, forever("Fine.")), tools=[named(act)])
    with session.stream("Go") as stream:
        parts = iter(stream)
        next(parts)
        with pytest.raises(Invalid, match="in the middle of a turn"):
            session.send("Meanwhile")
        list(parts)
    session.send("Then")
    assert texts(session) == ["Go", "", "done", "Fine.", "Then", "Fine."]


def test_threads_with_a_session_each_lose_nothing(store: MemoryStore) -> None:
    def work(number: int) -> None:
        session = Chat(ScriptedModel(lambda request: f"re {request.text}")).session(store, "talk")
        for turn in range(8):
            text = f"{number} {turn}"
            replies[text] = session.send(text, turn_id=text).text
            session.append(f"after {text}")

    replies: dict[str, str] = {}
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    sent = {f"{number} {turn}" for number in range(4) for turn in range(8)}
    assert replies == {text: f"re {text}" for text in sent}
    said = texts(other(store, "Hi"))
    expected = [text for one in sent for text in (one, f"re {one}", f"after {one}")]
    assert sorted(said) == sorted(expected)
    for one in sent:
        assert said.index(one) < said.index(f"re {one}") < said.index(f"after {one}")


# -- losing it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["once", "reads"])
def test_who_has_lost_the_lease_cannot_append(
    sessions: Sessions, store: MemoryStore, clock: Clock, policy: Any
) -> None:
    runs: list[bool] = []
    taken: list[str] = []

    def act(context: ToolContext) -> str:
        runs.append(context.is_resume)
        if len(runs) == 1:
            clock.now_s += 100
            second = other(store, "Mine.", tools=tools)
            try:
                taken.append(second.resume().text)
            except ToolIdempotencyError:
                taken.append("in doubt")
        return f"run {len(runs)}"

    tools = [named(act, policy=policy)]
    session = sessions(store, ScriptedModel(ACT, "Fine."), tools=tools)
    if policy == "once":
        with pytest.raises(LeaseLost) as raised:
            session.send("Go")
        assert raised.value.conversation == "talk"
        assert (runs, taken) == ([False], ["in doubt"])
        session.settle("1", "it ran")
        assert session.resume().text == "Fine."
    else:
        with pytest.raises(LeaseLost):
            session.send("Go")
        assert (runs, taken) == ([False, True], ["Mine."])
        assert texts(session) == ["Go", "", "run 2", "Mine."]


def test_a_lease_that_ran_out_is_lost_even_if_nobody_wants_it(
    sessions: Sessions, store: MemoryStore, clock: Clock
) -> None:
    def answer(request: ScriptedRequest) -> str:
        if request.number == 1:
            clock.now_s += 100
        return "Fine."

    model = ScriptedModel(answer)
    session = sessions(store, model)
    with pytest.raises(LeaseLost):
        session.send("Go", turn_id="a")
    assert session.send("Go", turn_id="a").text == "Fine."
    assert texts(session) == ["Go", "Fine."]


@pytest.mark.parametrize("lost", [True, False])
def test_nothing_is_started_by_who_may_have_lost_the_lease_before_that_is_known(
    sessions: Sessions,
    troubled: TroubledStore,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    lost: bool,
) -> None:
    """By its own clock it is always over; the store's clock decides."""
    monkeypatch.setattr(Tenure, "overdue", property(lambda self: self.held))

    def act() -> str:
        clock.now_s += 100 * lost
        return "done"

    model = ScriptedModel(ACT, "Fine.")
    session = sessions(troubled, model, tools=[named(act)])
    if lost:
        with pytest.raises(LeaseLost):
            session.send("Go")
        assert len(model.requests) == 1
    else:
        assert session.send("Go").text == "Fine."
        assert troubled.calls["lease"] >= 3  # Before each request, and before the tool.


@pytest.mark.parametrize("policy", ["once", "reads"])
def test_a_turn_that_others_have_ended_is_over(
    sessions: Sessions, store: MemoryStore, policy: Any
) -> None:
    """What its tool came to is on the log, and nothing more is done."""

    def act() -> str:
        other(store, "Hi").abandon()
        return "done"

    model = ScriptedModel(ACT, "Fine.")
    session = sessions(store, model, tools=[named(act, policy=policy)])
    reply = session.send("Go")
    assert reply.problems == ("abandoned",)
    assert texts(session)[:-1] == ["Go", ""]
    assert isinstance(session.log()[-1], Outcome)
    assert len(model.requests) == 1


@pytest.mark.parametrize("policy", ["once", "reads"])
def test_an_answer_to_a_turn_that_others_have_ended_starts_nothing(
    sessions: Sessions, store: MemoryStore, policy: Any
) -> None:
    def answer(_: ScriptedRequest) -> Any:
        other(store, "Hi").abandon()
        return ACT

    runs: list[int] = []
    model = ScriptedModel(answer)
    session = sessions(store, model, tools=[named(lambda: runs.append(1), policy=policy)])
    with pytest.raises(LeaseLost):
        session.send("Go")
    assert not runs
    assert texts(session) == []


@pytest.mark.parametrize("policy", ["once", "keyed"])
def test_a_call_that_others_deny_before_it_starts_does_not_start(
    sessions: Sessions, store: MemoryStore, policy: Any
) -> None:
    def first() -> str:
        other(store, "Hi").deny("2", reason="Enough.")
        return "done"

    runs: list[int] = []
    tools = [named(first, "first"), named(lambda: runs.append(1), policy=policy)]
    calls = say(calls=[call("first", id="1"), call("act", id="2")])
    model = ScriptedModel(calls, "Fine.")
    session = sessions(store, model, tools=tools, max_concurrent=1)
    if policy == "once":
        with pytest.raises(LeaseLost):
            session.send("Go")
        assert session.resume().text == "Fine."
    else:
        assert session.send("Go").text == "Fine."
    assert "Enough." in texts(session)[-2]
    assert "done" in texts(session)[-3]
    assert not runs


def test_a_call_that_others_have_settled_meanwhile_keeps_their_result(
    sessions: Sessions, store: MemoryStore
) -> None:
    def act() -> str:
        other(store, "Hi").settle("1", "as they say")
        return "done"

    model = ScriptedModel(ACT, "Fine.")
    session = sessions(store, model, tools=[named(act)])
    assert session.send("Go").text == "Fine."
    assert texts(session) == ["Go", "", "as they say", "Fine."]


def test_a_conversation_that_others_delete_in_the_middle_of_a_turn_is_lost(
    sessions: Sessions, store: MemoryStore
) -> None:
    runs: list[int] = []

    def act() -> str:
        runs.append(1)
        other(store, "Hi").delete()
        return "done"

    model = ScriptedModel(ACT, forever("Fine."))
    session = sessions(store, model, tools=[named(act)])
    with pytest.raises(LeaseLost):
        session.send("Go")
    assert len(runs) == 1
    assert store.head("talk") is None
    session.send("Anew")
    assert texts(session) == ["Anew", "Fine."]


# -- keeping it -----------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [None, OSError("no network"), LeaseLost("no")])
def test_a_lease_is_renewed_while_a_tool_runs(
    sessions: Sessions, troubled: TroubledStore, clock: Clock, trouble: Exception | None
) -> None:
    """One renewal that fails changes nothing, if the next comes in time."""
    enough = threading.Event()
    renewals = 0

    def renewed(name: str) -> None:
        nonlocal renewals
        if name != "lease":
            return
        clock.now_s += lease_s * 0.4
        renewals += 1
        if renewals == 2 and trouble is not None:
            raise trouble
        if renewals == 6:
            enough.set()

    def act() -> str:
        troubled.before = renewed
        assert enough.wait(20)
        troubled.before = lambda _: None
        return "done"

    lease_s = 0.03
    session = sessions(troubled, ScriptedModel(ACT, "Fine."), lease_s=lease_s, tools=[named(act)])
    assert session.send("Go").text == "Fine."


def test_who_waits_for_a_person_holds_no_lease(sessions: Sessions, troubled: TroubledStore) -> None:
    model = ScriptedModel(ACT, "Fine.")
    tools = [named(lambda: "done", needs_approval=True)]
    session = sessions(troubled, model, tools=tools)
    assert len(session.send("Go").approvals) == 1
    second = other(troubled, "Mine.", tools=tools, busy="raise")
    second.approve()
    assert second.resume().text == "Mine."


@pytest.fixture
def forked() -> Callable[[Callable[[], bool]], bool]:
    """Give what does something in a fork of this process, and says whether it came true there."""

    def run(check: Callable[[], bool]) -> bool:
        child = os.fork()
        if child == 0:
            came_true = False
            try:
                came_true = check()
            finally:
                os._exit(0 if came_true else 1)
        return os.waitpid(child, 0)[1] == 0

    return run


def test_a_fork_of_the_process_is_somebody_else(
    store: MemoryStore, forked: Callable[[Callable[[], bool]], bool]
) -> None:
    def busy() -> bool:
        with pytest.raises(Busy) as raised:
            session.send("Me too")
        return f":{os.getppid()}:" in raised.value.owner

    def goes_on() -> bool:
        return session.send("Me too").text == "Fine."

    came: list[bool] = []

    def act() -> str:
        came.append(forked(busy))
        return "done"

    chat = Chat(ScriptedModel(ACT, forever("Fine.")), tools=[named(act)])
    session = chat.session(store, "talk", busy="raise")
    assert session.send("Go").text == "Fine."
    assert forked(goes_on)
    assert came == [True]
    assert texts(session)[-1] == "Fine."
