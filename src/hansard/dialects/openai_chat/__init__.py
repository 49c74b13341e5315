"""The dialect of OpenAI Chat Completions."""

from .dialect import OpenAIChat

__all__ = ["OpenAIChat"]
