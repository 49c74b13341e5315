"""Sessions and loops of both kinds behind one face, so that one test speaks for both."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from hansard import AsyncChat, Chat
from hansard.stores.memory import MemoryStore
from hansard.stores.threads import AsyncOver
from hansard.testing import ScriptedModel, forever

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard import Model
    from tests.support.talkers import Kind


class Holders:
    """Opens sessions of one kind on one store; those of asyncio share one event loop."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.store = MemoryStore()
        self.runner = asyncio.Runner()

    def __call__(
        self,
        model: Model | None = None,
        name: str = "c",
        *,
        store: MemoryStore | None = None,
        **options: Any,
    ) -> Face:
        model = model or ScriptedModel(forever("Yes."))
        kept = store or self.store
        if self.kind == "blocking":
            return self.face(Chat(model, **options).session(kept, name))
        return self.face(AsyncChat(model, **options).session(AsyncOver(kept), name))

    def face(self, held: Any) -> Face:
        return Face(held, self.wait)

    def wait(self, given: Any) -> Any:
        return self.runner.run(_awaited(given)) if inspect.isawaitable(given) else given

    def close(self) -> None:
        self.runner.close()


class Face:
    """Something whose methods are awaited where they have to be."""

    def __init__(self, held: Any, wait: Callable[[Any], Any]) -> None:
        self.held = held
        self._wait = wait

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.held, name)
        if not inspect.ismethod(found):
            return found

        def call(*given: Any, **options: Any) -> Any:
            got = self._wait(found(*given, **options))
            return Face(got, self._wait) if type(got) is type(self.held) else got

        return call

    def __getitem__(self, kind: Any) -> Any:
        return Face(self.held[kind], self._wait)


async def _awaited(given: Any) -> Any:
    return await given
