"""What a script says is read by the real codec, and the same whether it is streamed or not."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.dialects.dialect import Answer
from hansard.dialects.registry import dialect, dialects
from hansard.errors import Invalid
from hansard.messages import Message, Text, Thought, Usage
from hansard.testing import blocked, call, empty, say
from hansard.testing.script import Call, Play, Say
from hansard.testing.wire_answers import SPELLINGS, Speller
from tests.property.strategies import ANY_TEXT

BUILT_IN = tuple(SPELLINGS)


def pieces(
    play: Play, name: str, number: int = 1, *, stream: bool, size: int | None = None
) -> list[bytes]:
    exchange = Speller(dialect(name), "scripted", size).spell(play, number, stream=stream)
    assert exchange.is_plain
    return list(exchange.pieces)


def answered(play: Play, name: str, *, stream: bool = False) -> Answer:
    came = pieces(play, name, stream=stream)
    if not stream:
        return dialect(name).parse(came[0])
    reader = dialect(name).stream()
    for chunk in came:
        reader.feed(chunk)
    return reader.close()


def message(answer: Answer, name: str) -> Message:
    assert answer.raw is not None
    return dialect(name).message(answer.raw)


def test_every_built_in_dialect_has_a_spelling() -> None:
    assert set(BUILT_IN) <= set(dialects())
    assert len(BUILT_IN) == 4


@pytest.fixture(params=BUILT_IN)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


_WORDS = ANY_TEXT.filter(bool)
_VALUES = st.one_of(st.integers(-9, 9), st.text(max_size=5), st.booleans())
_ARGUMENTS = st.dictionaries(st.text(max_size=5), _VALUES, max_size=3)
_CALLS = st.lists(
    st.builds(
        Call,
        st.from_regex(r"[a-z]{1,6}", fullmatch=True),
        _ARGUMENTS.map(lambda found: json.dumps(found, separators=(",", ":"), ensure_ascii=False)),
        st.one_of(st.none(), st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True)),
    ),
    max_size=3,
)


@st.composite
def answers(draw: st.DrawFn) -> Play:
    """Answers that every format can give."""
    calls = draw(_CALLS)
    text = draw(ANY_TEXT if calls else _WORDS)
    figures = [draw(st.integers(0, 500)) for _ in range(4)]
    return say(
        text,
        thoughts=draw(st.sampled_from(["", "Hm."])) or draw(_WORDS),
        calls=calls,
        finish=None if calls else draw(st.sampled_from(["stop", "length"])),
        usage=Usage(figures[0] + figures[1], figures[2] + figures[3], figures[1], 0, figures[3]),
        extra={"zz": draw(_VALUES), "zz_more": {"deep": [draw(_VALUES)]}},
    )


@given(answers(), st.sampled_from(BUILT_IN), st.booleans())
def test_what_is_said_is_what_is_read(play: Play, name: str, stream: bool) -> None:
    answer = answered(play, name, stream=stream)
    said = play.answer
    assert isinstance(said, Say)

    assert answer.problems == ()
    assert answer.finish == (said.finish or "tool_calls")
    assert answer.usage is not None
    assert answer.usage == msgspec.structs.replace(said.usage or Usage(), raw=answer.usage.raw)
    assert answer.model == "scripted"
    read = message(answer, name)
    assert read.text == said.text
    assert read.thought_text == said.thoughts[0].text
    assert [(found.name, found.parsed) for found in read.tool_calls] == [
        (made.name, json.loads(made.arguments)) for made in said.calls
    ]
    given_ids = [
        (found.id, made.id) for found, made in zip(read.tool_calls, said.calls, strict=True)
    ]
    assert all(made in (found, None) for found, made in given_ids)
    assert {path.rpartition(".")[2] for path in read.extra} >= {"zz", "zz_more"}


@given(answers(), st.sampled_from(BUILT_IN))
def test_a_stream_says_the_same_bytes_as_a_whole_answer(said: Play, name: str) -> None:
    whole, streamed = answered(said, name), answered(said, name, stream=True)

    assert streamed.raw == whole.raw
    assert (streamed.finish, streamed.finish_raw) == (whole.finish, whole.finish_raw)
    assert streamed.usage == whole.usage


@given(answers(), st.sampled_from(BUILT_IN), st.integers(1, 200))
def test_cutting_a_stream_into_bytes_changes_nothing(said: Play, name: str, size: int) -> None:
    whole = pieces(said, name, stream=True)
    cut = pieces(said, name, stream=True, size=size)

    assert b"".join(cut) == b"".join(whole)
    assert {len(chunk) for chunk in cut[:-1]} <= {size}


SIGNED = {
    "openai": say("Hi", thoughts="Hm", signature="c2ln"),
    "openai-responses": say("Hi", thoughts="Hm", signature="c2ln"),
    "anthropic": say("Hi", thoughts=Thought("Hm", "c2ln")),
    "gemini": say("Hi", thoughts="Hm", signature="c2ln"),
}


@pytest.mark.parametrize("stream", [False, True])
def test_a_signature_goes_where_the_provider_puts_it(name: str, *, stream: bool) -> None:
    read = message(answered(SIGNED[name], name, stream=stream), name)

    assert read.thought_signatures == ("c2ln",)
    holder = Text if name == "gemini" else Thought
    assert [type(p) for p in read.parts if getattr(p, "thought_signature", None)] == [holder]


@pytest.mark.parametrize("stream", [False, True])
def test_the_first_of_parallel_calls_is_signed_in_gemini(*, stream: bool) -> None:
    said = say(calls=[call("f", a=1), call("f", a=2)])
    first, second = message(answered(said, "gemini", stream=stream), "gemini").tool_calls

    assert first.thought_signature
    assert second.thought_signature is None


def test_an_empty_signature_stays_away() -> None:
    said = say(calls=[call("f")], signature="")

    assert message(answered(said, "gemini"), "gemini").thought_signatures == ()


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_read_as_one(name: str, *, stream: bool) -> None:
    if name == "gemini":
        with pytest.raises(Invalid, match="gemini has a word for"):
            answered(say("No.", finish="refused"), name)
        return
    answer = answered(say("No.", finish="refused"), name, stream=stream)

    assert answer.finish == "refused"
    assert answer.valid


@pytest.mark.parametrize(
    ("name", "finish"),
    [
        ("openai", "filtered"),
        ("openai-responses", "filtered"),
        ("anthropic", "paused"),
        ("anthropic", "overflow"),
        ("gemini", "filtered"),
        ("gemini", "paused"),
        ("gemini", "malformed"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_other_ends_are_read_as_they_were_meant(name: str, finish: str, *, stream: bool) -> None:
    assert answered(say("Hm", finish=finish), name, stream=stream).finish == finish


def test_the_providers_own_word_is_an_end_too() -> None:
    assert answered(say("Hm", finish="stop_sequence"), "anthropic").finish_raw == "stop_sequence"


@pytest.mark.parametrize("stream", [False, True])
def test_a_block_and_an_empty_answer_are_not_valid(name: str, *, stream: bool) -> None:
    filtered = answered(blocked(), name, stream=stream)
    nothing = answered(empty(), name, stream=stream)

    assert [problem.code for problem in filtered.problems] == ["blocked"]
    assert [problem.code for problem in nothing.problems] == ["empty"]


@pytest.mark.parametrize("stream", [False, True])
def test_arguments_that_are_no_json_reach_the_dialect_as_they_are(
    name: str, *, stream: bool
) -> None:
    answer = answered(say(calls=[call("f", arguments='{"a": ')]), name, stream=stream)

    assert [problem.code for problem in answer.problems] == ["bad_arguments"]
    [cut] = message(answer, name).tool_calls
    assert cut.arguments.strip('"').replace('\\"', '"') == '{"a": '


@pytest.mark.parametrize("stream", [False, True])
def test_figures_may_be_left_out(name: str, *, stream: bool) -> None:
    answer = answered(say("Hi", usage=None), name, stream=stream)

    assert answer.usage is None
    assert answer.valid


def test_ids_of_two_answers_differ(name: str) -> None:
    said = say(calls=[call("f"), call("f")])
    ids = [
        found.id
        for number in (1, 2)
        for found in message(
            dialect(name).parse(pieces(said, name, number, stream=False)[0]), name
        ).tool_calls
    ]

    assert len(set(ids)) == (1 if name == "gemini" else 4)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["openai", "openai-responses"])
def test_a_custom_call_has_text_for_arguments(name: str, *, stream: bool) -> None:
    said = say(calls=[call("shell", arguments="ls -l", custom=True), call("f", n=1)])
    custom, usual = message(answered(said, name, stream=stream), name).tool_calls

    assert (custom.custom, custom.parsed) == (True, "ls -l")
    assert (usual.custom, usual.parsed) == (False, {"n": 1})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
def test_a_thought_may_be_unreadable(name: str, *, stream: bool) -> None:
    said = say("Hi", thoughts=Thought(redacted="c2VjcmV0"))
    read = message(answered(said, name, stream=stream), name)

    assert (read.has_thoughts, read.thought_text, read.text) == (True, "", "Hi")
    assert b"c2VjcmV0" in read.raw


@pytest.mark.parametrize("stream", [False, True])
def test_each_thought_keeps_its_own_signature(name: str, *, stream: bool) -> None:
    said = say("Hi", thoughts=[Thought("One.", "b25l"), Thought("Two.", "dHdv")])
    read = message(answered(said, name, stream=stream), name)

    assert read.thought_text == "One.Two."
    assert read.thought_signatures == ("b25l", "dHdv")


@pytest.mark.parametrize("stream", [False, True])
def test_a_conversation_that_grew_too_long_in_mid_answer_has_failed_in_responses(
    *, stream: bool
) -> None:
    answer = answered(say("Hm", finish="overflow"), "openai-responses", stream=stream)

    assert [problem.code for problem in answer.problems] == ["provider_error"]


@pytest.mark.parametrize("name", ["openai-responses", "anthropic"])
def test_unknown_fields_need_something_to_stand_beside(name: str) -> None:
    with pytest.raises(Invalid, match="beside extra="):
        answered(say(extra={"zz": 1}), name)


def test_a_script_repeats_to_the_byte(name: str) -> None:
    said = say("Hi", thoughts="Hm", calls=[call("f")])

    for stream in (False, True):
        assert pieces(said, name, stream=stream) == pieces(said, name, stream=stream)
