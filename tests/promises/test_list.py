"""The list of promises in the docs and the tests that keep them are the same."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISES = "tests/promises/"
THIS = f"{PROMISES}{Path(__file__).name}"

_ROW = re.compile(r"^\| `([ABCD](?:\.\w+)+)` \| (.+?) \| `(tests/[^`]+)` \|$")
_UNBUILT = re.compile(r"^\| `([ABCD](?:\.\w+)+)` \| ([^|]+) \|$")
_NAMED = re.compile(r"([ABCD](?:\.\w+)+): ")
_HEAD = re.compile(r"\| (name|---) \|")


def rows(page: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Give the names and tests of a page, and the names of what is not built yet."""
    built, _, later = page.partition("\n## Not built yet\n")
    return (
        [(row[1], row[3]) for row in _matching(built, _ROW)],
        [row[1] for row in _matching(later, _UNBUILT)],
    )


def _matching(page: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
    lines = [line for line in page.splitlines() if line.startswith("|") and not _HEAD.match(line)]
    found = [(line, pattern.match(line)) for line in lines]
    assert [line for line, match in found if match is None] == [], "these are no rows of the list"
    return [match for _, match in found if match is not None]


def collected(paths: list[str]) -> set[str]:
    """Give the tests that pytest finds there, without their parameters."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}


def flaws(listed: list[tuple[str, str]], later: list[str], found: set[str]) -> list[str]:
    """Say what is wrong with a list, given the tests that there are."""
    names = Counter([*[name for name, _ in listed], *later])
    tests = {test for _, test in listed}
    here = {test for test in found if test.startswith(PROMISES) and not test.startswith(THIS)}
    return [
        *[f"{name} stands there {count} times" for name, count in names.items() if count > 1],
        *[f"{name} has no test {test}" for name, test in listed if test not in found],
        *[f"{test} is not in the list" for test in sorted(here - tests)],
    ]


PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
LISTED, LATER = rows(PAGE)


def test_every_promise_has_a_test_and_every_test_here_a_promise() -> None:
    paths = {test.partition("::")[0] for _, test in LISTED}
    assert flaws(LISTED, LATER, collected(sorted({PROMISES, *paths}))) == []


def test_every_test_here_names_its_promise() -> None:
    named: list[tuple[str, str]] = []
    for path in sorted((ROOT / PROMISES).glob("test_*.py")):
        where = path.relative_to(ROOT).as_posix()
        if where == THIS:
            continue
        for part in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(part, ast.FunctionDef) and part.name.startswith("test_"):
                name = _NAMED.match(ast.get_docstring(part) or "")
                named.append((name[1] if name else "", f"{where}::{part.name}"))
    assert sorted(named) == sorted([row for row in LISTED if row[1].startswith(PROMISES)])


def test_all_four_systems_are_listed_with_their_mistakes() -> None:
    for system in ("A", "C"):
        ours = [name for name, _ in LISTED if name.startswith(f"{system}.")]
        assert len([name for name in ours if ".mistake." in name]) > 5
        assert len([name for name in ours if ".mistake." not in name]) > 15
    assert len([name for name, _ in LISTED if name.startswith("B.")]) > 5
    ours = [name for name, _ in LISTED if name.startswith("D.")]
    assert len([name for name in ours if ".mistake." in name]) > 5
    assert len([name for name in ours if ".kept." in name]) > 5
    assert len(ours) > 25
    assert LATER


def test_a_list_that_is_wrong_is_noticed() -> None:
    test = f"{PROMISES}test_it.py::test_a"
    page = f"| `A.a` | Words. | `{test}` |\n| `A.b` | Words. | `tests/x.py::test_b` |\n"
    listed, later = rows(f"{page}\n## Not built yet\n| name | |\n| --- | --- |\n| `A.a` | Words |")
    assert (len(listed), later) == (2, ["A.a"])
    assert flaws(listed, later, {test, f"{PROMISES}test_it.py::test_c"}) == [
        "A.a stands there 2 times",
        "A.b has no test tests/x.py::test_b",
        f"{PROMISES}test_it.py::test_c is not in the list",
    ]
    with pytest.raises(AssertionError, match="no rows"):
        rows("| `A.a` | Words. | a test to be written |")
