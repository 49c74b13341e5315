"""A real model behind a real server: what it answers now, asked and read by our dialects.

Nothing here is prepared. Each answer is made by this run, on this machine, in three wire formats,
plain and streamed. The model is small: it can say hello, and repeat a call after two examples.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import TYPE_CHECKING

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard import rawjson
from hansard.dialects.dialect import Ask, ToolSpec
from hansard.dialects.events import CallComplete, TextDelta, UsageReported
from hansard.dialects.registry import dialect
from hansard.messages import Draft, Message, ToolCall, assistant, user

if TYPE_CHECKING:
    from hansard.dialects.dialect import Answer, Dialect
    from hansard.dialects.events import StreamEvent
    from hansard.rawjson import JSONObject

NAMES = ("openai", "openai-responses", "anthropic")
ROOTS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": ""}
TOKENS_MAX = {
    "openai": "max_completion_tokens",
    "openai-responses": "max_output_tokens",
    "anthropic": "max_tokens",
}
ANSWER_S = 120

GREETING = user("Say hello to Ada.")
WEATHER = ToolSpec(
    "get_weather",
    "Weather of a city",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


@dataclass
class Conversation:
    """What one dialect and the model said to each other, each request made when first needed."""

    spoken: Dialect
    server: str

    # -- asking -------------------------------------------------------------------------------

    def post(
        self,
        messages: list[bytes],
        tokens_max: int,
        *,
        tools: tuple[ToolSpec, ...] = (),
        output: JSONObject | None = None,
        stream: bool = False,
    ) -> httpx2.Response:
        ask = Ask(
            "smollm2",
            [self.spoken.splice(raw) for raw in messages],
            tools=tools,
            output=output,
            stream=stream,
            parameters={TOKENS_MAX[self.spoken.name]: tokens_max, "temperature": 0},
        )
        request = self.spoken.request(ask)
        url = self.server + ROOTS[self.spoken.name] + request.path
        headers = dict(request.headers)
        return httpx2.post(url, content=request.body, headers=headers, timeout=ANSWER_S)

    def body(
        self,
        messages: list[bytes],
        tokens_max: int,
        *,
        tools: tuple[ToolSpec, ...] = (),
        output: JSONObject | None = None,
        stream: bool = False,
    ) -> bytes:
        response = self.post(messages, tokens_max, tools=tools, output=output, stream=stream)
        assert response.status_code == 200, response.text
        return response.content

    def say(self, *drafts: Draft) -> list[bytes]:
        return [message.raw for draft in drafts for message in self.spoken.say(draft)]

    # -- a greeting ---------------------------------------------------------------------------

    @cached_property
    def plain(self) -> bytes:
        return self.body(self.say(GREETING), 12)

    @cached_property
    def streamed(self) -> bytes:
        return self.body(self.say(GREETING), 12, stream=True)

    @cached_property
    def messages(self) -> list[bytes]:
        return [*self.say(GREETING), *self.kept(self.plain), *self.say(user("And to Bob?"))]

    @cached_property
    def second(self) -> bytes:
        return self.body(self.messages, 8)

    # -- a call -------------------------------------------------------------------------------

    @cached_property
    def examples(self) -> list[bytes]:
        shown: list[bytes] = []
        for position, city in enumerate(("Rome", "Oslo")):
            call = ToolCall(f"call_{position}", "get_weather", json.dumps({"city": city}))
            shown += self.say(user(f"Weather in {city}?"), assistant(call))
            shown += self.spoken.frame([self.spoken.result(call, call.answer("12"))])
        return [*shown, *self.say(user("Weather in Paris?"))]

    @cached_property
    def call(self) -> bytes:
        return self.body(self.examples, 60, tools=(WEATHER,))

    @cached_property
    def streamed_call(self) -> bytes:
        return self.body(self.examples, 60, tools=(WEATHER,), stream=True)

    @cached_property
    def answered(self) -> list[bytes]:
        kept = self.kept(self.call)
        (call,) = Message(self.spoken, kept[0]).tool_calls
        fragment = self.spoken.result(call, call.answer("It is 7 degrees."))
        then = self.say(user("Now say hello."))
        return [*self.examples, *kept, *self.spoken.frame([fragment], then)]

    # -- reading ------------------------------------------------------------------------------

    def kept(self, body: bytes) -> list[bytes]:
        answer = self.spoken.parse(body)
        assert answer.raw is not None
        return [answer.raw]

    def read(self, body: bytes) -> Message:
        return Message(self.spoken, self.kept(body)[0])

    def replay(self, stream: bytes, cuts: tuple[int, ...] = ()) -> tuple[list[StreamEvent], Answer]:
        reader = self.spoken.stream()
        places = zip([0, *cuts], [*cuts, len(stream)], strict=True)
        events = [event for begin, end in places for event in reader.feed(stream[begin:end])]
        return events, reader.close()

    def read_stream(self, stream: bytes) -> Message:
        _, answer = self.replay(stream)
        assert answer.valid, answer.problems
        assert answer.raw is not None
        return Message(self.spoken, answer.raw)


@pytest.fixture(scope="session")
def conversations(local_model: str) -> dict[str, Conversation]:
    return {name: Conversation(dialect(name), local_model) for name in NAMES}


@pytest.fixture(scope="session", params=NAMES)
def conversation(
    request: pytest.FixtureRequest, conversations: dict[str, Conversation]
) -> Conversation:
    return conversations[request.param]


def tight(raw: bytes) -> bytes:
    return re.sub(rb'("(?:[^"\\]|\\.)*")|\s+', lambda found: found[1] or b"", raw)


# -- plain answers ----------------------------------------------------------------------------


def test_the_stored_message_is_a_verbatim_slice_of_the_answer(conversation: Conversation) -> None:
    raw = conversation.kept(conversation.plain)[0]
    if conversation.spoken.name == "anthropic":
        raw = rawjson.fields(raw)["content"]
    assert raw in tight(conversation.plain)
    assert conversation.read(conversation.plain).text


def test_an_answer_is_valid_and_says_why_it_ended(conversation: Conversation) -> None:
    answer = conversation.spoken.parse(conversation.plain)
    assert answer.valid
    assert not answer.cut
    assert answer.finish in ("stop", "length")
    assert answer.model == "smollm2"


def test_usage_is_real(conversation: Conversation) -> None:
    plain = conversation.spoken.parse(conversation.plain).usage
    events, answer = conversation.replay(conversation.streamed)
    assert plain is not None
    assert answer.usage is not None
    assert plain.input_tokens > 0
    assert 0 < plain.output_tokens <= 12
    assert answer.usage.input_tokens == plain.input_tokens
    assert answer.usage.output_tokens == plain.output_tokens
    assert [event for event in events if isinstance(event, UsageReported)]


def test_a_second_request_made_of_the_stored_messages_is_served_from_the_prompt_cache(
    conversation: Conversation,
) -> None:
    answer = conversation.spoken.parse(conversation.second)
    assert answer.valid
    assert answer.usage is not None
    assert 0 < answer.usage.cached_tokens <= answer.usage.input_tokens


# -- streams ----------------------------------------------------------------------------------


def test_a_streamed_answer_says_what_the_plain_one_says(conversation: Conversation) -> None:
    plain = conversation.spoken.parse(conversation.plain)
    events, streamed = conversation.replay(conversation.streamed)
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    assert streamed.valid
    assert conversation.read_stream(conversation.streamed).text == "".join(texts)
    assert "".join(texts) == conversation.read(conversation.plain).text
    assert len(texts) > 1
    assert streamed.finish == plain.finish
    assert streamed.model in (plain.model, None)


@given(data=st.data())
def test_a_recorded_stream_cut_in_other_places_gives_the_same(
    conversation: Conversation, data: st.DataObject
) -> None:
    for stream in (conversation.streamed, conversation.streamed_call):
        cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=20))
        assert conversation.replay(stream, tuple(sorted(cuts))) == conversation.replay(stream)


def test_a_recorded_stream_read_byte_by_byte_gives_the_same(conversation: Conversation) -> None:
    stream = conversation.streamed_call
    assert conversation.replay(stream, tuple(range(1, len(stream)))) == conversation.replay(stream)


def test_every_cut_of_a_recorded_stream_is_recognized(conversation: Conversation) -> None:
    """After the last words only what ends the answer comes; from there on it is whole."""
    for stream in (conversation.streamed, conversation.streamed_call):
        ends = [0, *[found.end() for found in re.finditer(rb"\r?\n\r?\n", stream)]]
        _, whole = conversation.replay(stream)
        answers = [conversation.replay(stream[:end])[1] for end in ends]
        cut = [answer.cut for answer in answers]
        assert cut == sorted(cut, reverse=True)
        assert cut[0]
        assert not cut[-1]
        assert all(answer.raw == whole.raw for answer in answers if not answer.cut)
        assert cut == ["cut" in [found.code for found in answer.problems] for answer in answers]


# -- calls ------------------------------------------------------------------------------------


def test_the_model_calls_a_tool(conversation: Conversation) -> None:
    answer = conversation.spoken.parse(conversation.call)
    (call,) = conversation.read(conversation.call).tool_calls
    assert answer.valid
    assert answer.finish == "tool_calls"
    assert call.name == "get_weather"
    assert call.parsed == {"city": "Paris"}
    assert call.id


def test_a_streamed_call_is_the_call_of_the_plain_answer(conversation: Conversation) -> None:
    (plain,) = conversation.read(conversation.call).tool_calls
    (streamed,) = conversation.read_stream(conversation.streamed_call).tool_calls
    events, answer = conversation.replay(conversation.streamed_call)
    (complete,) = [event.call for event in events if isinstance(event, CallComplete)]
    assert complete == streamed
    assert (streamed.name, streamed.parsed) == (plain.name, plain.parsed)
    assert answer.finish == "tool_calls"


def test_a_call_and_its_result_go_back_as_they_are(conversation: Conversation) -> None:
    answer = conversation.spoken.parse(
        conversation.body(conversation.answered, 8, tools=(WEATHER,))
    )
    assert answer.raw is not None
    assert answer.usage is not None
    assert answer.usage.cached_tokens > 0


@pytest.mark.parametrize(("source", "target"), list(permutations(NAMES, 2)))
def test_a_conversation_with_a_call_goes_on_in_another_dialect(
    conversations: dict[str, Conversation], source: str, target: str
) -> None:
    spoken, said = conversations[source], conversations[target]
    carried: list[bytes] = []
    for raw in spoken.answered:
        reading = spoken.spoken.read(raw)
        composition = said.spoken.compose(Draft(reading.role, reading.parts), foreign=True)
        assert composition.losses == ()
        carried += composition.messages
    answer = said.spoken.parse(said.body(carried, 4, tools=(WEATHER,)))
    assert answer.raw is not None
    assert answer.usage is not None
    assert answer.usage.cached_tokens > 0


# -- what else a server says ----------------------------------------------------------------------


def test_an_answer_follows_the_schema_it_was_asked_for(
    conversations: dict[str, Conversation],
) -> None:
    """The server constrains Chat Completions only; in the other formats it ignores the schema."""
    conversation = conversations["openai"]
    schema: JSONObject = {
        "type": "object",
        "properties": {"city": {"enum": ["Paris", "Rome"]}, "warm": {"type": "boolean"}},
        "required": ["city", "warm"],
        "additionalProperties": False,
    }
    body = conversation.body(conversation.say(GREETING), 60, output=schema)
    said = json.loads(conversation.read(body).text)
    assert said["city"] in ("Paris", "Rome")
    assert isinstance(said["warm"], bool)
    assert said.keys() == {"city", "warm"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_refused_request_is_the_provider_s_error(
    conversation: Conversation, *, stream: bool
) -> None:
    response = conversation.post(conversation.say(user("long " * 3000)), 4, stream=stream)
    answer = conversation.spoken.parse(response.content)
    assert response.status_code == 400
    assert [problem.code for problem in answer.problems] == ["provider_error"]
    assert "context" in answer.problems[0].detail
