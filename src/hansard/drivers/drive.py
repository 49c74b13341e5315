"""One drive: from where a record stands to where it can go no further.

Written once, for every way of waiting: `Drive.run` is a generator of `acts`. It asks the machine
what to do, puts what came of it on the record, and asks again.

Rules:

- Entries are staged, and committed before anything else happens: what belongs together goes
  together, and no effect starts before what leads to it is durable.
- Whatever ends a drive early, an error of the provider, a cancellation, a reader who leaves, it
  first puts on the record what has been paid for.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

import msgspec

from ..dialects.dialect import Answer, Problem
from ..errors import (
    DecodeError,
    HansardError,
    Invalid,
    LeaseLost,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
    Unreachable,
)
from ..messages import Message, Usage
from ..record.entries import INTERRUPTED, Intent, Outcome, TurnEnd
from ..turn import writing
from ..turn.effects import Append, AskTool, CallModel, Finish, RunTool, Wait
from ..turn.events import AnswerDropped, CallFinished, ModelCalled, TurnEnded
from ..turn.machine import next_effects
from .acts import READ, Act, Call, Commit, Open
from .toolroom import Toolroom

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from ..dialects.dialect import Ask, Dialect, Request
    from ..record.entries import Entry
    from ..record.record import Record
    from ..stores.store import AsyncTransaction, Transaction
    from ..tools.context import Action
    from ..turn.events import Observation
    from ..turn.rules import Rules

__all__ = ["Drive", "Plan"]

_TRANSIENT = (RateLimited, Overloaded, Unreachable, NotAuthorized)
"""Errors that say nothing about the turn: it stays open, to be resumed."""

_STARTS = (RunTool, AskTool)
_ENDS = (Wait, Finish)


class Plan(msgspec.Struct, frozen=True):
    """What a drive is to do, and by which clocks.

    ``ask`` makes the question that a record comes to. ``deadline_s`` is on the clock
    ``monotonic_s``. ``tell`` and ``log_action`` are given observations and what tools report for
    people. ``name`` is what observers know the conversation by, if not by its id. ``transaction``
    begins one for a tool to write in, where the record's store has them; it is told whether the
    tool blocks.
    """

    rules: Rules
    ask: Callable[[Record], Ask]
    model: str
    now_us: Callable[[], int]
    monotonic_s: Callable[[], float]
    deadline_s: float | None = None
    stream: bool = False
    tell: Callable[[Observation], None] | None = None
    log_action: Callable[[Action], None] | None = None
    session: object = None
    name: str = ""
    transaction: Callable[[bool], object] | None = None


class Drive:
    """Takes one record as far as it goes. Used once."""

    def __init__(self, record: Record, plan: Plan) -> None:
        self.record = record
        self.committed = record
        self.plan = plan
        self.rules = plan.rules
        self._staged: list[Entry] = []
        self._is_committing = False
        self._began = record
        self._began_s = self._asked_s = plan.monotonic_s()
        self._rounds = 0
        self._usage = Usage()

    @property
    def dialect(self) -> Dialect:
        """The dialect of the conversation."""
        return self.record.dialect

    @property
    def name(self) -> str:
        """What observers know the conversation by."""
        return self.plan.name or self.record.conversation

    def stage(self, *entries: Entry) -> None:
        """Put entries on the record here; they become durable with the next commit."""
        for entry in entries:
            self.record = self.record.apply(entry)
            self._staged.append(entry)

    def tell(self, observation: Observation) -> None:
        """Tell observers."""
        if self.plan.tell is not None:
            self.plan.tell(observation)

    def left_s(self) -> float | None:
        """How many seconds are left for this drive."""
        if self.plan.deadline_s is None:
            return None
        return max(0.0, self.plan.deadline_s - self.plan.monotonic_s())

    def run(self) -> Generator[Act, object, Wait | Finish]:
        """Do what there is to do, and say why there is nothing more."""
        tools = Toolroom(self)
        try:
            ended = yield from self._run(tools)
        except GeneratorExit:
            raise
        except BaseException as error:
            yield from tools.stop()
            if self._is_committing:
                self._take_back_intents()
                if isinstance(error, LeaseLost):  # What tools came to may still have a place.
                    with suppress(LeaseLost):
                        yield from self.commit()
            else:
                yield from self.commit()
            self._tell_end()
            raise
        self._tell_end()
        return ended

    def _run(self, tools: Toolroom) -> Generator[Act, object, Wait | Finish]:
        while True:
            running = tools.running
            effects = next_effects(self.record, self.rules, running, at_us=self.plan.now_us())
            starts = [effect for effect in effects if isinstance(effect, _STARTS)]
            if starts:
                self.in_time()
            for effect in effects:
                if isinstance(effect, Append):
                    if self.plan.stream:
                        yield from self._finished(effect)
                    self.stage(*effect.entries)
                elif isinstance(effect, CallModel):
                    yield from self._call_model()
                elif isinstance(effect, _ENDS):
                    yield from self.commit()
                    return effect
            if starts or (running and not effects):
                yield from self._work(tools, starts)
            if self.record.turn is not None:
                self._rounds = self.record.turn.rounds

    def _work(
        self, tools: Toolroom, starts: Sequence[RunTool | AskTool]
    ) -> Generator[Act, object, None]:
        """Run tools, unless others have recorded what may change what is to be done.

        Intents come behind messages only, which change nothing.
        """
        intends = any([isinstance(entry, Intent) for entry in self._staged])
        moved = yield from self.commit()
        if intends or not moved:
            yield from tools.work(starts)

    def _finished(self, append: Append) -> Iterator[CallFinished]:
        """Tell of the calls that are answered without being run."""
        round_ = self.record.turn.round if self.record.turn else None
        calls = {call.position: call for call in round_.pending} if round_ else {}
        for entry in append.entries:
            if isinstance(entry, Outcome):
                call = calls[entry.call.position]
                said = Message(self.dialect, self.dialect.frame([bytes(entry.raw)])[0])
                result = said.tool_results[0]
                is_error = entry.status == "error"  # Not every dialect has a word for that.
                yield CallFinished(call, msgspec.structs.replace(result, is_error=is_error))

    def commit(
        self, within: Transaction | AsyncTransaction | None = None
    ) -> Generator[Act, object, bool]:
        """Make durable what is staged, if anything is; say whether it came behind others."""
        led_to = None
        if self._staged:
            self._is_committing = True
            led_to = yield Commit(tuple(self._staged), self.record, within)
            self._is_committing = False
            self._staged = []
            if led_to is not None:
                self.record = cast("Record", led_to)
            self.committed = self.record
        return led_to is not None

    def _take_back_intents(self) -> None:
        """Leave out that calls were about to start. They have not, as that was to be durable."""
        staged, self._staged, self.record = self._staged, [], self.committed
        for entry in staged:
            if not isinstance(entry, Intent):
                self.stage(msgspec.structs.replace(entry, seq=self.record.length))

    def in_time(self) -> None:
        """Raise `TimedOut` where no time is left."""
        if self.left_s() == 0.0:
            raise _timed_out()

    # -- the model ------------------------------------------------------------------------------

    def _call_model(self) -> Generator[Act, object, None]:
        request = self._request()
        if (yield from self.commit()):
            return  # What others have recorded may change what is to be done, or said.
        self.in_time()
        self._asked_s = self.plan.monotonic_s()
        try:
            if self.plan.stream:
                answer = yield from self._streamed(request)
            else:
                body = yield Call(request, self.left_s())
                answer = self._parsed(body)  # type: ignore[arg-type]
        except ProviderError as error:
            self._tell_model(None, type(error).__name__)
            if (told := self._given_up(error)) is not error:
                raise told from error
            raise
        self._take(answer)
        if self.plan.stream and answer.problems:
            yield AnswerDropped(answer.problems)

    def _take(self, answer: Answer) -> None:
        """Put a whole answer on the record, be it valid or not."""
        self._tell_model(answer, answer.problems[0].code if answer.problems else "")
        self.stage(writing.answer(self.record, answer, at_us=self.plan.now_us()))

    def _request(self) -> Request:
        """Make the request. Where nobody could, nothing of this drive is put on the record."""
        try:
            return self.dialect.request(self.plan.ask(self.record))
        except Invalid:
            if self.committed is self._began:
                self.record, self._staged = self._began, []
            raise

    def _parsed(self, body: bytes) -> Answer:
        try:
            return self.dialect.parse(body)
        except DecodeError as error:  # Something on the way answered in the model's place.
            return Answer(None, problems=(Problem("malformed_event", str(error)),))

    def _streamed(self, request: Request) -> Generator[Act, object, Answer]:
        reader = self.dialect.stream()
        yield Open(request, self.left_s())
        fed = False
        try:
            while (chunk := (yield READ)) is not None:
                fed = True
                yield from reader.feed(chunk)  # type: ignore[arg-type]
            answer = reader.close()
            yield from reader.last_events
        except GeneratorExit:
            raise
        except BaseException as error:
            if not fed:
                raise
            answer = reader.close()
            if answer.cut or not isinstance(error, ProviderError):
                self._break_off(answer)
                raise
        return answer

    def _break_off(self, came: Answer) -> None:
        """Put on the record what has come of an answer: it has been paid for."""
        if not came.cut:
            self._take(came)
            return
        self._tell_model(came, INTERRUPTED)
        self.stage(writing.interrupted(self.record, came, at_us=self.plan.now_us()))

    def _given_up(self, error: ProviderError) -> HansardError:
        """Put on the record that nobody answered; end a turn that could never be answered."""
        at_us = self.plan.now_us()
        name = type(error).__name__
        self.stage(writing.attempt(self.record, name, "", at_us=at_us))
        if not isinstance(error, _TRANSIENT):
            self.stage(writing.end(self.record, "failed", at_us=at_us, error=name))
        if self.left_s() == 0.0:
            return _timed_out()
        return error

    def _tell_model(self, answer: Answer | None, error: str) -> None:
        if self.plan.tell is None:
            return
        usage = answer.usage if answer else None
        if usage is not None:
            self._usage += usage
        self.tell(
            ModelCalled(
                conversation=self.name,
                turn=self.record.turn_number,
                model=self.plan.model,
                messages=self.record.context.count,
                usage=usage,
                finish=answer.finish if answer else None,
                error=error,
                duration_s=self.plan.monotonic_s() - self._asked_s,
            )
        )

    def _tell_end(self) -> None:
        if self.plan.tell is None or self.record is self._began:
            return
        last = self.record.entry(self.record.length - 1)
        self.tell(
            TurnEnded(
                conversation=self.name,
                turn=self.record.turn_number,
                status=last.status if isinstance(last, TurnEnd) else "open",
                rounds=self._rounds,
                usage=self._usage,
                duration_s=self.plan.monotonic_s() - self._began_s,
            )
        )


def _timed_out() -> TimedOut:
    return TimedOut("the time for this turn is over; it can be resumed where it stopped")
