"""Loops: a job from its request to its output, through whatever happens to the process."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from functools import partial
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..drivers.acts import Do
from ..errors import Invalid
from ..neutral import LossReport
from ..session.restoring import snapshot_of
from ..session.slices import state_of
from .checkpoints import Checkpoint
from .evaluating import Evaluation, took_up
from .prompts import check_identity, identity_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..chat import AsyncChat, Chat
    from ..neutral import ConversationState
    from ..session import AsyncSession, Session
    from ..session.ledger import Flow
    from ..session.shared import SharedSession
    from ..session.snapshots import Snapshot
    from .checkpoints import AsyncCheckpointHandler, CheckpointHandler
    from .prompts import OnChanged, Prompt, PromptResponse

__all__ = ["AsyncLoop", "Loop"]

Request = TypeVar("Request")
Output = TypeVar("Output")


class _Loop(ABC, Generic[Request, Output]):
    """What both kinds of loop share: everything but waiting.

    Subclass it, and say in `create_prompt` what a request asks for. With a ``checkpoint_handler``
    everything is saved before anything depends on it, and the next `execute` of the same request
    goes on from there, in any process. ``on_changed`` says what to do where the prompt is not what
    it was: ``"raise"`` `ConversationStateMismatch`, or ``"continue"``.
    """

    def __init__(
        self,
        *,
        checkpoint_handler: CheckpointHandler[Request]
        | AsyncCheckpointHandler[Request]
        | None = None,
        on_changed: OnChanged = "raise",
    ) -> None:
        if on_changed not in ("raise", "continue"):
            raise Invalid(f"expected on_changed= 'raise' or 'continue', found {on_changed!r}")
        self.checkpoint_handler = checkpoint_handler
        self.on_changed: OnChanged = on_changed

    @property
    @abstractmethod
    def chat(self) -> Chat | AsyncChat:
        """What jobs are carried out with."""

    @abstractmethod
    def create_prompt(self, request: Request) -> Prompt[Output]:
        """Say what a request asks for. Called again for a job that is resumed."""

    @abstractmethod
    def _handle(self, what: Callable[..., object], *given: object) -> Do:
        """Have something of the handler's done."""

    # -- the job, as flows of acts ----------------------------------------------------------------

    def _executed(self, request: Request, session: SharedSession) -> Flow[PromptResponse[Output]]:
        prompt = self.create_prompt(request)
        state, losses = yield from self._taken_up(request, session, prompt)
        handler = self.checkpoint_handler
        evaluation = Evaluation(
            session,
            prompt,
            self.on_changed,
            None if handler is None else partial(self._saved, request),
            losses=losses,
        )
        response = yield from evaluation.acts(state)
        if handler is not None:
            yield self._handle(handler.clear, request)
        return response

    def _taken_up(
        self, request: Request, session: SharedSession, prompt: Prompt[Output] | None
    ) -> Flow[tuple[ConversationState | None, LossReport]]:
        """Bring a session to the checkpoint of a request, if there is one."""
        handler = self.checkpoint_handler
        if handler is None:
            return None, LossReport()
        checkpoint = cast("Checkpoint | None", (yield self._handle(handler.load, request)))
        if checkpoint is None:
            return None, LossReport()
        if prompt is not None and (known := checkpoint.snapshot.state()) is not None:
            check_identity(identity_of(prompt, self.chat), known, self.on_changed)
        losses = yield from took_up(session, checkpoint.snapshot)
        flows, _ = session.parts
        record = yield from flows.ledger.whole()
        return state_of(flows, record), losses

    def _saved(self, request: Request, snapshot: Snapshot) -> Flow[None]:
        if self.checkpoint_handler is not None:
            yield self._handle(self.checkpoint_handler.save, request, snapshot)

    def _reopened(self, request: Request, session: SharedSession) -> Flow[None]:
        yield from self._taken_up(request, session, None)

    def _saved_again(self, request: Request, session: SharedSession) -> Flow[None]:
        flows, slices = session.parts
        record = yield from flows.ledger.whole()
        yield from self._saved(request, snapshot_of(slices, record))

    def _evaluated(
        self,
        prompt: Prompt[Output],
        session: SharedSession,
        state: ConversationState | None,
        on_changed: OnChanged | None,
    ) -> Flow[PromptResponse[Output]]:
        evaluation = Evaluation(session, prompt, on_changed or self.on_changed)
        return evaluation.acts(state)


def _with_shared(doc: str | None) -> str:
    """Add to what one kind of loop is what both are."""
    return f"{cleandoc(doc or '')}\n\n{cleandoc(_Loop.__doc__ or '')}"


class Loop(_Loop[Request, Output]):
    """A kind of job, carried out with a chat: from requests to outputs.

    So one is made, and used::

        class ReviewLoop(Loop[ReviewRequest, Review]):
            def create_prompt(self, request: ReviewRequest) -> Prompt[Review]:
                return Prompt("reviews", "code", "Review this: $diff", {"diff": request.diff})

        loop = ReviewLoop(chat, checkpoint_handler=FileCheckpointHandler("checkpoints"))
        response = loop.execute(request)
    """

    __doc__ = _with_shared(__doc__)

    def __init__(
        self,
        chat: Chat,
        *,
        checkpoint_handler: CheckpointHandler[Request] | None = None,
        on_changed: OnChanged = "raise",
    ) -> None:
        super().__init__(checkpoint_handler=checkpoint_handler, on_changed=on_changed)
        self._chat = chat

    @property
    def chat(self) -> Chat:
        """What jobs are carried out with."""
        return self._chat

    def create_session(self, request: Request) -> Session:
        """Make the session of a request, and register its slices: in memory, if left as it is.

        One on a store survives by itself, and needs no checkpoint handler: where it has an open
        turn of the same prompt, that is gone on with.
        """
        del request
        return self.chat.session()

    def execute(self, request: Request) -> PromptResponse[Output]:
        """Do a job, or go on with it, and forget its checkpoint once it is done.

        Whatever this raises leaves the checkpoint, so that the same request goes on from there.
        Tools that have run are not run again. Raises `ConversationStateMismatch` and
        `SnapshotRestoreError` for a checkpoint that cannot be gone on from: clear it, and execute
        the request again; `ToolIdempotencyError` for a call that somebody has to settle, and
        `PendingCalls` for one that waits: see `reopen`.
        """
        session = self.create_session(request)
        return session.carry_out(self._executed(request, session))

    def evaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: Session | None = None,
        resume_from: ConversationState | None = None,
        on_changed: OnChanged | None = None,
    ) -> PromptResponse[Output]:
        """Evaluate a prompt, with no checkpoints.

        With ``resume_from``, which may be of any provider, it goes on from where that stands; the
        prompt must be the same. Where something was said in the session already, that is gone on
        with, and the state is there to compare.
        """
        held = self.chat.session() if session is None else session
        return held.carry_out(self._evaluated(prompt, held, resume_from, on_changed))

    def reopen(self, request: Request) -> Session:
        """Give the session of a request as its checkpoint has it, to settle or approve calls in.

        Then `save` it, and execute the request again.
        """
        session = self.create_session(request)
        session.carry_out(self._reopened(request, session))
        return session

    def save(self, request: Request, session: Session) -> None:
        """Save a session as the checkpoint of a request."""
        session.carry_out(self._saved_again(request, session))

    def _handle(self, what: Callable[..., object], *given: object) -> Do:
        return Do(partial(what, *given))


class AsyncLoop(_Loop[Request, Output]):
    """`Loop` under asyncio: its methods are awaited, the hooks are not.

    A handler whose methods block is called in a thread; those of another are awaited.
    """

    __doc__ = _with_shared(__doc__)

    def __init__(
        self,
        chat: AsyncChat,
        *,
        checkpoint_handler: CheckpointHandler[Request]
        | AsyncCheckpointHandler[Request]
        | None = None,
        on_changed: OnChanged = "raise",
    ) -> None:
        super().__init__(checkpoint_handler=checkpoint_handler, on_changed=on_changed)
        self._chat = chat

    @property
    def chat(self) -> AsyncChat:
        """What jobs are carried out with."""
        return self._chat

    def create_session(self, request: Request) -> AsyncSession:
        """`Loop.create_session`."""
        del request
        return self.chat.session()

    async def execute(self, request: Request) -> PromptResponse[Output]:
        """`Loop.execute`."""
        session = self.create_session(request)
        return await session.carry_out(self._executed(request, session))

    async def evaluate(
        self,
        prompt: Prompt[Output],
        *,
        session: AsyncSession | None = None,
        resume_from: ConversationState | None = None,
        on_changed: OnChanged | None = None,
    ) -> PromptResponse[Output]:
        """`Loop.evaluate`."""
        held = self.chat.session() if session is None else session
        return await held.carry_out(self._evaluated(prompt, held, resume_from, on_changed))

    async def reopen(self, request: Request) -> AsyncSession:
        """`Loop.reopen`."""
        session = self.create_session(request)
        await session.carry_out(self._reopened(request, session))
        return session

    async def save(self, request: Request, session: AsyncSession) -> None:
        """`Loop.save`."""
        await session.carry_out(self._saved_again(request, session))

    def _handle(self, what: Callable[..., object], *given: object) -> Do:
        return Do(partial(_done, what, *given))


async def _done(what: Callable[..., Any], *given: object) -> object:
    if inspect.iscoroutinefunction(what):
        return await what(*given)
    return await asyncio.to_thread(what, *given)
