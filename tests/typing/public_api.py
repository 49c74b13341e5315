"""What type checkers make of the public surface. Checked by mypy and pyright, never run."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

from hansard import (
    AsyncSession,
    Chat,
    ConversationState,
    FileCheckpointHandler,
    Loop,
    LossReport,
    Prompt,
    PromptResponse,
    Session,
    Snapshot,
    Store,
    StoreCheckpointHandler,
)
from hansard.messages import Draft, Message, Part, Role, ToolCall, event, system, user


def drafts_are_made_from_text_and_parts() -> None:
    assert_type(user("Hello"), Draft)
    assert_type(system("You are terse."), Draft)
    assert_type(event("User has checked in."), Draft)


def a_message_is_read_without_casts(message: Message) -> None:
    assert_type(message.role, Role)
    assert_type(message.text, str)
    assert_type(message.parts, tuple[Part, ...])
    assert_type(message.tool_calls, tuple[ToolCall, ...])
    assert_type(message.raw, bytes)


def what_cannot_be_said_is_refused() -> None:
    user(1)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Plan:
    step: str


class _Planning(Loop[str, _Plan]):
    def create_prompt(self, request: str) -> Prompt[_Plan]:
        return Prompt("plans", "one", request, output=_Plan)


def a_slice_is_of_its_type(session: Session) -> None:
    assert_type(session[_Plan].all(), tuple[_Plan, ...])
    assert_type(session[_Plan].latest(), _Plan | None)
    assert_type(session[ConversationState].latest(), ConversationState | None)
    assert_type(session.register(_Plan), type[_Plan])
    assert_type(session.restore(session.snapshot()), LossReport)


async def an_awaited_slice_is_too(session: AsyncSession) -> None:
    assert_type(await session[_Plan].all(), tuple[_Plan, ...])
    assert_type(await session.snapshot(), Snapshot)


def a_loop_gives_what_its_prompt_asks_for(chat: Chat, store: Store) -> None:
    loop = _Planning(chat, checkpoint_handler=FileCheckpointHandler("checkpoints"))
    assert_type(loop.execute("Plan."), PromptResponse[_Plan])
    assert_type(loop.execute("Plan.").output, _Plan | None)
    _Planning(chat, checkpoint_handler=StoreCheckpointHandler(store))
    loop.execute(1)  # type: ignore[arg-type]
