"""Recording, which is always on: here for those who look for how to turn it on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .shared import SharedSession

__all__ = ["enable_conversation_recording"]


def enable_conversation_recording(session: SharedSession) -> None:
    """Do nothing: a session records every conversation, entry by entry, from the start.

    ``session[ConversationState].latest()`` gives it in neutral records.
    """
    del session
