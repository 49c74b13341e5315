"""The scripts of the store, one an operation."""

from __future__ import annotations

from hashlib import sha1
from importlib.resources import files
from typing import NamedTuple

__all__ = [
    "APPEND",
    "DELETE",
    "DESCRIBE",
    "FIND",
    "FORK",
    "LEASE",
    "LIST",
    "MERGE",
    "READ",
    "Script",
]


class Script(NamedTuple):
    """A script, and the digest that a server knows it by."""

    text: bytes
    digest: bytes


def _script(name: str) -> Script:
    folder = files("hansard.stores.redis")
    text = folder.joinpath("shared.lua").read_bytes() + folder.joinpath(name).read_bytes()
    return Script(text, sha1(text, usedforsecurity=False).hexdigest().encode())


APPEND = _script("append.lua")
DELETE = _script("delete.lua")
DESCRIBE = _script("describe.lua")
FIND = _script("find.lua")
FORK = _script("fork.lua")
LEASE = _script("lease.lua")
LIST = _script("list.lua")
MERGE = _script("merge.lua")
READ = _script("read.lua")
