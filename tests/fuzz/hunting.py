"""Run counted cases in a process of their own, where a crash, a hang or a leak is a failed test.

Each case draws from random numbers of its own, so that the seed of the run and the number of the
case repeat it alone. The process may grow by `GROWTH_MAX` bytes, and stops, showing where it is,
when a batch of cases takes a thousand times as long as it should.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import random
import subprocess
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Case", "hunt"]

ROOT = Path(__file__).parents[2]
GROWTH_MAX = 256 << 20
BATCH = 100


@dataclass(frozen=True)
class Case:
    """What is tried, and what judges whether all is well with it."""

    data: bytes
    judge: Callable[[bytes], object]


Make: TypeAlias = "Callable[[str, random.Random], Case]"


def hunt(
    make: Make,
    dialect: str,
    *,
    count: int,
    seed: int,
    tmp_path: Path,
    shard: int = 0,
    patience_s: int = 60,
) -> None:
    """Run so many cases. One that goes wrong fails the test, which shows and keeps what did it."""
    drawn_from = f"{seed} {make.__name__} {dialect} {shard}"
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "tests.fuzz.hunting"),
            *(make.__module__, make.__name__, dialect),
            *(drawn_from, str(count), str(patience_s), str(tmp_path)),
        ],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    last = (tmp_path / "last").read_text() if (tmp_path / "last").exists() else "none"
    said = done.stderr.decode("utf-8", "replace")
    assert (done.returncode, last) == (0, str(count - 1)), (
        f"case {last} of {count}, drawn from {drawn_from!r}, kept in {tmp_path}:\n{said}"
    )


def run(make: Make, dialect: str, drawn_from: str, count: int, patience_s: int) -> int:
    """Run the cases in this process. Each is noted before it is judged: it may be the last."""
    judge(make(dialect, random.Random(0)))  # What is made only once is no growth.
    limit_memory()
    last = os.open("last", os.O_CREAT | os.O_WRONLY)
    for number in range(count):
        if number % BATCH == 0:
            faulthandler.dump_traceback_later(patience_s, exit=True)
        os.pwrite(last, b"%d" % number, 0)
        case = make(dialect, random.Random(f"{drawn_from} {number}"))
        if not judge(case):
            Path(f"case-{number}").write_bytes(case.data)
            return 1
    return 0


def judge(case: Case) -> bool:
    try:
        case.judge(case.data)
    except Exception:  # noqa: BLE001 -- any at all is what is hunted
        sys.stderr.write(f"{case.data[:4000]!r}\n{traceback.format_exc(-12)}")
        return False
    return True


def limit_memory() -> None:
    """Let this process grow by so much and no more, where that can be said."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    grown = pages * resource.getpagesize() + GROWTH_MAX
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = grown if hard == resource.RLIM_INFINITY else min(grown, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def main(arguments: list[str]) -> int:
    module, name, dialect, drawn_from, count, patience_s, folder = arguments
    make = getattr(importlib.import_module(module), name)
    os.chdir(folder)
    return run(make, dialect, drawn_from, int(count), int(patience_s))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
