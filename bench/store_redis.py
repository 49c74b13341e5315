"""A turn on a conversation in a real Redis, beside the ``RedisSession`` of openai-agents.

The server writes to disk before it answers. Our sessions are made anew for every turn, and go
through the turn machine; of theirs it is the calls alone, see `agents_sessions`.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from hansard import AsyncChat, Chat, user
from hansard.stores.redis import AsyncRedisStore, RedisStore
from tests.support.redis_server import RedisServer

from .agents_sessions import RedisSessions
from .aging import Age, measure
from .answering import answering
from .timing import row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .aging import Turns
    from .timing import Times


_AGES = (Age(10, 24, 4), Age(100, 8, 10), Age(1000, 2, 25))
_QUICK = (Age(10, 4, 2), Age(100, 2, 3))


class _AsyncOurs:
    def __init__(self, url: str) -> None:
        self._store = AsyncRedisStore(url, prefix="{async}:")
        self._chat = AsyncChat(answering())

    async def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        session = self._chat.session(self._store, name)
        for question, _ in earlier:
            await session.send(user(question))

    async def turn(self, name: str, question: str, answer: str) -> object:  # noqa: ARG002
        return (await self._chat.session(self._store, name).send(user(question))).text

    async def close(self) -> None:
        await self._store.close()


class _Ours:
    def __init__(self, url: str) -> None:
        self._store = RedisStore(url, prefix="{blocking}:")
        self._chat = Chat(answering())

    def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        session = self._chat.session(self._store, name)
        for question, _ in earlier:
            session.send(user(question))

    def turn(self, name: str, question: str, answer: str) -> object:  # noqa: ARG002
        return self._chat.session(self._store, name).send(user(question)).text

    def close(self) -> None:
        self._store.close()


_OURS: dict[str, Callable[[str], Turns]] = {
    "hansard, blocking": _Ours,
    "hansard, asyncio": _AsyncOurs,
}
_PEER = "openai-agents RedisSession"


def run(*, quick: bool = False) -> Iterator[str]:
    """Yield the tables."""
    ages = _QUICK if quick else _AGES
    has_peer = bool(find_spec("agents"))
    makers = {**_OURS, **({_PEER: RedisSessions} if has_peer else {})}
    found = [_measured(age, makers) for age in ages]
    yield "## A turn on a conversation in Redis (ms, p50 / p90)"
    yield row("", *[f"{age.turns:,} turns" for age in ages])
    yield row(*["---"] * (1 + len(ages)))
    for name in makers:
        cells = [times[name] for times in found]
        yield row(name, *[f"{each.p50 * 1e3:.2f} / {each.p90 * 1e3:.2f}" for each in cells])
    if not has_peer:
        return
    yield ""
    yield row("ratio of p50 (of p10)", "wanted", *[f"{age.turns:,} turns" for age in ages])
    yield row(*["---"] * (2 + len(ages)))
    for name in _OURS:
        ratios = [times[_PEER].over(times[name]) for times in found]
        yield row(f"RedisSession ÷ {name}", "≥ 3; ≥ 7 at 1,000", *ratios)


def _measured(age: Age, makers: Mapping[str, Callable[[str], Turns]]) -> dict[str, Times]:
    with TemporaryDirectory(prefix="hansard-") as folder:
        server = RedisServer(Path(folder)).start()
        try:
            made = {name: partial(make, server.url) for name, make in makers.items()}
            return measure(made, age)
        finally:
            server.kill()
