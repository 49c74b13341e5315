"""The same turn, as those have it who use another library: openai-agents, LangGraph, pydantic-ai.

What they would keep open between turns is open. Their own settings stand, but for ``synchronous``.

- openai-agents: the calls of a session alone, and once with the ``Runner``. See `agents_sessions`.
- LangGraph: ``invoke`` of a graph of one node. How often it commits is for it to say.
- pydantic-ai: the adapter for messages alone. ``rows`` has a row a message, as the rows a run of
  the chat application in its documentation; ``whole`` replaces all, in one commit.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from .agents_sessions import Runs, SQLAlchemySessions, SQLiteSessions
from .graph import one_node

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .sqlite_turns import Synchronous

__all__ = ["PEERS"]


def _connect(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    return connection


# -- LangGraph ------------------------------------------------------------------------------------


class _Shared:
    """One saver, for all conversations."""

    def __init__(self, folder: Path, synchronous: Synchronous) -> None:
        self._graph = self._make(folder / "shared.db", synchronous)

    def _make(self, path: Path, synchronous: Synchronous) -> Any:  # noqa: ANN401 - see `one_node`
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._connections = [*getattr(self, "_connections", []), _connect(path, synchronous)]
        return one_node(SqliteSaver(self._connections[-1]), "async")

    def graph(self, name: str) -> Any:  # noqa: ANN401, ARG002 - as above
        return self._graph

    def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        self.graph(name).seed(name, earlier)

    def turn(self, name: str, question: str, answer: str) -> object:  # noqa: ARG002
        return self.graph(name).turn(name, question)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


class _Own(_Shared):
    """A file, and its saver, for each conversation."""

    def __init__(self, folder: Path, synchronous: Synchronous) -> None:
        self._connections = []
        self._place = (folder, synchronous)
        self._graphs: dict[str, Any] = {}

    def graph(self, name: str) -> Any:  # noqa: ANN401 - as above
        folder, synchronous = self._place
        if name not in self._graphs:
            self._graphs[name] = self._make(folder / f"own-{name}.db", synchronous)
        return self._graphs[name]


# -- pydantic-ai ----------------------------------------------------------------------------------


class _Rows:
    def __init__(self, folder: Path, synchronous: Synchronous) -> None:
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        self._db = _connect(folder / f"{type(self).__name__}.db", synchronous)
        self._db.execute("CREATE TABLE said (id INTEGER PRIMARY KEY, name TEXT, messages BLOB)")
        self._db.execute("CREATE INDEX said_by_name ON said (name)")
        self._adapter = ModelMessagesTypeAdapter

    def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        said = [each for pair in earlier for each in (_request(pair[0]), _response(pair[1]))]
        rows = [(name, self._adapter.dump_json([message])) for message in said]
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO said (name, messages) VALUES (?, ?)", rows)
        self._db.execute("COMMIT")

    def turn(self, name: str, question: str, answer: str) -> object:
        select = "SELECT messages FROM said WHERE name = ? ORDER BY id"
        messages = []
        for [dumped] in self._db.execute(select, (name,)):
            messages += self._adapter.validate_json(dumped)
        for message in (_request(question), _response(answer)):
            row = (name, self._adapter.dump_json([message]))
            self._db.execute("INSERT INTO said (name, messages) VALUES (?, ?)", row)
        return messages

    def close(self) -> None:
        self._db.close()


class _Whole(_Rows):
    def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        said = [each for pair in earlier for each in (_request(pair[0]), _response(pair[1]))]
        row = (name, self._adapter.dump_json(said))
        self._db.execute("INSERT INTO said (name, messages) VALUES (?, ?)", row)

    def turn(self, name: str, question: str, answer: str) -> object:
        select = "SELECT messages FROM said WHERE name = ?"
        [dumped] = self._db.execute(select, (name,)).fetchone()
        messages = self._adapter.validate_json(dumped)
        messages += (_request(question), _response(answer))
        row = (self._adapter.dump_json(messages), name)
        self._db.execute("UPDATE said SET messages = ? WHERE name = ?", row)
        return messages


def _request(question: str) -> Any:  # noqa: ANN401 - its type is imported here
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    return ModelRequest([UserPromptPart(question)])


def _response(answer: str) -> Any:  # noqa: ANN401 - its type is imported here
    from pydantic_ai.messages import ModelResponse, TextPart

    return ModelResponse([TextPart(answer)])


PEERS = {
    "openai-agents SQLiteSession": ("agents", SQLiteSessions),
    "openai-agents SQLiteSession, Runner": ("agents", Runs),
    "openai-agents SQLAlchemySession": ("agents", SQLAlchemySessions),
    "LangGraph SqliteSaver, shared": ("langgraph", _Shared),
    "LangGraph SqliteSaver, own": ("langgraph", _Own),
    "pydantic-ai, rows": ("pydantic_ai", _Rows),
    "pydantic-ai, whole": ("pydantic_ai", _Whole),
}
"""What each is called, the package that it needs, and what makes it."""
