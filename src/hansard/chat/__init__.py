"""A chat: what people hold who keep the state themselves.

`Chat` and `AsyncChat` have the same methods; those that call a model are awaited in the one. A chat
keeps nothing of a conversation: it can be shared by all of them, and by all threads.
"""

from .asynchronous import AsyncChat
from .blocking import Chat

__all__ = ["AsyncChat", "Chat"]
