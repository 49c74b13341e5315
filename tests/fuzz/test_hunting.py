"""The hunt fails where it should: each way in which a case can go wrong is found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.hunting import GROWTH_MAX, Case, hunt

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

WRONG_FROM = 0.99
"""Early cases are well, so that the one that is not has to be found among them."""


def raises(_: str, rng: random.Random) -> Case:
    def judged(data: bytes) -> None:
        assert data < b"%f" % WRONG_FROM

    return Case(b"%f" % rng.random(), judged)


def crashes(_: str, rng: random.Random) -> Case:
    return Case(b"", lambda _: os.abort() if rng.random() > WRONG_FROM else None)


def hangs(_: str, rng: random.Random) -> Case:
    def judged(_: bytes) -> None:
        wrong = rng.random() > WRONG_FROM
        while wrong:
            pass

    return Case(b"", judged)


def devours(_: str, rng: random.Random) -> Case:
    return Case(b"", lambda _: bytearray(2 * GROWTH_MAX) if rng.random() > WRONG_FROM else None)


def behaves(_: str, rng: random.Random) -> Case:
    return Case(rng.randbytes(9), len)


def test_what_goes_well_is_no_failure(tmp_path: Path) -> None:
    hunt(behaves, "", count=1000, seed=1, tmp_path=tmp_path)


@pytest.mark.parametrize(
    ("make", "shows"),
    [
        (raises, "AssertionError"),
        (crashes, "case [0-9]+ of 1000"),
        (hangs, "Timeout"),
        (devours, "MemoryError"),
    ],
)
def test_what_goes_wrong_is_found_and_shown(
    make: Callable[[str, random.Random], Case], shows: str, tmp_path: Path
) -> None:
    with pytest.raises(AssertionError, match=shows):
        hunt(make, "", count=1000, seed=1, tmp_path=tmp_path, patience_s=1)


def test_a_case_that_failed_is_kept_and_comes_again(tmp_path: Path) -> None:
    found = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        folder.mkdir()
        with pytest.raises(AssertionError):
            hunt(raises, "", count=1000, seed=2, tmp_path=folder)
        found += [(kept.name, kept.read_bytes()) for kept in folder.glob("case-*")]
    assert len(found) == 2
    assert found[0] == found[1]
