"""What goes wrong in goaitools when tools run and providers fail, and does not here."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    AsyncChat,
    CallFinished,
    Chat,
    ContextOverflow,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
    Unreachable,
    tool,
)
from hansard.testing import (
    ScriptedModel,
    WireServer,
    call,
    fail,
    overflow,
    say,
    unreachable,
)
from tests.support.wired import DIALECTS, reach

if TYPE_CHECKING:
    from tests.support.talkers import Talkers


# -- tools ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_of_one_answer_run_side_by_side(talker: Talkers, dialect: str) -> None:
    """A.mistake.one_after_another: each of three calls waits for the others to have started."""
    all_three = threading.Barrier(3, timeout=30)

    def meet() -> str:
        """Wait for the others."""
        all_three.wait()
        return "met"

    model = ScriptedModel(say(calls=[call("meet")] * 3), "Done.", dialect=dialect)
    talker(model, tools=[meet]).send(None, "Meet!")
    assert [result.text for result in model.requests[1].results] == ["met"] * 3


def test_who_leaves_between_two_tools_starts_no_other(plain_talker: Talkers) -> None:
    """A.mistake.deaf_between_tools: between tools one can leave; the next is left for later."""
    ran: list[str] = []

    @tool
    def note(word: str) -> str:
        """Note a word."""
        ran.append(word)
        return word

    calls = [call("note", id=word, word=word) for word in ("one", "two", "three")]
    model = ScriptedModel(say(calls=calls), "Noted.")
    chat = plain_talker(model, tools=[note], max_concurrent=1)
    with chat.stream(None, "Note!") as stream:
        next(told for told in stream if isinstance(told, CallFinished))
    assert ran == ["one"]
    assert chat.resume(stream.state).text == "Noted."
    assert ran == ["one", "two", "three"]


def test_a_cancelled_call_starts_no_other_tool() -> None:
    """A.mistake.deaf_to_cancelling: cancelled in a tool, the turn stops, and keeps what ended."""
    ran: list[str] = []

    async def run() -> bytes:
        second = asyncio.Event()

        @tool(policy="reads")
        async def look(at: str) -> str:
            """Look."""
            ran.append(at)
            if at == "two":
                second.set()
                await asyncio.Event().wait()
            return at

        calls = [call("look", id=at, at=at) for at in ("one", "two", "three")]
        chat = AsyncChat(ScriptedModel(say(calls=calls)), tools=[look], max_concurrent=1)
        asked = asyncio.create_task(chat.send(None, "Look!"))
        await second.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await asked
        return bytes(cancelled.value.state)  # type: ignore[attr-defined]

    def look(at: str) -> str:
        """Look."""
        ran.append(f"{at} again")
        return at

    state = asyncio.run(run())
    assert ran == ["one", "two"]
    chat = Chat(ScriptedModel("Seen."), tools=[tool(look, policy="reads")])
    assert chat.resume(state).text == "Seen."
    assert sorted(ran[2:]) == ["three again", "two again"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_arguments_are_checked_before_a_tool_runs(talker: Talkers, dialect: str) -> None:
    """A.mistake.unchecked_arguments: what does not fit is told to the model, and nothing is run."""
    ran: list[int] = []

    def pay(euros: int) -> str:
        """Pay."""
        ran.append(euros)
        return "paid"

    wrong: list[dict[str, Any]] = [{"euros": "ten"}, {}, {"euros": 1, "to": "Ada"}]
    calls = [call("pay", arguments=each) for each in wrong]
    model = ScriptedModel(say(calls=calls), "Sorry.", dialect=dialect)
    assert talker(model, tools=[pay]).send(None, "Pay!").text == "Sorry."
    texts = [result.text for result in model.requests[1].results]
    assert [word in text for word, text in zip(FOUND, texts, strict=True)] == [True] * 3
    assert ran == []


FOUND = ("a whole number", "got nothing", "no such name")


# -- providers that fail ----------------------------------------------------------------------


def test_what_may_pass_is_tried_again(plain_talker: Talkers) -> None:
    """A.mistake.no_retry: a provider that is down for a moment is asked again, alike."""
    with WireServer("openai", fail(503), "Hello.") as server:
        with closing(plain_talker(reach(server, retries=1))) as chat:
            assert chat.send(None, "Hi").text == "Hello."
        first, second = server.requests
        assert first.body == second.body


ERRORS: dict[str, tuple[Any, type[ProviderError]]] = {
    "400": (fail(400), ProviderError),
    "401": (fail(401), NotAuthorized),
    "429": (fail(429), RateLimited),
    "500": (fail(500), Overloaded),
    "too long": (overflow(), ContextOverflow),
    "nobody": (unreachable(), Unreachable),
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_errors_say_by_their_type_what_happened(talker: Talkers, dialect: str, error: str) -> None:
    """A.mistake.untyped_errors: each kind of failure is a type of its own, with what was said."""
    answer, kind = ERRORS[error]
    with pytest.raises(ProviderError) as raised:
        talker(ScriptedModel(answer, dialect=dialect)).send(None, "Hi")
    assert type(raised.value) is kind
    status = {"too long": 400, "nobody": None}.get(error) if not error.isdigit() else int(error)
    assert raised.value.status == status
    if status is not None:
        assert json.loads(raised.value.body)["error"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_rate_limit_is_told_with_how_long_it_lasts(plain_talker: Talkers, dialect: str) -> None:
    """A.mistake.rate_limits_ignored: who asks for two minutes is not asked again, and quoted."""
    with WireServer(dialect, fail(429, retry_after_s=120), "Hello.") as server:
        with (
            closing(plain_talker(reach(server, retries=5))) as chat,
            pytest.raises(RateLimited) as limited,
        ):
            chat.send(None, "Hi")
        assert limited.value.retry_after_s == 120
        assert len(server.requests) == 1
        with closing(plain_talker(reach(server))) as chat:
            assert chat.resume(limited.value.state).text == "Hello."
