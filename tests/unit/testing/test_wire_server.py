"""The wire-checking server answers as it is told, over real HTTP, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hansard import Chat, models, user
from hansard.errors import Invalid, Overloaded, ProviderError, RateLimited, Unreachable
from hansard.testing import call, cut_after, fail, fail_after, forever, hold, raw, say, unreachable
from hansard.testing.script import ScriptEnded
from hansard.testing.wire_rules import RULEBOOKS
from hansard.testing.wire_server import WireServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hansard import Reply
    from hansard.testing.script import Play
    from hansard.testing.wire_rules.rule import WireRequest

MAKERS: dict[str, Any] = {
    "openai": models.openai,
    "openai-responses": models.openai_responses,
    "anthropic": models.anthropic,
    "gemini": models.gemini,
}


@pytest.fixture(params=RULEBOOKS)
def wire_format(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@contextmanager
def chat(server: WireServer, key: str = "k") -> Iterator[Chat]:
    make = MAKERS[server.wire_format]
    with make("test-1", base_url=server.url, api_key=key, retries=0) as model:
        yield Chat(model)


def ask(server: WireServer, *, stream: bool = False, then: int = 0, key: str = "k") -> Reply:
    """Say Hello, and so often again in the same conversation; give the last reply."""
    with chat(server, key) as talking:
        reply = say_hello(talking, None, stream=stream)
        for _ in range(then):
            reply = say_hello(talking, reply.state, stream=stream)
    return reply


def say_hello(talking: Chat, state: bytes | None, *, stream: bool) -> Reply:
    if not stream:
        return talking.send(state, user("Hello"))
    with talking.stream(state, user("Hello")) as streaming:
        list(streaming)
    return streaming.reply


@pytest.mark.parametrize("stream", [False, True])
def test_text_thoughts_and_calls_are_answered_in_every_format(
    wire_format: str, *, stream: bool
) -> None:
    said = say("Hi.", thoughts="Hm.", calls=[call("look", at="it")], signature="c2ln")
    with WireServer(wire_format, said) as server, chat(server) as talking:
        if stream:
            with talking.stream(None, user("Hello"), run_tools=False) as streaming:
                list(streaming)
            reply = streaming.reply
        else:
            reply = talking.send(None, user("Hello"), run_tools=False)
    assert (reply.text, reply.thought_text) == ("Hi.", "Hm.")
    assert [(made.name, made.parsed) for made in reply.tool_calls] == [("look", {"at": "it"})]
    assert [request.stream for request in server.requests] == [stream]


def test_without_answers_all_that_is_right_is_answered(wire_format: str) -> None:
    with WireServer(wire_format) as server:
        assert ask(server, then=2).text == "OK"
    assert len(server.requests) == 3


def test_an_answer_is_given_forever_if_it_says_so(wire_format: str) -> None:
    with WireServer(wire_format, "first", forever("later")) as server:
        assert ask(server, then=3).text == "later"


def test_a_function_answers_what_it_was_asked(wire_format: str) -> None:
    def count(request: WireRequest) -> str:
        return f"{len(request.body)} bytes"

    with WireServer(wire_format, count) as server:
        reply = ask(server, then=1)
    assert reply.text == f"{len(server.requests[1].body)} bytes"


def test_a_body_is_answered_as_it_is_given_and_taken_apart_for_a_stream() -> None:
    body: Any = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi there."}]}}]}
    with WireServer("gemini", body, body) as server:
        assert ask(server).text == "Hi there."
        assert ask(server, stream=True).text == "Hi there."


def test_events_are_streamed_as_they_are_given() -> None:
    def chunk(**delta: Any) -> Any:
        return {"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    last: Any = {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    events = [chunk(role="assistant", content="Hi"), chunk(content="."), last, b"data: [DONE]\n\n"]
    with WireServer("openai", events) as server:
        assert ask(server, stream=True).text == "Hi."


def test_exact_bytes_are_answered_as_they_are() -> None:
    body = b'{"choices": [{"message": {"role": "assistant", "content": "Hi.", "zz": 1e5}}]}'
    with WireServer("openai", raw(body), "OK") as server:
        ask(server, then=1)
    assert b'"zz":1e5' in server.requests[1].body


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("status", "error"), [(429, RateLimited), (503, Overloaded)])
def test_failures_come_in_the_providers_shape(
    wire_format: str, status: int, error: type[ProviderError], *, stream: bool
) -> None:
    with (
        WireServer(wire_format, fail(status, retry_after_s=7)) as server,
        pytest.raises(error) as it,
    ):
        ask(server, stream=stream)
    assert (it.value.status, it.value.retry_after_s) == (status, 7)


def test_nobody_answers_where_the_answer_says_so(wire_format: str) -> None:
    with WireServer(wire_format, unreachable()) as server, pytest.raises(Unreachable):
        ask(server)


def test_a_stream_can_fail_in_the_middle(wire_format: str) -> None:
    with WireServer(wire_format, forever(fail_after("one two three", 3))) as server:
        assert ask(server, stream=True).problems


def test_a_stream_can_break_in_the_middle(wire_format: str) -> None:
    breaking = forever(cut_after("a b c", body_bytes=200, broken=True))
    with WireServer(wire_format, breaking) as server, pytest.raises(Unreachable):
        ask(server, stream=True)


def test_an_answer_can_be_held_until_something_has_happened(wire_format: str) -> None:
    asked, happened = threading.Event(), threading.Event()

    def later(_: WireRequest) -> Play:
        asked.set()
        return hold("late", until=happened)

    with WireServer(wire_format, later, "soon") as server, ThreadPoolExecutor() as pool:
        late = pool.submit(ask, server)
        assert asked.wait(30)
        assert ask(server).text == "soon"
        assert not late.done()
        happened.set()
        assert late.result().text == "late"


def test_many_clients_can_ask_at_once(wire_format: str) -> None:
    with WireServer(wire_format) as server, ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: ask(server, then=1).text, range(16)))
    assert replies == ["OK"] * 16
    assert len(server.requests) == 32


def test_more_requests_than_answers_are_an_error_of_the_test(wire_format: str) -> None:
    def ask_twice() -> None:
        with WireServer(wire_format, "only") as server:
            ask(server)
            with pytest.raises(ProviderError, match="the test failed"):
                ask(server)

    with pytest.raises(ScriptEnded, match="no more requests than answers, of which there are 1"):
        ask_twice()


def test_what_a_function_raises_is_raised_where_the_test_sees_it() -> None:
    def wrong(_: WireRequest) -> str:
        raise LookupError("this test is wrong")

    with (
        pytest.raises(LookupError, match="this test is wrong"),
        WireServer("gemini", wrong) as server,
        pytest.raises(ProviderError),
    ):
        ask(server)


def keep(folder: Path, *names: str) -> None:
    """Keep a conversation in which the user says each name, and hears it twice."""
    messages: list[Any] = []
    for number, name in enumerate(names, 1):
        messages.append({"role": "user", "content": name})
        answer = {"role": "assistant", "content": name * 2}
        body = {"model": "test-1", "messages": messages}
        (folder / f"request_{number}.json").write_text(json.dumps(body))
        (folder / f"answer_{number}.json").write_text(
            json.dumps({"choices": [{"message": answer}]})
        )
        messages.append(answer)


def test_a_conversation_that_is_kept_in_files_is_played_in_their_order(tmp_path: Path) -> None:
    keep(tmp_path, *"abcdefghijk")
    state: bytes | None = None
    with WireServer.replay("openai", tmp_path) as server, chat(server) as talking:
        for name in "abcdefghijk":
            reply = talking.send(state, user(name))
            assert reply.text == name * 2
            state = reply.state


def test_what_differs_from_the_files_is_named_with_its_place(tmp_path: Path) -> None:
    keep(tmp_path, "a")
    refused = pytest.raises(ProviderError, match=r'messages\[0\].content: expected "a", found "b"')
    with WireServer.replay("openai", tmp_path) as server, chat(server) as talking, refused:
        talking.send(None, user("b"))


def test_a_folder_without_a_conversation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"request_1\.json"):
        WireServer.replay("openai", tmp_path)


def test_a_format_that_nobody_speaks_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Invalid, match="openai, openai-responses, anthropic, gemini"):
        WireServer("cohere")


def test_a_request_is_kept_to_the_byte() -> None:
    with WireServer("anthropic") as server:
        ask(server)
    [request] = server.requests
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == "k"
    assert request.json == json.loads(request.body)


def test_a_refused_request_takes_no_answer_away(wire_format: str) -> None:
    with WireServer(wire_format, "the answer") as server:
        with pytest.raises(ProviderError, match="expected a key"):
            ask(server, key="")
        assert ask(server).text == "the answer"
    assert [refusal.rule for refusal in server.refusals] == ["A key is in its header."]
