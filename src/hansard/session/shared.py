"""What both kinds of session are made of."""

from __future__ import annotations

from abc import abstractmethod
from inspect import cleandoc
from typing import TYPE_CHECKING

from ..errors import Invalid
from .flows import Flows
from .ledger import Ledger
from .tenure import Tenure, owner_name

if TYPE_CHECKING:
    from typing import Self

    from ..chat import AsyncChat, Chat
    from ..record.pages import Revision
    from ..stores.store import AsyncStore, Hold, Store
    from .turns import OnBusy

__all__ = ["SharedSession", "with_shared"]


class SharedSession:
    """What both kinds of session share: everything but waiting.

    A session is for one thread or task at a time; make another for another, of the same
    conversation if you like. ``busy`` says what to do where another worker is at work on the
    conversation: ``"wait"`` for it, or ``"raise"`` `Busy`. A worker of which nothing was heard
    for ``lease_s`` seconds is taken to be gone. ``at_least`` is a revision that the conversation
    is known to have come to: `StoreCorrupt` is raised where the store knows of less.
    """

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
        if not lease_s > 0:
            raise Invalid(f"expected lease_s= above 0, found {lease_s!r}")
        ledger = Ledger(store, name, chat.model.dialect, at_least=at_least)
        self._flows = Flows(chat, ledger, Tenure(owner_name(), lease_s, self._renew), busy)

    @property
    def name(self) -> str:
        """The name of the conversation on its store."""
        return self._flows.name

    @property
    def revision(self) -> Revision | None:
        """How far the conversation had come when this session last looked; None before that."""
        return self._flows.ledger.revision

    @abstractmethod
    def _renew(self, hold: Hold) -> object:
        """Renew the lease. This is called in a thread of its own."""

    def _beside(self, name: str) -> Self:
        """Make a session of another conversation on the same store."""
        flows = self._flows
        lease_s = flows.tenure.ttl_s
        return type(self)(flows.chat, flows.ledger.store, name, busy=flows.busy, lease_s=lease_s)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


def with_shared(doc: str | None) -> str:
    """Add to what one kind of session is what both are."""
    return f"{cleandoc(doc or '')}\n\n{cleandoc(SharedSession.__doc__ or '')}"
