"""What Redis and its client raise, as errors of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import MissingExtra, StoreCorrupt, StoreError, StoreUnavailable

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["failure", "imported"]

_ADVICE = {
    "MISCONF": "see why it cannot write to its disk",
    "OOM": "give it more memory, or delete conversations",
    "READONLY": "give the address of the primary",
    "LOADING": "wait until it has read its data",
    "BUSY": "wait until the script is over that holds it up",
    "NOAUTH": "give its password in the URL",
    "WRONGPASS": "give its password in the URL",
    "NOPERM": "let this user run scripts on the keys of the store",
    "MOVED": "give the address of the node that has the slot of the prefix",
    "CLUSTERDOWN": "wait until its cluster is up",
}


def imported() -> ModuleType:
    """Import the client."""
    try:
        import redis
        import redis.asyncio
    except ModuleNotFoundError as missing:
        raise MissingExtra(
            "a store in Redis expected the package 'redis' and did not find it: "
            "pip install 'hansard[redis]'",
            extra="redis",
        ) from missing
    return redis


def failure(store: object, error: Exception) -> StoreError:
    """Say what a failure of the client's comes to."""
    text = str(error)
    if "WRONGTYPE" in text:
        return StoreCorrupt(
            f"expected only keys of {store!r} under its prefix, found another kind of value: "
            "give each application its own prefix",
            reason="foreign_key",
        )
    found = next((advice for code, advice in _ADVICE.items() if code in text), None)
    return StoreUnavailable(
        f"expected an answer of {store!r}, found {type(error).__name__} ({text}): "
        + (found or "see that it is up, and try again")
    )
