"""What a conversation costs as it grows: a session that is kept open, on SQLite.

- CPU a turn, all of it but the assembling of the request's body, which copies every message.
- That assembling, beside ``memcpy`` of as many bytes.
- Bytes that a turn has written: to the write-ahead log, and from there to the file.
- The file, closed, beside the JSON of its messages.

Sessions of all ages have their turns one after the other, so that noise hits all alike.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

import hansard
from hansard import Chat, user
from hansard.dialects.openai_chat import OpenAIChat
from hansard.record.context import Context

from .answering import answering
from .texts import exchanges
from .timing import Times, row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard import Session
    from hansard.dialects.dialect import Ask, Request

_AGES = (10, 100, 1000, 5000)
_QUICK = (10, 100)
_AGE_OF_FILE = 1000


def run(*, quick: bool = False) -> Iterator[str]:
    """Yield the tables."""
    ages = _QUICK if quick else _AGES
    yield "## A session kept open on SQLite, as it grows"
    yield row("", "wanted", *[f"from turn {age:,}" for age in ages])
    yield row(*["---"] * (2 + len(ages)))
    with TemporaryDirectory(prefix="hansard-bench-") as folder:
        yield from _cpu(Path(folder), ages, rounds=10 if quick else 80)
    with TemporaryDirectory(prefix="hansard-bench-") as folder:
        yield from _assembling(Path(folder), ages, rounds=10 if quick else 80)
    if _IO.exists():
        with TemporaryDirectory(prefix="hansard-bench-") as folder:
            # Often enough that SQLite empties its log several times.
            yield from _written(Path(folder), ages, rounds=20 if quick else 600)
    with TemporaryDirectory(prefix="hansard-bench-") as folder:
        ratio = _size(Path(folder), age := ages[-1] if quick else _AGE_OF_FILE)
    name = f"file after {age:,} turns ÷ JSON of its messages"
    yield row(name, "≤ 1.3", ratio, *[""] * (len(ages) - 1))


class _Grown(NamedTuple):
    """Conversations of several ages, each in a file of its own."""

    sessions: list[Session]
    paths: list[Path]

    def turn(self, at: int, number: int) -> None:
        """Have a turn on one."""
        self.sessions[at].send(user(exchanges(100)[number % 100][0]))


@contextmanager
def _grown(
    folder: Path, ages: tuple[int, ...], dialect: OpenAIChat | None = None
) -> Iterator[_Grown]:
    paths = [folder / f"{age}.db" for age in ages]
    # To survive the loss of power takes waiting, not work.
    stores = [hansard.open_store(f"sqlite:///{path}", durability="normal") for path in paths]
    chat = Chat(answering(dialect))
    grown = _Grown([chat.session(store, "c") for store in stores], paths)
    try:
        with patch.object(Context, "segments", _no_segments):
            for at, age in enumerate(ages):
                for number in range(age):
                    grown.turn(at, number)
        yield grown
    finally:
        for store in stores:
            store.close()


def _no_segments(*_: object) -> list[bytes]:
    """Assemble nothing."""
    return []


# -- CPU ------------------------------------------------------------------------------------------


def _cpu(folder: Path, ages: tuple[int, ...], rounds: int) -> Iterator[str]:
    with _grown(folder, ages) as grown, patch.object(Context, "segments", _no_segments):
        samples: list[list[float]] = [[] for _ in ages]
        for number in range(rounds):
            for at in range(len(ages)):
                start = time.thread_time()
                grown.turn(at, number)
                samples[at].append((time.thread_time() - start) * 1e6)
    times = [Times.of(some) for some in samples]
    cells = [f"{each.p50:.0f} / {each.p90:.0f}" for each in times]
    yield row("CPU a turn, no body assembled (µs, p50 / p90)", "", *cells)
    yield row("… ÷ that of the first", "0.8 to 1.2", *[each.p50 / times[0].p50 for each in times])


# -- assembling -----------------------------------------------------------------------------------


class _Timed(OpenAIChat):
    """Notes how long it takes to make a request's body, and how long that is."""

    def __init__(self) -> None:
        self.spent_s = 0.0
        self.body = b""

    def request(self, ask: Ask) -> Request:
        start = time.perf_counter()
        made = super().request(ask)
        self.spent_s += time.perf_counter() - start
        self.body = made.body
        return made


def _assembling(folder: Path, ages: tuple[int, ...], rounds: int) -> Iterator[str]:
    dialect = _Timed()
    ours: list[list[float]] = [[] for _ in ages]
    copies: list[list[float]] = [[] for _ in ages]
    gather = Context.segments

    def segments(context: Context, of: OpenAIChat) -> list[bytes | memoryview]:
        start = time.perf_counter()
        found = gather(context, of)
        dialect.spent_s += time.perf_counter() - start
        return found

    with _grown(folder, ages, dialect) as grown, patch.object(Context, "segments", segments):
        for at in range(len(ages)):  # The first time all that there is is joined.
            grown.turn(at, 0)
        for number in range(rounds):
            for at in range(len(ages)):
                dialect.spent_s = 0.0
                grown.turn(at, number)
                ours[at].append(dialect.spent_s / len(dialect.body))
                given = memoryview(dialect.body)
                start = time.perf_counter()
                bytes(given)
                copies[at].append((time.perf_counter() - start) / len(given))
    speeds = [[1e-6 / Times.of(some).p50 for some in each] for each in (ours, copies)]
    yield row("assembling the body (MB/s, p50)", "", *speeds[0])
    yield row("memcpy of it (MB/s, p50)", "", *speeds[1])


# -- bytes ----------------------------------------------------------------------------------------

_IO = Path("/proc/self/io")


def _written(folder: Path, ages: tuple[int, ...], rounds: int) -> Iterator[str]:
    cells = []
    with _grown(folder, ages) as grown, patch.object(Context, "segments", _no_segments):
        for at, path in enumerate(grown.paths):
            _empty_log(path)
            before = _written_bytes()
            for number in range(rounds):
                grown.turn(at, number)
            _empty_log(path)
            cells.append((_written_bytes() - before) / rounds / 1e3)
    yield row("written a turn of 1 kB (kB)", "≤ 14, at any age", *cells)


def _written_bytes() -> int:
    """What this process has had written so far, to whatever it was."""
    lines = dict([line.split(": ") for line in _IO.read_text().splitlines()])
    return int(lines["wchar"])


def _empty_log(path: Path) -> None:
    """Have SQLite bring all of its write-ahead log to the file."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(RESTART)")
    connection.close()


def _size(folder: Path, age: int) -> float:
    with _grown(folder, (age,)) as grown:
        messages = grown.sessions[0].history()
        raw = sum([len(message.raw) + 1 for message in messages])
        if len(messages) != 2 * age:
            raise AssertionError(f"expected {2 * age} messages, found {len(messages)}")
    [path] = grown.paths
    return path.stat().st_size / raw
