"""What the docs draw from the code is what the code says now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import hansard

DOCS = Path(__file__).parents[2] / "docs"


def build() -> object:
    spec = importlib.util.spec_from_file_location("build", DOCS / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", sorted(DOCS.glob("**/*.md")), ids=lambda page: page.name)
def test_the_drawings_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert build().drawn(text) == text, "run ./dev docs"  # type: ignore[attr-defined]


def test_the_public_names_are_sorted_and_all_there() -> None:
    assert hansard.__all__ == sorted(hansard.__all__, key=lambda name: (name.islower(), name))
    for name in hansard.__all__:
        assert getattr(hansard, name).__doc__, f"{name} promises nothing"
