"""What both kinds of session are made of."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from inspect import cleandoc
from typing import TYPE_CHECKING, ClassVar, TypeVar

from ..errors import Invalid
from .flows import Flows
from .ledger import Ledger
from .reducers import append_all
from .slice_flows import SliceFlows
from .tenure import Tenure

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from ..chat import AsyncChat, Chat
    from ..record.pages import Revision
    from ..stores.store import AsyncStore, Hold, Store
    from .reducers import Reducer
    from .turns import OnBusy

__all__ = ["SharedSession", "with_shared"]

Kind = TypeVar("Kind", bound=type)


class SharedSession:
    """What both kinds of session share: everything but waiting.

    A session is for one thread or task at a time; make another for another, of the same
    conversation if you like. ``busy`` says what to do where another worker is at work on the
    conversation: ``"wait"`` for it, or ``"raise"`` `Busy`. A worker of which nothing was heard
    for ``lease_s`` seconds is taken to be gone. ``at_least`` is a revision that the conversation
    is known to have come to: `StoreCorrupt` is raised where the store knows of less.
    """

    _awaited: ClassVar[bool]

    def __init__(
        self,
        chat: Chat | AsyncChat,
        store: Store | AsyncStore,
        name: str,
        *,
        busy: OnBusy = "wait",
        lease_s: float = 15.0,
        at_least: Revision | None = None,
    ) -> None:
        if not name or not isinstance(name, str):
            raise Invalid(f"expected the conversation's name as text, found {name!r}")
        if busy not in ("wait", "raise"):
            raise Invalid(f"expected busy= 'wait' or 'raise', found {busy!r}")
        _check_kind(store, awaited=self._awaited)
        if not _is_number(lease_s) or not 0 < lease_s < math.inf:
            raise Invalid(f"expected lease_s= above 0, a number of seconds, found {lease_s!r}")
        ledger = Ledger(store, name, chat.model.dialect, at_least=at_least)
        self._flows = Flows(chat, ledger, Tenure(lease_s, self._renew), busy)
        self._slices = SliceFlows(ledger)

    @property
    def name(self) -> str:
        """The name of the conversation on its store."""
        return self._flows.name

    @property
    def revision(self) -> Revision | None:
        """How far the conversation had come when this session last looked; None before that."""
        return self._flows.ledger.revision

    @property
    def parts(self) -> tuple[Flows, SliceFlows]:
        """The flows of the conversation and of its slices, for those who build on sessions."""
        return self._flows, self._slices

    def register(
        self,
        kind: Kind,
        reducer: Reducer = append_all,
        *,
        name: str | None = None,
        events: tuple[type, ...] = (),
    ) -> Kind:
        """Keep a slice of a type, a dataclass or a `msgspec.Struct`, and give the type back.

        ``reducer`` says what becomes of the items when one is appended: `append_all`,
        `replace_latest`, `upsert_by`, or a function of yours. ``events`` are further types that
        may be appended, for a reducer of yours to take. ``name`` is what the slice is called on
        the record, so that the type can be moved; if left out, it is ``module:Name``.

        Nothing is recorded by this. What others have put into a slice that is not registered is
        kept, and is there once it is.
        """
        return self._slices.folding.types.register(kind, reducer, name=name, events=events)

    @abstractmethod
    def _renew(self, hold: Hold, renewed: Callable[[], None]) -> None:
        """Renew the lease, and tell when that has come through. Called in a thread of its own."""

    def _beside(self, name: str) -> Self:
        """Make a session of another conversation on the same store."""
        flows = self._flows
        lease_s = flows.tenure.ttl_s
        made = type(self)(flows.chat, flows.ledger.store, name, busy=flows.busy, lease_s=lease_s)
        made._slices.folding.types = self._slices.folding.types.copy()  # noqa: SLF001 - its own kind
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)


def _check_kind(store: Store | AsyncStore, *, awaited: bool) -> None:
    """Raise `Invalid` for a store of the other kind."""
    if inspect.iscoroutinefunction(getattr(store, "append", None)) == awaited:
        return
    opener = "open_async_store" if awaited else "open_store"
    raise Invalid(
        f"expected a store whose methods {'are awaited' if awaited else 'block'}, found {store!r}: "
        f"open it with hansard.{opener}(…)"
    )


def with_shared(doc: str | None) -> str:
    """Add to what one kind of session is what both are."""
    return f"{cleandoc(doc or '')}\n\n{cleandoc(SharedSession.__doc__ or '')}"
