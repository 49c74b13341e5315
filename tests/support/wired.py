"""A model behind a wire-checking server, so that what is sent is judged as a provider would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hansard

if TYPE_CHECKING:
    from hansard import Model
    from hansard.testing import WireServer

__all__ = ["DIALECTS", "reach"]

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")


def reach(server: WireServer, *, retries: int = 0, **options: Any) -> Model:
    """Give the model that a server plays, over our own transport."""
    make = getattr(hansard, server.wire_format.replace("-", "_"))
    made: Model = make("m", base_url=server.url, api_key="k", retries=retries, **options)
    return made
