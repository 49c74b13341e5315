"""The Anthropic dialect: what it reads, says, asks, and takes for an answer."""

from __future__ import annotations

import base64
import json
import types
import typing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, Union

import pydantic
import pytest
import typing_extensions
from anthropic.types import message_create_params, message_param
from anthropic.types.beta import beta_message_param
from hypothesis import given
from hypothesis import strategies as st

from hansard import rawjson
from hansard.dialects.anthropic.dialect import MAX_TOKENS, Anthropic
from hansard.dialects.dialect import Ask, ToolSpec
from hansard.errors import DecodeError, Invalid, Unsayable
from hansard.messages import (
    Draft,
    Media,
    Native,
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hansard.rawjson import JSON, JSONObject

WIRE = Path(__file__).parents[2] / "data" / "wire" / "anthropic"
MESSAGES = sorted(WIRE.glob("message_*.json"))
KNOWN = [path for path in MESSAGES if path.stem not in {"message_odd", "message_beta"}]
DIALECT = Anthropic()


def native(name: str) -> bytes:
    return (WIRE / f"{name}.json").read_bytes()


def said(draft: Draft, **how: bool) -> dict[str, Any]:
    (raw,) = DIALECT.compose(draft, **how).messages
    parsed: dict[str, Any] = json.loads(raw)
    return parsed


def body_of(ask: Ask) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(DIALECT.request(ask).body)
    return parsed


def accepts(hint: object, value: object) -> bool:  # noqa: PLR0911
    """Say whether a type of the official client takes a value, with no member it does not name.

    The client's own validation lets unknown members pass; this does not.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint in (Any, object):
        return True
    if origin in (typing_extensions.Required, typing_extensions.NotRequired, typing.Annotated):
        return accepts(inner[0], value)
    if origin in (Union, types.UnionType):
        return any(accepts(option, value) for option in inner)
    if origin in (Literal, typing_extensions.Literal):
        return value in inner
    if typing_extensions.is_typeddict(hint):
        hints = typing_extensions.get_type_hints(hint, include_extras=True)
        needed = {key for key, of in hints.items() if is_required(hint, key, of)}
        return has_members(value, needed, hints) and all(
            accepts(hints[key], item) for key, item in value.items()
        )
    if isinstance(hint, type) and issubclass(hint, pydantic.BaseModel):
        return fits_model(hint, value)
    if origin is dict:
        return isinstance(value, dict) and all(accepts(inner[1], item) for item in value.values())
    if origin is not None:
        return isinstance(value, list) and all(accepts(inner[0], item) for item in value)
    if isinstance(value, bool):
        return hint is bool
    return (
        isinstance(hint, type)
        and hint in (str, int, float, bool, type(None))
        and (isinstance(value, hint) or (hint is float and isinstance(value, int)))
    )


def has_members(
    value: object, needed: set[str], known: Mapping[str, object]
) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and needed <= value.keys() <= known.keys()


def fits_model(model: type[pydantic.BaseModel], value: object) -> bool:
    """Answers are accepted as messages, so a message may be spelled in an answer's types."""
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    needed = {name for name, field in fields.items() if field.is_required()}
    return has_members(value, needed, fields) and all(
        accepts(fields[key].annotation, item) for key, item in value.items()
    )


def is_required(owner: object, key: str, hint: object) -> bool:
    """Look at both: a class does not see a ``Required`` that is still text."""
    origin = typing.get_origin(hint)
    if origin is typing_extensions.Required:
        return True
    required: frozenset[str] = getattr(owner, "__required_keys__", frozenset())
    return key in required and origin is not typing_extensions.NotRequired


# -- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.stem)
def test_a_message_is_kept_as_it_was_spelled(path: Path) -> None:
    """Compaction takes away nothing but white space, and what is sent has those bytes."""
    raw = path.read_bytes()
    message = DIALECT.message(raw)
    assert message.raw == rawjson.compact(raw)
    request = DIALECT.request(Ask("m", [DIALECT.splice(message.raw)]))
    assert b'"messages":[' + message.raw + b"]}" in request.body
    assert DIALECT.unsplice([DIALECT.splice(message.raw)]) == message.raw


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.stem)
def test_every_block_is_read_as_one_part(path: Path) -> None:
    """Nothing in a content goes unseen: what no part knows is native."""
    message = DIALECT.message(path.read_bytes())
    content = json.loads(message.raw, strict=False)["content"]
    assert len(message.parts) == (1 if isinstance(content, str) else len(content))


def test_reasoning_is_read_with_its_signatures_and_stays_out_of_the_text() -> None:
    """Also where it is empty, or redacted."""
    message = DIALECT.message(native("message_assistant"))
    assert message.thoughts == (
        Thought("Weather first.", "EqQBCkYIARgCKkA="),
        Thought("", "EuYBCkQYAiJAf3k="),
        Thought(redacted="EmwKAhgBEgy3va3p"),
    )
    assert message.text == "It is mild.Let me look."


def test_calls_are_numbered_and_keep_their_arguments_as_text() -> None:
    """1.50 stays 1.50."""
    first, second = DIALECT.message(native("message_assistant")).tool_calls
    assert first == ToolCall("toolu_01", "get_weather", '{"city":"Leeds","days":1.50}', 0)
    assert (second.id, second.parsed, second.position) == ("toolu_02", {}, 1)


def test_what_no_part_covers_is_found_by_its_path() -> None:
    """Citations, callers, cache marks, and whatever comes next year."""
    extra = DIALECT.message(native("message_assistant")).extra
    assert list(extra) == [
        "content[3].citations",
        "content[4].citations",
        "content[6].caller",
        "content[6].toolset_name",
    ]
    odd = DIALECT.message(native("message_odd")).extra
    assert odd["confidence"] == 1e5
    assert odd["content[0].zeta"] == 1.5
    assert odd["content[1].mood"] == {"x": [1, 2]}
    results = DIALECT.message(native("message_results")).extra
    assert results == {"content[1].cache_control": {"type": "ephemeral"}}


def test_members_inside_of_results_and_sources_are_found_too() -> None:
    """A path leads all the way down."""
    raw = (
        b'{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":['
        b'{"type":"image","source":{"type":"url","url":"u","dpi":1.50},"alt":"x"}]}]}'
    )
    assert DIALECT.message(raw).extra == {
        "content[0].content[0].alt": "x",
        "content[0].content[0].source.dpi": 1.5,
    }


def test_a_source_of_no_kind_leaves_its_block_native() -> None:
    """Not even where it has a member without a name."""
    raw = b'{"role":"user","content":[{"type":"image","source":{"":"base64","data":"iVBO"}}]}'
    (part,) = DIALECT.message(raw).parts
    assert isinstance(part, Native)


def test_images_and_documents_are_read_from_every_kind_of_source() -> None:
    """A plain text document reads as the bytes of that text."""
    parts = DIALECT.message(native("message_user_blocks")).parts
    assert [part for part in parts if isinstance(part, Media)] == [
        Media("image", "image/png", base64="iVBORw0KGgo="),
        Media("image", url="https://example.com/a.jpg"),
        Media("image", file_id="file_011abc"),
        Media("file", "application/pdf", base64="JVBERi0xLjcK", name="Survey"),
        Media(
            "file",
            "text/plain",
            base64=base64.b64encode("Nidd, 95 km é".encode()).decode(),
            name="Notes",
        ),
        Media("file", url="https://example.com/b.pdf"),
        Media("file", file_id="file_012def"),
    ]
    kinds = [part.kind for part in parts if isinstance(part, Native)]
    assert kinds == ["document", "search_result", "container_upload"]


def test_results_are_read_in_order_with_their_content() -> None:
    """An empty result is a result. Text beside them makes it a user's message."""
    message = DIALECT.message(native("message_results"))
    assert message.role == "user"
    assert [result.call_id for result in message.tool_results] == [
        "toolu_01",
        "toolu_02",
        "toolu_03",
        "toolu_04",
    ]
    first, second, third, fourth = message.tool_results
    assert first.text == "12 degrees"
    assert [type(part) for part in second.content] == [Text, Media, Media, Native, Native]
    assert third.content == ()
    assert (fourth.is_error, fourth.text, fourth.position) == (True, "no such city", 3)
    assert message.text == "Be brief."


def test_a_message_of_results_alone_has_the_role_of_a_tool() -> None:
    """The wire says user; who speaks is a tool."""
    assert DIALECT.message(native("message_bare_results")).role == "tool"


def test_blocks_of_server_tools_are_native_and_no_calls() -> None:
    """Nobody here is to answer them."""
    message = DIALECT.message(native("message_server_tools"))
    assert message.tool_calls == ()
    assert message.tool_results == ()
    assert message.text == "It rises on Great Whernside."
    first = message.parts[0]
    assert isinstance(first, Native)
    assert first.kind == "server_tool_use"
    assert first.raw in message.raw


def test_a_native_system_message_is_read_as_one() -> None:
    """Newer models take it in mid-conversation."""
    assert DIALECT.message(native("message_system")).role == "system"


def test_odd_blocks_are_native_and_never_raise() -> None:
    """An unknown type, a source nobody knows, a text that is no text, no object at all."""
    parts = DIALECT.message(native("message_odd")).parts
    kinds = [part.kind for part in parts if isinstance(part, Native)]
    assert kinds == ["hologram", "image", "text", "content", "content"]
    assert parts[0] == Text("a \ud800 b / é é")


@pytest.mark.parametrize(
    ("raw", "role", "parts"),
    [
        (b"{}", "user", ()),
        (b'{"role":"assistant"}', "assistant", ()),
        (b'{"role":"assistant","content":null}', "assistant", ()),
        (b'{"role":"assistant","content":""}', "assistant", ()),
        (b'{"role":"assistant","content":[]}', "assistant", ()),
        (b'{"role":"user","content":7}', "user", (Native("content", b"7"),)),
        (b'{"role":"oracle","content":"x"}', "user", (Text("x"),)),
        (b'{"role":null,"content":[[]]}', "user", (Native("content", b"[]"),)),
    ],
)
def test_absent_and_unknown_things_read_as_something(
    raw: bytes, role: str, parts: tuple[object, ...]
) -> None:
    """Nothing but what is no object is refused."""
    message = DIALECT.message(raw)
    assert (message.role, message.parts) == (role, parts)


def test_an_unknown_role_is_not_hidden() -> None:
    """It reads as the user's, and the word itself is among the extras."""
    assert DIALECT.message(b'{"role":"oracle","content":"x"}').extra == {"role": "oracle"}


def test_what_is_no_object_is_no_message() -> None:
    """The error names the dialect and has a stable reason."""
    with pytest.raises(DecodeError) as caught:
        DIALECT.message(b'["user"]')
    assert (caught.value.reason, caught.value.dialect) == ("corrupt_message", "anthropic")


WORDS = st.sampled_from(
    [
        "text",
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "image",
        "document",
        "base64",
        "url",
        "user",
        "",
        "\ud800",
    ]
)
NAMES = st.sampled_from(
    ["type", "text", "id", "input", "name", "content", "source", "data", "url", "tool_use_id", "x"]
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(1e300) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(role=ANY_JSON, content=ANY_JSON)
def test_no_content_however_odd_makes_any_rule_raise(role: object, content: object) -> None:
    """What the wire may come up with is read, judged, projected and split, never refused."""
    raw = DIALECT.message(rawjson.dump({"role": role, "content": content})).raw
    fragments, rest = DIALECT.split_results(raw)
    assert all(fragment.raw in raw for fragment in fragments)
    assert (rest == raw) is (not fragments)
    DIALECT.paired([ToolCall("a", "f")], [raw])
    DIALECT.frame([b"{}"], [raw])
    DIALECT.parse(raw)
    sent = DIALECT.project(raw)
    assert sent == raw or any(mark in raw for mark in DIALECT.cut_marks)
    assert sent is None or DIALECT.project(sent) == sent
    message = DIALECT.message(raw)
    assert DIALECT.may_have_calls(raw) or not (message.tool_calls or message.tool_results)


# -- saying -----------------------------------------------------------------------------------


def test_a_lone_text_is_said_as_a_string() -> None:
    """The shortest spelling there is."""
    (message,) = DIALECT.say(user("Hello <é>"))
    assert message.raw == '{"role":"user","content":"Hello <é>"}'.encode()


def test_several_parts_are_said_as_blocks_in_order() -> None:
    """With the members in the order of the provider's documentation."""
    draft = user("See:", image(b"\x89PNG", "image/png"), file(b"%PDF", "application/pdf", name="S"))
    assert DIALECT.say(draft)[0].raw == (
        b'{"role":"user","content":[{"type":"text","text":"See:"},'
        b'{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="}},'
        b'{"type":"document","source":{"type":"base64","media_type":"application/pdf",'
        b'"data":"JVBERg=="},"title":"S"}]}'
    )


def test_references_are_said_in_place_of_bytes() -> None:
    """By address, or by the id of a file."""
    blocks = said(user(image(url="https://e.com/a"), file(file_id="file_1")))["content"]
    assert [block["source"] for block in blocks] == [
        {"type": "url", "url": "https://e.com/a"},
        {"type": "file", "file_id": "file_1"},
    ]


def test_an_answer_is_said_with_signed_thoughts_and_calls() -> None:
    """Signatures can be attached by hand."""
    draft = assistant(
        Thought("hm", "sig"), Thought(redacted="xyz"), "Well.", ToolCall("t1", "f", '{"a": 1.50}')
    )
    assert DIALECT.say(draft)[0].raw == (
        b'{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},'
        b'{"type":"redacted_thinking","data":"xyz"},{"type":"text","text":"Well."},'
        b'{"type":"tool_use","id":"t1","name":"f","input":{"a":1.50}}]}'
    )


def test_a_native_part_is_spliced_as_it_is() -> None:
    """Every token as spelled."""
    raw = b'{"type":"hologram","beam":1e5}'
    (message,) = DIALECT.say(user("x", Native("hologram", raw)))
    assert raw in message.raw


def test_results_in_a_draft_come_before_everything_else() -> None:
    """As the API demands, whatever the order they were given in."""
    draft = user("Be brief.", ToolResult("t1", content=(Text("4"),)))
    assert [block["type"] for block in said(draft)["content"]] == ["tool_result", "text"]


def test_a_stored_system_message_is_said_as_the_user_in_a_frame() -> None:
    """There is no other way for most models."""
    assert said(system("Use ", "metric {units}.")) == {
        "role": "user",
        "content": "<system>\nUse metric {units}.\n</system>",
    }
    both = said(system("Look", image(url="https://e.com/a")))["content"]
    assert both[0]["text"] == "<system>\nLook\n</system>"
    assert both[1]["type"] == "image"


def test_a_subclass_may_say_system_messages_natively() -> None:
    """For the models that take them."""

    class Newest(Anthropic):
        system_midway = True

    composition = Newest().compose(system("In French.", image(url="https://e.com/a")))
    assert composition.messages == (
        b'{"role":"system","content":[{"type":"text","text":"In French."}]}',
    )
    assert [loss.part for loss in composition.losses] == ["image"]


@pytest.mark.parametrize(
    ("draft", "part"),
    [
        (user(audio(b"x", "audio/wav")), "audio"),
        (user(image(b"x", "image/tiff")), "image"),
        (user(file(b"x", "text/csv")), "file"),
        (user(file(b"\xff", "text/plain")), "file"),
        (user(image(url="https://e.com", name="a.png")), "name"),
        (user(Text("x", "sig")), "thought_signature"),
        (user(Thought("x", "sig")), "thought"),
        (user(ToolCall("t", "f")), "toolcall"),
        (assistant(image(url="https://e.com")), "image"),
        (assistant(ToolResult("t")), "toolresult"),
        (assistant(Thought("unsigned")), "thought"),
        (assistant(Thought("x", "sig", redacted="y")), "thought"),
        (assistant(Refusal("No.")), "refusal"),
        (assistant(ToolCall("t", "f", '{"cut')), "toolcall"),
        (assistant(ToolCall("t", "f", "[1]")), "toolcall"),
        (assistant(ToolCall("t", "f", "free text", custom=True)), "toolcall"),
        (assistant(ToolCall("t", "f", "{}", thought_signature="s")), "thought_signature"),
    ],
)
def test_what_has_no_words_is_a_loss_and_not_said_silently(draft: Draft, part: str) -> None:
    """`say` refuses, `compose` lists it."""
    assert [loss.part for loss in DIALECT.compose(draft).losses] == [part]
    with pytest.raises(Unsayable):
        DIALECT.say(draft)


def test_the_rest_is_still_said_beside_a_loss() -> None:
    """A refusal's words stay as text."""
    composition = DIALECT.compose(assistant("Well.", Refusal("No."), ToolCall("t", "f", "{")))
    assert json.loads(composition.messages[0])["content"] == [
        {"type": "text", "text": "Well."},
        {"type": "text", "text": "No."},
    ]
    assert len(composition.losses) == 2
    assert DIALECT.compose(assistant(Thought("unsigned"))).messages == ()


def test_a_foreign_draft_leaves_behind_what_only_its_provider_can_read() -> None:
    """Thoughts, signatures, native parts and file handles are listed; ids are mapped alike."""
    answer = assistant(
        Thought("hm", "sig"),
        Text("Well.", "sig"),
        Native("item", b"{}"),
        ToolCall("fc|1", "f", "{}"),
    )
    composition = DIALECT.compose(answer, foreign=True)
    parts = [loss.part for loss in composition.losses]
    assert parts == ["thought", "thought_signature", "item"]
    call_id = json.loads(composition.messages[0])["content"][-1]["id"]
    assert call_id == DIALECT.call_id("fc|1", "")
    results = user(ToolResult("fc|1", "f", (Text("4"), image(file_id="x"), Native("k", b"{}"))))
    composition = DIALECT.compose(results, foreign=True)
    assert [loss.part for loss in composition.losses] == ["image", "k"]
    assert json.loads(composition.messages[0])["content"][0]["tool_use_id"] == call_id


def test_a_foreign_call_without_an_id_gets_the_same_as_its_result() -> None:
    """From its name and place."""
    call = said(assistant(ToolCall("", "f", "{}", 2)), foreign=True)["content"][0]["id"]
    result = said(user(ToolResult("", "f", (), position=2)), foreign=True)["content"][0]
    assert call == result["tool_use_id"]
    assert call.startswith("call_f_2_")


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_what_was_read_can_be_said_again(path: Path) -> None:
    """The parts of a message make a message of the same parts."""
    message = DIALECT.message(path.read_bytes())
    if message.role == "system":
        return
    draft = Draft(message.role, message.parts)
    again = DIALECT.compose(draft)
    assert again.losses == ()
    assert DIALECT.message(again.messages[0]).parts == message.parts


# -- results ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "members"),
    [
        (ToolResult("", content=(Text("4"),)), {"content": "4"}),
        (ToolResult(""), {}),
        (ToolResult("", content=(Text(""),)), {}),
        (ToolResult("", content=(Text("no"),), is_error=True), {"content": "no", "is_error": True}),
        (
            ToolResult("", content=(Text("a"), Text("b"))),
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        ),
    ],
)
def test_a_result_is_said_for_its_call(result: ToolResult, members: dict[str, object]) -> None:
    """Empty ones too: the API takes a result without content."""
    said = json.loads(DIALECT.result(ToolCall("t1", "f"), result))
    assert said == {"type": "tool_result", "tool_use_id": "t1", **members}


def test_an_error_without_words_gets_some() -> None:
    """The API refuses an error with nothing in it."""
    said = json.loads(DIALECT.result(ToolCall("t1", "f"), ToolResult("t1", is_error=True)))
    assert said["is_error"] is True
    assert said["content"]


def test_a_result_may_hold_images_documents_and_native_blocks() -> None:
    """But no sound."""
    native = Native("tool_reference", b'{"type":"tool_reference","tool_name":"x"}')
    call = ToolCall("t1", "f")
    raw = DIALECT.result(call, call.answer([Text("a"), image(b"x", "image/gif"), native]))
    assert [block["type"] for block in json.loads(raw)["content"]] == [
        "text",
        "image",
        "tool_reference",
    ]
    with pytest.raises(Unsayable, match="audio"):
        DIALECT.result(call, call.answer(audio(b"x", "audio/wav")))


def test_all_results_go_into_one_message_with_what_the_user_said_after_them() -> None:
    """The stored bytes stand in it as they are; other messages follow."""
    call = ToolCall("t1", "f")
    fragments = [DIALECT.result(call, call.answer("4")), DIALECT.interrupted(ToolCall("t2", "g"))]
    later = [
        b'{"role":"user","content":"Be brief."}',
        b'{"role":"user","content":[{"type":"text","text":"And kind.","cache_control":null}]}',
        b'{"role":"assistant","content":"Yes."}',
        b'{"role":"user","content":"Thanks."}',
    ]
    framed, *after = DIALECT.frame(fragments, later)
    assert framed == (
        b'{"role":"user","content":['
        + b",".join(fragments)
        + b',{"type":"text","text":"Be brief."}'
        + b',{"type":"text","text":"And kind.","cache_control":null}]}'
    )
    assert after == later[2:]


def test_framing_without_results_changes_nothing() -> None:
    """And a user message with members of its own is not taken apart."""
    later = (b'{"role":"user","content":"x"}',)
    assert DIALECT.frame((), later) == later
    odd = b'{"role":"user","content":"x","mood":1}'
    assert DIALECT.frame((b'{"type":"tool_result"}',), (odd,))[1] == odd


def test_results_are_taken_out_of_a_message_as_they_stand() -> None:
    """What is left keeps its other members."""
    raw = rawjson.compact(native("message_results"))
    fragments, rest = DIALECT.split_results(raw)
    assert [fragment.call_id for fragment in fragments] == [
        "toolu_01",
        "toolu_02",
        "toolu_03",
        "toolu_04",
    ]
    assert all(fragment.raw in raw for fragment in fragments)
    assert rest == b'{"role":"user","content":[{"type":"text","text":"Be brief."}]}'
    assert DIALECT.frame([fragment.raw for fragment in fragments], [rest]) == (raw,)
    bare = rawjson.compact(native("message_bare_results"))
    assert DIALECT.split_results(bare)[1] is None
    plain = b'{"role":"user","content":"x"}'
    assert DIALECT.split_results(plain) == ((), plain)


@pytest.mark.parametrize(
    ("after", "in_order"),
    [
        (["ab"], True),
        (["ba"], True),
        (["ab."], True),
        (["a", "b."], True),
        ([], False),
        (["a"], False),
        (["abc"], False),
        (["aab"], False),
        ([".ab"], False),
        (["a.b"], False),
        (["a", ".", "b"], False),
        (["ab", ".a"], False),
        (["a", "!", "b"], False),
    ],
)
def test_calls_are_paired_when_the_user_begins_with_their_results(
    after: list[str],
    *,
    in_order: bool,
) -> None:
    """Letters are results, a dot is text, an exclamation mark the assistant."""
    blocks = {"a": {"type": "tool_result", "tool_use_id": "a"}, ".": {"type": "text", "text": "x"}}
    blocks |= {mark: {"type": "tool_result", "tool_use_id": mark} for mark in "bc"}
    messages = [
        rawjson.dump({"role": "assistant", "content": "x"})
        if marks == "!"
        else rawjson.dump({"role": "user", "content": [blocks[mark] for mark in marks]})
        for marks in after
    ]
    assert DIALECT.paired([ToolCall("a", "f"), ToolCall("b", "g")], messages) is in_order


# -- asking -----------------------------------------------------------------------------------


def test_a_request_has_everything_in_its_place_and_the_messages_last() -> None:
    """Tools' schemas go out as they are."""
    schema: JSONObject = {"type": "object", "properties": {"b": {}, "a": {}}, "$defs": {}}
    server = b'{"type":"web_search_20250305","name":"web_search"}'
    request = DIALECT.request(
        Ask(
            "claude-test-1",
            [b'{"role":"user","content":"x"}'],
            system=[system("Be terse.")],
            tools=[
                ToolSpec("f", "Does f.", schema, strict=True),
                ToolSpec("g"),
                ToolSpec("", native=server),
            ],
            tool_choice="required",
            output={"type": "object", "additionalProperties": False},
            stream=True,
            parameters={"temperature": 0.7, "thinking": {"type": "adaptive"}},
        )
    )
    assert request.path == "/v1/messages"
    assert dict(request.headers) == {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
    }
    assert request.body == (
        b'{"model":"claude-test-1","max_tokens":%d,"system":"Be terse.","tools":['
        b'{"name":"f","description":"Does f.","input_schema":{"type":"object","properties":'
        b'{"b":{},"a":{}},"$defs":{}},"strict":true},'
        b'{"name":"g","input_schema":{"type":"object","properties":{}}},%s],'
        b'"tool_choice":{"type":"any"},'
        b'"output_config":{"format":{"type":"json_schema",'
        b'"schema":{"type":"object","additionalProperties":false}}},'
        b'"stream":true,"temperature":0.7,"thinking":{"type":"adaptive"},'
        b'"messages":[{"role":"user","content":"x"}]}' % (MAX_TOKENS, server)
    )


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("get_weather", {"type": "tool", "name": "get_weather"}),
    ],
)
def test_a_choice_of_tools_is_said_in_the_wires_words(choice: str, said: object) -> None:
    """Anything else is the name of a tool."""
    assert body_of(Ask("m", tool_choice=choice))["tool_choice"] == said


def test_parameters_win_and_objects_merge() -> None:
    """So that effort can stand beside a format, and a choice keep its flag."""
    body = body_of(
        Ask(
            "m",
            system=[system("x")],
            tool_choice="auto",
            output={"type": "object", "additionalProperties": False},
            parameters={
                "max_tokens": 5,
                "model": "n",
                "system": [{"type": "text", "text": "y"}],
                "tool_choice": {"disable_parallel_tool_use": True},
                "output_config": {"effort": "low", "format": {"schema": {"type": "array"}}},
            },
        )
    )
    assert (body["model"], body["max_tokens"]) == ("n", 5)
    assert body["system"] == [{"type": "text", "text": "y"}]
    assert body["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert body["output_config"] == {
        "format": {"type": "json_schema", "schema": {"type": "array"}},
        "effort": "low",
    }


def test_a_parameter_of_another_type_replaces_the_whole_object() -> None:
    """A choice of one tool would leave its name behind."""
    ask = Ask("m", tool_choice="f", parameters={"tool_choice": {"type": "auto"}})
    assert body_of(ask)["tool_choice"] == {"type": "auto"}


@pytest.mark.parametrize(("betas", "header"), [(["a-1", "b-2"], "a-1,b-2"), ("a-1", "a-1")])
def test_betas_become_a_header(betas: JSON, header: str) -> None:
    """The body would be refused with them."""
    request = DIALECT.request(Ask("m", parameters={"betas": betas}))
    assert ("anthropic-beta", header) in request.headers
    assert b"betas" not in request.body


def test_messages_among_the_parameters_are_refused() -> None:
    """The body would say them twice."""
    with pytest.raises(Invalid, match=r"Ask\.messages"):
        DIALECT.request(Ask("m", parameters={"messages": []}))


def test_leading_system_text_may_have_several_parts() -> None:
    """Native ones too, such as text with a mark for the cache; but no pictures."""
    marked = Native("text", b'{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}')
    body = body_of(Ask("m", system=[system("a", ""), system(marked)]))
    assert body["system"] == [{"type": "text", "text": "a"}, marked.value]
    assert "system" not in body_of(Ask("m", system=[system("")]))
    with pytest.raises(Unsayable, match="image"):
        DIALECT.request(Ask("m", system=[system(image(url="https://e.com"))]))


def test_each_request_begins_with_the_bytes_of_the_one_before() -> None:
    """Up to the closing brackets, so that a cache can hold it."""
    messages = [b'{"role":"user","content":"%d"}' % number for number in range(5)]
    bodies = [
        DIALECT.request(Ask("m", messages[: count + 1], tools=[ToolSpec("f")])).body
        for count in range(5)
    ]
    assert all(later.startswith(sooner[:-2]) for sooner, later in pairwise(bodies))
    assert (
        DIALECT.request(Ask("m", [b",".join(messages)], tools=[ToolSpec("f")])).body == bodies[-1]
    )


@pytest.mark.parametrize("path", KNOWN, ids=lambda path: path.stem)
def test_the_official_client_knows_every_message_we_know(path: Path) -> None:
    """With its own types, and no member that they do not name."""
    assert accepts(message_param.MessageParam, json.loads(path.read_bytes()))


def test_the_official_client_knows_the_blocks_that_are_in_beta() -> None:
    """Compaction, the MCP connector and fallbacks."""
    message = json.loads(native("message_beta"))
    assert accepts(beta_message_param.BetaMessageParam, message)
    assert not accepts(message_param.MessageParam, message)


@pytest.mark.parametrize(
    "stray",
    [
        {"role": "user", "content": "x", "stray": 1},
        {"role": "tool", "content": "x"},
        {"role": "user"},
        {"role": "user", "content": [{"type": "text", "text": "x", "stray": 1}]},
        {"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": "{"}]},
    ],
)
def test_the_check_against_the_official_types_can_fail(stray: object) -> None:
    """Or it would prove nothing."""
    assert not accepts(message_param.MessageParam, stray)


@pytest.mark.parametrize("stream", [False, True])
def test_the_official_client_accepts_every_request_we_make(*, stream: bool) -> None:
    """Everything that a draft, a tool and an ask can say."""
    call = ToolCall("toolu_01", "f", '{"a":1}')
    drafts = [
        user("Hi", image(b"x", "image/webp"), image(url="https://e.com"), image(file_id="f")),
        user(file(b"x", "application/pdf", name="n"), file(b"x", "text/plain"), file(file_id="f")),
        assistant(Thought("hm", "sig"), Thought(redacted="x"), "Well.", call),
    ]
    messages = [message.raw for draft in drafts for message in DIALECT.say(draft)]
    fragments = [DIALECT.result(call, call.answer([Text("a"), image(b"x", "image/png")]))]
    messages += DIALECT.frame([*fragments, DIALECT.interrupted(call)], [messages[0]])
    messages += [message.raw for message in DIALECT.say(system("Metric."))]
    ask = Ask(
        "m",
        messages,
        system=[system("a"), system("b")],
        tools=[ToolSpec("f", "F.", strict=True)],
        tool_choice="f",
        output={"type": "object", "additionalProperties": False},
        parameters={"output_config": {"effort": "low"}, "thinking": {"type": "adaptive"}},
        stream=stream,
    )
    kind = "Streaming" if stream else "NonStreaming"
    params = getattr(message_create_params, f"MessageCreateParams{kind}")
    assert accepts(params, body_of(ask))
    assert not accepts(params, body_of(ask) | {"stray": 1})


# -- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "finish", "problems"),
    [
        ("text", "stop", []),
        ("tools", "tool_calls", []),
        ("max_tokens", "length", []),
        ("stop_sequence", "stop", []),
        ("paused", "paused", []),
        ("compacted", "paused", []),
        ("overflow", "overflow", []),
        ("refused", "refused", []),
        ("future", "other", []),
        ("blocked", "refused", ["blocked"]),
        ("empty", "stop", ["empty"]),
        ("empty_text", "stop", ["empty"]),
        ("bad_input", "length", ["bad_arguments"]),
        ("error", None, ["provider_error"]),
    ],
)
def test_an_answer_is_judged(name: str, finish: str | None, problems: list[str]) -> None:
    """Every stop reason has its word, and what is wrong has its code."""
    answer = DIALECT.parse(native(f"answer_{name}"))
    assert answer.finish == finish
    assert [problem.code for problem in answer.problems] == problems
    assert answer.valid is not bool(problems)


def test_the_message_of_an_answer_is_its_role_and_content_verbatim() -> None:
    """The rest is refused in a message: it belongs to the answer."""
    body = native("answer_future")
    answer = DIALECT.parse(body)
    fields = rawjson.fields(rawjson.compact(body))
    assert answer.raw == b'{"role":"assistant","content":' + fields["content"] + b"}"
    assert (answer.model, answer.response_id) == ("claude-test-1", "msg_01future")
    assert answer.finish_raw == "beamed_up"


def test_usage_counts_the_whole_prompt_and_keeps_the_providers_figures() -> None:
    """Cached or not, input is input."""
    usage = DIALECT.parse(native("answer_tools")).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (4320, 50, 4370)
    assert (usage.cached_tokens, usage.cache_write_tokens, usage.reasoning_tokens) == (
        4000,
        300,
        30,
    )
    assert usage.raw is not None
    assert usage.raw in rawjson.compact(native("answer_tools"))


def test_a_refusal_before_the_first_word_says_why() -> None:
    """There is no message to keep, but a reason to show."""
    (problem,) = DIALECT.parse(native("answer_blocked")).problems
    assert "cyber" in problem.detail
    assert "It could enable harm." in problem.detail


def test_an_error_says_what_the_provider_said() -> None:
    """Its kind and its words."""
    (problem,) = DIALECT.parse(native("answer_error")).problems
    assert problem.detail == "overloaded_error: Overloaded"
    (odd,) = DIALECT.parse(b'{"error":"boom"}').problems
    assert odd.detail == '"boom"'


@pytest.mark.parametrize("body", [b"{}", b"[]", b"null", b'{"content":null}', b'{"content":{}}'])
def test_a_body_without_content_is_no_answer(body: bytes) -> None:
    """Nor a crash."""
    answer = DIALECT.parse(body)
    assert answer.raw is None
    assert [problem.code for problem in answer.problems] == ["no_answer"]


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"content":[', b'"\xff"'])
def test_a_body_that_is_no_json_raises(body: bytes) -> None:
    """There is nothing in it to put on the record."""
    with pytest.raises(DecodeError):
        DIALECT.parse(body)


def test_odd_members_of_an_answer_do_no_harm() -> None:
    """They read as absent."""
    body = b'{"content":["x"],"role":7,"id":[],"model":{},"stop_reason":1,"usage":"many"}'
    answer = DIALECT.parse(body)
    assert (answer.model, answer.response_id, answer.finish, answer.usage) == (None,) * 4


def test_a_cut_input_reads_as_arguments_that_do_not_parse() -> None:
    """The text of it is there, and nothing was added."""
    raw = DIALECT.parse(native("answer_bad_input")).raw
    assert raw is not None
    (call,) = DIALECT.message(raw).tool_calls
    assert call.arguments == '{"a": 1'
    with pytest.raises(DecodeError):
        _ = call.parsed


# -- projection -------------------------------------------------------------------------------


THOUGHT = '{"type":"thinking","thinking":"","signature":"s"}'
CALL = '{"type":"tool_use","id":"a","name":"f","input":{}}'
RESULT = '{"type":"tool_result","tool_use_id":"a"}'


def words(text: str) -> str:
    return '{"type":"text","text":' + json.dumps(text) + "}"


@pytest.mark.parametrize(
    ("role", "before", "after"),
    [
        ("assistant", [words(""), CALL], [CALL]),
        ("assistant", [words("\n "), CALL], [CALL]),
        ("assistant", [words("a"), words(""), words("b")], [words("a"), words("b")]),
        ("assistant", [words("")], None),
        ("assistant", [], None),
        ("user", [RESULT, words("")], [RESULT]),
        ("user", [words(" ")], None),
        ("assistant", [THOUGHT, words(""), THOUGHT, CALL], [THOUGHT, THOUGHT, CALL]),
        ("assistant", [THOUGHT, words(" "), THOUGHT, CALL], [THOUGHT, words(" "), THOUGHT, CALL]),
        ("assistant", [THOUGHT, words("a")], [THOUGHT, words("a")]),
        ("assistant", [words("a"), THOUGHT], [words("a")]),
        ("assistant", [THOUGHT, words("")], None),
        ("assistant", [words(" "), THOUGHT], None),
    ],
)
def test_only_what_the_api_refuses_is_cut(
    role: str, before: list[str], after: list[str] | None
) -> None:
    """Empty text, reasoning that nothing follows, messages with nothing left."""
    spell = '{{"role":"{}","content":[{}]}}'.format
    sent = DIALECT.project(spell(role, ",".join(before)).encode())
    assert sent == (None if after is None else spell(role, ",".join(after)).encode())


@pytest.mark.parametrize("content", [b'""', b'" \\n"', b'"\\u0020"', b"[]"])
def test_a_message_that_says_nothing_is_left_out(content: bytes) -> None:
    """However its content is spelled."""
    assert DIALECT.project(b'{"role":"user","content":' + content + b"}") is None


def test_the_members_of_an_answer_are_cut_from_a_message() -> None:
    """Somebody may have stored a whole answer. What nobody knows stays."""
    raw = rawjson.compact(native("answer_future"))
    assert DIALECT.project(raw) == (
        b'{"role":"assistant","content":[{"type":"hologram","beam":1e5}],"mood":1.50}'
    )
    other = b'{"role":"user","content":"x","id":"7"}'
    assert DIALECT.project(other) == other


@pytest.mark.parametrize("path", MESSAGES, ids=lambda path: path.stem)
def test_what_the_api_takes_is_sent_as_it_is(path: Path) -> None:
    """Byte for byte, except for the one with an empty text."""
    raw = rawjson.compact(path.read_bytes())
    assert (DIALECT.project(raw) == raw) is (path.stem != "message_empty_text")


BLOCKS = st.sampled_from(
    [THOUGHT, CALL, RESULT, words(""), words(" \t"), words("a"), '{"type":"x"}', "7"]
)


@given(st.sampled_from(["user", "assistant", "system"]), st.lists(BLOCKS, max_size=6))
def test_projecting_twice_changes_nothing_more_and_loses_no_call(
    role: str, blocks: list[str]
) -> None:
    """Idempotent, and calls and results are never cut."""
    raw = f'{{"role":"{role}","content":[{",".join(blocks)}]}}'.encode()
    once = DIALECT.project(raw)
    assert once == raw or any(mark in raw for mark in DIALECT.cut_marks)
    if once is None:
        assert not {CALL, RESULT} & {*blocks}
    else:
        assert DIALECT.project(once) == once
        assert once.count(CALL.encode()) == raw.count(CALL.encode())
        assert once.count(RESULT.encode()) == raw.count(RESULT.encode())


# -- ids --------------------------------------------------------------------------------------


@pytest.mark.parametrize("good", ["toolu_01A", "call-1", "x" * 64])
def test_an_id_that_fits_stays(good: str) -> None:
    """Nothing is changed without need."""
    assert DIALECT.call_id(good, "seed") == good


@given(st.text(), st.text(), st.text(max_size=80))
def test_ids_fit_are_stable_and_never_meet(one: str, other: str, seed: str) -> None:
    """Letters, digits, underscores and dashes, 64 at most; the same in, the same out."""
    ids = [DIALECT.call_id(one, seed), DIALECT.call_id(other, seed)]
    assert all(len(made) <= 64 and made.isascii() for made in ids)
    assert all(
        made.replace("_", "").replace("-", "").isalnum() or set(made) <= {*"_-"} for made in ids
    )
    assert DIALECT.call_id(one, seed) == ids[0] == DIALECT.call_id(ids[0], "other seed")
    if one and other and one != other:
        assert ids[0] != ids[1]


def test_ids_that_differ_only_where_they_are_changed_stay_apart() -> None:
    """A hash of what it was is part of the new one."""
    assert DIALECT.call_id("a.b", "") != DIALECT.call_id("a:b", "")
    assert DIALECT.call_id("x" * 65, "") != DIALECT.call_id("x" * 66, "")
