"""Turns that go any way at all: crashes, lost answers, odd calls, people who decide, new rules.

Whatever happens, the machine knows what to do next, starts nothing twice, and comes to an end.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from hypothesis import given, note
from hypothesis import strategies as st

from hansard.dialects.dialect import Answer, Problem
from hansard.messages import assistant
from hansard.turn import writing
from hansard.turn.effects import Append, AskTool, CallModel, Finish, RunTool, Wait, call_key
from hansard.turn.machine import next_effects
from hansard.turn.standing import STANDINGS, look
from tests.support.conversations import DIALECTS
from tests.unit.turn.rounds import Turn, asking, made, rules_of, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hansard.messages import ToolCall
    from hansard.turn.effects import Effect, WaitingFor
    from hansard.turn.rules import Rules

TOOLS = (
    made("read", policy="reads"),
    made("put", policy="keyed", max_concurrent=1),
    made("move", policy="transactional"),
    made("book"),
    made("book_alone", policy="once", max_concurrent=1),
    made("book_known", policy="once", on_unknown=lambda _: "found"),
    made("asked", policy="once", needs_approval=True),
    made("asked_odd", policy="keyed", needs_approval=lambda arguments: arguments["n"] % 2),
    made("yours", run=None),
)
NAMES = [*[tool.name for tool in TOOLS], "nobody"]

TROUBLES = 8
"""How often a walk may be set back in ways that no limit bounds: crashes, and nobody answering."""

STEPS_MAX = 400
"""With four rounds of four calls, a turn that needs more than this goes round in circles."""

CALLS = st.lists(
    st.builds(
        asking,
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from(NAMES),
        st.sampled_from(['{"n":1}', '{"n":2}', '{"n":1}', '{"n":2}', '{"n":"x"}']),
    ),
    min_size=2,
    max_size=4,
)
RULES = st.fixed_dictionaries(
    {
        "default_policy": st.sampled_from(["once", "once", "reads", "transactional"]),
        "rounds_max": st.sampled_from([3, 4, 4, 2, 1]),
        "retries": st.integers(0, 2),
        "concurrent_max": st.integers(1, 4),
        "transactions": st.booleans(),
        "run_tools": st.sampled_from([True, True, True, False]),
    }
)


class Walk:
    """A turn, what is in flight of it, and whatever Hypothesis draws to happen next."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.turn = Turn(dialect=self.draw(st.sampled_from(DIALECTS))).begin()
        self.rules: Rules = rules_of(*TOOLS, **self.draw(RULES))
        self.running: dict[str, RunTool | AskTool] = {}
        self.troubles = TROUBLES
        self.started: Counter[str] = Counter()
        self.cleared: Counter[str] = Counter()
        """How often somebody said of a call that it had not run."""

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self.data.draw(strategy)

    def trouble(self) -> bool:
        """Whether something goes wrong that may go wrong again."""
        happens: bool = self.troubles > 0 and self.draw(st.integers(0, 4)) == 0
        self.troubles -= happens
        return happens

    def go(self) -> None:
        for _ in range(STEPS_MAX):
            record, running = self.turn.record, frozenset(self.running)
            effects = next_effects(record, self.rules, running)
            note(f"{record.phase}: {', '.join(shown(effects)) or 'wait'}")
            self.check(effects)
            if effects and isinstance(effects[0], Finish):
                return
            self.carry_out(effects)
            if self.trouble():
                self.running = {}  # The process is gone, and the next one may have other rules.
                self.rules = rules_of(*TOOLS, **self.draw(RULES))
        raise AssertionError(f"expected an end within {STEPS_MAX} steps")

    # -- what must hold ---------------------------------------------------------------------------

    def check(self, effects: Sequence[Effect]) -> None:
        assert effects or self.running, "nothing to do, and nothing to wait for"
        keys = [effect.key for effect in effects]
        assert len({*keys, *self.running}) == len(keys) + len(self.running), "a key twice"
        alone = [effect for effect in effects if isinstance(effect, Wait | Finish | CallModel)]
        assert not alone or len(effects) == 1
        appends = [isinstance(effect, Append) for effect in effects]
        assert appends == sorted(appends, reverse=True)
        assert sum(appends) <= 1
        self.check_starts([each for each in effects if isinstance(each, RunTool | AskTool)])
        for effect in effects:
            if isinstance(effect, Wait):
                self.check_wait(effect)

    def check_starts(self, starts: Sequence[RunTool | AskTool]) -> None:
        tools = self.rules.tools
        busy = Counter([effect.call.name for effect in (*starts, *self.running.values())])
        assert busy.total() <= self.rules.concurrent_max
        policies = Counter([self.rules.policy(tools[name]) for name in busy.elements()])
        assert policies["transactional"] <= 1
        for name, count in busy.items():
            assert count <= (tools[name].max_concurrent or count)
        round_ = self.turn.record.turn.round if self.turn.record.turn else None
        for effect in starts:
            assert round_ is not None
            assert effect.call in round_.pending
            assert effect.key == call_key(self.turn.record, effect.call)
            is_once = self.rules.policy(tools[effect.call.name]) == "once"
            intended = effect.call.position in round_.intents
            if is_once and isinstance(effect, RunTool):
                assert not intended, "a once call is started whose intent is on the record"

    def check_wait(self, wait: Wait) -> None:
        assert not self.running, "somebody is waited for while something runs"
        assert tuple([call for call, _ in wait.calls]) == self.turn.record.pending

    # -- what happens -----------------------------------------------------------------------------

    def carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Append):
                self.turn.apply(*effect.entries)
            elif isinstance(effect, CallModel):
                self.answer()
            elif isinstance(effect, Wait):
                for call, what in effect.calls:
                    self.decide(call, what)
            elif isinstance(effect, RunTool | AskTool):
                self.start(effect)
        if not effects:
            key = self.draw(st.sampled_from(sorted(self.running)))
            self.end(self.running.pop(key))

    def start(self, effect: RunTool | AskTool) -> None:
        self.running[effect.key] = effect
        if isinstance(effect, AskTool):
            return
        round_ = self.turn.record.turn.round if self.turn.record.turn else None
        assert round_ is not None
        if self.rules.policy(self.rules.tools[effect.call.name]) == "once":
            assert effect.call.position in round_.intents, "it starts, and that is not recorded"
            self.started[effect.key] += 1
            assert self.started[effect.key] <= 1 + self.cleared[effect.key]

    def answer(self) -> None:
        record = self.turn.record
        if self.trouble():
            left = self.draw(st.booleans())
            given = Answer(self.said("He"), problems=(Problem("cut"),), cut=True)
            attempt = writing.attempt(record, "Overloaded", "", at_us=0)
            self.turn.apply(writing.interrupted(record, given, at_us=0) if left else attempt)
            return
        kinds = [*["calls"] * 6, "text", "paused", "bad", "bad", "blocked"]
        kind = self.draw(st.sampled_from(kinds))
        if kind == "calls":
            self.turn.apply(writing.answer(record, Answer(self.said(*self.draw(CALLS))), at_us=0))
        elif kind == "bad":
            raw = self.draw(st.sampled_from([None, self.said("He")]))
            problem = Problem(self.draw(st.sampled_from(["empty", "cut", "bad_arguments"])))
            self.turn.apply(writing.answer(record, Answer(raw, problems=(problem,)), at_us=0))
        elif kind == "blocked":
            given = Answer(None, problems=(Problem("blocked"),))
            self.turn.apply(writing.answer(record, given, at_us=0))
        else:
            finish: Any = "paused" if kind == "paused" else "stop"
            self.turn.apply(writing.answer(record, Answer(self.said("Hi."), finish), at_us=0))

    def said(self, *parts: str | ToolCall) -> bytes:
        [message] = self.turn.record.dialect.say(assistant(*parts))
        return message.raw

    def end(self, effect: RunTool | AskTool) -> None:
        """Something that ran has ended; or nobody will ever know."""
        record, call = self.turn.record, effect.call
        policy = self.rules.policy(self.rules.tools[call.name])
        if self.trouble():
            if policy == "once":
                self.turn.apply(writing.unknown(record, call, at_us=0))
            return
        result = call.answer("done", is_error=self.draw(st.booleans()))
        self.turn.apply(writing.outcome(record, call, result, at_us=0))

    def decide(self, call: ToolCall, what: WaitingFor) -> None:
        """Somebody does something about a call that waits."""
        record = self.turn.record
        round_ = record.turn.round if record.turn else None
        assert round_ is not None
        if what == "approval":
            assert STANDINGS[look(call, round_, self.rules).standing] == "wait for approval"
            verdict = self.draw(st.sampled_from(["approved", "denied"]))
            self.turn.apply(writing.decision(record, call, verdict, at_us=0))
            return
        if what == "settlement":
            assert call.position in round_.intents
            if self.trouble():
                self.turn.apply(writing.decision(record, call, "not_run", at_us=0))
                self.cleared[call_key(record, call)] += 1
                return
            self.turn.apply(writing.decision(record, call, "settled", at_us=0))
        record = self.turn.record
        self.turn.apply(writing.outcome(record, call, call.answer("said so"), at_us=0))


@given(st.data())
def test_whatever_happens_the_machine_knows_what_to_do_and_comes_to_an_end(
    data: st.DataObject,
) -> None:
    walk = Walk(data)
    walk.go()
    assert walk.turn.record.turn is None
    assert not walk.running
