"""A chat under asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import clock
from ..drivers.asynchronous import AsyncDriver
from ..talk.streams import AsyncStream
from .shared import SharedChat, commit_of, with_shared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self, Unpack

    from ..messages import ToolResult
    from ..record.pages import Revision
    from ..session import AsyncSession
    from ..session.turns import OnBusy
    from ..stores.store import AsyncStore
    from ..talk.inputs import Input
    from ..talk.options import CallOptions
    from ..talk.reply import Reply
    from ..talk.talk import Talk

__all__ = ["AsyncChat"]


class AsyncChat(SharedChat):
    """`Chat` under asyncio: the methods that call a model are awaited."""

    __doc__ = with_shared(__doc__)

    async def send(
        self,
        state: bytes | None,
        *messages: Input,
        turn_id: str | None = None,
        owner: str = "",
        **options: Unpack[CallOptions],
    ) -> Reply:
        """`Chat.send`. A cancellation has the state so far as ``.state``."""
        talk = self._talk(state, messages, turn_id, owner, options)
        return await self._driver(talk).run(talk.acts())

    def stream(
        self,
        state: bytes | None,
        *messages: Input,
        turn_id: str | None = None,
        owner: str = "",
        **options: Unpack[CallOptions],
    ) -> AsyncStream:
        """`Chat.stream`."""
        talk = self._talk(state, messages, turn_id, owner, options, stream=True)
        return AsyncStream(talk, self._driver(talk))

    async def resume(
        self, state: bytes, *leading: Input, owner: str = "", **options: Unpack[CallOptions]
    ) -> Reply:
        """`Chat.resume`."""
        talk = self._talk(state, leading, None, owner, options, resumes=True)
        return await self._driver(talk).run(talk.acts())

    async def send_tool_results(
        self,
        state: bytes,
        results: Sequence[ToolResult],
        *messages: Input,
        owner: str = "",
        **options: Unpack[CallOptions],
    ) -> Reply:
        """`Chat.send_tool_results`."""
        talk = self._talk(state, [*results, *messages], None, owner, options)
        return await self._driver(talk).run(talk.acts())

    def session(
        self,
        store: AsyncStore | None = None,
        name: str | None = None,
        *,
        busy: OnBusy = "wait",
        lease_s: float = 15.0,
        at_least: Revision | None = None,
    ) -> AsyncSession:
        """`Chat.session`."""
        from ..session import AsyncSession
        from ..stores.memory import MemoryStore
        from ..stores.threads import AsyncOver

        store = AsyncOver(MemoryStore()) if store is None else store
        name = clock.new_name() if name is None else name
        return AsyncSession(self, store, name, busy=busy, lease_s=lease_s, at_least=at_least)

    def _driver(self, talk: Talk) -> AsyncDriver[Reply]:
        return AsyncDriver(self.model.asyncio(), commit_of(talk))

    async def close(self) -> None:
        """`Chat.close`."""
        if self._owns_model:
            await self.model.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
