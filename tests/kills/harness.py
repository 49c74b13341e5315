"""Kills processes that hold conversations on a store, and sees that nothing was lost or doubled.

    python -m tests.kills.harness --kills 500 --seed 7 --store sqlite

A child takes turns whose tools write to files and databases. It is killed with SIGKILL: half the
time when a while has passed that is drawn from how long it would live, else at one of the places
by which it comes, which are right before and after each append, commit and effect. Another child
goes on, on the same store. What a child was told is on a pipe before it goes on, and is compared
with what there is in the end. The seed repeats what is done, and the places; not the moments.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import hansard
from hansard.stores.store import Transactional
from tests.kills import plan
from tests.kills.checking import Acknowledged, Page, check
from tests.kills.child import Orders
from tests.kills.children import Child
from tests.kills.effects import Effects
from tests.kills.stores import URLS
from tests.support.postgres_server import stop_shared_server

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Harness", "main", "told"]

_CONVERSATIONS = 6
_CHECKED_EVERY = 100


class Harness:
    """One store, and the processes that are killed at work on it."""

    def __init__(self, kind: str, seed: int, folder: Path) -> None:
        self.seed = seed
        self.folder = folder
        self.url = URLS[kind](folder)
        self.counts: Counter[str] = Counter()
        self.acknowledged = Acknowledged()
        self._drawn = random.Random(f"{kind} {seed}")
        self._kind = kind
        self._next = {f"c{number}": 0 for number in range(_CONVERSATIONS)}
        self._made = _CONVERSATIONS
        self._life = 0
        self._lasts_s = 0.0
        self._places = 0
        self._torn: dict[Path, int] = {}
        self._standby: Child | None = None
        with hansard.open_store(self.url) as store:
            self._transactions = isinstance(store, Transactional)
            if isinstance(store, Transactional):
                transaction = store.begin()
                Effects.prepare(transaction.connection)
                transaction.commit()

    def run(self, kills: int) -> Counter[str]:
        """Kill so many processes, then let one live, and check everything. Gives the counts."""
        try:
            while (left := kills - self.counts["kills"]) > 0:
                if self._live_and_die() and left % _CHECKED_EVERY == 0:
                    self._finish_and_check()
            self._finish_and_check()
        finally:
            if self._standby is not None:
                self._standby.end()
        return self.counts

    def _live_and_die(self) -> bool:
        """Let a process live, until it is killed or at its end; whether it was killed."""
        orders = self._orders()
        after_s = None
        if self._places:  # One lives to its end first, so that it is known what a life is.
            if self._drawn.random() < 0.5:
                after_s = self._drawn.uniform(0, self._lasts_s)
            else:
                dies_at = self._drawn.randint(1, self._places)
                orders = msgspec.structs.replace(orders, dies_at=dies_at)
        child = self._standby or self._start()
        self._standby = self._start()
        was_killed = self._let_live(child, orders, after_s)
        if was_killed:
            self.counts["kills"] += 1
            self.counts["kills at a place" if orders.dies_at else "kills at a moment"] += 1
            self._tear_tails()
        self._retire()
        return was_killed

    def _orders(self) -> Orders:
        self._life += 1
        return Orders(
            seed=self.seed,
            life=self._life,
            url=self.url,
            folder=str(self.folder),
            conversations=dict(self._next),
        )

    def _start(self) -> Child:
        return Child("child", self.folder / f"child-{self._life}.err")

    def _let_live(self, child: Child, orders: Orders, after_s: float | None = None) -> bool:
        """Let a child work; whether it was killed."""
        child.hear("ready")
        child.order(msgspec.json.encode(orders))
        lines, was_killed = child.rest(after_s)
        for what, *about in lines:
            self._hear(what, *about)
        return was_killed

    def _finish_and_check(self) -> None:
        """Let a process take all that is open to its end. Then there must be nothing amiss."""
        with hansard.open_store(self.url) as store:
            listed = [each.conversation for each in store.list(limit=1000).conversations]
        self.acknowledged.conversations.update(listed)
        known = dict.fromkeys(self.acknowledged.conversations, 0)
        orders = msgspec.structs.replace(self._orders(), finish=True, conversations=known)
        child = self._standby or self._start()
        self._standby = None
        assert not self._let_live(child, orders)
        found = check(
            self.url, self.folder, self.acknowledged, self.seed, transactions=self._transactions
        )
        self.counts.update({what: count - self.counts[what] for what, count in found.items()})

    def _tear_tails(self) -> None:
        """Count the lines that a kill has left torn; tear one now and then, as power loss would."""
        for file in sorted(self.folder.glob("chats/*.jsonl")):
            lines = file.read_bytes().splitlines(keepends=True)
            if lines and not lines[-1].endswith(b"\n"):
                was_torn = file.stat().st_size == self._torn.get(file)
                self.counts["torn by a kill"] += not was_torn
                self._torn[file] = file.stat().st_size
            elif lines and self._drawn.random() < 0.05:
                torn = lines[-1][: self._drawn.randint(1, len(lines[-1]) - 1)]
                with file.open("ab") as tail:
                    tail.write(torn)
                self._torn[file] = file.stat().st_size
                self.counts["torn by hand"] += 1

    def _retire(self) -> None:
        """Let a new conversation take the place of one that has had its steps."""
        for name in [name for name, number in self._next.items() if number >= plan.STEPS]:
            del self._next[name]
            if "." not in name:
                self._next[f"c{self._made}"] = 0
                self._made += 1

    # -- what a child says ------------------------------------------------------------------------

    def _hear(self, what: str, *about: Any) -> None:
        hear = getattr(self, f"_heard_{what}")
        hear(*about)

    def _heard_entries(self, conversation: str, first: int, until: int, digest: str) -> None:
        self.acknowledged.pages.append(Page(conversation, first, until, digest))
        self.acknowledged.conversations.add(conversation)

    def _heard_replied(self, conversation: str, number: int, text: str) -> None:
        self.acknowledged.replies[f"{conversation}.{number}"] = text
        self._go_on(conversation, number)

    def _heard_noted(self, conversation: str, number: int, life: int) -> None:
        self.acknowledged.notes[conversation].append(f"Note {conversation}.{number} {life}")
        self._go_on(conversation, number)

    def _heard_forked(self, conversation: str, number: int) -> None:
        new = f"{conversation}.{number}"
        self.acknowledged.conversations.add(new)
        self._next.setdefault(new, plan.STEPS - 3)
        self.counts["forks"] += 1
        self._go_on(conversation, number)

    def _heard_skipped(self, conversation: str, number: int) -> None:
        self._go_on(conversation, number)

    def _go_on(self, conversation: str, number: int) -> None:
        self._next[conversation] = max(self._next.get(conversation, 0), number + 1)

    def _heard_settled(self, _: str, ran: bool) -> None:
        self.counts["in doubt, had run" if ran else "in doubt, had not run"] += 1

    def _heard_lost(self, _: str) -> None:
        self.counts["leases lost"] += 1

    def _heard_over(self, lasted_s: float, places: int) -> None:
        self._lasts_s, self._places = lasted_s, places


def told(counts: Counter[str]) -> str:
    """Tell what was counted."""
    return ", ".join([f"{count:,} {what}" for what, count in sorted(counts.items())])


def main(arguments: Sequence[str] | None = None) -> None:
    """Kill, check, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    parser.add_argument("--store", choices=[*URLS], default="sqlite")
    given = parser.parse_args(arguments)
    again = f"--kills {given.kills} --seed {given.seed} --store {given.store}"
    sys.stdout.write(f"python -m tests.kills.harness {again}\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="hansard-kills-") as folder:
        try:
            counts = Harness(given.store, given.seed, Path(folder)).run(given.kills)
        finally:
            stop_shared_server()
    sys.stdout.write(f"{told(counts)}\n")


if __name__ == "__main__":
    main()
