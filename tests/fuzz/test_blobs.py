"""Whatever bytes come as a state, they are a record or a refusal, and a record can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import scale
from tests.fuzz.hunting import hunt
from tests.fuzz.states import damaged_go_state, damaged_state, forged_state
from tests.support.conversations import FOLDERS

if TYPE_CHECKING:
    from pathlib import Path

SHARDS = scale(1, 3)
GO = scale(1_000, 100_000) // len(FOLDERS)
DAMAGED = scale(4_000, 400_000) // (len(FOLDERS) * SHARDS) + 1
FORGED = scale(6_000, 600_000) // (len(FOLDERS) * SHARDS) + 1


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("name", FOLDERS)
def test_a_damaged_state_is_a_record_or_a_refusal(
    name: str, shard: int, seed: int, tmp_path: Path
) -> None:
    hunt(damaged_state, name, count=DAMAGED, seed=seed, shard=shard, tmp_path=tmp_path)


@pytest.mark.parametrize("name", FOLDERS)
def test_both_roads_of_version_1_say_the_same_and_what_is_taken_can_be_looked_at(
    name: str, seed: int, tmp_path: Path
) -> None:
    hunt(damaged_go_state, name, count=GO, seed=seed, tmp_path=tmp_path)


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("name", FOLDERS)
def test_a_forged_state_is_a_record_or_a_typed_error(
    name: str, shard: int, seed: int, tmp_path: Path
) -> None:
    hunt(forged_state, name, count=FORGED, seed=seed, shard=shard, tmp_path=tmp_path)
