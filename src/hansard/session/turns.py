"""A turn on a ledger: what a `Talk` wants made durable is appended, while nobody else is at work.

Rules:

- A plain turn is two appends: the first takes the lease, the last lets go of it.
- Before a turn that is open already is gone on with, the lease is taken and the ledger read anew:
  somebody else may just have finished it.
- Whoever finds, before anything of its own is durable, that somebody was faster, begins again.
- What others append meanwhile comes first. What is ours is put behind it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..drivers.acts import Call, Commit, Do, Open, Pause, StartJobs
from ..errors import (
    Busy,
    HansardError,
    Invalid,
    InvalidTransition,
    LeaseLost,
    NoSuchConversation,
    RevisionConflict,
    TimedOut,
)
from ..record.entries import TurnBegin

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..drivers.acts import Act
    from ..record.entries import Entry
    from ..record.record import Record
    from ..state import State
    from ..talk.reply import Reply
    from ..talk.talk import Talk
    from .ledger import Flow, Ledger
    from .tenure import Tenure

__all__ = ["OnBusy", "Turn"]

OnBusy: TypeAlias = Literal["wait", "raise"]

_LOOKS_S = (0.01, 0.02, 0.05, 0.1)
"""How long to wait before looking again whether somebody is still at work; then the last."""


class _Overtaken(Exception):
    """Somebody was faster, and nothing of this is durable yet."""


@dataclass
class Turn:
    """One talk, taken through on a ledger.

    ``begin`` makes the talk, from what is on record and where the turn of its id began. With
    ``anew`` that depends on what others have recorded, and is read first. ``committed`` is carried
    out after each append.
    """

    ledger: Ledger
    tenure: Tenure
    on_busy: OnBusy
    begin: Callable[[Record, int | None], Talk]
    rescue: Callable[[Record], State]
    turn_id: str | None = None
    anew: bool = False
    timeout_s: float | None = None
    talk: Talk | None = None
    committed: Callable[[Record], Flow[None]] | None = None

    @property
    def state(self) -> State:
        """What is on the record so far, as a state."""
        if self.talk is not None:
            return self.talk.state
        return self.rescue(self.ledger.empty if self.ledger.record is None else self.ledger.record)

    def acts(self) -> Flow[Reply]:
        """Take it through. Whatever ends this early says how far the conversation has come."""
        until_s = None if self.timeout_s is None else time.monotonic() + self.timeout_s
        looks = chain(_LOOKS_S, repeat(_LOOKS_S[-1]))
        anew = self.anew
        self._check_idle()
        try:
            while True:
                try:
                    record, began = yield from self._look(anew=anew)
                    self.talk = self.begin(record, began)
                    self.talk.deadline_s = until_s
                    return (yield from self._carry_out(self.talk))
                except _Overtaken:
                    pass
                except Busy as busy:
                    self.tenure.ended()
                    if self.on_busy == "raise":
                        raise
                    if until_s is not None and time.monotonic() >= until_s:
                        raise _waited_too_long(busy) from busy
                    yield Pause(next(looks))
                anew = True
        except GeneratorExit:
            self.tenure.ended()  # Nobody can let go of the lease any more: it runs out.
            raise
        except BaseException as error:
            yield from self._let_go()
            error.conversation = self.ledger.name  # type: ignore[attr-defined]
            error.revision = self.ledger.revision  # type: ignore[attr-defined]
            raise

    def _check_idle(self) -> None:
        """Raise `Invalid` where this very session is in the middle of a turn."""
        if self.tenure.held:
            raise Invalid(
                f"expected a session that is not in the middle of a turn, found one of "
                f"{self.ledger.name!r} whose tool is running or whose stream is open: wait until "
                "it has ended, or use append"
            )

    def _look(self, *, anew: bool) -> Flow[tuple[Record, int | None]]:
        """See where the conversation stands; where a turn is open, as the one at work on it.

        The turn is looked for last: one of which the record does not know yet would otherwise
        be begun again.
        """
        try:
            return (yield from self._look_at(self.ledger, anew=anew))
        except NoSuchConversation:  # It was deleted just now.
            raise _Overtaken from None

    def _look_at(self, ledger: Ledger, *, anew: bool) -> Flow[tuple[Record, int | None]]:
        record = yield from (ledger.fresh() if anew else ledger.known())
        if record.turn is not None:
            yield from self._take()
            record = yield from ledger.fresh()
        if record.turn is None:  # It may have been finished just before.
            yield from self._let_go()
        if self.turn_id is None:
            return record, None
        began = yield from ledger.begun(self.turn_id)
        if began is not None and began >= record.length:
            raise _Overtaken
        return (yield from ledger.known()), began

    def _take(self) -> Flow[None]:
        """Take the lease, or hold on to it, as the only one at work from now on."""
        lease = partial(self.ledger.store.lease, self.ledger.name, self.tenure.hold())
        fence = yield Do(lease)
        self.tenure.took(fence)  # type: ignore[arg-type]

    def _carry_out(self, talk: Talk) -> Flow[Reply]:
        """Pass on what a talk wants done, but for its commits: these are appended here."""
        acts = talk.acts()
        step: Callable[..., Act] = acts.send
        given: object = None
        while True:
            try:
                act = step(given)
            except StopIteration as done:
                yield from self._let_go()
                return done.value  # type: ignore[no-any-return]
            step, given = acts.send, None
            try:
                if isinstance(act, Commit):
                    given = yield from self._append(act)
                else:
                    if isinstance(act, Call | Open | StartJobs) and self.tenure.overdue:
                        yield from self._take()
                    given = yield act
            except (GeneratorExit, _Overtaken, Busy):
                acts.close()
                raise
            except BaseException as error:  # noqa: BLE001 -- the talk raises it again
                step, given = acts.throw, error

    def _append(self, act: Commit) -> Flow[Record | None]:
        """Make entries durable, behind what others have appended; give where that leads, if so."""
        record, entries = act.record, act.entries
        begins = isinstance(entries[0], TurnBegin)
        while True:
            try:
                if act.within is not None:
                    yield from self.ledger.append_within(act.within, record, entries)
                else:
                    yield from self._append_holding(record, entries)
            except RevisionConflict:
                if begins:
                    self.tenure.ended()
                    raise _Overtaken from None
                record, entries = yield from self._behind_others(act)
                continue
            except Busy as busy:
                if begins:
                    raise
                raise LeaseLost(f"expected to hold the lease, found that {busy}") from busy
            if self.committed is not None:
                yield from self.committed(record)
            return None if record is act.record else record

    def _append_holding(self, record: Record, entries: tuple[Entry, ...]) -> Flow[None]:
        """Append as the one at work, until the turn is over."""
        hold = self.tenure.hold(last=record.turn is None)
        receipt = yield from self.ledger.append(
            record, entries, hold=hold, turn_id=self._id_of(entries[0])
        )
        if hold.ttl_s:
            self.tenure.took(receipt.fence)
        else:
            self.tenure.ended()

    def _id_of(self, entry: Entry) -> str | None:
        """The id by which the turn is to be found that begins with an entry."""
        begins = isinstance(entry, TurnBegin) and entry.turn_id == self.turn_id
        return self.turn_id if begins else None

    def _behind_others(self, act: Commit) -> Flow[tuple[Record, tuple[Entry, ...]]]:
        try:
            return (yield from self.ledger.rebased(act.entries))
        except InvalidTransition as error:
            raise LeaseLost(
                "expected that others only append messages while a turn is under way, found that "
                f"they have changed it: {error}"
            ) from error

    def _let_go(self) -> Flow[None]:
        """Let go of the lease, if it may be held. Where that fails, it runs out by itself."""
        if not self.tenure.asked:
            return
        hold = self.tenure.hold(last=True)
        self.tenure.ended()
        with suppress(HansardError):
            yield Do(partial(self.ledger.store.lease, self.ledger.name, hold))


def _waited_too_long(busy: Busy) -> TimedOut:
    return TimedOut(f"expected the conversation to be free in time, found that {busy}")
