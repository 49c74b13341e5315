"""What Chat Completions refuses, with the extras of the servers that are compatible with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .every_service import demand_http, demand_model
from .pairing import Round, answered_once, every_call_answered, goes_back, nothing_else
from .rule import Rulebook, cut, put, right_request
from .schemas import closed, requires_all, strictly_at, takes
from .shape import (
    ABSENT,
    FILLED_ARRAY,
    FILLED_TEXT,
    SAID,
    TEXT,
    TOOL_NAME,
    Expect,
    at_most,
    each,
    find,
    found,
    known_fields,
    members,
    named_in,
    needs,
    one_of,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...rawjson import JSON, JSONObject
    from .rule import Change, WireRequest

__all__ = ["CHAT"]


def _call(call_id: str) -> JSONObject:
    function: JSONObject = {"name": "get_weather", "arguments": '{"city":"Tokyo"}'}
    return {"id": call_id, "type": "function", "function": function}


_WEATHER: JSONObject = {"name": "get_weather", "parameters": {"type": "object"}}
_CALLS: JSONObject = {"role": "assistant", "content": None, "tool_calls": [_call("a"), _call("b")]}

CHAT = Rulebook(
    "openai",
    right_request(
        "/v1/chat/completions",
        {"authorization": "Bearer key"},
        {
            "model": "test-1",
            "tools": [{"type": "function", "function": _WEATHER}],
            "tool_choice": "auto",
            "messages": [
                {"role": "system", "content": "You are terse."},
                {"role": "user", "content": [{"type": "text", "text": "The weather twice?"}]},
                _CALLS,
                {"role": "tool", "tool_call_id": "a", "content": "12 °C"},
                {"role": "tool", "tool_call_id": "b", "content": "8 °C"},
                {"role": "assistant", "content": "It is cold."},
                {"role": "user", "content": "And now?"},
            ],
        },
    ),
)
"""The rules of ``/chat/completions``."""

demand_http(CHAT, "/v1/chat/completions", ["authorization", "api-key"])

# -- the request ------------------------------------------------------------------------------

demand_model(CHAT)
CHAT.rule("There are messages.", each("messages", FILLED_ARRAY), put("messages", []))
CHAT.rule(
    "No field is of another format.",
    known_fields(
        "model messages audio frequency_penalty function_call functions logit_bias logprobs "
        "max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls "
        "prediction presence_penalty prompt_cache_key prompt_cache_options "
        "prompt_cache_retention reasoning_effort response_format safety_identifier seed "
        "service_tier stop store stream stream_options temperature tool_choice tools "
        "top_logprobs top_p user verbosity web_search_options"
    ),
    put("system", "You are terse."),
    put("user", "someone"),
    strict=True,
)
CHAT.rule(
    "A list of tools is not empty.",
    each("tools?", FILLED_ARRAY),
    put("tools", []) + cut("tool_choice"),
    cut("tools") + cut("tool_choice"),
)
CHAT.rule(
    "A tool is a function or custom.",
    each("tools.*.type", one_of("function", "custom")),
    cut("tools.0.type"),
)
CHAT.rule(
    "A function has a name of letters, digits, _ and -.",
    each("tools.*type=function.function.name", TOOL_NAME),
    put("tools.0.function.name", "get weather"),
    put("tools.0.function.name", "get-weather"),
)
CHAT.rule(
    "The parameters of a function are an object.",
    each("tools.*.function.parameters?.type?", one_of("object")),
    put("tools.0.function.parameters", {"type": "string"}),
    cut("tools.0.function.parameters"),
)
CHAT.rule(
    "Whether calls may be parallel is only said where there are tools.",
    needs("parallel_tool_calls?", "tools?"),
    cut("tools") + cut("tool_choice") + put("parallel_tool_calls", value=False),
    put("parallel_tool_calls", value=False),
)
CHAT.rule(
    "A tool that is chosen is declared.",
    named_in("tool_choice.function.name", "tools.*.function.name"),
    put("tool_choice", {"type": "function", "function": {"name": "book_hotel"}}),
    put("tool_choice", {"type": "function", "function": {"name": "get_weather"}}),
)
CHAT.rule(
    "Options of a stream are only given where a stream is asked for.",
    needs("stream_options?", "stream?"),
    put("stream_options", {"include_usage": True}),
    put("stream_options", {"include_usage": True}) + put("stream", value=True),
)
_SCHEMA: JSONObject = {"schema": {"type": "object"}}
CHAT.rule(
    "A schema for the answer stands beside its name.",
    each("response_format.json_schema.name", TOOL_NAME),
    put("response_format", {"type": "json_schema", "json_schema": _SCHEMA}),
    put("response_format", {"type": "json_schema", "json_schema": {"name": "city", **_SCHEMA}}),
)

_STRICT = strictly_at("response_format.json_schema")


def _strictly(*optional: str, **kind: JSON) -> Change:
    """An answer with a field of a kind, by a strict schema."""
    schema: JSONObject = {
        "type": "object",
        "properties": {"n": kind},
        "required": [name for name in ("n",) if name not in optional],
        "additionalProperties": False,
    }
    made: JSONObject = {"name": "city", "schema": schema, "strict": True}
    return put("response_format", {"type": "json_schema", "json_schema": made})


CHAT.rule(
    "A strict schema closes every object, and all in it is of a type.",
    closed(_STRICT),
    _strictly(type="object", additionalProperties={"type": "integer"}),
    _strictly(type="array", items={"type": "integer"}),
)
CHAT.rule(
    "A strict schema requires all that it names.",
    requires_all(_STRICT),
    _strictly("n", type="integer"),
    _strictly(type="integer"),
)
CHAT.rule(
    "A strict schema has nothing that cannot be followed.",
    takes(
        _STRICT,
        *("minLength", "maxLength", "uniqueItems", "oneOf", "allOf", "prefixItems"),
        *("patternProperties", "propertyNames", "minProperties", "not", "if"),
    ),
    _strictly(type="string", maxLength=9),
    _strictly(type="integer", minimum=1),
)

# -- each message -----------------------------------------------------------------------------

CHAT.rule(
    "A role is developer, system, user, assistant, tool or function.",
    each("messages.*.role", one_of("developer", "system", "user", "assistant", "tool", "function")),
    put("messages.5.role", "model"),
    put("messages.5.role", "developer"),
)
CHAT.rule(
    "Whoever is not the assistant says text, which may be empty, or parts.",
    each("messages.*role=developer|system|user|tool.content", SAID),
    put("messages.3.content", None),
    put("messages.3.content", ""),
)


def _says_nothing(request: WireRequest) -> Iterator[str]:
    for where, message in find(request.json, "messages.*role=assistant"):
        said = ("tool_calls", "function_call", "refusal", "audio")
        content = members(message).get("content")
        if content in (None, []) and not any(members(message).get(key) for key in said):
            yield f"{where}.content: expected a string or an array of parts, found null"


CHAT.rule(
    "An assistant without content has calls, a refusal or audio.",
    _says_nothing,
    put("messages.5.content", None),
    put("messages.5.content", None) + put("messages.5.refusal", "No."),
)
CHAT.rule(
    "A user says text, images, audio and files.",
    each("messages.*role=user.content.*.type", one_of("text", "image_url", "input_audio", "file")),
    put("messages.1.content.0", {"type": "input_text", "text": "Hello"}),
    put("messages.1.content.0", {"type": "image_url", "image_url": {"url": "data:,"}}),
)
CHAT.rule(
    "An assistant says text and refusals.",
    each("messages.*role=assistant.content.*.type", one_of("text", "refusal")),
    put("messages.5.content", [{"type": "output_text", "text": "It is cold."}]),
    put("messages.5.content", [{"type": "text", "text": "It is cold."}]),
)
CHAT.rule(
    "Instructions and results are text.",
    each("messages.*role=developer|system|tool.content.*.type", one_of("text")),
    put("messages.3.content", [{"type": "image_url", "image_url": {"url": "data:,"}}]),
    put("messages.3.content", [{"type": "text", "text": "12 °C"}]),
)
CHAT.rule(
    "A part of text has its text.",
    each("messages.*.content.*type=text.text", TEXT),
    cut("messages.1.content.0.text"),
    put("messages.1.content.0.text", ""),
)


def _whole_audio(request: WireRequest) -> Iterator[str]:
    for where, audio in find(request.json, "messages.*role=assistant.audio?"):
        if audio is not None and members(audio).keys() != {"id"}:
            yield f"{where}: expected its id and nothing else"


CHAT.rule(
    "Of the audio of an answer only its id goes back.",
    _whole_audio,
    put("messages.5.audio", {"id": "audio_1", "data": "AA=="}),
    put("messages.5.audio", {"id": "audio_1"}),
)

# -- calls and results ------------------------------------------------------------------------

_EACH_CALL = "messages.*role=assistant.tool_calls.*"

CHAT.rule(
    "A list of calls is not empty.",
    each("messages.*.tool_calls?", Expect("calls, or null", lambda given: given != [])),
    put("messages.5.tool_calls", []),
    put("messages.5.tool_calls", None),
)
CHAT.rule(
    "A call is of a function or custom.",
    each(f"{_EACH_CALL}.type", one_of("function", "custom")),
    cut("messages.2.tool_calls.0.type"),
)
CHAT.rule(
    "A call has a name.",
    each(f"{_EACH_CALL}.function.name", FILLED_TEXT),
    put("messages.2.tool_calls.0.function.name", ""),
)
CHAT.rule(
    "The arguments of a call are text.",
    each(f"{_EACH_CALL}.function.arguments", TEXT),
    put("messages.2.tool_calls.0.function.arguments", {"city": "Tokyo"}),
    put("messages.2.tool_calls.0.function.arguments", '{"city": "To'),
)
CHAT.rule(
    "A call has an id.",
    each(f"{_EACH_CALL}.id", FILLED_TEXT),
    put("messages.2.tool_calls", [_call("a"), _call("b"), _call("")]),
)
_LONG = "c" * 41
CHAT.rule(
    "The id of a call has at most 40 characters.",
    each(f"{_EACH_CALL}.id", at_most(len(_LONG) - 1)),
    put("messages.2.tool_calls.0.id", _LONG) + put("messages.3.tool_call_id", _LONG),
    put("messages.2.tool_calls.0.id", _LONG[1:]) + put("messages.3.tool_call_id", _LONG[1:]),
)
CHAT.rule(
    "A result names its call.",
    each("messages.*role=tool.tool_call_id", FILLED_TEXT),
    put("messages.4", {"role": "tool", "content": "8 °C"})
    + put("messages.2.tool_calls", [_call("a")]),
    put("messages.4", {"role": "user", "content": "8 °C"})
    + put("messages.2.tool_calls", [_call("a")]),
)


def _rounds(request: WireRequest) -> Iterator[Round]:
    where, called, answered = "", list[str](), list[str]()
    for place, message in find(request.json, "messages.*"):
        result = members(message)
        if result.get("role") == "tool":
            answered += filter(None, [text(result.get("tool_call_id"))])
            continue
        yield Round(where, called, answered)
        where, answered = place, []
        called = [text(id_) for id_ in found(message, "tool_calls.*.id") if id_]
    yield Round(where, called, answered)


CHAT.rule(
    "Every call is answered, before anything else is said.",
    every_call_answered(_rounds),
    cut("messages.4"),
    put("messages.3.tool_call_id", "b") + put("messages.4.tool_call_id", "a"),
)
CHAT.rule(
    "A result follows the message with its call.",
    nothing_else(_rounds),
    put("messages.5", {"role": "tool", "tool_call_id": "c", "content": "9 °C"}),
    put("messages.5", {"role": "tool", "tool_call_id": "c", "content": "9 °C"})
    + put("messages.2.tool_calls", [_call("a"), _call("b"), _call("c")]),
)
CHAT.rule(
    "A call is answered once.",
    answered_once(_rounds),
    put("messages.5", {"role": "tool", "tool_call_id": "a", "content": "12 °C"}),
)

# -- what compatible servers want back --------------------------------------------------------


def _reasoned(message: JSON) -> tuple[JSON, JSON]:
    return found(message, "tool_calls.*.id"), members(message).get("reasoning_content")


def _signed(message: JSON) -> tuple[JSON, JSON]:
    extra = found(message, "tool_calls.*.extra_content")
    return found(message, "tool_calls.*.id"), [members(message).get("reasoning_details"), extra]


_SENT, _GIVEN = "messages.*role=assistant", "choices.*.message"
_THOUGHT: JSON = {"choices": [{"message": {**_CALLS, "reasoning_content": ""}}]}
CHAT.rule(
    "Calls go back with the reasoning_content that they came with, also if it is empty.",
    goes_back(_SENT, _GIVEN, _reasoned),
    put("earlier", _THOUGHT),
    put("earlier", _THOUGHT) + put("messages.2.reasoning_content", ""),
)
_DETAILS: JSON = [{"type": "reasoning.encrypted", "data": "c2ln"}]
_DETAILED: JSON = {"choices": [{"message": {**_CALLS, "reasoning_details": _DETAILS}}]}
CHAT.rule(
    "Calls go back with the signatures in their reasoning_details and extra_content.",
    goes_back(_SENT, _GIVEN, _signed),
    put("earlier", _DETAILED),
    put("earlier", _DETAILED) + put("messages.2.reasoning_details", _DETAILS),
)
CHAT.rule(
    "What a stream is made of does not go back.",
    each("messages.*.tool_calls.*.index?", ABSENT),
    put("messages.2.tool_calls.0.index", 0),
    strict=True,
)
