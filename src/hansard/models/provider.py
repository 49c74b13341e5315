"""Where a provider is, and what lets a caller in: as given, or as the environment says.

The environment variables are those of the provider's own client. They are read when a model is
first called. A key that is missing then is an error, unless ``base_url`` (or its variable) leads
to another server: many of those want none. Keys go into headers, never into URLs, and no ``repr``
shows them.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import NotAuthorized

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ANTHROPIC", "GEMINI", "OPENAI", "Provider", "Way"]

_VERSIONED = re.compile(r"/v\d\w*$")


@dataclass(frozen=True, repr=False)
class Way:
    """How the caller wants a model to be reached. None leaves it to the environment, or to us."""

    base_url: str | None
    api_key: str | None
    client: object
    timeout_s: float | None
    retries: int | None
    headers: Mapping[str, str] | None


@dataclass(frozen=True)
class Provider:
    """One provider. ``version`` is what its base URLs end in, where callers may leave that out."""

    name: str
    base_url: str
    base_url_variable: str
    key_variables: tuple[str, ...]
    letting_in: Callable[[str], tuple[str, str]]
    version: str = ""
    version_variable: str = ""

    def address(self, way: Way) -> str:
        """Give the base URL."""
        base_url = (self._elsewhere(way) or self.base_url).rstrip("/")
        if not self.version or _VERSIONED.search(base_url):
            return base_url
        wanted = _environment(self.version_variable) or self.version
        # Google's client takes this one word for the version that it is short for.
        return f"{base_url}/{'v1beta' if wanted == 'beta' else wanted}"

    def headers(self, way: Way) -> dict[str, str]:
        """Give the headers that let the caller in, and those of the caller's own.

        Raises `NotAuthorized`, which names the variable, where there is no key.
        """
        key = self._key(way)
        return dict([self.letting_in(key)] if key else []) | dict(way.headers or {})

    def _key(self, way: Way) -> str:
        if way.api_key is not None:
            return way.api_key
        key = next(filter(None, map(_environment, self.key_variables)), "")
        if not key and not self._elsewhere(way):
            raise NotAuthorized(
                f"expected a key for {self.name}, found none: set the environment variable "
                f"{' or '.join(self.key_variables)}, or give api_key=, client=, or the base_url= "
                "of a server that wants none"
            )
        return key

    def _elsewhere(self, way: Way) -> str:
        return way.base_url or _environment(self.base_url_variable)


def _environment(variable: str) -> str:
    return os.environ.get(variable, "").strip()


OPENAI = Provider(
    "OpenAI",
    "https://api.openai.com/v1",
    "OPENAI_BASE_URL",
    ("OPENAI_API_KEY",),
    lambda key: ("authorization", f"Bearer {key}"),
)
ANTHROPIC = Provider(
    "Anthropic",
    "https://api.anthropic.com",
    "ANTHROPIC_BASE_URL",
    ("ANTHROPIC_API_KEY",),
    lambda key: ("x-api-key", key),
)
GEMINI = Provider(
    "Gemini",
    "https://generativelanguage.googleapis.com",
    "GOOGLE_GEMINI_BASE_URL",
    ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    lambda key: ("x-goog-api-key", key),
    version="v1",
    version_variable="GOOGLE_GENAI_API_VERSION",
)
