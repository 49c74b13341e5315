"""Tools of a drive: what they are told, how often they run, and what becomes of their calls."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hansard import Media, ToolContext, ToolError, tool
from hansard.drivers.acts import Ended
from hansard.record.entries import Outcome
from hansard.testing import ScriptedModel, call, say
from hansard.tools.tool import Tool
from hansard.turn.effects import Finish, Wait, call_key
from hansard.turn.events import ToolRan
from tests.unit.drivers.driving import PATIENCE_S, Drivers, Gate, wait_for_threads
from tests.unit.drivers.playing import Stage, made, outcomes, staged, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.record.record import Record


def driven(drivers: Drivers, stage: Stage) -> tuple[Wait | Finish, Record]:
    """Carry a drive out by a real driver."""
    drive = stage.drive()
    model = stage.model
    transport = model.blocking() if drivers.kind == "blocking" else model.asyncio()
    ended = drivers.run(drive.run(), transport, stage.commits.append)
    return ended, drive.record


# -- what a tool is told --------------------------------------------------------------------------


def test_a_tool_is_told_which_call_it_answers_and_for_whom() -> None:
    seen: list[ToolContext] = []
    keys: list[str] = []
    session = object()

    def note(context: ToolContext) -> None:
        seen.append(context)
        context.log("noted")

    stage = staged(made("note", note), session=session)
    drive = stage.drive()

    def see(name: str) -> None:
        if name == "StartJobs":
            keys.extend([call_key(drive.record, one) for one in drive.record.pending])

    stage.interrupt = see
    stage.play(drive)
    [context] = seen
    assert (context.call_id, context.tool_name) == ("note_0", "note")
    assert [context.idempotency_key] == keys
    assert context.session is session
    assert stage.actions == ["noted"]
    assert (context.deadline, context.time_left_s()) == (None, None)


@pytest.mark.parametrize(
    ("timeout_s", "deadline_s", "left_s"),
    [
        (None, None, None),
        (5.0, None, 5.0),
        (None, 107.0, 7.0),
        (5.0, 107.0, 5.0),
        (9.0, 107.0, 7.0),
    ],
)
def test_a_tool_may_take_what_it_declares_and_what_the_turn_has_left(
    timeout_s: float | None, deadline_s: float | None, left_s: float | None
) -> None:
    left: list[float | None] = []

    def look(context: ToolContext) -> None:
        left.append(context.time_left_s())

    stage = staged(made("look", look, timeout_s=timeout_s), deadline_s=deadline_s)
    stage.play(stage.drive())
    assert left == stage.job_limits == [left_s]


def test_only_a_run_after_a_crash_is_a_resume() -> None:
    resumes: list[bool] = []

    def look(context: ToolContext) -> None:
        resumes.append(context.is_resume)

    stage = staged(made("look", look, policy="reads"))
    crash = iter([SystemExit("crash")])
    stage.interrupt = lambda name: next(crash, None) if name == "AwaitJobs" else None
    drive = stage.drive()
    with pytest.raises(SystemExit):
        stage.play(drive)
    stage.model = ScriptedModel(say(calls=[call("look", id="another")]), "Done.")
    stage.play(stage.drive(drive.record))
    assert resumes == [True, False]


# -- how often it runs ----------------------------------------------------------------------------


class Flaky:
    """A tool that fails so many times."""

    def __init__(self, times: int, error: Exception) -> None:
        self.keys: list[str] = []
        self._times = times
        self._error = error

    def __call__(self, context: ToolContext) -> str:
        self.keys.append(context.idempotency_key)
        if len(self.keys) <= self._times:
            raise self._error
        return "done"


@pytest.mark.parametrize(
    ("policy", "fails", "runs", "result"),
    [
        ("keyed", (2, OSError("busy")), 3, "done"),
        ("reads", (1, OSError("busy")), 2, "done"),
        ("keyed", (9, OSError("busy")), 3, "OSError: busy"),
        ("keyed", (9, ToolError("closed")), 1, "closed"),
        (None, (9, OSError("busy")), 1, "OSError: busy"),
    ],
)
def test_a_run_that_raised_is_tried_again_unless_it_was_on_purpose_or_runs_once(
    drivers: Drivers, policy: Any, fails: tuple[int, Exception], runs: int, result: str
) -> None:
    flaky = Flaky(*fails)
    stage = staged(made("flaky", flaky.__call__, policy=policy, retries=2))
    driven(drivers, stage)
    assert len(flaky.keys) == runs
    assert len(set(flaky.keys)) == 1
    assert told(stage) == [result]


def test_a_retry_has_only_the_time_that_the_run_before_has_left() -> None:
    def flaky() -> None:
        stage.now_s += 2.0
        raise OSError("busy")

    stage = staged(made("flaky", flaky, policy="keyed", retries=2, timeout_s=5.0))
    stage.play(stage.drive())
    assert stage.job_limits == [5.0, 3.0, 1.0]


def test_async_tools_run_in_both_drivers(drivers: Drivers) -> None:
    async def look() -> str:
        await asyncio.sleep(0)
        return "a tree"

    stage = staged(made("look", look), calls=2)
    driven(drivers, stage)
    assert told(stage) == ["a tree", "a tree"]


def test_each_result_goes_to_its_call_in_whatever_order_they_end(drivers: Drivers) -> None:
    first = Gate("first")

    def see(one: object) -> None:
        if isinstance(one, ToolRan) and one.name == "second":
            first.open.set()

    stage = staged(made("first", first.__call__), made("second", lambda: "second"), tell=see)
    _, record = driven(drivers, stage)
    assert outcomes(record) == [("second_0", "ok"), ("first_0", "ok")]
    assert told(stage) == ["first", "second"]


# -- results --------------------------------------------------------------------------------------


def test_a_result_that_the_dialect_has_no_words_for_is_an_error_result() -> None:
    film = Media("video", "video/mp4", base64="AAAA")
    stage = staged(made("film", lambda: film))
    drive = stage.drive()
    stage.play(drive)
    assert outcomes(drive.record) == [("film_0", "error")]
    assert "has run, but" in told(stage)[0]
    assert "no way to show video here" in told(stage)[0]


def test_how_each_tool_ended_is_told() -> None:
    def ends() -> Iterator[Ended]:
        for end in (
            Ended(1, "returned", "fine"),
            Ended(2, "raised", error=OSError("broken")),
            Ended(3, "timed_out"),
        ):
            stage.now_s += 1.5
            yield end

    tools = [made(name, lambda: None) for name in ("fine", "broken", "slow")]
    stage = staged(*tools, awaits=ends())
    stage.play(stage.drive())
    ran = [one for one in stage.told if isinstance(one, ToolRan)]
    assert [(one.name, one.call_id, one.status, one.duration_s) for one in ran] == [
        ("fine", "fine_0", "ok", 1.5),
        ("broken", "broken_0", "error", 3.0),
        ("slow", "slow_0", "unknown", 4.5),
    ]


# -- time -----------------------------------------------------------------------------------------


def test_a_tool_that_takes_too_long_is_unknown_and_waits_to_be_settled(drivers: Drivers) -> None:
    gate = Gate("late")
    stage = staged(made("slow", gate.__call__, timeout_s=0.01))
    waits, record = driven(drivers, stage)
    gate.open.set()
    assert isinstance(waits, Wait)
    assert [one.id for one in waits.waiting_for("settlement")] == ["slow_0"]
    assert outcomes(record) == [("slow_0", "unknown")]


def test_a_tool_that_only_reads_and_takes_too_long_has_failed(drivers: Drivers) -> None:
    gate = Gate("late")
    stage = staged(made("slow", gate.__call__, timeout_s=0.01, policy="reads", retries=2))
    ended, record = driven(drivers, stage)
    gate.open.set()
    assert isinstance(ended, Finish)
    assert outcomes(record) == [("slow_0", "error")]
    assert told(stage) == ["It did not end within 0.01 seconds."]


class Slow:
    """A tool that takes too long so many times."""

    def __init__(self, times: int) -> None:
        self.keys: list[str] = []
        self.left: list[float | None] = []
        self.go = threading.Event()
        self._times = times

    def __call__(self, context: ToolContext) -> str:
        self.keys.append(context.idempotency_key)
        self.left.append(context.time_left_s())
        if len(self.keys) <= self._times:
            assert self.go.wait(PATIENCE_S)
        return "done"


def test_a_keyed_tool_that_takes_too_long_is_run_again_with_its_key(drivers: Drivers) -> None:
    slow = Slow(2)
    stage = staged(made("slow", slow.__call__, timeout_s=0.05, policy="keyed", retries=2))
    ended, record = driven(drivers, stage)
    slow.go.set()
    assert isinstance(ended, Finish)
    assert len(slow.keys) == 3
    assert len(set(slow.keys)) == 1
    assert outcomes(record) == [("slow_0", "ok")]
    assert told(stage) == ["done"]


def test_a_keyed_tool_that_never_ends_is_unknown_and_runs_when_the_turn_is_resumed(
    drivers: Drivers,
) -> None:
    slow = Slow(2)
    stage = staged(made("slow", slow.__call__, timeout_s=0.01, policy="keyed", retries=1))
    waits, record = driven(drivers, stage)
    assert isinstance(waits, Wait)
    assert [one.id for one in waits.waiting_for("settlement")] == ["slow_0"]
    assert outcomes(record) == [("slow_0", "unknown")]
    resumed = stage.drive(record)
    ended = drivers.run(
        resumed.run(),
        stage.model.blocking() if drivers.kind == "blocking" else stage.model.asyncio(),
    )
    slow.go.set()
    assert isinstance(ended, Finish)
    assert (len(slow.keys), len(set(slow.keys))) == (3, 1)
    assert told(stage) == ["done"]


def test_each_run_after_one_that_took_too_long_has_the_whole_time() -> None:
    def ends() -> Iterator[Ended]:
        for number in (1, 2):
            stage.now_s += 5.0
            yield Ended(number, "timed_out")
        yield Ended(3, "returned", "done")

    tool = made("slow", lambda: None, timeout_s=5.0, policy="keyed", retries=2)
    stage = staged(tool, awaits=ends())
    stage.play(stage.drive())
    assert stage.job_limits == [5.0, 5.0, 5.0]
    assert told(stage) == ["done"]


@pytest.mark.parametrize(
    ("late", "result"),
    [
        (Ended(1, "raised", error=OSError("late")), "second"),
        (Ended(1, "returned", "first"), "first"),
    ],
)
def test_what_comes_late_from_one_run_counts_before_another_ends_unless_it_failed(
    late: Ended, result: str
) -> None:
    ends = [Ended(1, "timed_out"), late, Ended(2, "returned", "second")]
    stage = staged(made("slow", lambda: None, policy="keyed", retries=1), awaits=ends)
    stage.play(stage.drive())
    assert told(stage) == [result]


def test_a_call_that_a_drive_gives_up_leaves_others_of_the_same_tool_to_run() -> None:
    tool = made("slow", lambda: None, policy="keyed")
    stage = staged(tool, calls=2, options={"concurrent_max": 1})
    stage.awaits = [Ended(1, "timed_out"), Ended(2, "timed_out")]
    first = stage.drive()
    assert len(stage.play(first).waiting_for("settlement")) == 2
    stage.awaits = [Ended(1, "timed_out"), Ended(2, "returned", "done")]
    second = stage.drive(first.record)
    waits = stage.play(second)
    assert [one.id for one in waits.waiting_for("settlement")] == ["slow_0"]
    assert outcomes(second.record)[2:] == [("slow_0", "unknown"), ("slow_1", "ok")]


@pytest.mark.parametrize("raises", [False, True])
def test_what_comes_late_is_recorded_and_the_turn_goes_on_with_it(
    drivers: Drivers, raises: bool
) -> None:
    go, given_up = threading.Event(), threading.Event()

    def slow() -> str:
        assert go.wait(PATIENCE_S)
        if raises:
            raise OSError("late")
        return "late"

    def patient() -> str:
        assert given_up.wait(PATIENCE_S)
        go.set()
        wait_for_threads(1)
        return "patient"

    def see(one: object) -> None:
        if isinstance(one, ToolRan) and one.status == "unknown":
            given_up.set()

    stage = staged(made("slow", slow, timeout_s=0.01), made("patient", patient), tell=see)
    ended, record = driven(drivers, stage)
    assert isinstance(ended, Finish)
    status = "error" if raises else "ok"
    assert outcomes(record) == [("slow_0", "unknown"), ("slow_0", status), ("patient_0", "ok")]
    assert told(stage) == ["OSError: late" if raises else "late", "patient"]


def test_what_comes_late_for_a_call_that_has_a_result_changes_nothing_for_the_model() -> None:
    ends = [
        Ended(1, "timed_out"),
        Ended(1, "returned", "late"),
        Ended(2, "returned", "in time"),
    ]
    tools = [made(name, lambda: None, policy="reads") for name in ("slow", "quick")]
    stage = staged(*tools, awaits=ends)
    drive = stage.drive()
    stage.play(drive)
    assert "did not end" in told(stage)[0]
    assert outcomes(drive.record) == [("slow_0", "error"), ("slow_0", "ok"), ("quick_0", "ok")]


def test_what_comes_late_in_another_round_is_of_the_call_that_was_made_before() -> None:
    ends: list[Any] = [
        Ended(1, "timed_out"),
        [Ended(1, "returned", "late"), Ended(2, "returned", "quick")],
    ]
    tools = [made(name, lambda: None, policy="reads") for name in ("slow", "quick")]
    rounds = [say(calls=[call(name, id="same")]) for name in ("slow", "quick")]
    stage = Stage(ScriptedModel(*rounds, "Done."), tools, awaits=ends)
    drive = stage.drive()
    stage.play(drive)
    found = [entry for entry in drive.record.entries() if isinstance(entry, Outcome)]
    first, late, second = [entry.call.answer for entry in found]
    assert first == late < second
    assert told(stage)[-1] == "quick"


def test_what_comes_late_comes_once() -> None:
    ends = [
        Ended(1, "timed_out"),
        Ended(1, "returned", "late"),
        Ended(1, "returned", "once more"),
        Ended(2, "returned", "in time"),
    ]
    tools = [made(name, lambda: None) for name in ("slow", "quick")]
    stage = staged(*tools, awaits=ends)
    drive = stage.drive()
    stage.play(drive)
    assert outcomes(drive.record) == [("slow_0", "unknown"), ("slow_0", "ok"), ("quick_0", "ok")]
    assert told(stage) == ["late", "in time"]


# -- stopping -------------------------------------------------------------------------------------


class Stop(BaseException):
    """A cancellation, say."""


def stopped(*tools: Tool, stops: list[Ended] | None = None) -> Stage:
    """Stop a drive while its tools run; ``stops`` says what is known of them then."""
    stage = staged(*tools, stops=stops)
    stage.interrupt = lambda name: Stop() if name == "AwaitJobs" else None
    drive = stage.drive()
    with pytest.raises(Stop):
        stage.play(drive)
    assert stage.durable is drive.record
    return stage


def test_what_had_ended_when_a_drive_is_stopped_is_on_the_record() -> None:
    stage = stopped(
        *[made(name, lambda: "x") for name in ("one", "two", "three")],
        stops=[
            Ended(1, "returned", "paid"),
            Ended(2, "raised", error=OSError("odd")),
            Ended(3, "stopped"),
        ],
    )
    assert outcomes(stage.durable) == [("one_0", "ok"), ("two_0", "error"), ("three_0", "unknown")]


@pytest.mark.parametrize("policy", ["reads", "keyed"])
def test_what_may_run_again_is_left_for_whoever_resumes(policy: Any) -> None:
    stage = stopped(made("one", lambda: "x", policy=policy))
    assert outcomes(stage.durable) == []
    assert stage.durable.phase == "calling"


def test_nothing_is_tried_again_while_a_drive_is_stopped() -> None:
    one = made("one", lambda: "x", policy="keyed", retries=5)
    stage = stopped(one, stops=[Ended(1, "raised", error=OSError("odd"))])
    assert outcomes(stage.durable) == [("one_0", "error")]
    assert [each for each in stage.log if each.startswith("StartJobs")] == ["StartJobs 1"]


# -- as a tool is written -------------------------------------------------------------------------


def test_a_function_that_is_a_tool_runs_with_its_arguments(drivers: Drivers) -> None:
    @tool(policy="reads")
    def add(one: int, other: int = 2) -> int:
        """Add."""
        return one + other

    stage = Stage(ScriptedModel(say(calls=[call("add", one=1)]), "3."), [add])
    driven(drivers, stage)
    assert told(stage) == ["3"]
