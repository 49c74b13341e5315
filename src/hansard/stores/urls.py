"""Stores by URL.

    memory:                         in this process, for as long as it lives
    sqlite:///chats.db              a file, from the current folder
    sqlite:////var/lib/chats.db     a file, from the root
    postgresql://user@host/name     as psycopg takes it
    redis://host:6379/0             also rediss:// and unix:///run/redis.sock?db=0
    file:///var/lib/chats           a folder of JSON lines; file:chats is here

Each kind is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, get_args
from urllib.parse import unquote, urlsplit

from ..errors import Invalid
from .store import Durability

if TYPE_CHECKING:
    from .store import AsyncStore, Store

__all__ = ["open_async_store", "open_store"]


def open_store(url: str, *, durability: Durability = "full", **options: object) -> Store:
    """Open the store that a URL names, or make it there.

    ``durability`` is what an acknowledged append has to survive: the loss of power (``"full"``),
    the end of the process (``"normal"``), or nothing (``"none"``). Raises `Invalid` where that
    cannot be had, or for a URL or an option that nobody knows; `StoreUnavailable` where the store
    cannot be reached; `MissingExtra` where a driver is not installed. In memory there is nothing
    to choose.
    """
    kind, given = _found(url, durability, options)
    made: Store = _class(kind, kind.store)(*given.place, **given.options)
    return made


async def open_async_store(
    url: str, *, durability: Durability = "full", **options: object
) -> AsyncStore:
    """Open a store for asyncio: `open_store`, whose methods are awaited.

    Where a driver has no asyncio of its own, as for files, calls run in worker threads.
    """
    import asyncio

    from .threads import async_over

    kind, given = _found(url, durability, options)
    if kind.async_store is not None:
        made: AsyncStore = _class(kind, kind.async_store)(*given.place, **given.options)
        return made
    make = _class(kind, kind.store)
    return async_over(await asyncio.to_thread(make, *given.place, **given.options))


class _Kind(NamedTuple):
    """How a URL names a place, which options there are, and what opens it."""

    place: Callable[[str], str | None]
    module: str
    store: str
    async_store: str | None = None
    options: tuple[str, ...] = ()


class _Given(NamedTuple):
    """What a store is opened with."""

    place: tuple[str, ...]
    options: dict[str, object]


def _class(kind: _Kind, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(kind.module, __package__), name)
    return found


# -- places --------------------------------------------------------------------------------------


def _no_place(url: str) -> None:
    """In memory there are no places that could have names."""
    if url.partition(":")[2].strip("/"):
        raise Invalid(
            f"expected 'memory:' and nothing after it, found {url!r}: a store in memory is opened "
            "once, and shared as a value"
        )


def _sqlite_path(url: str) -> str:
    """The path after three slashes: the third is no part of it."""
    path = _local_path(url, "sqlite:///chats.db or sqlite:////var/lib/chats.db")
    if not path.startswith("/") or path in ("/", "/:memory:"):
        raise Invalid(
            f"expected the path of a file after three slashes, as in sqlite:///chats.db, found "
            f"{url!r}; 'memory:' opens a store in memory"
        )
    return path.removeprefix("/")


def _folder(url: str) -> str:
    """The path after ``file:``, or after ``file://``."""
    path = _local_path(url, "file:chats or file:///var/lib/chats")
    if not path.strip("/"):
        raise Invalid(f"expected the path of a folder in {url!r}, as in file:///var/lib/chats")
    return path


def _local_path(url: str, example: str) -> str:
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        raise Invalid(
            f"expected a URL as {example}, found {url!r}: count its slashes, and write %3F for ? "
            "and %23 for #"
        )
    return unquote(parts.path)


def _whole(url: str) -> str:
    """What a driver takes as it stands."""
    return url


_BODIES = ("owner", "body_bytes")
_POSTGRES = _Kind(
    _whole, ".postgres", "PostgresStore", "AsyncPostgresStore", ("pool_size", *_BODIES)
)
_REDIS = _Kind(
    _whole, ".redis", "RedisStore", "AsyncRedisStore", ("prefix", "assured", "timeout_s")
)
_KINDS = {
    "memory": _Kind(_no_place, ".memory", "MemoryStore", options=_BODIES),
    "sqlite": _Kind(_sqlite_path, ".sqlite", "SQLiteStore", options=_BODIES),
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "redis": _REDIS,
    "rediss": _REDIS,
    "unix": _REDIS,
    "file": _Kind(_folder, ".jsonl", "JSONLinesStore", options=("wait_s",)),
}


def _found(url: str, durability: Durability, options: dict[str, object]) -> tuple[_Kind, _Given]:
    """Give the kind that a URL asks for, and what to open it with.

    What is said of a wrong one shows no more than its scheme: there may be a password in the rest.
    """
    scheme, colon, _ = url.partition(":")
    kind = _KINDS.get(scheme.lower()) if colon else None
    if kind is None:
        found = f"{scheme}:…" if colon else "none"
        raise Invalid(
            f"expected a URL that begins with one of {_listed(_KINDS)}, found {found}: a file is "
            "sqlite:///its/path"
        )
    if durability not in get_args(Durability):
        known = ", ".join(map(repr, get_args(Durability)))
        raise Invalid(f"expected durability as one of {known}, found {durability!r}")
    for option in options:
        if option not in kind.options:
            known = ", ".join(("durability", *kind.options))
            raise Invalid(f"expected the options {known} of {scheme}:, found {option!r}")
    place = kind.place(url)
    if place is None:
        return kind, _Given((), options)
    return kind, _Given((place,), {"durability": durability, **options})


def _listed(names: dict[str, _Kind]) -> str:
    return ", ".join([f"{name}:" for name in names])
