"""What all services demand alike: how a request comes, and what is about models and tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .rule import cut
from .shape import FILLED_TEXT, each, needs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from .rule import Rulebook, WireRequest

__all__ = ["demand_http", "demand_model"]


def demand_http(book: Rulebook, path: str, keys: Collection[str]) -> None:
    """Put into a book what all services want: their path, a key, and a body of JSON."""

    def path_fits(request: WireRequest) -> Iterator[str]:
        if not re.fullmatch(path, request.bare_path):
            yield f"expected the path {path}, found {request.bare_path}"

    def key_given(request: WireRequest) -> Iterator[str]:
        if not any(_key(request, name) for name in keys):
            yield f"expected a key in {' or '.join(keys)}, found none"

    def is_json(request: WireRequest) -> Iterator[str]:
        if not isinstance(request.parsed, dict):
            yield "expected a JSON object in UTF-8 as the body of the request"

    def says_json(request: WireRequest) -> Iterator[str]:
        kind = request.headers.get("content-type", "")
        if kind.partition(";")[0].strip().lower() != "application/json":
            yield f"Unsupported content type: expected application/json, found {kind!r}"

    book.rule("The path is that of the service.", path_fits, (("path", "/v1/none"),), status=404)
    used = next(name for name in keys if name in book.right.headers)
    no_key = ((f"headers.{used}", ""),)
    book.rule("A key is in its header.", key_given, no_key, status=401)
    other_kind = (("headers.content-type", "text/plain"),)
    utf_8 = (("headers.content-type", "application/json; charset=utf-8"),)
    book.rule("The body is declared to be JSON.", says_json, other_kind, utf_8, status=415)
    book.rule("The body is a JSON object in UTF-8.", is_json, (("raw", "[]"),))


def _key(request: WireRequest, name: str) -> str:
    value = request.headers.get(name, "")
    return value.removeprefix("Bearer").strip() if name == "authorization" else value


def demand_model(book: Rulebook) -> None:
    """Put into a book what all services want that have the model and tools in the body."""
    book.rule("A model is named.", each("model", FILLED_TEXT), cut("model"))
    book.rule(
        "A tool choice is only made where there are tools.",
        needs("tool_choice?", "tools?"),
        cut("tools"),
        cut("tools") + cut("tool_choice"),
    )
