"""How states are kept: spelled, read, set aside with a word to somebody, or carried over."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.errors import Invalid, InvalidState, SealBroken
from hansard.record import views
from hansard.sealing import Keyring
from hansard.state import Limits, Rejected, State
from hansard.talk.keeping import Keeping
from tests.support.conversations import Writer

if TYPE_CHECKING:
    from hansard.record.record import Record

OPENAI = hansard.dialect("openai")
GEMINI = hansard.dialect("gemini")


def kept(dialect: str = "openai") -> Record:
    return Writer(dialect).exchange("Hello", "Hi")


def words(record: Record) -> list[str]:
    return [message.text for message in views.context(record)]


# -- spelling -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_a_record_that_is_kept_is_read_again(version: int) -> None:
    keeping = Keeping(version=version)
    state = keeping.save(kept(), "")
    assert isinstance(state, State)
    arrival = keeping.load(state, OPENAI, "")
    assert words(arrival.record) == ["Hello", "Hi"]
    assert (arrival.rejected, arrival.converted) == (None, None)


@pytest.mark.parametrize("nothing", [None, b""])
def test_nothing_begins_a_conversation_that_nobody_has_had_before(nothing: bytes | None) -> None:
    one, other = (Keeping().load(nothing, OPENAI, "").record for _ in range(2))
    assert one.length == 0
    assert one.conversation != other.conversation


def test_a_state_is_compressed_where_that_is_asked_for() -> None:
    state = Keeping(compress="gzip").save(kept(), "")
    assert state.startswith(b"\x1f\x8b")
    assert words(Keeping().load(state, OPENAI, "").record) == ["Hello", "Hi"]


def test_what_would_not_be_read_again_is_an_error_that_has_it() -> None:
    keeping = Keeping(limits=Limits(messages_max=1))
    with pytest.raises(InvalidState, match="would not be loaded again") as caught:
        keeping.save(kept(), "")
    assert caught.value.state == keeping.rescue(kept(), "") == Keeping().save(kept(), "")


def test_a_version_that_has_no_words_for_a_record_is_an_error() -> None:
    writer = Writer()
    writer.begin()
    with pytest.raises(Invalid):
        Keeping(version=1).save(writer.say("Hello"), "")


def test_a_record_is_rescued_in_a_version_that_has_words_for_it() -> None:
    writer = Writer()
    writer.begin()
    record = writer.say("Hello")
    keeping = Keeping(version=1, compress="gzip")
    state = keeping.rescue(record, "")
    assert state.startswith(b"\x1f\x8b")
    assert keeping.load(state, OPENAI, "").record.phase == "asking"


def test_a_record_that_its_version_has_words_for_is_rescued_in_that() -> None:
    keeping = Keeping(version=1)
    assert keeping.rescue(kept(), "") == keeping.save(kept(), "")


# -- seals ----------------------------------------------------------------------------------------


def test_a_sealed_state_is_opened_for_its_owner_alone() -> None:
    keeping = Keeping(keyring=Keyring.single(b"k" * 32))
    state = keeping.save(kept(), "ada")
    assert words(keeping.load(state, OPENAI, "ada").record) == ["Hello", "Hi"]
    assert keeping.check(state, OPENAI, "ada") is None
    for call in (keeping.load, keeping.check):
        with pytest.raises(SealBroken):
            call(state, OPENAI, "bob")


def test_what_is_rescued_is_sealed_too() -> None:
    keeping = Keeping(version=1, keyring=Keyring.single(b"k" * 32))
    writer = Writer()
    writer.begin()
    state = keeping.rescue(writer.say("Hello"), "ada")
    assert b"Hello" not in bytes(state)
    assert keeping.load(state, OPENAI, "ada").record.phase == "asking"


# -- what is set aside ----------------------------------------------------------------------------


def test_a_state_that_cannot_be_used_is_set_aside_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[Rejected] = []
    keeping = Keeping(on_rejected=heard.append)
    secret = b'{"secret":"hush"}'
    with caplog.at_level(logging.ERROR, "hansard"):
        arrival = keeping.load(secret, OPENAI, "")
    assert arrival.rejected is not None
    assert arrival.rejected.blob == secret
    assert heard == [arrival.rejected]
    assert arrival.record.length == 0
    [logged] = caplog.records
    assert logged.levelno == logging.ERROR
    assert arrival.rejected.reason in logged.getMessage()
    assert "17 bytes" in logged.getMessage()
    assert "hush" not in caplog.text


def test_a_listener_that_fails_is_logged_and_the_state_is_set_aside_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_rejected: Rejected) -> None:
        raise ValueError("no database")

    with caplog.at_level(logging.ERROR, "hansard"):
        arrival = Keeping(on_rejected=broken).load(b"junk", OPENAI, "")
    assert arrival.rejected is not None
    assert "no database" in caplog.text


async def later(_rejected: Rejected) -> None:
    """Hear, later."""


@pytest.mark.parametrize(("wrong", "words"), [(3, "found 3"), (later, "not to be async")])
def test_what_could_not_be_told_of_a_state_is_refused_where_it_is_written(
    wrong: Any, words: str
) -> None:
    with pytest.raises(Invalid, match=f"on_rejected= .*{words}"):
        Keeping(on_rejected=wrong)


def test_checking_a_state_tells_nobody(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Rejected] = []
    with caplog.at_level(logging.ERROR, "hansard"):
        rejected = Keeping(on_rejected=heard.append).check(b"junk", OPENAI, "")
    assert rejected is not None
    assert (heard, caplog.records) == ([], [])


def test_a_good_state_is_told_to_nobody(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Any] = []
    keeping = Keeping(on_rejected=heard.append)
    state = keeping.save(kept(), "")
    assert keeping.check(state, OPENAI, "") is None
    keeping.load(state, OPENAI, "")
    assert (heard, caplog.records) == ([], [])


def test_a_state_beyond_the_limits_is_set_aside() -> None:
    state = Keeping().save(kept(), "")
    keeping = Keeping(limits=Limits(size_max=len(state) - 1))
    rejected = keeping.load(state, OPENAI, "").rejected
    assert rejected is not None
    assert rejected.reason == "too_large"


# -- another dialect ------------------------------------------------------------------------------


def test_a_state_of_another_dialect_is_set_aside() -> None:
    rejected = Keeping().load(Keeping().save(kept(), ""), GEMINI, "").rejected
    assert rejected is not None
    assert rejected.reason == "other_dialect"


def test_a_state_of_another_dialect_is_carried_over_where_that_is_asked_for() -> None:
    keeping = Keeping(convert=True)
    record = kept()
    arrival = keeping.load(keeping.save(record, ""), GEMINI, "")
    assert arrival.rejected is None
    assert arrival.converted is not None
    assert arrival.record.dialect.name == "gemini"
    assert arrival.record.conversation == record.conversation
    assert words(arrival.record) == ["Hello", "Hi"]
    assert {message.dialect for message in views.context(arrival.record)} == {"gemini"}


def test_what_was_carried_over_can_be_kept_and_is_not_carried_over_again() -> None:
    keeping = Keeping(convert=True)
    first = keeping.load(keeping.save(kept(), ""), GEMINI, "")
    again = keeping.load(keeping.save(first.record, ""), GEMINI, "")
    assert again.converted is None
    assert words(again.record) == ["Hello", "Hi"]


def test_what_carrying_over_cost_is_told_with_it() -> None:
    writer = Writer("anthropic")
    writer.begin()
    writer.say("Hello")
    writer.answer(
        b'{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"s"},'
        b'{"type":"text","text":"Hi"}]}'
    )
    keeping = Keeping(convert=True)
    converted = keeping.load(keeping.save(writer.end(), ""), OPENAI, "").converted
    assert converted is not None
    assert converted.report


def test_junk_is_set_aside_also_where_states_are_carried_over() -> None:
    arrival = Keeping(convert=True).load(b"junk", GEMINI, "")
    assert arrival.rejected is not None
    assert arrival.converted is None
    assert arrival.record.dialect.name == "gemini"
