"""Listeners: what can be told something, and what is made of one that fails."""

from __future__ import annotations

import functools
import logging
from typing import Any

import pytest

from hansard import Invalid
from hansard.talk.listeners import check_listener, tell


class Called:
    """An object that is called, and has to be awaited."""

    async def __call__(self, said: object) -> None:
        """Hear."""


async def later(said: object) -> None:
    """Hear, later."""


@pytest.mark.parametrize(
    ("wrong", "words"),
    [(3, "to be functions, found 3"), (later, "not to be async"), (Called(), "not to be async")],
)
def test_what_cannot_be_told_anything_is_refused(wrong: Any, words: str) -> None:
    with pytest.raises(Invalid) as error:
        check_listener("on_this", wrong)
    assert f"on_this= {words}" in str(error.value)


@pytest.mark.parametrize("fine", [print, [].append, functools.partial(print, end="")])
def test_whatever_answers_at_once_is_a_listener(fine: Any) -> None:
    check_listener("on_this", fine)


def test_a_listener_is_told() -> None:
    heard: list[object] = []
    tell(heard.append, "so")
    assert heard == ["so"]


def test_what_a_listener_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_said: object) -> None:
        raise RuntimeError("no disk")

    with caplog.at_level(logging.ERROR, "hansard"):
        tell(broken, "so")
    assert "no disk" in caplog.text


def test_an_interruption_while_somebody_listens_is_for_the_caller() -> None:
    def interrupted(_said: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tell(interrupted, "so")
