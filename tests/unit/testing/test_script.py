"""The words of a script say what is to happen, and can be put together."""

from __future__ import annotations

import threading

import msgspec
import pytest

from hansard.errors import Invalid
from hansard.messages import Thought, Usage
from hansard.testing import (
    blocked,
    call,
    cut_after,
    delay,
    empty,
    fail,
    fail_after,
    forever,
    hold,
    overflow,
    raw,
    say,
    unreachable,
)
from hansard.testing.script import Fail, Play, Raw, Say


def test_text_alone_is_said() -> None:
    assert forever("Hi.").answer == say("Hi.").answer == Say("Hi.")


def test_one_thought_may_be_given_without_a_list() -> None:
    assert say(thoughts="Hm.") == say(thoughts=Thought("Hm.")) == say(thoughts=[Thought("Hm.")])
    assert say(thoughts="").answer == Say("", (Thought(""),))


def test_arguments_are_given_by_name_or_all_at_once() -> None:
    assert call("f", city="Tokyo", n=2).arguments == '{"city":"Tokyo","n":2}'
    assert call("f", arguments={"id": 1, "custom": True}).arguments == '{"id":1,"custom":true}'
    assert call("f", arguments='{"n": 1.50}').arguments == '{"n": 1.50}'
    assert call("f", exact=msgspec.Raw(b"1e5")).arguments == '{"exact":1e5}'  # type: ignore[arg-type]
    assert call("f").arguments == "{}"


def test_arguments_in_both_ways_are_refused() -> None:
    with pytest.raises(Invalid, match="either arguments="):
        call("f", arguments="{}", city="Tokyo")


def test_figures_are_usual_unless_they_are_given_or_left_out() -> None:
    for made in (say("Hi."), blocked(), empty()):
        assert isinstance(made.answer, Say)
        assert made.answer.usage == Usage(10, 5)
    for bare in (say("Hi.", usage=None), blocked(usage=None), empty(usage=None)):
        assert isinstance(bare.answer, Say)
        assert bare.answer.usage is None


def test_a_block_has_a_reason() -> None:
    with pytest.raises(Invalid, match=r"empty\(\)"):
        blocked("")


def test_no_answer_is_an_error_or_a_broken_connection() -> None:
    assert fail(429, retry_after_s=2).answer == Fail(429, retry_after_s=2)
    assert overflow().answer == Fail(400, is_overflow=True)
    assert unreachable() == Play(Raw(), broken=True)


def test_a_stream_is_cut_after_pieces_or_bytes_and_not_both() -> None:
    with pytest.raises(Invalid, match="either chunks="):
        cut_after("Hi.")
    with pytest.raises(Invalid, match="either chunks="):
        cut_after("Hi.", chunks=1, body_bytes=1)


def test_what_stands_in_the_way_of_an_answer_adds_up() -> None:
    event = threading.Event()
    play = forever(hold(delay(1, delay(2, cut_after(raw(b"a", b"b"), chunks=1))), until=event))

    assert play == Play(Raw((b"a", b"b")), until=event, wait_s=3, chunks=1, repeats=True)


def test_of_two_cuts_the_outer_one_counts() -> None:
    inner = cut_after("Hi.", body_bytes=3, broken=True)

    assert fail_after(inner, 2) == Play(Say("Hi."), chunks=2, error=Fail(500))
    assert cut_after(fail_after("Hi.", 2), body_bytes=3) == Play(Say("Hi."), body_bytes=3)
    assert cut_after(inner, chunks=1) == Play(Say("Hi."), chunks=1)


@pytest.mark.parametrize("wrap", [forever, lambda given: delay(1, given)])
def test_only_an_answer_can_have_something_in_its_way(wrap: object) -> None:
    with pytest.raises(Invalid, match="found bytes"):
        wrap(b"Hi.")  # type: ignore[operator]
