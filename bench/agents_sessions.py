"""A turn on a session of openai-agents: the calls alone that its ``Runner`` makes of a session.

These are ``get_items``, then ``add_items`` of the question, and of the answer. `Runs` has the
``Runner`` make them. Sessions stay open, with all that they have opened.
"""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from .texts import exchanges

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from pathlib import Path

    from .sqlite_turns import Synchronous

__all__ = ["RedisSessions", "Runs", "SQLAlchemySessions", "SQLiteSessions"]


class _Sessions:
    """A kind of session; those of all conversations stay open."""

    def __init__(self) -> None:
        self._sessions: dict[str, Any] = {}

    def session(self, name: str) -> Any:  # noqa: ANN401 - its type is imported where it is made
        raise NotImplementedError

    async def seed(self, name: str, earlier: Sequence[tuple[str, str]]) -> None:
        self._sessions[name] = self.session(name)
        said = [message for pair in earlier for message in (_asked(pair[0]), _said(pair[1]))]
        await self._sessions[name].add_items(said)

    async def turn(self, name: str, question: str, answer: str) -> object:
        session = self._sessions[name]
        asked = [*await session.get_items(), _asked(question)]
        await session.add_items([_asked(question)])
        await session.add_items([_said(answer)])
        return asked

    async def close(self) -> None:
        for session in self._sessions.values():
            session.close()


class SQLiteSessions(_Sessions):
    """In one file of SQLite."""

    def __init__(self, folder: Path, synchronous: Synchronous) -> None:
        from agents import SQLiteSession

        super().__init__()
        self._path = folder / f"{type(self).__name__}.db"

        class Session(SQLiteSession):
            @staticmethod
            def _configure_connection(connection: sqlite3.Connection) -> None:
                SQLiteSession._configure_connection(connection)  # noqa: SLF001 - no other way
                connection.execute(f"PRAGMA synchronous = {synchronous}")

        self.session = lambda name: Session(name, self._path)


class Runs(SQLiteSessions):
    """The whole turn, with a model that reads no bytes."""

    def __init__(self, folder: Path, synchronous: Synchronous) -> None:
        from agents import Agent, set_tracing_disabled

        set_tracing_disabled(disabled=True)
        super().__init__(folder, synchronous)
        self._agent = Agent(name="bench", model=_answering())

    async def turn(self, name: str, question: str, answer: str) -> object:  # noqa: ARG002
        from agents import Runner

        session = self._sessions[name]
        return (await Runner.run(self._agent, question, session=session)).final_output


class SQLAlchemySessions(_Sessions):
    """In one file of SQLite, through SQLAlchemy and aiosqlite."""

    def __init__(self, folder: Path, synchronous: Synchronous) -> None:
        from agents.extensions.memory import SQLAlchemySession
        from sqlalchemy import event
        from sqlalchemy.ext.asyncio import create_async_engine

        super().__init__()
        self._engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'alchemy.db'}")

        @event.listens_for(self._engine.sync_engine, "connect")
        def _set(connection: Any, _: object) -> None:  # noqa: ANN401 - SQLAlchemy's own
            connection.execute(f"PRAGMA synchronous = {synchronous}")

        self.session = lambda name: SQLAlchemySession(name, engine=self._engine, create_tables=True)

    async def close(self) -> None:
        await self._engine.dispose()


class RedisSessions(_Sessions):
    """In a Redis, by its URL."""

    def __init__(self, url: str) -> None:
        from agents.extensions.memory import RedisSession

        super().__init__()
        self.session = lambda name: RedisSession.from_url(name, url=url)

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()


def _asked(question: str) -> dict[str, Any]:
    return {"role": "user", "content": question}


def _said(answer: str) -> dict[str, Any]:
    """A message as the Responses API gives it, which is what is stored."""
    content = {"type": "output_text", "text": answer, "annotations": []}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }


def _answering() -> Any:  # noqa: ANN401 - its type is imported here
    from agents import Model, ModelResponse, Usage
    from openai.types.responses import ResponseOutputMessage

    answers = cycle([_said(answer) for _, answer in exchanges(100)])

    class Answering(Model):
        async def get_response(self, *_: object, **__: object) -> ModelResponse:
            output = [ResponseOutputMessage(**next(answers))]
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def stream_response(self, *_: object, **__: object) -> Any:  # noqa: ANN401 - as above
            raise NotImplementedError

    return Answering()
