"""Evaluating a prompt in a session, from wherever that stands, as a flow of acts.

Beginning and resuming are one: a turn that is open is gone on with, one that is done gives its
reply again, and where there is neither the prompt is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .. import clock
from ..errors import OutputMismatch, PendingCalls
from ..neutral import LossReport
from ..record.entries import TurnBegin
from ..record.turns import ended
from ..session.rebuilding import rebuilt
from ..session.restoring import is_of, put, restored, snapshot_of
from .prompts import PromptResponse, check_identity, identity_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..neutral import ConversationState
    from ..record.entries import PromptIdentity
    from ..record.record import Record
    from ..session.ledger import Flow
    from ..session.shared import SharedSession
    from ..session.snapshots import Snapshot
    from ..talk.reply import Reply
    from .prompts import OnChanged, Prompt

__all__ = ["Evaluation", "took_up"]

Output = TypeVar("Output")


def took_up(session: SharedSession, snapshot: Snapshot) -> Flow[LossReport]:
    """Bring a session to where a checkpoint was saved; one that has come further stays there."""
    flows, _ = session.parts
    record = yield from flows.ledger.whole()
    if is_of(snapshot, record) and record.length >= snapshot.revision.seq:
        return LossReport()
    return (yield from restored(flows, snapshot))


@dataclass
class Evaluation(Generic[Output]):
    """One prompt, evaluated in one session. ``save`` is told of every append, before what follows.

    ``resumes``: the session may have come to an answer of this prompt already, which is the reply.
    """

    session: SharedSession
    prompt: Prompt[Output]
    on_changed: OnChanged = "raise"
    save: Callable[[Snapshot], Flow[None]] | None = None
    resumes: bool = False
    losses: LossReport = LossReport()  # noqa: RUF009 - a tuple, which nobody changes

    def __post_init__(self) -> None:
        self.identity = identity_of(self.prompt, self.session.parts[0].chat)

    def acts(self, state: ConversationState | None) -> Flow[PromptResponse[Output]]:
        """Evaluate it; with a ``state``, from where that stands."""
        flows, _ = self.session.parts
        record = yield from flows.ledger.whole()
        if state is not None:
            check_identity(self.identity, state, self.on_changed)
            if record.turn is None and not record.context.count:
                record = yield from self._take_over(state, record)
            self.resumes = True
        if record.turn is not None:
            check_identity(self.identity, record.turn.begin.prompt, self.on_changed)
        elif not (self.resumes and self._is_done(record)):
            return self._response((yield from self._turn(self.prompt.render())))
        again = record.turn is None
        reply = yield from self._turn(None)
        try:
            return self._response(reply)
        except OutputMismatch:
            if not again:
                raise
        # What is on record is no answer of this type: it was said before, and is asked for again.
        return self._response((yield from self._turn(self.prompt.render())))

    def _take_over(self, state: ConversationState, record: Record) -> Flow[Record]:
        """Put a state on the record of a session in which nothing was said."""
        last = state.turns[-1].evaluation_id if state.turns else state.evaluation_id
        after, losses = rebuilt(record, state, turn_id=last, at_us=clock.now_us(), goes_on=True)
        self.losses = LossReport([*self.losses, *losses])
        flows, _ = self.session.parts
        yield from put(flows, [*after.entries(record.length)])
        record = yield from flows.ledger.known()
        yield from self._committed(record)
        return record

    def _is_done(self, record: Record) -> bool:
        """Whether the last turn is of this prompt, and came to a valid answer."""
        heads = [*ended(record.entries())]
        if not heads or heads[-1].status != "done":
            return False
        begins = [entry for entry in record.entries() if isinstance(entry, TurnBegin)]
        prompt = begins[-1].prompt
        return prompt is not None and _name(prompt) == _name(self.identity)

    def _turn(self, text: str | None) -> Flow[Reply]:
        """Say something and give the reply, or go on with what was said."""
        flows, _ = self.session.parts
        turn = flows.turn(
            self.session,
            () if text is None else (text,),
            self.prompt.options,
            resumes=text is None,
            prompt=self.identity,
            committed=self._committed,
        )
        return (yield from turn.acts())

    def _committed(self, record: Record) -> Flow[None]:
        if self.save is not None:
            _, slices = self.session.parts
            yield from self.save(snapshot_of(slices, record))

    def _response(self, reply: Reply) -> PromptResponse[Output]:
        waiting = (*reply.tool_calls, *reply.approvals)
        if waiting:
            names = ", ".join([f"{call.name} ({call.id})" for call in waiting])
            raise PendingCalls(
                f"expected an answer, found calls that wait for somebody: {names}; reopen the "
                "request, answer, approve or deny them, save it, and execute it again",
                calls=waiting,
            )
        reply.check()
        output: Any = reply.output
        return PromptResponse(self.identity, reply.text, output, reply, self.losses)


def _name(prompt: PromptIdentity) -> tuple[str, str]:
    return prompt.namespace, prompt.key
