"""Who closes what: a chat the model that it made of a string, and no other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hansard import models

if TYPE_CHECKING:
    from hansard import Model
    from tests.support.talkers import Talkers


class Closed:
    """A transport of either kind that only knows whether it was closed."""

    def __init__(self) -> None:
        self.times = 0

    def close(self) -> Any:
        self.times += 1
        return self

    def __await__(self) -> Any:
        return iter(())


@pytest.fixture
def closed() -> Closed:
    return Closed()


def closing(transport: Any) -> Model:
    return replace(models.openai("m-1"), transport=transport, async_transport=transport)


def test_a_model_that_was_given_is_left_open_for_other_chats(
    talker: Talkers, closed: Closed
) -> None:
    talker(closing(closed)).close_chat()
    assert closed.times == 0


def test_a_model_that_was_given_as_a_string_is_closed_with_its_chat(
    talker: Talkers, closed: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "model", lambda _: closing(closed))
    talker("openai:m-1").close_chat()
    assert closed.times > 0
