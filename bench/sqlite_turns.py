"""A turn on a conversation that SQLite keeps, ours and the floor's.

Each makes what it needs in a folder. A turn has two commits, at the same ``synchronous`` for all.
"""

from __future__ import annotations

import json
import sqlite3
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

import hansard
from hansard import Ask, Chat, clock, user
from hansard.dialects.dialect import Answer
from hansard.messages import Usage
from hansard.record.pages import page_of
from hansard.stores.store import Hold
from hansard.turn import writing

from .answering import answering

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Commits", "Floor", "OurStore", "Ours", "Synchronous"]

OPENAI = hansard.dialect("openai")
Synchronous: TypeAlias = Literal["FULL", "NORMAL"]


class Ours:
    """A session made for this turn, on a store that is open; the turn machine and all.

    The conversation was made by as many turns, but not as durably.
    """

    def __init__(self, folder: Path, synchronous: Synchronous, file: str = "ours.db") -> None:
        path = folder / file
        self._seeding = hansard.open_store(f"sqlite:///{path}", durability="normal")
        self._store = hansard.open_store(f"sqlite:///{path}", durability=synchronous.lower())
        self._chat = Chat(answering())

    def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        session = self._chat.session(self._seeding, name)
        for question, _ in earlier:
            session.send(user(question))

    def turn(self, name: str, question: str, answer: str) -> object:  # noqa: ARG002 - it has its own
        return self._chat.session(self._store, name).send(user(question)).text

    def close(self) -> None:
        self._seeding.close()
        self._store.close()


class OurStore(Ours):
    """The store and the record alone: the same entries, and no turn machine that makes them."""

    def __init__(self, folder: Path, synchronous: Synchronous) -> None:
        super().__init__(folder, synchronous, "our-store.db")

    def turn(self, name: str, question: str, answer: str) -> object:
        loading = self._store.read(name)
        if loading is None:
            raise AssertionError("it was not seeded")
        at_us = clock.now_us()
        head, record = loading.head, loading.record(loading.head.incarnation, hansard.dialect)
        begin = writing.begin(record, clock.new_name(), at_us=at_us)
        asked = record.apply(begin)
        prompt = (OPENAI.message(_spelled("user", question)), False)
        [said] = writing.said(asked, [prompt], "input", at_us=at_us)
        asked = asked.apply(said)
        page, head = page_of(head, record, asked, (begin, said), clock.new_name())
        fence = self._store.append(name, page, head, hold=Hold("bench", 15.0)).fence
        body = OPENAI.request(Ask("gpt-5-mini", asked.context.segments(OPENAI))).body
        raw = _spelled("assistant", answer)
        usage = Usage(input_tokens=19, output_tokens=10)
        answered = writing.answer(asked, Answer(raw, finish="stop", usage=usage), at_us=at_us)
        record = asked.apply(answered)
        end = writing.end(record, "done", at_us=at_us)
        page, head = page_of(head, asked, record.apply(end), (answered, end), clock.new_name())
        self._store.append(name, page, head, hold=Hold("bench", 0, fence))
        return body


class Floor:
    """Bare sqlite3: a row a message, whose bodies are joined; each commit compares and sets.

    With ``marked`` a turn has four rows, as its beginning and its end are recorded too.
    """

    def __init__(self, folder: Path, synchronous: Synchronous, *, marked: bool) -> None:
        path = folder / f"{type(self).__name__}-{marked}.db"
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute(f"PRAGMA synchronous = {synchronous}")
        self._db.execute("CREATE TABLE talk (number INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        self._db.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, body BLOB)")
        self._marked = marked

    def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        insert = "INSERT INTO talk (name) VALUES (?) RETURNING number"
        [number] = self._db.execute(insert, (name,)).fetchone()
        pairs = [(*self._asked(question), *self._said(answer)) for question, answer in earlier]
        entries = enumerate(chain.from_iterable(pairs), number << 32)
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO entry (id, body) VALUES (?, ?)", entries)
        self._db.execute("COMMIT")

    def turn(self, name: str, question: str, answer: str) -> object:
        select = "SELECT number FROM talk WHERE name = ?"
        [number] = self._db.execute(select, (name,)).fetchone()
        bounds = (number << 32, (number + 1) << 32)
        select = "SELECT id, body FROM entry WHERE id >= ? AND id < ? ORDER BY id"
        rows = self._db.execute(select, bounds).fetchall()
        following = rows[-1][0] + 1 if rows else bounds[0]
        asked = self._asked(question)
        following = self._append(bounds, following, asked)
        bodies = [body for _, body in rows if body is not None]
        body = b'{"model":"gpt-5-mini","messages":[%b,%b]}' % (b",".join(bodies), asked[-1])
        self._append(bounds, following, self._said(answer))
        return body

    def _append(
        self, bounds: tuple[int, int], following: int, bodies: Sequence[bytes | None]
    ) -> int:
        self._db.execute("BEGIN IMMEDIATE")
        select = "SELECT max(id) FROM entry WHERE id >= ? AND id < ?"
        [last] = self._db.execute(select, bounds).fetchone()
        if (bounds[0] if last is None else last + 1) != following:
            raise AssertionError("somebody else has appended")
        insert = "INSERT INTO entry (id, body) VALUES (?, ?)"
        self._db.executemany(insert, enumerate(bodies, following))
        self._db.execute("COMMIT")
        return following + len(bodies)

    def _asked(self, question: str) -> list[bytes | None]:
        message = _spelled("user", question)
        return [None, message] if self._marked else [message]

    def _said(self, answer: str) -> list[bytes | None]:
        message = _spelled("assistant", answer)
        return [message, None] if self._marked else [message]

    def close(self) -> None:
        self._db.close()


class Commits(Floor):
    """The two commits alone, of the same rows: nothing is loaded, nothing compared."""

    def __init__(self, folder: Path, synchronous: Synchronous) -> None:
        super().__init__(folder, synchronous, marked=True)

    def turn(self, name: str, question: str, answer: str) -> object:  # noqa: ARG002 - see above
        for bodies in (self._asked(question), self._said(answer)):
            rows = [(body,) for body in bodies]
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("INSERT INTO entry (body) VALUES (?)", rows)
            self._db.execute("COMMIT")
        return None


def _spelled(role: str, content: str) -> bytes:
    return json.dumps({"role": role, "content": content}, separators=(",", ":")).encode()
