"""Every name on the right of the table of the seeds' names exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

_PAGE = (Path(__file__).parents[2] / "docs" / "seeds.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\|[^|]+\|([^|]+)\|$", re.MULTILINE)
NAMES = sorted(
    {name for cell in _ROW.findall(_PAGE) for name in re.findall(r"`(hansard\.[\w.]+)`", cell)}
)


def resolve(name: str) -> object:
    """Import as much of a dotted name as is a module, and look up the rest."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for attribute in parts[length:]:
            annotated = getattr(found, "__annotations__", {})
            found = getattr(found, attribute, annotated.get(attribute))
            assert found is not None, f"{name} does not exist"
        return found
    raise AssertionError(f"{name} does not exist")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_right_exists(name: str) -> None:
    assert resolve(name) is not None


def test_the_table_has_all_four_seeds() -> None:
    assert len(re.findall(r"^## ", _PAGE, re.MULTILINE)) == 4
    assert len(NAMES) > 40


def test_a_name_that_does_not_exist_is_noticed() -> None:
    with pytest.raises(AssertionError):
        resolve("hansard.Message.colour")
