"""A thread for each job: started at once, and never waited for longer than wanted.

They are daemons, since a tool that hangs must not keep a process from ending.
"""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import TYPE_CHECKING

from .acts import Ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from .acts import Job

__all__ = ["finish", "start"]


def start(job: Job, done: Callable[[Ended], object]) -> None:
    """Run a job in a thread of its own, in the caller's context; tell ``done`` from there."""
    context = copy_context()
    thread = threading.Thread(
        target=lambda: done(context.run(finish, job)),
        name=f"hansard-tool-{job.number}",
        daemon=True,
    )
    thread.start()


def finish(job: Job) -> Ended:
    """Run a job here, to its end, whatever it raises: in a thread nobody else would see it."""
    try:
        value = job.run()
        if job.is_async:
            import asyncio

            value = asyncio.run(_await(value))
    except BaseException as error:  # noqa: BLE001 -- whatever a tool raises is for the model to see
        return Ended(job.number, "raised", error=error)
    return Ended(job.number, "returned", value)


async def _await(value: object) -> object:
    return await value  # type: ignore[misc]
