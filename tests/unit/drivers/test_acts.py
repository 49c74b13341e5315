"""Acts: both drivers carry out each of them alike."""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any

import pytest

import hansard
from hansard.dialects.events import TextDelta
from hansard.drivers.acts import AWAIT_JOBS, READ, STOP_JOBS, Call, Commit, Deed, Left, Open
from hansard.errors import Overloaded
from hansard.record.record import Record
from tests.unit.drivers.driving import ASK, Drivers, starting

if TYPE_CHECKING:
    from tests.unit.drivers.driving import Acts

RECORD = Record("c0", hansard.dialect("openai"))
COMMIT = Commit((), RECORD)
TOLD = TextDelta("Hello")


class Stop(BaseException):
    """Something that is no error of anybody's, as a cancellation is none."""


# -- committing -----------------------------------------------------------------------------------


def test_a_commit_is_given_as_it_is_and_carried_out_before_the_next_act(drivers: Drivers) -> None:
    log: list[object] = []

    def acts() -> Acts:
        yield COMMIT
        log.append("after")

    drivers.run(acts(), commit=log.append)
    assert log == [COMMIT, "after"]


def test_without_anything_to_make_it_durable_a_commit_does_nothing(drivers: Drivers) -> None:
    def acts() -> Acts:
        yield COMMIT
        return "done"

    assert drivers.run(acts()) == "done"


def test_a_commit_that_fails_is_thrown_into_the_drive(drivers: Drivers) -> None:
    full = OSError("disk full")

    def commit(_: Commit) -> None:
        raise full

    def acts() -> Acts:
        try:
            yield COMMIT
        except OSError as error:
            return error

    assert drivers.run(acts(), commit=commit) is full


# -- calling --------------------------------------------------------------------------------------


def test_a_call_gives_the_body_and_has_its_time_limit(drivers: Drivers) -> None:
    wire = drivers.wire(b"an", b"swer")

    def acts() -> Acts:
        return (yield Call(ASK, 2.5)), (yield Call(ASK, None))

    assert drivers.run(acts(), wire) == (b"answer", b"answer")
    assert wire.log == ["send /ask", "send /ask"]
    assert wire.timeouts == [2.5, None]


@pytest.mark.parametrize("error", [Overloaded("busy"), ValueError("odd"), Stop()])
def test_what_a_call_raises_is_thrown_into_the_drive_which_goes_on(
    drivers: Drivers, error: BaseException
) -> None:
    def acts() -> Acts:
        try:
            yield Call(ASK, None)
        except BaseException as found:  # noqa: BLE001 - that is what is asked
            yield COMMIT
            return found

    committed: list[Commit] = []
    assert drivers.run(acts(), drivers.wire(error), committed.append) is error
    assert committed == [COMMIT]


def test_what_a_drive_raises_comes_out_as_it_is(drivers: Drivers) -> None:
    error = Overloaded("busy")

    def acts() -> Acts:
        yield Call(ASK, None)

    with pytest.raises(Overloaded) as found:
        drivers.run(acts(), drivers.wire(error))
    assert found.value is error


# -- streaming ------------------------------------------------------------------------------------


def reading(times: int) -> Acts:
    yield Open(ASK, 1.5)
    pieces: list[object] = []
    while len(pieces) < times:
        pieces += [(yield READ)]
    return pieces


def test_a_stream_gives_its_pieces_and_none_at_its_end(drivers: Drivers) -> None:
    wire = drivers.wire(b"a", b"b")
    assert drivers.run(reading(3), wire) == [b"a", b"b", None]
    assert wire.timeouts == [1.5]


def test_a_stream_is_closed_as_soon_as_it_ends(drivers: Drivers) -> None:
    wire = drivers.wire(b"a")

    def acts() -> Acts:
        yield Open(ASK, None)
        while (yield READ) is not None:
            assert wire.log == ["open /ask"]
        assert wire.log == ["open /ask", "close"]
        yield Open(ASK, None)
        return (yield READ)

    assert drivers.run(acts(), wire) == b"a"
    assert wire.log == ["open /ask", "close", "open /ask", "close"]


def test_a_stream_that_nobody_reads_to_its_end_is_closed(drivers: Drivers) -> None:
    wire = drivers.wire(b"a", b"b")
    drivers.run(reading(1), wire)
    assert wire.log == ["open /ask", "close"]


@pytest.mark.parametrize("error", [Overloaded("busy"), ValueError("odd"), Stop()])
def test_a_stream_that_breaks_is_thrown_into_the_drive_and_closed(
    drivers: Drivers, error: BaseException
) -> None:
    wire = drivers.wire(b"a", error)
    with pytest.raises(type(error)) as found:
        drivers.run(reading(2), wire)
    assert found.value is error
    assert wire.log == ["open /ask", "close"]


def test_a_stream_is_closed_where_the_drive_raises(drivers: Drivers) -> None:
    wire = drivers.wire(b"a", b"b")

    def acts() -> Acts:
        yield from reading(1)
        raise ValueError("odd")

    with pytest.raises(ValueError, match="odd"):
        drivers.run(acts(), wire)
    assert wire.log == ["open /ask", "close"]


def test_a_stream_that_never_opens_is_thrown_into_the_drive(drivers: Drivers) -> None:
    wire = drivers.wire(on_open=Overloaded("busy"))

    def acts() -> Acts:
        try:
            yield Open(ASK, None)
        except Overloaded:
            return (yield READ)

    assert drivers.run(acts(), wire) is None
    assert wire.log == []


def test_where_nothing_is_open_there_is_nothing_to_read(drivers: Drivers) -> None:
    def acts() -> Acts:
        return (yield READ)

    assert drivers.run(acts()) is None


# -- telling --------------------------------------------------------------------------------------


def test_what_is_no_act_is_an_event_for_whoever_listens(drivers: Drivers) -> None:
    given: list[object] = []

    def acts() -> Acts:
        given.append((yield TOLD))
        given.append((yield COMMIT))
        given.append((yield TextDelta("again")))

    events = drivers.stream(acts())
    assert events.next() is TOLD
    assert events.next() == TextDelta("again")
    assert events.next() is None
    assert given == [None, None, None]
    assert not isinstance(TOLD, Deed)


def test_nothing_is_done_before_somebody_listens(drivers: Drivers) -> None:
    wire = drivers.wire(b"a")
    events = drivers.stream(reading(1), wire)
    events.close()
    assert wire.log == []


def test_whoever_does_not_listen_misses_nothing_but_the_events(drivers: Drivers) -> None:
    def acts() -> Acts:
        yield TOLD
        return "done"

    assert drivers.run(acts()) == "done"


def test_a_listener_who_leaves_is_told_to_the_drive_which_does_what_is_left(
    drivers: Drivers,
) -> None:
    wire = drivers.wire(b"a", b"b")
    committed: list[Commit] = []
    log: list[object] = []

    def acts() -> Acts:
        yield Open(ASK, None)
        try:
            yield TOLD
        except Left:
            yield TextDelta("Nobody hears this.")
            log.append((yield COMMIT))
            log.append((yield STOP_JOBS))
            raise

    events = drivers.stream(acts(), wire, committed.append)
    assert events.next() is TOLD
    events.close()
    assert committed == [COMMIT]
    assert log == [None, []]
    assert wire.log == ["open /ask", "close"]


def test_a_drive_that_takes_no_notice_of_leaving_is_carried_to_its_end(drivers: Drivers) -> None:
    ended: list[str] = []

    def acts() -> Acts:
        try:
            yield TOLD
        except Left:
            ended.append("left")
        yield COMMIT
        ended.append("ended")

    events = drivers.stream(acts())
    events.next()
    events.close()
    assert ended == ["left", "ended"]


def test_what_goes_wrong_while_leaving_comes_out_and_the_stream_is_closed(
    drivers: Drivers,
) -> None:
    wire = drivers.wire(b"a")

    def commit(_: Commit) -> None:
        raise OSError("disk full")

    def acts() -> Acts:
        yield Open(ASK, None)
        try:
            yield TOLD
        finally:
            yield COMMIT

    events = drivers.stream(acts(), wire, commit)
    events.next()
    with pytest.raises(OSError, match="disk full"):
        events.close()
    assert wire.log == ["open /ask", "close"]


def test_leaving_after_the_end_and_leaving_twice_are_harmless(drivers: Drivers) -> None:
    def acts() -> Acts:
        yield TOLD

    events = drivers.stream(acts())
    assert events.next() is TOLD
    assert events.next() is None
    events.close()
    events.close()


# -- where tools run ------------------------------------------------------------------------------

WHO: ContextVar[str] = ContextVar("WHO")


async def who() -> str:
    return WHO.get()


@pytest.mark.parametrize("runs", [[WHO.get], [WHO.get] * 2, [who], [who, WHO.get]])
def test_tools_run_in_the_context_of_the_caller(drivers: Drivers, runs: list[Any]) -> None:
    def acts() -> Acts:
        WHO.set("Ada")
        yield starting(*runs)
        ended = yield AWAIT_JOBS
        while len(ended) < len(runs):
            ended += yield AWAIT_JOBS
        return [one.value for one in ended]

    assert copy_context().run(drivers.run, acts()) == ["Ada"] * len(runs)
