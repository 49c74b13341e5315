"""What the spellings of all wire formats share, and what each has to do.

A stream is made from the same parsed answer as the whole body, so that both say the same.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from .. import rawjson
from ..errors import DecodeError, Invalid
from ..messages import Thought

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..rawjson import JSON, JSONObject
    from .script import Fail, Say

__all__ = [
    "CREATED",
    "Spelling",
    "Stamp",
    "check_calls",
    "error_word",
    "finish_word",
    "members",
    "objects",
    "openai_error",
    "pieces",
    "put_extra",
    "signed",
    "spell_arguments",
    "sse",
    "words_of",
]

CREATED = 1_764_967_971
"""When all scripted answers were made: a script repeats to the byte."""


class Stamp(msgspec.Struct, frozen=True):
    """What tells answers apart: the number of the request, and the model's name."""

    number: int
    model: str

    def signature(self, place: int) -> str:
        """A signature, as providers that sign give one with every thought."""
        return base64.b64encode(f"signed {self.number}.{place}".encode()).decode()


class Spelling(Protocol):
    """How one wire format says things."""

    def answer(self, said: Say, stamp: Stamp) -> JSONObject:
        """A whole answer. Raises `Invalid` for what this format has no place for."""
        ...

    def events(self, answer: JSONObject) -> list[bytes]:
        """The same answer as a whole stream, event by event."""
        ...

    def error(self, fail: Fail) -> JSONObject:
        """The body of an error."""
        ...

    def error_event(self, error: JSONObject) -> bytes:
        """An error in the middle of a stream."""
        ...


# -- JSON and streams -----------------------------------------------------------------------------


def members(given: JSON) -> JSONObject:
    """The members of an object; nothing else has any."""
    return given if isinstance(given, dict) else {}


def objects(given: JSON) -> list[JSONObject]:
    """The objects in an array; nothing else has any."""
    return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []


def pieces(text: str) -> list[str]:
    """Text as a stream brings it: word by word."""
    return _WORDS.findall(text)


_WORDS = re.compile(r"\S+\s*|\s+")


def sse(data: JSON, event: str = "") -> bytes:
    """Spell one event of a stream."""
    named = b"event: " + event.encode() + b"\n" if event else b""
    return named + b"data: " + rawjson.dump(data) + b"\n\n"


# -- answers --------------------------------------------------------------------------------------


def finish_word(said: Say, words: Mapping[str, str], provider: str) -> str:
    """Say in the provider's word why an answer ends; a word that is not neutral is its own."""
    finish = said.finish or ("tool_calls" if said.calls else "stop")
    if said.blocked:
        finish = "filtered" if "filtered" in words else "refused"
    if finish in words:
        return words[finish]
    if finish in _NEUTRAL:
        raise Invalid(
            f"expected an end that {provider} has a word for, found {finish!r}; "
            f"it knows {', '.join(words)}, and words of its own"
        )
    return finish


_NEUTRAL = frozenset(
    {"stop", "length", "tool_calls", "filtered", "refused", "paused", "overflow", "malformed"}
)


def signed(said: Say, stamp: Stamp) -> list[Thought]:
    """The thoughts of an answer, signed, for a provider that signs every thought.

    The answer's signature is the last one's; those without one get one of their own. An empty
    signature stays away.
    """
    thoughts = list(said.thoughts)
    if said.signature is not None:
        last = thoughts.pop() if thoughts else Thought()
        thoughts.append(replace(last, thought_signature=said.signature))
    return [
        thought
        if thought.thought_signature is not None or thought.redacted is not None
        else replace(thought, thought_signature=stamp.signature(place))
        for place, thought in enumerate(thoughts)
    ]


def check_calls(said: Say, provider: str, *, signature: bool = False, custom: bool = False) -> None:
    """Refuse calls that are signed, or custom, where there is no place for that."""
    for call in said.calls:
        if call.signature and not signature:
            raise Invalid(
                f"expected calls without signature=, which {provider} has no place for; "
                "sign the answer: say(…, signature=…)"
            )
        if call.custom and not custom:
            raise Invalid(
                f"expected calls with arguments in JSON, found custom=True, which {provider} has "
                "not: leave it out"
            )


def spell_arguments(arguments: str) -> JSON:
    """Arguments as they are spelled; text that is no JSON stays text, which no dialect takes."""
    spelled = arguments.encode("utf-8", "surrogatepass")
    try:
        rawjson.compact(spelled)
    except DecodeError:
        return arguments
    return msgspec.Raw(spelled)  # type: ignore[return-value] # spliced in by rawjson.dump


def put_extra(holders: Sequence[JSON], extra: Mapping[str, JSON], where: str) -> None:
    """Put the fields that nobody knows into the last of what can hold them."""
    if not extra:
        return
    last = holders[-1] if holders else None
    if not isinstance(last, dict):
        raise Invalid(f"expected something to be said beside extra=, which goes into {where}")
    last |= extra


# -- errors ---------------------------------------------------------------------------------------


def error_word(words: Mapping[int, str], status: int) -> str:
    """A provider's word for a status; for one that it does not know, its word for the like."""
    return words.get(status) or words[_SERVER_ERROR if status >= _SERVER_ERROR else 400]


_SERVER_ERROR = 500


def words_of(fail: Fail, too_long: str) -> str:
    """What the provider says about an error."""
    usual = too_long if fail.is_overflow else f"The script answers with the status {fail.status}."
    return fail.message or usual


def openai_error(fail: Fail, where: str) -> JSONObject:
    """Spell an error as both of OpenAI's formats do; ``where`` is what is too long."""
    usual = "context_length_exceeded" if fail.is_overflow else error_word(_OPENAI, fail.status)
    return {
        "error": {
            "message": words_of(fail, _TOO_LONG),
            "type": "server_error" if fail.status >= _SERVER_ERROR else "invalid_request_error",
            "param": where if fail.is_overflow else None,
            "code": fail.code or usual,
        }
    }


_OPENAI = {
    400: "invalid_request_error",
    401: "invalid_api_key",
    403: "permission_error",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
}
_TOO_LONG = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 "
    "tokens. Please reduce the length of the messages."
)
