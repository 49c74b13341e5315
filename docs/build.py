"""Draw into the docs what is drawn from the code: run by ``./dev docs``, checked by the tests.

A page has a pair of comments, ``<!-- drawn: NAME -->`` and ``<!-- end -->``; what stands between
them is replaced.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import hansard
from hansard.record.transitions import KEEPS, NEXT
from hansard.testing import wire_rules

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).parent
_DRAWN = re.compile(r"(<!-- drawn: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def phases() -> str:
    """Draw the phases of a record and the steps between them."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> idle"]
    for phase, steps in NEXT.items():
        to: dict[str, list[str]] = {}
        for step, after in steps.items():
            to.setdefault(after, []).append(step)
        lines += [f"    {phase} --> {after}: {', '.join(names)}" for after, names in to.items()]
    return "\n".join([*lines, "```", ""])


def keeps() -> str:
    """Tabulate what the views contain of a turn."""
    lines = ["| a turn that is | with a valid answer | without |", "| --- | --- | --- |"]
    for status in dict.fromkeys(status for status, _ in KEEPS):
        cells = [KEEPS.get((status, answered), "cannot be") for answered in (True, False)]
        lines.append(f"| {status} | {cells[0]} | {cells[1]} |")
    return "\n".join([*lines, ""])


def names() -> str:
    """List the public names, each with the first sentence of what it promises."""
    lines = []
    for name in hansard.__all__:
        doc = (getattr(hansard, name).__doc__ or "").strip().split("\n\n")[0]
        lines.append(f"- `{name}`: {' '.join(doc.split())}")
    return "\n".join([*lines, ""])


DRAWINGS: dict[str, Callable[[], str]] = {
    "phases": phases,
    "keeps": keeps,
    "names": names,
    "wire_rules": wire_rules.table,
}


def drawn(page: str) -> str:
    """Give a page with its drawings made anew."""
    return _DRAWN.sub(lambda found: found[1] + DRAWINGS[found[2]]() + found[3], page)


def main() -> int:
    """Draw into every page; say which have changed."""
    for path in sorted(DOCS.glob("**/*.md")):
        page = path.read_text(encoding="utf-8")
        if (new := drawn(page)) != page:
            path.write_text(new, encoding="utf-8")
            sys.stdout.write(f"drawn anew: {path.relative_to(DOCS.parent)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
