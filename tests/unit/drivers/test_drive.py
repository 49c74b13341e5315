"""A drive: what it asks for, in which order, and what it leaves on the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hansard import tool
from hansard.drivers.acts import Left
from hansard.errors import (
    ContextOverflow,
    Invalid,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
    Unreachable,
)
from hansard.record.entries import INTERRUPTED, Attempt, Said, TurnEnd
from hansard.testing import (
    ScriptedModel,
    call,
    empty,
    fail,
    overflow,
    raw,
    say,
    unreachable,
)
from hansard.tools.tool import Tool
from hansard.turn.effects import Finish, Wait
from tests.unit.drivers.playing import Stage, kinds

if TYPE_CHECKING:
    from hansard.record.record import Record


@tool
def book() -> str:
    """Book."""
    return "booked"


@tool(policy="reads")
def look() -> str:
    """Look."""
    return "a tree"


YOURS = Tool("yours", "Yours.", {"type": "object", "properties": {}})


def calling(*names: str) -> Any:
    return say(calls=[call(name, id=f"{name}_{at}") for at, name in enumerate(names)])


class Stop(BaseException):
    """A cancellation, say."""


# -- the order of acts ----------------------------------------------------------------------------


def test_a_plain_turn_is_committed_before_the_model_is_called_and_once_more_at_its_end() -> None:
    stage = Stage(ScriptedModel("Hi."))
    assert isinstance(stage.play(stage.drive()), Finish)
    assert stage.log == ["Commit turnbegin said", "Call", "Commit answer turnend"]


def test_no_tool_starts_before_the_answer_and_its_intent_are_durable() -> None:
    stage = Stage(ScriptedModel(calling("book"), "Done."), [book])
    stage.play(stage.drive())
    assert stage.log == [
        "Commit turnbegin said",
        "Call",
        "Commit answer intent",
        "StartJobs 1",
        "AwaitJobs",
        "Commit outcome",
        "Call",
        "Commit answer turnend",
    ]


def test_a_call_that_may_run_again_needs_no_intent() -> None:
    stage = Stage(ScriptedModel(calling("look"), "Done."), [look])
    stage.play(stage.drive())
    assert "Commit answer" in stage.log


def test_an_outcome_goes_together_with_the_intent_of_the_call_that_starts_next() -> None:
    stage = Stage(ScriptedModel(calling("book", "book"), "Done."), [book], {"concurrent_max": 1})
    stage.play(stage.drive())
    assert [each for each in stage.log if each.startswith("Commit")] == [
        "Commit turnbegin said",
        "Commit answer intent",
        "Commit outcome intent",
        "Commit outcome",
        "Commit answer turnend",
    ]


def test_calls_that_start_together_are_started_together() -> None:
    stage = Stage(ScriptedModel(calling("book", "look", "book"), "Done."), [book, look])
    stage.play(stage.drive())
    assert "StartJobs 1 2 3" in stage.log
    assert "Commit answer intent intent" in stage.log


def test_what_answers_itself_is_committed_with_the_next_that_has_to_be() -> None:
    stage = Stage(ScriptedModel(calling("nobody"), "Done."))
    stage.play(stage.drive())
    assert stage.log[2] == "Commit answer outcome"


def test_a_turn_that_waits_has_everything_committed_and_says_for_what() -> None:
    stage = Stage(ScriptedModel(calling("look", "yours")), [look, YOURS])
    drive = stage.drive()
    waits = stage.play(drive)
    assert isinstance(waits, Wait)
    assert [one.name for one in waits.waiting_for("result")] == ["yours"]
    assert stage.durable is drive.record is drive.committed


def test_each_commit_has_the_record_that_its_entries_lead_to() -> None:
    stage = Stage(ScriptedModel(calling("book"), "Done."), [book])
    drive = stage.drive()
    stage.play(drive)
    length = 0
    for commit in stage.commits:
        assert list(commit.record.entries(length)) == list(commit.entries)
        length = commit.record.length
    assert length == drive.record.length


def test_a_record_on_which_nothing_is_left_to_do_is_left_as_it_is() -> None:
    stage = Stage(ScriptedModel("Hi."))
    first = stage.drive()
    stage.play(first)
    again = Stage(ScriptedModel())
    assert isinstance(again.play(again.drive(first.record)), Finish)
    assert again.log == []
    assert again.told == []


def test_an_answer_is_asked_for_again_until_it_is_valid() -> None:
    stage = Stage(ScriptedModel(empty(), raw(b"<html>"), "Hi."))
    drive = stage.drive()
    stage.play(drive)
    assert kinds(drive.record)[2:] == ["answer", "attempt", "answer", "turnend"]


# -- what ends it early ---------------------------------------------------------------------------


def entries_of(record: Record, kind: type[Any]) -> list[Any]:
    return [entry for entry in record.entries() if isinstance(entry, kind)]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (fail(429), RateLimited),
        (fail(529), Overloaded),
        (fail(401), NotAuthorized),
        (unreachable(), Unreachable),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_trouble_that_passes_is_on_the_record_and_the_turn_is_open(
    answer: Any, kind: type[ProviderError], stream: bool
) -> None:
    stage = Stage(ScriptedModel(answer), stream=stream)
    with pytest.raises(kind):
        stage.play(stage.drive())
    assert stage.log[-1] == "Commit attempt"
    [attempt] = entries_of(stage.durable, Attempt)
    assert (attempt.error, attempt.answered) == (kind.__name__, False)
    assert stage.durable.phase == "asking"


def test_trouble_that_stays_ends_the_turn() -> None:
    stage = Stage(ScriptedModel(fail(400)))
    with pytest.raises(ProviderError):
        stage.play(stage.drive())
    assert stage.log[-1] == "Commit attempt turnend"
    assert stage.durable.turn is None


def test_a_conversation_that_is_too_long_ends_the_turn() -> None:
    stage = Stage(ScriptedModel(overflow()))
    with pytest.raises(ContextOverflow):
        stage.play(stage.drive())
    [end] = entries_of(stage.durable, TurnEnd)
    assert (end.status, end.error) == ("failed", "ContextOverflow")


def test_a_request_that_nobody_can_make_leaves_nothing_on_the_record() -> None:
    stage = Stage(ScriptedModel(dialect="anthropic"), parameters={"messages": []})
    drive = stage.drive()
    with pytest.raises(Invalid):
        stage.play(drive)
    assert stage.log == []
    assert drive.record is drive.committed
    assert drive.record.length == 0


def test_a_request_that_nobody_can_make_any_more_leaves_what_was_committed_before() -> None:
    stage = Stage(ScriptedModel(calling("look"), dialect="anthropic"), [look])
    drive = stage.drive()

    def spoil(name: str) -> None:
        if name == "StartJobs":
            stage.parameters = {"messages": []}

    stage.interrupt = spoil
    with pytest.raises(Invalid):
        stage.play(drive)
    assert stage.log[-1] == "Commit outcome"
    assert stage.durable is drive.record
    assert kinds(drive.record) == ["turnbegin", "said", "answer", "outcome"]


@pytest.mark.parametrize("act", ["Call", "Open", "Read"])
def test_whatever_stops_a_call_of_the_model_leaves_the_turn_to_be_resumed(act: str) -> None:
    stage = Stage(ScriptedModel("Hi."), stream=act != "Call")
    stage.interrupt = lambda name: Stop() if name == act else None
    drive = stage.drive()
    with pytest.raises(Stop):
        stage.play(drive)
    assert kinds(drive.record) == ["turnbegin", "said"]
    assert stage.durable is drive.record


@pytest.mark.parametrize("error", [Stop(), Left(), Unreachable("lost")])
def test_what_had_come_of_a_stream_is_on_the_record_as_interrupted(error: BaseException) -> None:
    stage = Stage(ScriptedModel("Hello there.", chunk_bytes=120), stream=True)
    reads = iter([None, None, error])
    stage.interrupt = lambda name: next(reads) if name == "Read" else None
    with pytest.raises(type(error)):
        stage.play(stage.drive())
    [answer] = [entry for entry in entries_of(stage.durable, Said) if entry.author == "model"]
    assert INTERRUPTED in answer.problems
    assert answer.cut
    assert stage.durable.phase == "asking"


def test_a_listener_who_leaves_leaves_what_had_come() -> None:
    stage = Stage(ScriptedModel("Hello."), stream=True)
    stage.interrupt = lambda name: Left() if name == "TextDelta" else None
    with pytest.raises(Left):
        stage.play(stage.drive())
    assert kinds(stage.durable)[-1] == "answer"


def test_what_stops_a_drive_while_tools_run_stops_them_and_is_committed() -> None:
    stage = Stage(ScriptedModel(calling("book", "look")), [book, look])
    stage.interrupt = lambda name: Stop() if name == "AwaitJobs" else None
    drive = stage.drive()
    with pytest.raises(Stop):
        stage.play(drive)
    assert stage.log[-2:] == ["StopJobs", "Commit outcome"]
    [outcome] = (drive.record.entry(drive.record.length - 1),)
    assert outcome.status == "unknown"  # type: ignore[union-attr]
    assert stage.durable is drive.record


# -- committing -----------------------------------------------------------------------------------


@pytest.mark.parametrize("which", [1, 2, 3, 4])
def test_what_stops_a_commit_is_not_committed_a_second_time(which: int) -> None:
    """Nobody can tell whether it was carried out."""
    stage = Stage(ScriptedModel(calling("book"), "Done."), [book])
    left = [which]

    def interrupt(name: str) -> BaseException | None:
        left[0] -= name == "Commit"
        return Stop() if name == "Commit" and not left[0] else None

    stage.interrupt = interrupt
    drive = stage.drive()
    with pytest.raises(Stop):
        stage.play(drive)
    assert [name.split()[0] for name in stage.log].count("Commit") == which
    assert stage.log[-1].startswith("Commit")
    assert len(stage.commits) == which - 1


def test_a_commit_in_doubt_is_on_the_record_whole_and_what_was_committed_is_known() -> None:
    stage = Stage(ScriptedModel("Hi."))
    commits = iter([None, Stop()])
    stage.interrupt = lambda name: next(commits) if name == "Commit" else None
    drive = stage.drive()
    with pytest.raises(Stop):
        stage.play(drive)
    assert kinds(drive.committed) == ["turnbegin", "said"]
    assert kinds(drive.record) == ["turnbegin", "said", "answer", "turnend"]
    assert stage.durable is drive.committed


def test_a_drive_that_is_thrown_away_does_nothing_more() -> None:
    stage = Stage(ScriptedModel("Hi."))
    drive = stage.drive()
    acts = drive.run()
    next(acts)
    acts.send(None)
    acts.close()
    assert kinds(drive.record) == ["turnbegin", "said"]


# -- time -----------------------------------------------------------------------------------------


def test_calls_of_the_model_may_take_what_is_left_of_the_time() -> None:
    stage = Stage(ScriptedModel(calling("look"), "Done."), [look], deadline_s=110.0)

    def pass_time(name: str) -> None:
        stage.now_s += 4.0 * (name == "AwaitJobs")

    stage.interrupt = pass_time
    stage.play(stage.drive())
    assert stage.limits == [10.0, 6.0]


def test_without_a_deadline_there_is_no_limit() -> None:
    stage = Stage(ScriptedModel("Hi."))
    stage.play(stage.drive())
    assert stage.limits == [None]


def test_the_model_is_not_called_when_the_time_is_over() -> None:
    stage = Stage(ScriptedModel(), deadline_s=99.0)
    with pytest.raises(TimedOut):
        stage.play(stage.drive())
    assert stage.log == ["Commit turnbegin said"]


def test_a_call_of_the_model_that_ends_with_the_time_has_timed_out() -> None:
    stage = Stage(ScriptedModel(), deadline_s=110.0)

    def late(name: str) -> BaseException | None:
        stage.now_s += 10.0 * (name == "Call")
        return Unreachable("not in time") if name == "Call" else None

    stage.interrupt = late
    with pytest.raises(TimedOut) as error:
        stage.play(stage.drive())
    assert isinstance(error.value.__cause__, Unreachable)
    assert stage.durable.phase == "asking"


def test_no_tool_starts_when_the_time_is_over() -> None:
    stage = Stage(ScriptedModel(calling("book")), [book], deadline_s=110.0)

    def late(name: str) -> None:
        stage.now_s += 10.0 * (name == "Call")

    stage.interrupt = late
    with pytest.raises(TimedOut):
        stage.play(stage.drive())
    assert stage.log == ["Commit turnbegin said", "Call", "Commit answer"]
