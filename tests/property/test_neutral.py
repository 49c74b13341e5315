"""From any dialect into any: nothing vanishes, all is in order, and the way back is exact."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hansard import rawjson
from hansard.dialects.pairing import repair
from hansard.dialects.registry import dialect
from hansard.errors import DecodeError
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
)
from hansard.neutral import (
    ConversationState,
    convert,
    resume,
    state_messages,
    state_of_messages,
)
from tests.conftest import scale
from tests.property.strategies import ANY_TEXT, json_objects, objects_with_unknown_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hansard.dialects.dialect import Dialect, Loss
    from hansard.neutral import Converted

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")
PAIRS = st.sampled_from(list(permutations(DIALECTS, 2)))

FEW = settings(max_examples=scale(40, 2_000))
"""Conversations take time to make."""


def others(name: str) -> st.SearchStrategy[str]:
    """All dialects but this one."""
    return st.sampled_from([other for other in DIALECTS if other != name])


AT = datetime(2024, 2, 29, 12, 30, tzinfo=UTC)

# -- conversations ----------------------------------------------------------------------------

IDS = st.one_of(
    st.sampled_from(["", "call_1", "call_1_2", "toolu_1", "function_call", "a b", "a:b", "é" * 30]),
    st.sampled_from(["x" * 40, "x" * 41, "x" * 64, "x" * 65, "call_1_3", "\ud800"]),
    st.from_regex(r"[a-z_.:/-]{1,12}", fullmatch=True),
)
NAMES = st.sampled_from(["search", "book", "run.code"])
ARGUMENTS = st.one_of(
    st.sampled_from(["{}", "", '{"a": 1.50, "b": [1e5]}', '{"a":1,"a":2}', '{"a":"\\ud800"}']),
    st.sampled_from(['{"a":', "plain text", "[1]", "null", '"{}"', "\ud800", '{"input":"x"}']),
    json_objects().map(bytes.decode),
)
SIGNATURES = st.sampled_from([None, None, "c2ln"])
TEXTS = st.builds(Text, ANY_TEXT, SIGNATURES)
THOUGHTS = st.one_of(
    st.builds(Thought, ANY_TEXT, SIGNATURES),
    st.builds(lambda data: Thought(redacted=data), st.sampled_from(["", "ZGF0YQ=="])),
)
MEDIA = st.sampled_from(
    [
        Media("image", "image/png", "iVBORw=="),
        Media("image", "image/bmp", "Qk0="),
        Media("image", url="https://example.com/a.png"),
        Media("image", file_id="file-1"),
        Media("file", "application/pdf", "JVBERg==", name="a.pdf"),
        Media("file", "text/plain", "aGk="),
        Media("file", "text/csv", url="gs://bucket/a.csv"),
        Media("file", url="https://example.com/a.pdf", name="a.pdf"),
        Media("file", file_id="file-2"),
        Media("audio", "audio/mpeg", "SUQz"),
        Media("audio", file_id="audio-1"),
        Media("video", "video/mp4", "AAAA"),
    ]
)
NATIVE = st.sampled_from(
    [Native("zz_new", b'{"type":"zz_new","zzNew":{"n":1.50}}'), Native("odd", b'{"zzOdd":[1]}')]
)
CALLS = st.builds(
    ToolCall, IDS, NAMES, ARGUMENTS, st.just(0), SIGNATURES, st.sampled_from([False, False, True])
)
RESULT_TEXTS = st.one_of(
    ANY_TEXT, st.sampled_from(['{"ok": true}', '{"result":"x"}', '{"error":"x"}', "[1]", '{"a":'])
)
SHOWN = st.one_of(st.builds(Text, RESULT_TEXTS), st.builds(Text, RESULT_TEXTS), MEDIA, NATIVE)
CONTENTS = st.lists(SHOWN, max_size=3).map(tuple)
SAID = st.one_of(TEXTS, TEXTS, MEDIA, NATIVE)
WORDS = st.builds(
    Draft,
    st.sampled_from(["user", "user", "system"]),
    st.lists(SAID, min_size=1, max_size=3).map(tuple),
)
ANSWERS = st.lists(
    st.one_of(TEXTS, THOUGHTS, CALLS, CALLS, st.builds(Refusal, ANY_TEXT), MEDIA, NATIVE),
    min_size=1,
    max_size=5,
)


@st.composite
def rounds(draw: st.DrawFn) -> list[Draft]:
    """An answer, and for its calls results: all, some, in another order, or one too many."""
    parts = draw(ANSWERS)
    calls = [part for part in parts if isinstance(part, ToolCall)]
    results: list[ToolResult] = []
    for position, call in enumerate(calls):
        content, is_error = draw(CONTENTS), draw(st.booleans())
        results.append(ToolResult(call.id, call.name, content, is_error, position))
    if results and draw(st.sampled_from([False, False, True])):
        results = draw(st.permutations(results))[draw(st.integers(0, 1)) :]
    if draw(st.sampled_from([False, False, False, True])):
        results.append(ToolResult(draw(IDS), draw(NAMES), draw(CONTENTS)))
    together = draw(st.booleans())
    said = [Draft("assistant", tuple(parts))]
    if together and results:
        said.append(Draft("tool", (*results, *draw(st.lists(TEXTS, max_size=1)))))
    else:
        said += [Draft("tool", (result,)) for result in results]
    return draw(st.sampled_from([said, said, said[::-1]]))


@st.composite
def conversations(draw: st.DrawFn, name: str) -> list[Message]:
    """A conversation as this dialect says it, with fields that nobody knows."""
    speaks = dialect(name)
    drafts: list[Draft] = []
    for _ in range(draw(st.integers(0, 3))):
        drafts += draw(st.lists(WORDS, max_size=2))
        drafts += draw(rounds())
    drafts += draw(st.lists(WORDS, max_size=1))
    raws = [raw for draft in drafts for raw in speaks.compose(draft).messages]
    if speaks.itemized and draw(st.booleans()):
        items = [item for raw in raws for item in rawjson.elements(raw)]
        cut = draw(st.integers(0, len(items)))
        raws = [rawjson.join_array(some) for some in (items[:cut], items[cut:]) if some]
    return [speaks.message(draw(with_unknown_fields(raw))) for raw in raws]


def with_unknown_fields(raw: bytes) -> st.SearchStrategy[bytes]:
    """The message, or the message with some fields more in it."""
    if raw.startswith(b"["):
        first, *rest = rawjson.elements(raw)
        more = objects_with_unknown_fields(first).map(lambda it: rawjson.join_array([it, *rest]))
    else:
        more = objects_with_unknown_fields(raw)
    return st.one_of(st.just(raw), st.just(raw), more)


# -- what became of it --------------------------------------------------------------------------


class Said:
    """What can be read in the messages that came out."""

    def __init__(self, messages: Iterable[Message]) -> None:
        parts = [part for message in messages for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolResult)]
        shown = [part for result in results for part in result.content]
        self.texts = [part.text for part in parts if isinstance(part, Text | Refusal)]
        self.results = [loosely(result.text) for result in results]
        self.media = [each for each in [*parts, *shown] if isinstance(each, Media)]
        self.calls = [call for call in parts if isinstance(call, ToolCall)]
        self.errors = [result for result in results if result.is_error]

    def has_text(self, text: str) -> bool:
        """Whether somebody says this."""
        return not text or any(text in said for said in self.texts)

    def has_result(self, text: str) -> bool:
        """Whether a result says this."""
        return any(loosely(text) in said or wrapped(text) in said for said in self.results)

    def has_media(self, media: Media) -> bool:
        """Whether the same bytes, or the same address, are there."""
        if media.base64 is not None:
            return any(content_of(each) == content_of(media) for each in self.media)
        return any(each.url == media.url for each in self.media if media.url)

    def has_call(self, call: ToolCall) -> bool:
        """Whether a call of that name with these arguments is there."""
        wanted = (call.name, loosely(call.arguments.strip() or "{}"))
        return wanted in [
            (each.name, loosely(each.arguments.strip() or "{}")) for each in self.calls
        ]


def content_of(media: Media) -> bytes | str | None:
    """Give the bytes, or what stands there in the place of base64."""
    try:
        return media.data
    except DecodeError:
        return media.base64


def loosely(text: str) -> str:
    """JSON without the white space between its tokens; other text as it is."""
    try:
        return rawjson.compact(text.encode("utf-8", "backslashreplace")).decode()
    except DecodeError:
        return text


def wrapped(text: str) -> str:
    """What a reader sees of a text that is an object with nothing but a result or an error."""
    try:
        fields = rawjson.fields(rawjson.compact(text.encode("utf-8", "backslashreplace")))
    except DecodeError:
        return text
    inner = [raw for key, raw in fields.items() if key in ("result", "output", "error")]
    if len(fields) != 1 or not inner:
        return text
    return rawjson.unquote(inner[0]) if inner[0].startswith(b'"') else inner[0].decode()


Lost: TypeAlias = "set[tuple[int, str]]"


def missing(index: int, part: Part, said: Said, lost: Lost) -> list[Part]:
    """Give what is neither said nor listed."""
    if isinstance(part, ToolResult) and (index, "toolresult") not in lost:
        inner = [one for each in part.content for one in missing_inside(index, each, said, lost)]
        error_kept = not part.is_error or said.errors or (index, "is_error") in lost
        return inner if error_kept else [*inner, part]
    if (index, kind_of(part)) in lost:
        return []
    if isinstance(part, Text | Refusal):
        found = said.has_text(part.text)
    elif isinstance(part, ToolCall):
        found = said.has_call(part)
    else:
        found = isinstance(part, Media) and said.has_media(part)
    return [] if found or part in (Text(""), Text("", "c2ln")) else [part]


def missing_inside(index: int, part: Part, said: Said, lost: Lost) -> list[Part]:
    """Give what is neither said in a result nor listed."""
    if isinstance(part, Text):
        return [] if said.has_result(part.text) else [part]
    return missing(index, part, said, lost)


def kind_of(part: Part) -> str:
    """Name a part as losses do."""
    if isinstance(part, Media | Native):
        return part.kind
    if isinstance(part, ToolCall) and part.custom:
        return "toolcall"
    return type(part).__name__.lower()


def lost_in(converted: Converted) -> Lost:
    """Which kinds of part are listed, by message."""
    return {(loss.message, loss.part) for loss in converted.report}


LEGAL_IDS = {
    "openai": r"[A-Za-z0-9_-]{1,40}",
    "openai-responses": r"[A-Za-z0-9_-]{1,64}",
    "anthropic": r"[A-Za-z0-9_-]{1,64}",
    "gemini": r"[A-Za-z0-9_.:-]{1,64}",
}


def check_order(to: Dialect, messages: Sequence[Message]) -> None:
    """Whatever came out is what the target could have said, and nothing in it needs repair."""
    raws = [message.raw for message in messages]
    assert [to.message(raw).raw for raw in raws] == raws
    assert repair(to, raws).messages == tuple(raws)
    assert repair(to, raws).repairs == ()
    ids = [call.id for message in messages for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(LEGAL_IDS[to.name], call_id) for call_id in ids)
    if to.user_first:
        assert [message.role for message in messages[:1]] != ["assistant"]
        roles = [message.role for message in messages]
        assert ("assistant", "assistant") not in pairwise(roles)


def explain(losses: Iterable[Loss], left: Sequence[object]) -> str:
    """Say what to look for when a test fails."""
    return f"not said and not listed: {left}\nlisted: {list(losses)}"


# -- from one dialect into another ----------------------------------------------------------------


@pytest.mark.parametrize("target", DIALECTS)
@FEW
@given(data=st.data())
def test_every_part_is_said_or_listed_and_all_is_in_order(target: str, data: st.DataObject) -> None:
    source = data.draw(others(target))
    messages = data.draw(conversations(source))
    to = dialect(target)
    converted = convert(messages, to)
    check_order(to, converted.messages)
    said, lost = Said(converted.messages), lost_in(converted)
    left = [
        part
        for index, message in enumerate(messages)
        for part in message.parts
        if missing(index, part, said, lost)
    ]
    assert not left, explain(converted.report, left)
    unlisted = [
        (index, path)
        for index, message in enumerate(messages)
        for path, found in message.extra.items()
        if found not in (None, "", [], {}) and (index, path) not in lost
    ]
    assert not unlisted, explain(converted.report, unlisted)
    assert convert(messages, to) == converted


@FEW
@given(pair=PAIRS, data=st.data())
def test_signatures_never_leave_their_provider(pair: tuple[str, str], data: st.DataObject) -> None:
    source, target = pair
    messages = data.draw(conversations(source))
    converted = convert(messages, dialect(target))
    assert not any(message.thoughts for message in converted.messages)
    spoken = {name for message in converted.messages for name in message.thought_signatures}
    assert spoken <= {"skip_thought_signature_validator"}
    signed = {at for at, message in enumerate(messages) if message.thought_signatures}
    assert signed <= {loss.message for loss in converted.report}


@pytest.mark.parametrize("name", DIALECTS)
@FEW
@given(data=st.data())
def test_within_one_dialect_it_is_the_identity(name: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(name))
    converted = convert(messages, dialect(name))
    assert converted.messages == tuple(messages)
    assert not converted.report
    assert not converted.repairs


@given(
    names=st.lists(st.sampled_from(DIALECTS), min_size=2, max_size=4).filter(
        lambda names: names[0] != names[1]
    ),
    data=st.data(),
)
def test_one_journey_after_another_stays_in_order(names: list[str], data: st.DataObject) -> None:
    messages: tuple[Message, ...] = tuple(data.draw(conversations(names[0])))
    for name in names[1:]:
        messages = convert(messages, dialect(name)).messages
        check_order(dialect(name), messages)


@given(names=st.permutations(DIALECTS), data=st.data())
def test_what_is_in_the_words_of_the_target_is_not_touched(
    names: list[str], data: st.DataObject
) -> None:
    source, target = names[:2]
    before, own = data.draw(conversations(source)), data.draw(conversations(target))
    converted = convert([*before, *own], dialect(target))
    assert converted.messages[len(converted.messages) - len(own) :] == tuple(own)
    ids = [call.id for message in own for call in message.tool_calls]
    new = converted.messages[: len(converted.messages) - len(own)]
    assert not {call.id for message in new for call in message.tool_calls} & set(ids)


@FEW
@given(pair=PAIRS, data=st.data())
def test_calls_that_wait_are_left_open_when_asked(
    pair: tuple[str, str], data: st.DataObject
) -> None:
    source, target = pair
    messages = data.draw(conversations(source))
    asked = Draft("assistant", (ToolCall("w_1", "search"), ToolCall("w_2", "book", "{}", 1)))
    messages += [dialect(source).message(raw) for raw in dialect(source).compose(asked).messages]
    to = dialect(target)
    converted = convert(messages, to, pending=True)
    assert [call.name for call in converted.messages[-1].tool_calls][-2:] == ["search", "book"]
    raws = tuple([message.raw for message in converted.messages])
    assert repair(to, raws, pending=True).messages == raws
    closed = convert(messages, to)
    assert [each.what for each in closed.repairs][-2:] == ["interrupted", "interrupted"]
    check_order(to, closed.messages)


# -- whatever can be read -------------------------------------------------------------------------

_ROLES = st.sampled_from(
    [b'"user"', b'"assistant"', b'"model"', b'"tool"', b'"system"', b'"function"', b'"zz"', b"null"]
)
_TYPES = st.sampled_from(
    [
        *["text", "tool_use", "tool_result", "thinking", "image", "document", "image_url", "file"],
        *["input_audio", "refusal", "function_call", "function_call_output", "custom_tool_call"],
        *["custom_tool_call_output", "reasoning", "message", "input_text", "output_text"],
        *["input_image", "input_file", "image_generation_call", "compaction", "zz_new"],
        *["redacted_thinking"],
    ]
)
_MEMBERS = [
    *["text", "thinking", "signature", "data", "id", "call_id", "tool_use_id", "tool_call_id"],
    *["name", "input", "arguments", "output", "content", "refusal", "source", "url", "file_id"],
    *["functionCall", "functionResponse", "inlineData", "fileData", "thought", "response", "args"],
    *["thoughtSignature", "mimeType", "fileUri", "image_url", "file_data", "is_error", "summary"],
    *["media_type", "function", "custom", "result", "encrypted_content", "audio", "parts"],
]
_LEAVES = st.sampled_from(
    [
        *[b'"x"', b'""', b"null", b"true", b"1.50", b"{}", b"[]", b'"\\ud800"', b'"{}"', b'"a b"'],
        *[b'"data:image/png;base64,AA=="', b'"image/png"', b'"base64"', b'"url"'],
        *[b'"https://example.com/c"'],
    ]
)


def _objects(inner: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    members = st.dictionaries(st.sampled_from(_MEMBERS), inner, max_size=4)
    typed = st.builds(lambda kind, found: {"type": rawjson.quote(kind), **found}, _TYPES, members)
    return st.one_of(members, typed, typed).map(rawjson.join_object)


_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3).map(rawjson.join_array), _objects(inner)),
    max_leaves=12,
)
_BODIES = st.one_of(_VALUES, st.lists(_objects(_VALUES), max_size=4).map(rawjson.join_array))


@st.composite
def strange_messages(draw: st.DrawFn, name: str) -> Message:
    """Something in the shape of a message, with the words of all dialects in odd places."""
    body = "parts" if name == "gemini" else "content"
    members = {"role": draw(_ROLES), body: draw(_BODIES)}
    for member in draw(
        st.lists(st.sampled_from(["tool_calls", "function_call", "refusal", "audio", "output"]))
    ):
        members[member] = draw(_BODIES)
    raw = rawjson.join_object(members)
    if dialect(name).itemized:
        raw = rawjson.join_array([raw, *draw(st.lists(_objects(_VALUES), max_size=3))])
    try:
        return dialect(name).message(raw)
    except DecodeError:
        assume(False)  # noqa: FBT003 -- it takes nothing else
        raise


@pytest.mark.parametrize("target", DIALECTS)
@FEW
@given(data=st.data())
def test_whatever_can_be_read_can_be_carried(target: str, data: st.DataObject) -> None:
    source = data.draw(others(target))
    messages = data.draw(st.lists(strange_messages(source), min_size=1, max_size=4))
    to = dialect(target)
    converted = convert(messages, to)
    check_order(to, converted.messages)
    said, lost = Said(converted.messages), lost_in(converted)
    left = [
        part
        for index, message in enumerate(messages)
        for part in message.parts
        if missing(index, part, said, lost)
    ]
    assert not left, explain(converted.report, left)


# -- the state ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DIALECTS)
@FEW
@given(data=st.data())
def test_a_state_carries_every_byte_there_and_back(name: str, data: st.DataObject) -> None:
    one = st.one_of(conversations(name), st.lists(strange_messages(name), max_size=4))
    messages = data.draw(one)
    state = state_of_messages(messages, conversation="c", at=AT)
    assert state_messages(state) == tuple(messages)
    again = ConversationState.from_json(state.to_json())
    assert again == state
    assert again.to_json() == state.to_json()
    assert state_messages(again) == tuple(messages)
    resumed = resume(again, dialect(name))
    assert resumed.messages == tuple(messages)
    assert not resumed.report


@pytest.mark.parametrize("name", DIALECTS)
@FEW
@given(data=st.data())
def test_a_state_is_whole_and_its_ids_are_its_own(name: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(name))
    state = state_of_messages(messages, conversation="c", at=AT)
    assert len(state.turns) == len([each for each in messages if each.role == "assistant"])
    records = [
        *[record for turn in state.turns for record in turn.input_messages],
        *[turn.assistant_message for turn in state.turns],
        *[record for turn in state.turns for record in turn.tool_messages],
        *state.input_messages,
        state.system_message,
    ]
    ids = [record.message_id for record in records]
    assert len(set(ids)) == len(ids)
    results = [result for message in messages for result in message.tool_results]
    assert len([record for record in records if record.role == "tool"]) == len(results)
    assert state == state_of_messages(messages, conversation="c", at=AT)


@pytest.mark.parametrize("name", DIALECTS)
@FEW
@given(data=st.data())
def test_messages_keep_their_ids_while_a_conversation_grows(name: str, data: st.DataObject) -> None:
    messages = data.draw(conversations(name))
    cut = data.draw(st.integers(0, len(messages)))
    shorter = state_of_messages(messages[:cut], conversation="c", at=AT)
    longer = state_of_messages(messages, conversation="c", at=AT)
    assert shorter.state_id == longer.state_id
    for before, after in zip(shorter.turns, longer.turns, strict=False):
        assert before.assistant_message == after.assistant_message
        assert before.input_messages == after.input_messages
        shown = len(before.tool_messages)
        assert before.tool_messages == after.tool_messages[:shown]


@FEW
@given(pair=PAIRS, data=st.data())
def test_a_state_goes_on_in_another_dialect_as_its_messages_do(
    pair: tuple[str, str], data: st.DataObject
) -> None:
    source, target = pair
    messages = data.draw(conversations(source))
    state = state_of_messages(messages, conversation="c", at=AT)
    assert resume(state, dialect(target)) == convert(messages, dialect(target), pending=True)


@FEW
@given(pair=PAIRS, data=st.data())
def test_the_records_alone_go_on_in_any_dialect(pair: tuple[str, str], data: st.DataObject) -> None:
    source, target = pair
    messages = data.draw(conversations(source))
    state = state_of_messages(messages, conversation="c", at=AT)
    raw = state.to_json().replace(f'"dialect":"{source}"', '"dialect":"gone"')
    bare = ConversationState.from_json(raw)
    resumed = resume(bare, dialect(target))
    said = Said(resumed.messages)
    inputs = [each for turn in bare.turns for each in turn.input_messages if each.role != "tool"]
    answers = [turn.assistant_message for turn in bare.turns]
    assert all(said.has_text(each.content) for each in [*inputs, *answers])
    calls = [call for answer in answers for call in answer.tool_calls]
    assert len([call for message in resumed.messages for call in message.tool_calls]) == len(calls)
    assert bool(resumed.report) == bool(messages)
