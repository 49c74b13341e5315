"""What can be done with a conversation on a store, as flows of acts.

They are written once, for both kinds of session, whose drivers carry them out.
"""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .. import clock
from ..drivers.acts import Do
from ..errors import Invalid, RevisionConflict
from ..record import views
from ..record.turns import turn_at
from ..stores.store import Listed, Metadata
from ..talk.decisions import decide, settle
from ..talk.inputs import messages_of, read_inputs
from ..talk.keeping import Arrival
from ..talk.talk import Talk
from ..turn import writing
from .ledger import Ledger
from .points import forked, marked, point, rewound
from .tenure import Tenure
from .turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..chat import AsyncChat, Chat
    from ..messages import Message, ToolCall
    from ..record.entries import Entry, PromptIdentity
    from ..record.record import Record
    from ..stores.store import AsyncStore, Store
    from ..talk.inputs import Input
    from .ledger import Flow
    from .turns import OnBusy

__all__ = ["Flows", "entries_of", "pending_of", "settling"]

Given = TypeVar("Given")


class Flows:
    """One conversation on a store: what can be done with it, for a driver to carry out."""

    def __init__(
        self, chat: Chat | AsyncChat, ledger: Ledger, tenure: Tenure, busy: OnBusy
    ) -> None:
        self.chat = chat
        self.ledger = ledger
        self.tenure = tenure
        self.busy: OnBusy = busy
        self._begin_transaction = _transactions(ledger.store)

    @property
    def name(self) -> str:
        """The name of the conversation on its store."""
        return self.ledger.name

    # -- turns ------------------------------------------------------------------------------------

    def turn(
        self,
        session: object,
        messages: Sequence[Input],
        given: Mapping[str, Any],
        *,
        turn_id: str | None = None,
        stream: bool = False,
        resumes: bool = False,
        anew: bool = False,
        prompt: PromptIdentity | None = None,
        committed: Callable[[Record], Flow[None]] | None = None,
    ) -> Turn:
        """Take a talk through. ``session`` is what its tools are given as such.

        ``committed`` is carried out after each append, before anything depends on it.
        """
        chat = self.chat
        options = chat.options.but(given)
        if options.checkpoint is not None:
            raise Invalid(
                "expected no checkpoint=, as a session makes every entry durable on its store: "
                "leave it out"
            )
        inputs = read_inputs(messages, options.system, chat.model.dialect)
        rescue = partial(chat.keeping.rescue, owner="")

        def begin(record: Record, began: int | None) -> Talk:
            return Talk(
                chat.model,
                options,
                Arrival(record),
                inputs,
                save=partial(chat.keeping.save, owner=""),
                rescue=rescue,
                turn_id=turn_id,
                stream=stream,
                resumes=resumes,
                session=session,
                transaction=self._begin_transaction,
                name=self.name,
                prompt=prompt,
                find=lambda record, _: None if began is None else turn_at(record, began),
            )

        return Turn(
            self.ledger,
            self.tenure,
            self.busy,
            begin,
            rescue,
            turn_id=turn_id,
            anew=anew or resumes or bool(inputs.results) or not inputs.messages,
            timeout_s=options.timeout_s,
            committed=committed,
        )

    # -- without the model ------------------------------------------------------------------------

    def change(self, change: Callable[[Record], Record], *, whole: bool = False) -> Flow[Record]:
        """Append what a change comes to, to whatever the conversation has come to by then.

        Gives the record before the change.
        """
        ledger = self.ledger
        while True:
            record = yield from (ledger.whole() if whole else ledger.fresh())
            after = change(record)
            entries = tuple(after.entries(record.length))
            try:
                if entries:
                    yield from ledger.append(after, entries)
            except RevisionConflict:
                continue
            return record

    def said(self, messages: Sequence[Input]) -> Callable[[Record], Record]:
        """Put messages on the record."""
        said = messages_of(messages, self.chat.model.dialect)

        def say(record: Record) -> Record:
            for entry in writing.said(record, said, "append", at_us=clock.now_us()):
                record = record.apply(entry)
            return record

        return say

    def decided(
        self,
        calls: Sequence[ToolCall | str],
        verdict: Literal["approved", "denied"],
        given: Mapping[str, Any],
        **said: str,
    ) -> Callable[[Record], Record]:
        """Let calls run, or keep them from it."""
        rules = self.chat.options.but(given).rules
        return lambda record: decide(record, rules, calls, verdict, **said)

    def append(self, messages: Sequence[Input]) -> Flow[None]:
        """Put messages on the record, and make that durable."""
        yield from self.change(self.said(messages))

    def mark(self, name: str) -> Flow[int]:
        """Mark where the conversation stands, and give the point."""
        before = yield from self.change(partial(marked, name=name))
        return before.length

    def rewind(self, to: int | str) -> Flow[None]:
        """Go on from an earlier point."""
        yield from self.change(lambda record: rewound(record, point(record, to)), whole=True)

    def clear(self) -> Flow[None]:
        """Go on from the start; where nothing was recorded, that is where it stands."""
        yield from self.change(
            lambda record: rewound(record, 0) if record.length else record, whole=True
        )

    def fork(self, new: str, at: int | str | None) -> Flow[int | None]:
        """Make a fork; give where it still has to go back to, if anywhere."""
        ledger = self.ledger
        record = yield from (ledger.fresh() if at is None else ledger.whole())
        if ledger.head is None or ledger.head.seq == 0:
            raise Invalid(f"expected a conversation named {self.name!r}, found none to fork")
        head, back = forked(ledger.head, record, None if at is None else point(record, at))
        yield from ledger.certainly(partial(ledger.store.fork, self.name, new, head))
        return back

    # -- looking ----------------------------------------------------------------------------------

    def look(self, view: Callable[[Record], Given], *, whole: bool = False) -> Flow[Given]:
        """Give a view of the conversation as it is now; ``whole``, of all that ever was."""
        record = yield from (self.ledger.whole() if whole else self.ledger.fresh())
        with self.ledger.reading():
            return view(record)

    def history(self, *, everything: bool) -> Flow[tuple[Message, ...]]:
        """The messages of valid turns, or every message that was ever said."""
        if everything:
            return (yield from self.look(views.comprehensive, whole=True))
        record = yield from self.ledger.fresh()
        head = self.ledger.head
        if head is not None and head.spans and head.spans[0][0]:  # It was compacted.
            record = yield from self.ledger.whole()
        with self.ledger.reading():
            return views.curated(record)

    def metadata(self) -> Flow[Metadata]:
        """What is known of the conversation beside what is said in it."""
        listing = yield Do(partial(self.ledger.store.list, prefix=self.name, limit=1))
        found: list[Listed] = [
            each
            for each in listing.conversations  # type: ignore[attr-defined]
            if each.conversation == self.name
        ]
        return found[0].metadata if found else Metadata()

    def describe(self, metadata: Metadata) -> Flow[None]:
        """Replace what is known of the conversation."""
        yield Do(partial(self.ledger.store.describe, self.name, metadata))

    def delete(self) -> Flow[None]:
        """Delete the conversation from its store."""
        yield Do(partial(self.ledger.store.delete, self.name))
        self.ledger.forget()
        self.ledger.head = None


def _transactions(store: Store | AsyncStore) -> Callable[[bool], object] | None:
    """Give what begins a transaction for a tool, which may block; None if the store has none."""
    begin: Callable[..., object] | None = getattr(store, "begin", None)
    if begin is None:
        return None
    if inspect.iscoroutinefunction(begin):
        return lambda blocking: begin(blocking=blocking)
    return lambda _: begin()


def pending_of(record: Record) -> tuple[ToolCall, ...]:
    """The calls that have no result yet."""
    return record.pending


def entries_of(record: Record) -> tuple[Entry, ...]:
    """All entries that are here."""
    return tuple(record.entries())


def settling(
    call: ToolCall | str, result: object, *, not_run: bool, by: str
) -> Callable[[Record], Record]:
    """Say what became of a call that may have run."""
    return lambda record: settle(record, call, result, not_run=not_run, by=by)
