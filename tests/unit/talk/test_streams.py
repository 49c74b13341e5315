"""A stream itself: what it gives when it is read, left, finished or asked too early."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from hansard import AsyncChat, Chat, Invalid, Overloaded
from hansard.testing import ScriptedModel, fail

if TYPE_CHECKING:
    from tests.support.talkers import Talkers


def text_of(events: Any) -> str:
    return "".join([event.text for event in events])


def test_a_stream_is_its_own_iterator() -> None:
    stream = Chat(ScriptedModel("Hi.")).stream(None, "Hello")
    assert iter(stream) is stream
    assert text_of([next(stream)]) + text_of(stream) == "Hi."
    other = AsyncChat(ScriptedModel("Hi.")).stream(None, "Hello")
    assert aiter(other) is other


def test_a_context_gives_the_stream_itself() -> None:
    stream = Chat(ScriptedModel("Hi.")).stream(None, "Hello")
    with stream as entered:
        assert entered is stream

    async def enter() -> bool:
        other = AsyncChat(ScriptedModel("Hi.")).stream(None, "Hello")
        async with other as entered_other:
            return entered_other is other

    assert asyncio.run(enter())


def test_a_stream_that_has_ended_gives_no_more_and_keeps_its_reply(talker: Talkers) -> None:
    stream = talker(ScriptedModel("Hi.")).stream(None, "Hello")
    assert text_of(stream) == "Hi."
    reply = stream.reply
    assert list(stream) == []
    stream.close()
    assert stream.reply is reply


def test_finishing_takes_what_is_still_to_come_and_gives_the_reply(talker: Talkers) -> None:
    stream = talker(ScriptedModel("Hello there.", chunk_bytes=100)).stream(None, "Hello")
    events = iter(stream)
    next(events)
    reply = stream.finish()
    assert reply.text == "Hello there."
    assert stream.finish() is reply
    assert stream.reply is reply


def test_finishing_a_stream_that_nobody_has_read_is_sending(talker: Talkers) -> None:
    assert talker(ScriptedModel("Hi.")).stream(None, "Hello").finish().text == "Hi."


@pytest.mark.parametrize("read", [False, True])
def test_a_stream_that_was_left_has_no_reply_and_says_what_there_is(
    talker: Talkers, read: bool
) -> None:
    stream = talker(ScriptedModel("Hi.")).stream(None, "Hello")
    if read:
        next(iter(stream))
    stream.close()
    stream.close()
    assert list(stream) == []
    with pytest.raises(Invalid, match=r"stream\.state"):
        _ = stream.reply
    with pytest.raises(Invalid, match=r"resume\(stream\.state\)"):
        stream.finish()


def test_what_is_left_in_a_context_by_an_error_is_left_and_the_error_comes_out(
    talker: Talkers,
) -> None:
    chat = talker(ScriptedModel("Hello there.", "Again."))
    stream = chat.stream(None, "Hello")

    def read() -> None:
        with stream:
            for _ in stream:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        read()
    assert chat.load(stream.state).phase == "asking"
    assert chat.resume(stream.state).text == "Again."


def test_an_error_comes_out_with_the_state_and_ends_the_stream(talker: Talkers) -> None:
    chat = talker(ScriptedModel(fail(529), "Hi."))
    stream = chat.stream(None, "Hello")
    with pytest.raises(Overloaded) as error:
        list(stream)
    assert error.value.state == stream.state
    assert list(stream) == []
    with pytest.raises(Invalid):
        _ = stream.reply
    assert chat.resume(stream.state).text == "Hi."


def test_the_state_of_a_stream_that_has_not_begun_is_the_one_that_it_was_given(
    talker: Talkers,
) -> None:
    chat = talker(ScriptedModel("Hi.", "Bye."))
    before = chat.send(None, "Hello").state
    stream = chat.stream(before, "Bye?")
    assert stream.state == before
    assert chat.load(stream.finish().state).length > chat.load(before).length


def test_the_state_at_the_end_is_the_replys(talker: Talkers) -> None:
    stream = talker(ScriptedModel("Hi.")).stream(None, "Hello")
    assert stream.finish().state == stream.state
