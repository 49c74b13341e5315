"""A review survives its process, and leaves each comment once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.review_loop import PROJECT, Comments, Review, main, scripts, work
from hansard import FileCheckpointHandler

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_second_process_finishes_what_the_first_began_and_comments_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = scripts()
    main(first, second, tmp_path)
    assert (first.left, second.left) == (0, 0)
    assert [comment["path"] for comment in Comments(tmp_path / "comments.jsonl").all()] == [
        "mean.py"
    ]
    out = capsys.readouterr().out
    assert "it is gone" in out
    assert "comment on mean.py was left already" in out
    assert "Review(verdict='needs work', comments=1)" in out
    assert [*(tmp_path / "checkpoints").iterdir()] == []


def test_the_other_provider_is_told_all_that_has_been_done(tmp_path: Path) -> None:
    first, second = scripts()
    main(first, second, tmp_path)
    [asked] = second.requests
    results = [result.text for message in asked.messages for result in message.tool_results]
    assert results == [*PROJECT.values(), "left"]
    assert asked.tools == ("read_file", "leave_comment")


def test_the_checkpoint_has_what_was_done_before_the_process_was_gone(tmp_path: Path) -> None:
    first, second = scripts()
    assert work(first, tmp_path, dies=True) is None
    checkpoint = FileCheckpointHandler[str](tmp_path / "checkpoints").load("review-42")
    assert checkpoint is not None
    state = checkpoint.snapshot.state()
    assert state is not None
    assert [len(turn.tool_messages) for turn in state.turns] == [2, 0]
    assert work(second, tmp_path) == Review("needs work", 1)
