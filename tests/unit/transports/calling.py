"""One way to call both kinds of HTTP transport, so that what both promise is tested once."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from hansard import dialect
from hansard.dialects.dialect import Request
from hansard.transports.http import AsyncHttpTransport, HttpTransport

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CALLERS", "Blocking", "Caller", "UnderAsyncio", "request"]


def request(body: bytes = b'{"model":"m"}', path: str = "/chat/completions") -> Request:
    return Request(path, body)


class Blocking:
    """Calls a blocking transport. ``pauses`` are those before further tries, not slept through."""

    def __init__(self, url: str, **options: Any) -> None:
        self.pauses: list[float] = []
        given: dict[str, Any] = {"dialect": dialect("openai"), "sleep": self._pause}
        self.transport = HttpTransport(url, **given | options)

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def send(self, asked: Request | None = None, *, timeout_s: float | None = None) -> bytes:
        return self.transport.send(asked or request(), timeout_s=timeout_s)

    @contextmanager
    def stream(
        self, asked: Request | None = None, *, timeout_s: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        with self.transport.stream(asked or request(), timeout_s=timeout_s) as pieces:
            yield pieces

    def send_at_once(self, asked: list[Request]) -> list[bytes]:
        with ThreadPoolExecutor(len(asked)) as threads:
            return list(threads.map(self.send, asked))

    def close(self) -> None:
        self.transport.close()

    def end(self) -> None:
        self.close()


class UnderAsyncio:
    """Calls a transport under asyncio, in one event loop."""

    def __init__(self, url: str, **options: Any) -> None:
        self.pauses: list[float] = []
        given: dict[str, Any] = {"dialect": dialect("openai"), "sleep": self._pause}
        self.transport = AsyncHttpTransport(url, **given | options)
        self.runner = asyncio.Runner()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    def send(self, asked: Request | None = None, *, timeout_s: float | None = None) -> bytes:
        return self.runner.run(self.transport.send(asked or request(), timeout_s=timeout_s))

    @contextmanager
    def stream(
        self, asked: Request | None = None, *, timeout_s: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        run = self.runner.run
        manager = self.transport.stream(asked or request(), timeout_s=timeout_s)
        pieces = run(manager.__aenter__())

        async def following() -> bytes | None:
            return await anext(pieces, None)

        error: BaseException | None = None
        try:
            yield iter(lambda: run(following()), None)
        except BaseException as raised:
            error = raised
            raise
        finally:
            run(manager.__aexit__(type(error) if error else None, error, None))

    def send_at_once(self, asked: list[Request]) -> list[bytes]:
        async def all_of_them() -> list[bytes]:
            return await asyncio.gather(*[self.transport.send(each) for each in asked])

        return self.runner.run(all_of_them())

    def close(self) -> None:
        self.runner.run(self.transport.close())

    def end(self) -> None:
        self.close()
        self.runner.close()


Caller: TypeAlias = Blocking | UnderAsyncio

CALLERS: dict[str, type[Blocking | UnderAsyncio]] = {
    "blocking": Blocking,
    "asyncio": UnderAsyncio,
}
