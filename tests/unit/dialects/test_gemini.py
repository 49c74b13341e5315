"""What is asked of Gemini, how results go back, and what the official client says to that."""

from __future__ import annotations

import copy
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from google import genai
from google.genai import types
from pydantic import TypeAdapter

from hansard import rawjson
from hansard.dialects.dialect import Ask, ToolSpec
from hansard.dialects.gemini.dialect import GENERATION, Gemini
from hansard.errors import Invalid, Unsayable
from hansard.messages import (
    Draft,
    Message,
    Native,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    assistant,
    image,
    system,
    user,
)

if TYPE_CHECKING:
    from collections.abc import Callable

GEMINI = Gemini()
WIRE = Path(__file__).parents[2] / "data" / "wire" / "gemini"
CONTENTS = sorted(path.name for path in WIRE.glob("content_*.json"))
ANSWERS = sorted(path.name for path in WIRE.glob("answer_*.json"))
SKIP = "skip_thought_signature_validator"


def wire(name: str) -> bytes:
    return (WIRE / name).read_bytes()


def content(name: str) -> Message:
    return GEMINI.message(wire(f"content_{name}.json"))


def said(draft: Draft) -> bytes:
    (message,) = GEMINI.say(draft)
    return message.raw


def body_of(ask: Ask) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(GEMINI.request(ask).body)
    return parsed


# -- results ----------------------------------------------------------------------------------

CALL = ToolCall("c-1", "get_weather")


@pytest.mark.parametrize(
    ("result", "response"),
    [
        (CALL.answer("12 °C"), '{"result":"12 °C"}'),
        (CALL.answer(""), '{"result":""}'),
        (ToolResult("c-1"), '{"result":""}'),
        (CALL.answer('{"b":1e5,"a":1.50}'), '{"b":1e5,"a":1.50}'),
        (CALL.answer({"temperature": 12}), '{"temperature":12}'),
        (CALL.answer({"error": "none"}), '{"result":"{\\"error\\":\\"none\\"}"}'),
        (CALL.answer({"result": "x"}), '{"result":"{\\"result\\":\\"x\\"}"}'),
        (CALL.answer({"output": "x"}), '{"result":"{\\"output\\":\\"x\\"}"}'),
        (CALL.answer({"result": 1}), '{"result":1}'),
        (CALL.answer({"error": None, "city": "Köln"}), '{"error":null,"city":"Köln"}'),
        (CALL.answer([1, 2]), '{"result":"[1,2]"}'),
        (CALL.answer("{not json}"), '{"result":"{not json}"}'),
        (CALL.answer((Text("a"), Text("b"))), '{"result":"ab"}'),
        (CALL.answer("gone", is_error=True), '{"error":"gone"}'),
        (CALL.answer({"code": 1}, is_error=True), '{"error":"{\\"code\\":1}"}'),
    ],
)
def test_a_result_is_an_object_under_the_id_and_name_of_its_call(
    result: ToolResult, response: str
) -> None:
    raw = GEMINI.result(CALL, result)
    assert raw == (
        b'{"functionResponse":{"id":"c-1","name":"get_weather","response":%b}}' % response.encode()
    )
    (framed,) = GEMINI.frame([raw])
    (read,) = GEMINI.message(framed).tool_results
    assert (read.text, read.is_error) == (result.text, result.is_error)


def test_an_object_loses_its_white_space_and_nothing_else() -> None:
    raw = GEMINI.result(CALL, CALL.answer('{ "b": 1e5,\n "a": "x  y" }'))
    assert rawjson.fields(rawjson.fields(raw)["functionResponse"])["response"] == (
        b'{"b":1e5,"a":"x  y"}'
    )


def test_an_object_nested_too_deep_for_a_message_is_said_as_text() -> None:
    deep = '{"a":' * 255 + "1" + "}" * 255
    (framed,) = GEMINI.frame([GEMINI.result(CALL, CALL.answer(deep))])
    assert GEMINI.message(framed).tool_results[0].text == deep


def test_a_result_echoes_an_id_only_if_there_was_one() -> None:
    raw = GEMINI.result(ToolCall("", "f"), ToolCall("", "f").answer("ok"))
    assert raw == b'{"functionResponse":{"name":"f","response":{"result":"ok"}}}'


def test_media_stand_beside_the_response() -> None:
    raw = GEMINI.result(CALL, CALL.answer([Text("see"), image(b"a", "image/png")]))
    assert raw == (
        b'{"functionResponse":{"id":"c-1","name":"get_weather","response":{"result":"see"},'
        b'"parts":[{"inlineData":{"mimeType":"image/png","data":"YQ=="}}]}}'
    )


def test_a_result_that_gemini_cannot_say_is_refused() -> None:
    with pytest.raises(Unsayable):
        GEMINI.result(CALL, CALL.answer(Native("odd", b"7")))


def test_an_interrupted_call_gets_the_same_error_every_time() -> None:
    assert GEMINI.interrupted(CALL) == GEMINI.interrupted(CALL)
    (framed,) = GEMINI.frame([GEMINI.interrupted(CALL)])
    (result,) = Message(GEMINI, framed).tool_results
    assert result.is_error
    assert result.call_id == "c-1"


def test_all_results_of_an_answer_go_into_one_content_with_what_the_user_says() -> None:
    calls = [ToolCall("1", "f"), ToolCall("", "g", "{}", 1)]
    fragments = [GEMINI.result(call, call.answer("ok")) for call in calls]
    later = [
        said(user("Be brief.")),
        said(user("Please.")),
        said(assistant("Hm.")),
        said(user("x")),
    ]
    first, *rest = GEMINI.frame(fragments, later)
    assert [type(part) for part in Message(GEMINI, first).parts] == [
        ToolResult,
        ToolResult,
        Text,
        Text,
    ]
    assert rest == later[2:]
    assert GEMINI.paired(calls, [first])
    assert all(fragment in first for fragment in fragments)


def test_a_user_message_with_fields_of_its_own_is_not_taken_apart() -> None:
    own = b'{"role":"user","parts":[{"text":"a"}],"note":1}'
    fragment = GEMINI.result(CALL, CALL.answer("ok"))
    assert GEMINI.frame([fragment], [own])[1:] == (own,)
    assert GEMINI.frame([], [own]) == (own,)


def test_results_are_taken_out_of_a_message_and_the_rest_stays_as_it_was() -> None:
    raw = content("results_and_text").raw
    (fragment,), rest = GEMINI.split_results(raw)
    assert (fragment.call_id, fragment.name) == ("call_hotel_1", "search_hotels")
    assert fragment.raw in raw
    assert rest == b'{"role":"user","parts":[{"text":"Yes, book it please."}]}'
    assert len(GEMINI.split_results(content("results").raw)[0]) == 7
    assert GEMINI.split_results(content("results").raw)[1] is None
    assert GEMINI.split_results(content("parallel_calls").raw) == (
        (),
        content("parallel_calls").raw,
    )
    escaped = b'{"role":"user","parts":[{"\\u0066unctionResponse":{"name":"f","response":{}}}]}'
    assert len(GEMINI.split_results(escaped)[0]) == 1


@pytest.mark.parametrize(
    ("calls", "results", "paired"),
    [
        ([("1", "f"), ("2", "f")], [("1", "f"), ("2", "f")], True),
        ([("1", "f"), ("2", "f")], [("2", "f"), ("1", "f")], True),
        ([("1", "f"), ("2", "f")], [("", "f"), ("1", "f")], True),
        ([("", "f"), ("", "f")], [("", "f"), ("", "f")], True),
        ([("", "f"), ("1", "f")], [("1", "f"), ("", "f")], True),
        ([("s", "f"), ("s", "f")], [("s", "f"), ("s", "f")], True),
        ([("1", "f"), ("2", "f")], [("1", "f")], False),
        ([("1", "f")], [("1", "f"), ("2", "f")], False),
        ([("1", "f")], [("2", "f")], False),
        ([("", "f"), ("1", "f")], [("1", "f"), ("9", "f")], True),
        ([("", "f")], [("", "g")], False),
        ([("s", "f"), ("s", "f")], [("s", "f"), ("t", "f")], False),
        ([], [], True),
    ],
)
def test_calls_are_paired_one_to_one_by_id_or_by_name(
    calls: list[tuple[str, str]], results: list[tuple[str, str]], *, paired: bool
) -> None:
    made = [ToolCall(call_id, name, "{}", at) for at, (call_id, name) in enumerate(calls)]
    answered = tuple(ToolResult(call_id, name) for call_id, name in results)
    after = [said(Draft("tool", answered))] if answered else []
    assert GEMINI.paired(made, after) is paired


def test_results_one_message_too_late_or_spread_over_two_pair_with_nothing() -> None:
    calls = [ToolCall("1", "f"), ToolCall("2", "f")]
    alone = [said(Draft("tool", (ToolResult(call.id, "f"),))) for call in calls]
    both = said(Draft("tool", (ToolResult("1", "f"), ToolResult("2", "f"))))
    assert GEMINI.paired(calls, [both])
    assert not GEMINI.paired(calls, alone)
    assert not GEMINI.paired(calls, [said(user("wait")), both])
    assert not GEMINI.paired(calls, [])


# -- asking -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "stream", "path"),
    [
        ("gemini-3-flash", False, "/models/gemini-3-flash:generateContent"),
        ("models/gemini-3-flash", False, "/models/gemini-3-flash:generateContent"),
        ("gemini-3-flash", True, "/models/gemini-3-flash:streamGenerateContent?alt=sse"),
        ("tunedModels/mine", False, "/tunedModels/mine:generateContent"),
        ("odd?name#", False, "/models/odd%3Fname%23:generateContent"),
    ],
)
def test_the_model_is_in_the_path(model: str, path: str, *, stream: bool) -> None:
    request = GEMINI.request(Ask(model, stream=stream))
    assert request.path == path
    assert request.body == b'{"contents":[]}'
    assert request.headers == (("content-type", "application/json"),)


def test_each_thing_asked_stands_where_gemini_wants_it_and_the_messages_come_last() -> None:
    body = body_of(
        Ask(
            "m",
            [said(user("Hi"))],
            system=[system("Be brief."), system("Be kind.")],
            tools=[
                ToolSpec("f", "Does f.", {"type": "object", "additionalProperties": False}),
                ToolSpec("g", "", {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}),
                ToolSpec("search", native=b'{"googleSearch": {}}'),
                ToolSpec("h", native=b'{"name": "h", "behavior": "BLOCKING"}'),
            ],
            tool_choice="f",
            output={"type": "object"},
            parameters={"cachedContent": "cachedContents/1"},
        )
    )
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "f",
                        "description": "Does f.",
                        "parametersJsonSchema": {"type": "object", "additionalProperties": False},
                    },
                    {
                        "name": "g",
                        "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
                    },
                    {"name": "h", "behavior": "BLOCKING"},
                ]
            },
            {"googleSearch": {}},
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
        "cachedContent": "cachedContents/1",
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    }
    assert list(body)[-1] == "contents"


@pytest.mark.parametrize(
    ("choice", "strict", "config"),
    [
        ("auto", None, {"mode": "AUTO"}),
        ("none", None, {"mode": "NONE"}),
        ("required", True, {"mode": "ANY"}),
        (None, True, {"mode": "VALIDATED"}),
        ("auto", True, {"mode": "VALIDATED"}),
        (None, False, None),
    ],
)
def test_tool_choice_and_strict_tools_become_a_mode(
    choice: str | None, *, strict: bool | None, config: object
) -> None:
    body = body_of(Ask("m", tools=[ToolSpec("f", strict=strict)], tool_choice=choice))
    assert body.get("toolConfig", {}).get("functionCallingConfig") == config


def test_parameters_of_generation_go_below_generation_config_however_they_are_given() -> None:
    body = body_of(
        Ask(
            "m",
            tool_choice="required",
            output={"type": "object", "properties": {"a": {}}},
            parameters={
                "temperature": 0.7,
                "thinkingConfig": {"includeThoughts": True},
                "generationConfig": {
                    "topP": 0.9,
                    "temperature": 0.1,
                    "thinkingConfig": {"thinkingBudget": 0},
                    "responseJsonSchema": {"type": "object", "properties": {"b": {}}},
                },
                "toolConfig": {"functionCallingConfig": {"allowedFunctionNames": ["f"]}},
                "safetySettings": [{"category": "C", "threshold": "OFF"}],
            },
        )
    )
    assert body == {
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object", "properties": {"b": {}}},
            "temperature": 0.1,
            "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 0},
            "topP": 0.9,
        },
        "safetySettings": [{"category": "C", "threshold": "OFF"}],
        "contents": [],
    }


def test_parameters_replace_what_is_no_object_and_are_never_changed() -> None:
    parameters: dict[str, Any] = {
        "tools": [{"codeExecution": {}}],
        "systemInstruction": {"parts": [{"text": "Mine."}]},
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
        "thinkingConfig": {"thinkingBudget": 1},
    }
    before = copy.deepcopy(parameters)
    body = body_of(
        Ask("m", system=[system("Theirs.")], tools=[ToolSpec("f")], parameters=parameters)
    )
    assert body["tools"] == [{"codeExecution": {}}]
    assert body["systemInstruction"] == {"parts": [{"text": "Mine."}]}
    assert body["generationConfig"]["thinkingConfig"] == {
        "includeThoughts": True,
        "thinkingBudget": 1,
    }
    assert parameters == before


def test_the_messages_are_not_a_parameter() -> None:
    with pytest.raises(Invalid, match="contents"):
        GEMINI.request(Ask("m", parameters={"contents": []}))


def test_a_system_instruction_that_cannot_be_said_is_refused() -> None:
    with pytest.raises(Unsayable, match="system instruction"):
        GEMINI.request(Ask("m", system=[system(Thought("hm"))]))


def test_a_request_begins_with_the_one_before_it() -> None:
    messages = [GEMINI.message(wire(name)).raw for name in CONTENTS]
    bodies = [
        GEMINI.request(Ask("m", messages[:count], system=[system("S")])).body
        for count in range(1, len(messages) + 1)
    ]
    for shorter, longer in pairwise(bodies):
        assert longer.startswith(shorter.removesuffix(b"]}") + b",")


# -- the send projection ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "projected"),
    [
        (b'{"role":"model","parts":[]}', None),
        (b'{"role":"model"}', None),
        (b'{"role":"model","parts":null}', None),
        (b'{"role":"model","novel":1}', b'{"role":"model","novel":1}'),
        (b'{"role":"model","parts":[{}]}', None),
        (b'{"role":"model","parts":[{"text":""}]}', None),
        (b'{"role":"model","parts":[{"text":"","thought":true},{"thought":true}]}', None),
        (
            b'{"role":"model","parts":[{"text":"a"},{"text":""}],"novel":1e5}',
            b'{"role":"model","parts":[{"text":"a"}],"novel":1e5}',
        ),
    ],
)
def test_what_gemini_does_not_take_back_is_cut(raw: bytes, projected: bytes | None) -> None:
    assert GEMINI.project(raw) == projected
    assert raw == projected or any(mark in raw for mark in GEMINI.cut_marks)


@pytest.mark.parametrize("name", CONTENTS)
def test_projecting_twice_changes_nothing_more(name: str) -> None:
    once = GEMINI.project(GEMINI.message(wire(name)).raw)
    assert once is None or GEMINI.project(once) == once


@pytest.mark.parametrize(
    "part",
    [
        b'{"text":"","thoughtSignature":"c2ln"}',
        b'{"thoughtSignature":"c2ln"}',
        b'{"thought":true,"text":"hm"}',
        b'{"functionCall":{"name":"f","args":{}}}',
        b'{"functionCall":{"name":"f","args":{"a":"","b":null}}}',
        b'{"inlineData":{"mimeType":"image/png","data":""}}',
        b'{"text":"","novel":1}',
    ],
)
def test_nothing_that_carries_anything_is_cut(part: bytes) -> None:
    raw = b'{"role":"model","parts":[' + part + b"]}"
    assert GEMINI.project(raw) == raw


# -- the official client ----------------------------------------------------------------------

Accept = TypeAdapter(list[types.Content])

KNOWN_CONTENTS = [
    name
    for name in CONTENTS
    if name.split("_", 1)[1].removesuffix(".json")
    not in {"unknown_fields", "odd_shapes", "result_with_media"}
]


@pytest.mark.parametrize("name", KNOWN_CONTENTS)
def test_the_official_types_take_every_content_that_has_nothing_unknown(name: str) -> None:
    Accept.validate_python([json.loads(GEMINI.message(wire(name)).raw)])


def official_request(ask: Callable[[genai.Client], object]) -> httpx2.Request:
    """Let the official client ask, and catch what it sends."""
    sent: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return httpx2.Response(200, content=wire("answer_text.json"))

    transport = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = genai.Client(api_key="none", http_options=types.HttpOptions(httpx_client=transport))
    ask(client)
    return sent[0]


def camel(value: Any) -> Any:
    """Name members as the documentation does: the client leaves some in its own spelling."""
    if isinstance(value, list):
        return [camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub("_([a-z])", lambda found: found[1].upper(), key): camel(member)
        for key, member in value.items()
    }


def tools_sorted(body: dict[str, Any]) -> dict[str, Any]:
    """Leave aside that the client puts functions after the provider's own tools."""
    return {**body, "tools": sorted(body["tools"], key=str)}


def test_the_official_client_asks_in_the_same_words() -> None:
    call = ToolCall("c-1", "get_weather", '{"city":"Tokyo"}')
    schema: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
    messages = [
        said(user("Weather?", image(b"\x89PNG", "image/png"))),
        said(assistant(Thought("hm"), call)),
        *GEMINI.frame([GEMINI.result(call, call.answer({"c": 12}))], [said(user("Brief."))]),
    ]
    ours = GEMINI.request(
        Ask(
            "gemini-3-flash",
            messages,
            system=[system("Be kind.")],
            tools=[
                ToolSpec("get_weather", "Weather.", schema),
                ToolSpec("", native=b'{"urlContext":{}}'),
            ],
            tool_choice="get_weather",
            output={"type": "object"},
            parameters={
                "temperature": 0.5,
                "maxOutputTokens": 100,
                "thinkingConfig": {"includeThoughts": True},
                "safetySettings": [
                    {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}
                ],
                "cachedContent": "cachedContents/1",
            },
        )
    )
    config = types.GenerateContentConfig(
        system_instruction=types.Content(parts=[types.Part(text="Be kind.")]),
        tools=[
            types.Tool(
                function_declarations=[
                    types.FunctionDeclaration(
                        name="get_weather", description="Weather.", parameters_json_schema=schema
                    )
                ]
            ),
            types.Tool(url_context=types.UrlContext()),
        ],
        tool_config=types.ToolConfig(
            function_calling_config=types.FunctionCallingConfig(
                mode=types.FunctionCallingConfigMode.ANY, allowed_function_names=["get_weather"]
            )
        ),
        response_mime_type="application/json",
        response_json_schema={"type": "object"},
        temperature=0.5,
        max_output_tokens=100,
        thinking_config=types.ThinkingConfig(include_thoughts=True),
        safety_settings=[
            types.SafetySetting(
                category=types.HarmCategory.HARM_CATEGORY_HARASSMENT,
                threshold=types.HarmBlockThreshold.BLOCK_NONE,
            )
        ],
        cached_content="cachedContents/1",
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents = Accept.validate_python([json.loads(message) for message in messages])
    theirs = official_request(
        lambda client: client.models.generate_content(
            model="gemini-3-flash", contents=list(contents), config=config
        )
    )
    assert tools_sorted(json.loads(ours.body)) == tools_sorted(camel(json.loads(theirs.content)))
    assert theirs.url.path.endswith(ours.path)


def test_the_official_types_take_every_part_of_a_request() -> None:
    body = body_of(
        Ask(
            "m",
            system=[system("S")],
            tools=[ToolSpec("f", strict=True), ToolSpec("g", parameters={"type": "OBJECT"})],
            output={"type": "object"},
            parameters={"temperature": 0.5, "topK": 3, "stopSequences": ["x"], "seed": 1},
        )
    )
    TypeAdapter(types.Content).validate_python(body["systemInstruction"])
    TypeAdapter(list[types.Tool]).validate_python(body["tools"])
    TypeAdapter(types.ToolConfig).validate_python(body["toolConfig"])
    TypeAdapter(types.GenerationConfig).validate_python(body["generationConfig"])


def test_every_generation_parameter_that_the_official_types_know_may_be_given_flat() -> None:
    known = {field.alias for field in types.GenerationConfig.model_fields.values()}
    assert known | {"imageConfig"} == GENERATION
