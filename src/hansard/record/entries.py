"""Entries: what a conversation is made of.

A conversation is a sequence of entries, numbered from 0 without gaps. Entries are never edited
and never deleted; what changes one's mind is another entry. Each has a small typed header, and
for what a provider said the bytes as they were, in ``raw``.

Times come from the caller's clock, in microseconds since 1970 (UTC).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from .. import rawjson
from ..errors import DecodeError
from ..messages import Finish, Role, Usage

__all__ = [
    "INTERRUPTED",
    "Attempt",
    "Author",
    "CallKey",
    "Compaction",
    "Decision",
    "Entry",
    "Head",
    "Intent",
    "Mark",
    "Outcome",
    "PromptIdentity",
    "Rewind",
    "Said",
    "SliceEvent",
    "Time",
    "TurnBegin",
    "TurnEnd",
    "decode_entries",
    "encode_entries",
    "instant",
    "spell",
]

Author: TypeAlias = Literal["input", "append", "model", "tool"]
"""Who put a message on the record: the turn's prompt, an append, the model, a framed result."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Time: TypeAlias = Annotated[
    int,
    msgspec.Meta(
        ge=(datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1),
        le=(datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1),
    ),
]
"""Microseconds since 1970, as far as there are dates for them."""


def instant(at_us: Time) -> datetime:
    """Give an entry's time as an aware datetime."""
    return _EPOCH + timedelta(microseconds=at_us)


class Head(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What every entry has. ``turn`` counts from 1; 0 is before the first turn."""

    seq: int
    turn: int = 0
    at_us: Time = 0


class CallKey(msgspec.Struct, frozen=True):
    """Which call: the entry of its answer, its position there, and the id the provider gave."""

    answer: int
    position: int
    id: str


class PromptIdentity(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which prompt a turn was begun with; ``digest`` covers template and tool schemas."""

    namespace: str = ""
    key: str = ""
    digest: str = ""


class TurnBegin(Head, frozen=True, tag="turn.begin"):
    """A turn starts. ``preamble`` names its system text, tools and parameters by content hash."""

    turn_id: str
    prompt: PromptIdentity | None = None
    input_digest: str = ""
    preamble: str | None = None


INTERRUPTED: Final = "interrupted"


class Said(Head, frozen=True, tag="message"):
    """A message in the provider's own words. The fields below ``pin`` are of answers only.

    Among the ``problems``, `INTERRUPTED` says that the answer stopped on this side: whoever read
    it left, or the connection was lost. The model is not at fault, then.
    """

    role: Role
    author: Author
    raw: msgspec.Raw
    pin: bool = False
    finish: Finish | None = None
    usage: Usage | None = None
    problems: tuple[str, ...] = ()
    cut: bool = False


class Attempt(Head, frozen=True, tag="attempt"):
    """A call of the model that gave no message, and why.

    ``answered``: the model did answer, only not with a message. That counts as a failure of its
    own; that nobody answered does not, since it says nothing about the next time.
    """

    error: str
    detail: str = ""
    answered: bool = False
    usage: Usage | None = None


class Intent(Head, frozen=True, tag="intent"):
    """A call that must not run twice is about to start."""

    call: CallKey


class Outcome(Head, frozen=True, tag="outcome"):
    """A call has ended. ``raw`` is its result as a fragment of the dialect, made once.

    ``unknown`` has no result: the call started, and nobody can say what became of it.
    """

    call: CallKey
    status: Literal["ok", "error", "unknown"]
    raw: msgspec.Raw = msgspec.Raw(b"null")


class Decision(Head, frozen=True, tag="decision"):
    """A person or a program decided about a call."""

    call: CallKey
    verdict: Literal["approved", "denied", "settled", "not_run"]
    by: str = ""
    reason: str = ""


class TurnEnd(Head, frozen=True, tag="turn.end"):
    """A turn is over."""

    status: Literal["done", "failed", "abandoned"]
    error: str = ""


class Compaction(Head, frozen=True, tag="compaction"):
    """The entries ``first`` to ``last`` stand in the context as these messages from here on.

    Pinned messages among them stay, as they are, after these.
    """

    first: int
    last: int
    messages: tuple[msgspec.Raw, ...]
    strategy: str
    tokens_before: int | None = None
    tokens_after: int | None = None


class Mark(Head, frozen=True, tag="mark"):
    """A point with a name, to rewind to."""

    name: str


class Rewind(Head, frozen=True, tag="rewind"):
    """The conversation goes on from where it stood before entry ``to``."""

    to: int


class SliceEvent(Head, frozen=True, tag="slice"):
    """An event on typed application state.

    One that ``seeds`` has a list of items, which stand in the place of all that was there before.
    """

    slice_type: str
    item_type: str
    item: msgspec.Raw
    seeds: bool = False


Entry: TypeAlias = (
    TurnBegin
    | Said
    | Attempt
    | Intent
    | Outcome
    | Decision
    | TurnEnd
    | Compaction
    | Mark
    | Rewind
    | SliceEvent
)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Entry]).decode

_DEPTH_MAX = rawjson.DEPTH_MAX + 3
"""Entries stand in an array, and the messages of a compaction in one more."""


def spell(structs: object) -> bytes:
    """Spell structs as JSON, their raw parts spliced in. Lone surrogates in text are escaped."""
    try:
        return _encode(structs)
    except UnicodeEncodeError:
        return rawjson.dump(msgspec.to_builtins(structs, builtin_types=(msgspec.Raw,)))


def encode_entries(entries: list[Entry]) -> bytes:
    """Spell entries as a JSON array, their raw parts spliced in."""
    return spell(entries)


def decode_entries(raw: bytes) -> list[Entry]:
    """Read entries back, the raw parts being slices of what was given.

    Raises `DecodeError` with the reason ``corrupt_entry``, or for what is not JSON with that of
    `rawjson.compact`.
    """
    if not raw.isascii():
        rawjson.check_utf8(raw)  # It would pass in raw parts.
    try:
        return _decode(raw)
    except msgspec.ValidationError as error:
        raise DecodeError(f"expected entries: {error}", reason="corrupt_entry") from None
    except (msgspec.DecodeError, RecursionError):
        return _decode_odd(rawjson.compact(raw, depth_max=_DEPTH_MAX))


def _decode_odd(raw: bytes) -> list[Entry]:
    """Decode entries with lone surrogates in them, which msgspec refuses."""
    try:
        members = [
            {key: _member(key, part) for key, part in rawjson.fields(element).items()}
            for element in rawjson.elements(raw)
        ]
        return msgspec.convert(members, list[Entry])
    except (msgspec.ValidationError, UnicodeEncodeError, DecodeError) as error:
        raise DecodeError(f"expected entries: {error}", reason="corrupt_entry") from None


def _member(key: str, raw: bytes) -> object:
    if key in ("raw", "item"):
        return msgspec.Raw(raw)
    if key == "messages" and raw.startswith(b"["):
        return [msgspec.Raw(element) for element in rawjson.elements(raw)]
    return rawjson.value(raw)
