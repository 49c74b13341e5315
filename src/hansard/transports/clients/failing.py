"""What went wrong inside an official client, as an error of ours; theirs is its cause."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...errors import HansardError, NotAuthorized, ProviderError, Unreachable
from ..http.address import Address
from ..retry import with_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...dialects.dialect import Dialect

__all__ = ["headers_of", "translated"]

_CARRIERS = frozenset({"aiohttp", "httpcore", "httpcore2", "httpx", "httpx2", "requests"})
"""The libraries that clients use to connect. What they raise is about connections."""

_STATUS_OK = 400


@contextmanager
def translated(dialect: Dialect) -> Iterator[None]:
    """Raise errors of a client as `ProviderError`. What is no such error passes as it is."""
    try:
        yield
    except HansardError:
        raise
    except Exception as error:
        ours = _translate(error, dialect)
        if ours is None:
            raise
        raise ours from error


def _translate(error: Exception, dialect: Dialect) -> ProviderError | None:
    status = getattr(error, "status_code", None) or getattr(error, "code", None)
    if isinstance(status, int) and status >= _STATUS_OK:
        headers = with_seconds(headers_of(error), now_s=time.time())
        return dialect.failure(status, _body(error), headers)
    names = {kind.__name__ for kind in type(error).__mro__}
    roots = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if "APIConnectionError" in names or roots & _CARRIERS or isinstance(error, OSError):
        return Unreachable(
            "expected an answer, found that the client could not get one "
            f"({type(error).__name__}); see the cause, and try again"
        )
    if "GoogleAuthError" in names or "authentication method" in str(error):
        return NotAuthorized(f"expected credentials that the client can use, found: {error}")
    if names & {"OpenAIError", "AnthropicError"}:
        return ProviderError(f"expected an answer, found that the client refuses to ask: {error}")
    return None


def _body(error: Exception) -> bytes:
    """Give what the provider said, without the keys that it may repeat."""
    response = getattr(error, "response", None)
    content = getattr(response, "content", b"")
    said = content if isinstance(content, bytes) else str(error).encode("utf-8", "replace")
    asked = getattr(getattr(response, "request", None), "headers", None) or {}
    sent = {str(name): str(value) for name, value in asked.items() if str(value).isascii()}
    return Address("https://client", sent).blot(said)


def headers_of(error: BaseException | None) -> dict[str, str]:
    """Give the headers of the answer that a client's error is about, if it is about one."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    return {str(name).lower(): str(value) for name, value in headers.items()}
