"""Effects: what the machine wants done. It does nothing itself.

A driver carries them out in the order in which they stand, and asks again when something has come
of it. Each has a key that is the same whenever the same thing is to be done; no driver has two
effects of one key in flight.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import msgspec

from ..messages import ToolCall
from ..record.entries import Entry
from ..tools.invocation import Invocation

if TYPE_CHECKING:
    from ..record.record import Record

__all__ = [
    "Append",
    "AskTool",
    "CallModel",
    "Effect",
    "Finish",
    "RunTool",
    "Wait",
    "WaitingFor",
    "call_key",
    "model_key",
]


class Append(msgspec.Struct, frozen=True):
    """Put entries on the record, all or none, before anything that follows is done."""

    entries: tuple[Entry, ...]

    @property
    def key(self) -> str:
        """The place on the record: whoever comes second finds it taken."""
        return f"append:{self.entries[0].seq}"


class CallModel(msgspec.Struct, frozen=True):
    """Send the model the context, and record its answer."""

    key: str


class RunTool(msgspec.Struct, frozen=True):
    """Run a tool, and record the outcome. The key is the call's idempotency key."""

    key: str
    call: ToolCall
    invocation: Invocation


class AskTool(msgspec.Struct, frozen=True):
    """Ask a tool's ``on_unknown`` what became of a call that may have run."""

    key: str
    call: ToolCall


WaitingFor: TypeAlias = Literal["result", "approval", "settlement"]
"""What a call waits for: the caller's result, a person's yes or no, or word of what became of it.
"""


class Wait(msgspec.Struct, frozen=True):
    """Nothing can be done before somebody says something about these calls."""

    key: ClassVar[str] = "wait"

    calls: tuple[tuple[ToolCall, WaitingFor], ...]

    def waiting_for(self, what: WaitingFor) -> tuple[ToolCall, ...]:
        """The calls that wait for one thing."""
        return tuple([call for call, reason in self.calls if reason == what])


class Finish(msgspec.Struct, frozen=True):
    """The turn is over."""

    key: ClassVar[str] = "finish"


Effect: TypeAlias = Append | CallModel | RunTool | AskTool | Wait | Finish


def model_key(record: Record) -> str:
    """The key of the next call of the model: another one for each answer that the turn has had."""
    turn = record.turn
    done = (turn.rounds, turn.failures) if turn else (0, 0)
    return f"model:{record.turn_number}:{done[0]}:{done[1]}"


def call_key(record: Record, call: ToolCall) -> str:
    """The idempotency key of a call of the open round: the same over every retry and resume.

    Ids that providers give can repeat, so that a call is known by its place as well: by the round
    of its turn, as the number of an entry may still change before it is durable.
    """
    rounds = record.turn.rounds if record.turn else 0
    place = f"{record.conversation}\n{record.turn_number}\n{rounds}\n{call.position}\n{call.id}"
    return blake2b(place.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
