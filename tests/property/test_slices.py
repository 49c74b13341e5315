"""Whatever is put into slices, rewound, forked and restored, a plain model says the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hansard import (
    Chat,
    Session,
    Snapshot,
    Store,
    append_all,
    open_store,
    replace_latest,
    upsert_by,
)
from hansard.stores.memory import MemoryStore
from hansard.testing import ScriptedModel, forever
from tests.conftest import scale
from tests.property.strategies import ANY_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable


class Note(msgspec.Struct, frozen=True):
    text: str


@dataclass(frozen=True)
class Step:
    name: int
    text: str = ""


@dataclass(frozen=True)
class Last:
    text: str


REDUCERS: dict[type, Callable[..., Any]] = {
    Note: append_all,
    Step: upsert_by(lambda step: step.name),
    Last: replace_latest,
}
ITEMS = st.one_of(
    st.builds(Note, ANY_TEXT),
    st.builds(Step, st.integers(0, 3), ANY_TEXT),
    st.builds(Last, ANY_TEXT),
)


@dataclass
class Model:
    """What stands in each slice, and what stood there at each mark."""

    texts: tuple[str, ...] = ()
    slices: dict[type, tuple[Any, ...]] = field(default_factory=lambda: dict.fromkeys(REDUCERS, ()))
    marks: dict[str, tuple[tuple[str, ...], dict[type, tuple[Any, ...]]]] = field(
        default_factory=dict
    )

    def copy(self) -> Model:
        return Model(self.texts, dict(self.slices), dict(self.marks))

    def put(self, item: Any) -> None:
        kind = type(item)
        items = self.slices[kind]
        if kind is Note:
            self.slices[kind] = (*items, item)
        elif kind is Last:
            self.slices[kind] = (item,)
        else:
            known = {step.name: step for step in items}
            self.slices[kind] = tuple({**known, item.name: item}.values())


class Slices(RuleBasedStateMachine):
    """Two conversations and what a model says of them; sessions may be behind each other."""

    def __init__(self) -> None:
        super().__init__()
        self.store = self.place()
        self.chat = Chat(ScriptedModel(forever("Yes.")))
        self.models: list[Model] = [Model()]
        self.sessions: list[list[Session]] = [[self.open("c0"), self.open("c0")]]
        self.snapshots: list[tuple[int, Snapshot, Model]] = []

    def place(self) -> Store:
        return MemoryStore()

    def teardown(self) -> None:
        self.store.close()

    def open(self, name: str) -> Session:
        session = self.chat.session(self.store, name)
        for kind, reducer in REDUCERS.items():
            session.register(kind, reducer)
        return session

    def pick(self, number: int) -> tuple[Session, Model]:
        at = number % len(self.models)
        return self.sessions[at][number // 7 % 2], self.models[at]

    @rule(number=st.integers(0, 99), item=ITEMS)
    def append(self, number: int, item: Any) -> None:
        session, model = self.pick(number)
        session[type(item)].append(item)
        model.put(item)

    @rule(number=st.integers(0, 99), items=st.lists(st.builds(Note, ANY_TEXT), max_size=3))
    def seed(self, number: int, items: list[Note]) -> None:
        session, model = self.pick(number)
        session[Note].seed(items)
        model.slices[Note] = tuple(items)

    @rule(number=st.integers(0, 99))
    def send(self, number: int) -> None:
        session, model = self.pick(number)
        session.send("More?")
        model.texts = (*model.texts, "More?", "Yes.")

    @rule(number=st.integers(0, 99), name=st.sampled_from("ab"))
    def mark(self, number: int, name: str) -> None:
        session, model = self.pick(number)
        session.mark(name)
        model.marks[name] = (model.texts, dict(model.slices))

    @rule(number=st.integers(0, 99), name=st.sampled_from("ab"))
    def rewind(self, number: int, name: str) -> None:
        session, model = self.pick(number)
        if name in model.marks:
            session.rewind(name)
            model.texts, slices = model.marks[name]
            model.slices = dict(slices)

    @rule(number=st.integers(0, 99))
    def clear(self, number: int) -> None:
        session, model = self.pick(number)
        if session.log():
            session.clear()
        model.texts, model.slices = (), dict.fromkeys(REDUCERS, ())

    @precondition(lambda self: len(self.models) < 3)
    @rule(number=st.integers(0, 99), name=st.sampled_from(["", "a"]))
    def fork(self, number: int, name: str) -> None:
        session, model = self.pick(number)
        if session.log() and (not name or name in model.marks):
            made = f"c{len(self.models)}"
            forked = session.fork(made, at=name or None)
            child = model.copy()
            if name:
                child.texts, slices = model.marks[name]
                child.slices = dict(slices)
                child.marks = {}
            self.models.append(child)
            self.sessions.append([forked, self.open(made)])

    @rule(number=st.integers(0, 99))
    def reopen(self, number: int) -> None:
        at = number % len(self.models)
        self.sessions[at][number // 7 % 2] = self.open(f"c{at}")

    @rule(number=st.integers(0, 99), whole=st.booleans())
    def snapshot(self, number: int, whole: bool) -> None:
        session, model = self.pick(number)
        snapshot = session.snapshot()
        if whole:
            snapshot = Snapshot.from_json(snapshot.to_json())
        self.snapshots.append((number % len(self.models), snapshot, model.copy()))

    @precondition(lambda self: self.snapshots)
    @rule(number=st.integers(0, 99), elsewhere=st.integers(0, 99))
    def restore(self, number: int, elsewhere: int) -> None:
        _, snapshot, known = self.snapshots[number % len(self.snapshots)]
        session, model = self.pick(elsewhere)
        session.restore(snapshot)
        model.texts, model.slices = known.texts, dict(known.slices)
        model.marks = {}  # Of those that were replayed there may be others of their name.

    @invariant()
    def same(self) -> None:
        for sessions, model in zip(self.sessions, self.models, strict=True):
            for session in sessions:
                for kind in REDUCERS:
                    assert session[kind].all() == model.slices[kind]
        for sessions, model in zip(self.sessions, self.models, strict=True):
            assert tuple(m.text for m in sessions[0].history()) == model.texts


class SlicesOnDisk(Slices):
    """The same, in a file."""

    def place(self) -> Store:
        self.folder = Path(mkdtemp())
        return open_store(f"sqlite:///{self.folder}/slices.db", durability="normal")

    def teardown(self) -> None:
        super().teardown()
        rmtree(self.folder)


TestSlices = Slices.TestCase
TestSlices.settings = settings(max_examples=scale(25, 400), stateful_step_count=25, deadline=None)
TestSlicesOnDisk = SlicesOnDisk.TestCase
TestSlicesOnDisk.settings = settings(
    max_examples=scale(10, 200), stateful_step_count=25, deadline=None
)
