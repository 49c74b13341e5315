"""Calls that may have run: their tool is asked what became of them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from hansard import ToolError
from hansard.drivers.acts import Ended
from hansard.turn import writing
from tests.unit.drivers.playing import Stage, made, staged, told

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.record.record import Record


class Stop(BaseException):
    """What ends a test that would not end."""


def in_doubt(decide: Callable[[Any], object]) -> tuple[Stage, Record]:
    """Give a call that had started when its process was gone, and a tool that can find out."""
    stage = staged(made("book", lambda: "booked", on_unknown=decide))
    drive = stage.drive()
    acts = drive.run()
    given: Any = None
    while type(act := acts.send(given)).__name__ != "StartJobs":
        given = stage.carry_out(act, [])
    acts.close()
    stage.jobs.clear()
    return stage, stage.durable


def test_what_a_tool_finds_out_is_the_result_of_the_call() -> None:
    asked: list[str] = []

    def decide(one: Any) -> str:
        asked.append(one.id)
        return "it was booked"

    stage, record = in_doubt(decide)
    stage.play(stage.drive(record))
    assert asked == ["book_0"]
    assert told(stage) == ["it was booked"]


def test_a_tool_may_take_its_time_to_find_out() -> None:
    async def decide(one: Any) -> str:
        return f"{one.id} was booked"

    stage, record = in_doubt(decide)
    stage.play(stage.drive(record))
    assert told(stage) == ["book_0 was booked"]


def test_a_tool_can_find_out_that_the_call_failed() -> None:
    def decide(_: Any) -> None:
        raise ToolError("It was not booked.")

    stage, record = in_doubt(decide)
    stage.play(stage.drive(record))
    assert told(stage) == ["It was not booked."]


def enough(stage: Stage) -> Callable[[str], BaseException | None]:
    """Stop what goes round in circles."""
    return lambda _: Stop() if stage.log.count("AwaitJobs") > 5 else None


@pytest.mark.parametrize("how", ["raised", "timed_out"])
def test_a_tool_that_cannot_find_out_leaves_the_call_to_be_settled(how: Any) -> None:
    stage, record = in_doubt(lambda _: None)
    error = OSError("no line") if how == "raised" else None
    stage.awaits = (Ended(number, how, error=error) for number in count(1))
    stage.interrupt = enough(stage)
    waits = stage.play(stage.drive(record))
    assert [one.id for one in waits.waiting_for("settlement")] == ["book_0"]


def test_a_transaction_that_takes_too_long_is_over_for_the_model() -> None:
    move = made("move", lambda: None, policy="transactional", timeout_s=1.0)
    stage = staged(move, options={"transactions": True})
    stage.awaits = (Ended(number, "timed_out") for number in count(1))
    stage.interrupt = enough(stage)
    stage.play(stage.drive())
    assert told(stage) == ["It did not end within 1.0 seconds."]


def test_one_who_decides_is_not_asked_again_while_it_decides() -> None:
    stage, record = in_doubt(lambda _: "found")
    stage.play(stage.drive(record))
    assert [each for each in stage.log if each.startswith("StartJobs")] == ["StartJobs 1"]


def test_a_call_that_was_settled_is_not_asked_about() -> None:
    stage, record = in_doubt(lambda _: "never asked")
    [one] = record.pending
    record = record.apply(writing.outcome(record, one, one.answer("settled"), at_us=0))
    stage.play(stage.drive(record))
    assert told(stage) == ["settled"]
