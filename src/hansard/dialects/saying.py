"""What OpenAI's two interfaces have in common where a draft is said part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .dialect import Loss, name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..messages import Part
    from .dialect import Beside

__all__ = ["Sayer"]


class Sayer:
    """Says the parts of one draft, and gathers what is lost on the way.

    ``call_id`` maps the ids of a foreign draft; it is None for one of this dialect.
    """

    def __init__(self, call_id: Callable[[str, str], str] | None) -> None:
        self.losses: list[Loss] = []
        self._call_id = call_id

    @property
    def foreign(self) -> bool:
        """Whether the draft comes from another dialect."""
        return self._call_id is not None

    def lose(self, part: Part | Beside, reason: str) -> None:
        """List something that cannot be said."""
        self.losses.append(Loss(0, name_of(part), reason))

    def _id(self, call_id: str, name: str, position: int) -> str:
        return self._call_id(call_id, f"{name}_{position}") if self._call_id else call_id
