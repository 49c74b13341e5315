"""What goes wrong in the middle of a turn: who leaves, what fails, whose time is over."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    CallFinished,
    ContextOverflow,
    Invalid,
    TimedOut,
    Tool,
    ToolContext,
    ToolIdempotencyError,
    TurnEnded,
    tool,
)
from hansard.testing import ScriptedModel, call, cut_after, overflow, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.talkers import Talkers


def told(model: ScriptedModel) -> list[str]:
    """Give what the last request says of the calls."""
    return [result.text for result in model.requests[-1].results]


def named(name: str, run: Callable[..., object], **options: Any) -> Tool:
    """A tool that takes nothing."""
    return Tool(name, name, {"properties": {}}, run, **options)


TWO = say(calls=[call("a", id="1"), call("b", id="2")])


# -- leaving --------------------------------------------------------------------------------------


def test_leaving_at_the_first_result_keeps_all_that_had_come_by_then(talker: Talkers) -> None:
    both = threading.Barrier(2)
    model = ScriptedModel(TWO, "Done.")
    chat = talker(model, tools=[named("a", both.wait), named("b", both.wait)])
    with chat.stream(None, "Go") as stream:
        for event in stream:
            if isinstance(event, CallFinished):
                break
    pending = [one.name for one in chat.load(stream.state).pending]
    finished = {"a", "b"} - set(pending)
    assert finished  # The other may not have come yet; then nobody can say that it has ended.
    if not pending:
        assert chat.resume(stream.state).text == "Done."


def test_leaving_at_the_last_word_keeps_the_answer_whole(talker: Talkers) -> None:
    model = ScriptedModel("One two three.", "One two three.")
    chat = talker(model)
    with chat.stream(None, "Count") as stream:
        told = len(list(stream))
    with chat.stream(None, "Count") as stream:
        for _, event in zip(range(told), stream, strict=False):
            assert event is not None
    assert chat.resume(stream.state).text == "One two three."
    assert len(model.requests) == 2


def test_what_was_whole_when_somebody_left_is_not_asked_for_again(talker: Talkers) -> None:
    model = ScriptedModel("One two three.", chunk_bytes=10_000)
    chat = talker(model)
    with chat.stream(None, "Count") as stream:
        next(iter(stream))
    assert chat.resume(stream.state).text == "One two three."
    assert len(model.requests) == 1


def test_a_connection_that_breaks_after_the_last_word_has_broken_nothing(talker: Talkers) -> None:
    model = ScriptedModel(cut_after("One two three.", chunks=100, broken=True))
    with talker(model).stream(None, "Count") as stream:
        assert stream.finish().text == "One two three."


def test_calls_that_need_not_run_are_told_of_as_finished_too(talker: Talkers) -> None:
    model = ScriptedModel(
        say(calls=[call("nobody", id="1"), call("a", id="2", odd=1), call("a", id="3")]), "Done."
    )
    with talker(model, tools=[named("a", lambda: "ran")]).stream(None, "Go") as stream:
        finished = [event for event in stream if isinstance(event, CallFinished)]
    assert [(one.call.id, one.result.call_id) for one in finished] == [
        ("1", "1"),
        ("2", "2"),
        ("3", "3"),
    ]
    assert [one.result.text for one in finished] == told(model)
    assert [one.result.is_error for one in finished] == [True, True, False]


# -- tools ----------------------------------------------------------------------------------------


class Exit(BaseException):
    """What no tool should raise."""


RAISED = [Exit("out"), SystemExit(3), asyncio.CancelledError("no"), GeneratorExit("end")]


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("is_streamed", [False, True], ids=["sent", "streamed"])
def test_whatever_a_tool_raises_that_runs_alone_is_an_error_result(
    talker: Talkers, raised: BaseException, is_async: bool, is_streamed: bool
) -> None:
    def fall() -> object:
        raise raised

    async def fall_later() -> object:
        raise raised

    model = ScriptedModel(say(calls=[call("a")]), "Well.")
    chat = talker(model, tools=[named("a", fall_later if is_async else fall)])
    reply = chat.stream(None, "Go").finish() if is_streamed else chat.send(None, "Go")
    assert reply.text == "Well."
    assert told(model) == [f"{type(raised).__name__}: {raised}"]


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_whatever_a_tool_raises_among_others_is_an_error_result(
    talker: Talkers, raised: BaseException, is_async: bool
) -> None:
    def fall() -> object:
        raise raised

    async def fall_later() -> object:
        raise raised

    model = ScriptedModel(TWO, "Well.")
    tools = [named("a", fall_later if is_async else fall), named("b", lambda: "ran")]
    assert talker(model, tools=tools).send(None, "Go").text == "Well."
    assert told(model) == [f"{type(raised).__name__}: {raised}", "ran"]


def test_an_interruption_of_the_callers_own_thread_reaches_the_caller() -> None:
    from hansard import Chat

    def interrupt() -> object:
        raise KeyboardInterrupt

    chat = Chat(ScriptedModel(say(calls=[call("a")])), tools=[named("a", interrupt)])
    with pytest.raises(KeyboardInterrupt) as error:
        chat.send(None, "Go")
    assert chat.load(error.value.state).pending  # type: ignore[attr-defined]


def test_who_cannot_say_what_became_of_a_call_is_asked_once_and_then_a_person_is(
    talker: Talkers,
) -> None:
    never = threading.Event()
    asked: list[str] = []

    def look_up(one: Any) -> object:
        asked.append(one.id)
        raise LookupError("no such booking system")

    model = ScriptedModel(say(calls=[call("a", id="1")]), "Good.")
    slow = named("a", lambda: never.wait(60), timeout_s=0.05, on_unknown=look_up)
    chat = talker(model, tools=[slow])
    with pytest.raises(ToolIdempotencyError) as error:
        chat.send(None, "Go")
    never.set()
    assert asked == ["1"]
    state = error.value.state or b""
    assert chat.resume(chat.settle(state, "1", "it went through")).text == "Good."


def test_a_retry_has_the_arguments_as_the_model_gave_them(talker: Talkers) -> None:
    seen: list[list[int]] = []

    @tool(policy="reads", retries=2)
    def spoil(numbers: list[int]) -> str:
        """Spoil what is given."""
        seen.append(list(numbers))
        numbers.append(9)
        if len(seen) < 3:
            raise OSError("again")
        return "done"

    model = ScriptedModel(say(calls=[call("spoil", numbers=[1])]), "Done.")
    talker(model, tools=[spoil]).send(None, "Go")
    assert seen == [[1], [1], [1]]


@pytest.mark.parametrize("policy", ["once", "keyed"])
def test_a_call_that_only_waited_for_a_person_is_no_resumption(
    talker: Talkers, policy: Any
) -> None:
    resumed: list[bool] = []

    @tool(needs_approval=True, policy=policy)
    def pay(context: ToolContext) -> str:
        """Pay."""
        resumed.append(context.is_resume)
        return "paid"

    chat = talker(ScriptedModel(say(calls=[call("pay")]), "Paid."), tools=[pay])
    reply = chat.send(None, "Pay")
    chat.resume(chat.approve(reply.state))
    # Nothing on the record tells a keyed call that was approved from one that ran and crashed.
    assert resumed == [policy == "keyed"]


def test_a_tool_without_a_transaction_to_be_part_of_runs_once(talker: Talkers) -> None:
    never = threading.Event()
    runs: list[str] = []

    def slow() -> str:
        runs.append("a")
        never.wait(60)
        return "done"

    model = ScriptedModel(say(calls=[call("a", id="1")]), "Good.")
    chat = talker(model, tools=[named("a", slow, policy="transactional", timeout_s=0.05)])
    with pytest.raises(ToolIdempotencyError):
        chat.send(None, "Go")
    never.set()
    assert runs == ["a"]


# -- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["reads", "once"])
def test_when_the_time_of_the_turn_is_over_its_tools_are_left_as_if_cancelled(
    talker: Talkers, policy: Any
) -> None:
    never = threading.Event()
    model = ScriptedModel(say(calls=[call("a", id="1")]), "Good.")
    chat = talker(model, tools=[named("a", lambda: never.wait(60), policy=policy)])
    with pytest.raises(TimedOut) as error:
        chat.send(None, "Go", timeout_s=0.2)
    never.set()
    state = error.value.state or b""
    assert [one.id for one in chat.load(state).pending] == ["1"]
    if policy == "reads":
        assert chat.resume(state).text == "Good."
        assert told(model) == ["true"]
    else:
        with pytest.raises(ToolIdempotencyError):
            chat.resume(state)


def test_no_tool_starts_when_the_time_of_the_turn_is_over(talker: Talkers) -> None:
    passed = threading.Event()
    runs: list[str] = []

    def outlast(_: object) -> object:
        passed.wait(0.3)  # Never set: an answer that takes longer than the turn may.
        return say(calls=[call("a", id="1")])

    model = ScriptedModel(outlast, "Good.")  # type: ignore[arg-type]
    chat = talker(model, tools=[named("a", lambda: runs.append("a"))])
    with pytest.raises(TimedOut) as error:
        chat.send(None, "Go", timeout_s=0.1)
    assert runs == []
    assert chat.resume(error.value.state or b"").text == "Good."
    assert runs == ["a"]


# -- checkpoints ----------------------------------------------------------------------------------


def test_calls_that_were_only_about_to_start_when_a_checkpoint_failed_are_in_no_doubt(
    talker: Talkers,
) -> None:
    runs: list[str] = []
    full = True

    def keep(state: bytes) -> None:
        if full and chat.load(state).pending:
            raise OSError("disk full")

    model = ScriptedModel(say(calls=[call("a", id="1")]), "Good.")
    chat = talker(model, tools=[named("a", lambda: runs.append("a"))], checkpoint=keep)
    with pytest.raises(OSError, match="disk full") as error:
        chat.send(None, "Go")
    assert runs == []
    full = False
    assert chat.resume(error.value.state).text == "Good."  # type: ignore[attr-defined]
    assert runs == ["a"]


def test_a_checkpoint_that_has_to_be_awaited_is_refused_where_nobody_can() -> None:
    from hansard import Chat

    async def keep(_state: bytes) -> None:
        raise AssertionError("nobody awaits this")

    chat = Chat(ScriptedModel("Hello."), checkpoint=keep)
    with pytest.raises(Invalid, match="AsyncChat"):
        chat.send(None, "Hi")


# -- observers ------------------------------------------------------------------------------------


def test_observers_are_told_of_a_turn_that_an_error_ends(talker: Talkers) -> None:
    seen: list[Any] = []
    chat = talker(ScriptedModel(overflow()), observers=[seen.append])
    with pytest.raises(ContextOverflow):
        chat.send(None, "Go")
    assert isinstance(seen[-1], TurnEnded)
    assert seen[-1].status == "failed"


def test_observers_are_told_of_a_stream_that_was_left(talker: Talkers) -> None:
    seen: list[Any] = []
    model = ScriptedModel("One two three.", chunk_bytes=60)
    with talker(model, observers=[seen.append]).stream(None, "Count") as stream:
        next(iter(stream))
    assert [type(one).__name__ for one in seen] == ["ModelCalled", "TurnEnded"]
    assert (seen[0].error, seen[1].status) == ("interrupted", "open")
