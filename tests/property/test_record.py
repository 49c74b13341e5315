"""Whatever is recorded, legal or not, a record says what a plain model of the design says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import hansard
from hansard.dialects.dialect import Ask
from hansard.dialects.pairing import repair
from hansard.errors import InvalidTransition
from hansard.messages import ToolCall, Usage, assistant, user
from hansard.neutral import conversation_state
from hansard.record import blob, views
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
    encode_entries,
)
from hansard.record.record import Record
from hansard.sealing import Keyring
from tests.conftest import scale
from tests.property.strategies import ANY_TEXT
from tests.support.conversations import (
    DIALECTS,
    add_odd,
    context_bytes,
    result_of,
    wire_messages,
)
from tests.support.record_model import Illegal, Model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hansard.dialects.dialect import Dialect
    from hansard.record.entries import Author, Entry

KEYRING = Keyring.single(b"k" * 32)
STATUSES: tuple[Literal["done", "failed", "abandoned"], ...] = ("done", "failed", "abandoned")
VERDICTS: tuple[Literal["approved", "denied", "settled", "not_run"], ...] = (
    "approved",
    "denied",
    "settled",
    "not_run",
)
FATES: tuple[Literal["ok", "error", "unknown"], ...] = ("ok", "ok", "error", "unknown")


class Step(NamedTuple):
    """One thing to do, and what to do it with, as far as it needs that."""

    kind: str
    number: int
    text: str
    ids: list[str]


def snapshot(record: Record) -> tuple[Any, ...]:
    """Everything that a caller can see of a record and its context."""
    return (
        record.length,
        record.phase,
        record.turn_number,
        record.processed,
        record.tokens,
        record.compacted_us,
        [call.position for call in record.pending],
        context_bytes(record),
        [message.raw for message in views.context(record)],
        views.repairs(record),
        [line.pin for line in record.context.lines()],
        blob.write(record),
    )


def history(record: Record) -> tuple[Any, ...]:
    """What was recorded, and the views that also have what is no longer sent."""
    return (
        encode_entries(list(record.entries())),
        views.curated(record),
        views.comprehensive(record),
        conversation_state(record),
    )


class Kept(NamedTuple):
    """A record, its model, and how it looked when it was the newest."""

    record: Record
    model: Model
    looked: tuple[Any, ...]

    @classmethod
    def keep(cls, record: Record, model: Model) -> Kept:
        return cls(record, model, (*snapshot(record), *history(record)))

    def check(self) -> None:
        """Nobody has disturbed it."""
        assert (*snapshot(self.record), *history(self.record)) == self.looked


class Play:
    """A record, its model, and a twin that is saved and loaded now and then."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.record = self.twin = Record("c0", dialect)
        self.model = Model(dialect)
        self.earlier = [Kept.keep(self.record, self.model)]

    # -- recording ----------------------------------------------------------------------------

    def put(self, entry: Entry) -> None:
        """Apply an entry everywhere; or see it refused everywhere, without a trace."""
        note(repr(entry))
        try:
            model = self.model.apply(entry)
        except Illegal:
            self.refuse(entry)
            return
        self.record = self.record.apply(entry)
        self.twin = self.twin.apply(entry)
        self.model = model

    def refuse(self, entry: Entry) -> None:
        before = snapshot(self.record)
        for record in (self.record, self.twin):
            with pytest.raises(InvalidTransition):
                record.apply(entry)
        assert snapshot(self.record) == before

    def head(self) -> dict[str, Any]:
        return {"seq": self.record.length, "turn": self.record.turn_number}

    def put_said(self, raw: bytes, author: Author, **more: Any) -> None:
        role = hansard.Message(self.dialect, raw).role
        said = Said(**self.head(), role=role, author=author, raw=msgspec.Raw(raw), **more)
        self.put(said)

    def words(self, step: Step) -> bytes:
        raw = self.dialect.say(user(step.text or "."))[0].raw
        return add_odd(self.dialect, raw) if step.number % 2 else raw

    def calls(self, step: Step) -> bytes:
        parts = [ToolCall(name, f"f{name}", "{}", at) for at, name in enumerate(step.ids)]
        return self.dialect.say(assistant(*parts))[0].raw

    # -- a turn that goes well --------------------------------------------------------------------

    def go_on(self, step: Step) -> None:
        """Do what usually comes next."""
        in_turn = self.record.turn is not None and self.record.context.count
        asking = self.answer if step.number % 3 == 0 else self.call
        asking = asking if step.number % 4 or not in_turn else self.said
        usual = {"idle": self.begin, "asking": asking, "calling": self.outcome}
        usual.get(self.record.phase, self.end)(step)

    def begin(self, step: Step) -> None:
        number = self.record.turn_number + (1 if step.number % 10 else 2)
        self.put(TurnBegin(seq=self.record.length, turn=number, turn_id=step.text))

    def said(self, step: Step) -> None:
        author: Author = "input" if step.number % 3 else "append"
        self.put_said(self.words(step), author, pin=step.number % 5 == 0)

    def answer(self, step: Step) -> None:
        raw = self.dialect.say(assistant(step.text or "."))[0].raw
        usage = Usage(step.number, 1) if step.number % 5 else None
        finish = "stop" if step.number % 7 else "paused"
        raw = add_odd(self.dialect, raw) if step.number % 2 else raw
        self.put_said(raw, "model", finish=finish, usage=usage)

    def call(self, step: Step) -> None:
        self.put_said(self.calls(step), "model", finish="tool_calls")

    def outcome(self, step: Step) -> None:
        key, fate = self.key(step), FATES[step.number % len(FATES)]
        name = key.id if step.number % 9 else f"{key.id}x"  # Another call's result.
        call = ToolCall(name, f"f{name}", "{}", key.position)
        raw = self.dialect.result(call, call.answer(f"did {self.record.length}"))
        fragment = msgspec.Raw(b"null" if fate == "unknown" else raw)
        self.put(Outcome(**self.head(), call=key, status=fate, raw=fragment))

    def key(self, step: Step) -> CallKey:
        """A call of the open round; where there is none, an earlier one or none at all."""
        round_ = self.record.turn.round if self.record.turn else None
        if round_ is not None:
            call = round_.calls[step.number // 7 % len(round_.calls)]
            return CallKey(round_.answer.seq, call.position, call.id)
        answers = [*self.model.answers, self.record.length + 1]
        return CallKey(answers[step.number % len(answers)], 0, "a")

    def end(self, step: Step) -> None:
        done = self.record.phase == "answered"
        status = STATUSES[step.number % 3] if step.number % 5 == 0 else STATUSES[not done]
        self.put(TurnEnd(**self.head(), status=status))

    # -- and what else can happen -----------------------------------------------------------------

    def said_on_a_wire(self, step: Step) -> None:
        """Any message that was ever collected: with calls, with results, with nothing to send."""
        known = wire_messages(self.dialect.name)
        self.put_said(known[step.number % len(known)], "append" if step.number % 2 else "tool")

    def said_calls(self, step: Step) -> None:
        """Calls that no turn of ours has made: an import."""
        self.put_said(self.calls(step), "append", pin=step.number % 4 == 0)

    def said_result(self, step: Step) -> None:
        """The result of a call that was perhaps imported, and perhaps never made."""
        raw = result_of(self.dialect, self.calls(step), step.number % len(step.ids))
        self.put_said(raw, "append", pin=step.number % 4 == 0)

    def invalid_answer(self, step: Step) -> None:
        raw = self.dialect.say(assistant("half a"))[0].raw
        cut = bool(step.number % 2)
        self.put_said(raw, "model", problems=("cut" if cut else "empty",), cut=cut)

    def attempt(self, step: Step) -> None:
        answered = bool(step.number % 2)
        self.put(Attempt(**self.head(), error="empty", detail=step.text, answered=answered))

    def odd_outcome(self, step: Step) -> None:
        """A late one; one for a call that nobody made; one without a result."""
        key = self.key(step)
        position, name = key.position + step.number // 3 % 2, key.id + "x" * (step.number % 2)
        odd = CallKey(key.answer, position, name)
        some = self.model.round is None or odd != key
        raw = msgspec.Raw(b'{"late":1}' if some and step.number % 5 else b"null")
        self.put(Outcome(**self.head(), call=odd, status="ok", raw=raw))

    def intent(self, step: Step) -> None:
        self.put(Intent(**self.head(), call=self.key(step)))

    def decide(self, step: Step) -> None:
        verdict = VERDICTS[step.number % len(VERDICTS)]
        self.put(Decision(**self.head(), call=self.key(step), verdict=verdict, by=step.text))

    def compact(self, step: Step) -> None:
        """Any range at all, also one that tears calls from their results, or is none."""
        first = step.number % 10 * self.record.length // 10
        size = step.number // 10 % 10 * (self.record.length - first) // 10
        last = first + size if step.number % 7 else self.record.length
        texts = [f"summary {place} at {self.record.length}" for place in range(step.number % 3)]
        summary = [self.dialect.say(user(text))[0].raw for text in texts]
        self.put(
            Compaction(
                **self.head(),
                at_us=self.record.length,
                first=first,
                last=last,
                messages=tuple(map(msgspec.Raw, summary)),
                strategy=step.text,
                tokens_after=size,
            )
        )

    def rewind(self, step: Step) -> None:
        to = self.record.length - step.number % (self.record.length + 2)
        if to < self.twin.base:
            self.twin = self.record  # It was loaded, and knows nothing of what was before.
        self.put(Rewind(**self.head(), to=to))

    def mark(self, step: Step) -> None:
        gap, ahead = step.number % 4 == 0, step.number % 5 == 0
        turn = self.record.turn_number + ahead
        self.put(Mark(seq=self.record.length + gap, turn=turn, name=step.text))

    def slice(self, step: Step) -> None:
        item = msgspec.Raw(b'{"done":1.50,"half":"\\ud83d"}')
        self.put(SliceEvent(**self.head(), slice_type=step.text, item_type="Step", item=item))

    def fork(self, step: Step) -> None:
        """Go on from any record there ever was."""
        self.record, self.model, _ = self.earlier[step.number % len(self.earlier)]
        self.twin = self.record

    def reload(self, step: Step) -> None:
        """Save the twin and load it: from here on it is another record with the same future."""
        keyring = KEYRING if step.number % 2 else None
        compress: Literal["gzip"] | None = "gzip" if step.number // 2 % 2 else None
        state = hansard.save(self.twin, compress=compress, keyring=keyring, owner="u7")
        loaded = hansard.load(
            state, self.dialect, conversation="other", keyring=keyring, owner="u7"
        )
        assert loaded.rejected is None
        self.twin = loaded.record

    # -- what holds at all times ------------------------------------------------------------------

    def check(self, step: Step) -> None:
        self.check_standing()
        self.check_views()
        self.check_context()
        assert snapshot(self.twin) == snapshot(self.record)
        self.check_blob()
        if self.record is not self.earlier[-1].record:
            self.earlier.append(Kept.keep(self.record, self.model))
        self.earlier[step.number % len(self.earlier)].check()

    def check_standing(self) -> None:
        """It is where the model is."""
        record, model = self.record, self.model
        assert (record.length, record.phase) == (model.length, model.phase)
        assert record.turn_number == model.turn
        assert (record.processed, record.tokens) == (model.now.seen, model.now.tokens)
        pending = model.round.pending if model.round else ()
        assert tuple([call.position for call in record.pending]) == pending
        if record.turn is not None:
            assert (record.turn.answered, record.turn.failures) == (model.answered, model.failures)
            assert (record.turn.rounds, record.turn.faults) == (model.rounds, model.faults)
            self.check_round()

    def check_round(self) -> None:
        round_ = self.record.turn.round if self.record.turn else None
        assert (round_ is None) == (self.model.round is None)
        if round_ is not None and self.model.round is not None:
            unknown = [call.position for call in round_.pending if round_.outcome(call) is not None]
            assert round_.intents == self.model.round.intents
            assert frozenset(unknown) == self.model.round.unknown

    def check_views(self) -> None:
        """Its views are the model's."""
        record, model = self.record, self.model
        assert tuple([line.raw for line in record.context.lines()]) == model.raws
        pins = [line.pin for line in record.context.lines()]
        assert pins == [line.pin for line in model.now.context]
        assert [message.raw for message in views.context(record)] == model.sent
        assert tuple([message.raw for message in views.curated(record)]) == model.now.curated
        heard = tuple([message.raw for message in views.comprehensive(record)])
        assert heard == model.comprehensive

    def check_context(self) -> None:
        """What is sent is the context, and no provider would refuse it for an orphan."""
        shown = [message.raw for message in views.context(self.record)]
        again = repair(self.dialect, shown, pending=bool(self.record.pending))
        assert again.repairs == ()
        assert list(again.messages) == shown
        if self.record.pending and not self.record.context.tidy:
            return  # It waits: nothing is sent now.
        sent = b",".join([self.dialect.splice(raw) for raw in shown])
        assert context_bytes(self.record) == sent
        body = self.dialect.request(Ask("m", self.record.context.segments(self.dialect))).body
        assert sent in body
        json.loads(body)

    def check_blob(self) -> None:
        """A blob is written as it was read, and says all that there is to go on with."""
        data = blob.write(self.record)
        read = blob.read(data, hansard.dialect)
        assert blob.write(read) == data
        assert snapshot(read) == snapshot(self.record)

    def check_earlier(self) -> None:
        """All that there ever was is as it was."""
        for kept in self.earlier:
            kept.check()
            assert [entry.seq for entry in kept.record.entries()] == list(range(kept.model.length))


RARE = [
    *("said", "said_on_a_wire", "said_calls", "said_result", "invalid_answer", "attempt"),
    *("odd_outcome", "intent", "decide", "compact", "rewind", "mark", "slice", "fork", "reload"),
    *("begin", "end", "answer", "call"),
]
STEPS = st.builds(
    Step,
    st.sampled_from(["go_on"] * len(RARE) + RARE),
    st.integers(0, 999),
    st.sampled_from(["", "Hello", 'naïve 🜁\x00\n"\\', "half \ud83d", "[{" * 9]),
    st.lists(st.sampled_from(["a", "b", "c", "\ud800"]), min_size=1, max_size=3, unique=True),
)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_a_record_says_what_a_plain_model_says(dialect: Dialect) -> None:
    @settings(max_examples=scale(15, 200), report_multiple_bugs=False)
    @given(st.lists(STEPS, min_size=15, max_size=50))
    def play(steps: Sequence[Step]) -> None:
        game = Play(dialect)
        for step in steps:
            note(repr(step))
            do: Callable[[Step], None] = getattr(game, step.kind)
            do(step)
            game.check(step)
        game.check_earlier()

    play()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_what_a_dialect_makes_of_a_result_is_taken_whatever_the_call_is(dialect: Dialect) -> None:
    """A call whose results are all refused would never end."""
    names = st.one_of(st.sampled_from(["", "a", "function_call"]), ANY_TEXT)
    said = st.builds(ToolCall, names, names, st.just("{}"))

    @settings(max_examples=scale(40, 2000))
    @given(st.lists(said, min_size=1, max_size=3), ANY_TEXT)
    def play(parts: list[ToolCall], text: str) -> None:
        raw = dialect.compose(assistant(*parts)).messages[0]
        record = Record("c0", dialect).apply(TurnBegin(seq=0, turn=1, turn_id="t"))
        answer = Said(seq=1, turn=1, role="assistant", author="model", raw=msgspec.Raw(raw))
        record = record.apply(answer)
        for call in record.pending:
            key = CallKey(1, call.position, call.id)
            result = msgspec.Raw(dialect.result(call, call.answer(text)))
            record = record.apply(
                Outcome(seq=record.length, turn=1, call=key, status="ok", raw=result)
            )
        assert record.phase == "asking"
        assert record.context.tidy
        mended = repair(dialect, [line.raw for line in record.context.lines()])
        assert mended.repairs == ()

    play()
