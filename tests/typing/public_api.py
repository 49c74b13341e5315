"""What type checkers make of the public surface. Checked by mypy and pyright, never run."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import assert_type

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
