"""The driver under asyncio: tasks and threads, cancellation, and commits that are awaited."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.drivers.acts import AWAIT_JOBS, STOP_JOBS, Commit, Ended, StartJobs
from hansard.record.record import Record
from tests.unit.drivers.driving import (
    Drivers,
    Gate,
    Waits,
    async_driver,
    how,
    job,
    starting,
    wait_for_threads,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from tests.unit.drivers.driving import Acts

COMMIT = Commit((), Record("c0", hansard.dialect("openai")))


@pytest.fixture
def drivers() -> Iterator[Drivers]:
    """Give what makes drivers under asyncio."""
    made = Drivers("asyncio")
    yield made
    made.close()


def here() -> threading.Thread:
    return threading.current_thread()


async def there() -> threading.Thread:
    await asyncio.sleep(0)
    return threading.current_thread()


# -- committing -----------------------------------------------------------------------------------


def test_a_commit_is_awaited_where_it_has_to_be(drivers: Drivers) -> None:
    log: list[str] = []

    async def commit(_: Commit) -> None:
        await asyncio.sleep(0)
        log.append("durable")

    def acts() -> Acts:
        yield COMMIT
        log.append("after")

    drivers.run(acts(), commit=commit)
    assert log == ["durable", "after"]


# -- where ----------------------------------------------------------------------------------------


def one_of(start: StartJobs) -> Acts:
    yield start
    [one] = yield AWAIT_JOBS
    return one


def test_an_async_job_runs_in_the_callers_loop(drivers: Drivers) -> None:
    assert drivers.run(one_of(starting(there))).value is here()


def test_any_other_job_runs_in_a_thread_of_its_own_also_alone(drivers: Drivers) -> None:
    assert drivers.run(one_of(starting(here))).value.name == "hansard-tool-1"


def test_async_jobs_and_others_run_side_by_side(drivers: Drivers) -> None:
    gate = Gate("from a thread")

    async def opens() -> str:
        await asyncio.get_running_loop().run_in_executor(None, gate.begun.wait)
        gate.open.set()
        return "from the loop"

    def acts() -> Acts:
        yield starting(gate, opens)
        ended = yield AWAIT_JOBS
        while len(ended) < 2:
            ended += yield AWAIT_JOBS
        return {one.number: one.value for one in ended}

    assert drivers.run(acts()) == {1: "from a thread", 2: "from the loop"}


def test_all_that_have_ended_are_told_together_in_the_order_of_their_start(
    drivers: Drivers,
) -> None:
    async def one() -> int:
        return 1

    async def two() -> int:
        return 2

    def acts() -> Acts:
        yield starting(one, two)
        return [ended.value for ended in (yield AWAIT_JOBS)]

    assert drivers.run(acts()) == [1, 2]


# -- ending ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [True, False])
def test_a_job_that_raises_has_its_error(drivers: Drivers, is_async: bool) -> None:
    error = ValueError("odd")

    def raising() -> None:
        raise error

    async def raising_later() -> None:
        await asyncio.sleep(0)
        raise error

    ended = drivers.run(one_of(starting(raising_later if is_async else raising)))
    assert ended == Ended(1, "raised", error=error)


class Halt(BaseException):
    """What is no error of the tool's."""


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3), Halt()])
@pytest.mark.parametrize("is_async", [True, False])
def test_what_is_no_error_has_been_raised_too(
    drivers: Drivers, error: BaseException, is_async: bool
) -> None:
    def raising() -> None:
        raise error

    async def raising_later() -> None:
        raise error

    ended = drivers.run(one_of(starting(raising_later if is_async else raising)))
    assert ended == Ended(1, "raised", error=error)


def test_what_ended_beside_what_is_no_error_is_told_with_it(drivers: Drivers) -> None:
    async def paid() -> str:
        return "paid"

    async def halting() -> None:
        raise Halt

    def acts() -> Acts:
        yield starting(paid, halting)
        return how((yield AWAIT_JOBS))

    assert drivers.run(acts()) == {1: "returned", 2: "raised"}


# -- time -----------------------------------------------------------------------------------------


def test_an_async_job_that_takes_too_long_is_cancelled(drivers: Drivers) -> None:
    async def run() -> tuple[list[Ended], bool]:
        waits = Waits()

        def acts() -> Acts:
            yield StartJobs((job(1, waits.__call__, 0.01),))
            ended = yield AWAIT_JOBS
            yield AWAIT_JOBS  # So that the cancellation is carried out.
            return ended

        return await async_driver().run(acts()), waits.was_cancelled

    assert drivers.runner.run(run()) == ([Ended(1, "timed_out")], True)


def test_a_thread_that_takes_too_long_has_timed_out_and_is_told_once_more_when_it_ends(
    drivers: Drivers,
) -> None:
    gate = Gate("late")

    def acts() -> Acts:
        yield starting(gate, timeout_s=0.01)
        first = yield AWAIT_JOBS
        gate.open.set()
        return first, (yield AWAIT_JOBS)

    assert drivers.run(acts()) == ([Ended(1, "timed_out")], [Ended(1, "returned", "late")])


def test_only_the_job_whose_time_is_up_has_timed_out(drivers: Drivers) -> None:
    slow, patient = Gate("slow"), Gate("patient")

    def acts() -> Acts:
        yield StartJobs((job(1, slow, 0.01), job(2, patient, 60.0)))
        first = yield AWAIT_JOBS
        patient.open.set()
        second = yield AWAIT_JOBS
        slow.open.set()
        return how(first), how(second)

    assert drivers.run(acts()) == ({1: "timed_out"}, {2: "returned"})


# -- stopping -------------------------------------------------------------------------------------


def test_stopping_cancels_tasks_gives_up_on_threads_and_gives_what_has_ended(
    drivers: Drivers,
) -> None:
    gate = Gate("done")

    async def run() -> tuple[list[Ended], bool]:
        waits = Waits()

        def acts() -> Acts:
            yield starting(gate, waits.__call__, there, there)
            told = yield AWAIT_JOBS
            return told + (yield STOP_JOBS)

        return await async_driver().run(acts()), waits.was_cancelled

    ended, was_cancelled = drivers.runner.run(run())
    gate.open.set()
    assert how(ended) == {1: "stopped", 2: "stopped", 3: "returned", 4: "returned"}
    assert was_cancelled


def test_a_job_that_ends_well_when_it_is_stopped_has_returned(drivers: Drivers) -> None:
    async def run() -> Any:
        never = asyncio.Event()

        async def tidy() -> str:
            try:
                await never.wait()
            except asyncio.CancelledError:
                return "tidied up"
            return "never"

        def acts() -> Acts:
            yield starting(tidy, there)
            told = yield AWAIT_JOBS
            return told + (yield STOP_JOBS)

        return await async_driver().run(acts())

    assert Ended(1, "returned", "tidied up") in drivers.runner.run(run())


def test_a_thread_that_ends_when_its_loop_is_gone_troubles_nobody() -> None:
    made, gate = Drivers("asyncio"), Gate("late")

    def acts() -> Acts:
        yield starting(gate, there)
        yield AWAIT_JOBS

    made.run(acts())
    made.close()
    gate.open.set()
    wait_for_threads(1)


# -- together -------------------------------------------------------------------------------------


def test_many_drives_share_a_loop(drivers: Drivers) -> None:
    async def run() -> list[Any]:
        both = asyncio.Barrier(20)

        async def meet() -> str:
            await both.wait()
            return "met"

        drives: list[Awaitable[Any]] = [
            async_driver().run(one_of(starting(meet))) for _ in range(20)
        ]
        return [one.value for one in await asyncio.gather(*drives)]

    assert drivers.runner.run(run()) == ["met"] * 20
