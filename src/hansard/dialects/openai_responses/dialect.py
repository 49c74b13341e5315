"""OpenAI Responses, and everything that speaks it: llama.cpp, vLLM, xAI, OpenRouter.

A native message is an array of items, and an answer is one message: its output items, in order,
nothing dropped. So reasoning stays with the item that it belongs to, and what only this provider
says (searches, programs, compaction…) goes back as it came.

The server keeps nothing: ``store`` is false, and reasoning comes back encrypted. A parameter
replaces either (``None`` is sent as null); ``OpenAIResponses(stateless=False)`` sends neither, for
servers that refuse them. With ``previous_response_id`` or ``conversation`` the server adds what it
kept to what is sent here, which is everything: use them only for what Hansard has no record of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from ... import rawjson
from ...errors import DecodeError, Invalid, Unsayable
from ...messages import Text, ToolResult
from ..call_ids import HASH_LENGTH, map_call_id
from ..dialect import Composition, Dialect, Fragment, Problem, Request, name_of, splice_body
from ..fields import present, text_at
from ..openai_answers import say_schema
from .answer import make_answer
from .reading import RESULTS, is_content, item_kind, read_items
from .saying import Saying, say_choice, say_content, say_tool
from .stream import ResponsesStream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...messages import Draft, Media, Native, Reading, ToolCall
    from ...rawjson import JSONObject
    from ..dialect import Answer, Ask

__all__ = ["OpenAIResponses"]


class OpenAIResponses(Dialect):
    """The dialect of ``/responses``."""

    name = "openai-responses"
    itemized: ClassVar[bool] = True
    merges: ClassVar[bool] = True
    call_marks: ClassVar[tuple[bytes, ...]] = (
        b'"type":"function_call',
        b'"type":"custom_tool_call',
    )

    def __init__(self, *, stateless: bool = True) -> None:
        self._stateless = stateless

    # -- reading ------------------------------------------------------------------------------

    def normalize(self, raw: bytes) -> bytes:
        """Check that the message is an array of items, and wrap a lone item in one."""
        if raw.startswith(b"{"):
            return b"[" + raw + b"]"
        items = rawjson.elements(raw) if raw.startswith(b"[") else []
        if not items or not all(item.startswith(b"{") for item in items):
            raise DecodeError(
                f"expected a {self.name} message, which is an array of items, each a JSON object",
                reason="corrupt_message",
                dialect=self.name,
            )
        return raw

    def read(self, raw: bytes) -> Reading:
        return read_items(raw)

    # -- saying -------------------------------------------------------------------------------

    def compose(self, draft: Draft, *, foreign: bool = False) -> Composition:
        """Say a draft as one message; nothing left, no message.

        What users and systems say is the content of one item, up to a part that is an item of its
        own: a result, or a native one. In an answer every part is an item.
        """
        saying = Saying(self.call_id if foreign else None)
        role = "user" if draft.role == "tool" else draft.role
        items: list[bytes] = []
        content: list[bytes] = []
        for part in draft.parts:
            if isinstance(part, ToolResult):
                said: bytes | None = self.result(*saying.result(part))
            else:
                said = saying.answer(part) if role == "assistant" else saying.word(part)
            if said is None:
                continue
            if is_content(text_at(rawjson.fields(said), "type")):
                content.append(said)
                continue
            if content:
                items.append(_message(role, content))
                content = []
            items.append(said)
        if content:
            items.append(_message(role, content))
        messages = (rawjson.join_array(items),) if items else ()
        return Composition(messages, tuple(saying.losses))

    def result(self, call: ToolCall, result: ToolResult) -> bytes:
        """Say a result as the output item of its call: a lone text as a string, else as parts."""
        if result.content in ((), (Text(result.text),)):
            output = rawjson.quote(result.text)
        else:
            output = rawjson.join_array([self._output(part) for part in result.content])
        kind = RESULTS["custom_tool_call" if call.custom else "function_call"]
        members = {"type": rawjson.quote(kind), "call_id": rawjson.quote(call.id)}
        return rawjson.join_object({**members, "output": output})

    def _output(self, part: Text | Media | Native) -> bytes:
        said, reason = say_content(part)
        if said is None:
            raise Unsayable(
                f"{self.name} takes text, images and files as a tool result, "
                f"found {name_of(part)}: {reason}; say it in text",
                dialect=self.name,
            )
        return said

    def frame(self, fragments: Sequence[bytes], then: Sequence[bytes] = ()) -> tuple[bytes, ...]:
        """Put the results into one message. What the user says goes after it, as items do."""
        return (rawjson.join_array(fragments), *then) if fragments else tuple(then)

    # -- asking -------------------------------------------------------------------------------

    def request(self, ask: Ask) -> Request:
        """Make a request; leading system text goes to ``instructions``.

        Parameters win whole, but ``text`` is merged, and its ``format`` too if theirs has no type.
        A tool whose strictness is not said is sent as not strict, since this API would else
        change its schema.

        Raises `Unsayable` for system text with anything but text in it.
        """
        if "input" in ask.parameters:
            raise Invalid(
                "expected parameters without 'input', which comes last in a request; "
                "give it as messages"
            )
        fields: dict[str, bytes] = {"model": rawjson.quote(ask.model)}
        if instructions := self._instructions(ask.system):
            fields["instructions"] = rawjson.quote(instructions)
        if ask.tools:
            fields["tools"] = rawjson.join_array([say_tool(tool) for tool in ask.tools])
        if ask.tool_choice is not None:
            fields["tool_choice"] = say_choice(ask.tool_choice, ask.tools)
        text = _output_format(ask)
        if text:
            fields["text"] = rawjson.dump(text)
        if ask.stream:
            fields["stream"] = b"true"
        if self._stateless:
            fields |= {"store": b"false", "include": b'["reasoning.encrypted_content"]'}
        fields |= {key: rawjson.dump(given) for key, given in ask.parameters.items()}
        if text and isinstance(given := ask.parameters.get("text"), dict):
            fields["text"] = rawjson.dump(_merge_text(text, given))
        head = rawjson.join_object(fields)[:-1] + b',"input":['
        messages = [message for message in ask.messages if message]
        return Request("/responses", splice_body(head, messages, b"]}"))

    def _instructions(self, system: Sequence[Draft]) -> str:
        odd = [part for draft in system for part in draft.parts if not isinstance(part, Text)]
        if odd:
            raise Unsayable(
                f"{self.name} takes leading system messages as text, found {name_of(odd[0])}; "
                "say it in a user message",
                dialect=self.name,
            )
        return "\n\n".join([draft.text for draft in system if draft.text])

    # -- answers ------------------------------------------------------------------------------

    def parse(self, body: bytes) -> Answer:
        tight = rawjson.compact(body)
        response = present(rawjson.fields(tight)) if tight.startswith(b"{") else {}
        output = response.get("output", b"")
        items = rawjson.elements(output) if output.startswith(b"[") else []
        objects = [item for item in items if item.startswith(b"{")]
        problems = [] if objects == items else [Problem("malformed_event", _ODD_ITEM)]
        return make_answer(response, rawjson.join_array(objects) if objects else None, problems)

    def stream(self) -> ResponsesStream:
        return ResponsesStream()

    # -- rules that repair and compaction use ----------------------------------------------------

    def split_results(self, raw: bytes) -> tuple[tuple[Fragment, ...], bytes | None]:
        results: list[Fragment] = []
        others: list[bytes] = []
        for item in rawjson.elements(raw):
            fields = rawjson.fields(item)
            if item_kind(fields) in RESULTS.values():
                results.append(Fragment(text_at(fields, "call_id"), text_at(fields, "name"), item))
            else:
                others.append(item)
        if not results:
            return (), raw
        return tuple(results), rawjson.join_array(others) if others else None

    def paired(self, calls: Sequence[ToolCall], after: Sequence[bytes]) -> bool:
        """Whether each call has one output of its kind, before the model speaks again."""
        found: list[tuple[str, str]] = []
        for raw in after:
            if read_items(raw).role == "assistant":
                break
            results = self.split_results(raw)[0]
            found += [(item_kind(rawjson.fields(each.raw)), each.call_id) for each in results]
        kinds = ["custom_tool_call" if call.custom else "function_call" for call in calls]
        wanted = [(RESULTS[kind], call.id) for kind, call in zip(kinds, calls, strict=True)]
        return sorted(found) == sorted(wanted)

    def project(self, raw: bytes) -> bytes | None:
        """Cut what the API returns but refuses to take, and nothing else.

        This is cut, always the same way:

        - ``created_by``, in any item and in each chunk of a shell's output;
        - ``status`` in the output of a custom tool, and in reasoning where it is null;
        - reasoning that ends an answer, which is refused without the item it was to lead to. (A
          message of nothing but reasoning stays: it may be one item of several, taken in alone.)
        """
        if not any(mark in raw for mark in _CUT_MARKS):
            return raw
        items = rawjson.elements(raw)
        kept = [_project_item(item) for item in items]
        kinds = [item_kind(rawjson.fields(item)) for item in kept]
        if set(kinds) != {"reasoning"}:
            while kinds[-1] == "reasoning":
                kinds.pop()
        kept = kept[: len(kinds)]
        return raw if kept == items else rawjson.join_array(kept)

    def call_id(self, foreign_id: str, seed: str) -> str:
        """Keep an id of at most 64 letters, digits, ``_`` and ``-``; change any other.

        What is changed gets a hash of what it was, so that no two become the same.
        """
        if _CALL_ID.fullmatch(foreign_id):
            return foreign_id
        return map_call_id(foreign_id, seed, _NOT_OF_AN_ID, _CALL_ID_MAX - HASH_LENGTH - 1)


_CALL_ID_MAX = 64
_CALL_ID = re.compile(rf"[A-Za-z0-9_-]{{1,{_CALL_ID_MAX}}}")
_NOT_OF_AN_ID = re.compile(r"[^A-Za-z0-9_-]")

_ODD_ITEM = "an output item is not an object, and was left out"

_CUT_MARKS = (b'"created_by"', b'"reasoning"', b'"custom_tool_call_output"')


def _message(role: str, content: Sequence[bytes]) -> bytes:
    members = {"type": b'"message"', "role": rawjson.quote(role)}
    return rawjson.join_object({**members, "content": rawjson.join_array(content)})


def _project_item(item: bytes) -> bytes:
    fields = rawjson.fields(item)
    kind = item_kind(fields)
    changes: dict[str, bytes | None] = {"created_by": None}
    status_is_null = fields.get("status") == b"null"
    if kind == "custom_tool_call_output" or (kind == "reasoning" and status_is_null):
        changes["status"] = None
    output = fields.get("output", b"")
    if kind == "shell_call_output" and output.startswith(b"[") and b'"created_by"' in output:
        chunks = [
            rawjson.replace(chunk, {"created_by": None}) if chunk.startswith(b"{") else chunk
            for chunk in rawjson.elements(output)
        ]
        changes["output"] = rawjson.join_array(chunks)
    return rawjson.replace(item, changes) if changes.keys() & fields.keys() else item


def _output_format(ask: Ask) -> JSONObject:
    if ask.output is None:
        return {}
    return {"format": {"type": "json_schema", **say_schema(ask, ask.output)}}


def _merge_text(ours: JSONObject, given: JSONObject) -> JSONObject:
    ours_format, their_format = ours.get("format"), given.get("format")
    merged = {**ours, **given}
    if isinstance(ours_format, dict) and isinstance(their_format, dict):
        whole = "type" in their_format
        merged["format"] = their_format if whole else {**ours_format, **their_format}
    return merged
