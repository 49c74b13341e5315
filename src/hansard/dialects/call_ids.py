"""Ids of calls that came from another provider, brought into a dialect's own alphabet."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from .. import rawjson

if TYPE_CHECKING:
    import re

__all__ = ["HASH_LENGTH", "map_call_id"]

HASH_LENGTH = 16


def map_call_id(foreign_id: str, seed: str, odd: re.Pattern[str], stem_max: int) -> str:
    """Spell an id that cannot stay: what it was, without ``odd`` characters, and a hash of it.

    The hash keeps apart what would become the same. Where there is no id, the seed makes one.
    """
    known = ("id", foreign_id) if foreign_id else ("seed", seed)
    digest = hashlib.sha256(rawjson.dump(known)).hexdigest()[:HASH_LENGTH]
    stem = odd.sub("_", foreign_id or f"call_{seed}")
    return f"{stem[:stem_max]}_{digest}"
