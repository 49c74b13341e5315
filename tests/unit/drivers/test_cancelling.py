"""Cancelling under asyncio: the drive is told, tools are stopped, streams are closed."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard import tool
from hansard.dialects.events import TextDelta
from hansard.drivers.acts import AWAIT_JOBS, READ, STOP_JOBS, Commit, Ended, Left, Open
from hansard.drivers.asynchronous import AsyncDriver
from hansard.record.record import Record
from hansard.testing import ScriptedModel, call, forever, say
from tests.unit.drivers.driving import ASK, AsyncWire, Drivers, Waits, async_driver, starting
from tests.unit.drivers.playing import Stage, kinds, made, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.drivers.drive import Drive
    from tests.unit.drivers.driving import Acts

COMMIT = Commit((), Record("c0", hansard.dialect("openai")))


@pytest.fixture
def drivers() -> Iterator[Drivers]:
    """Give what makes drivers under asyncio."""
    made = Drivers("asyncio")
    yield made
    made.close()


async def cancel(task: asyncio.Task[Any]) -> None:
    """Cancel a task, and wait until it is."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancellation_while_it_commits_is_thrown_into_the_drive(drivers: Drivers) -> None:
    thrown: list[BaseException] = []

    def acts() -> Acts:
        try:
            yield COMMIT
        except BaseException as error:
            thrown.append(error)
            raise

    async def run() -> None:
        waits = Waits()
        task = asyncio.create_task(async_driver(lambda _: waits()).run(acts()))
        await waits.begun.wait()
        await cancel(task)
        assert waits.was_cancelled

    drivers.runner.run(run())
    assert [type(error) for error in thrown] == [asyncio.CancelledError]


def test_a_cancellation_while_tools_run_is_thrown_into_the_drive_which_stops_them(
    drivers: Drivers,
) -> None:
    ended: list[Ended] = []

    def acts(waits: Waits) -> Acts:
        yield starting(waits.__call__)
        try:
            yield AWAIT_JOBS
        except asyncio.CancelledError:
            ended.extend((yield STOP_JOBS))
            raise

    async def run() -> None:
        waits = Waits()
        task = asyncio.create_task(async_driver().run(acts(waits)))
        await waits.begun.wait()
        await cancel(task)
        assert waits.was_cancelled

    drivers.runner.run(run())
    assert ended == [Ended(1, "stopped")]


class Stalled(AsyncWire):
    """A wire whose pieces do not come."""

    def __init__(self, waits: Waits) -> None:
        super().__init__()
        self._waits = waits

    async def _come(self) -> Any:
        yield b"a"
        await self._waits()


def stalling() -> Acts:
    yield Open(ASK, None)
    yield READ
    yield READ


def test_a_cancelled_stream_is_closed(drivers: Drivers) -> None:
    async def run() -> list[str]:
        waits = Waits()
        wire = Stalled(waits)
        task = asyncio.create_task(async_driver(wire=wire).run(stalling()))
        await waits.begun.wait()
        await cancel(task)
        return wire.log

    assert drivers.runner.run(run()) == ["open /ask", "close"]


def test_a_listener_who_is_cancelled_while_it_waits_has_not_left(drivers: Drivers) -> None:
    """A cancellation reaches the drive as what it is."""
    thrown: list[type[BaseException]] = []

    def acts() -> Acts:
        try:
            yield TextDelta("Hello")
            yield from stalling()
        except BaseException as error:
            thrown.append(type(error))
            raise

    async def listen(wire: Stalled) -> None:
        async for _ in async_driver(wire=wire).stream(acts()):
            pass

    async def run() -> None:
        waits = Waits()
        task = asyncio.create_task(listen(Stalled(waits)))
        await waits.begun.wait()
        await cancel(task)

    drivers.runner.run(run())
    assert thrown == [asyncio.CancelledError]
    assert Left not in thrown


# -- a whole drive --------------------------------------------------------------------------------


@tool
def book() -> str:
    """Book."""
    return "booked"


def booking() -> Stage:
    return Stage(ScriptedModel(say(calls=[call("book", id="a")]), forever("Done.")), [book])


async def committing(stage: Stage, drive: Drive, which: int, *, durable: bool) -> None:
    """Drive, and cancel while the commit of this number is on its way."""
    waits, number = Waits(), count(1)

    async def commit(act: Commit) -> None:
        if next(number) != which:
            stage.commits.append(act)
            return
        if durable:  # It was carried out, and only the answer was lost.
            stage.commits.append(act)
        await waits()

    model = AsyncDriver[Any](stage.model.asyncio(), commit)
    task = asyncio.create_task(model.run(drive.run()))
    await waits.begun.wait()
    await cancel(task)


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("which", [1, 2, 3, 4])
def test_what_a_cancelled_commit_would_have_made_durable_is_on_the_record(
    drivers: Drivers, which: int, durable: bool
) -> None:
    """All of it but intents: what they announce has not started, and will not."""
    stage = booking()
    drive = stage.drive()
    drivers.runner.run(committing(stage, drive, which, durable=durable))
    smooth = booking()
    smooth.play(smooth.drive())
    states = [[], *[kinds(commit.record) for commit in smooth.commits]]
    before, after = states[which - 1 : which + 1]
    assert kinds(drive.committed) == before
    added = [kind for kind in after[len(before) :] if kind != "intent"]
    assert kinds(drive.record) == before + added
    assert len(stage.commits) == which - 1 + durable
    if stage.commits:
        assert kinds(stage.durable) == states[which - 1 + durable]


def test_a_cancelled_tool_that_started_is_unknown_and_that_is_committed(drivers: Drivers) -> None:
    async def run() -> Stage:
        waits = Waits()
        asked = say(calls=[call("wait", id="a"), call("book", id="b")])
        stage = Stage(ScriptedModel(asked), [made("wait", waits.__call__), book])
        drive = stage.drive()
        driver = async_driver(stage.commits.append, stage.model.asyncio())
        task = asyncio.create_task(driver.run(drive.run()))
        await waits.begun.wait()
        await cancel(task)
        assert stage.durable is drive.record
        return stage

    ended = dict(outcomes(drivers.runner.run(run()).durable))
    assert ended["a"] == "unknown"
    assert set(ended) == {"a", "b"}
