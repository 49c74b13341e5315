"""What a database can be told of: names, metadata and the ids of turns."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from ..errors import Invalid

if TYPE_CHECKING:
    from .store import Metadata

__all__ = ["below", "check_metadata", "check_name", "digest_of"]

_NAME_MAX = 1000
_POINT_MAX = 0x10FFFF
_HALVES = range(0xD800, 0xE000)


def check_name(name: str) -> None:
    """Raise `Invalid` for a name that no database can have as an ordered key."""
    if not 0 < len(name) <= _NAME_MAX:
        raise Invalid(
            f"expected a conversation's name of 1 to {_NAME_MAX} characters, found {len(name)}: "
            "name it by a hash of what is longer"
        )
    _check_text("a conversation's name", name)


def check_metadata(metadata: Metadata) -> None:
    """Raise `Invalid` for metadata that cannot be written as text."""
    for text in (metadata.title, metadata.user, *metadata.tags):
        _check_text("a title, user or tag", text)


def _check_text(what: str, text: str) -> None:
    if "\0" in text or (not text.isascii() and any([ord(each) in _HALVES for each in text])):
        raise Invalid(
            f"expected {what} without NUL or half a surrogate pair, found {text!r}: "
            "leave such characters out"
        )


def below(prefix: str) -> str | None:
    """Give the first text beyond all that begin with a prefix; None where there is none."""
    for at in range(len(prefix) - 1, -1, -1):
        point = ord(prefix[at]) + 1
        if point <= _POINT_MAX:
            return prefix[:at] + chr(_HALVES.stop if point in _HALVES else point)
    return None


def digest_of(turn_id: str) -> bytes:
    """Give the 16 bytes that stand for a turn's id."""
    return blake2b(turn_id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
