"""Conversations in neutral records, and from any dialect into any."""

from .convert import Converted, LossReport, convert
from .records import ConversationMessage, ConversationState, ConversationTurn, ToolCallRecord
from .resuming import resume, state_messages
from .view import conversation_state, state_of_messages

__all__ = [
    "ConversationMessage",
    "ConversationState",
    "ConversationTurn",
    "Converted",
    "LossReport",
    "ToolCallRecord",
    "conversation_state",
    "convert",
    "resume",
    "state_messages",
    "state_of_messages",
]
