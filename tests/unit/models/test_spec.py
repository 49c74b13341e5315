"""A model by its name in a string."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hansard import models
from hansard.chat import Chat
from hansard.errors import Invalid

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("spec", "dialect", "name"),
    [
        ("openai:gpt-5-mini", "openai", "gpt-5-mini"),
        ("openai-responses:gpt-5", "openai-responses", "gpt-5"),
        ("anthropic:claude-opus-5", "anthropic", "claude-opus-5"),
        ("gemini:gemini-3-pro", "gemini", "gemini-3-pro"),
        ("openai:ft:gpt-5:me::1", "openai", "ft:gpt-5:me::1"),
    ],
)
def test_a_string_names_the_dialect_and_the_model(spec: str, dialect: str, name: str) -> None:
    model = models.model(spec)
    assert (model.dialect.name, model.name) == (dialect, name)
    assert repr(Chat(spec)) == f"<Chat <Model {dialect}:{name}>>"


def test_local_alone_is_the_small_model(gguf: Path) -> None:
    model = models.model("local")
    assert (model.dialect.name, model.name) == ("openai", gguf.stem)


def test_local_takes_the_path_of_another(tmp_path: Path) -> None:
    file = tmp_path / "other.gguf"
    file.touch()
    assert models.model(f"local:{file}").name == "other"


def test_local_with_a_path_where_nothing_is_is_invalid(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"expected a model's file in the GGUF format, found none"):
        models.model(f"local:{tmp_path}")


def test_a_local_model_in_a_dialect_that_llama_cpp_does_not_speak_is_invalid() -> None:
    with pytest.raises(Invalid, match=r"one of openai, .*found 'gemini'"):
        models.local(dialect="gemini")


def test_a_model_is_given_back_as_it_is() -> None:
    model = models.openai("m-1")
    assert models.model(model) is model


@pytest.mark.parametrize("spec", ["", "gpt-5", "openai", "openai:", "local:", "OpenAI:gpt-5", ":x"])
def test_what_names_no_model_is_invalid_and_the_error_shows_how(spec: str) -> None:
    with pytest.raises(Invalid, match=r"openai:….*or local, found") as caught:
        models.model(spec)
    assert repr(spec) in str(caught.value)


@pytest.mark.parametrize("spec", [None, 3, b"openai:gpt-5"])
def test_what_is_no_name_of_a_model_is_invalid(spec: Any) -> None:
    with pytest.raises(Invalid, match="expected a model or the name of one, found"):
        Chat(spec)
