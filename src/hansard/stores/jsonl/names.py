"""The names of files, made from the names of conversations, and back.

Small letters, digits, ``-``, ``_`` and ``.`` stand for themselves, all else is percent-encoded:
capitals too, as there are file systems that take them for small ones. What would be too long for
a file's name is cut, and has a digest instead; who wants the whole looks into the file.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from urllib.parse import unquote

from ...errors import Invalid

__all__ = ["SUFFIX", "conversation_of", "file_name"]

SUFFIX = ".jsonl"
_LENGTH_MAX = 180
_KEPT = 120
_CUT = "~"
_ODD = re.compile(rb"\A\.|[^a-z0-9_.-]")


def file_name(conversation: str) -> str:
    """The name of a conversation's file, without its suffix."""
    try:
        raw = conversation.encode()
    except UnicodeEncodeError:
        raise Invalid(
            f"expected a conversation's name to be Unicode, found {conversation!r}: it has half a "
            "surrogate pair, which no file can be named by"
        ) from None
    if not raw:
        raise Invalid("expected a conversation's name, found an empty one")
    name = _ODD.sub(lambda odd: b"%%%02X" % odd[0][0], raw).decode()
    if len(name) <= _LENGTH_MAX:
        return name
    return name[:_KEPT].rstrip("%") + _CUT + blake2b(raw, digest_size=16).hexdigest()


def conversation_of(name: str) -> str | None:
    """The conversation whose file is named so; None where only the file itself can say."""
    return None if _CUT in name else unquote(name)
