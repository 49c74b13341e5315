"""Both kinds of session behind one face, and stores in which something happens."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from hansard import AsyncChat, Chat
from hansard.stores.memory import MemoryStore
from hansard.stores.threads import AsyncOver
from tests.support.talkers import Streamed

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard import Model
    from hansard.stores.store import Store
    from tests.support.talkers import Kind


class Sessions:
    """Makes sessions of one kind; those of asyncio share one event loop."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.runner = asyncio.Runner()

    def __call__(
        self,
        store: Store,
        model: str | Model,
        name: str = "talk",
        *,
        busy: Any = "wait",
        lease_s: float = 15.0,
        **options: Any,
    ) -> Speaker:
        if self.kind == "blocking":
            chat = Chat(model, **options)
            return Speaker(chat.session(store, name, busy=busy, lease_s=lease_s), None)
        made = AsyncChat(model, **options)
        session = made.session(AsyncOver(store), name, busy=busy, lease_s=lease_s)
        return Speaker(session, self.runner)

    def close(self) -> None:
        self.runner.close()


class Speaker:
    """A session; what has to be awaited is."""

    def __init__(self, session: Any, runner: asyncio.Runner | None) -> None:
        self.session = session
        self._runner = runner

    def stream(self, *given: Any, **options: Any) -> Streamed:
        if self._runner is None:
            return Streamed(self.session.stream(*given, **options), None)
        return Streamed(self._runner.run(_made(self.session.stream, given, options)), self._runner)

    def fork(self, *given: Any, **options: Any) -> Speaker:
        return Speaker(self._wait(self.session.fork(*given, **options)), self._runner)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.session, name)
        if not callable(found):
            return found
        return lambda *given, **options: self._wait(found(*given, **options))

    def _wait(self, given: Any) -> Any:
        return given if self._runner is None else self._runner.run(_awaited(given))


async def _awaited(given: Any) -> Any:
    return await given


async def _made(make: Callable[..., Any], given: Any, options: Any) -> Any:
    return make(*given, **options)


class Clock:
    """A clock that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class TroubledStore(MemoryStore):
    """A store in memory that counts its calls, and where something may happen around each.

    ``before`` and ``after`` are told the name of a method: before it takes effect, and when it has
    and nobody has been told yet.
    """

    def __init__(self, *, clock: Callable[[], float] | None = None) -> None:
        super().__init__(clock=clock or Clock())
        self.calls: Counter[str] = Counter()
        self.before: Callable[[str], object] = _nothing
        self.after: Callable[[str], object] = _nothing

    def _do(self, name: str, do: Callable[..., Any], given: Any, more: Any = None) -> Any:
        self.calls[name] += 1
        self.before(name)
        result = do(*given, **(more or {}))
        self.after(name)
        return result

    def append(self, *given: Any, **more: Any) -> Any:
        return self._do("append", super().append, given, more)

    def read(self, *given: Any) -> Any:
        return self._do("read", super().read, given)

    def find(self, *given: Any) -> Any:
        return self._do("find", super().find, given)

    def head(self, *given: Any) -> Any:
        return self._do("head", super().head, given)

    def pages(self, *given: Any, **more: Any) -> Any:
        return self._do("pages", super().pages, given, more)

    def lease(self, *given: Any) -> Any:
        return self._do("lease", super().lease, given)

    def fork(self, *given: Any) -> Any:
        return self._do("fork", super().fork, given)

    def describe(self, *given: Any) -> Any:
        return self._do("describe", super().describe, given)

    def delete(self, *given: Any) -> Any:
        return self._do("delete", super().delete, given)


def _nothing(name: str) -> None:
    """Let it be."""
