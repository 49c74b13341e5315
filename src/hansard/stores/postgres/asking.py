"""What operations ask of the database, and how they are run, blocking and under asyncio.

An operation is a generator. It yields some queries, which are sent together, and is sent their
rows; what it returns is what it comes to. So it is written once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from ..statements import read_statements

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from psycopg import AsyncConnection, Connection

__all__ = ["SQL", "Asking", "Query", "arun", "atomic", "run"]

SQL = read_statements(__name__)

Rows: TypeAlias = "list[tuple[Any, ...]]"
Values: TypeAlias = "Sequence[object] | Mapping[str, object]"
Result = TypeVar("Result")


class Query(NamedTuple):
    """A statement, by its name or as it is; ``each`` takes its rows, else they are kept."""

    statement: str
    values: Values = ()
    each: Callable[[tuple[Any, ...]], None] | None = None


Asking: TypeAlias = "Generator[list[Query], list[Rows], Result]"


def atomic(operation: Asking[Result], lasting: str) -> Asking[Result]:
    """Do all of an operation, or nothing."""
    opening = [Query("begin"), Query("lasting", (lasting,))]
    queries = next(operation)
    rows = (yield [*opening, *queries])[len(opening) :]
    while True:
        try:
            queries = operation.send(rows)
        except StopIteration as done:
            yield [Query("commit")]
            result: Result = done.value
            return result
        rows = yield queries


def run(connection: Connection[Any], operation: Asking[Result]) -> Result:
    """Run an operation; what it has not committed when it raises is undone."""
    rows: list[Rows] | None = None
    while True:
        try:
            queries = next(operation) if rows is None else operation.send(rows)
        except StopIteration as done:
            result: Result = done.value
            return result
        rows = _ask(connection, queries)


async def arun(connection: AsyncConnection[Any], operation: Asking[Result]) -> Result:
    """`run`, under asyncio."""
    rows: list[Rows] | None = None
    while True:
        try:
            queries = next(operation) if rows is None else operation.send(rows)
        except StopIteration as done:
            result: Result = done.value
            return result
        rows = await _aask(connection, queries)


def _ask(connection: Connection[Any], queries: list[Query]) -> list[Rows]:
    if len(queries) == 1:
        cursors = [_execute(connection, queries[0])]
    else:
        with connection.pipeline():
            cursors = [_execute(connection, query) for query in queries]
    answers: list[Rows] = []
    for cursor, query in zip(cursors, queries, strict=True):
        rows: Rows = []
        if cursor.description is not None:
            each = query.each or rows.append
            for row in cursor:
                each(row)
        answers.append(rows)
    return answers


def _execute(connection: Connection[Any], query: Query) -> Any:  # noqa: ANN401 -- a cursor of any rows
    return connection.execute(_text(query), query.values or None, binary=True)


def _text(query: Query) -> bytes:
    return SQL.get(query.statement, query.statement).encode()


async def _aask(connection: AsyncConnection[Any], queries: list[Query]) -> list[Rows]:
    if len(queries) == 1:
        cursors = [await _aexecute(connection, queries[0])]
    else:
        async with connection.pipeline():
            cursors = [await _aexecute(connection, query) for query in queries]
    answers: list[Rows] = []
    for cursor, query in zip(cursors, queries, strict=True):
        rows: Rows = []
        if cursor.description is not None:
            each = query.each or rows.append
            async for row in cursor:
                each(row)
        answers.append(rows)
    return answers


async def _aexecute(connection: AsyncConnection[Any], query: Query) -> Any:  # noqa: ANN401 -- as above
    return await connection.execute(_text(query), query.values or None, binary=True)
