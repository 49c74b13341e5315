"""What may follow what: every phase with every step, judged by a table that stands here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import msgspec
import pytest

from hansard.errors import InvalidTransition
from hansard.record import views
from hansard.record.entries import (
    Attempt,
    CallKey,
    Compaction,
    Decision,
    Intent,
    Mark,
    Outcome,
    Rewind,
    Said,
    SliceEvent,
    TurnBegin,
    TurnEnd,
)
from hansard.record.transitions import KEEPS, NEXT, Keeps, Phase, Step, TurnStatus
from tests.support.conversations import Writer, answered, calling, context_bytes, said_by_user

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.messages import Finish
    from hansard.record.entries import Author, Entry

TABLE = """
                idle    asking    calling  answered
    begin       asking  -         -        -
    said        idle    asking    calling  answered
    answer      -       answered  -        -
    paused      -       asking    -        -
    calls       -       calling   -        -
    invalid     -       asking    -        -
    attempt     -       asking    -        -
    intent      -       -         calling  -
    outcome     -       -         calling  -
    last_outcome -      -         asking   -
    late_outcome idle   asking    calling  answered
    decision    -       -         calling  -
    end         -       idle      idle     idle
    compaction  idle    asking    -        -
    mark        idle    -         -        -
    rewind      idle    -         -        -
    slice       idle    asking    calling  answered
"""
"""The phase that a step leads to, or a dash where it must not be taken."""

PHASES = TABLE.splitlines()[1].split()
ROWS = {row.split()[0]: row.split()[1:] for row in TABLE.splitlines()[2:]}
AFTER = {
    (phase, step): after
    for step, row in ROWS.items()
    for phase, after in zip(PHASES, row, strict=True)
}

TAKEN_AS = {
    **{("idle", step): "said" for step in ("answer", "paused", "calls")},
    **{
        (phase, step): "late_outcome"
        for phase in ("idle", "asking", "answered")
        for step in ("outcome", "last_outcome")
    },
}
"""Between turns what a model says is an import; and where no call is pending, a call of before
is the only one that can end."""


@dataclass
class Made:
    """A record in some phase, with a call of before that is over."""

    writer: Writer
    early: CallKey

    def head(self) -> dict[str, Any]:
        return {"seq": self.writer.seq, "turn": self.writer.turn}

    def said(
        self, raw: bytes, author: Author, finish: Finish | None = None, **more: object
    ) -> Said:
        said = Said(
            seq=self.writer.seq,
            turn=self.writer.turn,
            role="assistant" if author == "model" else "user",
            author=author,
            raw=msgspec.Raw(raw),
            finish=finish,
        )
        return msgspec.structs.replace(said, **more)

    def key(self, position: int = 0) -> CallKey:
        """A call that is pending, or the one of before."""
        turn = self.writer.record.turn
        return self.writer.key(position) if turn and turn.round else self.early

    def outcome(self, call: CallKey) -> Outcome:
        raw = msgspec.Raw(b'{"role":"tool","tool_call_id":"%b","content":"x"}' % call.id.encode())
        return Outcome(**self.head(), call=call, status="ok", raw=raw)

    def last_outcome(self) -> Outcome:
        if self.writer.record.pending:
            self.writer.outcome(1)
        return self.outcome(self.key())


def made(phase: str) -> Made:
    """Go into a phase. Two calls are pending in that which has any."""
    writer = Writer()
    writer.begin("earlier")
    writer.say()
    writer.call("early")
    early = writer.key()
    writer.outcome()
    writer.answer()
    writer.end()
    if phase != "idle":
        writer.begin("this")
        writer.say()
    if phase == "calling":
        writer.call("a", "b")
    if phase == "answered":
        writer.answer()
    assert writer.record.phase == phase
    return Made(writer, early)


def end(made: Made) -> TurnEnd:
    done = made.writer.record.phase == "answered"
    return TurnEnd(**made.head(), status="done" if done else "failed")


def summary(made: Made) -> Compaction:
    raw = msgspec.Raw(said_by_user(made.writer.dialect, "So far"))
    return Compaction(**made.head(), first=0, last=3, messages=(raw,), strategy="s")


ENTRIES: dict[str, Callable[[Made], Entry]] = {
    "begin": lambda made: TurnBegin(seq=made.writer.seq, turn=made.writer.turn + 1, turn_id="t"),
    "said": lambda made: made.said(said_by_user(made.writer.dialect), "append"),
    "answer": lambda made: made.said(answered(made.writer.dialect), "model", "stop"),
    "paused": lambda made: made.said(answered(made.writer.dialect), "model", "paused"),
    "calls": lambda made: made.said(calling(made.writer.dialect, "c"), "model", "tool_calls"),
    "invalid": lambda made: made.said(answered(made.writer.dialect), "model", problems=("cut",)),
    "attempt": lambda made: Attempt(**made.head(), error="overloaded"),
    "intent": lambda made: Intent(**made.head(), call=made.key()),
    "outcome": lambda made: made.outcome(made.key()),
    "last_outcome": lambda made: made.last_outcome(),
    "late_outcome": lambda made: made.outcome(made.early),
    "decision": lambda made: Decision(**made.head(), call=made.key(), verdict="approved"),
    "end": end,
    "compaction": summary,
    "mark": lambda made: Mark(**made.head(), name="here"),
    "rewind": lambda made: Rewind(**made.head(), to=0),
    "slice": lambda made: SliceEvent(
        **made.head(), slice_type="Plan", item_type="Step", item=msgspec.Raw(b"1")
    ),
}


def test_the_table_of_transitions_is_the_one_that_stands_here() -> None:
    legal = {(phase, step): after for phase, steps in NEXT.items() for step, after in steps.items()}
    assert legal == {pair: after for pair, after in AFTER.items() if after != "-"}


def test_every_phase_and_every_step_is_in_the_table_and_is_tried_here() -> None:
    assert set(NEXT) == set(PHASES) == set(get_args(Phase))
    assert set(ROWS) == set(ENTRIES) == set(get_args(Step))
    assert {step for steps in NEXT.values() for step in steps} == set(get_args(Step))


@pytest.mark.parametrize(("phase", "step"), AFTER)
def test_a_step_leads_where_the_table_says_or_is_refused_without_a_trace(
    phase: str, step: str
) -> None:
    case = made(phase)
    entry = ENTRIES[step](case)
    before = case.writer.record
    entries, context, shown = list(before.entries()), context_bytes(before), repr(before)
    after = AFTER[phase, TAKEN_AS.get((phase, step), step)]
    if after == "-":
        with pytest.raises(InvalidTransition):
            before.apply(entry)
    else:
        changed = before.apply(entry)
        assert changed.phase == after
        assert list(changed.entries()) == [*entries, entry]
    assert (list(before.entries()), context_bytes(before), repr(before)) == (
        entries,
        context,
        shown,
    )
    assert before.phase == phase


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("status", ["done", "failed", "abandoned"])
def test_a_turn_is_done_when_it_is_answered_and_only_then(phase: str, status: str) -> None:
    writer = made(phase).writer
    if phase != "idle" and (status == "done") == (phase == "answered"):
        assert writer.end(status).phase == "idle"
    else:
        with pytest.raises(InvalidTransition):
            writer.end(status)


def test_a_refusal_says_what_may_follow_and_what_was_found() -> None:
    case = made("calling")
    with pytest.raises(InvalidTransition) as caught:
        case.writer.record.apply(ENTRIES["compaction"](case))
    assert str(caught.value) == (
        "expected one of decision, end, intent, last_outcome, late_outcome, outcome, said, slice "
        "while calling, found compaction"
    )


# -- what a turn leaves behind --------------------------------------------------------------------

KEPT: dict[tuple[str, bool], list[str]] = {
    ("open", False): ["Hello", "meanwhile"],
    ("open", True): ["Hello", "Hm", "meanwhile"],
    ("failed", False): ["meanwhile"],
    ("failed", True): ["Hello", "Hm", "meanwhile"],
    ("abandoned", False): ["meanwhile"],
    ("abandoned", True): ["Hello", "Hm", "meanwhile"],
    ("done", True): ["Hello", "Hm", "meanwhile", "Hi"],
}
"""What the views contain of a turn in which something was asked, perhaps half answered, and
something else appended."""


@pytest.mark.parametrize(("status", "valid"), KEPT)
def test_of_a_turn_stays_what_the_table_says(status: str, valid: bool) -> None:
    writer = Writer()
    writer.begin()
    writer.say("Hello")
    writer.answer("broken", problems=["cut"])
    if valid:
        writer.answer("Hm", finish="paused")
    writer.say("meanwhile", "append")
    writer.answer("broken again", problems=["empty"])
    if status == "done":
        writer.answer("Hi")
    if status != "open":
        writer.end(status)
    kept = KEPT[status, valid]
    assert [message.text for message in views.curated(writer.record)] == kept
    assert [message.text for message in views.context(writer.record)] == kept
    said = [message.text for message in views.comprehensive(writer.record)]
    assert [text for text in said if not text.startswith("broken")] == [
        *["Hello", *["Hm"] * valid, "meanwhile"],
        *["Hi"] * (status == "done"),
    ]
    assert [text for text in said if text.startswith("broken")] == ["broken", "broken again"]


def test_the_table_of_what_stays_is_whole() -> None:
    assert set(KEEPS) == set(KEPT)
    assert set(KEEPS.values()) == set(get_args(Keeps))
    assert {status for status, _ in KEEPS} == set(get_args(TurnStatus))
    all_kept = {pair: "all" if "Hello" in kept else "appended" for pair, kept in KEPT.items()}
    assert all_kept == KEEPS
