"""A reply: everything that can be asked of it is read from the record, when it is asked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.dialects.dialect import Answer, Problem
from hansard.errors import AnswerCut, InvalidAnswer, OutputMismatch
from hansard.messages import Message, Text, Usage
from hansard.neutral import LossReport, convert
from hansard.record.record import Record
from hansard.record.turns import entries_of
from hansard.state import Rejected, State
from hansard.talk.keeping import Arrival
from hansard.talk.reply import Reply
from hansard.turn import writing
from hansard.turn.effects import Wait
from tests.unit.turn.rounds import Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.record.entries import Entry

THOUGHTFUL = (
    b'{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s1"},'
    b'{"type":"text","text":"It is "},{"type":"text","text":"clear."}]}'
)


def spelled(record: Record) -> State:
    return State(b"%d entries" % record.length)


def reply_of(turn: Turn, **options: Any) -> Reply:
    record = turn.record
    given: dict[str, Any] = {
        "arrival": Arrival(record),
        "save": spelled,
        **options,
    }
    return Reply(record, partial(entries_of, record, record.turn_number), **given)


def over(turn: Turn, status: Any = "done", error: str = "") -> Turn:
    return turn.apply(writing.end(turn.record, status, at_us=0, error=error))


def answered(text: str = "Hi.", **more: Any) -> Turn:
    return over(Turn().begin().answer(text, **more))


def failed() -> Turn:
    turn = Turn().begin().answer("No", problems="cut").answer("Nay", problems="empty")
    return over(turn, "failed", "empty cut")


def silent() -> Turn:
    """A turn in which the model gave no message at all."""
    turn = Turn().begin()
    given = Answer(None, usage=Usage(7), problems=(Problem("blocked"),))
    turn.apply(writing.answer(turn.record, given, at_us=0))
    return over(turn, "failed", "blocked")


def waiting() -> tuple[Turn, Wait]:
    turn = Turn().begin().call("pay", "book", "look")
    one, two, three = turn.calls
    return turn, Wait(((one, "result"), (two, "approval"), (three, "result")))


# -- the answer -----------------------------------------------------------------------------------


def test_the_answer_is_the_last_message_of_the_model() -> None:
    turn = Turn().begin().call("look").result().answer("A tree.", finish="length")
    reply = reply_of(over(turn))
    assert isinstance(reply.message, Message)
    assert reply.message.role == "assistant"
    assert reply.text == "A tree."
    assert reply.parts == (Text("A tree."),)
    assert reply.finish_reason == "length"
    assert (reply.thought_text, reply.has_thoughts, reply.thought_signatures) == ("", False, ())


def test_thoughts_are_not_the_text() -> None:
    turn = Turn(dialect="anthropic").begin()
    turn.apply(writing.answer(turn.record, Answer(THOUGHTFUL, "stop"), at_us=0))
    reply = reply_of(over(turn))
    assert reply.text == "It is clear."
    assert (reply.thought_text, reply.has_thoughts) == ("Hm.", True)
    assert reply.thought_signatures == ("s1",)
    assert len(reply.parts) == 3
    assert reply.message is not None
    assert reply.message.raw == THOUGHTFUL


def test_an_invalid_answer_does_not_stand_in_for_a_valid_one() -> None:
    turn = Turn().begin().call("look").result()
    turn.answer("It is a", problems="cut")
    assert reply_of(over(turn, "failed", "cut")).tool_calls == ()
    assert reply_of(turn).message == Message(
        turn.record.dialect,
        bytes(turn.record.entry(2).raw),  # type: ignore[union-attr]
    )


def test_where_no_answer_is_valid_the_last_one_is_shown() -> None:
    assert reply_of(failed()).text == "Nay"


def test_where_the_model_gave_no_message_there_is_none() -> None:
    reply = reply_of(silent())
    assert reply.message is None
    assert (reply.text, reply.parts, reply.finish_reason) == ("", (), None)
    assert (reply.thought_text, reply.has_thoughts, reply.thought_signatures) == ("", False, ())


def test_a_reply_is_of_its_own_turn_alone() -> None:
    turn = over(answered("One.").begin().answer("Two."))
    record = turn.record
    reply = Reply(record, partial(entries_of, record, 1), arrival=Arrival(record), save=spelled)
    assert reply.text == "One."
    assert reply_of(turn).text == "Two."


def test_what_users_and_tools_said_is_no_answer() -> None:
    assert reply_of(over(Turn().begin(), "abandoned")).message is None


# -- output ---------------------------------------------------------------------------------------


def test_the_output_is_what_the_text_decodes_to_and_is_decoded_once() -> None:
    decoded: list[str] = []

    def decode(text: str) -> object:
        decoded.append(text)
        return object()

    reply = reply_of(answered("seven"), decode=decode)
    assert not decoded
    assert reply.output is reply.output
    assert decoded == ["seven"]


def test_an_output_that_does_not_fit_raises_when_it_is_asked_for() -> None:
    def decode(text: str) -> object:
        raise OutputMismatch("odd", text=text)

    reply = reply_of(answered("seven"), decode=decode)
    assert reply.text == "seven"
    with pytest.raises(OutputMismatch):
        _ = reply.output


def test_a_refusal_is_named_where_a_type_was_asked_for() -> None:
    given = Answer(b'{"role":"assistant","content":null,"refusal":"I will not."}', finish="stop")
    turn = Turn().begin()
    turn.apply(writing.answer(turn.record, given, at_us=0))
    reply = reply_of(over(turn), decode=int)
    with pytest.raises(OutputMismatch, match="the model refuses") as error:
        _ = reply.output
    assert error.value.text == "I will not."
    assert error.value.state is not None


def test_where_no_type_was_asked_for_there_is_no_output() -> None:
    assert reply_of(answered()).output is None


def test_a_turn_that_waits_has_no_output_yet() -> None:
    turn, waits = waiting()
    assert reply_of(turn, waits=waits, decode=lambda _: "never").output is None


# -- what it waits for ----------------------------------------------------------------------------


def test_the_calls_are_told_by_what_they_wait_for() -> None:
    turn, waits = waiting()
    reply = reply_of(turn, waits=waits)
    assert [call.name for call in reply.tool_calls] == ["pay", "look"]
    assert [call.name for call in reply.approvals] == ["book"]
    assert reply.valid


def test_a_turn_that_is_over_waits_for_nothing_whatever_it_called() -> None:
    reply = reply_of(over(Turn().begin().call("look").result(), "failed"))
    assert (reply.tool_calls, reply.approvals) == ((), ())


# -- how it went ----------------------------------------------------------------------------------


def test_every_call_of_the_model_has_its_cost_and_the_turn_their_sum() -> None:
    turn = Turn().begin().answer("", problems="empty").call("look").result().answer("A tree.")
    reply = reply_of(over(turn))
    assert reply.usages == (Usage(10, 5),) * 3
    assert reply.usage == Usage(30, 15)


def test_an_answer_without_a_message_has_its_cost_too() -> None:
    reply = reply_of(silent())
    assert reply.usages == (Usage(7),)
    assert reply.usage == Usage(7)


def test_a_call_to_which_nobody_answered_has_cost_nothing() -> None:
    turn = Turn().begin()
    turn.apply(writing.attempt(turn.record, "Overloaded", "", at_us=0))
    reply = reply_of(over(turn.answer("Hi.")))
    assert reply.usages == (Usage(10, 5),)


def test_a_turn_in_which_nothing_was_asked_has_cost_nothing() -> None:
    assert reply_of(Turn().begin()).usage == Usage()


def test_a_valid_answer_has_no_problems_whatever_came_before_it() -> None:
    reply = reply_of(over(Turn().begin().answer("", problems="empty").answer("Hi.")))
    assert (reply.problems, reply.valid) == ((), True)
    reply.check()


def test_a_turn_that_failed_has_the_problems_of_its_last_answer() -> None:
    reply = reply_of(failed())
    assert (reply.problems, reply.valid) == (("empty", "cut"), False)
    with pytest.raises(InvalidAnswer, match="empty, cut") as error:
        reply.check()
    assert error.value.problems == ("empty", "cut")


def test_a_turn_that_was_abandoned_says_so() -> None:
    reply = reply_of(over(Turn().begin(), "abandoned"))
    assert reply.problems == ("abandoned",)
    assert not reply.valid


@pytest.mark.parametrize(
    ("finish", "words"), [("length", "allow more tokens"), ("overflow", "the context window")]
)
def test_an_answer_that_was_cut_is_an_error_for_whoever_checks(finish: Any, words: str) -> None:
    reply = reply_of(answered("Once upon", finish=finish))
    assert reply.valid
    with pytest.raises(AnswerCut, match=words) as error:
        reply.check()
    assert error.value.text == "Once upon"


def test_what_tools_reported_is_kept_as_it_was_then() -> None:
    actions: list[Any] = ["Created X"]
    reply = reply_of(answered(), actions=actions)
    actions.append("later")
    assert reply.actions == ("Created X",)


# -- the conversation -----------------------------------------------------------------------------


def test_the_state_is_that_of_the_record_and_is_made_once() -> None:
    saved: list[Record] = []

    def save(record: Record) -> State:
        saved.append(record)
        return State(b"state")

    turn = answered()
    reply = reply_of(turn, save=save)
    assert not saved
    assert reply.state is reply.state
    assert saved == [turn.record]
    assert reply.record is turn.record


def test_what_became_of_the_state_that_came_is_told() -> None:
    turn = answered()
    rejected = Rejected("not_json", "expected JSON", b"junk")
    assert reply_of(turn).rejected is None
    reply = reply_of(turn, arrival=Arrival(turn.record, rejected))
    assert reply.rejected is rejected


def test_what_was_lost_when_the_state_was_carried_over_is_told() -> None:
    turn = answered()
    assert reply_of(turn).losses == LossReport()
    thoughtful = [Message(hansard.dialect("anthropic"), THOUGHTFUL)]
    converted = convert(thoughtful, turn.record.dialect)
    reply = reply_of(turn, arrival=Arrival(turn.record, converted=converted))
    assert reply.losses is converted.report


def test_entries_are_read_once_and_only_when_something_asks_for_them() -> None:
    read: list[int] = []
    turn = answered()

    def entries() -> Sequence[Entry]:
        read.append(1)
        return entries_of(turn.record, 1)

    reply = Reply(turn.record, entries, arrival=Arrival(turn.record), save=spelled)
    assert (reply.actions, reply.tool_calls, reply.rejected) == ((), (), None)
    assert not read
    assert (reply.text, reply.usage.total_tokens, reply.problems) == ("Hi.", 15, ())
    assert read == [1]


# -- shown ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "shown"),
    [
        (answered("Hi."), "<Reply stop 'Hi.'>"),
        (answered("Once", finish="length"), "<Reply length 'Once'>"),
        (answered("x" * 60), f"<Reply stop '{'x' * 60}'>"),
        (answered("x" * 61), f"<Reply stop '{'x' * 59}…'>"),
        (silent(), "<Reply None ''>"),
    ],
)
def test_a_reply_shows_how_it_ended_and_what_was_said_as_far_as_it_fits(
    turn: Turn, shown: str
) -> None:
    assert repr(reply_of(turn)) == shown


def test_a_reply_that_waits_shows_for_what() -> None:
    turn, waits = waiting()
    shown = "<Reply waiting: pay for result, book for approval, look for result>"
    assert repr(reply_of(turn, waits=waits)) == shown
