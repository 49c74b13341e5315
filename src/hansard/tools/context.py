"""What a tool may know of the call that it answers, and what it may do beside answering.

A function asks for it with a parameter of this type; the model never sees that parameter. All
that has an effect is handed in by whoever runs the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import rawjson
from ..errors import Invalid

if TYPE_CHECKING:
    from ..rawjson import JSON

__all__ = ["Action", "ToolContext"]

Action: TypeAlias = "str | dict[str, JSON]"
"""What a tool reports to people: text, or a JSON object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The call that a tool is answering.

    ``idempotency_key`` is the same for every run of this call, over retries and crashes.
    ``is_resume`` is true for every run after a crash. ``session`` is the conversation, None
    where the caller keeps the state. ``deadline`` is when ``clock()`` will have run out of
    time, None where there is no limit.

    ``clock``, ``sink`` and ``connection`` come from whoever runs the tool. A test of a tool
    makes a context without them.
    """

    call_id: str
    tool_name: str
    idempotency_key: str
    is_resume: bool = False
    session: object = None
    deadline: float | None = None
    clock: Callable[[], float] | None = field(default=None, repr=False)
    sink: Callable[[Action], None] | None = field(default=None, repr=False)
    connection: object = field(default=None, repr=False)

    def time_left_s(self) -> float | None:
        """Say how long the tool may still take: 0 when time is up, None without a limit."""
        if self.deadline is None or self.clock is None:
            return None
        return max(0.0, self.deadline - self.clock())

    def log(self, action: str | Mapping[str, JSON]) -> None:
        """Report to people what was done: "Created place X". The model does not see it.

        Raises `Invalid` for what is neither text nor a JSON object. Nothing happens where
        nobody listens.
        """
        said = action if isinstance(action, str) else _as_object(action)
        if self.sink is not None:
            self.sink(said)

    @property
    def transaction(self) -> Any:  # noqa: ANN401 - the type is that of the store's own driver
        """The open transaction in which this call's outcome will be recorded.

        Write through it and do not commit: that happens together with the outcome. Raises
        `Invalid` unless the tool is transactional and the store can do that.
        """
        if self.connection is None:
            raise Invalid(
                f"expected a transaction, found none: declare {self.tool_name} with "
                "@tool(policy='transactional') and run it in a session on a store with "
                "transactions (SQLite, PostgreSQL)"
            )
        return self.connection


def _as_object(action: object) -> dict[str, JSON]:
    try:
        said = rawjson.value(rawjson.dump_finite(action))
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(
            f"expected text or a JSON object to log, found what has none: {error}"
        ) from None
    if not isinstance(said, dict):
        raise Invalid(f"expected text or a JSON object to log, found {type(action).__name__}")
    return said
