"""Pages as rows of a table, beside the head that follows on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..errors import DecodeError
from ..record.bodies import filled
from ..record.pages import Head, Page
from .packing import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Row",
    "columns_of",
    "decode_head",
    "encode_head",
    "flags_of",
    "head_from",
    "is_cut",
    "page_from",
    "whole_page_from",
]

Row: TypeAlias = tuple[int, int, int, bytes, bytes]
"""Where a page begins, where the next one does, its flags, its meta and its body."""

_STARTS, _ALONE, _PACKED, _CUT = 1, 2, 4, 8
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
    return _STARTS * page.starts | _ALONE * page.alone | _CUT * bool(page.bodies)


def is_cut(row: Row) -> bool:
    """Whether the page of a row refers to bodies."""
    return bool(row[2] & _CUT)


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


def whole_page_from(row: Row, bodies: Mapping[bytes, bytes | None]) -> Page:
    """Make a page of a row of it and the bodies it refers to. Raises `DecodeError`."""
    page = page_from(row)
    if not is_cut(row):
        return page
    if not bodies:
        raise DecodeError(
            f"expected the bodies of the page at entry {page.first}, found none",
            reason="missing_body",
        )
    return filled(msgspec.structs.replace(page, bodies=tuple(bodies)), bodies)


def page_from(row: Row) -> Page:
    """Make a page of a row of it, as it is kept. Raises `DecodeError`."""
    first, following, flags, meta, body = row
    if flags & _PACKED:
        _, meta, body = unpack(meta)
    return Page(first, following, meta, body, bool(flags & _STARTS), bool(flags & _ALONE))
