"""Drafts, parts and the views of a message."""

from __future__ import annotations

import base64
import copy
import pickle
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pytest

import hansard.messages
from hansard.errors import DecodeError, InvalidMessage
from hansard.messages import (
    Draft,
    Media,
    Message,
    Native,
    Part,
    Reading,
    Refusal,
    Role,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    Usage,
    assistant,
    audio,
    event,
    file,
    image,
    system,
    user,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.rawjson import JSON


@dataclass
class Script:
    """Reads every message as it was told to, and counts how often it was asked."""

    parts: tuple[Part, ...] = ()
    role: Role = "assistant"
    extra: dict[str, JSON] = field(default_factory=dict)
    name: str = "script"
    asked: int = 0

    def read(self, raw: bytes) -> Reading:
        """Read."""
        assert raw
        self.asked += 1
        return Reading(self.role, self.parts, self.extra)


def message(*parts: Part) -> Message:
    """Make a message that reads as these parts."""
    return Message(Script(parts), b"{}")


def test_everything_listed_is_there_and_in_order() -> None:
    assert all(hasattr(hansard.messages, name) for name in hansard.messages.__all__)
    assert list(hansard.messages.__all__) == sorted(hansard.messages.__all__)


class TestDraft:
    @pytest.mark.parametrize(
        ("draft", "role"),
        [
            *[(user("a"), "user"), (system("a"), "system")],
            *[(assistant("a"), "assistant"), (event("a"), "user")],
        ],
    )
    def test_text_becomes_a_part_of_a_draft_in_that_role(self, draft: Draft, role: str) -> None:
        assert draft == Draft(draft.role, (Text("a"),))
        assert draft.role == role

    def test_parts_stay_in_order_and_its_text_is_the_text_of_them(self) -> None:
        picture = image(url="https://example.org/a.png")
        draft = user("a", picture, Text("b"))
        assert draft.parts == (Text("a"), picture, Text("b"))
        assert draft.text == "ab"

    @pytest.mark.parametrize("make", [user, system, event])
    def test_a_pin_is_kept(self, make: Callable[..., Draft]) -> None:
        assert make("a", pin=True).pin
        assert not make("a").pin

    @pytest.mark.parametrize("make", [user, system, assistant])
    def test_nothing_to_say_is_an_error(self, make: Callable[..., Draft]) -> None:
        with pytest.raises(InvalidMessage, match="found nothing"):
            make()

    @pytest.mark.parametrize("wrong", [b"\x89PNG", 7, None, ["a"], {"type": "text"}])
    def test_what_is_no_part_is_an_error_that_names_it(self, wrong: object) -> None:
        with pytest.raises(InvalidMessage, match=f"found {type(wrong).__name__};"):
            user(wrong)  # type: ignore[arg-type]

    def test_empty_text_may_be_said(self) -> None:
        assert user("").parts == (Text(""),)

    def test_a_draft_crosses_a_wire_as_it_is(self) -> None:
        draft = user("a", ToolCall("1", "f"), Native("x", b'{"a":1e5}'), Thought(redacted="z"))
        assert msgspec.json.decode(msgspec.json.encode(draft), type=Draft) == draft


class TestMedia:
    @pytest.mark.parametrize(("make", "kind"), [(image, "image"), (file, "file"), (audio, "audio")])
    def test_bytes_are_spelled_in_base64_and_read_back(
        self, make: Callable[..., Media], kind: str
    ) -> None:
        made = make(b"\xfb\xff\x00", "image/png", name="a.png")
        assert made == Media(made.kind, "image/png", "+/8A", name="a.png")
        assert made.kind == kind
        assert made.data == b"\xfb\xff\x00"

    def test_a_reference_has_no_bytes(self) -> None:
        assert image(url="https://example.org/a").data is None
        assert file(file_id="file-1").file_id == "file-1"

    def test_base64_is_kept_as_it_was_spelled(self) -> None:
        assert image(base64="-_8A", media_type="image/png").base64 == "-_8A"

    @pytest.mark.parametrize("spelled", ["-_8A", "+/8A", "+/8A\r\n", "+/\n8A"])
    def test_every_usual_spelling_of_base64_is_read(self, spelled: str) -> None:
        assert Media("image", "image/png", spelled).data == b"\xfb\xff\x00"

    @pytest.mark.parametrize("length", range(5))
    def test_padding_may_be_left_out(self, length: int) -> None:
        spelled = base64.b64encode(b"\xff" * length).decode().rstrip("=")
        assert Media("image", "image/png", spelled).data == b"\xff" * length

    @pytest.mark.parametrize("spelled", ["a", "AAA=A", "é", "AA.A", "data:image/png;base64,AAAA"])
    def test_what_is_no_base64_is_an_error_and_never_wrong_bytes(self, spelled: str) -> None:
        with pytest.raises(DecodeError) as caught:
            _ = Media("image", "image/png", spelled).data
        assert caught.value.reason == "not_base64"

    @pytest.mark.parametrize("make", [image, file, audio])
    def test_there_is_exactly_one_source(self, make: Callable[..., Media]) -> None:
        with pytest.raises(InvalidMessage, match="exactly one"):
            make()
        with pytest.raises(InvalidMessage, match="exactly one"):
            make(b"a", "image/png", url="https://example.org")
        with pytest.raises(InvalidMessage, match="exactly one"):
            make(url="https://example.org", file_id="file-1")

    @pytest.mark.parametrize("make", [image, file, audio])
    def test_bytes_need_their_type(self, make: Callable[..., Media]) -> None:
        with pytest.raises(InvalidMessage, match="media_type"):
            make(b"a")
        with pytest.raises(InvalidMessage, match="media_type"):
            make(base64="AAAA")

    @pytest.mark.parametrize("make", [image, file, audio])
    def test_no_bytes_are_no_picture(self, make: Callable[..., Media]) -> None:
        with pytest.raises(InvalidMessage):
            make(b"", "image/png")

    def test_a_misspelled_argument_is_an_error(self) -> None:
        with pytest.raises(TypeError, match="nam"):
            image(b"a", "image/png", nam="x")  # type: ignore[call-arg]


class TestToolCall:
    def test_arguments_are_parsed_when_asked_for(self) -> None:
        assert ToolCall("1", "f", '{"a": 1e5}').parsed == {"a": 1e5}

    @pytest.mark.parametrize("arguments", ["", " ", "\n\t"])
    def test_no_arguments_read_as_an_empty_object(self, arguments: str) -> None:
        assert ToolCall("1", "f", arguments).parsed == {}

    @pytest.mark.parametrize("arguments", ["{", '{"a":}', "NaN", "\u00a0{}", "\ud800", "{} {}"])
    def test_what_the_model_did_not_write_as_json_is_an_error(self, arguments: str) -> None:
        with pytest.raises(DecodeError):
            _ = ToolCall("1", "f", arguments).parsed

    def test_half_a_surrogate_pair_in_the_arguments_is_no_error(self) -> None:
        assert ToolCall("1", "f", '{"a":"\ud800"}').parsed == {"a": "\ud800"}

    def test_a_custom_tool_takes_the_text_itself(self) -> None:
        assert ToolCall("1", "f", "{not json", custom=True).parsed == "{not json"

    def test_an_answer_knows_which_call_it_answers(self) -> None:
        result = ToolCall("1", "f", position=2).answer("done", is_error=True)
        assert result == ToolResult("1", "f", (Text("done"),), is_error=True, position=2)

    @pytest.mark.parametrize(
        ("result", "content"),
        [
            ("a", (Text("a"),)),
            ("", (Text(""),)),
            (Text("a"), (Text("a"),)),
            ([Text("a"), Media("image", url="u")], (Text("a"), Media("image", url="u"))),
            ([Text("a"), "b"], (Text("a"), Text("b"))),
            (Native("x", b"{}"), (Native("x", b"{}"),)),
            ({"a": [1, 2.5]}, (Text('{"a":[1,2.5]}'),)),
            (["a", "b"], (Text('["a","b"]'),)),
            ([], (Text("[]"),)),
            (None, (Text("null"),)),
            (2**70, (Text("1180591620717411303424"),)),
            ({"a": "é\ud800"}, (Text('{"a":"é\\ud800"}'),)),
        ],
    )
    def test_text_parts_or_any_json_value_can_be_a_result(
        self, result: object, content: tuple[Part, ...]
    ) -> None:
        assert ToolCall("1", "f").answer(result).content == content

    @pytest.mark.parametrize("result", [object(), {"a": object()}, [Text("a"), 7], float("nan")])
    def test_what_cannot_be_said_is_an_error(self, result: object) -> None:
        with pytest.raises(InvalidMessage):
            ToolCall("1", "f").answer(result)

    def test_a_result_that_contains_itself_is_an_error(self) -> None:
        circle: list[object] = []
        circle.append(circle)
        with pytest.raises(InvalidMessage):
            ToolCall("1", "f").answer(circle)

    def test_the_text_of_a_result_is_that_of_its_text_parts(self) -> None:
        result = ToolResult("1", content=(Text("a"), Media("image", url="u"), Text("b")))
        assert result.text == "ab"


class TestUsage:
    def test_two_calls_add_up_and_the_raw_figures_are_neithers(self) -> None:
        total = Usage(1, 2, 3, 4, 5, b"{}") + Usage(10, 20, 30, 40, 50, b"{}")
        assert total == Usage(11, 22, 33, 44, 55)
        assert total.total_tokens == 33


CALL, RESULT = ToolCall("1", "f"), ToolResult("9", "g")


class TestMessage:
    def test_text_is_what_is_said_without_thoughts_and_refusals(self) -> None:
        said = message(Thought("hm"), Text("a"), CALL, Refusal("no"), Text("b"))
        assert said.text == "ab"
        assert said.thought_text == "hm"
        assert said.refusal == "no"

    def test_absent_concepts_read_as_empty(self) -> None:
        said = message()
        assert (said.text, said.thought_text) == ("", "")
        assert (said.refusal, said.tool_call_id) == (None, None)
        assert (said.parts, said.thoughts) == ((), ())
        assert (said.tool_calls, said.tool_results) == ((), ())
        assert said.thought_signatures == ()
        assert not said.has_thoughts
        assert said.extra == {}

    def test_an_unreadable_thought_is_a_thought(self) -> None:
        assert message(Thought(redacted="x")).has_thoughts

    def test_signatures_are_those_of_all_parts_in_order(self) -> None:
        said = message(
            Thought("a", "s1"), Text("b", "s2"), Text("c", ""), ToolCall("1", "f", "", 0, "s3")
        )
        assert said.thought_signatures == ("s1", "s2", "s3")

    def test_calls_and_results_are_views_in_order(self) -> None:
        other = ToolResult("8", "g")
        said = message(RESULT, CALL, other)
        assert said.tool_calls == (CALL,)
        assert said.tool_results == (RESULT, other)
        assert said.tool_call_id == "9"

    def test_role_and_extra_are_the_readers(self) -> None:
        said = Message(Script(role="tool", extra={"a.b": 1}), b"{}")
        assert said.role == "tool"
        assert said.extra == {"a.b": 1}

    def test_a_message_is_read_when_first_asked_and_once(self) -> None:
        script = Script((Text("a"),))
        said = Message(script, b"{}")
        assert script.asked == 0
        assert said.text == said.text == "a"
        assert said.role == "assistant"
        assert script.asked == 1

    def test_equal_are_messages_of_one_dialect_with_equal_bytes(self) -> None:
        said = Message(Script(), b'{"a":1}')
        assert said == Message(Script((Text("a"),)), b'{"a":1}')
        assert hash(said) == hash(Message(Script(), b'{"a":1}'))
        assert said != Message(Script(), b'{"a":1.0}')
        assert said != Message(Script(name="other"), b'{"a":1}')
        assert said != b'{"a":1}'

    def test_reading_changes_nothing_about_equality_or_the_bytes(self) -> None:
        said, unread = message(Text("a")), message(Text("a"))
        _ = said.text
        assert said == unread
        assert said.raw == b"{}"

    @pytest.mark.parametrize("read_before", [False, True])
    def test_a_message_survives_pickle_and_copy(self, read_before: bool) -> None:
        said = message(Text("a"))
        if read_before:
            _ = said.text
        for copied in (pickle.loads(pickle.dumps(said)), copy.deepcopy(said)):  # noqa: S301
            assert copied == said
            assert copied.text == "a"

    def test_it_cannot_be_changed(self) -> None:
        with pytest.raises(AttributeError):
            message().raw = b"[]"  # type: ignore[misc]

    def test_its_repr_is_short_whatever_its_length(self) -> None:
        assert repr(Message(Script(), b'{"a":1}')) == '<Message script 7 bytes {"a":1}>'
        long = repr(Message(Script(), '"{}"'.format("é" * 100_000).encode()))
        assert len(long) < 300
        assert long.startswith('<Message script 200002 bytes "éé')
        assert long.endswith("…>")
        assert "\ufffd" not in long
