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

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..dialects.dialect import Answer, Problem
from ..errors import (
    DecodeError,
    HansardError,
    Invalid,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
    TimedOut,
    Unreachable,
)
from ..messages import Usage
from ..record.entries import TurnEnd
from ..turn import writing
from ..turn.effects import Append, AskTool, CallModel, Finish, RunTool, Wait
from ..turn.events import AnswerDropped, ModelCalled, TurnEnded
from ..turn.machine import next_effects
from .acts import READ, Act, Call, Commit, Open
from .toolroom import Toolroom

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ..dialects.dialect import Ask, Dialect, Request
    from ..record.entries import Entry
    from ..record.record import Record
    from ..tools.context import Action
    from ..turn.events import Observation
    from ..turn.rules import Rules

__all__ = ["Drive", "Plan"]

_TRANSIENT = (RateLimited, Overloaded, Unreachable, NotAuthorized)
"""Errors that say nothing about the turn: it stays open, to be resumed."""


@dataclass(frozen=True)
class Plan:
    """What a drive is to do, and by which clocks.

    ``ask`` makes the question that a record comes to. ``deadline_s`` is on the clock
    ``monotonic_s``. ``tell`` and ``log_action`` are given observations and what tools report for
    people.
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


class Drive:
    """Takes one record as far as it goes. Used once."""

    def __init__(self, record: Record, plan: Plan) -> None:
        self.record = record
        self.committed = record
        self.plan = plan
        self._staged: list[Entry] = []
        self._is_committing = False
        self._tools = Toolroom(self)
        self._began = record
        self._began_s = plan.monotonic_s()
        self._usage = Usage()

    @property
    def dialect(self) -> Dialect:
        """The dialect of the conversation."""
        return self.record.dialect

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
        try:
            return (yield from self._run())
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._tools.stop()
            if not self._is_committing:
                yield from self.commit()
            raise

    def _run(self) -> Generator[Act, object, Wait | Finish]:
        rounds = 0
        while True:
            rules = self.plan.rules
            running = self._tools.running
            effects = next_effects(self.record, rules, running, at_us=self.plan.now_us())
            starts: list[RunTool | AskTool] = []
            for effect in effects:
                if isinstance(effect, Append):
                    self.stage(*effect.entries)
                elif isinstance(effect, CallModel):
                    yield from self._call_model()
                elif isinstance(effect, RunTool | AskTool):
                    starts.append(effect)
                else:
                    yield from self.commit()
                    self._tell_end(effect, rounds)
                    return effect
            if starts or (running and not effects):
                yield from self.commit()
                yield from self._tools.work(starts)
            rounds = self.record.turn.rounds if self.record.turn else rounds

    def commit(self) -> Generator[Act, object, None]:
        """Make durable what is staged, if anything is."""
        if self._staged:
            self._is_committing = True
            yield Commit(tuple(self._staged), self.record)
            self._is_committing = False
            self._staged = []
            self.committed = self.record

    def in_time(self) -> None:
        """Raise `TimedOut` where no time is left."""
        if self.left_s() == 0.0:
            raise TimedOut("the time for this turn is over; it can be resumed where it stopped")

    # -- the model ------------------------------------------------------------------------------

    def _call_model(self) -> Generator[Act, object, None]:
        request = self._request()
        yield from self.commit()
        self.in_time()
        began_s = self.plan.monotonic_s()
        messages = self.record.context.count
        try:
            if self.plan.stream:
                answer = yield from self._streamed(request)
            else:
                body = yield Call(request, self.left_s())
                answer = self._parsed(body)  # type: ignore[arg-type]
        except ProviderError as error:
            self._tell_model(messages, began_s, None, type(error).__name__)
            if (told := self._given_up(error)) is not error:
                raise told from error
            raise
        self.stage(writing.answer(self.record, answer, at_us=self.plan.now_us()))
        code = answer.problems[0].code if answer.problems else ""
        self._tell_model(messages, began_s, answer, code)
        if self.plan.stream and answer.problems:
            yield AnswerDropped(answer.problems)

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
        except GeneratorExit:
            raise
        except BaseException:
            if fed:  # What came has been paid for.
                came = reader.close()
                self.stage(writing.interrupted(self.record, came, at_us=self.plan.now_us()))
            raise
        return reader.close()

    def _given_up(self, error: ProviderError) -> HansardError:
        """Put on the record that nobody answered; end a turn that could never be answered."""
        at_us = self.plan.now_us()
        name = type(error).__name__
        self.stage(writing.attempt(self.record, name, "", at_us=at_us))
        if not isinstance(error, _TRANSIENT):
            self.stage(writing.end(self.record, "failed", at_us=at_us, error=name))
        if self.left_s() == 0.0:
            return TimedOut("the time for this turn is over; it can be resumed")
        return error

    def _tell_model(self, messages: int, began_s: float, answer: Answer | None, error: str) -> None:
        usage = answer.usage if answer else None
        if usage is not None:
            self._usage += usage
        if self.plan.tell is None:
            return
        self.tell(
            ModelCalled(
                conversation=self.record.conversation,
                turn=self.record.turn_number,
                model=self.plan.model,
                messages=messages,
                usage=usage,
                finish=answer.finish if answer else None,
                error=error,
                duration_s=self.plan.monotonic_s() - began_s,
            )
        )

    def _tell_end(self, effect: Wait | Finish, rounds: int) -> None:
        if self.plan.tell is None or self.record is self._began:
            return
        last = self.record.entry(self.record.length - 1)
        status = last.status if isinstance(last, TurnEnd) else "done"
        self.tell(
            TurnEnded(
                conversation=self.record.conversation,
                turn=self.record.turn_number,
                status="open" if isinstance(effect, Wait) else status,
                rounds=rounds,
                usage=self._usage,
                duration_s=self.plan.monotonic_s() - self._began_s,
            )
        )
