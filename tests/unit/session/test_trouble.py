"""A store that fails, callers who go away: nothing is lost, nothing is doubled."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from hansard import AsyncChat, Tool, ToolContext, ToolIdempotencyError
from hansard.errors import Busy, RevisionConflict, StoreCorrupt, StoreUnavailable
from hansard.record.entries import TurnBegin
from hansard.session import ledger
from hansard.stores.memory import MemoryStore
from hansard.stores.threads import AsyncOver
from hansard.testing import ScriptedModel, call, forever, say

if TYPE_CHECKING:
    from collections.abc import Callable

    from hansard.session import AsyncSession
    from hansard.testing import ScriptedRequest
    from hansard.tools.policies import Policy
    from tests.support.sessions import Sessions, Speaker, TroubledStore


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what is tried again be tried at once."""
    monkeypatch.setattr(ledger, "_RETRIES_S", (0.0, 0.0, 0.0))


def texts(session: Speaker) -> list[str]:
    return [message.text for message in session.history()]


class Failing:
    """Lets some calls of a store fail."""

    def __init__(self, method: str, times: int) -> None:
        self.method = method
        self.times = times

    def __call__(self, name: str) -> None:
        if name == self.method and self.times:
            self.times -= 1
            raise StoreUnavailable("expected a database, found none")


# -- a store that cannot be reached ---------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("times", [1, 3])
def test_a_store_that_fails_now_and_then_is_asked_again(
    sessions: Sessions, troubled: TroubledStore, when: str, times: int
) -> None:
    runs: list[int] = []
    tool = Tool("act", "", {"properties": {}}, lambda: runs.append(1))
    model = ScriptedModel(say(calls=[call("act", id="1")]), "Fine.")
    session = sessions(troubled, model, tools=[tool])

    def fail(name: str) -> None:
        if name == "append" and troubled.calls["append"] % (times + 1):
            raise StoreUnavailable("expected a database, found none")

    setattr(troubled, when, fail)
    assert session.send("Go").text == "Fine."
    session.append("More")
    point = session.mark("here")
    session.fork("fork")
    session.rewind(point)
    assert len(runs) == 1
    assert len([entry for entry in session.log() if isinstance(entry, TurnBegin)]) == 1
    cold = sessions(troubled, model)
    assert cold.log() == session.log()
    assert texts(cold) == ["Go", "", "", "Fine.", "More"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("append", [1, 2, 3])
def test_a_store_that_stays_away_is_told_and_a_retry_loses_and_doubles_nothing(
    sessions: Sessions, troubled: TroubledStore, when: str, append: int
) -> None:
    keys: list[str] = []

    def act(context: ToolContext) -> str:
        keys.append(context.idempotency_key)
        return "done"

    def answer(request: ScriptedRequest) -> Any:
        return "Fine." if request.results else say(calls=[call("act", id="1")])

    def fail(name: str) -> None:
        if name == "append" and troubled.calls["append"] >= append:
            raise StoreUnavailable("expected a database, found none")

    tools = [Tool("act", "", {"properties": {}}, act, policy="keyed")]
    session = sessions(troubled, ScriptedModel(answer), tools=tools)
    session.metadata()
    setattr(troubled, when, fail)
    with pytest.raises(StoreUnavailable) as raised:
        session.send("Go", turn_id="a")
    assert raised.value.conversation == "talk"
    assert raised.value.revision == session.revision is not None
    setattr(troubled, when, lambda _: None)
    assert session.send("Go", turn_id="a").text == "Fine."
    assert len(set(keys)) == 1
    assert texts(session) == ["Go", "", "", "Fine."]
    assert len([entry for entry in session.log() if isinstance(entry, TurnBegin)]) == 1
    assert texts(sessions(troubled, ScriptedModel("Hi"))) == texts(session)


@pytest.mark.parametrize("method", ["read", "find", "head", "lease", "pages"])
def test_what_cannot_be_read_is_told_and_a_retry_goes_on(
    sessions: Sessions, troubled: TroubledStore, method: str
) -> None:
    model = ScriptedModel(forever("Fine."))
    behind = sessions(troubled, model)
    behind.send("a")
    sessions(troubled, model).send("b")
    if method == "lease":
        with sessions(troubled, model).stream("open") as stream:
            next(iter(stream))
    session = sessions(troubled, model) if method == "read" else behind
    troubled.before = Failing(method, 1)
    with pytest.raises(StoreUnavailable):
        session.send("c", turn_id="c")
    assert session.send("c", turn_id="c").text == "Fine."
    assert texts(session)[-2:] == ["c", "Fine."]
    assert len(texts(session)) == (8 if method == "lease" else 6)


def test_a_lease_that_cannot_be_let_go_of_is_no_error(
    sessions: Sessions, troubled: TroubledStore
) -> None:
    tool = Tool("act", "", {"properties": {}}, lambda: "", needs_approval=True)
    session = sessions(troubled, ScriptedModel(say(calls=[call("act", id="1")])), tools=[tool])
    troubled.before = Failing("lease", 1)
    assert len(session.send("Go").approvals) == 1
    assert troubled.calls["lease"] == 1
    with pytest.raises(Busy):
        sessions(troubled, ScriptedModel("Hi"), busy="raise", tools=[tool]).send("Other")


def test_a_fork_that_was_made_twice_is_one(sessions: Sessions, troubled: TroubledStore) -> None:
    session = sessions(troubled, ScriptedModel(forever("Fine.")))
    session.send("a")
    troubled.after = Failing("fork", 2)
    assert texts(session.fork("fork")) == ["a", "Fine."]
    with pytest.raises(RevisionConflict):
        session.fork("fork")


# -- a store that gives back something else -------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "part"),
    [
        ("history", "meta"),
        ("history", "body"),
        ("log", "meta"),
        ("log", "body"),
        ("append", "meta"),
        ("append", "body"),
        ("again", "meta"),
    ],
)
def test_what_nobody_can_have_written_is_corrupt(
    sessions: Sessions, store: MemoryStore, part: str, ask: str
) -> None:
    model = ScriptedModel(forever("Fine."))
    sessions(store, model).send("a", turn_id="a")
    sessions(store, model).send("b")
    pages = store._branches["talk"].pages  # noqa: SLF001 - nobody else can break it
    pages[1] = msgspec.structs.replace(pages[1], **{part: b'[{"broken'})
    session = sessions(store, model)
    asked: dict[str, Callable[[], object]] = {
        "history": session.history,
        "log": session.log,
        "append": lambda: (session.append("c"), session.log()),
        "again": lambda: session.send("a", turn_id="a").text,
    }
    with pytest.raises(StoreCorrupt) as raised:
        asked[ask]()
    assert "restore it from a backup" in str(raised.value)


def test_a_store_that_was_put_back_is_read_anew(sessions: Sessions, store: MemoryStore) -> None:
    model = ScriptedModel(forever("Fine."))
    session = sessions(store, model)
    session.send("a")
    branch = store._branches["talk"]  # noqa: SLF001 - nobody else can put it back
    pages, head = list(branch.pages), branch.head
    session.send("b")
    branch.pages[:], branch.head = pages, head
    session.send("c")
    assert texts(session) == texts(sessions(store, model)) == ["a", "Fine.", "c", "Fine."]


# -- callers who go away --------------------------------------------------------------------------


class Waiting(AsyncOver):
    """A store in memory that lets others go first, before and after each call takes effect."""

    async def _do(self, do: Callable[[], Any]) -> Any:
        await asyncio.sleep(0)
        done = do()
        await asyncio.sleep(0)
        return done


POLICIES: dict[str, Policy] = {"once": "once", "keyed": "keyed"}
ROUND = say(calls=[call("once", id="1"), call("keyed", id="2")])


class Scene:
    """A conversation in which a turn with tools is sent, by a task that may be cancelled."""

    def __init__(self, *, streamed: bool) -> None:
        self.store = MemoryStore()
        self.runs: Counter[tuple[str, str]] = Counter()
        self.streamed = streamed
        tools = [
            Tool(name, name, {"properties": {}}, self._tool(name), policy=policy)
            for name, policy in POLICIES.items()
        ]
        self.chat = AsyncChat(ScriptedModel(self._answer, chunk_bytes=60), tools=tools)

    def session(self) -> AsyncSession:
        return self.chat.session(Waiting(self.store), "talk", busy="raise")

    def _answer(self, request: ScriptedRequest) -> Any:
        return "All done." if request.results else ROUND

    def _tool(self, name: str) -> Callable[..., Any]:
        async def run(context: ToolContext) -> str:
            await asyncio.sleep(0)
            self.runs[name, context.idempotency_key] += 1
            await asyncio.sleep(0)
            return f"{name} done"

        return run

    async def send(self, session: AsyncSession) -> str:
        if not self.streamed:
            return (await session.send("Go", turn_id="a")).text
        async with session.stream("Go", turn_id="a") as stream:
            return (await stream.finish()).text

    async def cancelled_after(self, steps: int) -> bool:
        """Send, and cancel that after some steps; say whether it had come to its end."""
        session = self.session()
        task = asyncio.create_task(self.send(session))
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                return True
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        assert getattr(raised.value, "conversation", "talk") == "talk"
        return False

    async def resumed(self, session: AsyncSession) -> list[str]:
        """Go on with it, deciding about what is in doubt by looking whether it ran."""
        while True:
            try:
                text = await self.send(session)
            except ToolIdempotencyError as error:
                for one in error.calls:
                    ran = any(name == one.name for name, _ in self.runs)
                    await session.settle(one, "once done" if ran else None, not_run=not ran)
            else:
                assert text == "All done."
                return [
                    message.text or " ".join([each.text for each in message.tool_results])
                    for message in await session.history()
                ]


@pytest.mark.parametrize("same", [True, False], ids=["same session", "another session"])
@pytest.mark.parametrize("streamed", [False, True])
def test_who_is_cancelled_at_any_moment_can_be_gone_on_with(streamed: bool, same: bool) -> None:
    async def play(steps: int) -> bool:
        scene = Scene(streamed=streamed)
        session = scene.session()
        if same:
            scene.session = lambda: session  # type: ignore[method-assign]
        over = await scene.cancelled_after(steps)
        said = await scene.resumed(scene.session())
        assert said[0] == "Go", steps
        assert said[-1] == "All done.", steps
        assert " ".join(said[2:-1]) == "once done keyed done", steps
        runs = Counter(name for name, _ in scene.runs.elements())
        assert runs["once"] == 1, steps
        assert len([key for name, key in scene.runs if name == "keyed"]) == 1, steps
        return over

    steps = 0
    while not asyncio.run(play(steps)):
        steps += 1
    assert steps > 15
