"""Every error that Hansard raises, in one tree.

    HansardError
    ├── Invalid (ValueError)            the caller asked for what cannot be
    │   ├── InvalidMessage              a message or part that no dialect could say
    │   ├── InvalidTransition           an entry that may not follow what is on the record
    │   ├── InvalidTurn                 a turn id used again with another input
    │   ├── InvalidState                a state that was refused, where refusal raises
    │   ├── InvalidKey                  a key or keyring that cannot seal anything
    │   ├── Unsayable                   this dialect has no words for it
    │   ├── UnknownDialect              no dialect is registered under that name
    │   ├── ConversationStateMismatch   a conversation of another prompt
    │   ├── SnapshotRestoreError        a snapshot that is broken, or does not fit here
    │   └── NoSuchConversation          a store has none of that name
    ├── PendingCalls                    the turn waits for tool results or a person
    ├── DecodeError (ValueError)        bytes from outside are not what they should be
    ├── ProviderError                   the provider answered with an error
    │   ├── RateLimited                 too many requests or tokens: later, or less often
    │   ├── Overloaded                  the provider is down or has too much to do: later
    │   ├── ContextOverflow             the conversation is longer than the model can take
    │   ├── NotAuthorized               the key is missing, wrong, or not allowed to do this
    │   └── Unreachable                 nobody answered, or not in time
    ├── AnswerError                     the model answered, and it cannot be used
    │   ├── InvalidAnswer               it broke the rules each time it was asked
    │   ├── AnswerCut                   it reached a limit of length, where that was to raise
    │   ├── TooManyRounds               it went on calling tools beyond the limit
    │   └── OutputMismatch              it is not of the type that was asked for
    ├── RevisionConflict                somebody else has appended in the meantime
    ├── Busy                            somebody else is at work on the conversation
    ├── LeaseLost                       one was at work on it, and is no longer
    ├── StoreError                      a store cannot do what it is for
    │   ├── StoreUnavailable            it cannot be reached, or cannot write: later
    │   └── StoreCorrupt                what it gave back is not what was written
    ├── TimedOut (TimeoutError)         the time for the turn is over
    ├── ToolError                       a tool's own failure, worded for the model
    ├── ReducerFailed                   a slice's reducer did not take an event
    ├── ToolIdempotencyError            a call may have run, and must not run twice
    ├── SealBroken                      a sealed value that does not open
    └── MissingExtra (ImportError)      an optional dependency is not installed

Errors say what was expected, what was found and what to do next. They can be pickled,
and carry what they know as attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AnswerCut",
    "AnswerError",
    "Busy",
    "ContextOverflow",
    "ConversationStateMismatch",
    "DecodeError",
    "HansardError",
    "Invalid",
    "InvalidAnswer",
    "InvalidKey",
    "InvalidMessage",
    "InvalidState",
    "InvalidTransition",
    "InvalidTurn",
    "LeaseLost",
    "MissingExtra",
    "NoSuchConversation",
    "NotAuthorized",
    "OutputMismatch",
    "Overloaded",
    "PendingCalls",
    "ProviderError",
    "RateLimited",
    "ReducerFailed",
    "RevisionConflict",
    "SealBroken",
    "SnapshotRestoreError",
    "StoreCorrupt",
    "StoreError",
    "StoreUnavailable",
    "TimedOut",
    "TooManyRounds",
    "ToolError",
    "ToolIdempotencyError",
    "UnknownDialect",
    "Unreachable",
    "Unsayable",
]


class HansardError(Exception):
    """The root of all errors that Hansard raises on purpose.

    ``state`` is the conversation as of the last good entry, on errors that a turn raises where
    the caller keeps the state. Those raised in a session have its ``conversation``, by name, and
    the ``revision`` that it had reached.
    """

    state: bytes | None = None
    conversation: str | None = None
    revision: object = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by state, so that subclasses may take keyword arguments."""
        return _rebuild, (type(self), self.args, self.__dict__)


def _rebuild(
    kind: type[HansardError], args: tuple[Any, ...], state: dict[str, Any]
) -> HansardError:
    error = kind.__new__(kind, *args)
    super(HansardError, error).__init__(*args)
    error.__dict__.update(state)
    return error


class Invalid(HansardError, ValueError):
    """The caller's mistake: nothing was recorded and nothing was sent."""


class InvalidMessage(Invalid):
    """A message or a part of one that could never be valid."""


class InvalidTransition(Invalid):
    """An entry that may not follow what is already on the record."""


class InvalidTurn(Invalid):
    """A turn id that was used before, with another input."""


class InvalidKey(Invalid):
    """A key or a keyring that cannot be used."""


class InvalidState(Invalid):
    """A state that cannot be used, or could not be: ``reason`` is a code as `Rejected` has.

    Raised only where a refusal is not returned as a value.
    """

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class Unsayable(Invalid):
    """What was to be said has no words in this dialect."""

    def __init__(self, message: str, *, dialect: str = "", losses: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.dialect = dialect
        self.losses = tuple(losses)


class UnknownDialect(Invalid):
    """No dialect of that name is registered."""


class NoSuchConversation(Invalid):
    """A store has no conversation of that name."""


class ConversationStateMismatch(Invalid):
    """A conversation that another prompt was answered in, or this one before it was changed.

    ``expected`` and ``found`` are prompt identities. Clear the checkpoint and begin again; or go
    on all the same, with ``on_changed="continue"``, where only the wording has changed.
    """

    def __init__(self, message: str, *, expected: object = None, found: object = None) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class SnapshotRestoreError(Invalid):
    """A snapshot that is not one, or cannot be restored here. Nothing has changed.

    ``reason`` is a short stable code. Clear the checkpoint that it is from, and begin again.
    """

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class PendingCalls(HansardError):
    """The turn cannot go on: it waits for the named calls."""

    def __init__(self, message: str, *, calls: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.calls = tuple(calls)


class DecodeError(HansardError, ValueError):
    """Bytes from outside that are not what they should be.

    ``reason`` is a short stable code, ``path`` says where (``"messages[3].role"``).
    """

    def __init__(self, message: str, *, reason: str, path: str = "", dialect: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.path = path
        self.dialect = dialect


class ProviderError(HansardError):
    """The provider answered with an error instead of a message.

    ``code`` is the provider's own word for it, if it gave one. ``retry_after_s`` is how long it
    asked to be left alone.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        body: bytes = b"",
        code: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.body = body
        self.code = code
        self.retry_after_s = retry_after_s


class RateLimited(ProviderError):
    """Too many requests, or tokens, in too short a time."""


class Overloaded(ProviderError):
    """The provider cannot answer now; the same request may succeed later."""


class ContextOverflow(ProviderError):
    """The request is longer than the model can take: compact the conversation and go on."""


class NotAuthorized(ProviderError):
    """The provider does not let this key do this."""


class Unreachable(ProviderError):
    """No answer came: no connection, a broken one, or none in time. It may have been billed."""


class AnswerError(HansardError):
    """The model answered, and its answer cannot be used. It is on the record all the same."""


class InvalidAnswer(AnswerError):
    """The model broke the rules each time it was asked. ``problems`` are those of the last time."""

    def __init__(self, message: str, *, problems: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class AnswerCut(AnswerError):
    """The answer reached a limit of length, or of the context; ``text`` is what there is of it."""

    def __init__(self, message: str, *, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class TooManyRounds(AnswerError):
    """The model went on calling tools beyond the limit of rounds."""


class OutputMismatch(AnswerError):
    """The answer is not of the type that was asked for; ``text`` is the answer."""

    def __init__(self, message: str, *, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class RevisionConflict(HansardError):
    """Somebody else has appended in the meantime: read again, and decide again.

    ``expected`` and ``actual`` are revisions; ``actual`` is None where there is no conversation.
    """

    def __init__(self, message: str, *, expected: object = None, actual: object = None) -> None:
        super().__init__(message)
        self.expected = expected
        self.actual = actual


class Busy(HansardError):
    """Somebody else is at work on the conversation. ``owner`` says who, as they call themselves."""

    def __init__(self, message: str, *, owner: str = "") -> None:
        super().__init__(message)
        self.owner = owner


class LeaseLost(HansardError):
    """One was at work on a conversation, and took too long. What was recorded by then is there."""


class StoreError(HansardError):
    """A store cannot do what it is for."""


class StoreUnavailable(StoreError):
    """A store cannot be reached, or cannot write. The same call may succeed later."""


class StoreCorrupt(StoreError):
    """A store gave back what nobody can have written. ``reason`` is a short stable code."""

    def __init__(self, message: str, *, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class TimedOut(HansardError, TimeoutError):
    """The time for the turn is over. It stays open, and can be resumed."""


class ToolError(HansardError):
    """Raised by a tool to tell the model, in these words, that it failed.

    ``content`` may say it with more than words: anything that a tool may return.
    """

    def __init__(self, message: str = "", *, content: object = None) -> None:
        super().__init__(message)
        self.content = content


class ReducerFailed(HansardError):
    """A slice's reducer raised: the slice is as it was, and nothing was recorded."""

    def __init__(self, message: str, *, slice_type: str = "", item_type: str = "") -> None:
        super().__init__(message)
        self.slice_type = slice_type
        self.item_type = item_type


class ToolIdempotencyError(HansardError):
    """A call had started when the process died, and nobody knows whether it ran.

    It is not run again by itself. Whoever finds out says so: settle the call with its result, or
    as not run.
    """

    def __init__(self, message: str, *, calls: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.calls = tuple(calls)


class SealBroken(HansardError):
    """A sealed value that does not open: an attack, a wrong owner, or a lost key."""

    def __init__(self, message: str, *, reason: str, key_id: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.key_id = key_id


class MissingExtra(HansardError, ImportError):
    """An optional dependency is not installed; the message names the extra."""

    def __init__(self, message: str, *, extra: str = "") -> None:
        super().__init__(message)
        self.extra = extra
