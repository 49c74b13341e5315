"""What is observed adds up to what was done and paid, and holds nothing of what was said."""

from __future__ import annotations

import logging

import pytest

from examples.observability import main, script
from hansard import Usage

SAID = ("storm", "oil", "oyl", "wind", "burn", "lighthouse. Be brief", "Lit")


def test_every_call_is_counted_with_what_it_cost() -> None:
    model = script()
    rows = main(model).rows
    counts = {name: (calls, failed) for name, (calls, failed, _, _) in rows.items()}
    assert counts == {"keeper": (5, 1), "read_gauge()": (2, 1), "light_lamp()": (1, 0)}
    assert len(model.requests) == 5
    used = rows["keeper"][2]
    assert (used.input_tokens, used.output_tokens) == (90 + 140 + 165 + 165 + 190, 57)
    assert rows["light_lamp()"][2] == Usage()
    assert all(took_s >= 0 for _, _, _, took_s in rows.values())


def test_the_usage_of_a_turn_is_that_of_all_its_calls_valid_or_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(script())
    printed = capsys.readouterr().out
    assert "  272 tokens in 2 calls of the model" in printed
    assert "  535 tokens in 3 calls of the model" in printed


def test_actions_are_shown_as_they_happen_before_the_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(script())
    printed = capsys.readouterr().out
    assert "> Light the lamp, please.\n  * Lit the lamp\nIt burns.\n" in printed


def test_the_table_has_a_row_for_each_model_and_tool(capsys: pytest.CaptureFixture[str]) -> None:
    main(script())
    heading, *rows = capsys.readouterr().out.splitlines()[-4:]
    assert heading.split() == ["calls", "failed", "tokens", "in", "out", "ms"]
    assert rows[0].split()[:-1] == ["keeper", "5", "1", "750", "57"]
    assert sorted(row.split()[0] for row in rows[1:]) == ["light_lamp()", "read_gauge()"]


def test_the_log_has_every_step_and_nothing_of_what_was_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="lighthouse")
    main(script())
    kinds = [message.split(":")[0] for message in caplog.messages]
    first = ["model keeper", *["tool read_gauge"] * 2, "model keeper", "turn 1"]
    second = [*["model keeper"] * 2, "tool light_lamp", "model keeper", "turn 2"]
    assert kinds == first + second
    assert "empty" in caplog.messages[5]
    assert [word for word in SAID if word in "\n".join(caplog.messages)] == []
