"""A process that holds conversations on a store, until it is killed.

It is given its orders as a line of JSON, and tells its parent, line by line, what was acknowledged
to it: entries by the store, steps by its sessions. Its threads share the store, and divide the
conversations among them.
"""

from __future__ import annotations

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import hansard
import hansard.session
import hansard.stores.sqlite  # loaded before it is ready, as the session is
from hansard import Busy, Chat, LeaseLost, PendingCalls, ToolIdempotencyError, user
from hansard.errors import Invalid, InvalidTransition, RevisionConflict
from hansard.testing import ScriptedModel
from tests.kills import plan
from tests.kills.effects import Effects
from tests.kills.tools import make_tools, result
from tests.kills.watched import Line, watched

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard import Reply
    from hansard.messages import ToolCall
    from hansard.session import Session
    from tests.kills.plan import Step

__all__ = ["Orders", "World", "main"]


class Orders(msgspec.Struct, frozen=True):
    """What a child is to do: some ``steps`` in each of its threads, or to ``finish`` everything.

    ``conversations`` has the number of the step that is next in each.
    """

    seed: int
    life: int
    url: str
    folder: str
    conversations: dict[str, int]
    steps: int = 6
    threads: int = 2
    lease_s: float = 1.0
    dies_at: int | None = None
    finish: bool = False


class World:
    """The conversations of one process, with their model and their tools."""

    def __init__(self, orders: Orders, line: Line) -> None:
        self.orders = orders
        self.line = line
        self.effects = Effects(Path(orders.folder))
        self._done = self.effects.done()  # by processes that are gone
        self._store = watched(hansard.open_store(orders.url), line)
        tools = [*make_tools(self.effects, line)]
        self._chat = Chat(ScriptedModel(plan.answer), tools=tools, max_rounds=20)

    def run(self) -> None:
        """Do what was ordered."""
        orders = self.orders
        names = sorted(orders.conversations)
        with ThreadPoolExecutor(orders.threads) as threads:
            hands = [
                _Hand(self, names[at :: orders.threads], random.Random(f"{orders.life} {at}"))
                for at in range(min(orders.threads, len(names)))
            ]
            work = [
                threads.submit(hand.finish if orders.finish else hand.work, orders.steps)
                for hand in hands
            ]
            for each in work:
                each.result()
        self._store.close()

    def session(self, name: str, *, waits: bool) -> Session:
        """Hold a conversation."""
        return self._chat.session(
            self._store, name, busy="wait" if waits else "raise", lease_s=self.orders.lease_s
        )

    def settle(self, session: Session, calls: Sequence[ToolCall]) -> None:
        """Look up what became of calls that were begun by processes that are gone."""
        for call in calls:
            ran = call.id in self._done
            self.line.say("settled", call.id, ran)
            if ran:
                session.settle(call, result(call.id), by="the books")
            else:
                session.settle(call, not_run=True, by="the books")


class _Hand:
    """One thread, and the conversations that are its own."""

    def __init__(self, world: World, names: Sequence[str], drawn: random.Random) -> None:
        self._world = world
        self._line = world.line
        self._drawn = drawn
        self._next = {name: world.orders.conversations[name] for name in names}
        self._sessions: dict[str, Session] = {}

    def work(self, steps: int) -> None:
        """Take so many steps, each in a conversation at which nobody else is at work."""
        for name in self._next:
            # Whatever a crash has left open is for the next turn to finish, too.
            if self._next[name] and self._drawn.random() < 0.2:
                self._line.say("skipped", name, self._next[name])
                self._next[name] += 1
        while steps and self._next:
            name = self._drawn.choice([*self._next])
            try:
                self._take(plan.step(self._world.orders.seed, name, self._next[name]))
            except Busy:
                continue
            except LeaseLost:  # It is for the next process, which knows that nothing still runs.
                self._line.say("lost", name)
                del self._next[name]
                continue
            self._next[name] += 1
            steps -= 1

    def finish(self, _: int) -> None:
        """Bring the open turn of every conversation to its end."""
        for name in self._next:
            session = self._world.session(name, waits=True)
            try:
                self._to_the_end(session, None)
            except Invalid:  # Nothing was ever asked.
                continue

    def _take(self, step: Step) -> None:
        name, number = step.conversation, step.number
        session = self._session(name)
        if step.kind == "append":
            life = self._world.orders.life
            session.append(f"Note {step.turn_id} {life}")
            self._line.say("noted", name, number, life)
        elif step.kind == "fork":
            self._fork(session, step.turn_id)
            self._line.say("forked", name, number)
        else:
            reply = self._to_the_end(session, step)
            self._line.say("replied", name, number, reply.text)
            if self._drawn.random() < 0.2:
                again = session.send(user(step.prompt), turn_id=step.turn_id)
                self._line.say("replied", name, number, again.text)

    def _session(self, name: str) -> Session:
        """Hold a conversation: mostly as before, and now and then from the start."""
        if name not in self._sessions or self._drawn.random() < 0.2:
            self._sessions[name] = self._world.session(name, waits=self._drawn.random() < 0.5)
        return self._sessions[name]

    def _fork(self, session: Session, new: str) -> None:
        while True:
            try:
                session.fork(new)
            except InvalidTransition:
                self._to_the_end(session, None)
            except RevisionConflict:
                return  # It was made by one who was killed before he could say so.
            else:
                return

    def _to_the_end(self, session: Session, step: Step | None) -> Reply:
        """Take a turn to its end, whatever it waits for; without a step, the one that is open."""
        while True:
            try:
                if step is None:
                    reply = session.resume()
                elif step.kind == "stream":
                    with session.stream(user(step.prompt), turn_id=step.turn_id) as stream:
                        reply = stream.finish()
                else:
                    reply = session.send(user(step.prompt), turn_id=step.turn_id)
                if not reply.approvals:
                    return reply
                self._decide(session, reply.approvals)
            except ToolIdempotencyError as error:
                self._world.settle(session, error.calls)
            except PendingCalls as error:
                self._decide(session, error.calls)

    def _decide(self, session: Session, calls: Sequence[ToolCall]) -> None:
        for call in calls:
            decide = session.approve if plan.is_approved(call.id) else session.deny
            decide(call, by="a person")


def main() -> None:
    """Do what is ordered on standard input."""
    Line(1).say("ready")
    ordered = sys.stdin.readline()
    if ordered:
        orders = msgspec.json.decode(ordered, type=Orders)
        line = Line(1, orders.dies_at)
        began_s = time.monotonic()
        World(orders, line).run()
        if not orders.finish:
            line.say("over", time.monotonic() - began_s, line.places)


if __name__ == "__main__":
    main()
