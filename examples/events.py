"""A bot in a game: what happens between turns reaches the model with its next request.

Players walk about, and their phones check in. That is no turn: `Chat.append` puts an event on the
record and asks nobody. The model sees it, in its place, when the player next says something.

What is true only now, such as the score, is no event. It stands in the leading system text, which
is given afresh with each turn and is never stored: old scores do not pile up in the state.

Run it with the name of a model (``openai:gpt-5-mini``), or without one for a script.
"""

from __future__ import annotations

import sys

from hansard import Chat, Model, State, event, system, user
from hansard.testing import ScriptedModel, ScriptedRequest

CHECKED_IN = "The player has checked in at "


class Game:
    """One player's game: the conversation, and what the game itself keeps count of."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.state = State()
        self.score = 0

    def check_in(self, place: str) -> None:
        """Note that the player has come to a place. Nobody is asked."""
        self.state = self.chat.append(self.state, event(f"{CHECKED_IN}{place}."))
        self.score += 50

    def say(self, text: str) -> str:
        """Let the player say something, and give the bot's answer."""
        told = system(f"You are the friendly guide of a game. The player has {self.score} points.")
        reply = self.chat.send(self.state, told, user(text))
        self.state = reply.state
        return reply.text


def main(model: str | Model) -> Game:
    """Play for a while."""
    with Chat(model) as chat:
        game = Game(chat)
        for line in (
            "> Hello! Where do I begin?",
            "Harrogate Theatre",
            "> Tell me about this place.",
            "the Royal Pump Room",
            "Valley Gardens",
            "> Where have I been, and how am I doing?",
        ):
            if line.startswith("> "):
                print(f"{line}\n{game.say(line[2:])}\n")
            else:
                game.check_in(line)
                print(f"* {line}\n")
    return game


def guide(request: ScriptedRequest) -> str:
    """Answer as a model would, out of what it has been told."""
    told = [message.text for message in request.messages if message.text.startswith(CHECKED_IN)]
    places = [text.removeprefix(CHECKED_IN).rstrip(".") for text in told]
    score = request.system.partition("The player has ")[2]
    if not places:
        return "Go to a place that you like, and check in there."
    if "been" in request.text:
        return f"You have been to {', then to '.join(places)}. You have {score}"
    return f"You are at {places[-1]}, and have {score}"


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else ScriptedModel(guide))
