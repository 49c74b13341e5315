"""Snapshots: positions that cost nothing, JSON that stands by itself, and going back to either."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hansard import (
    Chat,
    Snapshot,
    SnapshotRestoreError,
    ToolContext,
    Unreachable,
    append_all,
    enable_conversation_recording,
    tool,
    upsert_by,
)
from hansard.errors import RevisionConflict
from hansard.neutral import ConversationState
from hansard.stores.memory import MemoryStore
from hansard.testing import ScriptedModel, call, forever, say, unreachable
from tests.support.holders import Holders
from tests.support.talkers import KINDS
from tests.support.wired import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.holders import Face
    from tests.support.talkers import Kind


@dataclass(frozen=True)
class Plan:
    step: str
    done: bool = False


@pytest.fixture(params=KINDS)
def holders(request: pytest.FixtureRequest) -> Iterator[Holders]:
    kind: Kind = request.param
    made = Holders(kind)
    yield made
    made.close()


def texts(session: Face) -> list[str]:
    return [message.text for message in session.history()]


# -- taking one -------------------------------------------------------------------------------


def test_a_snapshot_is_a_position_and_reads_nothing() -> None:
    store = _Reading()
    session = Chat(ScriptedModel(forever("Yes."))).session(store, "c")
    session.send("Hello")
    session.snapshot()
    store.asked.clear()
    snapshot = session.snapshot()
    assert (snapshot.conversation, snapshot.revision) == ("c", session.revision)
    assert store.asked == []
    session.send("More")
    assert len(snapshot.entries) == snapshot.revision.seq
    assert store.asked == ["pages"]


class _Reading(MemoryStore):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def pages(self, conversation: str, *, after: int = 0) -> Any:
        self.asked.append("pages")
        return super().pages(conversation, after=after)

    def read(self, conversation: str) -> Any:
        self.asked.append("read")
        return super().read(conversation)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_snapshot_goes_through_json_and_back(holders: Holders, dialect: str) -> None:
    session = holders(ScriptedModel(forever("Yes. \u2028 🎭 <&>"), dialect=dialect))
    session.register(Plan, upsert_by(lambda plan: plan.step), name="plan")
    session[Plan].append(Plan("a"))
    session.send("Hello")
    session[Plan].append(Plan("a", done=True))
    snapshot = session.snapshot()
    text = snapshot.to_json()
    read = Snapshot.from_json(text)
    assert read == snapshot
    assert hash(read) == hash(snapshot)
    assert (read.to_json(), read.slices, read.entries) == (text, snapshot.slices, snapshot.entries)
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot  # noqa: S301 - our own
    assert json.loads(text)["slices"] == [
        {"slice_type": "plan", "item_type": "plan", "items": [{"step": "a", "done": True}]}
    ]
    state = read.state()
    assert state is not None
    assert [turn.assistant_message.content for turn in state.turns] == ["Yes. \u2028 🎭 <&>"]


def test_a_snapshot_of_nothing_is_one_too(holders: Holders) -> None:
    session = holders()
    snapshot = Snapshot.from_json(session.snapshot().to_json())
    assert (snapshot.entries, snapshot.state()) == ((), None)
    session.send("Hello")
    session.restore(snapshot)
    assert texts(session) == []


# -- restoring --------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True], ids=["position", "json"])
def test_restoring_where_it_was_taken_is_a_rewind(holders: Holders, whole: bool) -> None:
    session = holders()
    session.register(Plan)
    session[Plan].append(Plan("a"))
    session.send("One")
    snapshot = session.snapshot()
    if whole:
        snapshot = Snapshot.from_json(snapshot.to_json())
    session[Plan].append(Plan("b"))
    session.send("Two")
    count = len(session.log())
    assert not session.restore(snapshot)
    assert texts(session) == ["One", "Yes."]
    assert session[Plan].all() == (Plan("a"),)
    assert len(session.log()) == count + 1
    session.restore(session.snapshot())
    assert len(session.log()) == count + 1  # It stands there already.


def test_restoring_leaves_a_turn_that_is_open(holders: Holders) -> None:
    session = holders(ScriptedModel("Yes.", unreachable(), "No."))
    session.send("One")
    snapshot = session.snapshot()
    with pytest.raises(Unreachable):
        session.send("Two")
    session.restore(snapshot)
    assert session.send("Three").text == "No."
    assert texts(session) == ["One", "Yes.", "Three", "No."]


@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_restoring_elsewhere_replays_what_there_was(holders: Holders, filled: bool) -> None:
    session = holders()
    session.register(Plan)
    session.send("One", turn_id="first")
    session[Plan].append(Plan("a"))
    session.mark("here")
    session[Plan].append(Plan("b"))
    session.rewind("here")
    text = session.snapshot().to_json()
    model = ScriptedModel(forever("Other."))
    other = holders(model, "other")
    other.register(Plan)
    if filled:
        other.send("Before", turn_id="before")
        other[Plan].append(Plan("z"))
    other.restore(Snapshot.from_json(text))
    assert texts(other) == ["One", "Yes."]
    assert other[Plan].all() == (Plan("a"),)
    asked = len(model.requests)
    assert other.send("One", turn_id="first").text == "Yes."
    assert len(model.requests) == asked
    assert other.send("Two").text == "Other."
    assert holders(name="other").log() == other.log()


def test_a_snapshot_that_is_restored_half_way_is_gone_on_with() -> None:
    chat = Chat(ScriptedModel(forever("Yes.")))
    session = chat.session(MemoryStore(), "c")
    for number in range(3):
        session.send(f"{number}", turn_id=f"t{number}")
    snapshot = Snapshot.from_json(session.snapshot().to_json())
    store = _Stopping(after=2)
    with pytest.raises(RuntimeError, match="the lights went out"):
        chat.session(store, "c").restore(snapshot)
    store.left = 100
    other = chat.session(store, "c")
    assert len(other.log()) < snapshot.revision.seq
    other.restore(snapshot)
    assert [message.text for message in other.history()] == ["0", "Yes.", "1", "Yes.", "2", "Yes."]


@pytest.mark.parametrize("filled", [False, True], ids=["empty", "filled"])
def test_what_others_say_while_a_snapshot_is_restored_comes_in_between(filled: bool) -> None:
    chat = Chat(ScriptedModel(forever("Yes.")))
    session = chat.session(MemoryStore(), "c")
    for number in range(3):
        session.send(f"{number}", turn_id=f"t{number}")
    session.mark("here")
    session.send("Never mind", turn_id="t4")
    session.rewind("here")
    snapshot = Snapshot.from_json(session.snapshot().to_json())
    store = _Joined()
    other = chat.session(store, "c")
    if filled:
        other.send("Before")
    elsewhere = chat.session(store, "c")
    store.faster = {
        "t1": lambda: elsewhere.append("Hello"),
        "t2": lambda: elsewhere.send("And I?"),
    }
    other.restore(snapshot)
    assert store.faster == {}
    said = ["0", "Yes.", "Hello", "1", "Yes.", "And I?", "Yes.", "2", "Yes."]
    for known in (other, chat.session(store, "c")):
        assert [message.text for message in known.history()] == said
        for number in range(3):
            assert known.send(f"{number}", turn_id=f"t{number}").text == "Yes."
    assert [message.text for message in other.history()] == said


def test_a_turn_that_others_have_begun_is_not_restored_over() -> None:
    chat = Chat(ScriptedModel("Yes.", "Yes.", unreachable()))
    session = chat.session(MemoryStore(), "c")
    for number in range(2):
        session.send(f"{number}", turn_id=f"t{number}")
    snapshot = Snapshot.from_json(session.snapshot().to_json())
    store = _Joined()

    def begin() -> None:
        with pytest.raises(Unreachable):
            chat.session(store, "c").send("Mine")

    store.faster = {"t1": begin}
    with pytest.raises(RevisionConflict):
        chat.session(store, "c").restore(snapshot)
    chat.session(store, "c").abandon()
    chat.session(store, "c").restore(snapshot)
    restored = chat.session(store, "c")
    assert [message.text for message in restored.history()] == ["0", "Yes.", "1", "Yes."]


class _Joined(MemoryStore):
    """A store where somebody else is faster when the turns of some ids are appended."""

    def __init__(self) -> None:
        super().__init__()
        self.faster: dict[str | None, Callable[[], object]] = {}

    def append(self, *given: Any, turn_id: str | None = None, **options: Any) -> Any:
        if (do := self.faster.pop(turn_id, None)) is not None:
            do()
        return super().append(*given, turn_id=turn_id, **options)


class _Stopping(MemoryStore):
    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def append(self, *given: Any, **options: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("the lights went out")
        return super().append(*given, **options)


def test_what_is_restored_goes_on_with_reducers_of_its_own(holders: Holders) -> None:
    session = holders()
    session.register(Plan, append_all, name="plan")
    session[Plan].append(Plan("a"))
    session[Plan].append(Plan("a", done=True))
    text = session.snapshot().to_json()
    other = holders(name="other")
    other.register(Plan, upsert_by(lambda plan: plan.step), name="plan")
    other.restore(Snapshot.from_json(text))
    other[Plan].append(Plan("b"))
    assert other[Plan].all() == (Plan("a", done=True), Plan("b"))


def test_a_slice_that_nobody_knows_is_carried_along(holders: Holders) -> None:
    session = holders()
    session.register(Plan, name="elsewhere:Plan")
    session[Plan].append(Plan("a"))
    other = holders(name="other")
    other.restore(Snapshot.from_json(session.snapshot().to_json()))
    [row] = Snapshot.from_json(other.snapshot().to_json()).slices
    assert (row.slice_type, bytes(row.items[0])) == ("elsewhere:Plan", b'{"step":"a","done":false}')
    other.register(Plan, name="elsewhere:Plan")
    assert other[Plan].all() == (Plan("a"),)


# -- in the middle of a turn ------------------------------------------------------------------


RAN: list[tuple[str, str, bool]] = []


@tool(policy="keyed")
def step(context: ToolContext, name: str) -> str:
    """Take a step."""
    RAN.append((name, context.idempotency_key, context.is_resume))
    if name == "b" and not context.is_resume:
        raise KeyboardInterrupt
    return f"{name} done"


def half_way(holders: Holders, dialect: str = "openai") -> str:
    RAN.clear()
    calls = [call("step", name="a"), call("step", name="b")]
    model = ScriptedModel(say(calls=calls), dialect=dialect)
    session = holders(model, tools=[step], max_concurrent=1)
    with pytest.raises(KeyboardInterrupt):
        session.send("Go")
    text: str = session.snapshot().to_json()
    return text


def test_an_open_turn_goes_on_where_it_is_restored_and_nothing_runs_twice() -> None:
    holders = Holders("blocking")
    text = half_way(holders)
    model = ScriptedModel("All done.")
    other = holders(model, tools=[step], store=MemoryStore())
    other.restore(Snapshot.from_json(text))
    assert other.resume().text == "All done."
    assert [name for name, _, _ in RAN] == ["a", "b", "b"]
    assert RAN[1][1] == RAN[2][1]
    assert [resumed for _, _, resumed in RAN] == [False, False, True]
    assert [result.text for result in model.requests[0].results] == ["a done", "b done"]


def test_an_open_turn_is_not_restored_over_another_conversation() -> None:
    holders = Holders("blocking")
    text = half_way(holders)
    other = holders(name="other")
    other.send("Hello")
    log = other.log()
    with pytest.raises(SnapshotRestoreError, match="into a new session") as caught:
        other.restore(Snapshot.from_json(text))
    assert caught.value.reason == "open_turn"
    assert other.log() == log


def test_within_a_turn_nothing_is_rewound() -> None:
    holders = Holders("blocking")
    text = half_way(holders)
    session = holders(ScriptedModel("All done."), tools=[step])
    session.resume()
    log = session.log()
    with pytest.raises(SnapshotRestoreError, match="from within"):
        session.restore(Snapshot.from_json(text))
    assert session.log() == log


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "openai"])
def test_another_dialect_goes_on_with_what_has_run(dialect: str) -> None:
    holders = Holders("blocking")
    text = half_way(holders)
    model = ScriptedModel("All done.", dialect=dialect)
    other = holders(model, tools=[step], store=MemoryStore())
    other.restore(Snapshot.from_json(text))
    assert other.resume().text == "All done."
    assert [name for name, _, _ in RAN] == ["a", "b", "b"]
    assert RAN[1][1] == RAN[2][1]
    assert [result.text for result in model.requests[0].results] == ["a done", "b done"]
    assert [m.text for m in model.requests[0].messages if m.role == "user" and m.text] == ["Go"]


@pytest.mark.parametrize("there", DIALECTS)
@pytest.mark.parametrize("here", DIALECTS)
def test_slices_and_messages_are_said_anew_in_another_dialect(
    holders: Holders, here: str, there: str
) -> None:
    session = holders(ScriptedModel("One.", say("Two.", thoughts="Hm."), dialect=here))
    session.register(Plan)
    session.send("1?")
    session[Plan].append(Plan("a"))
    session.send("2?")
    other = holders(ScriptedModel("Three.", dialect=there), "other")
    other.register(Plan)
    losses = other.restore(Snapshot.from_json(session.snapshot().to_json()))
    assert bool(losses) is (here != there and bool(session.history()[-1].has_thoughts))
    assert texts(other) == ["1?", "One.", "2?", "Two."]
    assert other[Plan].all() == (Plan("a"),)
    state = other[ConversationState].latest()
    assert [turn.turn_number for turn in state.turns] == [1, 2]
    assert other.resume().text == "Two."
    if here != there:
        assert other.resume().usages == ()  # It was measured before, by another's measure.
    assert other.send("3?").text == "Three."


# -- what is no snapshot ----------------------------------------------------------------------


def taken() -> dict[str, Any]:
    session = Chat(ScriptedModel("Yes.")).session(MemoryStore(), "c")
    session.register(Plan, name="plan")
    session[Plan].append(Plan("a"))
    session.send("Hello")
    given: dict[str, Any] = json.loads(session.snapshot().to_json())
    return given


def without(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda given: given.pop(name)


def putting(name: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda given: given.update({name: value})


def in_slice(name: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda given: given["slices"][0].update({name: value})


def signed(change: Callable[[list[Any]], object]) -> Callable[[dict[str, Any]], object]:
    """Change the entries, and the digest with them."""
    from hashlib import blake2b

    def made(given: dict[str, Any]) -> None:
        change(given["entries"])
        raw = json.dumps(given["entries"], separators=(",", ":"), ensure_ascii=False).encode()
        given["digest"] = blake2b(raw, digest_size=16).hexdigest()
        given["seq"] = len(given["entries"])

    return made


MEMBERS = (
    "version",
    "conversation",
    "incarnation",
    "seq",
    "dialect",
    "digest",
    "slices",
    "entries",
)
SHAPES: dict[str, Callable[[dict[str, Any]], object]] = {
    **{f"no {name}": without(name) for name in MEMBERS},
    "version 2": putting("version", 2),
    "version 1.0": putting("version", 1.0),
    "version as text": putting("version", "1"),
    "conversation empty": putting("conversation", ""),
    "conversation null": putting("conversation", None),
    "incarnation empty": putting("incarnation", ""),
    "seq negative": putting("seq", -1),
    "seq as text": putting("seq", "3"),
    "seq too small": putting("seq", 1),
    "seq too large": putting("seq", 99),
    "seq beyond all memory": putting("seq", 1 << 60),
    "dialect a number": putting("dialect", 1),
    "digest of something else": putting("digest", "0" * 32),
    "slices an object": putting("slices", {}),
    "slices of text": putting("slices", ["plan"]),
    "slice_type null": in_slice("slice_type", None),
    "item_type a list": in_slice("item_type", []),
    "items an object": in_slice("items", {}),
    "items null": in_slice("items", None),
    "entries null": putting("entries", None),
    "an entry changed": lambda given: given["entries"][1].update(turn_id="other"),
    "an entry left out": lambda given: given["entries"].pop(),
    "an entry of no kind": signed(lambda entries: entries[0].pop("kind")),
    "an entry of a kind to come": signed(lambda entries: entries[0].update(kind="dream")),
    "a gap": signed(lambda entries: entries.pop(1)),
    "entries in another order": signed(lambda entries: entries.reverse()),
    "entries that cannot follow": signed(lambda entries: entries[1].update(turn=7)),
    "a message that is none": signed(lambda entries: entries[2].update(raw="text")),
}


@pytest.mark.parametrize("shape", [*SHAPES])
def test_a_malformed_snapshot_is_refused_and_changes_nothing(shape: str) -> None:
    given = taken()
    SHAPES[shape](given)
    text = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
    session = Chat(ScriptedModel()).session()
    session.append("Hello")
    log = session.log()
    with pytest.raises(SnapshotRestoreError, match="nothing was changed") as caught:
        session.restore(Snapshot.from_json(text))
    assert isinstance(caught.value, ValueError)
    assert caught.value.reason
    assert session.log() == log


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "null",
        "[]",
        '"x"',
        "7",
        "{",
        "{}",
        "\ufeff{}",
        "{}x",
        "\ud800",
        b"\xff",
        "[" * 9999,
        9.5,
    ],
)
def test_what_is_no_json_of_a_snapshot_is_refused(text: Any) -> None:
    with pytest.raises(SnapshotRestoreError):
        Snapshot.from_json(text)


def test_white_space_and_members_to_come_are_no_harm() -> None:
    given = taken()
    text = json.dumps({**given, "saved_by": {"a": 1}}, indent=2, ensure_ascii=False)
    snapshot = Snapshot.from_json(text)
    assert snapshot.to_json() == text
    assert len(snapshot.entries) == given["seq"]


def test_a_snapshot_imports_nothing_that_it_names() -> None:
    given = taken()
    SHAPES["digest of something else"]
    signed(lambda entries: entries[0].update(slice_type="this:Zen", item_type="antigravity:Fly"))(
        given
    )
    given["slices"] = [{"slice_type": "this:Zen", "item_type": "antigravity:Fly", "items": [1]}]
    before = set(sys.modules)
    text = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
    session = Chat(ScriptedModel()).session()
    session.restore(Snapshot.from_json(text))
    assert {"this", "antigravity"} & (set(sys.modules) - before) == set()
    [row] = session.snapshot().slices
    assert (row.slice_type, row.item_type) == ("this:Zen", "antigravity:Fly")


def test_a_dialect_that_is_not_known_is_kept_and_not_restored() -> None:
    given = taken()
    given["dialect"] = "of-mine"
    text = json.dumps(given, separators=(",", ":"), ensure_ascii=False)
    snapshot = Snapshot.from_json(text)
    assert snapshot.to_json() == text
    session = Chat(ScriptedModel()).session()
    with pytest.raises(SnapshotRestoreError) as caught:
        session.restore(snapshot)
    assert caught.value.reason == "unknown_dialect"
    assert session.log() == ()


def test_conversations_of_one_name_that_have_parted_are_not_mixed_up() -> None:
    holders = Holders("blocking")
    text = half_way(holders)
    twin = holders(ScriptedModel("Mine."), tools=[step], store=MemoryStore())
    twin.restore(Snapshot.from_json(text))
    twin.resume()
    session = holders(ScriptedModel("Yours."), tools=[step])
    session.resume()
    with pytest.raises(SnapshotRestoreError) as caught:
        session.restore(Snapshot.from_json(twin.snapshot().to_json()))
    assert caught.value.reason == "parted"


def test_recording_can_be_enabled_any_number_of_times(holders: Holders) -> None:
    session = holders()
    enable_conversation_recording(session.held)
    session.send("Hello")
    enable_conversation_recording(session.held)
    assert [turn.turn_number for turn in session[ConversationState].latest().turns] == [1]
