"""Connections to Redis, each used by one operation at a time.

The pools of redis-py take about as long as the server does. So connections are redis-py's own, and
are handed out here: one that is idle, if the server has not closed it, or a new one. What goes
wrong on the way is not repeated: nobody knows, then, whether it was done.
"""

from __future__ import annotations

import os
from asyncio import Semaphore
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from .operations import Argument, Call

__all__ = ["AsyncConnections", "Connections"]

_ASYNC_MAX = 64
"""How many connections there are at most in an event loop."""


class Connection(Protocol):
    """What is used of a connection of redis-py."""

    def connect(self) -> None: ...
    def disconnect(self) -> None: ...
    def can_read(self, timeout: float) -> bool: ...
    def pack_command(self, *parts: Argument) -> Sequence[bytes]: ...
    def send_packed_command(self, command: Sequence[bytes]) -> None: ...
    def read_response(self) -> object: ...


class AsyncConnection(Protocol):
    """The same of one for asyncio. ``can_read`` was named otherwise before redis-py 8."""

    async def connect(self) -> None: ...
    async def disconnect(self, *, nowait: bool = False) -> None: ...
    async def can_read_destructive(self) -> bool: ...
    def pack_command(self, *parts: Argument) -> Sequence[bytes]: ...
    async def send_packed_command(self, command: Sequence[bytes]) -> None: ...
    async def read_response(self) -> object: ...


class Connections:
    """Connections that block. After a fork, the child has others."""

    def __init__(self, redis: ModuleType, make: Callable[[], Connection]) -> None:
        self._redis = redis
        self._make = make
        self._idle: list[Connection] = []
        self._process = os.getpid()

    def run(self, call: Call) -> object:
        """Run a script or a command, and give the reply."""
        connection = self._take()
        try:
            reply = self._reply(connection, call)
        except self._redis.ResponseError:
            self._idle.append(connection)
            raise
        except BaseException:
            connection.disconnect()
            raise
        self._idle.append(connection)
        return reply

    def _reply(self, connection: Connection, call: Call) -> object:
        try:
            connection.send_packed_command(connection.pack_command(*call.known()))
            return connection.read_response()
        except self._redis.exceptions.NoScriptError:
            connection.send_packed_command(connection.pack_command(*call.whole()))
            return connection.read_response()

    def _take(self) -> Connection:
        if self._process != os.getpid():
            self._process, self._idle = os.getpid(), []
        while self._idle:
            connection = self._idle.pop()
            if self._is_open(connection):
                return connection
            connection.disconnect()
        connection = self._make()
        connection.connect()
        return connection

    def _is_open(self, connection: Connection) -> bool:
        try:
            return not connection.can_read(0)
        except (self._redis.RedisError, OSError):
            return False

    def close(self) -> None:
        """Close those that are idle."""
        while self._idle:
            self._idle.pop().disconnect()


class AsyncConnections:
    """Connections of an event loop."""

    def __init__(self, redis: ModuleType, make: Callable[[], AsyncConnection]) -> None:
        self._redis = redis
        self._make = make
        self._idle: list[AsyncConnection] = []
        self._free = Semaphore(_ASYNC_MAX)

    async def run(self, call: Call) -> object:
        """Run a script or a command, and give the reply."""
        async with self._free:
            connection = await self._take()
            try:
                reply = await self._reply(connection, call)
            except self._redis.ResponseError:
                self._idle.append(connection)
                raise
            except BaseException:
                await connection.disconnect(nowait=True)
                raise
            self._idle.append(connection)
            return reply

    async def _reply(self, connection: AsyncConnection, call: Call) -> object:
        try:
            await connection.send_packed_command(connection.pack_command(*call.known()))
            return await connection.read_response()
        except self._redis.exceptions.NoScriptError:
            await connection.send_packed_command(connection.pack_command(*call.whole()))
            return await connection.read_response()

    async def _take(self) -> AsyncConnection:
        while self._idle:
            connection = self._idle.pop()
            if await self._is_open(connection):
                return connection
            await connection.disconnect(nowait=True)
        connection = self._make()
        try:
            await connection.connect()
        except BaseException:
            await connection.disconnect(nowait=True)
            raise
        return connection

    async def _is_open(self, connection: AsyncConnection) -> bool:
        can_read = getattr(connection, "can_read", None) or connection.can_read_destructive
        try:
            return not await can_read()
        except (self._redis.RedisError, OSError):
            return False

    async def close(self) -> None:
        """Close those that are idle."""
        while self._idle:
            await self._idle.pop().disconnect()
