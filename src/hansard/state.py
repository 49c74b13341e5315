"""The state that callers keep: a record as opaque bytes.

`save` spells a record, and packs and seals it if asked to; `load` undoes all that. A state that
cannot be used is not an exception: it is set aside, with the reason, and the conversation starts
fresh, because a user must never be stuck with a bad state. Only a seal that does not open raises,
because that is an attack or a lost key, and never merely an old format.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import msgspec

from . import rawjson
from .dialects import registry
from .errors import DecodeError, Invalid, InvalidState, SealBroken, UnknownDialect
from .record import versions
from .record.record import Record

if TYPE_CHECKING:
    from typing import Literal

    from .dialects.dialect import Dialect
    from .sealing import Keyring

__all__ = ["Limits", "Loaded", "Rejected", "State", "load", "save"]

_GZIP = b"\x1f\x8b"
_SEAL = b"\x9eHSL"
_GZIP_WINDOW = 31
_PURPOSE = "state"


class State(bytes):
    """A conversation as opaque bytes: keep them anywhere that gives back the same bytes."""

    __slots__ = ()

    def __repr__(self) -> str:
        kind = "gzip" if self.startswith(_GZIP) else "sealed" if self.startswith(_SEAL) else "JSON"
        return f"<State {len(self)} bytes, {kind}>"

    __str__ = __repr__


_DEPTH_MAX = rawjson.DEPTH_MAX + 5
"""Messages of a compaction stand in an entry among those of an open turn."""


class Limits(msgspec.Struct, frozen=True):
    """What a state may at most be. Checked before memory is spent on it.

    ``depth_max`` is how deep JSON may nest in it, brackets of the state's own too. A larger one
    than the default allows nothing more, since no message can nest deeper.
    """

    size_max: int = 64 << 20
    unpacked_max: int = 64 << 20
    messages_max: int = versions.MESSAGES_MAX
    depth_max: int = _DEPTH_MAX


DEFAULT_LIMITS = Limits()


class Rejected(msgspec.Struct, frozen=True):
    """A state that was set aside: a stable code, a sentence for people, and the state itself.

    The codes: ``too_large``, ``not_packed``, ``not_utf8``, ``not_json``, ``too_deep``,
    ``not_a_state``, ``version``, ``corrupt_blob``, ``checksum``, ``corrupt_message``,
    ``corrupt_entry``, ``unexpected_type``, ``illegal_entry``, ``unknown_dialect``,
    ``other_dialect``.
    """

    reason: str
    detail: str
    blob: bytes

    def __repr__(self) -> str:
        return f"<Rejected {self.reason}: {self.detail} ({len(self.blob)} bytes)>"


class Loaded(msgspec.Struct, frozen=True):
    """What a state came to: the record to go on with, and what was set aside, if it was."""

    record: Record
    rejected: Rejected | None = None


def save(
    record: Record,
    *,
    version: int = versions.CURRENT,
    compress: Literal["gzip"] | None = None,
    keyring: Keyring | None = None,
    owner: str = "",
    limits: Limits | None = None,
) -> State:
    """Spell a record as a state. The same record gives the same bytes, unless it is sealed.

    Sealing binds it to ``owner``, such as a user's id, and to being a state. Raises `InvalidState`
    for one that is beyond the limits, if any are given, under which it is to be loaded again: the
    error has it as ``.state``.
    """
    data = versions.write(record, version)
    unpacked = len(data)
    if compress == "gzip":
        data = _pack(data)
    elif compress is not None:
        raise Invalid(f"expected 'gzip' or None as compression, found {compress!r}")
    if keyring is not None:
        data = keyring.seal(data, owner=owner, purpose=_PURPOSE)
    state = State(data)
    if limits is not None:
        _check_limits(record, state, unpacked if compress else 0, limits)
    return state


def _check_limits(record: Record, state: State, unpacked: int, limits: Limits) -> None:
    for what, found, most in (
        ("bytes", len(state), limits.size_max),
        ("bytes, unpacked", unpacked, limits.unpacked_max),
        ("messages", record.context.count, limits.messages_max),
    ):
        if found > most:
            error = InvalidState(
                f"expected a state of at most {most} {what}, found {found}, which would not be "
                "loaded again: keep the state of this error, and load it with larger limits",
                reason="too_large",
            )
            error.state = state
            raise error


def load(
    data: bytes | bytearray | memoryview | None,
    dialect: Dialect,
    *,
    conversation: str,
    keyring: Keyring | None = None,
    owner: str = "",
    limits: Limits = DEFAULT_LIMITS,
    any_dialect: bool = False,
) -> Loaded:
    """Read a state that is in a dialect. None and ``b""`` begin a conversation.

    ``conversation`` is the id of a conversation that begins here. With ``any_dialect`` a state of
    another dialect is no reason to set it aside. Raises `SealBroken` where a seal does not open, or
    where one was expected and there is none, and `Invalid` where a keyring is given without an
    owner or the state is not bytes; nothing else.
    """
    if not data:
        return Loaded(Record(conversation, dialect))
    data = _as_bytes(data)
    if len(data) > limits.size_max:
        detail = f"expected at most {limits.size_max} bytes, found {len(data)}"
        return Loaded(Record(conversation, dialect), Rejected("too_large", detail, data))
    # Not in what follows: a forgotten owner is the caller's mistake, and no reason to start afresh.
    plain = _unseal(data, keyring, owner)
    try:
        record = _read(plain, conversation, limits)
        if not any_dialect:
            _check_dialect(record, dialect)
        return Loaded(record)
    except DecodeError as error:
        reason, detail = error.reason, str(error)
    except UnknownDialect as error:
        reason, detail = "unknown_dialect", str(error)
    except Invalid as error:
        reason, detail = "illegal_entry", str(error)
    return Loaded(Record(conversation, dialect), Rejected(reason, detail, data))


def _as_bytes(data: object) -> bytes:
    """Take what database drivers give. A copy of what could change: messages are slices of it."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, bytearray | memoryview):
        return bytes(data)
    raise Invalid(
        f"expected a state as bytes, found {type(data).__name__}: keep it in a column of bytes"
    )


def _read(data: bytes, conversation: str, limits: Limits) -> Record:
    if data.startswith(_GZIP):
        data = _unpack(data, limits.unpacked_max)
    if limits.depth_max < _DEPTH_MAX:
        rawjson.check_depth(data, limits.depth_max)
    return versions.read(
        data, registry.dialect, conversation=conversation, messages_max=limits.messages_max
    )


def _check_dialect(record: Record, dialect: Dialect) -> None:
    if record.dialect.name != dialect.name:
        raise DecodeError(
            f"expected a state of {dialect.name}, found one of {record.dialect.name}",
            reason="other_dialect",
        )


def _unseal(data: bytes, keyring: Keyring | None, owner: str) -> bytes:
    if keyring is not None:
        return keyring.open(data, owner=owner, purpose=_PURPOSE)
    if data.startswith(_SEAL):
        raise SealBroken(
            "the state is sealed, and no keyring was given to open it with", reason="unknown_key"
        )
    return data


def _pack(data: bytes) -> bytes:
    """Compress; the same data gives the same bytes."""
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP_WINDOW)
    return packer.compress(data) + packer.flush()


def _unpack(data: bytes, size_max: int) -> bytes:
    unpacker = zlib.decompressobj(_GZIP_WINDOW)
    try:
        plain = unpacker.decompress(data, size_max + 1)
    except zlib.error as error:
        raise DecodeError(f"expected a gzip stream: {error}", reason="not_packed") from None
    if len(plain) > size_max:
        raise DecodeError(f"expected to unpack to at most {size_max} bytes", reason="too_large")
    if not unpacker.eof or unpacker.unused_data:
        raise DecodeError("expected one whole gzip stream", reason="not_packed")
    return plain
