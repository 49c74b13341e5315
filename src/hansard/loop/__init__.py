"""Loops: jobs that may take hours, checkpointed at every step and resumed where they stopped."""

from .checkpoints import AsyncCheckpointHandler, Checkpoint, CheckpointHandler
from .files import FileCheckpointHandler
from .loops import AsyncLoop, Loop
from .prompts import Prompt, PromptResponse
from .stored import StoreCheckpointHandler

__all__ = [
    "AsyncCheckpointHandler",
    "AsyncLoop",
    "Checkpoint",
    "CheckpointHandler",
    "FileCheckpointHandler",
    "Loop",
    "Prompt",
    "PromptResponse",
    "StoreCheckpointHandler",
]
