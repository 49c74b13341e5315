"""A chat: what people hold who keep the state themselves.

`Chat` and `AsyncChat` have the same methods; those that call a model are awaited in the one. A chat
keeps nothing of a conversation: it can be shared by all of them, and by all threads.
"""

from __future__ import annotations

from functools import partial
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from . import clock, models
from .drivers.asynchronous import AsyncDriver
from .drivers.blocking import BlockingDriver
from .record.record import Record
from .talk.decisions import abandon, decide, settle
from .talk.inputs import messages_of, read_inputs
from .talk.keeping import Keeping
from .talk.options import CallOptions, Options, split_options
from .talk.streams import AsyncStream, Stream
from .talk.talk import Talk
from .turn import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Literal, Self, Unpack

    from .drivers.acts import Commit
    from .messages import ToolCall, ToolResult
    from .models import Model
    from .record.pages import Revision
    from .sealing import Keyring
    from .session import AsyncSession, Session
    from .session.turns import OnBusy
    from .state import Limits, Rejected, State
    from .stores.store import AsyncStore, Store
    from .talk.inputs import Input
    from .talk.reply import Reply

__all__ = ["AsyncChat", "Chat"]


class _Chat:
    """What both kinds of chat share: everything but waiting.

    ``model`` is a `Model` or a string such as ``"openai:gpt-5-mini"``. Everything in `CallOptions`
    can be given here, for all calls, and to each call, for that one. As a context manager the chat
    closes a model that it was given as a string; a `Model` is for whoever made it to close.

    How states are kept: ``compress="gzip"``; ``keyring=`` seals them, bound to the ``owner=`` that
    every call then takes; ``state_version=1`` writes them as goaitools does; ``limits=`` says what
    a state may at most be. A state that cannot be used is set aside: the conversation starts
    afresh, ``reply.rejected`` says why, and ``on_rejected=`` is told. ``convert=True`` carries one
    of another dialect over instead; ``reply.losses`` says what that cost.
    """

    def __init__(
        self,
        model: str | Model,
        *,
        state_version: Literal[1, 2] = 2,
        compress: Literal["gzip"] | None = None,
        keyring: Keyring | None = None,
        limits: Limits | None = None,
        convert: bool = False,
        on_rejected: Callable[[Rejected], object] | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        named, parameters = split_options(options)
        given = {name: value for name, value in named.items() if value is not None}
        self.model = models.model(model)
        self._owns_model = self.model is not model
        self.options = Options(**given, parameters=parameters)
        self.keeping = Keeping(
            version=state_version,
            compress=compress,
            keyring=keyring,
            convert=convert,
            on_rejected=on_rejected,
            **({} if limits is None else {"limits": limits}),
        )

    # -- without the model ------------------------------------------------------------------------

    def append(self, state: bytes | None, *messages: Input, owner: str = "") -> State:
        """Put messages on the record without asking the model. It sees them the next time.

        Stores all that it is given, leading system messages too. While calls are pending, the
        messages are recorded now and placed after the results.
        """
        record = self._load(state, owner)
        said = messages_of(messages, self.model.dialect)
        for entry in writing.said(record, said, "append", at_us=clock.now_us()):
            record = record.apply(entry)
        return self._save(record, owner)

    def approve(
        self,
        state: bytes,
        *calls: ToolCall | str,
        by: str = "",
        reason: str = "",
        owner: str = "",
        **options: Unpack[CallOptions],
    ) -> State:
        """Let calls run that have not started; `resume` then runs them.

        If none is named, all that wait for approval. Which do, is for the tools to say: give the
        ``tools=`` that `send` was given.
        """
        return self._decide(state, calls, "approved", options, by=by, reason=reason, owner=owner)

    def deny(
        self,
        state: bytes,
        *calls: ToolCall | str,
        by: str = "",
        reason: str = "",
        owner: str = "",
        **options: Unpack[CallOptions],
    ) -> State:
        """Keep calls from running, those that `approve` would let run.

        The model is told so, and ``reason``.
        """
        return self._decide(state, calls, "denied", options, by=by, reason=reason, owner=owner)

    def _decide(
        self,
        state: bytes,
        calls: Sequence[ToolCall | str],
        verdict: Literal["approved", "denied"],
        options: Mapping[str, Any],
        *,
        by: str,
        reason: str,
        owner: str,
    ) -> State:
        rules = self.options.but(options).rules
        record = self._load(state, owner)
        return self._save(decide(record, rules, calls, verdict, by=by, reason=reason), owner)

    def settle(
        self,
        state: bytes,
        call: ToolCall | str,
        result: object = None,
        *,
        not_run: bool = False,
        by: str = "",
        owner: str = "",
    ) -> State:
        """Say what became of a call that may have run: its result, or that it did not run.

        `resume` then goes on; a call that did not run is run.
        """
        record = self._load(state, owner)
        return self._save(settle(record, call, result, not_run=not_run, by=by), owner)

    def abandon(self, state: bytes, *, owner: str = "") -> State:
        """End a turn that is open, without finishing it.

        Its prompt is left out of the conversation where no valid answer followed it. Calls without
        a result are answered as interrupted. Nothing happens where no turn is open.
        """
        return self._save(abandon(self._load(state, owner)), owner)

    def check(self, state: bytes | None, *, owner: str = "") -> Rejected | None:
        """Say why a state would be set aside; None if it would not."""
        return self.keeping.check(state, self.model.dialect, owner)

    def load(self, state: bytes | None, *, owner: str = "") -> Record:
        """Give the record that a state holds; `hansard.record.views` shows what is on it."""
        return self._load(state, owner)

    def _load(self, state: bytes | None, owner: str) -> Record:
        return self.keeping.load(state, self.model.dialect, owner).record

    def _save(self, record: Record, owner: str) -> State:
        """Spell a record; one with an open turn in the current version, if it must be."""
        save = self.keeping.save if record.turn is None else self.keeping.rescue
        return save(record, owner)

    # -- with it ----------------------------------------------------------------------------------

    def _talk(
        self,
        state: bytes | None,
        messages: Sequence[Input],
        turn_id: str | None,
        owner: str,
        given: Mapping[str, Any],
        *,
        stream: bool = False,
        resumes: bool = False,
    ) -> Talk:
        options = self.options.but(given)
        dialect = self.model.dialect
        return Talk(
            self.model,
            options,
            self.keeping.load(state, dialect, owner),
            read_inputs(messages, options.system, dialect),
            save=partial(self.keeping.save, owner=owner),
            rescue=partial(self.keeping.rescue, owner=owner),
            turn_id=turn_id,
            stream=stream,
            resumes=resumes,
        )

    def __repr__(self) -> str:
        tools = ", ".join(self.options.toolbox)
        return f"<{type(self).__name__} {self.model!r}{' with ' if tools else ''}{tools}>"


def _with_shared(doc: str | None) -> str:
    """Add to what one kind of chat is what both are."""
    return f"{cleandoc(doc or '')}\n\n{cleandoc(_Chat.__doc__ or '')}"


class Chat(_Chat):
    """Conversations with a model, whose states you keep.

    So they begin and go on::

        chat = Chat("openai:gpt-5-mini", tools=[get_weather])
        reply = chat.send(None, system("You are terse."), user("Hello"))
        reply = chat.send(reply.state, user("And now?"))
    """

    __doc__ = _with_shared(__doc__)

    def send(
        self,
        state: bytes | None,
        *messages: Input,
        turn_id: str | None = None,
        owner: str = "",
        **options: Unpack[CallOptions],
    ) -> Reply:
        """Say something, and give the model's reply once all tools have run.

        ``state`` is that of the reply before; None begins a conversation. A turn that is still
        open is finished first, and its reply is ``reply.earlier``; `abandon` it if it is not to be
        finished. Where that needs somebody, `PendingCalls` or `ToolIdempotencyError` is raised.
        The same ``turn_id`` again gives the same reply, and runs nothing, unless that turn has
        failed and left nothing in the conversation.
        """
        talk = self._talk(state, messages, turn_id, owner, options)
        return self._driver(talk).run(talk.acts())

    def stream(
        self,
        state: bytes | None,
        *messages: Input,
        turn_id: str | None = None,
        owner: str = "",
        **options: Unpack[CallOptions],
    ) -> Stream:
        """`send`, told while it goes on. Without messages it goes on with an open turn."""
        talk = self._talk(state, messages, turn_id, owner, options, stream=True)
        return Stream(talk, self._driver(talk))

    def resume(
        self, state: bytes, *leading: Input, owner: str = "", **options: Unpack[CallOptions]
    ) -> Reply:
        """Go on with the turn that is open, from wherever it stopped.

        Where none is, the reply of the last turn is given again, or its error raised again; where
        there was never a turn, `Invalid` is raised. Leading system messages can be given, as to
        `send`.
        """
        talk = self._talk(state, leading, None, owner, options, resumes=True)
        return self._driver(talk).run(talk.acts())

    def send_tool_results(
        self,
        state: bytes,
        results: Sequence[ToolResult],
        *messages: Input,
        owner: str = "",
        **options: Unpack[CallOptions],
    ) -> Reply:
        """Answer the calls in ``reply.tool_calls``, and go on; ``call.answer(…)`` makes a result.

        Raises `Invalid`, and records nothing, where a result is missing, doubled or of no such
        call. To see it streamed, give the results to `stream`, as messages.
        """
        talk = self._talk(state, [*results, *messages], None, owner, options)
        return self._driver(talk).run(talk.acts())

    def session(
        self,
        store: Store | None = None,
        name: str | None = None,
        *,
        busy: OnBusy = "wait",
        lease_s: float = 15.0,
        at_least: Revision | None = None,
    ) -> Session:
        """Hold a conversation that is kept on a store; without arguments a new one, in memory.

        `Session` says what the rest means.
        """
        from .session import Session
        from .stores.memory import MemoryStore

        store = MemoryStore() if store is None else store
        name = clock.new_name() if name is None else name
        return Session(self, store, name, busy=busy, lease_s=lease_s, at_least=at_least)

    def _driver(self, talk: Talk) -> BlockingDriver:
        return BlockingDriver(self.model.blocking(), _commit(talk))

    def close(self) -> None:
        """Let go of the connections of a model that was given as a string.

        A `Model` may have other chats, and is for whoever made it to close.
        """
        if self._owns_model:
            self.model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncChat(_Chat):
    """`Chat` under asyncio: the methods that call a model are awaited."""

    __doc__ = _with_shared(__doc__)

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
        from .session import AsyncSession
        from .stores.memory import MemoryStore
        from .stores.threads import AsyncOver

        store = AsyncOver(MemoryStore()) if store is None else store
        name = clock.new_name() if name is None else name
        return AsyncSession(self, store, name, busy=busy, lease_s=lease_s, at_least=at_least)

    def _driver(self, talk: Talk) -> AsyncDriver[Reply]:
        return AsyncDriver(self.model.asyncio(), _commit(talk))

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


def _commit(talk: Talk) -> Callable[[Commit], object] | None:
    """What makes entries durable: where the caller gave nothing for that, nothing does."""
    checkpoint = talk.options.checkpoint
    if checkpoint is None:
        return None
    return lambda commit: checkpoint(talk.rescue(commit.record))
