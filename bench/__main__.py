"""Run all benchmarks, or those named: ``./dev bench store_turn --quick``."""

from __future__ import annotations

import importlib
import platform
import sys

ALL = (
    "blob_turn",
    "stream_reading",
    "turn_overhead",
    "import_time",
    "store_turn",
    "store_growth",
    "store_postgres",
    "store_redis",
)
_USAGE = f"expected names of {', '.join(ALL)}, and --quick to see them run"


def main(arguments: list[str]) -> int:
    """Print the tables, as Markdown."""
    quick = "--quick" in arguments
    names = [argument for argument in arguments if argument != "--quick"]
    if unknown := [name for name in names if name not in ALL]:
        print(f"{_USAGE}; found {', '.join(unknown)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, {platform.machine()}. Compare ratios, not times.")
    for name in names or ALL:
        print()
        for line in importlib.import_module(f"bench.{name}").run(quick=quick):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
