"""How a chat keeps its states: how they are spelled, and what becomes of one that is refused."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from .. import clock
from ..errors import Invalid, Unsayable
from ..messages import Draft, Message, ToolResult
from ..record import versions
from ..record.record import Record
from ..state import DEFAULT_LIMITS, Limits, Loaded, Rejected, State, load, save
from .carrying import carry
from .listeners import check_listener, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..dialects.dialect import Dialect
    from ..neutral import Converted
    from ..sealing import Keyring

__all__ = ["Arrival", "Keeping"]

_LOG = logging.getLogger("hansard")


class Arrival(msgspec.Struct, frozen=True):
    """A conversation that came as a state, and what had to be done for it to go on here."""

    record: Record
    rejected: Rejected | None = None
    converted: Converted | None = None


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """How states are read and written. `Chat` says what each means."""

    version: int = versions.CURRENT
    compress: Literal["gzip"] | None = None
    keyring: Keyring | None = None
    limits: Limits = DEFAULT_LIMITS
    convert: bool = False
    on_rejected: Callable[[Rejected], object] | None = None

    def __post_init__(self) -> None:
        """Refuse what could never work, where it is written."""
        if self.on_rejected is not None:
            check_listener("on_rejected", self.on_rejected)

    def load(self, data: bytes | None, dialect: Dialect, owner: str) -> Arrival:
        """Read a state; one that cannot be used is set aside, and that is told.

        Raises `SealBroken` where a seal does not open.
        """
        loaded = self._read(data, dialect, owner)
        if loaded.rejected is not None:
            self._tell(loaded.rejected)
        if loaded.record.dialect.name == dialect.name:
            return Arrival(loaded.record, loaded.rejected)
        record, converted = carry(loaded.record, dialect)
        return Arrival(record, converted=converted)

    def check(self, data: bytes | None, dialect: Dialect, owner: str) -> Rejected | None:
        """Say why a state would be refused; None if it would not."""
        return self._read(data, dialect, owner).rejected

    def _read(self, data: bytes | None, dialect: Dialect, owner: str) -> Loaded:
        _check_is_state(data)
        return load(
            data,
            dialect,
            conversation=clock.new_name(),
            keyring=self.keyring,
            owner=owner,
            limits=self.limits,
            any_dialect=self.convert,
        )

    def save(self, record: Record, owner: str) -> State:
        """Spell a record.

        Raises `Unsayable` where the version has no words for it, and `InvalidState` where it would
        be too large to be loaded again.
        """
        return self._save(record, owner, self.version, self.limits)

    def rescue(self, record: Record, owner: str) -> State:
        """Spell a record for whoever catches an error: in the current version if it must be."""
        try:
            return self._save(record, owner, self.version, None)
        except Unsayable:
            return self._save(record, owner, versions.CURRENT, None)

    def _save(self, record: Record, owner: str, version: int, limits: Limits | None) -> State:
        return save(
            record,
            version=version,
            compress=self.compress,
            keyring=self.keyring,
            owner=owner,
            limits=limits,
        )

    def _tell(self, rejected: Rejected) -> None:
        _LOG.error(
            "a state was set aside, and its conversation starts afresh: %s (%d bytes)",
            rejected.reason,
            len(rejected.blob),
        )
        if self.on_rejected is not None:
            tell(self.on_rejected, rejected)


def _check_is_state(data: object) -> None:
    """Raise `Invalid` for what was likely meant as something else."""
    if data is None or isinstance(data, bytes):
        return
    if isinstance(data, str | Draft | Message | ToolResult):
        raise Invalid(
            f"expected the state first, found {type(data).__name__}: chat.send(None, 'hi') begins "
            "a conversation, chat.send(reply.state, 'hi') goes on with one; keep states as bytes"
        )
    if hasattr(data, "state"):
        found = type(data).__name__
        raise Invalid(f"expected a state as bytes, found {found}: pass its .state")
