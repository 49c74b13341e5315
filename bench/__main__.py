"""Run all benchmarks, or those named: ``./dev bench blob_turn``."""

from __future__ import annotations

import importlib
import platform
import sys

ALL = ("blob_turn", "stream_reading", "turn_overhead", "import_time")


def main(names: list[str]) -> int:
    """Print the tables, as Markdown."""
    print(f"Python {platform.python_version()}, {platform.machine()}. Compare ratios, not times.")
    for name in names or ALL:
        if name not in ALL:
            print(f"expected one of {', '.join(ALL)}, found {name!r}", file=sys.stderr)
            return 2
        print()
        for line in importlib.import_module(f"bench.{name}").run():
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
