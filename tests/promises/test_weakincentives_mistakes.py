"""Where the text of weakincentives contradicts itself or stops short, and what was decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    Chat,
    ConversationState,
    ConversationStateMismatch,
    FileCheckpointHandler,
    Snapshot,
    StoreCheckpointHandler,
    tool,
)
from hansard.stores.memory import MemoryStore
from hansard.testing import ScriptedModel, call, forever, say
from tests.support.jobs import SCRIPT, Died, Effects, Job, Mortal, Review, Reviews, answering
from tests.support.talkers import KINDS
from tests.support.wired import DIALECTS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.talkers import Kind

JOB = Job("42")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_answer_is_stored_before_its_calls_run(
    kind: Kind, dialect: str, tmp_path: Path
) -> None:
    """D.mistake.answer_lost: nobody is asked again, so ids stay, and nothing runs twice."""
    effects = Effects(dies_in="a")
    handler = FileCheckpointHandler[Job](tmp_path)
    with pytest.raises(Died):
        Reviews(kind, answering(dialect), effects, handler).execute(JOB)
    model = answering(dialect)
    handler = FileCheckpointHandler[Job](tmp_path)
    assert Reviews(kind, model, effects, handler).execute(JOB).output == Review("good")
    assert len(model.requests) == 2  # The first of three answers was there.
    assert effects.paths == ["a", "a", "b", "c"]
    assert effects.runs[0][1] == effects.runs[1][1]
    assert len(effects.keys) == 3


def test_a_turn_is_appended_and_nothing_is_written_again() -> None:
    """D.mistake.rewrites: a turn late in a long conversation writes no more than the first."""

    class Weighing(MemoryStore):
        written: list[int] = []  # noqa: RUF012 - of one test

        def append(self, conversation: str, page: Any, *given: Any, **options: Any) -> Any:
            self.written.append(page.size)
            return super().append(conversation, page, *given, **options)

    store = Weighing()
    session = Chat(ScriptedModel(forever("Yes."))).session(store, "c")
    for _ in range(50):
        session.send("More?")
    first, last = sum(store.written[:2]), sum(store.written[-2:])
    assert last < first * 1.5


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_the_user_said_has_its_place(dialect: str) -> None:
    """D.mistake.no_user_messages: each turn has what was said to the model before its answer."""
    model = ScriptedModel("One.", "Two.", dialect=dialect)
    session = Chat(model).session()
    session.send("1?")
    session.append("By the way.")
    session.send("2?")
    session.append("And another thing.")
    state = session[ConversationState].latest()
    assert state is not None
    said = [[message.content for message in turn.input_messages] for turn in state.turns]
    assert said == [["1?"], ["By the way.", "2?"]]
    assert [message.content for message in state.input_messages] == ["And another thing."]


def test_a_changed_prompt_is_noticed_under_the_same_name(kind: Kind, tmp_path: Path) -> None:
    """D.mistake.changed_prompt: the words and the tools count, and not the name alone."""

    @tool(name="inspect_file")
    def other(path: str, deep: bool = False) -> str:  # noqa: FBT002 - a model calls it
        """Inspect a file."""
        return f"{path} {deep}"

    handler = FileCheckpointHandler[Job](tmp_path)
    with pytest.raises(Died):
        Reviews(kind, answering(), Effects(dies_in="b"), handler).execute(JOB)
    for changes in ({"template": "Look: $diff"}, {"tools": [other]}):
        handler = FileCheckpointHandler[Job](tmp_path)
        with pytest.raises(ConversationStateMismatch, match="on_changed"):
            Reviews(kind, answering(), Effects(), handler, changes=changes).execute(JOB)
        assert handler.path(JOB).exists()
    changed = {"template": "Look: $diff"}
    handler = FileCheckpointHandler[Job](tmp_path)
    reviews = Reviews(kind, answering(), Effects(), handler, changes=changed, on_changed="continue")
    assert reviews.execute(JOB).output == Review("good")


def test_a_job_goes_on_within_its_turn_and_within_its_round(kind: Kind, tmp_path: Path) -> None:
    """D.mistake.whole_turns: wherever the process dies, what has run by then counts."""
    number, found = 0, set()
    while True:
        number += 1
        job = Job(f"{number}")
        effects = Effects(policy="reads")
        handler = FileCheckpointHandler[Job](tmp_path)
        try:
            Reviews(kind, answering(), effects, Mortal(handler, number, after=True)).execute(job)
        except Died:
            before = list(effects.paths)
        else:
            break
        reviews = Reviews(kind, answering(), effects, FileCheckpointHandler[Job](tmp_path))
        assert reviews.execute(job).output == Review("good")
        assert effects.paths == ["a", "b", "c"]
        found.add(len(before))
    assert found == {0, 1, 2, 3}


def test_storage_is_not_left_to_the_caller(tmp_path: Path) -> None:
    """D.mistake.storage: files and stores keep checkpoints, and a session on a store needs none."""
    store = MemoryStore()
    for handler in (FileCheckpointHandler[Job](tmp_path), StoreCheckpointHandler[Job](store)):
        with pytest.raises(Died):
            Reviews("blocking", answering(), Effects(dies_in="b"), handler).execute(JOB)
        assert handler.load(JOB) is not None
    session = Chat(ScriptedModel("Yes.")).session(store, "c")
    session.send("Hello")
    again = Chat(ScriptedModel()).session(store, "c")
    assert [message.text for message in again.history()] == ["Hello", "Yes."]


def test_large_results_do_not_swell_what_is_written() -> None:
    """D.mistake.swollen: a result stands once in a snapshot, and once in a store of checkpoints."""
    large = "All is fine. " * 5_000

    @tool(policy="reads")
    def inspect_file(path: str) -> str:
        """Inspect a file."""
        return f"{path}: {large}"

    sizes: list[int] = []
    texts: list[str] = []

    class Weighing(MemoryStore):
        def append(self, conversation: str, page: Any, *given: Any, **options: Any) -> Any:
            sizes.append(page.size)
            return super().append(conversation, page, *given, **options)

    class Handler(StoreCheckpointHandler[Job]):
        def save(self, request: Job, snapshot: Snapshot, /) -> None:
            texts.append(snapshot.to_json())
            super().save(request, snapshot)

    effects = Effects()
    answers = (say(calls=[call("inspect_file", path="a")]), *SCRIPT[1:])
    changes = {"tools": [inspect_file]}
    handler = Handler(Weighing())
    Reviews("blocking", ScriptedModel(*answers), effects, handler, changes=changes).execute(JOB)
    assert texts[-1].count(f"a: {large}") == 1
    assert len(texts[-1]) < 2.2 * len(large)
    assert len(texts) > 5
    assert sum(sizes) < 4.5 * len(large)  # Two results, each as an outcome and as a message.
