"""Saying things to Gemini: one spelling for each, and a list of what was lost."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from hansard import rawjson
from hansard.dialects.dialect import SYSTEM_FRAME, Ask
from hansard.dialects.gemini import Gemini
from hansard.errors import Unsayable
from hansard.messages import (
    Draft,
    Media,
    Message,
    Native,
    Part,
    Refusal,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    assistant,
    audio,
    file,
    image,
    system,
    user,
)

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


# -- saying -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draft", "spelled"),
    [
        (user("Hi"), '{"role":"user","parts":[{"text":"Hi"}]}'),
        (
            user("a", Text("", "c2ln")),
            '{"role":"user","parts":[{"text":"a"},{"text":"","thoughtSignature":"c2ln"}]}',
        ),
        (
            user(image(b"\xff\xd8", "image/jpeg"), audio(base64="_-8", media_type="audio/wav")),
            (
                '{"role":"user","parts":[{"inlineData":{"mimeType":"image/jpeg","data":"/9g="}},'
                '{"inlineData":{"mimeType":"audio/wav","data":"_-8"}}]}'
            ),
        ),
        (
            user(file(url="gs://b/a.pdf", media_type="application/pdf", name="a.pdf")),
            (
                '{"role":"user","parts":[{"fileData":{"mimeType":"application/pdf",'
                '"fileUri":"gs://b/a.pdf","displayName":"a.pdf"}}]}'
            ),
        ),
        (
            user(file(file_id="https://host/v1beta/files/1")),
            '{"role":"user","parts":[{"fileData":{"fileUri":"https://host/v1beta/files/1"}}]}',
        ),
        (
            assistant(Thought("hm", "c2ln"), "Yes.", ToolCall("1", "f", '{ "x": 1e5 }', 0, "dGg=")),
            (
                '{"role":"model","parts":[{"text":"hm","thought":true,"thoughtSignature":"c2ln"},'
                '{"text":"Yes."},{"functionCall":{"id":"1","name":"f","args":{"x":1e5}},'
                '"thoughtSignature":"dGg="}]}'
            ),
        ),
        (
            assistant(ToolCall("", "f", "")),
            '{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}',
        ),
        (
            assistant(image(b"a", "image/png", thought_signature="c2ln")),
            (
                '{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"YQ=="},'
                '"thoughtSignature":"c2ln"}]}'
            ),
        ),
        (
            assistant(Native("executableCode", b'{"executableCode": {"code": "1e5"}}')),
            '{"role":"model","parts":[{"executableCode":{"code":"1e5"}}]}',
        ),
        (
            Draft(
                "tool",
                (ToolResult("1", "f", (Text("ok"),)), ToolResult("", "g", (), is_error=True)),
            ),
            (
                '{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f",'
                '"response":{"result":"ok"}}},{"functionResponse":{"name":"g",'
                '"response":{"error":""}}}]}'
            ),
        ),
    ],
)
def test_a_draft_has_one_spelling(draft: Draft, spelled: str) -> None:
    assert said(draft) == spelled.encode()


def test_a_system_message_in_mid_conversation_is_said_in_a_frame() -> None:
    message = Message(GEMINI, said(system("Be ", "brief {now}.", image(b"a", "image/png"))))
    assert not GEMINI.system_midway
    assert message.role == "user"
    assert message.text == SYSTEM_FRAME.format(text="Be brief {now}.")
    assert isinstance(message.parts[1], Media)


@pytest.mark.parametrize(
    ("draft", "kind"),
    [
        (user(ToolCall("1", "f")), "toolcall"),
        (user(Thought("hm")), "thought"),
        (system(Thought("hm")), "thought"),
        (assistant(ToolResult("1", "f")), "toolresult"),
        (assistant(Refusal("No.")), "refusal"),
        (assistant(Thought(redacted="b64")), "thought"),
        (assistant(ToolCall("1", "f", "free text", custom=True)), "toolcall"),
        (assistant(ToolCall("1", "f", "[1]")), "toolcall"),
        (assistant(ToolCall("1", "f", '{"cut":')), "toolcall"),
        (assistant(Native("odd", b"7")), "odd"),
        (user(Media("image")), "image"),
        (Draft("tool", (ToolResult("1"),)), "toolresult"),
    ],
)
def test_what_gemini_cannot_say_is_listed_and_the_rest_is_said(draft: Draft, kind: str) -> None:
    composition = GEMINI.compose(Draft(draft.role, (Text("kept"), *draft.parts)))
    assert [(loss.message, loss.part) for loss in composition.losses] == [(0, kind)]
    assert "kept" in Message(GEMINI, composition.messages[0]).text
    with pytest.raises(Unsayable) as caught:
        GEMINI.say(draft)
    assert caught.value.dialect == "gemini"


def test_arguments_that_are_no_object_are_said_as_one() -> None:
    (raw,) = GEMINI.compose(assistant(ToolCall("1", "f", "SELECT 1", custom=True))).messages
    assert Message(GEMINI, raw).tool_calls[0].parsed == {"input": "SELECT 1"}


def test_a_draft_of_which_nothing_can_be_said_makes_no_message() -> None:
    composition = GEMINI.compose(user(Thought("hm")))
    assert composition.messages == ()
    assert len(composition.losses) == 1


def test_a_foreign_draft_loses_what_belongs_to_its_provider_and_lists_it() -> None:
    composition = GEMINI.compose(
        assistant(
            Thought("hm", "their sig"),
            Text("Let me see.", "their sig"),
            Text("", "their sig"),
            ToolCall("toolu_1", "f", '{"a":1}', 0, "their sig"),
            ToolCall("fc_1|x", "g", "{}", 1),
            Native("web_search", b"{}"),
            file(file_id="file-1"),
            Refusal("No."),
        ),
        foreign=True,
    )
    (raw,) = composition.messages
    assert json.loads(raw) == {
        "role": "model",
        "parts": [
            {"text": "Let me see."},
            {
                "functionCall": {"id": "toolu_1", "name": "f", "args": {"a": 1}},
                "thoughtSignature": SKIP,
            },
            {"functionCall": {"id": GEMINI.call_id("fc_1|x", ""), "name": "g", "args": {}}},
            {"text": "No."},
        ],
    }
    assert [loss.part for loss in composition.losses] == [
        "thought",
        "thought_signature",
        "thought_signature",
        "thought_signature",
        "web_search",
        "file",
        "refusal",
    ]


def test_a_foreign_result_goes_under_the_id_that_its_call_was_given() -> None:
    call, result = ToolCall("fc_1|x", "g"), ToolResult("fc_1|x", "g", (Text("ok"),))
    (called,) = GEMINI.compose(assistant(call), foreign=True).messages
    (answered,) = GEMINI.compose(Draft("tool", (result,)), foreign=True).messages
    calls = Message(GEMINI, called).tool_calls
    assert calls[0].id == Message(GEMINI, answered).tool_call_id != "fc_1|x"
    assert GEMINI.paired(calls, [answered])


def test_call_ids_that_gemini_can_say_stay_and_others_never_meet() -> None:
    kept = ["call_1", "toolu_01A-b", "a.b:c"]
    changed = ["a|b", "a b", "a_b" * 40, "é", "\ud800", "", "x" * 65]
    assert [GEMINI.call_id(one, "0") for one in kept] == kept
    mapped = [GEMINI.call_id(one, "0") for one in changed]
    assert len({*mapped, *kept}) == len(mapped) + len(kept)
    assert mapped == [GEMINI.call_id(one, "0") for one in changed]
    assert all(one.isascii() and 0 < len(one) <= 64 for one in mapped)
    assert [GEMINI.call_id(one, "1") for one in mapped] == mapped
    assert GEMINI.call_id("", "1") != GEMINI.call_id("", "2")


# -- properties -------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), max_size=20)
signatures = st.none() | st.just("c2lnbmVk")
names = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
objects = st.dictionaries(words, st.none() | st.integers(-9, 9) | words, max_size=3)
spoken = st.builds(Text, words, signatures)
shown = st.builds(
    Media,
    st.just("image"),
    st.just("image/png"),
    st.binary(min_size=1, max_size=9).map(lambda data: base64.b64encode(data).decode()),
)
replies = st.lists(
    spoken
    | shown
    | st.builds(Thought, words, signatures)
    | st.builds(
        ToolCall,
        words,
        names,
        objects.map(lambda args: rawjson.dump(args).decode()),
        thought_signature=signatures,
    ),
    min_size=1,
    max_size=5,
)


@given(replies)
def test_what_was_said_reads_as_what_was_meant(parts: list[Part]) -> None:
    counted = iter(range(len(parts)))
    meant = tuple(
        ToolCall(part.id, part.name, part.arguments, next(counted), part.thought_signature)
        if isinstance(part, ToolCall)
        else part
        for part in parts
    )
    message = GEMINI.message(said(assistant(*parts)))
    assert message.parts == meant
    assert said(assistant(*message.parts)) == message.raw
    assert not message.extra


@given(replies)
def test_nothing_foreign_is_left_and_nothing_is_lost_unlisted(parts: list[Part]) -> None:
    composition = GEMINI.compose(assistant(*parts), foreign=True)
    kept = [part for raw in composition.messages for part in Message(GEMINI, raw).parts]
    signed = [part for part in kept if getattr(part, "thought_signature", None)]
    calls = [part for part in kept if isinstance(part, ToolCall)]
    assert signed == calls[:1]
    assert all(call.thought_signature == SKIP for call in calls[:1])
    lost = [loss.part for loss in composition.losses]
    assert lost.count("thought") == sum(isinstance(part, Thought) for part in parts)
    assert lost.count("thought_signature") == sum(
        getattr(part, "thought_signature", None) is not None
        for part in parts
        if not isinstance(part, Thought)
    )


@given(replies)
def test_the_official_types_take_every_answer_that_is_composed(parts: list[Part]) -> None:
    types.Content.model_validate(json.loads(said(assistant(*parts))))


def test_the_signature_of_a_native_part_is_read_and_said_once() -> None:
    """It is in the raw part already; only a part that was made without it is given it."""
    part = b'{"executableCode":{"code":"1"},"thoughtSignature":"c2ln"}'
    message = GEMINI.message(b'{"role":"model","parts":[' + part + b"]}")
    assert message.thought_signatures == ("c2ln",)
    assert said(assistant(*message.parts)) == message.raw
    bare = Native("executableCode", b'{"executableCode":{"code":"1"}}', "c2ln")
    assert said(assistant(bare)) == message.raw
