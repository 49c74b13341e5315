"""What a turn came to, as its caller sees it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import AnswerCut, InvalidAnswer, OutputMismatch, Unsayable
from ..messages import Message, Refusal, Usage
from ..record.entries import Attempt, Said, TurnEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..messages import Finish, Part, ToolCall
    from ..neutral import LossReport
    from ..record.entries import Entry
    from ..record.record import Record
    from ..record.turns import TurnHead
    from ..state import Rejected, State
    from ..tools.context import Action
    from ..turn.effects import Wait
    from .keeping import Arrival

__all__ = ["Reply"]


class Reply:
    """The answer that a turn ended with, or the calls that it waits for.

    All but ``actions`` is read from the record, when it is asked for. ``earlier`` is the reply of
    the turn that was still open, and that was finished before this one began; None where none was.
    """

    def __init__(
        self,
        record: Record,
        entries: Callable[[], Sequence[Entry]],
        *,
        arrival: Arrival,
        save: Callable[[Record], State],
        waits: Wait | None = None,
        actions: Sequence[Action] = (),
        decode: Callable[[str], object] | None = None,
        rescue: Callable[[Record], State] | None = None,
        head: TurnHead | None = None,
        earlier: Reply | None = None,
    ) -> None:
        self.record = record
        self.actions = tuple(actions)
        self.earlier = earlier
        self._read_entries = entries
        self._arrival = arrival
        self._save = save
        self._waits = waits
        self._decode = decode
        self._rescue = rescue or save
        self._head = head

    # -- the answer -----------------------------------------------------------------------------

    @cached_property
    def message(self) -> Message | None:
        """The answer in the provider's own words; None where there was no message at all."""
        return Message(self.record.dialect, bytes(self._last.raw)) if self._last else None

    @property
    def text(self) -> str:
        """What the model said, without its thoughts."""
        return self.message.text if self.message else ""

    @property
    def thought_text(self) -> str:
        """What the model thought, as far as it can be read."""
        return self.message.thought_text if self.message else ""

    @property
    def has_thoughts(self) -> bool:
        """Whether there is any reasoning, readable or not."""
        return self.message is not None and self.message.has_thoughts

    @property
    def thought_signatures(self) -> tuple[str, ...]:
        """The signatures on the parts of the answer. They go back by themselves."""
        return self.message.thought_signatures if self.message else ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything in the answer, in order."""
        return self.message.parts if self.message else ()

    @property
    def finish_reason(self) -> Finish | None:
        """Why the answer ended; ``length`` or ``overflow`` where it was cut by a limit."""
        return self._last.finish if self._last else None

    @cached_property
    def output(self) -> Any:  # noqa: ANN401 - it is of the type that was asked for
        """The answer as the type that was asked for with ``output=``; None where none was.

        Raises `OutputMismatch`, with the text, where it is not of that type.
        """
        if self._decode is None or self._waits:
            return None
        try:
            return self._decode(self._said())
        except OutputMismatch as error:
            error.state = self._rescue(self.record)
            raise

    def _said(self) -> str:
        """The text of the answer. Raises `OutputMismatch` where it refuses in other words."""
        words = "".join([part.text for part in self.parts if isinstance(part, Refusal)])
        if words and not self.text:
            raise OutputMismatch(
                "expected an answer of the type that was asked for, found that the model refuses; "
                "its words are the text of this error",
                text=words,
            )
        return self.text

    # -- what the turn waits for ------------------------------------------------------------------

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that are the caller's to answer, with `Chat.send_tool_results`."""
        return self._waits.waiting_for("result") if self._waits else ()

    @property
    def approvals(self) -> tuple[ToolCall, ...]:
        """The calls that wait for `Chat.approve` or `Chat.deny`."""
        return self._waits.waiting_for("approval") if self._waits else ()

    # -- how it went ------------------------------------------------------------------------------

    @cached_property
    def usages(self) -> tuple[Usage, ...]:
        """What each call of the model cost, also those whose answers were invalid."""
        called = [entry for entry in self._entries if isinstance(entry, Attempt | Said)]
        return tuple([entry.usage for entry in called if entry.usage is not None])

    @cached_property
    def usage(self) -> Usage:
        """What the whole turn cost."""
        return sum(self.usages, Usage())

    @cached_property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the answer, as the codes of `Problem`; empty where it is valid.

        An invalid answer is on the record, and not part of the conversation that goes on. A turn
        that was abandoned has the one problem ``abandoned``.
        """
        end = self._end
        if end is None or end.status == "done":
            return ()
        return tuple(end.error.split()) if end.status == "failed" else ("abandoned",)

    @property
    def valid(self) -> bool:
        """Whether the turn has ended with a valid answer, or waits in good order."""
        return not self.problems

    def check(self) -> None:
        """Raise `InvalidAnswer` where the answer is invalid, `AnswerCut` where it was cut."""
        if self.problems:
            kept = self._last is not None and not self._last.problems
            left = "what was valid in it is kept" if kept else "nothing of it is left"
            raise InvalidAnswer(
                f"expected a valid answer, found these problems: {', '.join(self.problems)}; the "
                f"turn is over, and {left} in the conversation that goes on",
                problems=self.problems,
            )
        if self.finish_reason in _CUT:
            raise AnswerCut(
                f"expected a whole answer, found one that was cut: {_CUT[self.finish_reason]}",
                text=self.text,
            )

    # -- the conversation -------------------------------------------------------------------------

    @cached_property
    def state(self) -> State:
        """The conversation as opaque bytes, to be given back next time.

        Raises `Unsayable` where a chat that writes version 1 waits in an open turn; the error's
        ``.state`` has the conversation in version 2. Raises `InvalidState` where it is beyond the
        chat's limits, and would not be loaded again; the error's ``.state`` has it all the same.
        """
        try:
            return self._save(self.record)
        except Unsayable as error:
            error.state = self._rescue(self.record)
            raise

    @property
    def rejected(self) -> Rejected | None:
        """The state that could not be used, and why; None where there was none such."""
        return self._arrival.rejected

    @property
    def losses(self) -> LossReport:
        """What could not be said when the state was converted from another dialect."""
        from ..neutral import LossReport

        converted = self._arrival.converted
        return converted.report if converted else LossReport()

    def __repr__(self) -> str:
        if self._waits:
            waits = ", ".join([f"{call.name} for {what}" for call, what in self._waits.calls])
            return f"<Reply waiting: {waits}>"
        shown = self.text if len(self.text) <= _REPR_MAX else f"{self.text[: _REPR_MAX - 1]}…"
        return f"<Reply {self.finish_reason} {shown!r}>"

    # -- reading it -------------------------------------------------------------------------------

    @cached_property
    def _entries(self) -> Sequence[Entry]:
        """The entries of this turn."""
        return self._read_entries()

    @cached_property
    def _end(self) -> TurnHead | TurnEnd | None:
        """How the turn ended; a blob has that, though it has no such entry."""
        ends = [entry for entry in self._entries if isinstance(entry, TurnEnd)]
        return ends[-1] if ends else self._head

    @cached_property
    def _last(self) -> Said | None:
        """The last valid answer; the last one, where none is valid."""
        said = [entry for entry in self._entries if isinstance(entry, Said)]
        answers = [entry for entry in said if entry.author == "model"]
        valid = [entry for entry in answers if not entry.problems]
        found = valid or answers
        return found[-1] if found else None


_CUT = {
    "length": "it reached its length limit; allow more tokens, or ask the model to go on",
    "overflow": "no room was left for it in the context window; make the conversation shorter",
}
"""Why an answer ends before it is whole, and what to do then."""

_REPR_MAX = 60
