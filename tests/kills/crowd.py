"""A process among several that send to the same conversations at once.

Each of its turns has a tool to run, which leaves a line; so has each call of the model.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

import hansard
import hansard.session
import hansard.stores.sqlite
from hansard import Chat, ToolContext, tool, user
from hansard.testing import ScriptedModel, ScriptedRequest, call, say
from tests.kills.effects import Effects
from tests.kills.watched import Line

__all__ = ["Orders", "said_in"]

LATEST_S = 100.0


class Orders(msgspec.Struct, frozen=True):
    """Whom to be, and what to say where, in this order: conversations, and ids of turns."""

    url: str
    folder: str
    name: str
    turns: list[tuple[str, str]]


def said_in(turn_id: str) -> str:
    """What the user says in a turn."""
    return f"Say {turn_id}"


def main() -> None:
    """Take the turns that are ordered on standard input."""
    line = Line(1)
    line.say("ready")
    orders = msgspec.json.decode(sys.stdin.readline(), type=Orders)
    effects = Effects(Path(orders.folder))

    @tool(policy="once")
    def note(turn_id: str, context: ToolContext) -> str:
        """Write it down."""
        effects.begin(turn_id, context.idempotency_key, is_resume=context.is_resume)
        effects.do(f"tool {turn_id}")
        return turn_id

    def answer(request: ScriptedRequest) -> object:
        prompt = next(each.text for each in reversed(request.messages) if each.role == "user")
        turn_id = prompt.removeprefix("Say ")
        if not request.results:
            effects.do(f"model {turn_id}")
            return say(calls=[call("note", turn_id=turn_id)])
        return f"{orders.name} wrote {request.results[0].text}"

    chat = Chat(ScriptedModel(answer), tools=[note])  # type: ignore[arg-type]
    with hansard.open_store(orders.url) as store:
        for conversation, turn_id in orders.turns:
            session = chat.session(store, conversation, lease_s=30)
            reply = session.send(user(said_in(turn_id)), turn_id=turn_id, timeout_s=LATEST_S)
            line.say("replied", conversation, turn_id, reply.text)
    line.say("over")


if __name__ == "__main__":
    main()
