"""What Gemini's generateContent refuses. The strict rules are those of the newest models."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from .every_service import demand_http
from .pairing import Round, answered_once, every_call_answered, goes_back, nothing_else
from .rule import Rulebook, cut, put, right_request
from .shape import (
    FILLED_ARRAY,
    FILLED_TEXT,
    OBJECT,
    TEXT,
    each,
    find,
    found,
    known_fields,
    matching,
    members,
    named_in,
    needs,
    objects,
    one_of,
    text,
    unique,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...rawjson import JSON, JSONObject
    from .rule import Change, WireRequest

__all__ = ["GENERATE"]


def _call(call_id: str, **beside: JSON) -> JSONObject:
    return {
        "functionCall": {"id": call_id, "name": "get_weather", "args": {"city": "Tokyo"}},
        **beside,
    }


def _result(call_id: str, name: str = "get_weather") -> JSONObject:
    return {"functionResponse": {"id": call_id, "name": name, "response": {"celsius": 12}}}


_CALLS: JSONObject = {"role": "model", "parts": [_call("a", thoughtSignature="c2ln"), _call("b")]}
_BASE64 = "(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2,3}={0,2})?"
_NO_IDS = cut("contents.3.parts.0.functionCall.id") + cut("contents.4.parts.0.functionResponse.id")

GENERATE = Rulebook(
    "gemini",
    right_request(
        "/v1beta/models/test-1:generateContent",
        {"x-goog-api-key": "key"},
        {
            "systemInstruction": {"parts": [{"text": "You are terse."}]},
            "tools": [{"functionDeclarations": [{"name": "get_weather"}]}],
            "contents": [
                {"role": "user", "parts": [{"text": "The weather twice?"}]},
                _CALLS,
                {"role": "user", "parts": [_result("a"), _result("b")]},
                {"role": "model", "parts": [_call("c", thoughtSignature="Qw==")]},
                {"role": "user", "parts": [_result("c"), {"text": "Quick."}]},
                {"role": "model", "parts": [{"text": "It is cold."}]},
                {"role": "user", "parts": [{"text": "And in Paris?"}]},
                {"role": "model", "parts": [_call("d", thoughtSignature="RA==")]},
                {"role": "user", "parts": [_result("d")]},
            ],
        },
    ),
)
"""The rules of ``:generateContent`` and ``:streamGenerateContent``."""

demand_http(
    GENERATE,
    r"/v1(alpha|beta)?/models/[^/:]+:(generateContent|streamGenerateContent)",
    ["x-goog-api-key", "authorization"],
)

# -- the request ------------------------------------------------------------------------------

GENERATE.rule("There are contents.", each("contents", FILLED_ARRAY), put("contents", []))
GENERATE.rule(
    "A field that the service does not know is refused.",
    known_fields(
        "contents cachedContent generationConfig model safetySettings serviceTier store "
        "systemInstruction toolConfig tools"
    ),
    put("temperature", 0.5),
    put("generationConfig", {"temperature": 0.5}),
    strict=True,
)
GENERATE.rule(
    "Instructions have parts of text.",
    each("systemInstruction?.parts", FILLED_ARRAY),
    put("systemInstruction", {"role": "user"}),
)
GENERATE.rule(
    "Instructions are said as content, not as a string.",
    each("systemInstruction?", OBJECT),
    put("systemInstruction", "You are terse."),
    cut("systemInstruction"),
)
GENERATE.rule(
    "A function has a name that begins with a letter or _.",
    each("tools.*.functionDeclarations.*.name", matching("[A-Za-z_][A-Za-z0-9_.:-]{0,127}")),
    put("tools.0.functionDeclarations.0.name", "1_weather"),
    put("tools.0.functionDeclarations.0.name", "weather_1"),
)
_DECLARED = "tools.*.functionDeclarations.*.name"
GENERATE.rule(
    "No function is declared twice.",
    unique(_DECLARED),
    put("tools.0.functionDeclarations", [{"name": "get_weather"}, {"name": "get_weather"}]),
    put("tools.0.functionDeclarations", [{"name": "get_weather"}, {"name": "get_time"}]),
)
GENERATE.rule(
    "The parameters of a function are an object.",
    each("tools.*.functionDeclarations.*.parameters.type", one_of("OBJECT", "object")),
    put("tools.0.functionDeclarations.0.parameters", {"type": "STRING"}),
    put("tools.0.functionDeclarations.0.parameters", {"type": "OBJECT"}),
)
_CALLING = "toolConfig.functionCallingConfig"


def _calling(mode: str, *names: str) -> Change:
    config: JSONObject = {"mode": mode, "allowedFunctionNames": [*names]}
    return put("toolConfig", {"functionCallingConfig": config})


GENERATE.rule(
    "How to call functions is only said where there are some.",
    needs(f"{_CALLING}.mode?", "tools.*.functionDeclarations"),
    _calling("AUTO") + cut("tools"),
    _calling("AUTO"),
)
GENERATE.rule(
    "Functions are only allowed by name if one has to be called.",
    lambda request: (
        "allowedFunctionNames is only allowed with the mode ANY or VALIDATED"
        for config in found(request.json, f"{_CALLING}?")
        if members(config).get("allowedFunctionNames")
        and members(config).get("mode") not in ("ANY", "VALIDATED")
    ),
    _calling("AUTO", "get_weather"),
    _calling("ANY", "get_weather"),
)
GENERATE.rule(
    "A function that is allowed is declared.",
    named_in(f"{_CALLING}.allowedFunctionNames.*", _DECLARED),
    _calling("ANY", "book_hotel"),
    _calling("ANY", "get_weather"),
)
GENERATE.rule(
    "A schema for the answer needs JSON as its type.",
    lambda request: (
        "a response schema is only allowed with the responseMimeType application/json"
        for config in found(request.json, "generationConfig?")
        if found(config, "responseSchema?") + found(config, "responseJsonSchema?")
        and members(config).get("responseMimeType") != "application/json"
    ),
    put("generationConfig", {"responseSchema": {"type": "OBJECT"}}),
    put(
        "generationConfig",
        {"responseSchema": {"type": "OBJECT"}, "responseMimeType": "application/json"},
    ),
)

# -- contents ---------------------------------------------------------------------------------

GENERATE.rule(
    "A role is user or model.",
    each("contents.*.role?", one_of("user", "model")),
    put("contents.5.role", "assistant"),
)
GENERATE.rule(
    "Each content has parts.", each("contents.*.parts", FILLED_ARRAY), put("contents.5.parts", [])
)
_DATA = frozenset(
    {"text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode"}
    | {"codeExecutionResult", "toolCall", "toolResponse"}
)


def _without_data(request: WireRequest) -> Iterator[str]:
    given = [
        part for answer in request.earlier for part in found(answer, "candidates.*.content.parts.*")
    ]
    for where, part in find(request.json, "contents.*.parts.*"):
        if len(_DATA & members(part).keys()) != 1 and part not in given:
            yield f"{where}: required oneof field 'data' must have one initialized field"


GENERATE.rule(
    "A part says one thing, or is as the service gave it.",
    _without_data,
    put("contents.6.parts.0", {"type": "text"}),
    put("contents.6.parts.0", {"inlineData": {"mimeType": "image/png", "data": "AA=="}}),
)
GENERATE.rule(
    "Text is a string.",
    each("contents.*.parts.*.text?", TEXT),
    put("contents.6.parts.0.text", None),
)
GENERATE.rule(
    "Media have their type.",
    each("contents.*.parts.*.inlineData.mimeType", FILLED_TEXT),
    put("contents.6.parts.0", {"inlineData": {"data": "AA=="}}),
    put("contents.6.parts.0", {"inlineData": {"mimeType": "image/png", "data": "AA=="}}),
)
GENERATE.rule(
    "A call and its result have a name.",
    each("contents.*.parts.*.functionCall.name", FILLED_TEXT),
    put("contents.1.parts.1.functionCall.name", "")
    + put("contents.2.parts.1.functionResponse.name", ""),
)
GENERATE.rule(
    "The arguments of a call are an object.",
    each("contents.*.parts.*.functionCall.args?", OBJECT),
    put("contents.1.parts.1.functionCall.args", '{"city":"Tokyo"}'),
    cut("contents.1.parts.1.functionCall.args"),
)
GENERATE.rule(
    "A result is an object.",
    each("contents.*.parts.*.functionResponse.response", OBJECT),
    put("contents.2.parts.1.functionResponse.response", "12 °C"),
    put("contents.2.parts.1.functionResponse.response", {}),
)

# -- calls and results ------------------------------------------------------------------------


def _rounds(request: WireRequest) -> Iterator[Round]:
    """Give the calls of each content, and the results that the very next one has."""
    contents = [*find(request.json, "contents.*")]
    for (_, before), (where, after) in pairwise([("", None), *contents, ("", None)]):
        calls = found(before, "parts.*.functionCall?")
        yield Round(where, _names(calls), _names(found(after, "parts.*.functionResponse?")))


def _names(given: list[JSON]) -> list[str]:
    """Name calls or results: by the id if there is one, and always by the function."""
    return [f"{text(members(one).get('id'))} {text(members(one).get('name'))}" for one in given]


GENERATE.rule(
    "Every call is answered in the very next content, by name, and by id if it has one.",
    every_call_answered(_rounds),
    cut("contents.2.parts.1"),
    _NO_IDS,
)
GENERATE.rule(
    "There are only results of calls that stand in the content before.",
    nothing_else(_rounds),
    put("contents.4.parts.1", _result("a")),
)
GENERATE.rule(
    "There are as many results as calls.",
    answered_once(_rounds),
    put("contents.4.parts.1", _result("c")),
)


def _calls_out_of_turn(request: WireRequest) -> Iterator[str]:
    before = ""
    for where, content in find(request.json, "contents.*"):
        role = text(members(content).get("role"))
        if found(content, "parts.*.functionCall?") and before != "user":
            yield (
                f"{where}: expected a function call turn to come immediately after a user turn or "
                "after a function response turn"
            )
        before = role


GENERATE.rule(
    "Calls come right after what the user says or answers, all of them in one content.",
    _calls_out_of_turn,
    put("contents.0.role", "model"),
)

# -- signatures -------------------------------------------------------------------------------


def _unsigned(request: WireRequest) -> Iterator[str]:
    contents = objects(request.json.get("contents"))
    spoken = [place for place, content in enumerate(contents) if _starts_a_turn(content)]
    for place in range(max(spoken, default=0), len(contents)):
        calls = [part for part in objects(contents[place].get("parts")) if "functionCall" in part]
        if calls and not calls[0].get("thoughtSignature"):
            yield (
                "Function call is missing a thought_signature in functionCall parts: "
                f"contents[{place}]"
            )


def _starts_a_turn(content: JSONObject) -> bool:
    is_user = content.get("role") == "user"
    return is_user and not found(content, "parts.*.functionResponse?")


GENERATE.rule(
    "In the current turn the first call of each step is signed.",
    _unsigned,
    cut("contents.7.parts.0.thoughtSignature"),
    put("contents.7.parts.0.thoughtSignature", "skip_thought_signature_validator"),
    strict=True,
)
GENERATE.rule(
    "A signature is base64.",
    each("contents.*.parts.*.thoughtSignature?", matching(_BASE64)),
    put("contents.1.parts.0.thoughtSignature", "signed!"),
    put("contents.1.parts.0.thoughtSignature", "_-8="),
)


_EARLIER = put("earlier", {"candidates": [{"content": _CALLS}]})
GENERATE.rule(
    "A signature goes back on the part that it came on.",
    goes_back(
        "contents.*.parts.*",
        "candidates.*.content.parts.*",
        lambda part: (members(part).get("thoughtSignature"), part),
    ),
    _EARLIER + put("contents.1.parts", [_call("b", thoughtSignature="c2ln"), _call("a")]),
    _EARLIER,
)


def _signatures(content: JSON) -> tuple[JSON, JSON]:
    calls = [part for part in objects(found(content, "parts.*")) if "functionCall" in part]
    named: list[JSON] = [part["functionCall"] for part in calls]
    return named, [part.get("thoughtSignature") for part in calls]


GENERATE.rule(
    "Calls go back with the signatures that they came with.",
    goes_back("contents.*role=model", "candidates.*.content", _signatures),
    _EARLIER + cut("contents.1.parts.0.thoughtSignature"),
    _EARLIER,
)
