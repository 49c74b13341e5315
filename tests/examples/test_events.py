"""What happens between turns is told to the model in its place, what is true only now each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from examples.events import Game, guide, main
from hansard import Chat, event
from hansard.record import views
from hansard.testing import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = "The player has checked in at "
DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_events_reach_the_next_request_in_the_order_in_which_they_happened(dialect: str) -> None:
    model = ScriptedModel(guide, dialect=dialect)
    game = main(model)
    said = [texts(request.messages) for request in model.requests]
    assert said[0] == ["Hello! Where do I begin?"]
    assert said[1][2:] == [f"{HERE}Harrogate Theatre.", "Tell me about this place."]
    assert said[2][: len(said[1])] == said[1]
    assert said[2][len(said[1]) + 1 :] == [
        f"{HERE}the Royal Pump Room.",
        f"{HERE}Valley Gardens.",
        "Where have I been, and how am I doing?",
    ]
    assert texts(views.curated(game.chat.load(game.state)))[:-1] == said[2]


def test_the_score_is_told_afresh_and_is_in_no_state() -> None:
    model = ScriptedModel(guide)
    main(model)
    scores = [request.system.partition("has ")[2] for request in model.requests]
    assert scores == ["0 points.", "50 points.", "150 points."]

    quiet = ScriptedModel("Hello.")
    game = Game(Chat(quiet))
    game.check_in("Harrogate Theatre")
    game.say("Hello!")
    assert "50 points" in quiet.requests[0].system
    assert b"50 points" not in bytes(game.state)


def test_an_event_asks_nobody_and_is_the_users() -> None:
    model = ScriptedModel("Nobody asks for this.")
    game = Game(Chat(model))
    game.check_in("Harrogate Theatre")
    assert model.requests == []
    (message,) = views.curated(game.chat.load(game.state))
    assert message.role == "user"
    assert message.text == event(f"{HERE}Harrogate Theatre.").text


def test_the_answers_show_that_the_model_was_told(capsys: pytest.CaptureFixture[str]) -> None:
    main(ScriptedModel(guide))
    printed = capsys.readouterr().out
    assert "You are at Harrogate Theatre, and have 50 points." in printed
    assert "to Harrogate Theatre, then to the Royal Pump Room, then to Valley Gardens." in printed


def texts(messages: Sequence[object]) -> list[str]:
    return [getattr(message, "text", "") for message in messages]
