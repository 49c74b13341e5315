"""Slices: typed application state beside a conversation, on the same record.

``session[Plan]`` is one. What is put into it are entries of the conversation, so that it is there
again after a crash, and goes back where the conversation is rewound. ``session[ConversationState]``
is one too, which nobody writes: the conversation itself, in neutral records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from ..errors import Invalid
from ..neutral import ConversationState, conversation_state
from ..talk.inputs import read_inputs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from ..record.record import Record
    from .flows import Flows
    from .folding import SliceFailure
    from .ledger import Flow
    from .slice_flows import SliceFlows

__all__ = ["AsyncSlice", "Slice", "Source", "source_of", "state_of"]

Item = TypeVar("Item")


class Source(Protocol):
    """What a slice is of, as flows."""

    def items(self) -> Flow[tuple[Any, ...]]:
        """What is in it."""
        ...

    def failures(self) -> Flow[tuple[SliceFailure, ...]]:
        """What it was left unchanged by."""
        ...

    def append(self, item: object) -> Flow[None]:
        """Append an event."""
        ...

    def seed(self, items: Iterable[object]) -> Flow[None]:
        """Put items in the place of all."""
        ...


class Slice(Generic[Item]):
    """Items of one type, beside the conversation. Each call looks at them as they are now."""

    def __init__(self, source: Source, run: Callable[[Flow[Any]], Any]) -> None:
        self._source = source
        self._run = run

    def all(self) -> tuple[Item, ...]:
        """All items, in the order that the reducer gives them."""
        return cast("tuple[Item, ...]", self._run(self._source.items()))

    def latest(self) -> Item | None:
        """The last item; None where there is none."""
        return next(reversed(self.all()), None)

    def where(self, predicate: Callable[[Item], bool]) -> tuple[Item, ...]:
        """The items for which it is true."""
        return tuple([item for item in self.all() if predicate(item)])

    def append(self, item: Any) -> None:  # noqa: ANN401 - an item, or an event on the slice
        """Append an item, or another event on the slice, for the reducer to take.

        However many do so at once, each is taken, in one order for all. Raises `ReducerFailed`
        where the reducer raises: then nothing has changed, here or on the record.
        """
        self._run(self._source.append(item))

    def seed(self, items: Iterable[Item]) -> None:
        """Put items in the place of all that is there, without asking the reducer."""
        self._run(self._source.seed(items))

    def clear(self) -> None:
        """Leave nothing in it."""
        self.seed(())

    def failures(self) -> tuple[SliceFailure, ...]:
        """The events on the record that the slice was left unchanged by, and why."""
        return cast("tuple[SliceFailure, ...]", self._run(self._source.failures()))


class AsyncSlice(Generic[Item]):
    """`Slice` under asyncio: every method is awaited."""

    def __init__(self, source: Source, run: Callable[[Flow[Any]], Awaitable[Any]]) -> None:
        self._source = source
        self._run = run

    async def all(self) -> tuple[Item, ...]:
        """`Slice.all`."""
        return cast("tuple[Item, ...]", await self._run(self._source.items()))

    async def latest(self) -> Item | None:
        """`Slice.latest`."""
        return next(reversed(await self.all()), None)

    async def where(self, predicate: Callable[[Item], bool]) -> tuple[Item, ...]:
        """`Slice.where`."""
        return tuple([item for item in await self.all() if predicate(item)])

    async def append(self, item: Any) -> None:  # noqa: ANN401 - as in `Slice.append`
        """`Slice.append`."""
        await self._run(self._source.append(item))

    async def seed(self, items: Iterable[Item]) -> None:
        """`Slice.seed`."""
        await self._run(self._source.seed(items))

    async def clear(self) -> None:
        """`Slice.clear`."""
        await self.seed(())

    async def failures(self) -> tuple[SliceFailure, ...]:
        """`Slice.failures`."""
        return cast("tuple[SliceFailure, ...]", await self._run(self._source.failures()))


class _Registered:
    """A slice of a registered type."""

    def __init__(self, flows: SliceFlows, kind: type) -> None:
        flows.folding.types.of(kind)
        self._flows = flows
        self._kind = kind

    def items(self) -> Flow[tuple[Any, ...]]:
        return self._flows.look(lambda folding: folding.items(self._kind))

    def failures(self) -> Flow[tuple[SliceFailure, ...]]:
        return self._flows.look(lambda folding: folding.failures(self._kind))

    def append(self, item: object) -> Flow[None]:
        return self._flows.append(self._kind, item)

    def seed(self, items: Iterable[object]) -> Flow[None]:
        return self._flows.seed(self._kind, items)


class _OfConversation:
    """The conversation in neutral records: one state, or none where nothing was said."""

    def __init__(self, flows: Flows, slices: SliceFlows) -> None:
        self._flows = flows
        self._ledger = slices.whole

    def items(self) -> Flow[tuple[Any, ...]]:
        record = yield from self._ledger.whole()
        state = state_of(self._flows, record)
        return () if state is None else (state,)

    def failures(self) -> Flow[tuple[SliceFailure, ...]]:
        yield from ()
        return ()

    def append(self, item: object) -> Flow[None]:
        yield from ()
        raise _read_only(item)

    def seed(self, items: Iterable[object]) -> Flow[None]:
        yield from ()
        raise _read_only(items)


def source_of(kind: type, flows: Flows, slices: SliceFlows) -> Source:
    """What the slice of a type is of. Raises `Invalid` for a type that was not registered."""
    if kind is ConversationState:
        return _OfConversation(flows, slices)
    return _Registered(slices, kind)


def state_of(flows: Flows, record: Record) -> ConversationState | None:
    """The neutral view of a session's record; None where nothing was said."""
    chat = flows.chat
    said = read_inputs((), chat.options.system, chat.model.dialect).system
    texts = [getattr(part, "text", "") for draft in said for part in draft.parts]
    state = conversation_state(record, system="\n\n".join(texts))
    return state if state.turns or state.input_messages else None


def _read_only(given: object) -> Invalid:
    return Invalid(
        "expected ConversationState to be read only, as it is a view of what is on the record, "
        f"found {type(given).__name__} to put there: say it with send or append"
    )
