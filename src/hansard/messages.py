"""What is said, and how it is read.

A `Message` is one message in a provider's own words: raw JSON bytes and the dialect they are
in. The bytes are the only truth; everything else it offers is a view, made when asked for.

A `Draft` is a message that is in nobody's words yet. `user`, `system`, `assistant` and `event`
make drafts, and a dialect turns them into messages.

Parts are what both are made of: `Text`, `Thought`, `Media`, `ToolCall`, `ToolResult`,
`Refusal`, and `Native` for what has no neutral word.
"""

from __future__ import annotations

import base64
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from . import rawjson
from .errors import DecodeError, InvalidMessage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .rawjson import JSON

__all__ = [
    "Content",
    "Draft",
    "Finish",
    "Media",
    "Message",
    "Native",
    "Part",
    "Reader",
    "Reading",
    "Refusal",
    "Role",
    "Text",
    "Thought",
    "ToolCall",
    "ToolResult",
    "Usage",
    "assistant",
    "audio",
    "event",
    "file",
    "image",
    "system",
    "user",
]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

Finish: TypeAlias = Literal[
    "stop",
    "length",
    "tool_calls",
    "filtered",
    "refused",
    "paused",
    "overflow",
    "malformed",
    "other",
]
"""Why an answer ended. The provider's own word is kept beside it."""


_URL_SAFE = str.maketrans("-_", "+/")


class Text(msgspec.Struct, frozen=True, tag="text"):
    """Words. ``thought_signature`` goes back to the provider that gave it."""

    text: str
    thought_signature: str | None = None


class Thought(msgspec.Struct, frozen=True, tag="thought"):
    """The model's reasoning, never part of `Message.text`. It may be signed, or unreadable."""

    text: str = ""
    thought_signature: str | None = None
    redacted: str | None = None


class Media(msgspec.Struct, frozen=True, tag="media"):
    """An image, a file, or sound: in base64 as it was spelled, or by reference."""

    kind: Literal["image", "file", "audio", "video"]
    media_type: str | None = None
    base64: str | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    thought_signature: str | None = None

    @property
    def data(self) -> bytes | None:
        """The bytes, decoded; None where there is only a reference. Takes URL-safe base64 too."""
        if self.base64 is None:
            return None
        text = "".join(self.base64.split()).translate(_URL_SAFE)
        try:
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except ValueError as error:
            raise DecodeError(f"expected base64: {error}", reason="not_base64") from None


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call"):
    """A call that the model made. ``arguments`` is the JSON text as the model wrote it.

    Ids can be missing or repeat; ``position`` counts the calls of one message from 0.
    """

    id: str
    name: str
    arguments: str = "{}"
    position: int = 0
    thought_signature: str | None = None
    custom: bool = False

    @property
    def parsed(self) -> JSON:
        """The arguments, parsed; of a custom tool, the text itself.

        Raises `DecodeError` where the model wrote no JSON. No arguments at all read as ``{}``.
        """
        if self.custom:
            return self.arguments
        text = self.arguments.strip(" \t\r\n").encode("utf-8", "backslashreplace")
        return rawjson.value(rawjson.compact(text)) if text else {}

    def answer(self, result: object = None, *, is_error: bool = False) -> ToolResult:
        """Give this call's result: text, parts, or any JSON value."""
        return ToolResult(self.id, self.name, _result_parts(result), is_error, self.position)


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result"):
    """The result of one call."""

    call_id: str
    name: str = ""
    content: tuple[Text | Media | Native, ...] = ()
    is_error: bool = False
    position: int = 0

    @property
    def text(self) -> str:
        """The text of the result."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])


class Refusal(msgspec.Struct, frozen=True, tag="refusal"):
    """The model declined, in these words."""

    text: str


class Native(msgspec.Struct, frozen=True, tag="native"):
    """Something only this provider can say, as it was spelled, with its signature if it has one."""

    kind: str
    raw: bytes
    thought_signature: str | None = None

    @property
    def value(self) -> JSON:
        """The parsed JSON."""
        return rawjson.value(self.raw)


Part: TypeAlias = Text | Thought | Media | ToolCall | ToolResult | Refusal | Native
Content: TypeAlias = str | Part
"""What a draft is made of: a part, or just text."""


class Draft(msgspec.Struct, frozen=True, tag="draft"):
    """A message that no provider has put into words yet. ``pin`` keeps it through compaction."""

    role: Role
    parts: tuple[Part, ...]
    pin: bool = False

    @property
    def text(self) -> str:
        """The words of it."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])


def user(*content: Content, pin: bool = False) -> Draft:
    """Say something as the user: text, `image`, `file`, `audio`, or any other parts."""
    return Draft("user", _parts(content), pin)


def system(*content: Content, pin: bool = False) -> Draft:
    """Instruct the model. Leading system messages are given afresh with each call."""
    return Draft("system", _parts(content), pin)


def assistant(*content: Content) -> Draft:
    """Put words into the model's mouth, such as an example or an imported answer."""
    return Draft("assistant", _parts(content))


def event(text: str, *, pin: bool = False) -> Draft:
    """Tell the model that something happened. It is stored in the user role."""
    return user(text, pin=pin)


def _parts(content: tuple[Content, ...]) -> tuple[Part, ...]:
    if not content:
        raise InvalidMessage("expected text or parts, found nothing: user('…')")
    return tuple([_part(item) for item in content])


def _part(item: object) -> Part:
    if isinstance(item, str):
        return Text(item)
    if isinstance(item, Text | Thought | Media | ToolCall | ToolResult | Refusal | Native):
        return item
    raise InvalidMessage(
        f"expected text or a part such as image(…), found {type(item).__name__}; "
        "bytes of an image go into image(data, media_type)"
    )


_RESULT_PARTS = (Text, Media, Native)


def _result_parts(result: object) -> tuple[Text | Media | Native, ...]:
    items = result if isinstance(result, tuple | list) else (result,)
    if isinstance(result, str) or any([isinstance(item, _RESULT_PARTS) for item in items]):
        return tuple([_result_part(item) for item in items])
    try:
        return (Text(rawjson.dump_finite(result).decode()),)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise InvalidMessage(
            f"expected text, parts or a JSON value, found {type(result).__name__}: {error}"
        ) from None


def _result_part(item: object) -> Text | Media | Native:
    part = item if isinstance(item, _RESULT_PARTS) else _part(item)
    if isinstance(part, _RESULT_PARTS):
        return part
    raise InvalidMessage(f"expected text, media or JSON as a result, found {type(part).__name__}")


def image(
    data: bytes | None = None,
    media_type: str | None = None,
    *,
    base64: str | None = None,
    url: str | None = None,
    file_id: str | None = None,
    name: str | None = None,
    thought_signature: str | None = None,
) -> Media:
    """An image: its bytes and media type, or ``url=``, or a provider's ``file_id=``."""
    spelled = _spell_base64(data, base64)
    return _checked(Media("image", media_type, spelled, url, file_id, name, thought_signature))


def file(
    data: bytes | None = None,
    media_type: str | None = None,
    *,
    base64: str | None = None,
    url: str | None = None,
    file_id: str | None = None,
    name: str | None = None,
    thought_signature: str | None = None,
) -> Media:
    """A document: its bytes and media type and ``name=``, or ``url=``, or ``file_id=``."""
    spelled = _spell_base64(data, base64)
    return _checked(Media("file", media_type, spelled, url, file_id, name, thought_signature))


def audio(
    data: bytes | None = None,
    media_type: str | None = None,
    *,
    base64: str | None = None,
    url: str | None = None,
    file_id: str | None = None,
    name: str | None = None,
    thought_signature: str | None = None,
) -> Media:
    """Sound: its bytes and media type, or ``url=``, or a provider's ``file_id=``."""
    spelled = _spell_base64(data, base64)
    return _checked(Media("audio", media_type, spelled, url, file_id, name, thought_signature))


def _spell_base64(data: bytes | None, spelled: str | None) -> str | None:
    if data is None:
        return spelled
    if not data or spelled is not None:
        raise InvalidMessage("expected bytes with something in them, and no base64= beside them")
    return base64.b64encode(data).decode()


def _checked(media: Media) -> Media:
    given = [source for source in (media.base64, media.url, media.file_id) if source]
    if len(given) != 1:
        raise InvalidMessage(f"{media.kind}() takes exactly one of data, base64=, url=, file_id=")
    if media.base64 and not media.media_type:
        raise InvalidMessage(f"{media.kind}() needs a media_type with its bytes: 'image/png'")
    return media


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one call, in one meaning for all providers; ``raw`` is the provider's own.

    ``input_tokens`` is the whole prompt, cached or not. ``output_tokens`` includes reasoning.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    raw: bytes | None = None

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        """Sum two calls; the raw figures are those of neither."""
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


class Reading(msgspec.Struct, frozen=True):
    """How a dialect reads one of its messages.

    ``extra`` holds the fields that the dialect does not know, by their path in the message:
    ``confidence``, ``content[1].sources``.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    extra: Mapping[str, JSON] = msgspec.field(default_factory=dict)


class Reader(Protocol):
    """What a message needs of its dialect."""

    @property
    def name(self) -> str:
        """The dialect's name, as in `Message.dialect`."""
        ...

    def read(self, raw: bytes) -> Reading:
        """Read a compact native message."""
        ...


class Message(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One message in a provider's own words. Equal when dialect and bytes are equal.

    Made by a dialect (``dialect.message(raw)``), which checks and compacts the bytes.
    """

    reader: Reader
    raw: bytes

    @property
    def dialect(self) -> str:
        """The name of the dialect whose words these are."""
        return self.reader.name

    @cached_property
    def _reading(self) -> Reading:
        return self.reader.read(self.raw)

    @property
    def role(self) -> Role:
        """Who speaks. A message that carries only tool results has the role ``tool``."""
        return self._reading.role

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything in it, in order."""
        return self._reading.parts

    @property
    def extra(self) -> Mapping[str, JSON]:
        """Fields nobody knew, by their path, parsed."""
        return self._reading.extra

    @property
    def text(self) -> str:
        """What is said, without thoughts."""
        return "".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def refusal(self) -> str | None:
        """The words in which the model declined, if it did."""
        said = [part.text for part in self.parts if isinstance(part, Refusal)]
        return "".join(said) if said else None

    @property
    def thoughts(self) -> tuple[Thought, ...]:
        """The reasoning, in order."""
        return tuple([part for part in self.parts if isinstance(part, Thought)])

    @property
    def thought_text(self) -> str:
        """What the model thought, as far as it can be read."""
        return "".join([thought.text for thought in self.thoughts])

    @property
    def has_thoughts(self) -> bool:
        """Whether there is any reasoning, readable or not."""
        return bool(self.thoughts)

    @property
    def thought_signatures(self) -> tuple[str, ...]:
        """The signatures on any of its parts, in order."""
        signatures = [getattr(part, "thought_signature", None) for part in self.parts]
        return tuple([signature for signature in signatures if signature])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls the model made, in order. Also known as function calls."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results it carries, in order."""
        return tuple([part for part in self.parts if isinstance(part, ToolResult)])

    @property
    def tool_call_id(self) -> str | None:
        """The id of the call that it answers; of the first, if it answers several."""
        results = self.tool_results
        return results[0].call_id if results else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self.raw == other.raw and self.dialect == other.dialect

    def __hash__(self) -> int:
        return hash((self.dialect, self.raw))

    def __repr__(self) -> str:
        said = self.raw[: _REPR_MAX * 4].decode("utf-8", "replace")
        shown = said if len(said) <= _REPR_MAX else f"{said[: _REPR_MAX - 1]}…"
        return f"<Message {self.dialect} {len(self.raw)} bytes {shown}>"


_REPR_MAX = 200
