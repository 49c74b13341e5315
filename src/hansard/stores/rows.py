"""Pages as rows of a table, beside the head that follows on them."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..errors import DecodeError
from ..record.pages import Head, Page
from .packing import pack, unpack

__all__ = ["Row", "columns_of", "decode_head", "encode_head", "flags_of", "head_from", "page_from"]

Row: TypeAlias = tuple[int, int, int, bytes, bytes]
"""Where a page begins, where the next one does, its flags, its meta and its body."""

_STARTS, _ALONE, _PACKED = 1, 2, 4
_PACKED_MAX = 4096

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Head).decode


def encode_head(head: Head) -> bytes:
    """Give what is kept of a head: all but the incarnation, which is kept once."""
    return _encode(msgspec.structs.replace(head, incarnation=""))


def decode_head(raw: bytes, incarnation: str) -> Head:
    """Make a head of what is kept of it. Raises `DecodeError`."""
    try:
        return msgspec.structs.replace(_decode(raw), incarnation=incarnation)
    except msgspec.DecodeError as error:
        raise DecodeError(f"expected a head: {error}", reason="corrupt_head") from error


def flags_of(page: Page) -> int:
    """What is to be known of a page, as a number."""
    return _STARTS * page.starts | _ALONE * page.alone


def columns_of(page: Page, head: Head) -> tuple[int, bytes | None, bytes, bytes]:
    """Give the flags, head, meta and body of a row: a small page is packed, with its head."""
    kept = encode_head(head)
    if page.alone or page.size + len(kept) > _PACKED_MAX:
        return flags_of(page), kept, page.meta, page.body
    return flags_of(page) | _PACKED, None, pack(kept, page.meta, page.body), b""


def head_from(flags: int, head: bytes | None, meta: bytes, incarnation: str) -> Head:
    """Make the head of a row. Raises `DecodeError`."""
    if flags & _PACKED:
        head = unpack(meta)[0]
    return decode_head(head or b"", incarnation)


def page_from(row: Row) -> Page:
    """Make a page of a row of it. Raises `DecodeError`."""
    first, following, flags, meta, body = row
    if flags & _PACKED:
        _, meta, body = unpack(meta)
    return Page(first, following, meta, body, bool(flags & _STARTS), bool(flags & _ALONE))
