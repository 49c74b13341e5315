"""By what media are said: their bytes, an address, or a provider's own id of a file.

Bytes mean nothing without their media type, nor an id to another provider. Media with no source
that a dialect takes are a `Loss` there, and are never said by halves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..messages import Media

__all__ = ["Source", "settle"]

Source: TypeAlias = Literal["base64", "url", "file_id"]
"""The fields of `Media` by which it can be said."""

_SOURCES: tuple[Source, ...] = ("base64", "url", "file_id")


def settle(
    media: Media, takes: Sequence[Source], *, foreign: bool = False
) -> tuple[Media | None, str]:
    """Leave media one source: the first usable one of those that a dialect takes.

    Where there is none, give None, and the reason.
    """
    for source in takes:
        if _is_usable(media, source, foreign=foreign):
            others = [other for other in _SOURCES if other != source]
            return replace(media, **dict.fromkeys(others)), ""
    return None, _reason(media, takes, foreign=foreign)


def _is_usable(media: Media, source: Source, *, foreign: bool) -> bool:
    if source == "base64":
        return bool(media.base64 and media.media_type)
    return bool(media.url) if source == "url" else bool(media.file_id) and not foreign


def _reason(media: Media, takes: Sequence[Source], *, foreign: bool) -> str:
    if media.base64 and not media.media_type and "base64" in takes:
        return "its bytes have no media type"
    if media.file_id and foreign:
        return "the file lies with another provider"
    given = [source for source in _SOURCES if getattr(media, source)]
    return f"expected {' or '.join(takes)}, found {' and '.join(given) or 'none of these'}"
