"""Processes are killed at work, with SIGKILL, on every store: nothing is lost, nothing doubled.

`harness` says how; by itself it takes the number of kills and a seed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import scale
from tests.kills.harness import Harness, told
from tests.kills.stores import URLS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("kind", URLS)
def test_whatever_is_killed_no_word_is_lost_and_no_effect_happens_twice(
    kind: str, seed: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    kills = -(-scale(50, 500) // len(URLS))
    again = f"python -m tests.kills.harness --kills {kills} --seed {seed} --store {kind}"
    sys.stdout.write(f"to repeat: {again}\n")
    counts = Harness(kind, seed, tmp_path).run(kills)
    record_property(f"killed on {kind}", told(counts))
    assert counts["kills"] == kills
    for policy in ("reads", "keyed", "once"):
        assert counts[policy], f"no {policy} tool ran"
