"""What both kinds of chat are made of."""

from __future__ import annotations

from functools import partial
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from .. import clock, models
from ..talk.decisions import abandon, decide, settle
from ..talk.inputs import messages_of, read_inputs
from ..talk.keeping import Keeping
from ..talk.options import CallOptions, Options, split_options
from ..talk.talk import Talk
from ..turn import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal, Unpack

    from ..drivers.acts import Commit
    from ..messages import ToolCall
    from ..models import Model
    from ..record.record import Record
    from ..sealing import Keyring
    from ..state import Limits, Rejected, State
    from ..talk.inputs import Input

__all__ = ["SharedChat", "commit_of", "with_shared"]


class SharedChat:
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


def with_shared(doc: str | None) -> str:
    """Add to what one kind of chat is what both are."""
    return f"{cleandoc(doc or '')}\n\n{cleandoc(SharedChat.__doc__ or '')}"


def commit_of(talk: Talk) -> Callable[[Commit], object] | None:
    """What makes entries durable: where the caller gave nothing for that, nothing does."""
    checkpoint = talk.options.checkpoint
    if checkpoint is None:
        return None
    return lambda commit: checkpoint(talk.rescue(commit.record))
