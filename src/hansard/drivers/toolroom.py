"""Running the tools of a drive, and putting what became of them on the record.

Whatever a tool does, raise, return nothing, return what no dialect can say, is a result that the
model sees. That a tool which may have had its effect did not end is no result: it is *unknown*,
unless its policy says that this does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ..errors import ToolError, Unsayable
from ..tools import results
from ..tools.context import ToolContext
from ..tools.policies import may_be_left, runs_again
from ..tools.refusals import is_async
from ..turn import writing
from ..turn.effects import AskTool, RunTool
from ..turn.events import CallFinished, ToolRan
from .acts import AWAIT_JOBS, STOP_JOBS, Act, Do, Ended, Job, StartJobs

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Literal

    from ..messages import ToolCall, ToolResult
    from ..record.entries import Outcome
    from ..stores.store import AsyncTransaction, Transaction
    from ..tools.tool import Tool
    from .drive import Drive

__all__ = ["Toolroom"]

_NONE: frozenset[str] = frozenset()


@dataclass
class _Run:
    """A tool that was started, and where its call stands on the record."""

    effect: RunTool | AskTool
    tool: Tool
    answer: int
    context: ToolContext
    began_s: float
    retries: int
    transaction: Transaction | AsyncTransaction | None = None


class Toolroom:
    """The tools of one drive that have been started and have not ended."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._began_at = drive.record.length
        self._runs: dict[int, _Run] = {}
        self._overdue: dict[int, _Run] = {}
        self._started = 0

    @property
    def running(self) -> frozenset[str]:
        """The keys of the effects that are in flight."""
        return frozenset([run.effect.key for run in self._runs.values()]) if self._runs else _NONE

    def work(self, starts: Sequence[RunTool | AskTool]) -> Generator[Act, object, None]:
        """Start these, wait until something ends, and stage what became of it."""
        if starts:
            runs = [self._run(effect) for effect in starts]
            for run in runs:
                yield from self._begin(run)
            yield StartJobs(tuple([self._job(run) for run in runs]))
        ended: list[Ended] = yield AWAIT_JOBS  # type: ignore[assignment]
        again: list[Job] = []
        finished: list[CallFinished] = []
        for one in ended:
            transaction = self._transaction(one)
            if (repeated := self._to_retry(one)) is not None:
                yield from self._roll_back(transaction, one)
                yield from self._begin(repeated)
                again.append(self._job(repeated))
            else:
                told = self._take(one)
                finished += [told] if told is not None else []
                yield from self._end(transaction, one, told)
        if again:
            yield StartJobs(tuple(again))
        if self._drive.plan.stream and finished:
            yield from self._drive.commit()
            yield from finished
        if any([one.how == "timed_out" for one in ended]):
            self._drive.in_time()

    def stop(self) -> Generator[Act, object, None]:
        """Stop what is in flight, and stage what is known of it."""
        if self._runs:
            stopped: list[Ended] = yield STOP_JOBS  # type: ignore[assignment]
            for one in stopped:
                transaction = self._transaction(one)
                self._take(one)
                yield from self._roll_back(transaction, one)

    # -- transactions ---------------------------------------------------------------------------

    def _transaction(self, ended: Ended) -> Transaction | AsyncTransaction | None:
        """The transaction that a job has written in."""
        run = self._runs.get(ended.number)
        return None if run is None else run.transaction

    def _begin(self, run: _Run) -> Generator[Act, object, None]:
        """Begin the transaction that a tool is to write in, if it is one that does."""
        drive = self._drive
        if drive.plan.transaction is None or drive.rules.policy(run.tool) != "transactional":
            return
        call = partial(drive.plan.transaction, not run.tool.is_async)
        begun: Transaction | AsyncTransaction = yield Do(call)  # type: ignore[assignment]
        run.transaction = begun
        run.context = replace(run.context, connection=begun.connection)

    def _roll_back(
        self, transaction: Transaction | AsyncTransaction | None, ended: Ended
    ) -> Generator[Act, object, None]:
        """Take back what a tool wrote, if it wrote in a transaction."""
        if transaction is not None:
            given_up = ended.how in ("timed_out", "stopped")
            yield Do(partial(transaction.rollback, given_up=given_up))

    def _end(
        self,
        transaction: Transaction | AsyncTransaction | None,
        ended: Ended,
        told: CallFinished | None,
    ) -> Generator[Act, object, None]:
        """Make what a tool wrote durable, together with its outcome; take it back if it failed."""
        if transaction is None or told is None or told.result.is_error:
            yield from self._roll_back(transaction, ended)
            return
        try:
            yield from self._drive.commit(transaction)
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._roll_back(transaction, ended)
            raise

    # -- starting -------------------------------------------------------------------------------

    def _run(self, effect: RunTool | AskTool) -> _Run:
        drive = self._drive
        turn = drive.record.turn
        answer = turn.round.answer.seq if turn and turn.round else -1
        tool = drive.rules.tools[effect.call.name]
        may_repeat = runs_again(drive.rules.policy(tool))
        retries = tool.retries if may_repeat else 0
        began_s = drive.plan.monotonic_s()
        context = ToolContext(
            call_id=effect.call.id,
            tool_name=tool.name,
            idempotency_key=effect.key,
            is_resume=answer < self._began_at and (may_repeat or not self._approved(effect.call)),
            session=drive.plan.session,
            deadline=self._deadline_s(tool, began_s),
            clock=drive.plan.monotonic_s,
            sink=drive.plan.log_action,
        )
        return _Run(effect, tool, answer, context, began_s, retries)

    def _approved(self, call: ToolCall) -> bool:
        """Whether a call has only waited for a person, so that nobody can have started it."""
        turn = self._drive.record.turn
        decision = turn.round.decision(call) if turn and turn.round else None
        return decision is not None and decision.verdict == "approved"

    def _deadline_s(self, tool: Tool, began_s: float) -> float | None:
        ends = [self._drive.plan.deadline_s] if self._drive.plan.deadline_s is not None else []
        if tool.timeout_s is not None:
            ends.append(began_s + tool.timeout_s)
        return min(ends) if ends else None

    def _job(self, run: _Run) -> Job:
        self._started += 1
        self._runs[self._started] = run
        deadline_s = run.context.deadline
        left_s = (
            None if deadline_s is None else max(0.0, deadline_s - self._drive.plan.monotonic_s())
        )
        effect = run.effect
        if isinstance(effect, RunTool):
            invocation, context = effect.invocation, run.context
            return Job(self._started, lambda: invocation.run(context), run.tool.is_async, left_s)
        decide = run.tool.on_unknown
        assert decide is not None  # noqa: S101 - the machine asks nobody else
        waits = is_async(decide, run.tool.name)
        return Job(self._started, partial(decide, effect.call), waits, left_s)

    # -- ending ---------------------------------------------------------------------------------

    def _to_retry(self, ended: Ended) -> _Run | None:
        run = self._runs.get(ended.number)
        if run is None or not run.retries or not self._is_worth_another(run, ended):
            return None
        del self._runs[ended.number]
        run.retries -= 1
        if isinstance(run.effect, RunTool):  # Anew, since it may have changed its arguments.
            invocation = run.tool.invoke(run.effect.call)
            run.effect = msgspec.structs.replace(run.effect, invocation=invocation)
        if ended.how == "timed_out":
            self._overdue[ended.number] = run
            deadline_s = self._deadline_s(run.tool, self._drive.plan.monotonic_s())
            run.context = replace(run.context, deadline=deadline_s)
        return run

    def _is_worth_another(self, run: _Run, ended: Ended) -> bool:
        if ended.how == "raised":
            return not isinstance(ended.error, ToolError)  # That is said on purpose, to the model.
        return ended.how == "timed_out" and not self._may_be_left(run) and self._has_time

    def _may_be_left(self, run: _Run) -> bool:
        return may_be_left(self._drive.rules.policy(run.tool))

    @property
    def _has_time(self) -> bool:
        return self._drive.left_s() != 0.0

    def _take(self, ended: Ended) -> CallFinished | None:
        """Stage what became of a job."""
        run = self._runs.pop(ended.number, None)
        if run is None:
            self._take_late(ended)
            return None
        result = self._result(run, ended)
        status: Literal["ok", "error", "unknown"] = "unknown"
        finished = None
        drive = self._drive
        if ended.how in ("timed_out", "stopped") and run.transaction is None:
            self._overdue[ended.number] = run
        if result is None:
            self._leave_open(run, ended)
        else:
            outcome, result = self._outcome(run, result)
            drive.stage(outcome)
            status = "error" if result.is_error else "ok"
            finished = CallFinished(run.effect.call, result)
        drive.tell(
            ToolRan(
                conversation=drive.name,
                turn=drive.record.turn_number,
                name=run.tool.name,
                call_id=run.effect.call.id,
                status=status,
                duration_s=drive.plan.monotonic_s() - run.began_s,
            )
        )
        return finished

    def _leave_open(self, run: _Run, ended: Ended) -> None:
        """Nobody can say what became of a call: it is *unknown*, unless another drive can run it.

        One that did not end in time is not run again by this one, whatever its policy.
        """
        drive = self._drive
        call = run.effect.call
        is_over = ended.how == "timed_out" and self._has_time
        goes_again = runs_again(drive.rules.policy(run.tool))
        if isinstance(run.effect, RunTool) and (is_over or not goes_again):
            drive.stage(writing.unknown(drive.record, call, at_us=drive.plan.now_us()))
        if isinstance(run.effect, AskTool) or (is_over and goes_again):
            drive.rules = drive.rules.left_to_people(run.answer, call)

    def _take_late(self, ended: Ended) -> None:
        """Put on the record, for whoever looks there, what came when nobody waited any more."""
        run = self._overdue.pop(ended.number, None)
        if run is None or ended.how not in ("returned", "raised"):
            return
        if ended.how == "raised" and run.effect.key in self.running:
            return  # Another run goes on, and may do better.
        result = self._result(run, ended)
        if result is not None:
            self._drive.stage(self._outcome(run, result)[0])

    def _result(self, run: _Run, ended: Ended) -> ToolResult | None:
        """The result of a job that ended; None where nobody can say whether it did."""
        call = run.effect.call
        if ended.how == "returned":
            return results.answer(call, ended.value)
        if ended.how == "raised":
            # Whoever decides about an unknown call, and fails, has decided nothing.
            decided = isinstance(run.effect, RunTool) or isinstance(ended.error, ToolError)
            error = ended.error or ToolError("it failed")
            return results.failure(call, error) if decided else None
        if ended.how == "timed_out" and self._may_be_left(run) and self._has_time:
            words = f"It did not end within {run.tool.timeout_s} seconds."
            return results.failure(call, ToolError(words))
        return None

    def _outcome(self, run: _Run, result: ToolResult) -> tuple[Outcome, ToolResult]:
        """The entry for a result, or for the fact that the dialect has no words for it."""
        drive = self._drive
        call = run.effect.call
        at_us = drive.plan.now_us()
        try:
            outcome = writing.outcome(drive.record, call, result, at_us=at_us)
        except Unsayable:
            result = results.unsayable(call, result)
            outcome = writing.outcome(drive.record, call, result, at_us=at_us)
        key = msgspec.structs.replace(outcome.call, answer=run.answer)
        return msgspec.structs.replace(outcome, call=key), result
