"""The benchmarks of the stores run, without what they are measured against."""

from __future__ import annotations

from importlib import import_module
from itertools import groupby

import pytest


@pytest.mark.parametrize("name", ["store_turn", "store_growth"])
def test_a_benchmark_of_a_store_gives_a_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = import_module(f"bench.{name}")
    if hasattr(bench, "find_spec"):
        monkeypatch.setattr(bench, "find_spec", lambda _: None)

    tables = [[*lines] for is_row, lines in groupby(bench.run(quick=True), _is_row) if is_row]

    assert tables
    for head, *rows in tables:
        assert len(rows) > 1
        assert {row.count(" |") for row in rows} == {head.count(" |")}


def _is_row(line: str) -> bool:
    return line.startswith("|")
