"""The dialect of OpenAI Responses."""

from .dialect import OpenAIResponses

__all__ = ["OpenAIResponses"]
