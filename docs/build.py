"""Draw into the docs what is drawn from the code: run by ``./dev docs``, checked by the tests.

A page has a pair of comments, ``<!-- drawn: NAME -->`` and ``<!-- end -->``; what stands between
them is replaced.
"""

from __future__ import annotations

import ast
import re
import sys
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, get_args

import hansard
from hansard.record.transitions import KEEPS, NEXT
from hansard.testing import wire_rules
from hansard.turn.machine import SITUATIONS
from hansard.turn.standing import STANDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hansard.turn.machine import Situation
    from hansard.turn.standing import Standing

DOCS = Path(__file__).parent

FOUND: dict[Situation, str] = {
    "over": "no turn is open",
    "answered": "the last answer is valid and has no calls",
    "to ask": "the prompt, or the results of a round, wait for an answer",
    "out of tries": "one more invalid answer in a row than `retries` allows",
    "blocked": "the last answer says that nothing will be said to this",
    "out of rounds": "`rounds_max` answers were no end: they had calls, or were paused",
    "calls pending": "the last answer has calls, and not all have results",
}
"""How the record shows where a turn is."""

SEEN: dict[Standing, str] = {
    "running": "this driver has it in flight",
    "in doubt": "it may have run, and its policy is `once`, or it did not end in time just now",
    "in doubt, its tool decides": "as `once`, and its tool has `on_unknown`, not asked yet",
    "no such tool": "no tool has its name",
    "denied": "a decision says so",
    "no round left": "the turn has had as many answers as it may",
    "the caller's": "its tool has no `run`, or `run_tools` is off",
    "unfit": "its arguments are not what the tool takes",
    "unapproved": "its tool needs approval, and nobody has decided",
    "ready": "it may run, and nothing has to be said before",
    "ready, once": "it may run, and the record does not yet say that it is about to",
}
"""How the record and the rules show how a call stands."""

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


def situations() -> str:
    """Tabulate where a turn can be, how that is seen, and what is done then."""
    lines = ["| the turn is | when | then |", "| --- | --- | --- |"]
    lines += [f"| {now} | {FOUND[now]} | {done} |" for now, done in SITUATIONS.items()]
    return "\n".join([*lines, ""])


def standings() -> str:
    """Tabulate how a call can stand, how that is seen, and what is done then."""
    lines = ["| the call is | when | then |", "| --- | --- | --- |"]
    lines += [f"| {now} | {SEEN[now]} | {done} |" for now, done in STANDINGS.items()]
    return "\n".join([*lines, ""])


def turn() -> str:
    """Draw what the turn machine decides: about the turn, then about each call."""
    lines = ["```mermaid", "flowchart LR", '    where{"where is<br>the turn?"}']
    lines += _arrows("where", SITUATIONS, {"see to each call": "how"})
    lines.append('    how{"how does<br>the call stand?"}')
    lines += _arrows("how", STANDINGS, {})
    return "\n".join([*lines, "```", ""])


def _arrows(asked: str, table: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    """Draw an arrow for each row of a table, to one box for each thing that is done."""
    boxes: dict[str, str] = {}
    lines = []
    for now, done in table.items():
        if done in known:
            box = known[done]
        elif done in boxes:
            box = boxes[done]
        else:
            boxes[done] = f"{asked}{len(boxes)}"
            box = f'{boxes[done]}["{done}"]'
        lines.append(f'    {asked} -- "{now}" --> {box}')
    return lines


def names() -> str:
    """List the public names, each with the first sentence of what it promises."""
    lines = []
    for name in hansard.__all__:
        doc = _promise(name).strip().split("\n\n")[0]
        lines.append(f"- `{name}`: {' '.join(doc.split())}")
    return "\n".join([*lines, ""])


def _promise(name: str) -> str:
    """Say what a public name promises; of one for several types, which they are."""
    found = getattr(hansard, name)
    if isinstance(found, UnionType):
        return f"One of {', '.join([f'`{each.__name__}`' for each in get_args(found)])}."
    if isinstance(found, str):
        return _said_below(name)
    return found.__doc__ or ""


def _said_below(name: str) -> str:
    """Find the docstring below the line that gives a name to a type."""
    for path in sorted(Path(hansard.__file__).parent.glob("**/*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        for named, said in pairwise(body):
            is_it = isinstance(named, ast.AnnAssign) and ast.unparse(named.target) == name
            if is_it and isinstance(said, ast.Expr):
                return str(ast.literal_eval(said.value))
    return ""


DRAWINGS: dict[str, Callable[[], str]] = {
    "phases": phases,
    "keeps": keeps,
    "situations": situations,
    "standings": standings,
    "turn": turn,
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
