"""What weakincentives promises of conversations that survive their process, kept here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hansard import (
    Chat,
    Checkpoint,
    ConversationState,
    ConversationStateMismatch,
    FileCheckpointHandler,
    ReducerFailed,
    Snapshot,
    SnapshotRestoreError,
    StoreCheckpointHandler,
    ToolIdempotencyError,
    Unreachable,
    append_all,
    enable_conversation_recording,
    open_store,
    upsert_by,
)
from hansard.neutral import ConversationMessage, ConversationTurn, ToolCallRecord
from hansard.record.entries import SliceEvent
from hansard.stores.memory import MemoryStore
from hansard.testing import ScriptedModel, forever, unreachable
from tests.support.holders import Holders
from tests.support.jobs import SCRIPT, Died, Effects, Job, Review, Reviews, answering
from tests.support.talkers import KINDS
from tests.support.wired import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.talkers import Kind

JOB = Job("42")


@dataclass(frozen=True)
class Plan:
    step: str
    done: bool = False


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def holders(kind: Kind) -> Iterator[Holders]:
    made = Holders(kind)
    yield made
    made.close()


@pytest.fixture(params=["files", "store"])
def handlers(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Give what makes a handler, each time as another process would have it."""
    if request.param == "files":
        return lambda: FileCheckpointHandler(tmp_path / "checkpoints")
    store = MemoryStore()
    return lambda: StoreCheckpointHandler(store)


def reviewed(dialect: str = "openai") -> tuple[Reviews, Any]:
    """Do a job, and give its session."""
    reviews = Reviews("blocking", answering(dialect), Effects())
    session = reviews.chat.session()
    reviews.evaluate(reviews.loop.create_prompt(JOB), session=session)
    return reviews, session


# -- the records ------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_records_are_frozen_and_have_all_their_fields(dialect: str) -> None:
    """D.records: a state has turns numbered from 1, each an answer and its tool messages."""
    _, session = reviewed(dialect)
    state = session[ConversationState].latest()
    assert (state.prompt_ns, state.prompt_key) == ("reviews", "code")
    assert state.evaluation_id
    assert state.system_message.role == "system"
    assert [turn.turn_number for turn in state.turns] == [1, 2, 3]
    first = state.turns[0]
    assert isinstance(first, ConversationTurn)
    assert first.provider_payload is not None
    assert first.provider_payload["dialect"] == dialect
    assert first.evaluation_id
    answer = first.assistant_message
    assert isinstance(answer, ConversationMessage)
    assert (answer.role, answer.content) == ("assistant", "Let me look.")
    assert [call.name for call in answer.tool_calls] == ["inspect_file", "inspect_file"]
    call = answer.tool_calls[0]
    assert isinstance(call, ToolCallRecord)
    assert msgspec.json.decode(call.arguments) == {"path": "a"}
    told = first.tool_messages[0]
    assert (told.role, told.tool_call_id, told.name) == ("tool", call.call_id, "inspect_file")
    assert told.content == "a is fine"
    assert all(one.created_at.tzinfo is UTC for one in (state, first, answer, told))
    assert len({answer.message_id, told.message_id, state.state_id}) == 3
    records: tuple[Any, ...] = (state, first, answer, call)
    for record in records:
        with pytest.raises(AttributeError):
            record.role = "user"


def test_there_is_one_state_and_the_latest_takes_the_place_of_the_one_before(
    holders: Holders,
) -> None:
    """D.one_state: there is one conversation state a session, and it is the latest."""
    session = holders()
    assert session[ConversationState].all() == ()
    for number in (1, 2, 3):
        session.send("More?")
        [state] = session[ConversationState].all()
        assert state == session[ConversationState].latest()
        assert len(state.turns) == number


def test_each_turn_is_recorded_when_it_happens_and_nothing_is_written_again(
    holders: Holders,
) -> None:
    """D.incremental: what is on the record stays; a turn only adds to it."""
    session = holders()
    logs = []
    for _ in range(3):
        session.send("More?")
        logs.append(session.log())
    for before, after in pairwise(logs):
        assert after[: len(before)] == before
        assert len(after) > len(before)


# -- snapshots --------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_snapshot_has_all_that_resuming_needs(kind: Kind, dialect: str) -> None:
    """D.snapshot_complete: it round-trips through JSON, and a job goes on from it alone."""
    kept: list[str] = []
    effects = Effects(dies_in="b")
    with pytest.raises(Died):
        Reviews(kind, answering(dialect), effects, Keeping(kept)).execute(JOB)
    snapshot = Snapshot.from_json(kept[-1])
    assert Snapshot.from_json(snapshot.to_json()) == snapshot
    assert snapshot.to_json() == kept[-1]
    reviews = Reviews(kind, answering(dialect), effects, Keeping([kept[-1]]))
    assert reviews.execute(JOB).output == Review("good")
    assert effects.paths == ["a", "b", "b", "c"]


class Keeping:
    """A handler that keeps text."""

    def __init__(self, kept: list[str]) -> None:
        self.kept = kept

    def load(self, request: Job, /) -> Checkpoint | None:
        del request
        return Checkpoint(Snapshot.from_json(self.kept[-1])) if self.kept else None

    def save(self, request: Job, snapshot: Snapshot, /) -> None:
        del request
        self.kept.append(snapshot.to_json())

    def clear(self, request: Job, /) -> None:
        del request
        self.kept.clear()


# -- resuming ---------------------------------------------------------------------------------


def test_without_resuming_nothing_changes(kind: Kind) -> None:
    """D.opt_in: who asks for nothing gets a fresh evaluation, with or without a past."""
    model = ScriptedModel(forever('{"verdict":"good"}'))
    reviews = Reviews(kind, model, Effects())
    session = reviews.chat.session()
    prompt = reviews.loop.create_prompt(JOB)
    for number in (1, 2):
        assert reviews.evaluate(prompt, session=session).output == Review("good")
        assert len(model.requests) == number
    assert reviews.execute(JOB).output == Review("good")
    assert [m.text for m in model.requests[-1].messages] == ["Review this: x = 1"]


def test_the_prompt_must_be_the_same(kind: Kind, handlers: Callable[[], Any]) -> None:
    """D.identity: another namespace or key is no prompt to resume with, and nobody is asked."""
    with pytest.raises(Died):
        Reviews(kind, answering(), Effects(dies_in="b"), handlers()).execute(JOB)
    for changes in ({"ns": "other"}, {"key": "other"}):
        model = ScriptedModel()
        with pytest.raises(ConversationStateMismatch):
            Reviews(kind, model, Effects(), handlers(), changes=changes).execute(JOB)
        assert model.requests == []
    assert Reviews(kind, answering(), Effects(), handlers()).execute(JOB).output == Review("good")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_history_is_rebuilt_in_order(kind: Kind, dialect: str) -> None:
    """D.rebuilt_history: system, then for each turn the answer, calls if any, and its results."""
    _, session = reviewed(dialect)
    state = ConversationState.from_json(session[ConversationState].latest().to_json())
    model = ScriptedModel('{"verdict":"again"}', dialect=dialect)
    reviews = Reviews(kind, model, Effects())
    resumed = reviews.chat.session()
    reviews.evaluate(reviews.loop.create_prompt(JOB), session=resumed, resume_from=state)
    reviews.wait(resumed.send("Again?", system="You are kind."))
    [request] = model.requests
    assert request.system == "You are kind."
    said = [message for message in request.messages if message.text]
    assert [m.text for m in said if m.role in ("user", "assistant")] == [
        "Review this: x = 1", "Let me look.", '{"verdict":"good"}', "Again?",
    ]  # fmt: skip
    calls = [call.id for message in request.messages for call in message.tool_calls]
    results = [each.call_id for message in request.messages for each in message.tool_results]
    assert len(calls) == len(results) == 3
    assert calls == results


def test_the_next_thing_is_a_request_to_the_provider(kind: Kind) -> None:
    """D.next_action: with all results there, the provider is asked, and nothing before that."""
    with_handler: list[str] = []
    model = ScriptedModel(SCRIPT[0], unreachable())
    with pytest.raises(Unreachable):
        Reviews(kind, model, Effects(), Keeping(with_handler)).execute(JOB)
    state = Snapshot.from_json(with_handler[-1]).state()
    assert state is not None
    effects = Effects()
    model = ScriptedModel('{"verdict":"good"}')
    reviews = Reviews(kind, model, effects)
    reviews.evaluate(reviews.loop.create_prompt(JOB), resume_from=state)
    assert effects.runs == []
    assert [result.text for result in model.requests[0].results] == ["a is fine", "b is fine"]


# -- checkpoints ------------------------------------------------------------------------------


def test_a_handler_loads_saves_and_clears(handlers: Callable[[], Any]) -> None:
    """D.handler: what was saved last is loaded, if anything was; clearing may be repeated."""
    assert handlers().load("job") is None
    session = Chat(ScriptedModel(forever("Yes."))).session()
    for _ in range(2):
        session.send("More?")
        handlers().save("job", session.snapshot())
    found = handlers().load("job")
    assert isinstance(found, Checkpoint)
    assert found.snapshot.revision == session.snapshot().revision
    for _ in range(2):
        handlers().clear("job")
        assert handlers().load("job") is None


def test_a_checkpoint_is_saved_each_turn_and_cleared_after_success_alone(kind: Kind) -> None:
    """D.clear_after_success: each turn is saved; a failure leaves what was saved."""
    kept: list[str] = []
    failing = ScriptedModel(*SCRIPT[:2], unreachable())
    with pytest.raises(Unreachable):
        Reviews(kind, failing, Effects(), Keeping(kept)).execute(JOB)
    states = [Snapshot.from_json(text).state() for text in kept]
    assert {len(state.turns) for state in states if state} >= {0, 1, 2}
    assert Reviews(kind, answering(), Effects(), Keeping(kept)).execute(JOB).output
    assert kept == []


def test_finished_tools_answer_from_the_record_and_the_others_run(
    kind: Kind, handlers: Callable[[], Any]
) -> None:
    """D.partial_turn: by call id; and a tool can see that it runs in a resumption."""
    effects = Effects(dies_in="b")
    with pytest.raises(Died):
        Reviews(kind, answering(), effects, handlers()).execute(JOB)
    model = answering()
    Reviews(kind, model, effects, handlers()).execute(JOB)
    seen = [(path, is_resume) for path, _, is_resume in effects.runs]
    assert seen == [("a", False), ("b", False), ("b", True), ("c", False)]
    asked = model.requests[0]
    calls = [call.id for message in asked.messages for call in message.tool_calls]
    assert [result.call_id for result in asked.results] == calls


def test_each_error_says_by_its_type_what_to_do(kind: Kind, tmp_path: Path) -> None:
    """D.errors: another prompt and a broken snapshot: clear, restart; a call in doubt: a person."""
    handler = FileCheckpointHandler[Job](tmp_path)
    with pytest.raises(Died):
        Reviews(kind, answering(), Effects(policy="once", dies_in="b"), handler).execute(JOB)
    reviews = Reviews(kind, answering(), Effects(policy="once"), handler)
    with pytest.raises(ToolIdempotencyError, match="settle") as caught:
        reviews.execute(JOB)
    assert [call.parsed for call in caught.value.calls] == [{"path": "b"}]
    for broken in ("{", "{}", handler.path(JOB).read_text().replace("inspect_file", "other")):
        handler.path(JOB).write_text(broken)
        with pytest.raises(SnapshotRestoreError, match="begin again"):
            Reviews(kind, ScriptedModel(), Effects(), handler).execute(JOB)
    assert issubclass(SnapshotRestoreError, ValueError)
    assert issubclass(ConversationStateMismatch, ValueError)
    handler.clear(JOB)
    assert Reviews(kind, answering(), Effects(), handler).execute(JOB).output == Review("good")


def test_recording_without_checkpoints_is_one_call(holders: Holders) -> None:
    """D.recording: and it is harmless twice, as a session records anyway."""
    session = holders()
    for _ in range(2):
        enable_conversation_recording(session.held)
    session.send("Hello")
    state = session[ConversationState].latest()
    assert [turn.assistant_message.content for turn in state.turns] == ["Yes."]


# -- what its library does, beyond its text ---------------------------------------------------


def test_what_is_restored_goes_on_with_reducers_of_its_own(holders: Holders) -> None:
    """D.kept.reducers: after restoring, events go through the reducers of the new session."""
    session = holders()
    session.register(Plan, append_all, name="plan")
    session[Plan].append(Plan("a"))
    other = holders(name="other")
    other.register(Plan, upsert_by(lambda plan: plan.step), name="plan")
    other.restore(Snapshot.from_json(session.snapshot().to_json()))
    other[Plan].append(Plan("a", done=True))
    assert other[Plan].all() == (Plan("a", done=True),)


def test_a_reducer_that_raises_is_reported_and_its_slice_unchanged(holders: Holders) -> None:
    """D.kept.reducer_raises: it is an error for who appends, and nothing has changed."""

    def refuse(plans: tuple[Plan, ...], plan: Plan) -> tuple[Plan, ...]:
        if plan.done:
            raise RuntimeError("no")
        return (*plans, plan)

    session = holders()
    session.register(Plan, refuse)
    session[Plan].append(Plan("a"))
    with pytest.raises(ReducerFailed, match="RuntimeError: no"):
        session[Plan].append(Plan("b", done=True))
    assert session[Plan].all() == (Plan("a"),)


def test_a_slice_that_is_not_known_is_kept(holders: Holders) -> None:
    """D.kept.unknown_slice: restoring does not fail for it, and it is in the next snapshot."""
    session = holders()
    session.register(Plan)
    session[Plan].append(Plan("a"))
    other = holders(name="other")
    other.restore(Snapshot.from_json(session.snapshot().to_json()))
    other.send("Hello")
    assert other.snapshot().slices == session.snapshot().slices
    other.register(Plan)
    assert other[Plan].all() == (Plan("a"),)


BROKEN = (
    *("", "null", "[]", "{", '"text"', "1", "{}", '{"version":1}', '{"version":2}', "\ufeff{}"),
    *('{"version":1,"slices":[]}', '{"version":1,"slices":[{}]}', '{"slices":[],"entries":[]}'),
)
CHANGED: tuple[tuple[str, object], ...] = (
    *(("version", 0), ("version", None), ("conversation", 1), ("incarnation", []), ("seq", "x")),
    *(("seq", -1), ("seq", 10**6), ("dialect", None), ("digest", ""), ("slices", None)),
    *(("slices", [1]), ("slices", [{"slice_type": "a"}]), ("entries", {}), ("entries", [{}])),
)


def test_whatever_is_wrong_with_a_snapshot_is_one_error_and_changes_nothing(
    holders: Holders,
) -> None:
    """D.kept.malformed: two dozen shapes of what is no snapshot, and one type of error."""
    session = holders()
    session.send("Hello")
    good = msgspec.json.decode(session.snapshot().to_json())
    changed = [msgspec.json.encode({**good, name: value}).decode() for name, value in CHANGED]
    log = session.log()
    for text in (*BROKEN, *changed):
        with pytest.raises(SnapshotRestoreError):
            session.restore(Snapshot.from_json(text))
    assert len(BROKEN) + len(changed) > 24
    assert session.log() == log


class Count(msgspec.Struct, frozen=True):
    number: int


def total(counts: tuple[Count, ...], one: Count) -> tuple[Count, ...]:
    return (Count(sum(count.number for count in counts) + one.number),)


def test_concurrent_writers_never_lose_an_update() -> None:
    """D.kept.concurrent: four writers and fifty increments each are two hundred."""
    from threading import Thread

    store = MemoryStore()
    chat = Chat(ScriptedModel())

    def work() -> None:
        session = chat.session(store, "c")
        session.register(Count, total)
        for _ in range(50):
            session[Count].append(Count(1))

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    session = chat.session(store, "c")
    session.register(Count, total)
    assert session[Count].latest() == Count(200)


def test_a_snapshot_imports_nothing_that_it_names() -> None:
    """D.kept.no_import: types in it are names, whatever module they point to."""
    import sys

    session = Chat(ScriptedModel()).session()
    session.register(Plan, name="antigravity:Plan")
    session[Plan].append(Plan("a"))
    text = session.snapshot().to_json()
    assert "antigravity" in text
    other = Chat(ScriptedModel()).session()
    other.restore(Snapshot.from_json(text))
    assert "antigravity" not in sys.modules
    [event] = other.log()
    assert isinstance(event, SliceEvent)


def test_a_torn_last_line_never_breaks_a_read(tmp_path: Path) -> None:
    """D.kept.torn_line: a log whose last line a crash cut off opens without that line."""
    chat = Chat(ScriptedModel(forever("Yes.")))
    with open_store(f"file://{tmp_path}/log") as store:
        session = chat.session(store, "c")
        session.register(Plan)
        session[Plan].append(Plan("a"))
        session.send("Hello")
        count = len(session.log())
        session[Plan].append(Plan("b"))
    [path] = [
        each
        for each in (tmp_path / "log").rglob("*")
        if each.is_file() and b"Hello" in each.read_bytes()
    ]
    path.write_bytes(path.read_bytes()[:-9])
    with open_store(f"file://{tmp_path}/log") as store:
        session = chat.session(store, "c")
        session.register(Plan)
        assert session[Plan].all() == (Plan("a"),)
        assert len(session.log()) == count
        session[Plan].append(Plan("c"))
        assert session[Plan].all() == (Plan("a"), Plan("c"))
