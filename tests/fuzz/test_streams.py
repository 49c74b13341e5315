"""Whatever comes as an answer, streamed or whole, is an answer whose message can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import scale
from tests.fuzz.answers import damaged_body, damaged_stream
from tests.fuzz.hunting import hunt
from tests.support.conversations import FOLDERS

if TYPE_CHECKING:
    from pathlib import Path

SHARDS = scale(1, 2)
STREAMS = scale(1_000, 100_000) // (len(FOLDERS) * SHARDS)
BODIES = scale(1_000, 100_000) // len(FOLDERS)


@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("name", FOLDERS)
def test_a_damaged_stream_is_an_answer_however_it_is_cut(
    name: str, shard: int, seed: int, tmp_path: Path
) -> None:
    hunt(damaged_stream, name, count=STREAMS, seed=seed, shard=shard, tmp_path=tmp_path)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_damaged_body_is_an_answer_or_a_typed_error(name: str, seed: int, tmp_path: Path) -> None:
    hunt(damaged_body, name, count=BODIES, seed=seed, tmp_path=tmp_path)
