"""A chat whose methods block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import clock
from ..drivers.blocking import BlockingDriver
from ..talk.streams import Stream
from .shared import SharedChat, commit_of, with_shared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self, Unpack

    from ..messages import ToolResult
    from ..record.pages import Revision
    from ..session import Session
    from ..session.turns import OnBusy
    from ..stores.store import Store
    from ..talk.inputs import Input
    from ..talk.options import CallOptions
    from ..talk.reply import Reply
    from ..talk.talk import Talk

__all__ = ["Chat"]


class Chat(SharedChat):
    """Conversations with a model, whose states you keep.

    So they begin and go on::

        chat = Chat("openai:gpt-5-mini", tools=[get_weather])
        reply = chat.send(None, system("You are terse."), user("Hello"))
        reply = chat.send(reply.state, user("And now?"))
    """

    __doc__ = with_shared(__doc__)

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
        from ..session import Session
        from ..stores.memory import MemoryStore

        store = MemoryStore() if store is None else store
        name = clock.new_name() if name is None else name
        return Session(self, store, name, busy=busy, lease_s=lease_s, at_least=at_least)

    def _driver(self, talk: Talk) -> BlockingDriver:
        return BlockingDriver(self.model.blocking(), commit_of(talk))

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
