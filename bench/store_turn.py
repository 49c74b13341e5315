"""A turn on a conversation in SQLite, of any age, beside the floor and beside what else one uses.

A question of 200 bytes, an answer of 800: load what the request needs, append, commit. See
`sqlite_turns` and `sqlite_peers` for who does what. Each age has conversations enough, so that
the turns that are measured do not make them much older.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from .aging import Age, measure
from .sqlite_peers import PEERS
from .sqlite_turns import Commits, Floor, Ours, OurStore
from .timing import row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from .aging import Turns
    from .sqlite_turns import Synchronous
    from .timing import Times

OURS, STORE = "hansard", "hansard, store alone"
FLOOR, MARKED = "floor: a row a message", "floor: and one for begin and end"

_AGES = (Age(10, 16, 4), Age(100, 6, 8), Age(1000, 2, 12), Age(5000, 1, 11))
_QUICK = (Age(10, 4, 2), Age(100, 2, 3))


def run(*, quick: bool = False) -> Iterator[str]:
    """Yield the tables."""
    ages = _QUICK if quick else _AGES
    yield "## A turn on a conversation in SQLite (ms, p50 / p90)"
    found: dict[Synchronous, list[Mapping[str, Times]]] = {}
    for synchronous in ("FULL", "NORMAL"):
        found[synchronous] = [_measured(age, synchronous) for age in ages]
        yield ""
        yield row(f"synchronous = {synchronous}", *[f"{age.turns:,} turns" for age in ages])
        yield row(*["---"] * (1 + len(ages)))
        for name in found[synchronous][0]:
            yield row(name, *[_ms(times[name]) for times in found[synchronous]])
    yield ""
    yield row("ratio of p50 (of p10)", "wanted", *[f"{age.turns:,} turns" for age in ages])
    yield row(*["---"] * (2 + len(ages)))
    for (synchronous, measured), ours in product(found.items(), (OURS, STORE)):
        for floor in (FLOOR, MARKED):
            wanted = "≤ 1; ≤ 0.4 from 1,000 turns"
            ratios = [times[ours].over(times[floor]) for times in measured]
            yield row(f"{synchronous}: {ours} ÷ {floor}", wanted, *ratios)
        wanted = "≥ 10 at 1,000, ≥ 15 at 5,000" if synchronous == "FULL" else "≥ 15 from 1,000"
        fastest = [_fastest(times, ours) for times in measured]
        yield row(f"{synchronous}: fastest peer ÷ {ours}", wanted, *fastest)


def _ms(times: Times) -> str:
    return f"{times.p50 * 1e3:.2f} / {times.p90 * 1e3:.2f}"


def _fastest(times: Mapping[str, Times], ours: str) -> str:
    peers = [name for name in times if name in PEERS]
    if not peers:
        return ""
    name = min(peers, key=lambda peer: times[peer].p50)
    return f"{times[name].over(times[ours])} {name}"


def _measured(age: Age, synchronous: Synchronous) -> Mapping[str, Times]:
    made: dict[str, Callable[..., Turns]] = {
        OURS: Ours,
        STORE: OurStore,
        FLOOR: partial(Floor, marked=False),
        MARKED: partial(Floor, marked=True),
        "two commits alone": Commits,
        **{name: make for name, (package, make) in PEERS.items() if find_spec(package)},
    }
    with TemporaryDirectory(prefix="hansard-bench-") as folder:
        makers = {name: partial(make, Path(folder), synchronous) for name, make in made.items()}
        return measure(makers, age)
