"""A model on this machine: llama.cpp's server in a process of its own, started when first used."""

from .server import LocalServer, Settings, serve
from .transports import AsyncLocalTransport, LocalTransport, Route

__all__ = ["AsyncLocalTransport", "LocalServer", "LocalTransport", "Route", "Settings", "serve"]
