"""Which error an error is: an HTTP status and a body, read as providers word their failures.

One reading serves all dialects, because any of them may be spoken by a server of another make
(llama.cpp, vLLM, a gateway). The rules, the first that fits:

- too long: the status 413, or one of a closed list of words in what the provider says;
- no money left (402, ``insufficient_quota``): `NotAuthorized`, not `RateLimited`, since waiting
  does not help;
- the provider's own code, where it is a known one, as it also comes with a status of 200;
- the HTTP status.

Any bytes are taken. The message of the error has the provider's words, cut at `WORDS_MAX`
characters, with whatever looks like a key blotted out.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from .. import rawjson
from ..errors import (
    ContextOverflow,
    DecodeError,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
)
from .fields import object_at, objects_at, text_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["OVERFLOW_MARKS", "WORDS_MAX", "read_failure"]

WORDS_MAX = 500
"""How many characters of a provider's words an error repeats."""

OVERFLOW_MARKS = (
    "context_length_exceeded",  # OpenAI, Groq, Fireworks, Cerebras
    "context window of this model",  # OpenAI
    "the model's context window",  # OpenAI
    "prompt is too long",  # Anthropic
    "exceed context limit",  # Anthropic
    "exceeds the maximum number of tokens",  # Gemini
    "but model only supports up to",  # Gemini
    "exceed_context_size",  # llama.cpp
    "available context size",  # llama.cpp
    "exceed context window of",  # llama-cpp-python
    "maximum context length",  # vLLM, DeepSeek, OpenRouter, Mistral
    "maximum model length",  # vLLM
    "longer than the model's context length",  # SGLang
    "maximum prompt length",  # xAI
    "exceeds the context length",  # Ollama
    "prompt too long; exceeded",  # Ollama
    "greater than the context length",  # LM Studio
    "input is too long for requested model",  # Bedrock
    "`inputs` tokens + `max_new_tokens` must be",  # TGI, Together
    "`inputs` must have less than",  # TGI
    "exceeded model token limit",  # Moonshot
    "context window exceeds limit",  # MiniMax
    "too many tokens: ",  # Cohere
)
"""Words of which one is in what providers and servers say of a request that is too long.

One list for all dialects: gateways hand on, in their own dialect, what another provider says.
"""

_UNPAID = {"insufficient_quota", "billing_error", "billing_hard_limit_reached"}
_UNPAID_WORDS = "credit balance is too low"  # Anthropic says so as an invalid request.
_CODES: dict[str, type[ProviderError]] = {
    "authentication_error": NotAuthorized,
    "invalid_api_key": NotAuthorized,
    "permission_error": NotAuthorized,
    "API_KEY_INVALID": NotAuthorized,
    "API_KEY_EXPIRED": NotAuthorized,
    "PERMISSION_DENIED": NotAuthorized,
    "UNAUTHENTICATED": NotAuthorized,
    "rate_limit_error": RateLimited,
    "rate_limit_exceeded": RateLimited,
    "RESOURCE_EXHAUSTED": RateLimited,
    "api_error": Overloaded,
    "overloaded_error": Overloaded,
    "server_error": Overloaded,
    "timeout_error": Overloaded,
    "DEADLINE_EXCEEDED": Overloaded,
    "INTERNAL": Overloaded,
    "UNAVAILABLE": Overloaded,
}
_STATUSES: dict[int, type[ProviderError]] = {
    401: NotAuthorized,
    402: NotAuthorized,
    403: NotAuthorized,
    413: ContextOverflow,
    429: RateLimited,
    **dict.fromkeys(range(500, 600), Overloaded),
}
_WHAT: dict[type[ProviderError], tuple[str, str]] = {
    RateLimited: ("too many requests or tokens", "try later, or send less"),
    Overloaded: ("a provider that cannot answer now", "try later"),
    ContextOverflow: ("a request that is too long", "compact the conversation and go on"),
    NotAuthorized: ("a refusal", "check the key, what it may do, and the account's balance"),
    ProviderError: ("an error", "see what the provider says of it"),
}
_KEY = re.compile(r"\b(?:Bearer\s+\S+|(?:sk|pk|rk|gsk|xai|key|AIza)[-_]?[\w*.-]{12,})")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)s")


class _Said(NamedTuple):
    """What a body says: the provider's codes, most telling first, its words, and how long."""

    codes: tuple[str, ...]
    words: str
    retry_delay: str = ""


def read_failure(
    dialect: str,
    overflow_marks: Iterable[str],
    status: int,
    body: bytes,
    headers: Mapping[str, str] | None = None,
) -> ProviderError:
    """Say which error an answer is that is none. Never raises."""
    said = _read(body)
    kind = _kind(status, said, (*OVERFLOW_MARKS, *overflow_marks))
    found, then = _WHAT[kind]
    code = said.codes[0] if said.codes else ""
    retry_after_s = _retry_after(headers or {}, said.retry_delay)
    if retry_after_s is not None:
        then = f"{then} (it asks for {retry_after_s:g} s)"
    named = f"HTTP {status}, {code}" if code else f"HTTP {status}"
    quoted = f'; it says: "{said.words}"' if said.words else ""
    return kind(
        f"expected an answer of {dialect}, found {found} ({named}): {then}{quoted}",
        status=status,
        body=body,
        code=code,
        retry_after_s=retry_after_s,
    )


def _kind(status: int, said: _Said, marks: Iterable[str]) -> type[ProviderError]:
    # A limit of tokens a minute is not a limit of the conversation, though it is worded alike.
    if status not in (401, 403, 429):
        heard = " ".join((*said.codes, said.words)).lower()
        if status == 413 or any(mark.lower() in heard for mark in marks):  # noqa: PLR2004
            return ContextOverflow
    if _UNPAID.intersection(said.codes) or _UNPAID_WORDS in said.words:
        return NotAuthorized
    for code in said.codes:
        if code in _CODES:
            return _CODES[code]
    return _STATUSES.get(status, ProviderError)


def _read(body: bytes) -> _Said:
    try:
        raw = rawjson.compact(body)
        if raw.startswith(b"["):  # Gemini wraps the error of a stream in an array.
            raw = rawjson.elements(raw)[0]
        return _read_object(rawjson.fields(raw))
    except (DecodeError, IndexError):
        return _Said((), _tidy(body[: 8 * WORDS_MAX].decode("utf-8", "replace")))


def _read_object(outer: dict[str, bytes]) -> _Said:
    """Read the shapes there are: an object or a string under ``error``, or the error itself."""
    fields = object_at(outer, "error") or outer
    details = objects_at(fields, "details")
    codes = [text_at(detail, "reason") for detail in details]
    codes += [text_at(fields, key) for key in ("code", "status", "type")]
    words = [
        text_at(fields, "message") or text_at(outer, "error") or text_at(outer, "message"),
        text_at(outer, "detail"),
        *[text_at(problem, "msg") for problem in objects_at(outer, "detail")],
        text_at(object_at(fields, "metadata"), "raw"),  # What OpenRouter was told itself.
    ]
    delays = [text_at(detail, "retryDelay") for detail in details]
    return _Said(
        tuple([_tidy(code)[:80] for code in codes if code]),
        _tidy("; ".join(filter(None, words))),
        "".join(delays),
    )


def _tidy(words: str) -> str:
    """Put words on one line that anybody may print."""
    words = words[: 8 * WORDS_MAX].encode("utf-8", "replace").decode()
    line = " ".join("".join([c if c.isprintable() else " " for c in words]).split())
    line = _KEY.sub("***", line)
    return line if len(line) <= WORDS_MAX else line[: WORDS_MAX - 1] + "…"


def _retry_after(headers: Mapping[str, str], delay: str) -> float | None:
    """Read how long to wait, in whichever way it is said. A date needs a clock: not here."""
    low = {name.lower(): value for name, value in headers.items()}
    duration = _DURATION.fullmatch(delay)
    ways = (
        _seconds(low.get("retry-after-ms"), 1_000),
        _seconds(low.get("retry-after")),
        _seconds(duration[1] if duration else None),
    )
    return next((seconds for seconds in ways if seconds is not None), None)


def _seconds(said: str | None, units_per_second: int = 1) -> float | None:
    try:
        seconds = float(said or "") / units_per_second
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
