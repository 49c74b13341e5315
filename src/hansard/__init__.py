"""Hansard: the verbatim record of every conversation between a program and a model."""

from importlib import import_module
from typing import TYPE_CHECKING

from .dialects.dialect import Answer, Ask, Dialect, Loss, Request, ToolSpec
from .dialects.registry import dialect, dialects, register
from .errors import (
    AnswerCut,
    AnswerError,
    ContextOverflow,
    DecodeError,
    HansardError,
    Invalid,
    InvalidAnswer,
    InvalidKey,
    InvalidMessage,
    InvalidState,
    InvalidTransition,
    InvalidTurn,
    MissingExtra,
    NotAuthorized,
    OutputMismatch,
    Overloaded,
    PendingCalls,
    ProviderError,
    RateLimited,
    SealBroken,
    TimedOut,
    ToolError,
    ToolIdempotencyError,
    TooManyRounds,
    UnknownDialect,
    Unreachable,
    Unsayable,
)
from .messages import (
    Draft,
    Media,
    Message,
    Native,
    Refusal,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    audio,
    event,
    file,
    image,
    system,
    user,
)
from .record import Record
from .state import Limits, Loaded, Rejected, State, load, save

if TYPE_CHECKING:
    from .chat import AsyncChat, Chat
    from .models.local import local
    from .models.model import Model
    from .models.providers import anthropic, gemini, openai, openai_responses
    from .models.spec import model
    from .talk.reply import Reply
    from .talk.streams import AsyncStream, Stream
    from .tools.context import Action, ToolContext
    from .tools.tool import Tool, tool
    from .turn.events import (
        AnswerDropped,
        CallFinished,
        ModelCalled,
        Observation,
        ToolRan,
        TurnEnded,
        TurnEvent,
    )

__all__ = [
    "Action",
    "Answer",
    "AnswerCut",
    "AnswerDropped",
    "AnswerError",
    "Ask",
    "AsyncChat",
    "AsyncStream",
    "CallFinished",
    "Chat",
    "ContextOverflow",
    "DecodeError",
    "Dialect",
    "Draft",
    "HansardError",
    "Invalid",
    "InvalidAnswer",
    "InvalidKey",
    "InvalidMessage",
    "InvalidState",
    "InvalidTransition",
    "InvalidTurn",
    "Limits",
    "Loaded",
    "Loss",
    "Media",
    "Message",
    "MissingExtra",
    "Model",
    "ModelCalled",
    "Native",
    "NotAuthorized",
    "Observation",
    "OutputMismatch",
    "Overloaded",
    "PendingCalls",
    "ProviderError",
    "RateLimited",
    "Record",
    "Refusal",
    "Rejected",
    "Reply",
    "Request",
    "SealBroken",
    "State",
    "Stream",
    "Text",
    "Thought",
    "TimedOut",
    "TooManyRounds",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolIdempotencyError",
    "ToolRan",
    "ToolResult",
    "ToolSpec",
    "TurnEnded",
    "TurnEvent",
    "UnknownDialect",
    "Unreachable",
    "Unsayable",
    "Usage",
    "anthropic",
    "assistant",
    "audio",
    "dialect",
    "dialects",
    "event",
    "file",
    "gemini",
    "image",
    "load",
    "local",
    "model",
    "openai",
    "openai_responses",
    "register",
    "save",
    "system",
    "tool",
    "user",
]

_LATER = {
    "Action": ".tools.context",
    "AnswerDropped": ".turn.events",
    "AsyncChat": ".chat",
    "AsyncStream": ".talk.streams",
    "CallFinished": ".turn.events",
    "Chat": ".chat",
    "Model": ".models",
    "ModelCalled": ".turn.events",
    "Observation": ".turn.events",
    "Reply": ".talk.reply",
    "Stream": ".talk.streams",
    "Tool": ".tools.tool",
    "ToolContext": ".tools.context",
    "ToolRan": ".turn.events",
    "TurnEnded": ".turn.events",
    "TurnEvent": ".turn.events",
    "anthropic": ".models",
    "gemini": ".models",
    "local": ".models",
    "model": ".models",
    "openai": ".models",
    "openai_responses": ".models",
    "tool": ".tools.tool",
}
"""Where to find what is imported when it is first asked for: a program that only keeps records
needs none of it."""


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(_LATER[name], __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
