"""Loops: jobs that are checkpointed before anything depends on it, and go on in any process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    Chat,
    ConversationState,
    ConversationStateMismatch,
    Invalid,
    InvalidAnswer,
    Loop,
    OutputMismatch,
    PendingCalls,
    Prompt,
    Snapshot,
    SnapshotRestoreError,
    ToolIdempotencyError,
    Unreachable,
    tool,
)
from hansard.stores.memory import MemoryStore
from hansard.stores.threads import AsyncOver
from hansard.testing import ScriptedModel, call, empty, forever, say, unreachable
from tests.support.jobs import (
    SCRIPT,
    Died,
    Effects,
    Job,
    Mortal,
    MortalStore,
    Review,
    Reviews,
    answering,
)
from tests.support.wired import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.talkers import Kind

JOB = Job("42")


def test_a_job_gives_its_output_and_leaves_no_checkpoint(
    kind: Kind, handlers: Callable[[], Any]
) -> None:
    model, effects, handler = ScriptedModel(*SCRIPT), Effects(), handlers()
    response = Reviews(kind, model, effects, handler).execute(JOB)
    assert (response.output, response.text) == (Review("good"), '{"verdict":"good"}')
    assert (response.prompt.namespace, response.prompt.key) == ("reviews", "code")
    assert not response.losses
    assert effects.paths == ["a", "b", "c"]
    assert [(m.role, m.text) for m in model.requests[0].messages] == [
        ("user", "Review this: x = 1")
    ]
    assert model.requests[0].system == "You are kind."
    assert handler.load(JOB) is None


def test_without_a_handler_a_job_is_done_as_well(kind: Kind) -> None:
    assert Reviews(kind, ScriptedModel(*SCRIPT), Effects()).execute(JOB).output == Review("good")


@pytest.mark.parametrize("after", [False, True], ids=["before it is safe", "after"])
@pytest.mark.parametrize("policy", ["reads", "keyed", "once"])
def test_a_job_whose_process_dies_at_any_save_is_finished_by_the_next(
    kind: Kind, handlers: Callable[[], Any], policy: str, after: bool
) -> None:
    number, deaths = 0, 0
    while True:
        number += 1
        job = Job(f"{number}")
        effects = Effects(policy=policy)
        mortal = Mortal(handlers(), number, after=after)
        try:
            Reviews(kind, answering(), effects, mortal).execute(job)
        except Died:
            deaths += 1
        else:
            break
        reviews = Reviews(kind, answering(), effects, handlers())
        try:
            response = reviews.execute(job)
        except ToolIdempotencyError as error:
            assert policy == "once"
            session = reviews.reopen(job)
            for each in error.calls:
                path = each.parsed["path"]
                known = f"{path} is fine" if path in effects.paths else None
                reviews.wait(session.settle(each, known, not_run=known is None))
            reviews.save(job, session)
            response = reviews.execute(job)
        assert response.output == Review("good")
        assert set(effects.paths) == {"a", "b", "c"}
        if policy == "once":
            assert sorted(effects.paths) == ["a", "b", "c"]
        assert len(effects.keys) == 3
        assert handlers().load(job) is None
    assert deaths >= 6


def test_what_has_run_is_not_run_again_and_what_runs_again_knows(
    kind: Kind, handlers: Callable[[], Any]
) -> None:
    effects = Effects(dies_in="b")
    with pytest.raises(Died):
        Reviews(kind, answering(), effects, handlers()).execute(JOB)
    model = answering()
    assert Reviews(kind, model, effects, handlers()).execute(JOB).output == Review("good")
    assert [(path, again) for path, _, again in effects.runs] == [
        ("a", False), ("b", False), ("b", True), ("c", False),
    ]  # fmt: skip
    assert len(effects.keys) == 3
    assert len(model.requests) == 2  # The first answer was on the record.


def test_a_call_in_doubt_is_for_somebody_to_settle(kind: Kind, handlers: Callable[[], Any]) -> None:
    effects = Effects(policy="once", dies_in="b")
    with pytest.raises(Died):
        Reviews(kind, answering(), effects, handlers()).execute(JOB)
    reviews = Reviews(kind, answering(), effects, handlers())
    for _ in range(2):
        with pytest.raises(ToolIdempotencyError):
            reviews.execute(JOB)
    with pytest.raises(ToolIdempotencyError) as caught:
        reviews.execute(JOB)
    [doubtful] = caught.value.calls
    session = reviews.reopen(JOB)
    reviews.wait(session.settle(doubtful, "b is fine, as I saw"))
    reviews.save(JOB, session)
    assert Reviews(kind, answering(), effects, handlers()).execute(JOB).output == Review("good")
    assert effects.paths == ["a", "b", "c"]


def test_a_job_that_waits_for_approval_goes_on_after_it(
    kind: Kind, handlers: Callable[[], Any]
) -> None:
    effects = Effects(needs_approval=True)
    for _ in range(2):
        reviews = Reviews(kind, answering(), effects, handlers())
        with pytest.raises(PendingCalls):
            reviews.execute(JOB)
        session = reviews.reopen(JOB)
        reviews.wait(session.approve(tools=[effects.tool]))
        reviews.save(JOB, session)
    assert Reviews(kind, answering(), effects, handlers()).execute(JOB).output == Review("good")
    assert effects.paths == ["a", "b", "c"]


def test_the_process_may_die_between_the_end_and_the_clearing(
    kind: Kind, handlers: Callable[[], Any]
) -> None:
    class Forgetful(Mortal):
        def clear(self, request: Job, /) -> None:
            del request
            raise Died

    with pytest.raises(Died):
        Reviews(kind, answering(), Effects(), Forgetful(handlers(), 0, after=True)).execute(JOB)
    model = ScriptedModel()
    assert Reviews(kind, model, Effects(), handlers()).execute(JOB).output == Review("good")
    assert model.requests == []
    assert handlers().load(JOB) is None


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ((unreachable(),), Unreachable),
        ((empty(), empty(), empty()), InvalidAnswer),
        (('{"verdict":7}',), OutputMismatch),
    ],
    ids=["unreachable", "invalid", "mismatch"],
)
def test_a_job_that_failed_keeps_its_checkpoint_and_is_tried_again(
    kind: Kind, handlers: Callable[[], Any], answers: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        Reviews(kind, ScriptedModel(*SCRIPT[:2], *answers), Effects(), handlers()).execute(JOB)
    assert handlers().load(JOB) is not None
    effects = Effects()
    model = ScriptedModel('{"verdict":"late"}')
    assert Reviews(kind, model, effects, handlers()).execute(JOB).output == Review("late")
    assert effects.paths == []
    assert handlers().load(JOB) is None


# -- which prompt ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Longer:
    verdict: str
    reason: str = ""


CHANGES: dict[str, dict[str, Any]] = {
    "template": {"template": "Review that: $diff"},
    "system": {"system": "You are strict."},
    "tools": {"tools": [Effects().tool, tool(lambda: "x", name="more")]},
    "output": {"output": Longer},
}


def interrupted(kind: Kind, handler: Any) -> None:
    with pytest.raises(Died):
        Reviews(kind, answering(), Effects(dies_in="b"), handler).execute(JOB)


@pytest.mark.parametrize("change", [*CHANGES])
def test_a_prompt_that_was_changed_is_noticed(
    kind: Kind, handlers: Callable[[], Any], change: str
) -> None:
    interrupted(kind, handlers())
    changes = CHANGES[change]
    with pytest.raises(ConversationStateMismatch, match="have changed") as caught:
        Reviews(kind, answering(), Effects(), handlers(), changes=changes).execute(JOB)
    assert isinstance(caught.value, ValueError)
    assert caught.value.expected != caught.value.found
    assert handlers().load(JOB) is not None
    reviews = Reviews(
        kind, answering(), Effects(), handlers(), changes=changes, on_changed="continue"
    )
    assert reviews.execute(JOB).text == '{"verdict":"good"}'


@pytest.mark.parametrize("changes", [{"ns": "others"}, {"key": "prose"}], ids=["ns", "key"])
def test_another_prompt_is_never_gone_on_with(
    kind: Kind, handlers: Callable[[], Any], changes: dict[str, Any]
) -> None:
    interrupted(kind, handlers())
    model = ScriptedModel()
    reviews = Reviews(kind, model, Effects(), handlers(), changes=changes, on_changed="continue")
    with pytest.raises(ConversationStateMismatch, match="found one of reviews/code"):
        reviews.execute(JOB)
    assert model.requests == []
    handlers().clear(JOB)
    fresh = Reviews(kind, answering(), Effects(), handlers(), changes=changes)
    assert fresh.execute(JOB).output == Review("good")


def test_other_values_are_no_other_prompt(kind: Kind, handlers: Callable[[], Any]) -> None:
    interrupted(kind, handlers())
    model = answering()
    Reviews(kind, model, Effects(), handlers()).execute(Job("42", diff="y = 2"))
    assert model.requests[0].messages[0].text == "Review this: x = 1"


# -- checkpoints of other kinds ----------------------------------------------------------------


def test_a_broken_checkpoint_is_refused_until_it_is_cleared(kind: Kind, tmp_path: Any) -> None:
    from hansard import FileCheckpointHandler

    handler = FileCheckpointHandler[Job](tmp_path)
    handler.path(JOB).write_text('{"version": 1, "slices": []}')
    model = answering()
    with pytest.raises(SnapshotRestoreError):
        Reviews(kind, model, Effects(), handler).execute(JOB)
    assert model.requests == []
    handler.clear(JOB)
    assert Reviews(kind, model, Effects(), handler).execute(JOB).output == Review("good")


def test_a_checkpoint_in_which_nothing_was_said_runs_afresh_with_its_slices(
    kind: Kind, handlers: Callable[[], Any]
) -> None:
    session = Chat(ScriptedModel()).session()
    session.register(Review, name="review")
    session[Review].append(Review("draft"))
    handlers().save(JOB, session.snapshot())
    model = answering()
    response = Reviews(kind, model, Effects(), handlers()).execute(JOB)
    assert response.output == Review("good")
    assert model.requests[0].messages[0].text == "Review this: x = 1"


def test_a_session_on_a_store_survives_without_any_handler(kind: Kind) -> None:
    effects = Effects(dies_in="b")
    store = MortalStore(effects)

    def session(chat: Any) -> Any:
        return chat.session(store if kind == "blocking" else AsyncOver(store), "job-42")

    with pytest.raises(Died):
        Reviews(kind, answering(), effects, session=session).execute(JOB)
    changed = Reviews(kind, answering(), effects, session=session, changes={"key": "prose"})
    with pytest.raises(ConversationStateMismatch):
        changed.execute(JOB)
    reviews = Reviews(kind, answering(), effects, session=session)
    assert reviews.execute(JOB).output == Review("good")
    assert effects.paths == ["a", "b", "b", "c"]
    again = Reviews(kind, ScriptedModel('{"verdict":"new"}'), effects, session=session)
    assert again.execute(JOB).output == Review("new")  # What is done is done: this is another.


def test_a_session_that_came_further_than_its_checkpoint_is_not_taken_back(
    kind: Kind, handlers: Callable[[], Any]
) -> None:
    store = MemoryStore()

    def session(chat: Any) -> Any:
        return chat.session(store if kind == "blocking" else AsyncOver(store), "job-42")

    effects = Effects()
    mortal = Mortal(handlers(), 3, after=False)
    with pytest.raises(Died):
        Reviews(kind, answering(), effects, mortal, session=session).execute(JOB)
    ran = list(effects.paths)
    reviews = Reviews(kind, answering(), effects, handlers(), session=session)
    assert reviews.execute(JOB).output == Review("good")
    assert effects.paths == ["a", "b", "c"]
    assert ran


# -- from a state alone ------------------------------------------------------------------------


def state_of(dialect: str) -> ConversationState:
    handler = _Kept()
    effects = Effects(dies_in="b")
    with pytest.raises(Died):
        Reviews("blocking", answering(dialect), effects, handler).execute(JOB)
    assert handler.snapshot is not None
    state = handler.snapshot.state()
    assert state is not None
    return ConversationState.from_json(state.to_json())


class _Kept:
    snapshot: Snapshot | None = None

    def load(self, request: Job, /) -> None:
        del request

    def save(self, request: Job, snapshot: Snapshot, /) -> None:
        self.snapshot = Snapshot.from_json(snapshot.to_json())
        del request

    def clear(self, request: Job, /) -> None:
        del request


@pytest.mark.parametrize("there", DIALECTS)
@pytest.mark.parametrize("here", DIALECTS)
def test_a_state_of_any_provider_is_resumed_on_any(kind: Kind, here: str, there: str) -> None:
    state = state_of(here)
    effects = Effects()
    model = answering(there)
    reviews = Reviews(kind, model, effects)
    prompt = reviews.loop.create_prompt(JOB)
    response = reviews.evaluate(prompt, resume_from=state)
    assert response.output == Review("good")
    assert effects.paths == ["b", "c"]
    assert [result.text for result in model.requests[0].results] == ["a is fine", "b is fine"]
    if here == there:
        assert not response.losses
    with pytest.raises(ConversationStateMismatch):
        reviews.evaluate(Prompt[str]("reviews", "other", "Hello"), resume_from=state)
    changed = Prompt[str]("reviews", "code", "Hello")
    with pytest.raises(ConversationStateMismatch):
        reviews.evaluate(changed, resume_from=state)
    reviews = Reviews(kind, answering(there), Effects())
    again = reviews.evaluate(prompt, resume_from=state, on_changed="continue")
    assert again.output == Review("good")


def test_a_finished_state_gives_its_reply_and_asks_nobody(kind: Kind) -> None:
    first = Reviews(kind, answering(), Effects())
    session = first.chat.session()
    prompt = first.loop.create_prompt(JOB)
    first.evaluate(prompt, session=session)
    state = first.wait(session[ConversationState].latest())
    model = ScriptedModel(dialect="gemini")
    second = Reviews(kind, model, Effects())
    assert second.evaluate(prompt, resume_from=state).output == Review("good")
    assert model.requests == []


def test_without_resume_from_nothing_is_resumed(kind: Kind) -> None:
    reviews = Reviews(kind, ScriptedModel(forever('{"verdict":"good"}')), Effects())
    session = reviews.chat.session()
    prompt = reviews.loop.create_prompt(JOB)
    for number in (1, 2):
        reviews.evaluate(prompt, session=session)
        state = reviews.wait(session[ConversationState].latest())
        assert len(state.turns) == number


def test_usage_that_was_measured_before_a_conversion_is_not_used_after_it(kind: Kind) -> None:
    state = state_of("openai")
    reviews = Reviews(kind, ScriptedModel(unreachable(), dialect="anthropic"), Effects())
    session = reviews.chat.session()
    with pytest.raises(Unreachable) as caught:
        reviews.evaluate(reviews.loop.create_prompt(JOB), session=session, resume_from=state)
    assert caught.value.state is not None
    assert reviews.chat.load(caught.value.state).tokens is None


# -- making one --------------------------------------------------------------------------------


def test_a_prompt_has_names_and_renders_its_values() -> None:
    prompt = Prompt[str]("ns", "key", "$$5 for $what", {"what": "$tea"})
    assert prompt.render() == "$5 for $tea"
    assert Prompt[str]("ns", "key", "$$5 for $what").render() == "$$5 for $what"
    with pytest.raises(Invalid, match="'what'"):
        Prompt[str]("ns", "key", "$what", {"that": 1}).render()
    for given in (("", "key", "x"), ("ns", "", "x"), ("ns", "key", "")):
        with pytest.raises(Invalid, match="of a prompt as text"):
            Prompt[str](*given)


def test_a_loop_says_what_to_do_with_a_changed_prompt() -> None:
    with pytest.raises(Invalid, match="on_changed="):
        Reviews("blocking", ScriptedModel(), Effects(), on_changed="ignore")
    with pytest.raises(TypeError, match="create_prompt"):
        Loop(Chat(ScriptedModel()))  # type: ignore[abstract]


def test_the_prompt_stands_on_the_record() -> None:
    reviews = Reviews(
        "blocking",
        ScriptedModel(say(calls=[call("inspect_file", path="a")]), *SCRIPT[2:]),
        Effects(),
    )
    session = reviews.chat.session()
    response = reviews.evaluate(reviews.loop.create_prompt(JOB), session=session)
    state = session[ConversationState].latest()
    assert (state.prompt_ns, state.prompt_key) == ("reviews", "code")
    assert state.prompt_digest == response.prompt.digest != ""
