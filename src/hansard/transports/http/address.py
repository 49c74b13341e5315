"""Where a provider is, and what lets a caller in.

Both are checked before anything is sent, since libraries below would repeat a key that is no legal
header in their errors and logs. Secrets leave here for the wire alone.
"""

from __future__ import annotations

import ipaddress
import re
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import unquote

import httpx2

from ...errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...dialects.dialect import Request

__all__ = ["Address"]

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VALUE = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")
_SECRET = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
_SECRET_LENGTH_MIN = 8
"""Shorter values occur by chance: to blot them out would only garble what a provider says."""


class Address:
    """A base URL and headers. A user and password in the URL become a header.

    Raises `Invalid` for what cannot be one, without repeating what may be a secret.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str] | None = None) -> None:
        url = _parse(base_url)
        self.headers = {name: _checked(name, value) for name, value in (headers or {}).items()}
        self._given = {name.lower() for name in self.headers}
        if url.userinfo and "authorization" not in self._given:
            user = unquote(url.userinfo.decode()).encode()
            self.headers["authorization"] = f"Basic {b64encode(user).decode()}"
            self._given.add("authorization")
        self.url = str(url.copy_with(username=None, password=None)).rstrip("/")
        self.host = url.netloc.decode()
        self._name = url.host
        self._secrets = _secrets(self.headers)

    def __repr__(self) -> str:
        return f"<Address {self.url}>"

    @property
    def unproxied(self) -> dict[str, None]:
        """Which addresses no proxy of the environment leads to: this, if it is on this machine."""
        if not _is_here(self._name):
            return {}
        return {f"all://[{self._name}]" if ":" in self._name else f"all://{self._name}": None}

    def of(self, request: Request) -> str:
        """The whole URL of a request."""
        return self.url + request.path

    def beside(self, request: Request) -> list[tuple[str, str]]:
        """The headers of a request that are not given here, where they win."""
        return [(name, value) for name, value in request.headers if name.lower() not in self._given]

    def blot(self, body: bytes) -> bytes:
        """Take our secrets out of what a server said. Some repeat a key that they refuse."""
        for secret in self._secrets:
            body = body.replace(secret, b"***")
        return body


def _parse(base_url: str) -> httpx2.URL:
    try:
        url = httpx2.URL(base_url)
    except httpx2.InvalidURL:
        url = None
    if url is None or url.scheme not in ("http", "https") or not url.host:
        raise Invalid(
            "expected a base URL such as https://api.example.com/v1, found one without http:// or "
            "https://, without a host, or with characters that no URL has"
        )
    if url.query or url.fragment:
        raise Invalid(
            "expected a base URL to which paths can be added, found one with a query or a "
            "fragment; give what it says as headers= or parameters"
        )
    return url


def _checked(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        raise Invalid(f"expected the name of a header, found {name!r}")
    if not _VALUE.fullmatch(value):
        raise Invalid(
            f"expected printable ASCII without white space around it as header {name}, found "
            "other characters; look for a line break at the end of a key"
        )
    return value


def _is_here(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _secrets(headers: Mapping[str, str]) -> list[bytes]:
    """Give what must not be repeated, the longest first: a value whole, and after its scheme."""
    values = [value for name, value in headers.items() if _SECRET.search(name)]
    words = {word for value in values for word in (value, value.rpartition(" ")[2])}
    found = [word.encode() for word in words if len(word) >= _SECRET_LENGTH_MIN]
    return sorted(found, key=lambda secret: (-len(secret), secret))
