"""Bodies: what is long in pages, cut out so that it can be kept once.

A body is the inside of a long string literal, as it is spelled: an image in base64, what a tool
gave. In its place stands a short literal with a digest of it. Filling is the exact inverse of
cutting, byte for byte: a literal that looks as if it stood for a body is cut out like a long one.

Digests are keyed, so that equal bodies of different owners do not meet. What stands beside the
messages of a page (headers, commits, turns) is never cut, nor is a page that nobody can see into.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ..errors import DecodeError
from .pages import Page, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["BODY_BYTES", "Cutter", "digests_in", "filled"]

BODY_BYTES = 32 * 1024
"""As long as this is what is cut out, unless a store is told otherwise."""

Place: TypeAlias = tuple[int, int]
"""Where the inside of a literal begins and ends."""

_SIGN = b"~hansard-body:"
_STANDS_FOR = re.compile(b'"' + _SIGN + rb'([0-9a-f]{64})"')


class Cutter(msgspec.Struct, frozen=True):
    """Cuts out what is at least ``limit`` bytes long; of one ``key``, equal bodies are one."""

    key: bytes
    limit: int = BODY_BYTES

    @classmethod
    def of(cls, owner: str, limit: int = BODY_BYTES) -> Cutter:
        """Cut for an owner, known by any text."""
        name = owner.encode("utf-8", "surrogatepass")
        return cls(blake2b(name, digest_size=32, person=b"hansard.body").digest(), limit)

    def cut(self, page: Page) -> tuple[Page, dict[bytes, bytes]]:
        """Give a page without what is long in it, and that by its digest."""
        if page.alone or not (self._may_cut(page.meta) or self._may_cut(page.body)):
            return page, {}
        bodies: dict[bytes, bytes] = {}
        entries, line, beside = unpacked(page.meta).partition(b"\n")
        meta = self._cut(entries, bodies) + line + beside
        body = self._cut(page.body, bodies)
        if not bodies:
            return page, {}
        return msgspec.structs.replace(page, meta=meta, body=body, bodies=tuple(bodies)), bodies

    def _may_cut(self, text: bytes) -> bool:
        return len(text) >= self.limit or _SIGN in text

    def _cut(self, text: bytes, bodies: dict[bytes, bytes]) -> bytes:
        found = sorted({*_long(text, self.limit), *_standing(text)})
        parts: list[bytes] = []
        for start, end in found:
            inside = text[start:end]
            digest = blake2b(inside, digest_size=32, key=self.key).digest()
            bodies[digest] = inside
            parts.append(_SIGN + digest.hex().encode())
        return _with(text, found, parts)


def digests_in(page: Page) -> list[bytes]:
    """Give the digests of all bodies that something in a page stands for, each once."""
    entries = unpacked(page.meta).partition(b"\n")[0]
    found = [_digest(text, at) for text in (entries, page.body) for at in _standing(text)]
    return [*dict.fromkeys(found)]


def filled(page: Page, bodies: Mapping[bytes, bytes | None]) -> Page:
    """Give a page as it was before it was cut, with its bodies by their digests.

    Raises `DecodeError` where one that it refers to is not there.
    """
    for digest in page.bodies:
        if bodies.get(digest) is None:
            raise DecodeError(
                f"expected the body {digest.hex()} of the page at entry {page.first}, found none",
                reason="missing_body",
            )
    if not page.bodies:
        return page
    there = {digest: body for digest in page.bodies if (body := bodies[digest]) is not None}
    entries, line, beside = unpacked(page.meta).partition(b"\n")
    meta = _filled(entries, there) + line + beside
    return msgspec.structs.replace(page, meta=meta, body=_filled(page.body, there), bodies=())


def _filled(text: bytes, bodies: Mapping[bytes, bytes]) -> bytes:
    places = [at for at in _standing(text) if _digest(text, at) in bodies]
    return _with(text, places, [bodies[_digest(text, at)] for at in places])


def _digest(text: bytes, place: Place) -> bytes:
    return bytes.fromhex(text[place[0] + len(_SIGN) : place[1]].decode())


def _with(text: bytes, places: Iterable[Place], parts: Iterable[bytes]) -> bytes:
    """Give a text with other parts at some places."""
    pieces: list[bytes | memoryview] = []
    view, at = memoryview(text), 0
    for (start, end), part in zip(places, parts, strict=True):
        pieces += (view[at:start], part)
        at = end
    return b"".join((*pieces, view[at:])) if pieces else text


def _standing(text: bytes) -> list[Place]:
    """Where literals are that look as if they stood for a body.

    Within a literal there is no quote without a backslash before it, and elsewhere none with one.
    """
    return [
        (match.start() + 1, match.end() - 1)
        for match in (_STANDS_FOR.finditer(text) if _SIGN in text else ())
        if text[match.start() - 1 : match.start()] != b"\\"
    ]


def _long(text: bytes, limit: int) -> list[Place]:
    """Where the insides of literals are that are at least as long, found without reading all.

    Such a one is there at a step of as many bytes from the quote before it.
    """
    bare = text.replace(rb"\\", b"__").replace(rb"\"", b"__") if b"\\" in text else text
    found: list[Place] = []
    quotes = counted = 0
    at = limit
    while (end := bare.find(b'"', at)) >= 0:
        start = bare.rfind(b'"', 0, at) + 1
        if end - start >= limit:
            quotes += bare.count(b'"', counted, start)
            counted = start
            if quotes % 2:
                found.append((start, end))
        at = end + limit
    return found
