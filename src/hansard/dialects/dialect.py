"""What a dialect is: everything Hansard needs to know of one wire format, as pure functions.

A dialect turns drafts into native messages, native messages into a `Reading`, a list of native
messages into a request, and the bytes of an answer into an `Answer`. It never keeps anything:
one instance serves all conversations.

Whoever adds a provider subclasses `Dialect` and registers the instance; the suite in
`hansard.testing` says whether it keeps the promises below.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import msgspec

from .. import rawjson
from ..errors import DecodeError, Unsayable
from ..messages import Draft, Media, Message, Native, Text, ToolResult
from .failures import read_failure
from .fields import Around
from .given import check_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..errors import ProviderError
    from ..messages import Finish, Part, Reading, Role, ToolCall, Usage
    from ..rawjson import JSON, JSONObject
    from .stream import StreamReader

__all__ = [
    "SYSTEM_FRAME",
    "Answer",
    "Ask",
    "Beside",
    "Composition",
    "Dialect",
    "Fragment",
    "Loss",
    "Problem",
    "Request",
    "ToolSpec",
    "has_any",
    "name_of",
    "role_problems",
    "splice_body",
]


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model is told of it. ``parameters`` is a JSON schema.

    ``native`` replaces all that: the provider's own declaration, such as a server tool, as JSON.
    """

    name: str
    description: str = ""
    parameters: JSONObject = msgspec.field(
        default_factory=lambda: {"type": "object", "properties": {}}
    )
    strict: bool | None = None
    native: bytes | None = None


class Ask(msgspec.Struct, frozen=True):
    """What a request is to say, in no provider's words but for the messages.

    ``messages`` are native and compact, in order, each as `Dialect.splice` gave it (several may
    be joined by commas in one element). ``system`` is the leading system text. ``tool_choice``
    is ``"auto"``, ``"none"``, ``"required"`` or the name of a tool. ``output`` is a JSON schema
    that the answer is to follow. ``parameters`` go into the body as they are, and win over
    what the dialect would have put under the same name.
    """

    model: str
    messages: Sequence[bytes | memoryview] = ()
    system: Sequence[Draft] = ()
    tools: Sequence[ToolSpec] = ()
    tool_choice: str | None = None
    output: JSONObject | None = None
    output_name: str = "answer"
    stream: bool = False
    parameters: Mapping[str, JSON] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `Invalid` for parameters that are no JSON."""
        for name, value in self.parameters.items():
            check_json(f"the request parameter {name}", value)


class Request(msgspec.Struct, frozen=True):
    """What goes over the wire: a path below the base URL, headers without keys, the body."""

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)


class Problem(msgspec.Struct, frozen=True):
    """Something wrong with an answer: a stable code, and a sentence for people.

    The codes are these, and those that dialects of others add:

    - ``cut``: the stream ended before the provider said it was done;
    - ``incomplete``: the provider says that the answer is not whole, and not why;
    - ``malformed_event``: an event, or an item of a body, was not what it should be;
    - ``provider_error``: the provider reports an error;
    - ``no_answer``: there is no message;
    - ``empty``: there is a message, and nothing is said in it;
    - ``blocked``: nothing is said, because a filter or the model refused;
    - ``bad_arguments``: a call that cannot be made: cut, or with arguments that are no JSON;
    - ``wrong_role``: the message is not the assistant's.
    """

    code: str
    detail: str = ""


class Answer(msgspec.Struct, frozen=True):
    """A model's answer, complete or as far as it came.

    ``raw`` is the native message, None when there is none. An answer is valid when it has no
    problems. ``cut`` says that the stream ended before the provider said it was done; that is
    also a problem.

    `envelope` is what the provider said around the message, as it was spelled, in one JSON
    object of the same shape: ids, ratings, container, stop details, continuation token, service
    tier… The message is not in it, nor the usage, nor what is null or repeats the request. Of a
    stream it is what its events said of the whole answer; what came later wins.
    """

    raw: bytes | None
    finish: Finish | None = None
    finish_raw: str | None = None
    usage: Usage | None = None
    problems: tuple[Problem, ...] = ()
    cut: bool = False
    model: str | None = None
    response_id: str | None = None
    around: Around | None = None

    @property
    def envelope(self) -> bytes | None:
        """What the provider said around the message."""
        return None if self.around is None else self.around.spell()

    @property
    def valid(self) -> bool:
        """Whether the answer may become part of the context."""
        return not self.problems


class Loss(msgspec.Struct, frozen=True):
    """What a dialect could not say: the index of the message, which part of it, the reason.

    ``part`` is what `name_of` calls it, or the path of a field that no part covers.
    """

    message: int
    part: str
    reason: str


class Composition(msgspec.Struct, frozen=True):
    """A draft in native words, and what of it could not be said."""

    messages: tuple[bytes, ...]
    losses: tuple[Loss, ...] = ()


class Fragment(msgspec.Struct, frozen=True):
    """One result inside a native message: the call it answers, and its own bytes."""

    call_id: str
    name: str
    raw: bytes


class Dialect(ABC):
    """One wire format. All methods are pure."""

    name: str
    """How states and entries name it. Never to be changed once it was used."""

    itemized: ClassVar[bool] = False
    """Whether a message is a JSON array of items, which a request takes without the brackets."""

    system_midway: ClassVar[bool] = True
    """Whether a system message may stand in mid-conversation."""

    user_first: ClassVar[bool] = False
    """Whether a conversation has to begin with what the user says."""

    merges: ClassVar[bool] = False
    """Whether messages of one role that follow each other count as one, as items always do."""

    call_marks: ClassVar[tuple[bytes, ...]] = (b"",)
    """Bytes of which at least one is in every message that has calls or results.

    These marks and the next are of messages in which no letter of them is spelled as an escape.
    """

    cut_marks: ClassVar[tuple[bytes, ...]] = (b"",)
    """Bytes of which at least one is in every message that `project` changes."""

    overflow_marks: ClassVar[tuple[str, ...]] = ()
    """Words of which one is in an error that says a request is too long, beside those that are
    known of all providers (`failures.OVERFLOW_MARKS`)."""

    # -- reading --

    @abstractmethod
    def read(self, raw: bytes) -> Reading:
        """Read a compact native message. Absent concepts read as empty.

        Never raises for an unknown field, role or part; raises `DecodeError` for what no
        message of this dialect can be.
        """

    def message(self, raw: bytes) -> Message:
        """Take in a native message from outside: checked, compacted, otherwise as it is.

        Raises `DecodeError` where it is no message of this dialect.
        """
        depth_max = rawjson.DEPTH_MAX - (self.itemized and not raw.lstrip().startswith(b"["))
        message = Message(self, self.normalize(rawjson.compact(raw, depth_max=depth_max)))
        _ = message.role
        return message

    def normalize(self, raw: bytes) -> bytes:
        """Check the outermost shape of a compact message (and wrap a lone item in an array)."""
        if not raw.startswith(b"{"):
            raise DecodeError(
                f"expected a {self.name} message, which is a JSON object",
                reason="corrupt_message",
                dialect=self.name,
            )
        return raw

    # -- saying -------------------------------------------------------------------------------

    @abstractmethod
    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        """Say a draft in native words, and list what could not be said.

        ``foreign`` drafts come from another dialect: signatures and thoughts are dropped and
        listed, and call ids are brought into this dialect's alphabet.
        """

    def say(self, draft: Draft) -> tuple[Message, ...]:
        """Say a draft, or raise `Unsayable` where anything of it would be lost."""
        composition = self.compose(draft)
        article = "an" if draft.role == "assistant" else "a"
        self._refuse(composition.losses, f"in {article} {draft.role} message")
        return tuple([Message(self, raw) for raw in composition.messages])

    def _refuse(self, losses: Sequence[Loss], where: str) -> None:
        """Raise `Unsayable` where anything was lost."""
        if losses:
            raise Unsayable(
                f"{self.name} cannot say {losses[0].part} {where} without loss: "
                f"{losses[0].reason}; leave it out, or say it otherwise",
                dialect=self.name,
                losses=losses,
            )

    @abstractmethod
    def result(self, call: ToolCall, result: ToolResult) -> bytes:
        """Say the result of one call as a fragment: native bytes, made once and then kept.

        Raises `Unsayable` for content that a result cannot have in this dialect.
        """

    @abstractmethod
    def frame(self, fragments: Sequence[bytes], then: Sequence[bytes] = ()) -> tuple[bytes, ...]:
        """Put the fragments of all results of one answer, in call order, into messages.

        ``then`` are native messages that came while the calls were pending. What the user says
        in them goes into the same message as the results, where the wire allows, else after it.
        """

    def interrupted(self, call: ToolCall) -> bytes:
        """Make the fragment for a call that nobody will answer any more. Always the same."""
        return self.result(
            call,
            ToolResult(
                call.id, call.name, (Text(_INTERRUPTED),), is_error=True, position=call.position
            ),
        )

    def opening(self) -> bytes:
        """Make what stands before the assistant's first words, where `user_first`, always alike."""
        return self.compose(Draft("user", (Text(_OPENING),))).messages[0]

    # -- asking -------------------------------------------------------------------------------

    @abstractmethod
    def request(self, ask: Ask) -> Request:
        """Make a request, splicing the messages in as they are."""

    def splice(self, raw: bytes) -> bytes:
        """Give a message as it stands in a request, between commas."""
        return raw[1:-1] if self.itemized else raw

    def unsplice(self, items: Sequence[bytes]) -> bytes:
        """Undo `splice`, given the elements that the message had there."""
        return rawjson.join_array(items) if self.itemized else items[0]

    # -- answers ------------------------------------------------------------------------------

    @abstractmethod
    def parse(self, body: bytes) -> Answer:
        """Read a complete answer. Raises `DecodeError` only for what is not JSON."""

    @abstractmethod
    def stream(self) -> StreamReader:
        """Make a reader for one streamed answer."""

    def failure(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> ProviderError:
        """Say which error an answer is that is none. Takes any bytes, and never raises."""
        return read_failure(self.name, self.overflow_marks, status, body, headers)

    # -- rules that repair and compaction use ----------------------------------------------------

    def may_have_calls(self, raw: bytes) -> bool:
        """Whether it is worth looking for calls and results in a message. Errs on that side."""
        # A lone byte is found much sooner than four, and most messages have none.
        return has_any(self.call_marks, raw) or (b"\\" in raw and b"\\u00" in raw)

    @abstractmethod
    def split_results(self, raw: bytes) -> tuple[tuple[Fragment, ...], bytes | None]:
        """Take the results out of a message: them, and the message without them (None if bare)."""

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        """Whether the messages right after an answer hold one result for each of its calls.

        The default is for dialects with a message of its own for each result.
        """
        found = [
            fragment.call_id
            for raw in after[: len(calls)]
            for fragment in self.split_results(raw)[0]
        ]
        return sorted(found) == sorted([call.id for call in calls])

    def project(self, raw: bytes) -> bytes | None:
        """Cut what the provider returns but refuses to take: idempotent, None to leave it out."""
        return raw

    def call_id(self, foreign_id: str, seed: str) -> str:
        """Bring a foreign call id into this dialect's alphabet; the same in, the same out.

        An id that is legal here already stays as it is, so mapping twice is mapping once, and
        different ids stay different. ``seed`` makes one where there is none.
        """
        return foreign_id or f"call_{seed}"


Beside: TypeAlias = Literal["is_error", "message", "name", "thought_signature"]
"""What can be lost beside whole parts: a field of a part, or all of a message but its text."""


def name_of(part: Part | Beside) -> str:
    """Name what is lost, as every `Loss` does: a part by its kind, where its type has several."""
    if isinstance(part, str):
        return part
    return part.kind if isinstance(part, Media | Native) else type(part).__name__.lower()


def role_problems(role: Role) -> Iterable[Problem]:
    """Judge the role of an answer: it has to be the assistant's."""
    if role != "assistant":
        yield Problem("wrong_role", f"the answer should be the assistant's, but its role is {role}")


def has_any(marks: tuple[bytes, ...], raw: bytes) -> bool:
    """Whether one of these is in there. Where all begin alike, that is one look for all of them."""
    return _finder(marks)(raw) is not None


@lru_cache(maxsize=64)
def _finder(marks: tuple[bytes, ...]) -> Callable[[bytes], re.Match[bytes] | None]:
    return re.compile(b"|".join([re.escape(mark) for mark in marks])).search


def splice_body(head: bytes, messages: Sequence[bytes | memoryview], tail: bytes) -> bytes:
    """Put messages between what comes before and after them, moving their bytes only once."""
    pieces: list[bytes | memoryview] = [head]
    for message in messages:
        pieces += (message, b",")
    if len(pieces) > 1:
        pieces.pop()
    pieces.append(tail)
    return b"".join(pieces)


SYSTEM_FRAME = "<system>\n{text}\n</system>"
"""How a system message in mid-conversation is said as user text where the wire has no other."""

_INTERRUPTED = "This call was interrupted: there is no result, and it is not known whether it ran."
_OPENING = SYSTEM_FRAME.format(text="The conversation begins with these words of the assistant.")
