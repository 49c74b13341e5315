"""What a drive tells while it goes on: to whoever reads its stream, and to observers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from hansard import tool
from hansard.errors import ProviderError
from hansard.testing import ScriptedModel, call, cut_after, empty, fail, say
from hansard.tools.tool import Tool
from hansard.turn.events import AnswerDropped, CallFinished, ModelCalled, ToolRan, TurnEnded
from tests.unit.drivers.playing import Stage


@tool(policy="reads")
def look() -> str:
    """Look."""
    return "a tree"


YOURS = Tool("yours", "Yours.", {"type": "object", "properties": {}})


def calling(*names: str) -> Any:
    return say(calls=[call(name, id=f"{name}_{at}") for at, name in enumerate(names)])


def test_a_stream_tells_what_tools_gave_and_which_answers_do_not_count() -> None:
    script = [cut_after("Hello there.", chunks=2), calling("look"), "Done."]
    stage = Stage(ScriptedModel(*script), [look], stream=True)
    stage.play(stage.drive())
    [dropped] = [event for event in stage.events if isinstance(event, AnswerDropped)]
    assert [problem.code for problem in dropped.problems] == ["cut"]
    [finished] = [event for event in stage.events if isinstance(event, CallFinished)]
    assert finished.result.text == "a tree"


def test_nothing_is_told_of_a_turn_that_is_not_streamed() -> None:
    stage = Stage(ScriptedModel(empty(), calling("look"), "Done."), [look])
    stage.play(stage.drive())
    assert stage.events == []


def test_observers_are_told_of_each_step_and_of_what_the_turn_came_to() -> None:
    stage = Stage(ScriptedModel(empty(), calling("look", "nobody"), "Done."), [look])

    def pass_time(_: str) -> None:
        stage.now_s += 1.0

    stage.interrupt = pass_time
    stage.play(stage.drive())
    assert [type(one) for one in stage.told] == [
        *[ModelCalled] * 2,
        ToolRan,
        ModelCalled,
        TurnEnded,
    ]
    models = [one for one in stage.told if isinstance(one, ModelCalled)]
    assert [one.error for one in models] == ["empty", "", ""]
    assert [one.messages for one in models] == [1, 1, 4]
    assert {one.duration_s for one in models} == {1.0}
    end = stage.told[-1]
    assert isinstance(end, TurnEnded)
    assert (end.status, end.rounds, end.usage.total_tokens) == ("done", 1, 45)
    assert (end.conversation, end.turn) == ("c0", 1)


@pytest.mark.parametrize(
    ("answer", "status"),
    [("Hi.", "done"), (calling("yours"), "open"), (fail(400), "failed"), (fail(529), "open")],
)
def test_what_a_turn_came_to_is_told_last_and_once(answer: Any, status: str) -> None:
    stage = Stage(ScriptedModel(answer), [YOURS])
    with suppress(ProviderError):
        stage.play(stage.drive())
    ends = [one for one in stage.told if isinstance(one, TurnEnded)]
    assert [one.status for one in ends] == [status]
    assert stage.told[-1:] == ends
