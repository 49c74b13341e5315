"""Conversations in Redis: one script an operation, each atomic. Needs ``hansard[redis]``.

All keys of a store begin with its prefix, ``{hansard}:`` unless another is given. What stands in
its braces says which slot of a cluster they are in, all of them: so forks can share what is in
other conversations. Whoever wants them in many slots has many stores, each of its own prefix.
"""

from .asynchronous import AsyncRedisStore
from .blocking import RedisStore

__all__ = ["AsyncRedisStore", "RedisStore"]
