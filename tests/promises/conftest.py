"""Promises are tried blocking and under asyncio, and where it can differ sent and streamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.talkers import KINDS, Kind, Talker, Talkers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard import Model, Reply


class StreamedTalkers(Talkers):
    """Makes chats whose answers all come as streams."""

    def __call__(self, model: str | Model, **options: Any) -> Talker:
        return StreamedTalker(model, self._runner if self.kind == "asyncio" else None, options)


class StreamedTalker(Talker):
    """A chat that streams wherever it could send."""

    def send(self, *given: Any, **options: Any) -> Reply:
        return self.stream(*given, **options).finish()

    def resume(self, *given: Any, **options: Any) -> Reply:
        return self.stream(*given, **options).finish()

    def send_tool_results(
        self, state: bytes, results: Any, *messages: Any, **options: Any
    ) -> Reply:
        return self.stream(state, *results, *messages, **options).finish()


WAYS = [(made, kind) for made in (Talkers, StreamedTalkers) for kind in KINDS]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0].__name__}-{way[1]}")
def talker(request: pytest.FixtureRequest) -> Iterator[Talkers]:
    """Give what makes a chat: blocking or under asyncio, sending or streaming."""
    made, kind = request.param
    talkers: Talkers = made(kind)
    yield talkers
    talkers.close()


@pytest.fixture(params=KINDS)
def plain_talker(request: pytest.FixtureRequest) -> Iterator[Talkers]:
    """Give what makes a chat, for answers that can only come whole."""
    kind: Kind = request.param
    talkers = Talkers(kind)
    yield talkers
    talkers.close()
