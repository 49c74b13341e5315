"""What is said in the conversations that are killed, and what the model answers.

All of it follows from a seed, the name of a conversation and the number of a step in it: whoever
comes after a crash says the same, and is answered the same.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from hansard.testing import call, say

if TYPE_CHECKING:
    from hansard.messages import Message
    from hansard.testing import ScriptedRequest
    from hansard.testing.script import Play

__all__ = ["STEPS", "Kind", "Planned", "Step", "answer", "is_approved", "step"]

STEPS = 12
"""How many steps a conversation has, before another one takes its place."""

Kind: TypeAlias = Literal["send", "stream", "append", "fork"]

_TOOLS = ("read", "put", "write", "book", "ask")
_SIZE = 120_000


class Planned(NamedTuple):
    """A call that the model makes. ``mark`` is said by no other call."""

    tool: str
    mark: str
    size: int
    fails: bool


class Step(NamedTuple):
    """One thing that is done with a conversation."""

    conversation: str
    number: int
    kind: Kind
    rounds: tuple[tuple[Planned, ...], ...] = ()

    @property
    def turn_id(self) -> str:
        """The id of its turn; of a fork, the name of the new conversation."""
        return f"{self.conversation}.{self.number}"

    @property
    def prompt(self) -> str:
        """What the user says: all that the model has to know to make its calls."""
        return "Do " + json.dumps([self.turn_id, self.rounds])

    @property
    def text(self) -> str:
        """What the model says in the end."""
        return f"Done with {self.turn_id}."


def step(seed: int, conversation: str, number: int) -> Step:
    """Say what is done with a conversation in its nth step."""
    drawn = random.Random(f"{seed} {conversation} {number}")
    kinds: tuple[Kind, ...] = ("send", "stream", "append", "fork")
    is_fork = "." in conversation
    [kind] = drawn.choices(kinds, (55, 30, 10, 0 if is_fork or not number else 5))
    if kind in ("append", "fork"):
        return Step(conversation, number, kind)
    rounds = []
    for at in range(drawn.choice((0, 1, 1, 2, 3))):
        calls = [
            Planned(
                drawn.choice(_TOOLS),
                f"{conversation}.{number}/{at}/{place}",
                _SIZE if drawn.random() < 0.03 else 0,
                drawn.random() < 0.1,
            )
            for place in range(drawn.choice((1, 1, 2, 4)))
        ]
        rounds.append(tuple(calls))
    return Step(conversation, number, kind, tuple(rounds))


def is_approved(mark: str) -> bool:
    """Whether a person agrees to a call."""
    return random.Random(mark).random() < 0.8


def answer(request: ScriptedRequest) -> Play:
    """Answer as the last prompt says, round by round."""
    prompt, done = _last_prompt(request.messages)
    turn_id, rounds = json.loads(prompt.removeprefix("Do "))
    if done == len(rounds):
        return say(f"Done with {turn_id}.")
    return say(
        "Let me see.",
        calls=[
            call(tool, id=mark, mark=mark, size=size, fails=fails)
            for tool, mark, size, fails in rounds[done]
        ],
    )


def _last_prompt(messages: tuple[Message, ...]) -> tuple[str, int]:
    """Give the last prompt, and how often it has been answered."""
    done = 0
    for message in reversed(messages):
        if message.role == "assistant":
            done += 1
        elif message.role == "user" and message.text.startswith("Do "):
            return message.text, done
    raise AssertionError("expected a prompt, found none")
