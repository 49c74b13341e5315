"""A process that holds a conversation, and stands still in the middle of a turn.

It says where it stands, and goes on when it is given a line.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

import hansard
from hansard import Chat, HansardError, Tool, ToolContext, tool, user
from hansard.dialects.registry import dialect
from hansard.record.entries import Said
from hansard.record.loading import entries_in
from hansard.testing import ScriptedModel, ScriptedRequest, call, say
from tests.kills.effects import Effects
from tests.kills.watched import Line

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.record.pages import Head, Page
    from hansard.stores.store import Receipt

__all__ = ["PROMPT", "Orders", "Place", "Policy", "make_chat"]

PROMPT = "Book it, and tell them."

Policy = Literal["once", "keyed"]
Place = Literal["before the answer is recorded", "before the tool starts", "in the tool"]


class Orders(msgspec.Struct, frozen=True):
    """Where to stand still."""

    url: str
    folder: str
    place: Place
    policy: Policy
    lease_s: float


def make_chat(folder: Path, policy: Policy, stand: Callable[[], None] | None = None) -> Chat:
    """Make a chat whose model has something booked."""
    effects = Effects(folder)

    def run(context: ToolContext) -> str:
        effects.begin("booked", context.idempotency_key, is_resume=context.is_resume)
        if stand is not None:
            stand()
        if policy == "keyed":
            effects.keep("booked", context.idempotency_key)
        else:
            effects.do("booked")
        return "Booked."

    def answer(request: ScriptedRequest) -> object:
        return "It is booked." if request.results else say(calls=[call("book")])

    book: Tool = tool(run, name="book", description="Book it.", policy=policy)
    return Chat(ScriptedModel(answer), tools=[book])  # type: ignore[arg-type]


class _Standing:
    """A store that stands still around the first append of an answer."""

    def __init__(self, store: Any, place: Place, stand: Callable[[], None]) -> None:
        self._store = store
        self._place = place
        self._stand = stand
        self._is_first = True

    def append(self, conversation: str, page: Page, head: Head, **how: Any) -> Receipt:
        entries = list(entries_in([page], dialect(head.dialect)))
        calls = any([isinstance(one, Said) and one.author == "model" for one in entries])
        calls, self._is_first = calls and self._is_first, self._is_first and not calls
        if calls and self._place == "before the answer is recorded":
            self._stand()
        receipt: Receipt = self._store.append(conversation, page, head, **how)
        if calls and self._place == "before the tool starts":
            self._stand()
        return receipt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def main() -> None:
    """Take a turn; whatever becomes of it, ask for its reply again."""
    line = Line(1)
    line.say("ready")
    orders = msgspec.json.decode(sys.stdin.readline(), type=Orders)

    def stand() -> None:
        line.say("stands", orders.place)
        sys.stdin.readline()

    in_tool = stand if orders.place == "in the tool" else None
    chat = make_chat(Path(orders.folder), orders.policy, in_tool)
    with hansard.open_store(orders.url) as store:
        standing: Any = _Standing(store, orders.place, stand)
        session = chat.session(standing, "c", lease_s=orders.lease_s)
        try:
            line.say("replied", session.send(user(PROMPT), turn_id="t").text)
        except HansardError as error:
            line.say("failed", type(error).__name__)
        sys.stdin.readline()
        line.say("replied", session.send(user(PROMPT), turn_id="t").text)


if __name__ == "__main__":
    main()
