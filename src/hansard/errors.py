"""Every error that Hansard raises, in one tree.

    HansardError
    ├── Invalid (ValueError)            the caller asked for what cannot be
    │   ├── InvalidMessage              a message or part that no dialect could say
    │   ├── InvalidTransition           an entry that may not follow what is on the record
    │   ├── InvalidTurn                 a turn id used again with another input
    │   ├── InvalidState                a state that was refused, where refusal raises
    │   ├── InvalidKey                  a key or keyring that cannot seal anything
    │   ├── Unsayable                   this dialect has no words for it
    │   └── UnknownDialect              no dialect is registered under that name
    ├── PendingCalls                    the turn waits for tool results or a person
    ├── DecodeError (ValueError)        bytes from outside are not what they should be
    ├── ProviderError                   the provider answered with an error
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
    "DecodeError",
    "HansardError",
    "Invalid",
    "InvalidKey",
    "InvalidMessage",
    "InvalidState",
    "InvalidTransition",
    "InvalidTurn",
    "MissingExtra",
    "PendingCalls",
    "ProviderError",
    "SealBroken",
    "UnknownDialect",
    "Unsayable",
]


class HansardError(Exception):
    """The root of all errors that Hansard raises on purpose."""

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
    """A state that cannot be used, raised only where a refusal is not returned as a value."""

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
    """The provider answered with an error instead of a message."""

    def __init__(self, message: str, *, status: int | None = None, body: bytes = b"") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


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
