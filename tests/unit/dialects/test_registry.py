"""Dialects are found by name; names are never taken over."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hansard.dialects import registry
from hansard.dialects.openai_chat import OpenAIChat
from hansard.errors import Invalid, UnknownDialect

if TYPE_CHECKING:
    from collections.abc import Iterator


class Mine(OpenAIChat):
    """A dialect of somebody's own."""

    name = "test-mine"


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what a test registers."""
    monkeypatch.setattr(registry, "_registered", {})
    return iter(())


@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic", "gemini"])
def test_a_built_in_dialect_is_found_by_the_name_it_calls_itself(name: str) -> None:
    assert registry.dialect(name).name == name


def test_one_instance_serves_everybody() -> None:
    assert registry.dialect("openai") is registry.dialect("openai")


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    registry.register(Mine())
    with pytest.raises(UnknownDialect, match=r"anthropic, gemini.*test-mine, found 'nope'"):
        registry.dialect("nope")


def test_a_registered_dialect_is_found_and_listed() -> None:
    mine = Mine()
    registry.register(mine)
    assert registry.dialect("test-mine") is mine
    assert registry.dialects() == tuple(sorted({*registry.dialects(), "test-mine"}))
    assert "test-mine" in registry.dialects()


def test_registering_the_same_one_again_is_harmless() -> None:
    mine = Mine()
    registry.register(mine)
    registry.register(mine)
    assert registry.dialect("test-mine") is mine


def test_a_name_is_never_taken_over() -> None:
    mine = Mine()
    registry.register(mine)
    with pytest.raises(Invalid, match="'test-mine' is taken"):
        registry.register(Mine())
    assert registry.dialect("test-mine") is mine


def test_a_built_in_name_is_taken_before_anybody_asked_for_it() -> None:
    with pytest.raises(Invalid, match="'openai' is taken"):
        registry.register(OpenAIChat())


def test_listing_the_dialects_loads_none_of_them() -> None:
    program = (
        "import sys; from hansard.dialects import registry; registry.dialects();"
        "print([name for name in sys.modules if 'openai' in name or 'gemini' in name])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
