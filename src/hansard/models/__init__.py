"""Models: what a chat talks to, and how to come by one.

A model is a dialect, its name there, the parameters it is always called with, and transports. A
provider's is made by the function of its name, or from a string by `model`.
"""

from .local import local
from .model import Model
from .providers import anthropic, gemini, openai, openai_responses
from .spec import model

__all__ = ["Model", "anthropic", "gemini", "local", "model", "openai", "openai_responses"]
