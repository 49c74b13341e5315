"""A turn that is told while it goes on, and left at any time."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hansard import AnswerDropped, AsyncChat, CallFinished, Chat, Invalid, Unreachable, tool
from hansard.dialects.events import (
    CallComplete,
    CallStarted,
    TextDelta,
    ThoughtDelta,
    UsageReported,
)
from hansard.record.entries import Attempt, Said
from hansard.testing import ScriptedModel, call, cut_after, empty, forever, hold, say

if TYPE_CHECKING:
    from tests.support.talkers import Talkers

DIALECTS = ("openai", "openai-responses", "anthropic", "gemini")


@tool(policy="reads")
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"clear in {city}"


def scripted(dialect: str = "openai", **options: Any) -> ScriptedModel:
    return ScriptedModel(
        say("Let me see.", thoughts="Hm.", calls=[call("get_weather", city="Rome")]),
        "It is clear.",
        dialect=dialect,
        **options,
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_tells_all_rounds_and_ends_with_the_reply_that_send_gives(
    talker: Talkers, dialect: str
) -> None:
    with talker(scripted(dialect), tools=[get_weather]).stream(None, "Weather?") as stream:
        events = list(stream)
    sent = talker(scripted(dialect), tools=[get_weather]).send(None, "Weather?")
    assert stream.reply.message == sent.message
    assert stream.reply.text == sent.text == "It is clear."
    assert stream.reply.usage == sent.usage
    assert "".join([event.text for event in events]) == "Let me see.It is clear."
    kinds = [type(event) for event in events]
    order = [CallStarted, CallComplete, CallFinished]
    assert [kind for kind in kinds if kind in order] == order
    assert ThoughtDelta in kinds
    assert kinds.count(UsageReported) >= 2
    [finished] = [event for event in events if isinstance(event, CallFinished)]
    assert (finished.call.name, finished.result.text) == ("get_weather", "clear in Rome")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_in_any_pieces_records_the_same_bytes(talker: Talkers, dialect: str) -> None:
    whole = talker(scripted(dialect), tools=[get_weather]).send(None, "Weather?")
    model = scripted(dialect, chunk_bytes=7)
    reply = talker(model, tools=[get_weather]).stream(None, "Weather?").finish()
    assert [said(entry) for entry in reply.record.entries()] == [
        said(entry) for entry in whole.record.entries()
    ]


def said(entry: Any) -> bytes:
    return bytes(getattr(entry, "raw", b""))


def test_the_reply_is_there_at_the_end_and_not_before(talker: Talkers) -> None:
    stream = talker(ScriptedModel("Hello.")).stream(None, "Hi")
    with pytest.raises(Invalid, match="has ended"):
        _ = stream.reply
    assert stream.finish().text == "Hello."
    assert stream.finish().text == "Hello."
    assert list(stream) == []


def test_a_stream_that_nobody_reads_does_nothing(talker: Talkers) -> None:
    model = ScriptedModel("Hello.")
    with talker(model).stream(None, "Hi"):
        pass
    assert not model.requests


def test_the_state_so_far_is_there_at_any_time(talker: Talkers) -> None:
    chat = talker(scripted(), tools=[get_weather])
    stream = chat.stream(None, "Weather?")
    lengths = [chat.load(stream.state).length]
    lengths += [chat.load(stream.state).length for _ in stream]
    assert lengths == sorted(lengths)
    assert chat.load(stream.state).length == stream.reply.record.length


def test_leaving_early_keeps_what_came_and_the_turn_can_be_resumed(talker: Talkers) -> None:
    model = ScriptedModel("One two three.", "Again: one.", chunk_bytes=60)
    chat = talker(model)
    with chat.stream(None, "Count") as stream:
        for event in stream:
            if event.text:
                break
    entries = chat.load(stream.state).entries()
    [partial] = [entry for entry in entries if isinstance(entry, Said) and entry.author == "model"]
    assert partial.cut
    assert partial.problems[0] == "interrupted"
    reply = chat.resume(stream.state)
    assert reply.text == "Again: one."
    assert [message.text for message in model.requests[1].messages] == ["Count"]


def test_leaving_any_number_of_times_does_not_use_up_the_tries(talker: Talkers) -> None:
    model = ScriptedModel(*["One two three."] * 6, "Done.", chunk_bytes=60)
    chat = talker(model)
    state = None
    for _ in range(6):
        given = ["Count"] if state is None else []
        with chat.stream(state, *given) as stream:
            next(iter(stream))
        state = stream.state
    assert chat.resume(state).text == "Done."


def test_leaving_between_rounds_keeps_the_results_that_are_there(talker: Talkers) -> None:
    runs: list[str] = []

    @tool
    def book() -> str:
        """Book."""
        runs.append("book")
        return "booked"

    model = ScriptedModel(say(calls=[call("book")]), "Booked.")
    chat = talker(model, tools=[book])
    with chat.stream(None, "Book") as stream:
        for event in stream:
            if isinstance(event, CallFinished):
                break
    assert chat.resume(stream.state).text == "Booked."
    assert runs == ["book"]


def test_a_dropped_connection_raises_and_keeps_what_came(talker: Talkers) -> None:
    model = ScriptedModel(
        cut_after("One two three.", chunks=2, broken=True), "One.", chunk_bytes=120
    )
    chat = talker(model)
    with pytest.raises(Unreachable) as error, chat.stream(None, "Count") as stream:
        list(stream)
    kinds = [type(entry) for entry in chat.load(error.value.state).entries()]
    assert Said in kinds
    assert kinds[-1] is Attempt
    assert chat.resume(error.value.state).text == "One."


def test_a_stream_that_ends_early_is_asked_for_again(talker: Talkers) -> None:
    model = ScriptedModel(cut_after("One two three.", chunks=2), "One.", chunk_bytes=120)
    with talker(model).stream(None, "Count") as stream:
        events = list(stream)
    [dropped] = [event for event in events if isinstance(event, AnswerDropped)]
    assert dropped.problems[0].code == "cut"
    assert stream.reply.text == "One."


def test_an_empty_answer_is_dropped_and_asked_for_again(talker: Talkers) -> None:
    model = ScriptedModel(empty(), "Here.")
    with talker(model).stream(None, "Hello") as stream:
        events = list(stream)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Here."]
    assert [type(event) for event in events].count(AnswerDropped) == 1


def test_results_can_be_streamed_back(talker: Talkers) -> None:
    model = ScriptedModel(say(calls=[call("get_weather", city="Rome")]), "Clear.")
    chat = talker(model, tools=[get_weather], run_tools=False)
    waiting = chat.send(None, "Weather?")
    with chat.stream(waiting.state, waiting.tool_calls[0].answer("clear")) as stream:
        assert "".join([event.text for event in stream]) == "Clear."


# -- under asyncio --------------------------------------------------------------------------------


def test_a_cancelled_call_carries_its_state() -> None:
    async def run() -> tuple[bytes | None, ScriptedModel]:
        came, never = asyncio.Event(), asyncio.Event()

        def never_answering(_: object) -> Any:
            came.set()
            return hold("Never.", until=never)

        model = ScriptedModel(never_answering, "At last.")
        asked = asyncio.create_task(AsyncChat(model).send(None, "Hello"))
        await came.wait()
        asked.cancel()
        try:
            await asked
        except asyncio.CancelledError as error:
            return getattr(error, "state", None), model
        raise AssertionError("expected a cancelled call")

    state, model = asyncio.run(run())
    assert state is not None
    assert Chat(model).resume(state).text == "At last."


def test_a_cancelled_tool_that_started_is_unknown_and_does_not_run_again() -> None:
    runs: list[str] = []

    async def run() -> bytes:
        started = asyncio.Event()

        @tool
        async def book() -> str:
            """Book."""
            runs.append("book")
            started.set()
            await asyncio.Event().wait()
            return "never"

        model = ScriptedModel(say(calls=[call("book", id="a")]))
        asked = asyncio.create_task(AsyncChat(model, tools=[book]).send(None, "Book"))
        await started.wait()
        asked.cancel()
        try:
            await asked
        except asyncio.CancelledError as error:
            state: bytes = error.state  # type: ignore[attr-defined]
            return state
        raise AssertionError("expected a cancelled call")

    @tool
    def book() -> str:
        """Book."""
        runs.append("again")
        return "booked"

    chat = Chat(ScriptedModel("It was booked."), tools=[book])
    state = chat.settle(asyncio.run(run()), "a", "booked before")
    assert chat.resume(state).text == "It was booked."
    assert runs == ["book"]


def test_blocking_tools_do_not_hold_up_the_event_loop() -> None:
    async def run() -> str:
        beat = threading.Event()

        def wait_for_the_loop() -> str:
            """Wait."""
            assert beat.wait(20)
            return "the loop went on"

        model = ScriptedModel(say(calls=[call("wait_for_the_loop")]), "Good.")
        asked = asyncio.create_task(AsyncChat(model, tools=[wait_for_the_loop]).send(None, "Go"))
        asyncio.get_running_loop().call_later(0, beat.set)
        await asked
        return model.requests[1].results[0].text

    assert asyncio.run(run()) == "the loop went on"


def test_one_chat_serves_many_conversations_at_once() -> None:
    async def run() -> list[str]:
        chat = AsyncChat(ScriptedModel(forever("Hello.")))
        replies = await asyncio.gather(*[chat.send(None, f"I am {n}") for n in range(50)])
        return [reply.text for reply in replies]

    assert asyncio.run(run()) == ["Hello."] * 50
