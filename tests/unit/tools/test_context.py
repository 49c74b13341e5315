"""What a tool may know and do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hansard.errors import Invalid
from hansard.tools.context import ToolContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.tools.context import Action


@dataclass
class Place:
    city: str


PLACE: Any = Place("Tokyo")


def context(
    *,
    deadline: float | None = None,
    clock: Callable[[], float] | None = None,
    sink: Callable[[Action], None] | None = None,
    connection: object = None,
) -> ToolContext:
    return ToolContext(
        call_id="1",
        tool_name="book",
        idempotency_key="key",
        deadline=deadline,
        clock=clock,
        sink=sink,
        connection=connection,
    )


def test_time_runs_out_at_the_deadline_and_not_below_zero() -> None:
    assert context(deadline=10.0, clock=lambda: 7.5).time_left_s() == 2.5
    assert context(deadline=10.0, clock=lambda: 11.0).time_left_s() == 0
    assert context().time_left_s() is None


def test_actions_reach_whoever_listens() -> None:
    heard: list[Action] = []
    listened = context(sink=heard.append)

    listened.log("Created place X")
    listened.log({"created": ["X"], "at": PLACE})
    context().log("Nobody listens")

    assert heard == ["Created place X", {"created": ["X"], "at": {"city": "Tokyo"}}]


@pytest.mark.parametrize("action", [5, ["a"], None, {"a": object()}, {"a": float("nan")}, object()])
def test_an_action_that_is_neither_text_nor_an_object_is_refused(action: Any) -> None:
    with pytest.raises(Invalid, match="expected text or a JSON object to log"):
        context().log(action)


def test_the_transaction_is_the_stores_own() -> None:
    connection = object()

    assert context(connection=connection).transaction is connection


def test_a_tool_without_a_transaction_is_told_how_to_have_one() -> None:
    with pytest.raises(Invalid, match=r"declare book with @tool\(policy='transactional'\)"):
        _ = context().transaction


def test_a_context_can_be_shown_without_what_is_handed_in() -> None:
    assert "lambda" not in repr(context(clock=lambda: 1.0, connection=lambda: 2))
