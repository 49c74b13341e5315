"""A session whose methods block."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ..drivers.blocking import BlockingDriver
from ..record import views
from ..stores.store import Metadata
from ..talk.decisions import abandon
from ..talk.streams import Stream
from .flows import entries_of, pending_of, settling
from .restoring import restored, taken
from .shared import SharedSession, with_shared
from .slices import Slice, source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from ..dialects.pairing import Repair
    from ..messages import Message, ToolCall, ToolResult
    from ..neutral import LossReport
    from ..record.entries import Entry
    from ..stores.store import Hold
    from ..talk.inputs import Input
    from ..talk.options import CallOptions
    from ..talk.reply import Reply
    from .ledger import Flow
    from .snapshots import Snapshot

__all__ = ["Session"]

Given = TypeVar("Given")
Item = TypeVar("Item")


class Session(SharedSession):
    """One conversation on a store.

    So it begins, and goes on in any process::

        session = chat.session(store, "conversation-42")
        reply = session.send(user("Book it"), turn_id="wamid.123")
    """

    __doc__ = with_shared(__doc__)
    _awaited = False

    def send(
        self, *messages: Input, turn_id: str | None = None, **options: Unpack[CallOptions]
    ) -> Reply:
        """Say something, and give the model's reply once all tools have run.

        As `Chat.send`; everything is on the store before anything depends on it. The same
        ``turn_id`` again gives the recorded reply, and calls nothing.
        """
        return self._run(self._flows.turn(self, messages, options, turn_id=turn_id).acts())

    def stream(
        self, *messages: Input, turn_id: str | None = None, **options: Unpack[CallOptions]
    ) -> Stream:
        """`send`, told while it goes on. Without messages it goes on with an open turn."""
        turn = self._flows.turn(self, messages, options, turn_id=turn_id, stream=True)
        return Stream(turn, self._driver())

    def resume(self, *leading: Input, **options: Unpack[CallOptions]) -> Reply:
        """Go on with the turn that is open, from wherever it stopped, whoever began it.

        As `Chat.resume`.
        """
        return self._run(self._flows.turn(self, leading, options, resumes=True).acts())

    def send_tool_results(
        self,
        results: Sequence[ToolResult],
        *messages: Input,
        **options: Unpack[CallOptions],
    ) -> Reply:
        """Answer the calls in ``reply.tool_calls``, and go on. As `Chat.send_tool_results`."""
        return self._run(self._flows.turn(self, [*results, *messages], options).acts())

    def append(self, *messages: Input) -> None:
        """Put messages on the record without asking the model. It sees them the next time."""
        self._run(self._flows.append(messages))

    def pending(self) -> tuple[ToolCall, ...]:
        """The calls that have no result yet."""
        return self._run(self._flows.look(pending_of))

    def approve(
        self,
        *calls: ToolCall | str,
        by: str = "",
        reason: str = "",
        **options: Unpack[CallOptions],
    ) -> None:
        """Let calls run that have not started; `resume` then runs them. As `Chat.approve`."""
        flows = self._flows
        self._run(flows.change(flows.decided(calls, "approved", options, by=by, reason=reason)))

    def deny(
        self,
        *calls: ToolCall | str,
        by: str = "",
        reason: str = "",
        **options: Unpack[CallOptions],
    ) -> None:
        """Keep calls from running, those that `approve` would let run. As `Chat.deny`."""
        flows = self._flows
        self._run(flows.change(flows.decided(calls, "denied", options, by=by, reason=reason)))

    def settle(
        self, call: ToolCall | str, result: object = None, *, not_run: bool = False, by: str = ""
    ) -> None:
        """Say what became of a call that may have run. As `Chat.settle`."""
        self._run(self._flows.change(settling(call, result, not_run=not_run, by=by)))

    def abandon(self) -> None:
        """End a turn that is open, without finishing it. As `Chat.abandon`."""
        self._run(self._flows.change(abandon))

    def history(self, *, everything: bool = False) -> tuple[Message, ...]:
        """The messages of valid turns, verbatim, as if nothing had been compacted.

        With ``everything``, every message that was ever said, also what was rewound.
        """
        return self._run(self._flows.history(everything=everything))

    def log(self) -> tuple[Entry, ...]:
        """Every entry that there ever was."""
        return self._run(self._flows.look(entries_of, whole=True))

    def repairs(self) -> tuple[Repair, ...]:
        """What had to be mended in the context so that a provider takes it."""
        return self._run(self._flows.look(views.repairs))

    def mark(self, name: str) -> int:
        """Mark the point where the conversation stands, for `rewind` and `fork`."""
        return self._run(self._flows.mark(name))

    def rewind(self, to: int | str) -> None:
        """Go on from an earlier point: a mark, by its name or by what `mark` gave.

        What came after it is on the log, and in no context any more.
        """
        self._run(self._flows.rewind(to))

    def clear(self) -> None:
        """Go on from the start: with an empty history, and all that was on the log.

        Does nothing where nothing was recorded yet.
        """
        self._run(self._flows.clear())

    def fork(self, new: str, *, at: int | str | None = None) -> Session:
        """Make another conversation, which shares with this one what there is, up to a point."""
        back = self._run(self._flows.fork(new, at))
        session = self._beside(new)
        if back is not None:
            session.rewind(back)
        return session

    def snapshot(self) -> Snapshot:
        """Take a snapshot: where the conversation stands now, slices and all.

        It costs next to nothing; `Snapshot.to_json`, which stands by itself, reads everything.
        """
        return self._run_locked(taken(self._slices, at_once=False))

    def restore(self, snapshot: Snapshot) -> LossReport:
        """Let the conversation stand where it stood when a snapshot was taken.

        One of this very conversation is a rewind to there, and leaves a turn that is open now. One
        of another is replayed here, from the start on, whatever was here before; a turn that is
        open in it can be resumed, and needs a session in which there is nothing. One of another
        dialect is said anew in this one: what could not be said is what this gives back.

        Raises `SnapshotRestoreError`, having changed nothing, for one that does not fit. What is
        replayed is several appends, turn by turn, and not made as a whole: others may see part of
        it, and what they append meanwhile comes in between (and goes where the snapshot's own log
        goes back behind it). Whoever is cut off, or meets a `RevisionConflict` as somebody has
        begun a turn, finds the old history on the log, and part of the new one in its place:
        restore the same snapshot again.
        """
        return self._run(restored(self._flows, snapshot))

    def metadata(self) -> Metadata:
        """What is known of the conversation beside what is said in it."""
        return self._run(self._flows.metadata())

    def describe(self, *, title: str = "", user: str = "", tags: Sequence[str] = ()) -> None:
        """Replace what is known of the conversation, to list and find it by."""
        self._run(self._flows.describe(Metadata(title, user, tuple(tags))))

    def delete(self) -> None:
        """Delete the conversation from its store."""
        self._run(self._flows.delete())

    def __getitem__(self, kind: type[Item]) -> Slice[Item]:
        """Give the slice of a type that was registered, or that of `ConversationState`.

        Tools may use it too, while their turn is under way: ``context.session[Plan]``.
        """
        return Slice(source_of(kind, self._flows, self._slices), self._run_locked)

    def carry_out(self, flow: Flow[Given]) -> Given:
        """Carry out a flow of acts, for those who build on sessions, as loops are."""
        return self._run(flow)

    def _run_locked(self, flow: Flow[Given]) -> Given:
        """Run what several threads may want at once."""
        with self._slices.lock:
            return self._run(flow)

    def _driver(self) -> BlockingDriver:
        return BlockingDriver(self._flows.chat.model.blocking(), None)

    def _run(self, flow: Flow[Given]) -> Given:
        return self._driver().run(flow)

    def _renew(self, hold: Hold, renewed: Callable[[], None]) -> None:
        self._flows.ledger.store.lease(self.name, hold)
        renewed()
