"""One call of a chat, from what is said to the reply.

`Talk.acts` is written once, for every driver: it first finishes a turn that is still open, or goes
on with it if that is what was asked for, then begins a new one.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from .. import clock
from ..dialects.dialect import Ask
from ..dialects.pairing import answers
from ..drivers.drive import Drive, Plan
from ..errors import Invalid, InvalidTurn, PendingCalls, ToolIdempotencyError, TooManyRounds
from ..record.entries import TurnEnd
from ..record.turns import closed_turn, entries_of
from ..state import State
from ..tools import outputs
from ..turn import writing
from ..turn.effects import Wait
from ..turn.machine import TOO_MANY_ROUNDS
from ..turn.standing import callers_calls
from . import past
from .inputs import pair
from .listeners import tell
from .reply import Reply

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from ..drivers.acts import Act
    from ..messages import ToolCall
    from ..models import Model
    from ..record.entries import Entry, PromptIdentity
    from ..record.record import Record
    from ..record.turns import TurnHead
    from ..tools.context import Action
    from ..turn.effects import Finish
    from ..turn.events import Observation
    from ..turn.rules import Rules
    from .inputs import Inputs
    from .keeping import Arrival
    from .options import Options

__all__ = ["Talk"]


@dataclass
class Talk:
    """One call. ``rescue`` can spell any record, ``save`` perhaps none with an open turn.

    One that ``resumes`` has nothing to say: it goes on with the turn that is open, or gives the
    last reply again. ``session`` is what tools are given as such, ``name`` what observers are told;
    ``find`` gives the closed turn of an id. ``prompt`` is what a new turn is begun with.
    ``transaction`` begins one, for tools to write in. ``deadline_s`` is when its time is over, if
    that was decided before; else it begins with `acts`.
    """

    model: Model
    options: Options
    arrival: Arrival
    inputs: Inputs
    save: Callable[[Record], State]
    rescue: Callable[[Record], State]
    turn_id: str | None = None
    stream: bool = False
    resumes: bool = False
    session: object = None
    name: str = ""
    prompt: PromptIdentity | None = None
    transaction: Callable[[bool], object] | None = None
    find: Callable[[Record, str], TurnHead | None] = closed_turn
    actions: list[Action] = field(default_factory=list)
    deadline_s: float | None = None

    def __post_init__(self) -> None:
        """Start where the conversation stands."""
        self._record = self.arrival.record
        self._drive: Drive | None = None

    @property
    def record(self) -> Record:
        """What is on the record so far."""
        return self._drive.record if self._drive else self._record

    @property
    def state(self) -> State:
        """What is on the record so far, for whoever has to go on later."""
        return self.rescue(self.record)

    def _give_state(self, error: BaseException) -> None:
        """Put the state on an error that takes it, and has no ``state`` that is something else."""
        with suppress(Exception):  # The error itself matters more.
            if isinstance(getattr(error, "state", None), State | None):
                error.state = self.state  # type: ignore[attr-defined]

    def acts(self) -> Generator[Act, object, Reply]:
        """Say it, and give the reply. Whatever ends this early carries the state so far."""
        if self.deadline_s is None and self.options.timeout_s is not None:
            self.deadline_s = time.monotonic() + self.options.timeout_s
        try:
            return (yield from self._acts())
        except GeneratorExit:
            raise
        except BaseException as error:
            self._give_state(error)
            raise
        finally:
            # A drive and its talk hold each other: the state would wait for the cycle collector.
            self._record, self._drive = self.record, None

    def _acts(self) -> Generator[Act, object, Reply]:
        if self.resumes and (self.inputs.messages or self.inputs.results):
            raise Invalid(
                "expected nothing but leading system messages, found more to say: use send(…)"
            )
        if (known := self._known_turn()) is not None:
            return self._tell_again(known)
        if self._goes_on():
            return (yield from self._go_on())
        earlier = None
        if self.arrival.record.turn is not None:
            earlier = yield from self._finish_earlier()
        return (yield from self._begin(earlier))

    # -- a turn that is over ----------------------------------------------------------------------

    def _known_turn(self) -> TurnHead | None:
        """The turn that this is about, if it is over and something of it is left."""
        record = self.arrival.record
        if self.resumes and record.turn is None:
            return self._last_turn()
        head = None if self.turn_id is None else self.find(record, self.turn_id)
        if head is None:
            return None
        if self.inputs.messages:
            self._check_same(head.input_digest)
        return head if past.is_left(record, head) else None

    def _last_turn(self) -> TurnHead:
        if (head := past.last_turn(self.arrival.record)) is None:
            rejected = self.arrival.rejected
            aside = f" (the state was set aside: {rejected.detail})" if rejected else ""
            raise Invalid(
                "expected a conversation in which something was asked, found none to go on with"
                f"{aside}: begin with send(…)"
            )
        return head

    def _tell_again(self, head: TurnHead) -> Reply:
        """Give the reply of a turn again, or raise its error again. Nobody is asked."""
        record = self.arrival.record
        reply = self._make_reply(record, partial(entries_of, record, head.number), head=head)
        past.raise_again(head)
        return self._checked(reply, head.error)

    # -- a turn that is open ----------------------------------------------------------------------

    def _goes_on(self) -> bool:
        """Whether this is about the turn that is open."""
        turn = self.arrival.record.turn
        if turn is None:
            if self.inputs.results or not self.inputs.messages:
                self._refuse_to_go_on()
            return False
        if self.inputs.results or not self.inputs.messages:
            return True
        same = self.turn_id is not None and self.turn_id == turn.begin.turn_id
        if same:
            self._check_same(turn.begin.input_digest)
        return same

    def _refuse_to_go_on(self) -> None:
        if not self.inputs.results:
            raise Invalid("expected something to say, found nothing: give send(…) a message")
        carried = ", as it was carried over from another dialect" if self.arrival.converted else ""
        raise Invalid(
            "expected results for calls that wait for them, found a conversation in which no call "
            f"does{carried}: nothing was recorded"
        )

    def _go_on(self) -> Generator[Act, object, Reply]:
        record = self.arrival.record
        drive = self._start(record, stream=self.stream)
        results = self.inputs.results
        answered = pair(self._answerable(record), results) if results else []
        if self.inputs.messages and not self._is_prompt_of(record):
            # Before the results: so a dialect can say both in one message.
            said = writing.said(drive.record, self.inputs.messages, "append", at_us=clock.now_us())
            drive.stage(*said)
        for call, result in answered:
            drive.stage(writing.outcome(drive.record, call, result, at_us=clock.now_us()))
        return self._reply(drive, (yield from drive.run()))

    def _is_prompt_of(self, record: Record) -> bool:
        """Whether what is said is what the open turn was begun with, said again."""
        begin = record.turn.begin if record.turn else None
        if begin is None or begin.turn_id != self.turn_id:
            return False
        return not self.inputs.results or begin.input_digest == self._digest()

    def _answerable(self, record: Record) -> Sequence[ToolCall]:
        """The calls that results are expected for.

        Whoever answers a call that would be run here was handed all calls of its answer.
        """
        rules = self._rules(self.options)
        own = callers_calls(record, rules)
        if all([any([answers(result, call) for call in own]) for result in self.inputs.results]):
            return own
        return callers_calls(record, msgspec.structs.replace(rules, run_tools=False))

    def _finish_earlier(self) -> Generator[Act, object, Reply]:
        """Bring the turn that is open to its end, so that another can begin, and give its reply."""
        drive = self._start(self.arrival.record, stream=False, earlier=True)
        ended = yield from drive.run()
        if isinstance(ended, Wait):
            _refuse_to_wait(ended)
        record = drive.record
        entries = partial(entries_of, record, record.turn_number)
        reply = self._make_reply(record, entries, decodes=False)
        self.actions = []
        return reply

    # -- a new turn -------------------------------------------------------------------------------

    def _begin(self, earlier: Reply | None) -> Generator[Act, object, Reply]:
        drive = self._start(self.record, stream=self.stream)
        at_us = clock.now_us()
        digest = self._digest() if self.turn_id is not None else ""
        turn_id = clock.new_name() if self.turn_id is None else self.turn_id
        begin = writing.begin(
            drive.record, turn_id, at_us=at_us, prompt=self.prompt, input_digest=digest
        )
        drive.stage(begin)
        drive.stage(*writing.said(drive.record, self.inputs.messages, "input", at_us=at_us))
        return self._reply(drive, (yield from drive.run()), earlier)

    def _digest(self) -> str:
        """What tells one input from another."""
        spelled = b"\n".join([message.raw for message, _ in self.inputs.messages])
        return blake2b(spelled, digest_size=16).hexdigest()

    def _check_same(self, digest: str) -> None:
        if digest and digest != self._digest():
            raise InvalidTurn(
                f"expected the same input as before for turn {self.turn_id!r}, found another: "
                "give another turn_id to say something else"
            )

    # -- driving ----------------------------------------------------------------------------------

    def _start(self, record: Record, *, stream: bool, earlier: bool = False) -> Drive:
        options = self.options
        if earlier:
            options = replace(options, tool_choice=None, output=None)
        plan = Plan(
            rules=self._rules(options),
            ask=partial(self._ask, options, stream),
            model=self.model.name,
            now_us=clock.now_us,
            monotonic_s=time.monotonic,
            deadline_s=self.deadline_s,
            stream=stream,
            tell=self._tell if options.observers else None,
            log_action=self._log_action,
            session=self.session,
            name=self.name,
            transaction=self.transaction,
        )
        self._drive = Drive(record, plan)
        return self._drive

    def _rules(self, options: Options) -> Rules:
        """What the turn machine has to know, here."""
        rules = options.rules
        if self.transaction is None:
            return rules
        return msgspec.structs.replace(rules, transactions=True)

    def _ask(self, options: Options, stream: bool, record: Record) -> Ask:  # noqa: FBT001
        """The question that a record comes to."""
        choice = options.tool_choice
        forced = choice not in (None, "auto", "none")
        parameters = self.model.parameters
        if options.parameters:
            parameters = {**parameters, **options.parameters}
        return Ask(
            model=self.model.name,
            messages=record.context.segments(record.dialect),
            system=self.inputs.system,
            tools=options.specs,
            tool_choice=None if forced and record.turn and record.turn.rounds else choice,
            output=None if options.output is None else outputs.output_schema(options.output)[0],
            stream=stream,
            parameters=parameters,
        )

    def _tell(self, observation: Observation) -> None:
        for observer in self.options.observers:
            tell(observer, observation)

    def _log_action(self, action: Action) -> None:
        self.actions.append(action)
        if self.options.on_action is not None:
            tell(self.options.on_action, action)

    # -- the end ----------------------------------------------------------------------------------

    def _reply(self, drive: Drive, ended: Wait | Finish, earlier: Reply | None = None) -> Reply:
        record = drive.record
        waits = ended if isinstance(ended, Wait) else None
        if waits is not None and waits.waiting_for("settlement"):
            _refuse_to_wait(waits)
        entries = partial(entries_of, record, record.turn_number)
        reply = self._make_reply(record, entries, waits, earlier=earlier)
        last = record.entry(record.length - 1)
        return self._checked(reply, last.error if isinstance(last, TurnEnd) else "")

    def _checked(self, reply: Reply, error: str) -> Reply:
        """Raise what this turn's end is raised as, or give its reply."""
        if error == TOO_MANY_ROUNDS:
            raise TooManyRounds(
                "expected the turn to end within the answers that max_rounds= allows, found that "
                'the model wants to go on: calls of the last answer were not run; say "go on" '
                "from error.state, with a higher max_rounds="
            )
        if self.options.strict:
            reply.check()
        return reply

    def _make_reply(
        self,
        record: Record,
        entries: Callable[[], Sequence[Entry]],
        waits: Wait | None = None,
        *,
        head: TurnHead | None = None,
        earlier: Reply | None = None,
        decodes: bool = True,
    ) -> Reply:
        output = self.options.output if decodes else None
        return Reply(
            record,
            entries,
            arrival=self.arrival,
            save=self.save,
            waits=waits,
            actions=self.actions,
            decode=None if output is None else partial(outputs.decode, output),
            rescue=self.rescue,
            head=head,
            earlier=earlier,
        )


def _refuse_to_wait(waits: Wait) -> None:
    """Raise for calls without which the conversation cannot go on."""
    doubtful = waits.waiting_for("settlement")
    if doubtful:
        names = ", ".join([f"{call.name} ({call.id})" for call in doubtful])
        raise ToolIdempotencyError(
            f"expected to know whether {names} ran, found that it was started and nobody can say: "
            "find out, then settle(…, result) or settle(…, not_run=True); what may run again does "
            "so with resume(…)",
            calls=doubtful,
        )
    calls = [call for call, _ in waits.calls]
    names = ", ".join([f"{call.name} ({call.id}) waits for {what}" for call, what in waits.calls])
    raise PendingCalls(
        f"expected a turn that can go on, found calls that must be answered first: {names}; use "
        "send_tool_results, approve or deny, or abandon the turn",
        calls=calls,
    )
