"""OpenAI Chat Completions, and all that speaks it: llama.cpp, vLLM, DeepSeek, OpenRouter.

A native message is one element of ``messages``. Every call is answered by a message of its own.
What compatible servers add (``reasoning_content``, ``reasoning_details``, ``extra_content``)
goes back untouched, because the bytes do.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from ... import rawjson
from ...errors import Invalid, Unsayable
from ...messages import Native, Text, ToolResult
from ..call_ids import HASH_LENGTH, map_call_id
from ..dialect import Composition, Dialect, Fragment, Request, name_of, splice_body
from ..fields import object_at, text_at
from ..given import native_part
from ..openai_answers import say_schema
from .answer import make_answer
from .reading import OLD_CALL, ROLES, read_message
from .saying import Saying, say_choice, say_text, say_tool
from .stream import ChatStream

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...messages import Draft, Media, Part, Reading, ToolCall
    from ...rawjson import JSON
    from ..dialect import Answer, Ask

__all__ = ["OpenAIChat"]


_BARE = tuple(
    [b'{"role":"%b"}' % role for role in (b"user", b"assistant", b"system", b"developer")]
)
"""Messages that are nothing but a role."""


class OpenAIChat(Dialect):
    """The dialect of ``/chat/completions``."""

    name = "openai"
    call_marks: ClassVar[tuple[bytes, ...]] = (b'"tool', b'"function')
    cut_marks: ClassVar[tuple[bytes, ...]] = (
        b'"audio":{',
        b'"role":"tool"',
        *[bare[1:] for bare in _BARE],
    )

    # -- reading ------------------------------------------------------------------------------

    def read(self, raw: bytes) -> Reading:
        return read_message(raw)

    # -- saying -------------------------------------------------------------------------------

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        """Say a draft. Results come first, each a message of its own; nothing left, no message.

        In an answer thoughts become ``reasoning_content``, or ``reasoning_details`` where one is
        signed; the signature of a text or a call goes where Gemini's compatible servers have it.
        """
        saying = Saying(self.call_id if foreign else None)
        messages: list[bytes | None] = []
        others: list[Part] = []
        for part in draft.parts:
            if isinstance(part, ToolResult):
                messages.append(self.result(*saying.result(part)))
            else:
                others.append(part)
        if draft.role == "assistant":
            messages.append(saying.answer(others))
        else:
            role = "user" if draft.role == "tool" else draft.role
            messages.append(saying.message(role, others))
        said = [raw for raw in messages if raw is not None]
        return Composition(tuple(said), tuple(saying.losses))

    def result(self, call: ToolCall, result: ToolResult) -> bytes:
        parts = [_result_part(part) for part in result.content]
        odd = [part for part, raw in zip(result.content, parts, strict=True) if raw is None]
        if odd:
            raise Unsayable(
                f"{self.name} takes text as a tool result, found {name_of(odd[0])}; "
                "send it in a user message beside the results",
                dialect=self.name,
            )
        if call.id == OLD_CALL:
            said = (rawjson.quote(call.name), rawjson.quote(result.text))
            return b'{"role":"function","name":%b,"content":%b}' % said
        said = (rawjson.quote(call.id), _result_content(result, parts))
        return b'{"role":"tool","tool_call_id":%b,"content":%b}' % said

    def frame(self, fragments: Sequence[bytes], then: Sequence[bytes] = ()) -> tuple[bytes, ...]:
        return (*fragments, *then) if then else tuple(fragments)

    # -- asking -------------------------------------------------------------------------------

    def request(self, ask: Ask) -> Request:
        """Make a request. Parameters win whole, but ``stream_options`` are merged.

        Raises `Unsayable` for system text with anything but text in it, and `Invalid` for
        parameters that are not for the caller to set: ``messages``, and ``n`` other than 1.
        """
        if "messages" in ask.parameters:
            raise Invalid(
                "expected parameters without 'messages', which come last in a request; "
                "give them as messages"
            )
        if ask.parameters.get("n") not in (None, 1):
            raise Invalid(
                f"expected n=1, found n={ask.parameters['n']}: a conversation goes on from one "
                "answer; ask again for another"
            )
        system = [message.raw for draft in ask.system for message in self.say(draft)]
        fields: dict[str, bytes] = {"model": rawjson.quote(ask.model)}
        if ask.tools:
            fields["tools"] = rawjson.join_array([say_tool(tool) for tool in ask.tools])
        if ask.tool_choice is not None:
            fields["tool_choice"] = say_choice(ask.tool_choice, ask.tools)
        if ask.output is not None:
            schema = say_schema(ask, ask.output)
            fields["response_format"] = rawjson.dump({"type": "json_schema", "json_schema": schema})
        if ask.stream:
            fields["stream"] = b"true"
            fields["stream_options"] = b""
        fields.update({key: rawjson.dump(given) for key, given in ask.parameters.items()})
        if ask.stream:
            fields["stream_options"] = _stream_options(ask.parameters)
        head = rawjson.join_object(fields)[:-1] + b',"messages":['
        return Request("/chat/completions", splice_body(head, [*system, *ask.messages], b"]}"))

    # -- answers ------------------------------------------------------------------------------

    def parse(self, body: bytes) -> Answer:
        tight = rawjson.compact(body)
        fields = rawjson.fields(tight) if tight.startswith(b"{") else _first_object(tight)
        choice = _first_object(fields.get("choices", b""))
        message = choice.get("message", b"")
        return make_answer(fields, choice, message if message.startswith(b"{") else None)

    def stream(self) -> ChatStream:
        return ChatStream()

    # -- rules that repair and compaction use ----------------------------------------------------

    def split_results(self, raw: bytes) -> tuple[tuple[Fragment, ...], bytes | None]:
        fields = rawjson.fields(raw)
        role = text_at(fields, "role")
        if ROLES.get(role) != "tool":
            return (), raw
        call_id = OLD_CALL if role == "function" else text_at(fields, "tool_call_id")
        return (Fragment(call_id, text_at(fields, "name"), raw),), None

    def project(self, raw: bytes) -> bytes | None:
        """Change what OpenAI does not take back.

        Only this, and always the same:

        - of ``audio`` all is cut but its id;
        - a result without ``content``, or a message that is nothing but a role, gets an empty
          content: that is how a state of version 1 stores what is empty.
        """
        if b'"audio":{' not in raw and b'"content"' in raw:
            return raw
        if raw in _BARE:
            return raw[:-1] + _NO_CONTENT
        fields = rawjson.fields(raw)
        role, sound = text_at(fields, "role"), object_at(fields, "audio")
        if role == "assistant" and "id" in sound and len(sound) > 1:
            return rawjson.replace(raw, {"audio": rawjson.join_object({"id": sound["id"]})})
        return raw[:-1] + _NO_CONTENT if role == "tool" and "content" not in fields else raw

    def call_id(self, foreign_id: str, seed: str) -> str:
        """Keep an id of up to 40 letters, digits, ``_`` and ``-``; another gets a hash suffix."""
        if _CALL_ID.fullmatch(foreign_id) and foreign_id != OLD_CALL:
            return foreign_id
        return map_call_id(foreign_id, seed, _NOT_CALL_ID, _CALL_ID_MAX - HASH_LENGTH - 1)


_NO_CONTENT = b',"content":""}'

_CALL_ID_MAX = 40
_CALL_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{_CALL_ID_MAX}}}")
_NOT_CALL_ID = re.compile(r"[^A-Za-z0-9_-]")


def _result_part(part: Text | Media | Native) -> bytes | None:
    if isinstance(part, Text):
        return say_text(part)
    return native_part(part.raw) if isinstance(part, Native) else None


def _result_content(result: ToolResult, parts: Sequence[bytes | None]) -> bytes:
    """A lone text is said as a string, nothing as an empty one, anything else as an array."""
    if len(result.content) == 1 and isinstance(result.content[0], Text):
        return rawjson.quote(result.content[0].text)
    said = [raw for raw in parts if raw is not None]
    return rawjson.join_array(said) if said else b'""'


def _stream_options(parameters: Mapping[str, JSON]) -> bytes:
    given = parameters.get("stream_options", {})
    return rawjson.dump({"include_usage": True} | given if isinstance(given, dict) else given)


def _first_object(raw: bytes) -> dict[str, bytes]:
    """The first element of an array, as its members, if it is an object."""
    elements = rawjson.elements(raw) if raw.startswith(b"[") else []
    return rawjson.fields(elements[0]) if elements and elements[0].startswith(b"{") else {}
