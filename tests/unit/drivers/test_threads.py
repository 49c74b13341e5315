"""A thread for each job: it has the caller's context, and tells how the job ended."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING

import pytest

from hansard.drivers import threads
from hansard.drivers.acts import Ended, Job
from tests.unit.drivers.driving import Gate, job, wait_for_threads

if TYPE_CHECKING:
    from collections.abc import Callable

WHO: ContextVar[str] = ContextVar("WHO", default="nobody")


def told_of(*jobs: Job) -> list[Ended]:
    """Start jobs, wait for their threads, and give what was told of them."""
    ended: list[Ended] = []
    for one in jobs:
        threads.start(one, ended.append)
    wait_for_threads(*[one.number for one in jobs])
    return ended


# -- here -----------------------------------------------------------------------------------------


def test_a_job_that_returns_has_its_value() -> None:
    assert threads.finish(job(7, lambda: "done")) == Ended(7, "returned", "done")


def test_a_job_that_raises_has_its_error() -> None:
    error = ValueError("odd")

    def run() -> None:
        raise error

    assert threads.finish(job(7, run)) == Ended(7, "raised", error=error)


def test_an_async_job_is_run_to_its_end() -> None:
    async def run() -> str:
        await asyncio.sleep(0)
        return "done"

    assert threads.finish(job(7, run)) == Ended(7, "returned", "done")


def test_an_async_job_that_raises_has_its_error() -> None:
    error = ValueError("odd")

    async def run() -> None:
        await asyncio.sleep(0)
        raise error

    assert threads.finish(job(7, run)) == Ended(7, "raised", error=error)


def test_an_async_job_that_raises_before_it_can_be_awaited_has_its_error() -> None:
    error = TypeError("no such argument")

    def run() -> object:
        raise error

    assert threads.finish(Job(7, run, is_async=True)) == Ended(7, "raised", error=error)


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_what_is_no_error_has_been_raised_too(stop: BaseException) -> None:
    def run() -> None:
        raise stop

    assert threads.finish(job(7, run)) == Ended(7, "raised", error=stop)


# -- in a thread ----------------------------------------------------------------------------------


def test_a_thread_is_a_daemon_and_has_the_number_of_its_job() -> None:
    seen: list[threading.Thread] = []
    told_of(job(7, lambda: seen.append(threading.current_thread())))
    [thread] = seen
    assert thread is not threading.current_thread()
    assert thread.name == "hansard-tool-7"
    assert thread.daemon


def test_starting_a_job_does_not_wait_for_it() -> None:
    gate = Gate("done")
    ended: list[Ended] = []
    threads.start(job(7, gate), ended.append)
    assert not ended
    gate.open.set()
    wait_for_threads(7)
    assert ended == [Ended(7, "returned", "done")]


def test_jobs_run_side_by_side() -> None:
    both = threading.Barrier(2, timeout=20)
    ended = told_of(job(1, both.wait), job(2, both.wait))
    assert {one.how for one in ended} == {"returned"}


def test_a_job_that_fails_is_told_from_its_thread() -> None:
    error = ValueError("odd")

    def run() -> None:
        raise error

    assert told_of(job(7, run)) == [Ended(7, "raised", error=error)]


def _sync_who() -> str:
    return WHO.get()


async def _async_who() -> str:
    await asyncio.sleep(0)
    return WHO.get()


@pytest.mark.parametrize("run", [_sync_who, _async_who])
def test_a_job_has_the_context_of_whoever_started_it(run: Callable[[], object]) -> None:
    def start() -> list[Ended]:
        WHO.set("Ada")
        return told_of(job(7, run))

    assert copy_context().run(start) == [Ended(7, "returned", "Ada")]


def test_what_a_job_does_to_its_context_stays_there() -> None:
    told_of(job(7, lambda: WHO.set("Bob")))
    assert WHO.get() == "nobody"


@pytest.mark.parametrize("stop", [asyncio.CancelledError, SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_job_that_ends_by_what_is_no_error_is_told_too(
    stop: type[BaseException], is_async: bool
) -> None:
    def run() -> None:
        raise stop

    async def run_later() -> None:
        raise stop

    [ended] = told_of(job(7, run_later if is_async else run))
    assert (ended.number, ended.how, type(ended.error)) == (7, "raised", stop)
