"""What a store is opened with, and whether the server keeps what it has acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...errors import Invalid
from ..store import Durability
from .operations import Call

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from .operations import Operation

__all__ = ["Opening"]


class Opening:
    """How a store was opened."""

    def __init__(
        self, url: str, durability: Durability, prefix: str, *, assured: bool, timeout_s: float
    ) -> None:
        if durability not in ("full", "normal"):
            raise Invalid(
                f"expected durability 'full' or 'normal', found {durability!r}: what need not "
                "outlive the process can be kept in memory"
            )
        self.url = url
        self.durability: Durability = durability
        self.prefix = prefix
        self.assured = assured
        self.timeout_s = timeout_s

    def options(self, redis: ModuleType, retry: type) -> dict[str, object]:
        """What a client is made with: it is to fail at once, as only we know what to do then."""
        return {
            "decode_responses": False,
            "socket_timeout": self.timeout_s,
            "socket_connect_timeout": self.timeout_s,
            "retry": retry(redis.backoff.NoBackoff(), 0),
        }

    def check(self) -> Operation[None]:
        """See whether what was asked for can be had. Raises `Invalid`."""
        if self.durability != "full" or self.assured:
            return
        found: dict[str, str] = {}
        for pattern in ("append*", "maxmemory*"):
            reply = yield Call("CONFIG GET", pattern.encode())
            found.update(_config(reply))
        wanted = {"appendonly": "yes", "appendfsync": "always"}
        if any([found.get(name) != value for name, value in wanted.items()]):
            raise Invalid(
                "expected 'appendonly yes' and 'appendfsync always' of a server that is to keep "
                f"all it has acknowledged, found {found.get('appendonly')!r} and "
                f"{found.get('appendfsync')!r}: set them, or ask for durability='normal'"
            )
        if found.get("maxmemory") != "0" and found.get("maxmemory-policy", "").startswith("all"):
            raise Invalid(
                "expected 'maxmemory-policy noeviction' of a server that is to keep all it has "
                f"acknowledged, found {found['maxmemory-policy']!r}, which drops conversations: "
                "set it, or ask for durability='normal'"
            )

    def not_told(self, error: Exception) -> Invalid:
        """Say that the server does not say how it is configured."""
        return Invalid(
            f"expected the server to say whether it keeps all it has acknowledged, found {error}: "
            "let this user run CONFIG GET; or, if you know that appendonly is yes and appendfsync "
            "always, say so with assured=True; or ask for durability='normal'"
        )

    def __repr__(self) -> str:
        parts = urlsplit(self.url)
        place = parts.netloc.rpartition("@")[2] + parts.path
        return f"{parts.scheme}://{place} {self.prefix!r} {self.durability}"


def _config(reply: dict[str, str] | Sequence[bytes]) -> dict[str, str]:
    pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
    return {_text(name): _text(value) for name, value in pairs}


def _text(raw: bytes | str) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw
