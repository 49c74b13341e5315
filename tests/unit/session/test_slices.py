"""Slices: typed state beside a conversation, on its record, through rewinds, forks and crashes."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hansard import AsyncChat, Chat, Invalid, ReducerFailed, ToolContext, tool
from hansard.neutral import ConversationState
from hansard.record.entries import SliceEvent
from hansard.session.reducers import append_all, replace_latest, upsert_by
from hansard.stores.memory import MemoryStore
from hansard.stores.threads import AsyncOver
from hansard.testing import ScriptedModel, call, forever, say
from tests.support.holders import Holders
from tests.support.talkers import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.talkers import Kind


@dataclass(frozen=True)
class Plan:
    step: str
    done: bool = False


class Note(msgspec.Struct, frozen=True):
    text: str


@dataclass(frozen=True)
class Finished:
    step: str


@pytest.fixture(params=KINDS)
def holders(request: pytest.FixtureRequest) -> Iterator[Holders]:
    kind: Kind = request.param
    made = Holders(kind)
    yield made
    made.close()


# -- reducers and queries ---------------------------------------------------------------------


def test_what_is_appended_is_there_in_order_and_can_be_asked_for(holders: Holders) -> None:
    session = holders()
    assert session.register(Plan) is Plan
    plans = session[Plan]
    assert (plans.all(), plans.latest()) == ((), None)
    plans.append(Plan("read"))
    plans.append(Plan("write", done=True))
    assert plans.all() == (Plan("read"), Plan("write", done=True))
    assert plans.latest() == Plan("write", done=True)
    assert plans.where(lambda plan: plan.done) == (Plan("write", done=True),)


def test_the_reducer_says_what_becomes_of_the_items(holders: Holders) -> None:
    session = holders()
    session.register(Plan, upsert_by(lambda plan: plan.step))
    session.register(Note, replace_latest)
    for step, done in (("a", False), ("b", False), ("a", True)):
        session[Plan].append(Plan(step, done))
        session[Note].append(Note(step))
    assert session[Plan].all() == (Plan("a", done=True), Plan("b"))
    assert session[Note].all() == (Note("a"),)


def finish(plans: tuple[Plan, ...], event: Plan | Finished) -> Iterator[Plan]:
    for plan in plans:
        yield Plan(plan.step, done=plan.done or plan.step == event.step)
    if isinstance(event, Plan):
        yield event


def test_a_reducer_of_ones_own_can_take_other_events_too(holders: Holders) -> None:
    session = holders()
    session.register(Plan, finish, events=(Finished,))
    session[Plan].append(Plan("a"))
    session[Plan].append(Plan("b"))
    session[Plan].append(Finished("a"))
    assert session[Plan].all() == (Plan("a", done=True), Plan("b"))


def test_a_seed_takes_the_place_of_everything(holders: Holders) -> None:
    session = holders()
    session.register(Plan)
    session[Plan].append(Plan("old"))
    session[Plan].seed([Plan("a"), Plan("b")])
    session[Plan].append(Plan("c"))
    assert [plan.step for plan in session[Plan].all()] == ["a", "b", "c"]
    session[Plan].clear()
    assert session[Plan].all() == ()


# -- types ------------------------------------------------------------------------------------


def test_only_registered_types_have_a_slice(holders: Holders) -> None:
    session = holders()
    with pytest.raises(Invalid, match=r"session\.register\(Plan\)"):
        session[Plan].all()
    session.register(Plan)
    with pytest.raises(Invalid, match="one of Plan, found Note"):
        session[Plan].append(Note("x"))
    assert session.log() == ()


@pytest.mark.parametrize("kind", [int, dict, "Plan", None])
def test_a_slice_is_of_a_dataclass_or_a_struct(kind: Any) -> None:
    session = Chat(ScriptedModel()).session()
    with pytest.raises(Invalid, match=r"a dataclass or a msgspec\.Struct"):
        session.register(kind)


def test_two_types_cannot_have_one_name() -> None:
    session = Chat(ScriptedModel()).session()
    session.register(Plan, name="it")
    session.register(Plan, replace_latest, name="it")
    with pytest.raises(Invalid, match="name of its own"):
        session.register(Note, name="it")


def test_a_name_outlives_the_place_of_its_type() -> None:
    store = MemoryStore()
    old = Chat(ScriptedModel()).session(store, "c")
    old.register(Plan, name="plan")
    old[Plan].append(Plan("a"))

    @dataclass(frozen=True)
    class Moved:
        step: str
        done: bool = False
        owner: str = "nobody"

    new = Chat(ScriptedModel()).session(store, "c")
    new.register(Moved, name="plan")
    assert new[Moved].all() == (Moved("a"),)


@dataclass(frozen=True)
class Odd:
    what: Any


@pytest.mark.parametrize(
    "what", [object(), {1, object()}, lambda: None], ids=["object", "set", "f"]
)
def test_what_json_cannot_say_is_refused_and_nothing_recorded(what: Any) -> None:
    session = Chat(ScriptedModel()).session()
    session.register(Odd)
    with pytest.raises(Invalid, match="that JSON can say"):
        session[Odd].append(Odd(what))
    assert session.log() == ()


def test_text_is_kept_whatever_is_in_it(holders: Holders) -> None:
    session = holders()
    session.register(Note)
    for text in ("\ud800 half", "🎭 <&>", "\u2028", ""):
        session[Note].append(Note(text))
        assert session[Note].latest() == Note(text)


# -- reducers that raise ----------------------------------------------------------------------


def once(plans: tuple[Plan, ...], plan: Plan) -> tuple[Plan, ...]:
    if any(known.step == plan.step for known in plans):
        raise ValueError(f"{plan.step} is there")
    return (*plans, plan)


def test_a_reducer_that_raises_leaves_its_slice_and_the_record_as_they_were(
    holders: Holders,
) -> None:
    session = holders()
    session.register(Plan, once)
    session[Plan].append(Plan("a"))
    with pytest.raises(ReducerFailed, match="raised ValueError: a is there") as caught:
        session[Plan].append(Plan("a", done=True))
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.item_type.endswith(":Plan")
    assert session[Plan].all() == (Plan("a"),)
    assert len(session.log()) == 1


def test_a_recorded_event_that_a_reducer_does_not_take_is_reported(
    holders: Holders, caplog: pytest.LogCaptureFixture
) -> None:
    before = holders()
    before.register(Plan, append_all, name="plan")
    before[Plan].append(Plan("secret"))
    before[Plan].append(Plan("secret"))
    session = holders()
    session.register(Plan, once, name="plan")
    with caplog.at_level(logging.ERROR, "hansard"):
        assert session[Plan].all() == (Plan("secret"),)
        assert session[Plan].all() == (Plan("secret"),)
    [failure] = session[Plan].failures()
    assert (failure.seq, failure.error, failure.slice_type) == (1, "ValueError", "plan")
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text


def test_an_event_that_cannot_be_read_any_more_is_reported_too() -> None:
    store = MemoryStore()
    old = Chat(ScriptedModel()).session(store, "c")
    old.register(Note, name="it")
    old[Note].append(Note("a"))
    new = Chat(ScriptedModel()).session(store, "c")
    new.register(Plan, name="it")
    assert new[Plan].all() == ()
    [failure] = new[Plan].failures()
    assert failure.error == "DecodeError"


def test_a_reducer_that_gives_something_else_is_one_that_raises() -> None:
    session = Chat(ScriptedModel()).session()
    session.register(Plan, lambda _, plan: [plan.step])
    with pytest.raises(ReducerFailed, match="items of Plan from the reducer, found str"):
        session[Plan].append(Plan("a"))


# -- on the record ----------------------------------------------------------------------------


def test_slices_follow_rewinds_and_forks(holders: Holders) -> None:
    session = holders()
    session.register(Plan)
    session[Plan].append(Plan("a"))
    session.send("One?")
    mark = session.mark("here")
    session[Plan].append(Plan("b"))
    session.send("Two?")
    fork = session.fork("other", at=mark)
    whole = session.fork("whole")
    session.rewind("here")
    assert session[Plan].all() == fork[Plan].all() == (Plan("a"),)
    assert whole[Plan].all() == (Plan("a"), Plan("b"))
    fork[Plan].append(Plan("c"))
    session[Plan].append(Plan("d"))
    assert fork[Plan].all() == (Plan("a"), Plan("c"))
    assert session[Plan].all() == (Plan("a"), Plan("d"))
    session.clear()
    assert session[Plan].all() == ()
    session[Plan].append(Plan("e"))
    again = holders()
    again.register(Plan)
    assert again[Plan].all() == session[Plan].all() == (Plan("e"),)
    assert again.send("Three?").text == "Yes."


def test_a_slice_is_seen_by_whoever_opens_the_conversation(holders: Holders) -> None:
    one, other = holders(), holders()
    for session in (one, other):
        session.register(Plan)
    one[Plan].append(Plan("a"))
    assert other[Plan].all() == (Plan("a"),)
    other.send("Hello")
    other[Plan].append(Plan("b"))
    assert one[Plan].all() == (Plan("a"), Plan("b"))
    assert [message.text for message in one.history()] == ["Hello", "Yes."]


def test_a_slice_that_nobody_registered_is_kept(holders: Holders) -> None:
    writer, reader = holders(), holders()
    writer.register(Plan)
    writer[Plan].append(Plan("a"))
    reader.send("Hello")
    reader.register(Plan)
    assert reader[Plan].all() == (Plan("a"),)


def test_a_conversation_that_was_made_anew_has_empty_slices(holders: Holders) -> None:
    session = holders()
    session.register(Plan)
    session[Plan].append(Plan("a"))
    session.delete()
    assert session[Plan].all() == ()
    session[Plan].append(Plan("b"))
    assert session[Plan].all() == (Plan("b"),)


@tool
async def plan_later(context: ToolContext, step: str) -> str:
    """Plan a step."""
    session: Any = context.session
    await session[Plan].append(Plan(step))
    return "planned"


@tool
def plan_now(context: ToolContext, step: str) -> str:
    """Plan a step."""
    session: Any = context.session
    session[Plan].append(Plan(step))
    assert session[Plan].latest() is not None
    return f"planned after {len(session[ConversationState].latest().turns)} answers"


def test_tools_write_slices_while_their_turn_is_under_way(holders: Holders) -> None:
    mine = plan_now if holders.kind == "blocking" else plan_later
    calls = [call(mine.name, step=str(number)) for number in range(8)]
    model = ScriptedModel(say(calls=calls), "Done.", "Again.")
    session = holders(model, tools=[mine])
    session.register(Plan)
    assert session.send("Plan.").text == "Done."
    assert sorted(plan.step for plan in session[Plan].all()) == [str(n) for n in range(8)]
    assert session.send("And?").text == "Again."
    assert len(model.requests[1].results) == 8


def test_appending_reads_no_message_and_costs_the_same_at_any_length() -> None:
    store = _Counting()
    chat = Chat(ScriptedModel(forever("x" * 100)))
    session = chat.session(store, "c")
    session.register(Plan)
    for number in range(30):
        session.send(f"{number}")
    session[Plan].append(Plan("a"))
    store.asked.clear()
    session[Plan].append(Plan("b"))
    assert session[Plan].all() == (Plan("a"), Plan("b"))
    assert store.asked == ["head", "append", "head"]


class _Counting(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def append(self, *given: Any, **options: Any) -> Any:
        self.asked.append("append")
        return super().append(*given, **options)

    def head(self, conversation: str) -> Any:
        self.asked.append("head")
        return super().head(conversation)

    def pages(self, conversation: str, *, after: int = 0) -> Any:
        self.asked.append("pages")
        return super().pages(conversation, after=after)

    def read(self, conversation: str) -> Any:
        self.asked.append("read")
        return super().read(conversation)


# -- at once ----------------------------------------------------------------------------------


class Count(msgspec.Struct, frozen=True):
    number: int


def add(counts: tuple[Count, ...], one: Count) -> tuple[Count, ...]:
    return (Count(sum(count.number for count in counts) + one.number),)


def test_writers_in_threads_never_lose_an_update() -> None:
    store = MemoryStore()
    chat = Chat(ScriptedModel())
    shared = chat.session(store, "c")
    shared.register(Count, add)

    def work(session: Any) -> None:
        session.register(Count, add)
        for _ in range(25):
            session[Count].append(Count(1))

    sessions = [shared, shared, chat.session(store, "c"), chat.session(store, "c")]
    threads = [threading.Thread(target=work, args=(each,)) for each in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared[Count].latest() == Count(100)


def test_tasks_never_lose_an_update() -> None:
    async def work() -> Count | None:
        store = AsyncOver(MemoryStore())
        chat = AsyncChat(ScriptedModel())
        session, other = chat.session(store, "c"), chat.session(store, "c")
        for each in (session, other):
            each.register(Count, add)
        each_adds = [each[Count].append(Count(1)) for each in (session, other) for _ in range(40)]
        await asyncio.gather(*each_adds)
        return await session[Count].latest()

    assert asyncio.run(work()) == Count(80)


# -- the conversation as a slice --------------------------------------------------------------


def test_the_conversation_is_a_slice_that_nobody_writes(holders: Holders) -> None:
    session = holders(system="Be terse.")
    states = session[ConversationState]
    assert (states.all(), states.latest(), states.failures()) == ((), None, ())
    session.send("Hello")
    state = states.latest()
    assert [state] == [*states.all()]
    assert state.system_message.content == "Be terse."
    assert [turn.assistant_message.content for turn in state.turns] == ["Yes."]
    for write, given in ((states.append, state), (states.seed, [state])):
        with pytest.raises(Invalid, match="read only"):
            write(given)
    with pytest.raises(Invalid, match="always there"):
        session.register(ConversationState)


def test_slice_events_are_entries_among_the_others() -> None:
    session = Chat(ScriptedModel("Yes.")).session()
    session.register(Plan, name="plan")
    session[Plan].append(Plan("a"))
    session[Plan].seed([Plan("b")])
    first, second = session.log()
    assert isinstance(first, SliceEvent)
    assert isinstance(second, SliceEvent)
    assert (bytes(first.item), first.seeds) == (b'{"step":"a","done":false}', False)
    assert (bytes(second.item), second.seeds) == (b'[{"step":"b","done":false}]', True)
