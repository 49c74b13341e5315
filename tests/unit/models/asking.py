"""Asks models over a real socket, and says what arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.dialects.dialect import Ask
from hansard.messages import user

if TYPE_CHECKING:
    from hansard.dialects.dialect import Request
    from hansard.models import Model
    from tests.support.http_server import HttpServer

__all__ = ["arrived", "request_to"]


def request_to(model: Model) -> Request:
    """Make a request that says hello, with the parameters of the model."""
    dialect = model.dialect
    said = [dialect.splice(message.raw) for message in dialect.say(user("Hello"))]
    return dialect.request(Ask(model.name, said, parameters=model.parameters))


def arrived(server: HttpServer, model: Model) -> tuple[str, dict[str, str]]:
    """Ask, and give the path and the headers that the server saw."""
    with model:
        model.blocking().send(request_to(model))
    heard = server.heard[-1]
    return heard.line.split()[1], heard.headers
