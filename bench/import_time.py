"""What `import hansard` costs on top of a bare Python: in new processes, the best of many."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from .timing import row

_CODES = {
    "bare Python": "pass",
    "msgspec": "import msgspec",
    "hansard": "import hansard",
    "openai": "import openai",
    "anthropic": "import anthropic",
}


def run(*, quick: bool = False) -> Iterator[str]:
    """Yield the table."""
    yield "## Import (ms on top of a bare Python)"
    yield row("package", "ms", "modules")
    yield row(*["---"] * 3)
    best = dict.fromkeys(_CODES, float("inf"))
    for _ in range(2 if quick else 9):
        for name, code in _CODES.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    for name, code in _CODES.items():
        count = subprocess.run(
            [sys.executable, "-c", f"{code}; import sys; print(len(sys.modules))"],
            check=True,
            capture_output=True,
        )
        yield row(name, best[name] - best["bare Python"], int(count.stdout))
