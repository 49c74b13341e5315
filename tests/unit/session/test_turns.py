"""A turn on a ledger, its acts carried out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from hansard import Chat, Overloaded
from hansard.drivers.acts import Call, Do, Pause
from hansard.errors import Busy, HansardError
from hansard.session import turns
from hansard.session.flows import Flows
from hansard.session.ledger import Ledger
from hansard.session.tenure import Tenure
from hansard.stores.store import Hold
from hansard.talk import talk
from hansard.testing import ScriptedModel, fail

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from hansard.drivers.acts import Act
    from hansard.stores.memory import MemoryStore


def renew(hold: Hold, renewed: Callable[[], None]) -> None:
    """Let the lease run out."""


def until_called(
    acts: Generator[Act, object, object], paused: Callable[[Pause], object]
) -> tuple[Call, list[Act]]:
    """Carry out what comes before the model is called."""
    came: list[Act] = []
    step: Any = acts.send
    given: object = None
    while True:
        act = step(given)
        came.append(act)
        step, given = acts.send, None
        if isinstance(act, Call):
            return act, came
        if isinstance(act, Pause):
            paused(act)
            continue
        assert isinstance(act, Do)
        try:
            given = act.run()
        except HansardError as error:
            step, given = acts.throw, error


def test_the_time_for_a_turn_counts_from_when_it_was_asked_for(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = Chat(ScriptedModel(fail(503)))
    with pytest.raises(Overloaded):
        chat.session(store, "talk").send("Before")
    fence = store.lease("talk", Hold("somebody", 100))
    now_s = 1000.0

    def pause(_: Pause) -> None:
        nonlocal now_s
        now_s += 20
        store.lease("talk", Hold("somebody", 0, fence))

    clock = SimpleNamespace(monotonic=lambda: now_s)
    monkeypatch.setattr(turns, "time", clock)
    monkeypatch.setattr(talk, "time", clock)  # Not in the thread that renews leases.
    tenure = Tenure(15.0, renew)
    flows = Flows(chat, Ledger(store, "talk", chat.model.dialect), tenure, "wait")
    acts = flows.turn(None, ["Go"], {"timeout_s": 60.0}).acts()
    called, came = until_called(acts, pause)
    assert called.timeout_s == 40.0
    assert len([act for act in came if isinstance(act, Pause)]) == 1
    acts.close()


def test_a_turn_that_nobody_carries_out_any_more_is_not_renewed(store: MemoryStore) -> None:
    chat = Chat(ScriptedModel("Fine."))
    tenure = Tenure(15.0, renew)
    flows = Flows(chat, Ledger(store, "talk", chat.model.dialect), tenure, "wait")
    acts = flows.turn(None, ["Go"], {}).acts()
    until_called(acts, lambda _: pytest.fail("nobody else is at work"))
    held = [tenure.held]
    acts.close()
    assert [*held, tenure.held] == [True, False]
    with pytest.raises(Busy):  # It runs out by itself.
        store.lease("talk", Hold("somebody", 10))
