"""A session under asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..drivers.asynchronous import AsyncDriver
from ..record import views
from ..stores.store import Metadata
from ..talk.decisions import abandon
from ..talk.streams import AsyncStream
from .flows import entries_of, pending_of, settling
from .restoring import restored, taken
from .shared import SharedSession, with_shared
from .slices import AsyncSlice, source_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Unpack

    from ..dialects.pairing import Repair
    from ..messages import Message, ToolCall, ToolResult
    from ..neutral import LossReport
    from ..record.entries import Entry
    from ..stores.store import AsyncStore, Hold
    from ..talk.inputs import Input
    from ..talk.options import CallOptions
    from ..talk.reply import Reply
    from .ledger import Flow
    from .snapshots import Snapshot

__all__ = ["AsyncSession"]

Given = TypeVar("Given")
Item = TypeVar("Item")


class AsyncSession(SharedSession):
    """`Session` under asyncio: every method but `stream` is awaited."""

    __doc__ = with_shared(__doc__)
    _awaited = True

    async def send(
        self, *messages: Input, turn_id: str | None = None, **options: Unpack[CallOptions]
    ) -> Reply:
        """`Session.send`."""
        return await self._run(self._flows.turn(self, messages, options, turn_id=turn_id).acts())

    def stream(
        self, *messages: Input, turn_id: str | None = None, **options: Unpack[CallOptions]
    ) -> AsyncStream:
        """`Session.stream`."""
        turn = self._flows.turn(self, messages, options, turn_id=turn_id, stream=True)
        return AsyncStream(turn, self._driver())

    async def resume(self, *leading: Input, **options: Unpack[CallOptions]) -> Reply:
        """`Session.resume`."""
        return await self._run(self._flows.turn(self, leading, options, resumes=True).acts())

    async def send_tool_results(
        self,
        results: Sequence[ToolResult],
        *messages: Input,
        **options: Unpack[CallOptions],
    ) -> Reply:
        """`Session.send_tool_results`."""
        return await self._run(self._flows.turn(self, [*results, *messages], options).acts())

    async def append(self, *messages: Input) -> None:
        """`Session.append`."""
        await self._run(self._flows.append(messages))

    async def pending(self) -> tuple[ToolCall, ...]:
        """`Session.pending`."""
        return await self._run(self._flows.look(pending_of))

    async def approve(
        self,
        *calls: ToolCall | str,
        by: str = "",
        reason: str = "",
        **options: Unpack[CallOptions],
    ) -> None:
        """`Session.approve`."""
        decided = self._flows.decided(calls, "approved", options, by=by, reason=reason)
        await self._run(self._flows.change(decided))

    async def deny(
        self,
        *calls: ToolCall | str,
        by: str = "",
        reason: str = "",
        **options: Unpack[CallOptions],
    ) -> None:
        """`Session.deny`."""
        decided = self._flows.decided(calls, "denied", options, by=by, reason=reason)
        await self._run(self._flows.change(decided))

    async def settle(
        self, call: ToolCall | str, result: object = None, *, not_run: bool = False, by: str = ""
    ) -> None:
        """`Session.settle`."""
        await self._run(self._flows.change(settling(call, result, not_run=not_run, by=by)))

    async def abandon(self) -> None:
        """`Session.abandon`."""
        await self._run(self._flows.change(abandon))

    async def history(self, *, everything: bool = False) -> tuple[Message, ...]:
        """`Session.history`."""
        return await self._run(self._flows.history(everything=everything))

    async def log(self) -> tuple[Entry, ...]:
        """`Session.log`."""
        return await self._run(self._flows.look(entries_of, whole=True))

    async def repairs(self) -> tuple[Repair, ...]:
        """`Session.repairs`."""
        return await self._run(self._flows.look(views.repairs))

    async def mark(self, name: str) -> int:
        """`Session.mark`."""
        return await self._run(self._flows.mark(name))

    async def rewind(self, to: int | str) -> None:
        """`Session.rewind`."""
        await self._run(self._flows.rewind(to))

    async def clear(self) -> None:
        """`Session.clear`."""
        await self._run(self._flows.clear())

    async def fork(self, new: str, *, at: int | str | None = None) -> AsyncSession:
        """`Session.fork`."""
        back = await self._run(self._flows.fork(new, at))
        session = self._beside(new)
        if back is not None:
            await session.rewind(back)
        return session

    async def snapshot(self) -> Snapshot:
        """`Session.snapshot`. It is read at once, since `Snapshot.to_json` cannot wait."""
        return await self._run(taken(self._slices, at_once=True))

    async def restore(self, snapshot: Snapshot) -> LossReport:
        """`Session.restore`."""
        return await self._run(restored(self._flows, snapshot))

    async def metadata(self) -> Metadata:
        """`Session.metadata`."""
        return await self._run(self._flows.metadata())

    async def describe(self, *, title: str = "", user: str = "", tags: Sequence[str] = ()) -> None:
        """`Session.describe`."""
        await self._run(self._flows.describe(Metadata(title, user, tuple(tags))))

    async def delete(self) -> None:
        """`Session.delete`."""
        await self._run(self._flows.delete())

    def __getitem__(self, kind: type[Item]) -> AsyncSlice[Item]:
        """`Session.__getitem__`."""
        return AsyncSlice(source_of(kind, self._flows, self._slices), self._run)

    async def carry_out(self, flow: Flow[Given]) -> Given:
        """`Session.carry_out`."""
        return await self._run(flow)

    def _driver(self) -> AsyncDriver[Any]:
        self._loop = asyncio.get_running_loop()
        return AsyncDriver(self._flows.chat.model.asyncio(), None)

    async def _run(self, flow: Flow[Given]) -> Given:
        driver: AsyncDriver[Given] = self._driver()
        return await driver.run(flow)

    def _renew(self, hold: Hold, renewed: Callable[[], None]) -> None:
        store = cast("AsyncStore", self._flows.ledger.store)

        async def renew() -> None:
            await store.lease(self.name, hold)
            renewed()

        if self._loop.is_running():  # The loop, not this thread, waits for it.
            asyncio.run_coroutine_threadsafe(renew(), self._loop)
