"""The dialect of Gemini's generateContent."""

from .dialect import Gemini

__all__ = ["Gemini"]
