"""A scripted model answers in order, over the real codec, and writes down what it was asked."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

import pytest

from hansard.dialects.dialect import Ask, Request, ToolSpec
from hansard.dialects.openai_chat import OpenAIChat
from hansard.dialects.registry import dialect
from hansard.errors import (
    ContextOverflow,
    HansardError,
    Invalid,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
    Unreachable,
)
from hansard.messages import system, user
from hansard.testing import (
    ScriptedModel,
    ScriptedRequest,
    ScriptEnded,
    call,
    cut_after,
    delay,
    fail,
    fail_after,
    forever,
    hold,
    overflow,
    raw,
    say,
    unreachable,
)
from tests.conformance.toy_dialect import Toy

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.dialects.dialect import Answer
    from hansard.testing.script import Answers

NAMES = ("openai", "openai-responses", "anthropic", "gemini")


def asking(
    name: str = "openai", text: str = "Hello", *, stream: bool = False, terse: bool = False
) -> Request:
    spoken = dialect(name)
    [message] = spoken.say(user(text))
    return spoken.request(
        Ask(
            model="m",
            messages=[spoken.splice(message.raw)],
            system=[system("Be terse.")] if terse else [],
            tools=[ToolSpec("f"), ToolSpec("g")] if terse else [],
            stream=stream,
        )
    )


def send(model: ScriptedModel, text: str = "Hello", timeout_s: float | None = None) -> Answer:
    name = model.dialect.name
    return model.dialect.parse(model.blocking().send(asking(name, text), timeout_s=timeout_s))


def stream(model: ScriptedModel, timeout_s: float | None = None) -> Answer:
    reader = model.dialect.stream()
    request = asking(model.dialect.name, stream=True)
    with model.blocking().stream(request, timeout_s=timeout_s) as chunks:
        for chunk in chunks:
            reader.feed(chunk)
    return reader.close()


def streamed(model: ScriptedModel) -> list[bytes]:
    with model.blocking().stream(asking(model.dialect.name, stream=True)) as chunks:
        return list(chunks)


def send_async(model: ScriptedModel, timeout_s: float | None = None) -> Answer:
    async def run() -> bytes:
        return await model.asyncio().send(asking(model.dialect.name), timeout_s=timeout_s)

    return model.dialect.parse(asyncio.run(run()))


def stream_async(model: ScriptedModel, timeout_s: float | None = None) -> Answer:
    async def run() -> Answer:
        reader = model.dialect.stream()
        request = asking(model.dialect.name, stream=True)
        async with model.asyncio().stream(request, timeout_s=timeout_s) as chunks:
            async for chunk in chunks:
                reader.feed(chunk)
        return reader.close()

    return asyncio.run(run())


Way: TypeAlias = "Callable[..., Answer]"
WAYS: tuple[Way, ...] = (send, stream, send_async, stream_async)


def said(answer: Answer, name: str = "openai") -> str:
    assert answer.raw is not None
    return dialect(name).message(answer.raw).text


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_answers_come_in_order_in_every_way(way: Way, name: str) -> None:
    model = ScriptedModel("One.", say("Two."), dialect=name)

    assert [said(way(model), name), said(way(model), name)] == ["One.", "Two."]
    assert [request.number for request in model.requests] == [1, 2]
    assert model.left == 0


def test_one_script_may_be_played_blocking_and_under_asyncio_in_turn() -> None:
    model = ScriptedModel("One.", "Two.", "Three.", "Four.")

    assert [said(way(model)) for way in WAYS] == ["One.", "Two.", "Three.", "Four."]


@pytest.mark.parametrize("way", WAYS)
def test_a_script_that_is_used_up_names_the_request_that_it_cannot_answer(way: Way) -> None:
    model = ScriptedModel("One.")
    way(model)

    with pytest.raises(ScriptEnded, match=r"there are 1, .* 2 /chat/completions user: 'Hello'"):
        way(model)
    assert issubclass(ScriptEnded, AssertionError)
    assert issubclass(ScriptEnded, HansardError)
    assert len(model.requests) == 2


def test_a_request_is_recorded_byte_for_byte_and_read() -> None:
    for name in NAMES:
        model = ScriptedModel("Hi.", dialect=name)
        request = asking(name, "Where am I?", terse=True)
        model.blocking().send(request)
        [came] = model.requests

        assert came.body is request.body
        assert came.path == request.path
        assert came.headers["content-type"] == "application/json"
        assert came.system == "Be terse."
        assert [message.text for message in came.messages] == ["Where am I?"]
        assert came.text == "Where am I?"
        assert came.tools == ("f", "g")
        assert came.stream is False


def test_a_request_for_a_stream_is_seen_as_one() -> None:
    for name in NAMES:
        model = ScriptedModel("Hi.", dialect=name)
        stream(model)
        assert model.requests[0].stream is True


def test_results_are_those_after_the_models_last_words() -> None:
    for name in NAMES:
        spoken = dialect(name)
        first = ScriptedModel(say(calls=[call("f", id="c1"), call("f", id="c2")]), dialect=name)
        answer = send(first)
        assert answer.raw is not None
        calls = spoken.message(answer.raw).tool_calls
        framed = spoken.frame([spoken.result(made, made.answer("12")) for made in calls])
        messages = [answer.raw, *framed]
        request = spoken.request(Ask("m", [spoken.splice(message) for message in messages]))
        came = ScriptedRequest(spoken, request, 1)

        assert [(found.call_id, found.text) for found in came.results] == [
            ("c1", "12"),
            ("c2", "12"),
        ]


def test_a_lone_function_answers_every_request() -> None:
    model = ScriptedModel(lambda request: f"{request.number}: {request.text}")

    assert [said(send(model, text)) for text in ("a", "b", "c")] == ["1: a", "2: b", "3: c"]


def test_a_function_among_others_answers_once() -> None:
    model = ScriptedModel("One.", lambda request: say(request.text, calls=[call("f")]))
    send(model)

    assert said(send(model, "Again")) == "Again"
    with pytest.raises(ScriptEnded):
        send(model)


def test_forever_answers_whatever_comes_in_the_same_bytes() -> None:
    model = ScriptedModel("One.", forever(say("More.", calls=[call("f")])))
    send(model)
    bodies = {model.blocking().send(asking()) for _ in range(5)}

    assert len(bodies) == 1
    assert model.left == 0


@pytest.mark.parametrize("way", [send, send_async])
def test_a_raw_body_goes_out_as_it_is(way: Way) -> None:
    body = b'{"choices": [{"message": {"content": "\\u0048i", "n": 1.50}}]}'
    model = ScriptedModel(raw(body), raw(body[:9], body[9:]))

    assert [way(model).raw, way(model).raw] == [b'{"content":"\\u0048i","n":1.50}'] * 2
    assert model.blocking() is model.transport


def test_a_raw_stream_comes_in_its_own_pieces() -> None:
    pieces = [b"data: {}", b"\n\nda", b"ta: [DONE]\n\n"]
    model = ScriptedModel(raw(*pieces), chunk_bytes=3)

    with model.blocking().stream(asking(stream=True)) as chunks:
        assert list(chunks) == pieces


def test_streams_are_cut_into_pieces_of_the_size_asked_for() -> None:
    model = ScriptedModel("Some words to be cut.", chunk_bytes=7)

    with model.blocking().stream(asking(stream=True)) as chunks:
        sizes = [len(chunk) for chunk in chunks]
    assert set(sizes[:-1]) == {7}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_an_error_is_raised_with_its_status_and_body(way: Way, name: str) -> None:
    model = ScriptedModel(fail(429, retry_after_s=2), fail(418, body=b"short"), dialect=name)

    with pytest.raises(RateLimited) as limited:
        way(model)
    with pytest.raises(ProviderError) as odd:
        way(model)
    assert (limited.value.status, limited.value.retry_after_s) == (429, 2)
    assert b'"error"' in limited.value.body
    assert (odd.value.status, odd.value.body) == (418, b"short")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, NotAuthorized),
        (403, NotAuthorized),
        (429, RateLimited),
        (500, Overloaded),
        (503, Overloaded),
        (529, Overloaded),
    ],
)
def test_an_error_is_the_one_that_the_provider_means(
    name: str, status: int, kind: type[ProviderError]
) -> None:
    for way in WAYS:
        with pytest.raises(ProviderError) as error:
            way(ScriptedModel(fail(status), dialect=name))
        assert type(error.value) is kind
        assert error.value.code


@pytest.mark.parametrize("name", NAMES)
def test_a_code_and_words_of_ones_own_reach_the_error(name: str) -> None:
    with pytest.raises(ProviderError, match="Not on Sundays") as error:
        send(ScriptedModel(fail(400, "closed", "Not on Sundays."), dialect=name))

    assert error.value.code == "closed"


@pytest.mark.parametrize("name", NAMES)
def test_an_overflow_is_told_in_the_providers_words(name: str) -> None:
    with pytest.raises(ContextOverflow) as error:
        send(ScriptedModel(overflow(), dialect=name))

    assert error.value.status == 400


@pytest.mark.parametrize("way", WAYS)
def test_nobody_answers(way: Way) -> None:
    model = ScriptedModel(unreachable(), "Here again.")

    with pytest.raises(Unreachable):
        way(model)
    assert said(way(model)) == "Here again."


@pytest.mark.parametrize("way", [stream, stream_async])
@pytest.mark.parametrize("name", NAMES)
def test_a_stream_that_ends_early_is_a_cut_answer(way: Way, name: str) -> None:
    cut = cut_after(say("One two three four five six."), chunks=5)
    answer = way(ScriptedModel(cut, dialect=name))

    assert answer.cut or [problem.code for problem in answer.problems] == ["cut"]
    assert said(answer, name).startswith("One ")


@pytest.mark.parametrize("way", [stream, stream_async])
def test_a_stream_may_break_in_the_middle_of_a_piece(way: Way) -> None:
    with pytest.raises(Unreachable):
        way(ScriptedModel(cut_after("One two three.", body_bytes=200, broken=True)))


@pytest.mark.parametrize("name", NAMES)
def test_wherever_a_stream_is_cut_what_came_is_the_beginning_of_it(name: str) -> None:
    whole = b"".join(streamed(ScriptedModel("One two three.", dialect=name)))

    for count in range(0, len(whole), 7):
        cut = ScriptedModel(forever(cut_after("One two three.", body_bytes=count)), dialect=name)
        assert b"".join(streamed(cut)) == whole[:count]
        answer = stream(cut)
        text = "" if answer.raw is None else said(answer, name)
        assert "One two three.".startswith(text)
        assert answer.cut or text == "One two three."


def test_what_came_before_the_break_was_given() -> None:
    model = ScriptedModel(cut_after("One two three.", body_bytes=200, broken=True))
    came: list[bytes] = []

    with model.blocking().stream(asking(stream=True)) as chunks, pytest.raises(Unreachable):
        came.extend(chunks)
    assert len(b"".join(came)) == 200


@pytest.mark.parametrize("way", [send, send_async])
def test_a_whole_answer_can_only_break(way: Way) -> None:
    with pytest.raises(Unreachable):
        way(ScriptedModel(cut_after("One.", chunks=1)))


@pytest.mark.parametrize("name", NAMES)
def test_an_error_may_come_in_mid_stream(name: str) -> None:
    model = ScriptedModel(fail_after("One two three.", 6, 503, "Gone."), dialect=name)
    answer = stream(model)

    assert "provider_error" in [problem.code for problem in answer.problems]
    with pytest.raises(ProviderError):
        send(ScriptedModel(fail_after("One.", 1, 503), dialect=name))


class Sleeps:
    """Write down how long somebody wanted to sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def wait(self, seconds: float) -> None:
        self.slept.append(seconds)


def delayed(*answers: Answers) -> tuple[ScriptedModel, list[float]]:
    sleeps = Sleeps()
    return ScriptedModel(*answers, sleep=sleeps, async_sleep=sleeps.wait), sleeps.slept


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_comes_late(way: Way) -> None:
    model, slept = delayed(delay(1.5, "Late."))

    assert said(way(model)) == "Late."
    assert slept == [1.5]


@pytest.mark.parametrize("way", WAYS)
def test_later_than_the_timeout_nobody_answers(way: Way) -> None:
    model, slept = delayed(delay(5, "Late."))

    with pytest.raises(Unreachable, match="within 2"):
        way(model, timeout_s=2)
    assert slept == [2]


@pytest.mark.parametrize("way", [stream, stream_async])
def test_the_timeout_is_for_all_pieces_together(way: Way) -> None:
    model, slept = delayed(delay(1, "One two three four five.", each_chunk=True))

    with pytest.raises(Unreachable):
        way(model, timeout_s=2.5)
    assert slept == [1, 1, 0.5]


def test_a_delayed_error_is_still_that_error() -> None:
    model, slept = delayed(delay(1, fail(500)))

    with pytest.raises(ProviderError):
        send(model)
    assert slept == [1]


def test_a_stream_that_was_not_asked_for_is_refused() -> None:
    transport = ScriptedModel("Hi.").blocking()

    with pytest.raises(Invalid, match="asks for a whole answer"), transport.stream(asking()):
        pass
    with pytest.raises(Invalid, match="asks for a stream"):
        transport.send(asking(stream=True))
    assert transport.send(asking())


def test_threads_share_a_script_and_every_answer_is_given_once() -> None:
    model = ScriptedModel(*[str(number) for number in range(200)])
    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(lambda _: said(send(model)), range(200)))

    assert sorted(given, key=int) == [str(number) for number in range(200)]
    assert [request.number for request in model.requests] == list(range(1, 201))


# -- answers that are kept back -----------------------------------------------------------------


@pytest.mark.parametrize("way", [send, stream])
def test_a_held_answer_comes_when_its_event_is_set(way: Way) -> None:
    event = threading.Event()
    model = ScriptedModel(hold("Now.", until=event))
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(way, model)
        assert not asked.done()
        event.set()
        assert said(asked.result()) == "Now."


def test_a_held_answer_can_be_given_up_under_asyncio() -> None:
    async def run() -> Answer:
        event = asyncio.Event()
        model = ScriptedModel(hold("Never.", until=asyncio.Event()), hold("Now.", until=event))
        first = asyncio.create_task(model.asyncio().send(asking()))
        second = asyncio.create_task(model.asyncio().send(asking()))
        await asyncio.sleep(0)
        first.cancel()
        event.set()
        body = await second
        with pytest.raises(asyncio.CancelledError):
            await first
        return model.dialect.parse(body)

    assert said(asyncio.run(run())) == "Now."


@pytest.mark.parametrize("way", WAYS)
def test_what_is_held_beyond_the_timeout_never_comes(way: Way) -> None:
    event = asyncio.Event() if way in (send_async, stream_async) else threading.Event()

    with pytest.raises(Unreachable, match="within"):
        way(ScriptedModel(hold("Now.", until=event)), timeout_s=0.001)


@pytest.mark.parametrize(
    ("way", "event", "kind"),
    [(send, asyncio.Event, "threading"), (send_async, threading.Event, "asyncio")],
)
def test_an_event_of_the_other_kind_is_refused(
    way: Way, event: Callable[[], threading.Event | asyncio.Event], kind: str
) -> None:
    with pytest.raises(Invalid, match=rf"until={kind}\.Event"):
        way(ScriptedModel(hold("Now.", until=event())))


# -- dialects of others ---------------------------------------------------------------------------


class Derived(OpenAIChat):
    """A dialect that speaks as a built-in one does."""

    name = "derived"


def test_a_dialect_that_derives_from_a_built_in_one_is_spelled_like_it() -> None:
    model = ScriptedModel(say("Hi.", calls=[call("f")]), dialect=Derived())
    request = asking()
    answer = model.dialect.parse(model.blocking().send(request))

    assert answer.raw is not None
    assert model.dialect.message(answer.raw).text == "Hi."


def test_in_a_dialect_that_nobody_here_knows_answers_are_exact_bytes() -> None:
    toy = Toy()
    body = b'{"answer":{"who":"bot","say":[{"t":"text","v":"Hi."}]},"end":"done"}'
    model = ScriptedModel(raw(body), fail(500, body=b"no"), unreachable(), dialect=toy)
    [message] = toy.say(user("Hello"))
    request = toy.request(Ask("m", [toy.splice(message.raw)]))

    came = toy.parse(model.blocking().send(request))
    assert came.raw is not None
    assert toy.message(came.raw).text == "Hi."
    with pytest.raises(Overloaded):
        model.blocking().send(request)
    with pytest.raises(Unreachable):
        model.blocking().send(request)
    assert model.requests[0].body == request.body
    with pytest.raises(Invalid, match=r"found one with .*dialogue"):
        _ = model.requests[0].messages
    with pytest.raises(Invalid, match=r"'toy' .* raw\(…\)"):
        ScriptedModel("Hi.", dialect=toy)


# -- what cannot be -----------------------------------------------------------------------------


def test_what_is_no_script_is_refused_when_it_is_written() -> None:
    with pytest.raises(Invalid, match="found int"):
        ScriptedModel(7)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="chunk_bytes"):
        ScriptedModel("Hi.", chunk_bytes=0)
    with pytest.raises(Invalid, match="at the end"):
        ScriptedModel(forever("Hi."), "Unheard.")
    with pytest.raises(Invalid, match="no place for"):
        ScriptedModel(say(calls=[call("f", signature="s")]), dialect="anthropic")
    with pytest.raises(Invalid, match="custom=True"):
        ScriptedModel(say(calls=[call("f", custom=True)]), dialect="gemini")


def test_what_a_function_gives_has_to_be_an_answer() -> None:
    with pytest.raises(Invalid, match="found NoneType"):
        send(ScriptedModel(lambda _: None))  # type: ignore[arg-type,return-value]


def test_a_mistake_in_a_function_is_not_hidden() -> None:
    def check(request: ScriptedRequest) -> str:
        assert request.text == "Goodbye"
        return "Bye."

    with pytest.raises(AssertionError, match="Hello"):
        send(ScriptedModel(check))
