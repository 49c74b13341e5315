"""A model by its name in a string, as configuration has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Invalid
from .local import local
from .model import Model
from .providers import anthropic, gemini, openai, openai_responses

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["model"]

_MAKERS: dict[str, Callable[[str], Model]] = {
    "openai": openai,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "local": lambda path: local(path=path or None),
}


def model(spec: str | Model) -> Model:
    """Give the model that a string names; a model is given back as it is.

    A string is ``"openai:gpt-5-mini"``, and so with ``openai-responses``, ``anthropic`` and
    ``gemini``; or ``"local"``, or ``"local:"`` and the path of a model's file.
    """
    if isinstance(spec, Model):
        return spec
    if not isinstance(spec, str):
        raise Invalid(f"expected a model or the name of one, found {spec!r}")
    provider, colon, name = spec.partition(":")
    make = _MAKERS.get(provider)
    if make is None or not (name or (provider == "local" and not colon)):
        known = ", ".join(f"{each}:…" for each in _MAKERS)
        raise Invalid(f"expected a model such as {known} or local, found {spec!r}")
    return make(name)
