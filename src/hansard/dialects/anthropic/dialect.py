"""Anthropic Messages.

A native message is one element of ``messages``: a role and a content of blocks. What an answer
has beside these (its id, model, usage, stop reason, container) is refused in a message, so it
goes to the `Answer` and the message is spelled from the answer's role and content as they came.

All results of an answer go into one user message, before anything else in it. Blocks of tools
that the server runs stay in the assistant's message and want no answer. Neighbours of the same
role are merged by the API, so user messages may follow each other, and so may messages of the
assistant: the results of all their calls come after the last of them.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, ClassVar

from ... import rawjson
from ...errors import Invalid
from ...messages import Text
from ..call_ids import HASH_LENGTH, map_call_id
from ..dialect import SYSTEM_FRAME, Composition, Dialect, Fragment, Request, splice_body
from ..fields import present, text_at
from ..given import native_tool
from .answer import make_answer
from .reading import THOUGHTS, blocks, kind_of, read_message
from .saying import say_blocks, say_content, say_result
from .schema import say_schema
from .stream import MessageStream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...messages import Draft, Part, Reading, ToolCall, ToolResult
    from ...rawjson import JSON, JSONObject
    from ..dialect import Answer, Ask, Loss, ToolSpec

__all__ = ["MAX_TOKENS", "Anthropic"]

MAX_TOKENS = 16_384
"""The API demands ``max_tokens``. This is what it gets unless a parameter says otherwise."""


class Anthropic(Dialect):
    """The dialect of ``/v1/messages``.

    The newest models take a message of role ``system`` in mid-conversation, under rules of
    their own; for them, a subclass may set ``system_midway``.
    """

    name = "anthropic"
    system_midway: ClassVar[bool] = False
    user_first: ClassVar[bool] = True
    merges: ClassVar[bool] = True
    call_marks: ClassVar[tuple[bytes, ...]] = (b'"tool_use"', b'"tool_result"')
    cut_marks: ClassVar[tuple[bytes, ...]] = (
        *[
            key + value
            for key in (b'"text":', b'"content":')
            for value in (b'""', b'" ', b'"\\n', b'"\\r', b'"\\t')
        ],
        b'"content":[]',
        b'thinking"',
        b'"type":"message"',
        b"\\u00",
    )

    # -- reading ------------------------------------------------------------------------------

    def read(self, raw: bytes) -> Reading:
        return read_message(raw)

    # -- saying -------------------------------------------------------------------------------

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        role = "user" if draft.role == "tool" else draft.role
        parts: Sequence[Part] = draft.parts
        if role == "system" and not self.system_midway:
            role, parts = "user", _framed(draft)
        losses: list[Loss] = []
        said = say_blocks(self, role, parts, losses, foreign=foreign)
        messages = (_message(role, say_content(parts, said)),) if said else ()
        return Composition(messages, tuple(losses))

    def result(self, call: ToolCall, result: ToolResult) -> bytes:
        losses: list[Loss] = []
        said = say_result(call.id, result, losses)
        self._refuse(losses, "in a tool result")
        return said

    def frame(self, fragments: Sequence[bytes], then: Sequence[bytes] = ()) -> tuple[bytes, ...]:
        after = list(then)
        said = list(fragments)
        while said and after and _is_plain_user(after[0]):
            said += _blocks_of(after.pop(0))
        return (_message("user", rawjson.join_array(said)), *after) if said else tuple(after)

    # -- asking -------------------------------------------------------------------------------

    def request(self, ask: Ask) -> Request:
        """Make a request.

        Parameters win over what stands here under the same name: objects merge with theirs
        (``output_config``, ``tool_choice``) unless theirs has another ``type``, everything else
        is replaced. The parameter ``betas`` lists names and becomes the header
        ``anthropic-beta``, as in the official clients.

        Raises `Unsayable` for leading system text with anything but text in it, and for an
        ``output`` that takes objects of any names, values of any kind, or itself inside itself.
        """
        ours: JSONObject = {"model": ask.model, "max_tokens": MAX_TOKENS}
        if ask.tool_choice is not None:
            ours["tool_choice"] = _say_choice(ask.tool_choice)
        if ask.output is not None:
            ours["output_config"] = {
                "format": {"type": "json_schema", "schema": say_schema(ask.output)}
            }
        if ask.stream:
            ours["stream"] = True
        parameters = dict(ask.parameters)
        betas = parameters.pop("betas", None)
        if "messages" in parameters:
            raise Invalid("expected messages in Ask.messages, found them among the parameters")
        merged = {key: rawjson.dump(value) for key, value in _merge(ours, parameters).items()}
        fields = self._fixed(ask) | merged
        ordered = {key: fields[key] for key in _ORDER if key in fields} | fields
        head = rawjson.join_object(ordered)
        headers = _HEADERS if betas is None else (*_HEADERS, _say_betas(betas))
        body = splice_body(head[:-1] + b',"messages":[', ask.messages, b"]}")
        return Request("/v1/messages", body, headers)

    def _fixed(self, ask: Ask) -> dict[str, bytes]:
        """Say what is spliced rather than merged: the leading system text, and the tools."""
        fields: dict[str, bytes] = {}
        parts = [part for draft in ask.system for part in draft.parts if part != Text("")]
        losses: list[Loss] = []
        said = say_blocks(self, "system", parts, losses)
        self._refuse(losses, "as leading system text")
        if said:
            fields["system"] = say_content(parts, said)
        if ask.tools:
            fields["tools"] = rawjson.join_array([_say_tool(tool) for tool in ask.tools])
        return fields

    # -- answers ------------------------------------------------------------------------------

    def parse(self, body: bytes) -> Answer:
        tight = rawjson.compact(body)
        fields = present(rawjson.fields(tight)) if tight.startswith(b"{") else {}
        content = fields.get("content", b"")
        return make_answer(fields, content if content.startswith((b"[", b'"')) else None)

    def stream(self) -> MessageStream:
        return MessageStream()

    # -- rules that repair and compaction use ----------------------------------------------------

    def split_results(self, raw: bytes) -> tuple[tuple[Fragment, ...], bytes | None]:
        found = _blocks_of(raw)
        results = [block for block in found if kind_of(block) == "tool_result"]
        if not results:
            return (), raw
        fragments = tuple([Fragment(_answers(block), "", block) for block in results])
        rest = [block for block in found if kind_of(block) != "tool_result"]
        if not rest:
            return fragments, None
        return fragments, rawjson.replace(raw, {"content": rawjson.join_array(rest)})

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        """Whether what the user says next begins with one result for each call.

        The API merges user messages that follow each other, so the results may be spread over
        several, as long as nothing else comes in between.
        """
        spoken = takewhile(lambda raw: _role(raw) == "user", after)
        said = [block for raw in spoken for block in _blocks_of(raw)]
        leading = list(takewhile(lambda block: kind_of(block) == "tool_result", said))
        late = [block for block in said[len(leading) :] if kind_of(block) == "tool_result"]
        answered = sorted([_answers(block) for block in leading])
        return not late and answered == sorted([call.id for call in calls])

    def project(self, raw: bytes) -> bytes | None:
        """Cut what the API returns but refuses to take, and nothing else.

        This is cut, always the same way:

        - of a whole answer that was stored as a message, the members that are no message's:
          ``type``, ``id``, ``model``, ``stop_reason``, ``stop_sequence``, ``stop_details``,
          ``usage``, ``container``, ``context_management``, ``diagnostics``;
        - blocks of empty text;
        - reasoning that nothing follows in an assistant's message;
        - blocks of nothing but white space, unless there is reasoning in the message, whose
          signatures may notice what stands between;
        - a message with nothing left.

        No call and no result is ever cut, so what was paired stays paired.
        """
        fields = rawjson.fields(raw)
        content = fields.get("content", b"")
        changes: dict[str, bytes | None] = {}
        if text_at(fields, "type") == "message":
            changes = dict.fromkeys(_NOT_OF_A_MESSAGE & fields.keys())
        if content.startswith((b"[", b'"')):
            found = blocks(content)
            kept = _sendable(found, assistant=text_at(fields, "role") == "assistant")
            if not kept:
                return None
            if kept != found:
                changes["content"] = rawjson.join_array(kept)
        return rawjson.replace(raw, changes) if changes else raw

    def call_id(self, foreign_id: str, seed: str) -> str:
        """Keep an id of at most 64 letters, digits, ``_`` and ``-``; change any other.

        What is changed gets a hash of what it was, so that no two become the same.
        """
        if _CALL_ID.fullmatch(foreign_id):
            return foreign_id
        return map_call_id(foreign_id, seed, _NOT_OF_AN_ID, _CALL_ID_MAX - HASH_LENGTH - 1)


_VERSION = ("anthropic-version", "2023-06-01")
_HEADERS = (("content-type", "application/json"), _VERSION)
_ORDER = ("model", "max_tokens", "system", "tools", "tool_choice", "output_config", "stream")
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}

_CALL_ID_MAX = 64
_CALL_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{_CALL_ID_MAX}}}")
_NOT_OF_AN_ID = re.compile(r"[^A-Za-z0-9_-]")

_NOT_OF_A_MESSAGE = frozenset(
    {
        "id",
        "type",
        "model",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "usage",
        "container",
        "context_management",
        "diagnostics",
    }
)


def _message(role: str, content: bytes) -> bytes:
    return b'{"role":' + rawjson.quote(role) + b',"content":' + content + b"}"


def _role(raw: bytes) -> str:
    return text_at(rawjson.fields(raw), "role")


def _is_plain_user(raw: bytes) -> bool:
    fields = rawjson.fields(raw)
    return text_at(fields, "role") == "user" and fields.keys() == {"role", "content"}


def _blocks_of(raw: bytes) -> list[bytes]:
    return blocks(rawjson.fields(raw).get("content", b""))


def _answers(block: bytes) -> str:
    return text_at(rawjson.fields(block), "tool_use_id")


def _framed(draft: Draft) -> list[Part]:
    """Put the words of a system message into the frame; whatever else it holds comes after."""
    texts = [part for part in draft.parts if isinstance(part, Text)]
    others: list[Part] = [part for part in draft.parts if not isinstance(part, Text)]
    if not texts:
        return others
    signature = next((text.thought_signature for text in texts if text.thought_signature), None)
    return [Text(SYSTEM_FRAME.format(text=draft.text), signature), *others]


def _sendable(found: list[bytes], *, assistant: bool) -> list[bytes]:
    """Give the blocks that `Anthropic.project` leaves."""
    kinds = [kind_of(block) for block in found]
    kept = [pair for pair in zip(kinds, found, strict=True) if not _says_nothing(*pair, "")]
    while assistant and kept and kept[-1][0] in THOUGHTS:
        kept.pop()
    if not any(kind in THOUGHTS for kind, _ in kept):
        kept = [pair for pair in kept if not _says_nothing(*pair, _SPACE)]
    return [block for _, block in kept]


_SPACE = " \t\r\n"


def _says_nothing(kind: str, block: bytes, space: str) -> bool:
    spelled = rawjson.fields(block).get("text", b"") if kind == "text" else b""
    return spelled.startswith(b'"') and not rawjson.unquote(spelled).strip(space)


def _say_tool(tool: ToolSpec) -> bytes:
    if (native := native_tool(tool)) is not None:
        return native
    said: JSONObject = {"name": tool.name}
    if tool.description:
        said["description"] = tool.description
    said["input_schema"] = tool.parameters
    if tool.strict is not None:
        said["strict"] = tool.strict
    return rawjson.dump(said)


def _say_choice(choice: str) -> JSONObject:
    kind = _CHOICES.get(choice)
    return {"type": kind} if kind else {"type": "tool", "name": choice}


def _say_betas(betas: JSON) -> tuple[str, str]:
    names = betas if isinstance(betas, list | tuple) else [betas]
    return "anthropic-beta", ",".join([str(name) for name in names])


def _merge(ours: Mapping[str, JSON], theirs: Mapping[str, JSON]) -> JSONObject:
    merged = dict(ours)
    for key, given in theirs.items():
        known = merged.get(key)
        if isinstance(known, dict) and isinstance(given, dict) and _alike(known, given):
            merged[key] = _merge(known, given)
        else:
            merged[key] = given
    return merged


def _alike(known: JSONObject, given: JSONObject) -> bool:
    return given.get("type", known.get("type")) == known.get("type")
