"""HTTP to a provider, over httpx2, or to any server that speaks like one."""

from .asynchronous import AsyncHttpTransport
from .blocking import HttpTransport

__all__ = ["AsyncHttpTransport", "HttpTransport"]
