"""What Anthropic Messages refuses."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from .every_service import demand_http, demand_model
from .pairing import Round, answered_once, every_call_answered, goes_back, nothing_else
from .rule import Rulebook, cut, put, right_request
from .schemas import at, closed, takes, without_itself
from .shape import (
    ABSENT,
    FILLED_ARRAY,
    FILLED_TEXT,
    OBJECT,
    TEXT,
    Expect,
    at_most_times,
    each,
    find,
    found,
    known_fields,
    matching,
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

__all__ = ["MESSAGES"]


def _call(call_id: str) -> JSONObject:
    return {"type": "tool_use", "id": call_id, "name": "get_weather", "input": {"city": "Tokyo"}}


def _result(call_id: str) -> JSONObject:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "12 °C"}


def _text(said: str) -> JSONObject:
    return {"type": "text", "text": said}


_THINKING: JSONObject = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
_CACHED: JSONObject = {"type": "ephemeral"}

MESSAGES = Rulebook(
    "anthropic",
    right_request(
        "/v1/messages",
        {"x-api-key": "key", "anthropic-version": "2023-06-01"},
        {
            "model": "test-1",
            "max_tokens": 1000,
            "system": [_text("You are terse.")],
            "tools": [{"name": "get_weather", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "auto"},
            "messages": [
                {"role": "user", "content": "The weather twice?"},
                {"role": "assistant", "content": [_THINKING, _call("a"), _call("b")]},
                {"role": "user", "content": [_result("a"), _result("b"), _text("Quick.")]},
                {"role": "assistant", "content": [_text("It is cold.")]},
                {"role": "user", "content": [_text("And now?")]},
            ],
        },
    ),
)
"""The rules of ``/v1/messages``."""

demand_http(MESSAGES, "/v1/messages", ["x-api-key", "authorization"])

# -- the request ------------------------------------------------------------------------------

MESSAGES.rule(
    "The version of the interface is named in a header.",
    lambda request: (
        "anthropic-version: expected 2023-06-01"
        for _ in range(request.headers.get("anthropic-version") != "2023-06-01")
    ),
    cut("headers.anthropic-version"),
)
demand_model(MESSAGES)
MESSAGES.rule(
    "How many tokens there may be is said.",
    each(
        "max_tokens",
        Expect("a number of 1 or more", lambda given: type(given) is int and given > 0),
    ),
    cut("max_tokens"),
    put("max_tokens", 1),
)
MESSAGES.rule("There are messages.", each("messages", FILLED_ARRAY), put("messages", []))
MESSAGES.rule(
    "No field is of another format.",
    known_fields(
        "model max_tokens messages cache_control container context_management "
        "inference_geo mcp_servers metadata output_config output_format service_tier "
        "speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p "
        "fallbacks user_profile_id"
    ),
    put("frequency_penalty", 1),
    put("top_k", 1),
    strict=True,
)
MESSAGES.rule(
    "A tool has a name of letters, digits, _ and -.",
    each("tools.*.name", matching("[A-Za-z0-9_-]{1,128}")),
    put("tools.0.name", "get weather"),
    put("tools.0.name", "get-weather"),
)
MESSAGES.rule(
    "A tool of the caller's has a schema of an object.",
    each(
        "tools.*type=|custom.input_schema",
        Expect("a schema of the type object", lambda given: members(given).get("type") == "object"),
    ),
    put("tools.0", {"name": "get_weather", "parameters": {"type": "object"}}),
    put("tools.0", {"name": "web_search", "type": "web_search_20250305"}),
)
_TOOL: JSONObject = {"name": "get_weather", "input_schema": {"type": "object"}}
MESSAGES.rule(
    "No name of a tool stands there twice.",
    unique("tools.*.name"),
    put("tools", [_TOOL, _TOOL]),
    put("tools", [_TOOL, _TOOL | {"name": "get_time"}]),
)
MESSAGES.rule(
    "A tool choice is an object, of the type auto, any, tool or none.",
    each(
        "tool_choice?",
        Expect(
            "an object of the type auto, any, tool or none",
            lambda given: members(given).get("type") in ("auto", "any", "tool", "none"),
        ),
    ),
    put("tool_choice", "auto"),
    put("tool_choice", {"type": "any"}),
)
MESSAGES.rule(
    "A tool that is chosen is declared.",
    named_in("tool_choice.name?", "tools.*.name"),
    put("tool_choice", {"type": "tool", "name": "book_hotel"}),
    put("tool_choice", {"type": "tool", "name": "get_weather"}),
)

_IN_IT = at("output_config.format.schema")
_CITY: JSONObject = {"type": "object", "properties": {}, "additionalProperties": False}


def _follow(schema: JSONObject) -> Change:
    return put("output_config", {"format": {"type": "json_schema", "schema": schema}})


def _answer(**kind: JSON) -> Change:
    """An answer with a field of a kind."""
    return _follow({**_CITY, "properties": {"n": kind}, "required": ["n"]})


MESSAGES.rule(
    "The schema of an answer is JSON's.",
    each("output_config.format.type", one_of("json_schema")),
    put("output_config", {"format": {"type": "json_object"}}),
    _follow(_CITY),
)
MESSAGES.rule(
    "Every object of that schema is closed, and all in it is of a type.",
    closed(_IN_IT),
    _answer(type="object", additionalProperties={"type": "integer"}),
    _answer(type="array", items={"type": "integer"}),
)
MESSAGES.rule(
    "It has no limits, and nothing else that cannot be followed.",
    takes(
        _IN_IT,
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "maxItems", "minItems=0|1", "uniqueItems"),
        *("oneOf", "prefixItems", "patternProperties", "propertyNames", "not", "if"),
    ),
    _answer(type="integer", minimum=1),
    _answer(type="array", items={"type": "integer"}, minItems=1),
)
_NODE: JSONObject = {**_CITY, "properties": {"next": {"$ref": "#/$defs/Node"}}}
MESSAGES.rule(
    "It does not lead back to itself.",
    without_itself(_IN_IT),
    _follow({**_CITY, "$defs": {"Node": _NODE}}),
    _follow({**_CITY, "$defs": {"Node": _CITY}}),
)

# -- each message -----------------------------------------------------------------------------

MESSAGES.rule(
    "A role is user, assistant or, in the middle, system.",
    each("messages.*.role", one_of("user", "assistant", "system")),
    put("messages.4.role", "tool"),
)
MESSAGES.rule(
    "The first message is the user's.",
    lambda request: (
        "messages[0]: first message must use the user role"
        for message in objects(request.json.get("messages"))[:1]
        if message.get("role") != "user"
    ),
    put("messages.0.role", "assistant"),
)


def _misplaced_system(request: WireRequest) -> Iterator[str]:
    roles = found(request.json, "messages.*.role")
    for place, (before, role) in enumerate(pairwise(roles), 1):
        if role == "system" and before != "user":
            yield f"messages[{place}]: expected a user message before one of the role system"


MESSAGES.rule(
    "A system message in the middle follows one of the user's.",
    _misplaced_system,
    put("messages.4", {"role": "system", "content": "Be brief."}),
    put("messages.3", {"role": "system", "content": "Be brief."}),
)
MESSAGES.rule(
    "Content is not empty, but for that of an assistant who comes last.",
    lambda request: (
        f"messages[{place}].content: all messages must have non-empty content"
        for messages in [objects(request.json.get("messages"))]
        for place, message in enumerate(messages, 1)
        if not message.get("content")
        and (place < len(messages) or message.get("role") != "assistant")
    ),
    put("messages.3.content", []),
    put("messages.3.content", []) + cut("messages.4"),
)
_SAYS_SOMETHING = Expect("text that is not blank", lambda given: text(given).strip() != "")
MESSAGES.rule(
    "No text is blank.",
    each("messages.*.content.*type=text.text", _SAYS_SOMETHING),
    put("messages.3.content.0.text", ""),
)
MESSAGES.rule(
    "No instruction is blank.",
    each("system.*type=text.text", _SAYS_SOMETHING),
    put("system.0.text", " "),
    put("system", "You are terse."),
)
MESSAGES.rule(
    "Instructions are text.", each("system.*.type", one_of("text")), put("system.0.type", "image")
)


def _foreign_block(request: WireRequest) -> Iterator[str]:
    given = [kind for answer in request.earlier for kind in found(answer, "content.*.type")]
    for place, message in find(request.json, "messages.*"):
        made = members(message).get("role") == "assistant"
        for where, kind in find(message, "content.*.type"):
            if not _BLOCKS[made].fullmatch(text(kind)) and not (made and kind in given):
                yield f"{place}.{where}: {kind!r} is no block of that role"


_BLOCKS = (
    re.compile("text|image|document|search_result|tool_result|container_upload|compaction"),
    re.compile(
        r"text|thinking|redacted_thinking|tool_use|server_tool_use|mcp_tool_use|\w+_tool_result"
        "|compaction|container_upload|fallback"
    ),
)
MESSAGES.rule(
    "Blocks are those of their role, or such as the service gave.",
    _foreign_block,
    put("messages.4.content.0", {"type": "input_text", "text": "And now?"}),
    put("messages.4.content.0", {"type": "document", "source": {"type": "text", "data": "x"}}),
)

# -- calls and results ------------------------------------------------------------------------

_EACH_CALL = "messages.*role=assistant.content.*type=tool_use"
_ODD_ID = "a:1"
MESSAGES.rule(
    "The id of a call is made of letters, digits, _ and -.",
    each(f"{_EACH_CALL}.id", matching("[A-Za-z0-9_-]+")),
    put("messages.1.content.1", _call(_ODD_ID)) + put("messages.2.content.0", _result(_ODD_ID)),
    put("messages.1.content.1", _call("a-1")) + put("messages.2.content.0", _result("a-1")),
)
MESSAGES.rule(
    "A call has a name.", each(f"{_EACH_CALL}.name", FILLED_TEXT), cut("messages.1.content.1.name")
)
MESSAGES.rule(
    "The input of a call is an object.",
    each(f"{_EACH_CALL}.input", OBJECT),
    put("messages.1.content.1.input", '{"city":"Tokyo"}'),
    put("messages.1.content.1.input", {}),
)


def _rounds(request: WireRequest) -> Iterator[Round]:
    """Give the calls of each assistant and the results that the next user begins with."""
    called: list[str] = []
    for where, role, blocks in _merged(request):
        answered = _ids(blocks, "tool_result", "tool_use_id") if role == "user" else []
        yield Round(where, called, answered)
        called = _ids(blocks, "tool_use", "id") if role == "assistant" else []
    yield Round("messages", called, [])


def _ids(blocks: list[JSONObject], kind: str, key: str) -> list[str]:
    return [text(block.get(key)) for block in blocks if block.get("type") == kind]


def _merged(request: WireRequest) -> list[tuple[str, str, list[JSONObject]]]:
    """Give the messages with their blocks, neighbours of the same role as one."""
    merged: list[tuple[str, str, list[JSONObject]]] = []
    for where, message in find(request.json, "messages.*"):
        role, content = members(message).get("role"), members(message).get("content")
        blocks = [_text(content)] if isinstance(content, str) else objects(content)
        if merged and merged[-1][1] == role:
            merged[-1][2].extend(blocks)
        else:
            merged.append((where, text(role), [*blocks]))
    return merged


MESSAGES.rule(
    "Every call is answered in the next message.",
    every_call_answered(_rounds),
    cut("messages.2.content.1"),
    put("messages.2.content.0", _result("b")) + put("messages.2.content.1", _result("a")),
)
MESSAGES.rule(
    "A result stands in the message after its call.",
    nothing_else(_rounds),
    put("messages.4.content.0", _result("a")),
)
MESSAGES.rule(
    "A call is answered once.", answered_once(_rounds), put("messages.2.content.2", _result("a"))
)
MESSAGES.rule(
    "A message with results begins with them.",
    lambda request: (
        f"{where}: expected the tool_result blocks before all others"
        for where, _, blocks in _merged(request)
        for kinds in [[block.get("type") == "tool_result" for block in blocks]]
        if kinds != sorted(kinds, reverse=True)
    ),
    put("messages.2.content", [_text("Quick."), _result("a"), _result("b")]),
    put("messages.2.content", [_result("b"), _result("a"), _text("Quick.")]),
)
MESSAGES.rule(
    "The content of a result is text or blocks, and may be missing.",
    each(
        "messages.*.content.*type=tool_result.content?",
        Expect("a string or an array of blocks", lambda given: isinstance(given, str | list)),
    ),
    put("messages.2.content.0.content", {"celsius": 12}),
    cut("messages.2.content.0.content"),
)

# -- thinking and caching ---------------------------------------------------------------------

MESSAGES.rule(
    "A thought has its text, which may be empty.",
    each("messages.*.content.*type=thinking.thinking", TEXT),
    cut("messages.1.content.0.thinking"),
    put("messages.1.content.0.thinking", ""),
)
MESSAGES.rule(
    "A thought has its signature.",
    each("messages.*.content.*type=thinking.signature", FILLED_TEXT),
    cut("messages.1.content.0.signature"),
)
MESSAGES.rule(
    "A redacted thought has its data.",
    each("messages.*.content.*type=redacted_thinking.data", FILLED_TEXT),
    put("messages.1.content.0", {"type": "redacted_thinking", "thinking": "Hm."}),
    put("messages.1.content.0", {"type": "redacted_thinking", "data": "c2ln"}),
)


def _thoughts(content: JSON) -> tuple[JSON, JSON]:
    """Give the ids of the calls, and the thoughts in their places before and between them."""
    blocks = found(content, "*type=thinking|redacted_thinking|tool_use")
    return found(content, "*type=tool_use.id"), [members(one).get("id") or one for one in blocks]


MESSAGES.rule(
    "Calls go back with the thoughts that they came with, unmodified and in their places.",
    goes_back("messages.*role=assistant.content", "content", _thoughts),
    put("earlier", {"content": [_THINKING, _call("a"), _call("b")]})
    + put("messages.1.content.0.thinking", "Ha."),
    put("earlier", {"content": [_THINKING, _call("a"), _call("b")]}),
)
MESSAGES.rule(
    "A cache marker is ephemeral.",
    each("messages.*.content.*.cache_control?.type", one_of("ephemeral")),
    put("messages.4.content.0.cache_control", {"type": "persistent"}),
    put("messages.4.content.0.cache_control", _CACHED),
)
MESSAGES.rule(
    "A cache lives for five minutes or an hour.",
    each("messages.*.content.*.cache_control.ttl?", one_of("5m", "1h")),
    put("messages.4.content.0.cache_control", _CACHED | {"ttl": "2h"}),
    put("messages.4.content.0.cache_control", _CACHED | {"ttl": "1h"}),
)
MESSAGES.rule(
    "No cache marker stands on a thought.",
    each("messages.*.content.*type=thinking|redacted_thinking.cache_control?", ABSENT),
    put("messages.1.content.0.cache_control", _CACHED),
    put("messages.1.content.1.cache_control", _CACHED),
)
_FOUR = put("system.0.cache_control", _CACHED) + put("tools.0.cache_control", _CACHED)
_FOUR += put("messages.1.content.1.cache_control", _CACHED)
_FOUR += put("messages.3.content.0.cache_control", _CACHED)
MESSAGES.rule(
    "There are at most four cache markers.",
    at_most_times(
        4,
        "tools.*.cache_control?",
        "system.*.cache_control?",
        "messages.*.content.*.cache_control?",
    ),
    _FOUR + put("messages.4.content.0.cache_control", _CACHED),
    _FOUR,
)
