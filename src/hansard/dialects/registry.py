"""Which dialects there are, by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import Invalid, UnknownDialect

if TYPE_CHECKING:
    from .dialect import Dialect

__all__ = ["dialect", "dialects", "register"]

_BUILT_IN = {
    "openai": ("openai_chat", "OpenAIChat"),
    "openai-responses": ("openai_responses", "OpenAIResponses"),
    "anthropic": ("anthropic", "Anthropic"),
    "gemini": ("gemini", "Gemini"),
}

_registered: dict[str, Dialect] = {}


def dialect(name: str) -> Dialect:
    """Give the dialect of that name. A built-in one is loaded when first asked for."""
    found = _registered.get(name)
    if found is not None:
        return found
    if name in _BUILT_IN:
        module, kind = _BUILT_IN[name]
        made: Dialect = getattr(import_module(f".{module}", __package__), kind)()
        _registered[name] = made
        return made
    raise UnknownDialect(
        f"expected one of {', '.join(dialects())}, found {name!r}; "
        "register(dialect) makes one of your own known"
    )


def register(dialect: Dialect) -> None:
    """Make a dialect known under its name. The same one again is harmless."""
    if not dialect.name or ":" in dialect.name:
        raise Invalid(f"expected a name without a colon, found {dialect.name!r}")
    if dialect.name in _BUILT_IN or _registered.get(dialect.name, dialect) is not dialect:
        raise Invalid(f"the name {dialect.name!r} is taken by another dialect; choose another")
    _registered[dialect.name] = dialect


def dialects() -> tuple[str, ...]:
    """The names of all dialects that are known."""
    return tuple(sorted({*_BUILT_IN, *_registered}))
