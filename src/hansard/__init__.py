"""Hansard: the verbatim record of every conversation between a program and a model."""

from importlib import import_module
from typing import TYPE_CHECKING

from .dialects.registry import dialect, dialects, register
from .errors import (
    AnswerCut,
    AnswerError,
    Busy,
    ContextOverflow,
    ConversationStateMismatch,
    DecodeError,
    HansardError,
    Invalid,
    InvalidAnswer,
    InvalidKey,
    InvalidMessage,
    InvalidState,
    InvalidTransition,
    InvalidTurn,
    LeaseLost,
    MissingExtra,
    NoSuchConversation,
    NotAuthorized,
    OutputMismatch,
    Overloaded,
    PendingCalls,
    ProviderError,
    RateLimited,
    ReducerFailed,
    RevisionConflict,
    SealBroken,
    SnapshotRestoreError,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
    TimedOut,
    ToolError,
    ToolIdempotencyError,
    TooManyRounds,
    UnknownDialect,
    Unreachable,
    Unsayable,
)

if TYPE_CHECKING:
    from .chat import AsyncChat, Chat
    from .dialects.dialect import Answer, Ask, Dialect, Loss, Request, ToolSpec
    from .dialects.events import (
        CallComplete,
        CallDelta,
        CallStarted,
        NativeEvent,
        RefusalDelta,
        TextDelta,
        ThoughtDelta,
        UsageReported,
    )
    from .loop.checkpoints import AsyncCheckpointHandler, Checkpoint, CheckpointHandler
    from .loop.files import FileCheckpointHandler
    from .loop.loops import AsyncLoop, Loop
    from .loop.prompts import Prompt, PromptResponse
    from .loop.stored import StoreCheckpointHandler
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
    from .models.local import local
    from .models.model import Model
    from .models.providers import anthropic, gemini, openai, openai_responses
    from .models.spec import model
    from .neutral.convert import LossReport
    from .neutral.records import ConversationState
    from .record.pages import Revision
    from .record.record import Record
    from .sealing import Keyring
    from .session.asynchronous import AsyncSession
    from .session.blocking import Session
    from .session.recording import enable_conversation_recording
    from .session.reducers import append_all, replace_latest, upsert_by
    from .session.slices import AsyncSlice, Slice
    from .session.snapshots import Snapshot
    from .state import Limits, Loaded, Rejected, State, load, save
    from .stores.memory import MemoryStore
    from .stores.sealed import sealed
    from .stores.store import AsyncStore, Hold, Listed, Listing, Metadata, Receipt, Store
    from .stores.urls import open_async_store, open_store
    from .talk.reply import Reply
    from .talk.streams import AsyncStream, Stream
    from .tools.context import Action, ToolContext
    from .tools.tool import Tool, tool
    from .turn.events import (
        AnswerDropped,
        CallFinished,
        ModelCalled,
        Observation,
        Observer,
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
    "AsyncCheckpointHandler",
    "AsyncLoop",
    "AsyncSession",
    "AsyncSlice",
    "AsyncStore",
    "AsyncStream",
    "Busy",
    "CallComplete",
    "CallDelta",
    "CallFinished",
    "CallStarted",
    "Chat",
    "Checkpoint",
    "CheckpointHandler",
    "ContextOverflow",
    "ConversationState",
    "ConversationStateMismatch",
    "DecodeError",
    "Dialect",
    "Draft",
    "FileCheckpointHandler",
    "HansardError",
    "Hold",
    "Invalid",
    "InvalidAnswer",
    "InvalidKey",
    "InvalidMessage",
    "InvalidState",
    "InvalidTransition",
    "InvalidTurn",
    "Keyring",
    "LeaseLost",
    "Limits",
    "Listed",
    "Listing",
    "Loaded",
    "Loop",
    "Loss",
    "LossReport",
    "Media",
    "MemoryStore",
    "Message",
    "Metadata",
    "MissingExtra",
    "Model",
    "ModelCalled",
    "Native",
    "NativeEvent",
    "NoSuchConversation",
    "NotAuthorized",
    "Observation",
    "Observer",
    "OutputMismatch",
    "Overloaded",
    "PendingCalls",
    "Prompt",
    "PromptResponse",
    "ProviderError",
    "RateLimited",
    "Receipt",
    "Record",
    "ReducerFailed",
    "Refusal",
    "RefusalDelta",
    "Rejected",
    "Reply",
    "Request",
    "Revision",
    "RevisionConflict",
    "SealBroken",
    "Session",
    "Slice",
    "Snapshot",
    "SnapshotRestoreError",
    "State",
    "Store",
    "StoreCheckpointHandler",
    "StoreCorrupt",
    "StoreError",
    "StoreUnavailable",
    "Stream",
    "Text",
    "TextDelta",
    "Thought",
    "ThoughtDelta",
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
    "UsageReported",
    "anthropic",
    "append_all",
    "assistant",
    "audio",
    "dialect",
    "dialects",
    "enable_conversation_recording",
    "event",
    "file",
    "gemini",
    "image",
    "load",
    "local",
    "model",
    "open_async_store",
    "open_store",
    "openai",
    "openai_responses",
    "register",
    "replace_latest",
    "save",
    "sealed",
    "system",
    "tool",
    "upsert_by",
    "user",
]

_LATER = {
    ".chat": ("AsyncChat", "Chat"),
    ".dialects.dialect": ("Answer", "Ask", "Dialect", "Loss", "Request", "ToolSpec"),
    ".dialects.events": (
        "CallComplete",
        "CallDelta",
        "CallStarted",
        "NativeEvent",
        "RefusalDelta",
        "TextDelta",
        "ThoughtDelta",
        "UsageReported",
    ),
    ".loop.checkpoints": ("AsyncCheckpointHandler", "Checkpoint", "CheckpointHandler"),
    ".loop.files": ("FileCheckpointHandler",),
    ".loop.loops": ("AsyncLoop", "Loop"),
    ".loop.prompts": ("Prompt", "PromptResponse"),
    ".loop.stored": ("StoreCheckpointHandler",),
    ".messages": (
        "Draft",
        "Media",
        "Message",
        "Native",
        "Refusal",
        "Text",
        "Thought",
        "ToolCall",
        "ToolResult",
        "Usage",
        "assistant",
        "audio",
        "event",
        "file",
        "image",
        "system",
        "user",
    ),
    ".models.local": ("local",),
    ".models.model": ("Model",),
    ".models.providers": ("anthropic", "gemini", "openai", "openai_responses"),
    ".models.spec": ("model",),
    ".neutral.convert": ("LossReport",),
    ".neutral.records": ("ConversationState",),
    ".record.pages": ("Revision",),
    ".record.record": ("Record",),
    ".sealing": ("Keyring",),
    ".session.asynchronous": ("AsyncSession",),
    ".session.blocking": ("Session",),
    ".session.recording": ("enable_conversation_recording",),
    ".session.reducers": ("append_all", "replace_latest", "upsert_by"),
    ".session.slices": ("AsyncSlice", "Slice"),
    ".session.snapshots": ("Snapshot",),
    ".state": ("Limits", "Loaded", "Rejected", "State", "load", "save"),
    ".stores.memory": ("MemoryStore",),
    ".stores.sealed": ("sealed",),
    ".stores.store": ("AsyncStore", "Hold", "Listed", "Listing", "Metadata", "Receipt", "Store"),
    ".stores.urls": ("open_async_store", "open_store"),
    ".talk.reply": ("Reply",),
    ".talk.streams": ("AsyncStream", "Stream"),
    ".tools.context": ("Action", "ToolContext"),
    ".tools.tool": ("Tool", "tool"),
    ".turn.events": (
        "AnswerDropped",
        "CallFinished",
        "ModelCalled",
        "Observation",
        "Observer",
        "ToolRan",
        "TurnEnded",
        "TurnEvent",
    ),
}
"""What is imported when it is first asked for, and where it is: a program pays for what it uses."""

_HOMES = {name: module for module, names in _LATER.items() for name in names}


if not TYPE_CHECKING:  # A checker would take it for a promise of any name at all.

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found: object = getattr(import_module(_HOMES[name], __name__), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
