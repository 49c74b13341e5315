"""Turns a second on a real PostgreSQL, with 16 conversations under way, beside LangGraph's savers.

See `postgres_turns` for who does what. Clients share one process, and its machine with the server.
LangGraph has two settings for when a checkpoint is written: its own, ``async``, step by step, and
``exit``, once at the end of a turn: what was asked is lost then with the process, as it is with
nobody else here. Its conversations have one checkpoint of all earlier turns.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from tests.support.postgres_server import PostgresServer

from .postgres_turns import WORKERS, AsyncOurs, AsyncSavers, Ours, Savers
from .timing import Times, row, undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .postgres_turns import Turns


class Age(NamedTuple):
    """How many turns a conversation has, and how many more each gets in one of some rounds.

    Each round has conversations of its own, or goes on with those of the one before.
    """

    turns: int
    rounds: int
    ours: int
    theirs: int
    anew: bool = False


class Found(NamedTuple):
    """How many turns there were a second, in the middle round, and what one took."""

    rate: float
    took: Times


# A turn of ours takes so much less time that more of them are needed to measure as long.
_AGES = (Age(10, 3, 3, 3, anew=True), Age(100, 3, 8, 2), Age(500, 3, 6, 1))
_QUICK = (Age(10, 1, 2, 2, anew=True),)
_FULL = {True: "on", False: "off"}
_WANTED = "≥ 6; ≥ 25 at 500"
_OURS: dict[str, Callable[[str], Turns]] = {
    "hansard, asyncio": AsyncOurs,
    "hansard, threads": Ours,
}
_PEERS: dict[str, Callable[[str], Turns]] = {
    f"LangGraph, {kind}, {'shared' if shared else 'own'}, {durability}": partial(
        make, shared=shared, durability=durability
    )
    for kind, make in (("asyncio", AsyncSavers), ("threads", Savers))
    for shared, durability in ((True, "async"), (False, "async"), (False, "exit"))
}


def run(*, quick: bool = False) -> Iterator[str]:
    """Yield the tables."""
    ages = _QUICK if quick else _AGES
    peers = _PEERS if find_spec("langgraph") else {}
    server = PostgresServer()
    try:
        with asyncio.Runner() as runner:
            found = [runner.run(_measured(server, {**_OURS, **peers}, age)) for age in ages]
    finally:
        server.remove()
    yield f"## {WORKERS} conversations in PostgreSQL: turns a second (a turn's ms, p50 / p90)"
    for full, setting in _FULL.items():
        yield ""
        yield row(f"synchronous_commit = {setting}", *[f"{age.turns:,} turns" for age in ages])
        yield row(*["---"] * (1 + len(ages)))
        for name in (*_OURS, *peers):
            yield row(name, *[_cell(each[full, name]) for each in found])
    if not peers:
        return
    yield ""
    yield row("ratio", "wanted", *[f"{age.turns:,} turns" for age in ages])
    yield row(*["---"] * (2 + len(ages)))
    for full, name, durability in product(_FULL, _OURS, ("async", "exit")):
        some = [peer for peer in peers if peer.endswith(durability)]
        best = [max([each[full, peer].rate for peer in some]) for each in found]
        ratios = [each[full, name].rate / rate for each, rate in zip(found, best, strict=True)]
        yield row(f"{_FULL[full]}: {name} ÷ LangGraph's best, {durability}", _WANTED, *ratios)


def _cell(found: Found) -> str:
    took = found.took
    return f"{found.rate:,.0f} ({took.p50 * 1e3:.1f} / {took.p90 * 1e3:.1f})"


async def _measured(
    server: PostgresServer, makers: dict[str, Callable[[str], Turns]], age: Age
) -> dict[tuple[bool, str], Found]:
    """Have all contenders take turns, by whether their commits wait for the disk."""
    contenders = {name: make(server.schema(f"{name} {age}")) for name, make in makers.items()}
    rounds = {
        (number, full): [f"{number} {full}-{at}" if age.anew else f"-{at}" for at in range(WORKERS)]
        for number, full in product(range(age.rounds), _FULL)
    }
    warm = [f"warm-{at}" for at in range(WORKERS)]
    for each in contenders.values():
        await each.open(full=False)
        await each.seed(warm, 1)
        for names in {tuple(names): names for names in rounds.values()}:
            await each.seed(names, age.turns)
        await each.close()
    server.execute("VACUUM ANALYZE")
    server.execute("CHECKPOINT")
    rates: dict[tuple[bool, str], list[float]] = defaultdict(list)
    took: dict[tuple[bool, str], list[float]] = defaultdict(list)
    for ((_, full), names), (name, each) in product(rounds.items(), contenders.items()):
        await each.open(full=full)
        await each.go(warm, 1)  # All are connected now, and what is imported late is there.
        with undisturbed():
            start = time.perf_counter()
            some = await each.go(names, age.ours if name in _OURS else age.theirs)
            rates[full, name].append(len(some) / (time.perf_counter() - start))
        took[full, name] += some
        await each.close()
    return {key: Found(Times.of(rates[key]).p50, Times.of(took[key])) for key in rates}
