"""Every example in the README and the docs runs, and prints what stands below it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


def examples(page: Path) -> list[tuple[str, str | None]]:
    """The code of a page's examples, each with what it is said to print."""
    found = _EXAMPLE.findall(page.read_text(encoding="utf-8"))
    return [(code, printed or None) for code, printed in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run_one_after_the_other(page: Path) -> None:
    names: dict[str, object] = {"__name__": "example"}
    for code, printed in examples(page):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, page.name, "exec", dont_inherit=True), names)  # noqa: S102
        if printed is not None:
            assert out.getvalue() == printed, f"{page.name} prints something else:\n{code}"


def test_there_are_examples_to_run() -> None:
    assert sum(len(examples(page)) for page in PAGES) >= 8
