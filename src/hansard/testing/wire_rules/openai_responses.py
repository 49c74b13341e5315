"""What Responses refuses of a caller who keeps the conversation."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from .every_service import demand_http, demand_model
from .pairing import Round, every_call_answered, goes_back, nothing_else
from .rule import Rulebook, cut, put, right_request
from .schemas import closed, requires_all, strictly_at, takes
from .shape import (
    FILLED,
    FILLED_TEXT,
    OBJECT,
    SAID,
    TEXT,
    TOOL_NAME,
    at_most,
    each,
    exclusive,
    find,
    found,
    known_fields,
    members,
    named_in,
    objects,
    one_of,
    text,
    unique,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...rawjson import JSON, JSONObject
    from .rule import Change, WireRequest

__all__ = ["RESPONSES"]

_THOUGHT: JSONObject = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "c2ln",
}
_CALL: JSONObject = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "a",
    "name": "get_weather",
    "arguments": '{"city":"Tokyo"}',
}
_RESULT: JSONObject = {"type": "function_call_output", "call_id": "a", "output": "12 °C"}
_WEATHER: JSONObject = {"type": "function", "name": "get_weather", "parameters": {"type": "object"}}

RESPONSES = Rulebook(
    "openai-responses",
    right_request(
        "/v1/responses",
        {"authorization": "Bearer key"},
        {
            "model": "test-1",
            "instructions": "You are terse.",
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "tools": [_WEATHER],
            "tool_choice": "auto",
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "The weather?"}]},
                _THOUGHT,
                _CALL,
                _RESULT,
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "It is cold."}],
                },
                {"role": "user", "content": "And now?"},
            ],
        },
    ),
)
"""The rules of ``/responses``."""

demand_http(RESPONSES, "/v1/responses", ["authorization", "api-key"])

# -- the request ------------------------------------------------------------------------------

demand_model(RESPONSES)
RESPONSES.rule(
    "There is input, as text or as items.",
    each("input", FILLED),
    put("input", []),
    put("input", "The weather?"),
)
RESPONSES.rule(
    "No field is of another format.",
    known_fields(
        "model input background context_management conversation include instructions "
        "max_output_tokens max_tool_calls metadata moderation parallel_tool_calls "
        "previous_response_id prompt prompt_cache_key prompt_cache_options "
        "prompt_cache_retention reasoning safety_identifier service_tier store stream "
        "stream_options temperature text tool_choice tools top_logprobs top_p truncation "
        "user"
    ),
    put("messages", []),
    put("user", "someone"),
    strict=True,
)
RESPONSES.rule(
    "A conversation that the service does not store is not gone on with by its id.",
    lambda request: (
        f"{name} cannot be used where store is false"
        for name in ("previous_response_id", "conversation")
        if request.json.get("store") is False and request.json.get(name)
    ),
    put("previous_response_id", "resp_1"),
    put("previous_response_id", "resp_1") + put("store", value=True),
)
RESPONSES.rule(
    "An answer and a conversation are not both gone on with.",
    exclusive("previous_response_id", "conversation"),
    put("store", value=True)
    + put("previous_response_id", "resp_1")
    + put("conversation", "conv_1"),
    put("store", value=True) + put("conversation", "conv_1"),
)
RESPONSES.rule(
    "A function has its name beside its type.",
    each("tools.*type=function|custom.name", TOOL_NAME),
    put("tools.0", {"type": "function", "function": {"name": "get_weather"}}),
)
RESPONSES.rule("A tool has a type.", each("tools.*.type", FILLED_TEXT), cut("tools.0.type"))
RESPONSES.rule(
    "The parameters of a function are an object.",
    each("tools.*type=function.parameters?.type?", one_of("object")),
    put("tools.0.parameters", {"type": "string"}),
    put("tools.0.parameters", None),
)
RESPONSES.rule(
    "A tool that is chosen is declared.",
    named_in("tool_choice.name?", "tools.*.name"),
    put("tool_choice", {"type": "function", "name": "book_hotel"}),
    put("tool_choice", {"type": "function", "name": "get_weather"}),
)
_SCHEMA: JSONObject = {"type": "json_schema", "schema": {"type": "object"}}
RESPONSES.rule(
    "A schema for the answer stands beside its name.",
    lambda request: (
        "text.format.name: expected the name of the schema"
        for format_ in found(request.json, "text.format")
        if members(format_).get("type") == "json_schema"
        and not TOOL_NAME.fits(members(format_).get("name"))
    ),
    put("text", {"format": _SCHEMA}),
    put("text", {"format": {"name": "city", **_SCHEMA}}),
)

_STRICT = strictly_at("text.format")


def _strictly(*optional: str, **kind: JSON) -> Change:
    """An answer with a field of a kind, by a strict schema."""
    schema: JSONObject = {
        "type": "object",
        "properties": {"n": kind},
        "required": [name for name in ("n",) if name not in optional],
        "additionalProperties": False,
    }
    made: JSONObject = {"type": "json_schema", "name": "city", "schema": schema, "strict": True}
    return put("text", {"format": made})


RESPONSES.rule(
    "A strict schema closes every object, and all in it is of a type.",
    closed(_STRICT),
    _strictly(type="object", additionalProperties={"type": "integer"}),
    _strictly(type="array", items={"type": "integer"}),
)
RESPONSES.rule(
    "A strict schema requires all that it names.",
    requires_all(_STRICT),
    _strictly("n", type="integer"),
    _strictly(type="integer"),
)
RESPONSES.rule(
    "A strict schema has nothing that cannot be followed.",
    takes(
        _STRICT,
        *("minLength", "maxLength", "uniqueItems", "oneOf", "allOf", "prefixItems"),
        *("patternProperties", "propertyNames", "minProperties", "not", "if"),
    ),
    _strictly(type="string", maxLength=9),
    _strictly(type="integer", minimum=1),
)

# -- items ------------------------------------------------------------------------------------

_TYPES = re.compile(
    r"|message|reasoning|compaction|compaction_trigger|item_reference|program|program_output"
    r"|additional_tools|\w+_call|\w+_call_output|\w+_output|mcp_\w+"
)


def _unheard_of(request: WireRequest) -> Iterator[str]:
    given = [kind for answer in request.earlier for kind in found(answer, "output.*.type")]
    for where, item in find(request.json, "input.*"):
        kind = members(item).get("type", "")
        if not _TYPES.fullmatch(text(kind)) and kind not in given:
            yield f"{where}.type: expected the type of an item, found {kind!r}"


RESPONSES.rule("Items are objects.", each("input.*", OBJECT), put("input.5", "And now?"))
RESPONSES.rule(
    "An item is of a known type, or of one that the service gave.",
    _unheard_of,
    put("input.4", {"type": "tool_use", "id": "t_1"}),
    put("input.4", {"type": "web_search_call", "id": "ws_1"}),
)
RESPONSES.rule(
    "A message is the user's, the assistant's, or an instruction.",
    each("input.*type=|message.role", one_of("user", "assistant", "system", "developer")),
    put("input.5.role", "tool"),
    put("input.5.role", "developer"),
)
RESPONSES.rule(
    "A message has content.",
    each("input.*type=|message.content", SAID),
    put("input.5.content", None),
)
_PARTS = ("input_(text|image|file|audio)", "output_text|refusal")
_SAID = "input.*type=|message.content.*"
RESPONSES.rule(
    "What goes in is an input part, what came out an output part or a refusal.",
    lambda request: (
        f"{where}.content: {kind!r} is no part of a message of the role {role}"
        for where, message in find(request.json, "input.*type=|message")
        for role in [members(message).get("role")]
        for kind in found(message, "content.*.type")
        if not re.fullmatch(_PARTS[role == "assistant"], text(kind))
    ),
    put("input.0.content.0.type", "text"),
)
RESPONSES.rule(
    "A part of text has its text.",
    each(f"{_SAID}type=input_text|output_text.text", TEXT),
    cut("input.0.content.0.text"),
    put("input.0.content.0.text", ""),
)
_IDS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
RESPONSES.rule(
    "The id of an item begins as its type wants.",
    lambda request: (
        f"{where}.id: expected an id that begins with '{start}', found {id_!r}"
        for kind, start in _IDS.items()
        for where, item in find(request.json, f"input.*type={kind}")
        for id_ in found(item, "id?")
        if id_ is not None and not text(id_).startswith(start)
    ),
    put("input.2.id", "a"),
    cut("input.2.id"),
)
RESPONSES.rule(
    "No item stands there twice.",
    unique("input.*.id?"),
    put("input.2.id", "fc_1") + put("input.4.id", "fc_1") + put("input.4.type", "web_search_call"),
    put("input.4.id", "ws_1") + put("input.4.type", "web_search_call"),
)

# -- calls and results ------------------------------------------------------------------------

RESPONSES.rule(
    "A call has a name.",
    each("input.*type=function_call|custom_tool_call.name", FILLED_TEXT),
    cut("input.2.name"),
)
RESPONSES.rule(
    "The arguments of a call are text.",
    each("input.*type=function_call.arguments", TEXT),
    put("input.2.arguments", {"city": "Tokyo"}),
    put("input.2.arguments", '{"city": "To'),
)
RESPONSES.rule(
    "A call and its result have a call_id.",
    each("input.*type=function_call|function_call_output.call_id", FILLED_TEXT),
    put("input.4", {**_CALL, "id": "fc_2", "call_id": None}),
    put("input.4", {"type": "web_search_call", "id": "ws_2"}),
)
_LONG = "c" * 65
RESPONSES.rule(
    "A call_id has at most 64 characters.",
    each("input.*.call_id?", at_most(len(_LONG) - 1)),
    put("input.2.call_id", _LONG) + put("input.3.call_id", _LONG),
    put("input.2.call_id", _LONG[1:]) + put("input.3.call_id", _LONG[1:]),
)
RESPONSES.rule(
    "A result has an output, as text, which may be empty, or as parts.",
    each("input.*type=function_call_output.output", SAID),
    put("input.3.output", {"celsius": 12}),
    put("input.3.output", ""),
)


def _rounds(request: WireRequest) -> Iterator[Round]:
    """Give each result that no open call stands before, and at last the calls still open."""
    opened: dict[str, list[str]] = {kind: [] for kind in _CALLED}
    for where, item in find(request.json, "input.*"):
        kind = text(members(item).get("type"))
        call_id = text(members(item).get("call_id"))
        if kind in opened and call_id:
            opened[kind].append(call_id)
        waiting = opened.get(kind.removesuffix("_output"), [])
        if kind.endswith("_output") and call_id in waiting:
            waiting.remove(call_id)
        elif kind.removesuffix("_output") in opened and kind not in opened and call_id:
            yield Round(where, [], [call_id])
    yield Round("input", [call_id for calls in opened.values() for call_id in calls], [])


_CALLED = ("function_call", "custom_tool_call", "computer_call", "apply_patch_call")
RESPONSES.rule("Every call is answered.", every_call_answered(_rounds), cut("input.3"))
RESPONSES.rule(
    "A result follows its call, and is the only one.",
    nothing_else(_rounds),
    put("input.5", _RESULT),
)

# -- reasoning --------------------------------------------------------------------------------


def _belongs_to_nothing(request: WireRequest) -> Iterator[str]:
    items = objects(request.json.get("input"))
    for item, after in pairwise([*items, {}]):
        if item.get("type") == "reasoning" and not _is_answer(after):
            yield (
                f"Item {item.get('id')!r} of type 'reasoning' was provided without its required "
                "following item"
            )


def _is_answer(item: JSONObject) -> bool:
    kind = text(item.get("type", "message"))
    return item.get("role") == "assistant" if kind == "message" else not kind.endswith("_output")


RESPONSES.rule(
    "A reasoning item is followed by the item that it belongs to.",
    _belongs_to_nothing,
    cut("input.2") + cut("input.2") + cut("input.2"),
    cut("input.2") + cut("input.2"),
)
RESPONSES.rule(
    "Reasoning that is not stored goes back with its encrypted content.",
    lambda request: (
        f"{where}: items are not persisted when store is false: expected encrypted_content"
        for where, item in find(request.json, "input.*type=reasoning")
        if request.json.get("store") is False and not members(item).get("encrypted_content")
    ),
    cut("input.1.encrypted_content"),
    cut("input.1.encrypted_content") + put("store", value=True),
    status=404,
)
RESPONSES.rule(
    "Items that are not stored are not referred to.",
    lambda request: (
        f"{where}: items are not persisted when store is false"
        for where, _ in find(request.json, "input.*type=item_reference")
        if request.json.get("store") is False
    ),
    put("input.4", {"type": "item_reference", "id": "msg_1"}),
    put("input.4", {"type": "item_reference", "id": "msg_1"}) + put("store", value=True),
    status=404,
)


def _without_reasoning(request: WireRequest) -> Iterator[str]:
    came = {
        text(item.get("id")): before["id"]
        for answer in request.earlier
        for before, item in pairwise(objects(answer.get("output")))
        if before.get("type") == "reasoning" and item.get("id")
    }
    for before, item in pairwise([{}, *objects(request.json.get("input"))]):
        wanted = came.get(text(item.get("id")))
        if wanted is not None and before.get("id") != wanted:
            yield (
                f"Item {item['id']!r} was provided without its required 'reasoning' item: "
                f"{wanted!r}"
            )


_EARLIER = put("earlier", {"output": [_THOUGHT, _CALL]})
RESPONSES.rule(
    "An item goes back right after the reasoning that it came with.",
    _without_reasoning,
    _EARLIER + cut("input.1"),
    _EARLIER,
)
RESPONSES.rule(
    "Encrypted reasoning is not changed.",
    goes_back(
        "input.*type=reasoning",
        "output.*type=reasoning",
        lambda item: (members(item).get("id"), members(item).get("encrypted_content")),
    ),
    _EARLIER + put("input.1.encrypted_content", "b2Rk"),
    _EARLIER,
)
