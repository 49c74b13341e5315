"""The dialect of Anthropic Messages."""

from .dialect import Anthropic

__all__ = ["Anthropic"]
