"""A model that answers at once: its answers are prepared, and no two that follow are the same.

All that stands between a caller and the network is ours: the request is made as bytes, and the
answer is read from the bytes of a whole response.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import hansard
from hansard.models import Model

from .texts import exchanges
from .turn_task import whole

if TYPE_CHECKING:
    from hansard.dialects.dialect import Dialect, Request

__all__ = ["answering"]


def answering(dialect: Dialect | None = None) -> Model:
    """Give a model that can be called blocking and under asyncio."""
    wire = (_Wire(), _AsyncWire())
    return Model(dialect or hansard.dialect("openai"), "gpt-5-mini", *wire)


class _Wire:
    def __init__(self) -> None:
        said = [answer for _, answer in exchanges(100)]
        message = {"role": "assistant", "refusal": None, "annotations": []}
        self.next = cycle([whole({**message, "content": text}, "stop") for text in said]).__next__

    def send(self, _: Request, *, timeout_s: float | None = None) -> bytes:  # noqa: ARG002
        return self.next()

    def close(self) -> None:
        """Nothing is held."""


class _AsyncWire(_Wire):
    async def send(self, _: Request, *, timeout_s: float | None = None) -> bytes:  # noqa: ARG002
        return self.next()

    async def close(self) -> None:
        """Nothing is held."""
