"""The blocking driver: which thread a tool runs in, and how long it is waited for."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from hansard.drivers.acts import AWAIT_JOBS, STOP_JOBS, Ended, StartJobs
from tests.unit.drivers.driving import Drivers, Gate, how, job, starting, wait_for_threads
from tests.unit.drivers.playing import made, outcomes, staged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.unit.drivers.driving import Acts


@pytest.fixture
def drivers() -> Iterator[Drivers]:
    """Give what makes blocking drivers."""
    made = Drivers("blocking")
    yield made
    made.close()


def here() -> threading.Thread:
    return threading.current_thread()


async def there() -> threading.Thread:
    await asyncio.sleep(0)
    return threading.current_thread()


def until_all(count: int) -> Acts:
    """Wait until so many jobs have ended, and give them in the order of their numbers."""
    ended: list[Ended] = []
    while len(ended) < count:
        ended += yield AWAIT_JOBS
    return sorted(ended, key=lambda one: one.number)


def all_of(start: StartJobs) -> Acts:
    yield start
    return (yield from until_all(len(start.jobs)))


# -- where ----------------------------------------------------------------------------------------


def test_a_job_that_runs_alone_runs_in_the_callers_thread(drivers: Drivers) -> None:
    [one] = drivers.run(all_of(starting(here)))
    assert one.value is here()


def test_one_job_after_the_other_runs_in_the_callers_thread(drivers: Drivers) -> None:
    def acts() -> Acts:
        return (yield from all_of(starting(here))) + (yield from all_of(starting(here)))

    assert [one.value for one in drivers.run(acts())] == [here(), here()]


def test_several_jobs_run_in_threads_of_their_own(drivers: Drivers) -> None:
    ended = drivers.run(all_of(starting(here, here)))
    assert [one.value.name for one in ended] == ["hansard-tool-1", "hansard-tool-2"]


def test_several_jobs_run_side_by_side(drivers: Drivers) -> None:
    both = threading.Barrier(2, timeout=20)
    ended = drivers.run(all_of(starting(both.wait, both.wait)))
    assert how(ended) == {1: "returned", 2: "returned"}


def test_a_job_beside_one_that_is_still_running_has_a_thread(drivers: Drivers) -> None:
    gate = Gate("done")

    def acts() -> Acts:
        yield starting(gate, here)
        [second] = yield AWAIT_JOBS
        yield StartJobs((job(3, here),))
        [third] = yield AWAIT_JOBS
        gate.open.set()
        [first] = yield AWAIT_JOBS
        return first.value, second.value.name, third.value.name

    assert drivers.run(acts()) == ("done", "hansard-tool-2", "hansard-tool-3")


def test_a_job_with_a_time_limit_has_a_thread(drivers: Drivers) -> None:
    [one] = drivers.run(all_of(starting(here, timeout_s=60.0)))
    assert one.value.name == "hansard-tool-1"


def test_an_async_job_has_a_thread_and_a_loop_of_its_own(drivers: Drivers) -> None:
    [one] = drivers.run(all_of(starting(there)))
    assert one.value.name == "hansard-tool-1"


def test_an_async_job_runs_also_where_the_caller_is_in_a_loop(drivers: Drivers) -> None:
    async def called() -> str:
        [one] = drivers.run(all_of(starting(there)))
        return str(one.value.name)

    assert asyncio.run(called()) == "hansard-tool-1"


def test_a_job_that_runs_alone_starts_only_when_it_is_waited_for(drivers: Drivers) -> None:
    ran: list[str] = []

    def acts() -> Acts:
        yield starting(lambda: ran.append("ran"))
        assert not ran
        return (yield STOP_JOBS)

    assert drivers.run(acts()) == [Ended(1, "stopped")]
    assert not ran


# -- ending ---------------------------------------------------------------------------------------


def test_all_that_have_ended_are_told_together(drivers: Drivers) -> None:
    def acts() -> Acts:
        yield starting(here, here)
        wait_for_threads(1, 2)
        return (yield AWAIT_JOBS)

    assert how(drivers.run(acts())) == {1: "returned", 2: "returned"}


def test_the_first_that_ends_is_told_while_others_run(drivers: Drivers) -> None:
    gate = Gate("done")

    def acts() -> Acts:
        yield starting(gate, here)
        first = yield AWAIT_JOBS
        gate.open.set()
        return how(first), how((yield AWAIT_JOBS))

    assert drivers.run(acts()) == ({2: "returned"}, {1: "returned"})


def test_what_interrupts_the_caller_in_a_job_is_thrown_into_the_drive(drivers: Drivers) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    def acts() -> Acts:
        yield starting(interrupted)
        try:
            yield AWAIT_JOBS
        except KeyboardInterrupt:
            return (yield STOP_JOBS)

    assert drivers.run(acts()) == [Ended(1, "stopped")]


@pytest.mark.parametrize("error", [SystemExit(1), GeneratorExit(), asyncio.CancelledError()])
def test_whatever_else_a_job_raises_is_how_it_ended(drivers: Drivers, error: BaseException) -> None:
    def falling() -> None:
        raise error

    def acts() -> Acts:
        yield starting(falling)
        return (yield AWAIT_JOBS)

    assert drivers.run(acts()) == [Ended(1, "raised", error=error)]


def test_a_tool_that_stops_its_caller_is_unknown_and_that_is_committed(drivers: Drivers) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    stage = staged(made("tool", interrupted))
    drive = stage.drive()
    with pytest.raises(KeyboardInterrupt):
        drivers.run(drive.run(), stage.model.blocking(), stage.commits.append)
    assert stage.durable is drive.record
    assert outcomes(stage.durable) == [("tool_0", "unknown")]


# -- time -----------------------------------------------------------------------------------------


def test_a_job_that_takes_too_long_has_timed_out_and_is_told_once_more_when_it_ends(
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
        yield StartJobs((job(1, slow, 0.01), job(2, patient, 60.0), job(3, here)))
        ended = yield AWAIT_JOBS
        while len(ended) < 2:
            ended += yield AWAIT_JOBS
        patient.open.set()
        rest = yield AWAIT_JOBS
        slow.open.set()
        return how(ended), how(rest)

    ended, rest = drivers.run(acts())
    assert ended == {1: "timed_out", 3: "returned"}
    assert rest == {2: "returned"}


def test_jobs_whose_time_is_up_together_have_timed_out_together(drivers: Drivers) -> None:
    gate = Gate("late")

    def acts() -> Acts:
        yield starting(gate, gate, timeout_s=0.0)
        return (yield AWAIT_JOBS)

    assert how(drivers.run(acts())) == {1: "timed_out", 2: "timed_out"}
    gate.open.set()


def test_after_one_that_timed_out_a_job_runs_alone_again(drivers: Drivers) -> None:
    gate = Gate("late")

    def acts() -> Acts:
        yield starting(gate, timeout_s=0.01)
        yield AWAIT_JOBS
        yield StartJobs((job(2, here),))
        [one] = yield AWAIT_JOBS
        gate.open.set()
        return one.value

    assert drivers.run(acts()) is here()


# -- stopping -------------------------------------------------------------------------------------


def test_stopping_gives_up_on_what_runs_and_gives_what_has_ended(drivers: Drivers) -> None:
    gate = Gate("done")

    def acts() -> Acts:
        yield starting(gate, here, here)
        [*told] = yield AWAIT_JOBS
        wait_for_threads(2, 3)
        return [*told, *(yield STOP_JOBS)]

    ended = drivers.run(acts())
    gate.open.set()
    assert how(ended) == {1: "stopped", 2: "returned", 3: "returned"}


def test_what_was_told_is_not_told_again_on_stopping(drivers: Drivers) -> None:
    def acts() -> Acts:
        yield from all_of(starting(here, here))
        return (yield STOP_JOBS)

    assert drivers.run(acts()) == []


def test_stopping_twice_gives_nothing_more(drivers: Drivers) -> None:
    gate = Gate("done")

    def acts() -> Acts:
        yield starting(gate, gate)
        yield STOP_JOBS
        return (yield STOP_JOBS)

    assert drivers.run(acts()) == []
    gate.open.set()
