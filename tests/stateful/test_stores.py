"""Whatever is done with a store, it is as a plain model says; also when it is opened again."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hansard.errors import Busy, LeaseLost, NoSuchConversation, RevisionConflict
from hansard.record.entries import Said, encode_entries
from hansard.stores.store import Bodies, Hold, Listed, Metadata, Receipt
from hansard.testing.store_suite import expect_conversation, log_of, soon
from hansard.testing.store_talk import Append, Talk
from tests.conformance import test_toy_store as broken_stores
from tests.conftest import scale
from tests.property.test_record import RARE, Step
from tests.stateful.store_model import Lease, Spoken, words
from tests.stateful.stores import STORES

if TYPE_CHECKING:
    from hansard.stores.store import Store
    from tests.conformance.toy_store import ToyStore
    from tests.stateful.stores import Opening

LONG_S = 3600
OWNERS = ["me", "you"]
NAMES = ["a", "A", "a/b", "b"]
TURN_IDS = ["t1", "t2", "ü'"]

_KINDS = [kind for kind in RARE if kind not in ("fork", "reload")]
STEPS = st.builds(
    Step,
    st.sampled_from(["go_on"] * len(_KINDS) + _KINDS),
    st.integers(0, 999),
    st.sampled_from(["", "Hello", 'naïve 🜁\x00\n"\\', "half \ud83d", "[{" * 9]),
    st.lists(st.sampled_from(["a", "b", "\ud800"]), min_size=1, max_size=3, unique=True),
)
SPEECH = st.lists(STEPS, min_size=1, max_size=5)
SIZES = st.sampled_from([0, 0, 2_000, 17_000, 35_000])
ANY = st.integers(0, 10**6)
HOLDING = st.sampled_from(["no", "no", "take", "held", "stale"])


@pytest.fixture(autouse=True)
def _servers(request: pytest.FixtureRequest) -> None:
    """Start what the store of a test needs."""
    if "redis" in request.node.name:
        request.getfixturevalue("redis_server")


class Game(RuleBasedStateMachine):
    """A store, and what it should have."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(mkdtemp(prefix="hansard-"))
        self.store = self.opened()
        self.left: list[Store] = []
        self.there: dict[str, Spoken] = {}
        self.gone: list[Append] = []
        self.count = 0

    def teardown(self) -> None:
        for talk in self.there.values():
            expect_conversation(self.store, talk)
        for name in self.there:
            self.store.delete(name)
        assert self.store.list().conversations == ()
        assert self.store.bodies() in (None, Bodies())
        for store in (self.store, *self.left):
            store.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def opened(self) -> Store:
        raise NotImplementedError

    def pick(self, number: int) -> Spoken:
        return [*self.there.values()][number % len(self.there)]

    def fresh(self, what: str) -> str:
        self.count += 1
        return f"{what} {self.count}"

    def refused(
        self, error: type[RevisionConflict | Busy | LeaseLost], made: Append, hold: Hold | None
    ) -> None:
        with pytest.raises(error) as raised:
            made.to(self.store, hold=hold)
        if isinstance(raised.value, RevisionConflict):
            talk = self.there.get(made.conversation)
            assert raised.value.actual == (talk.head.revision if talk else None)

    # -- appending ------------------------------------------------------------------------------

    @rule(
        name=st.sampled_from(NAMES),
        dialect=st.sampled_from(["openai", "openai-responses", "anthropic", "gemini"]),
        speech=SPEECH,
    )
    def make(self, name: str, dialect: str, speech: list[Step]) -> None:
        """Make a conversation, if there is none of that name."""
        talk = Spoken.new(name, dialect, self.fresh("i"))
        made = talk.speak(speech, self.fresh("commit"), None)
        if made is None:
            return
        if name in self.there:
            self.refused(RevisionConflict, made, None)
            return
        assert made.to(self.store) == Receipt(made.head.revision)
        talk.keep(made)
        self.there[name] = talk

    @precondition(lambda self: self.there)
    @rule(
        number=ANY,
        speech=SPEECH,
        size=SIZES,
        turn_id=st.sampled_from([None, None, *TURN_IDS]),
        holding=HOLDING,
        owner=st.sampled_from(OWNERS),
    )
    def append(  # noqa: PLR0917 -- all that can be chosen
        self,
        number: int,
        speech: list[Step],
        size: int,
        turn_id: str | None,
        holding: str,
        owner: str,
    ) -> None:
        """Append at the right place; what comes of it is for the lease to say."""
        talk = self.pick(number)
        hold, error, after = self.held(talk.lease, holding, owner)
        more = [words(talk.record, size)] * 2 if size else []
        if error is not None:  # It is said elsewhere, so that nobody knows of it here.
            if talk.is_between_turns:
                again = talk.at(-1, talk.name, talk.head.incarnation)
                made = again.speak(speech, self.fresh("commit"), turn_id)
                if made is not None:
                    self.refused(error, made, hold)
            return
        made = talk.speak([*more, *speech], self.fresh("commit"), turn_id)
        if made is None:
            return
        receipt = made.to(self.store, hold=hold)
        assert receipt == Receipt(made.head.revision, after.fence if hold else 0)
        talk.keep(made)
        talk.lease = after

    def held(
        self, lease: Lease, holding: str, owner: str
    ) -> tuple[Hold | None, type[Busy | LeaseLost] | None, Lease]:
        """What a hold should come to: an error, or the lease after it."""
        if holding == "no":
            return None, None, lease
        if holding == "take":
            hold = Hold(owner, LONG_S)
            if lease.owner not in (None, owner):
                return hold, Busy, lease
            return hold, None, Lease(lease.fence + 1, owner)
        hold = Hold(owner, LONG_S, lease.fence - (holding == "stale"))
        kept = holding == "held" and lease.owner == owner
        return hold, None if kept else LeaseLost, lease

    @precondition(lambda self: any(len(talk.stands) > 1 for talk in self.there.values()))
    @rule(number=ANY, stand=ANY, size=SIZES)
    def rewind(self, number: int, stand: int, size: int) -> None:
        """Go back to where a conversation was between two turns, and go on from there."""
        talk = self.pick(number)
        length = talk.record.length
        to = talk.stands[stand % len(talk.stands)][1].seq
        for step in (Step("rewind", length - to, "", ["a"]), words(talk.record, size)):
            made = talk.speak([step], self.fresh("commit"), None)
            if made is not None:
                made.to(self.store)
                talk.keep(made)
        expect_conversation(self.store, talk)

    @precondition(lambda self: self.there)
    @rule(number=ANY, which=ANY, holding=HOLDING, owner=st.sampled_from(OWNERS))
    def append_again(self, number: int, which: int, holding: str, owner: str) -> None:
        """Append what was appended before: whatever the hold is, it is known."""
        talk = self.pick(number)
        if talk.appends:
            made = talk.appends[which % len(talk.appends)]
            hold, _, _ = self.held(talk.lease, holding, owner)
            assert made.to(self.store, hold=hold).revision == made.head.revision

    @precondition(lambda self: self.there)
    @rule(number=ANY, stand=ANY, speech=SPEECH, holding=HOLDING, owner=st.sampled_from(OWNERS))
    def append_too_late(
        self, number: int, stand: int, speech: list[Step], holding: str, owner: str
    ) -> None:
        """Append where somebody else has appended meanwhile."""
        talk = self.pick(number)
        late = talk.at(stand % len(talk.stands), talk.name, talk.head.incarnation)
        if late.head.seq < talk.head.seq:
            made = late.speak(speech, self.fresh("commit"), "t1")
            hold, _, _ = self.held(talk.lease, holding, owner)
            if made is not None:
                self.refused(RevisionConflict, made, hold)

    @precondition(lambda self: self.gone)
    @rule(which=ANY)
    def append_to_what_is_gone(self, which: int) -> None:
        """Append what was appended to one that is deleted, perhaps with a new one of its name."""
        self.refused(RevisionConflict, self.gone[which % len(self.gone)], None)

    # -- leases ---------------------------------------------------------------------------------

    @precondition(lambda self: self.there)
    @rule(
        number=ANY,
        holding=st.sampled_from(["take", "held", "stale"]),
        owner=st.sampled_from(OWNERS),
    )
    def lease(self, number: int, holding: str, owner: str) -> None:
        talk = self.pick(number)
        hold, error, after = self.held(talk.lease, holding, owner)
        assert hold is not None
        if error is not None:
            with pytest.raises(error):
                self.store.lease(talk.name, hold)
            return
        assert self.store.lease(talk.name, hold) == after.fence
        talk.lease = after

    @precondition(lambda self: any(talk.lease.owner for talk in self.there.values()))
    @rule(number=ANY, runs_out=st.booleans())
    def let_go(self, number: int, runs_out: bool) -> None:
        """Let go of a lease; or be too late, so that somebody else takes it."""
        held = [talk for talk in self.there.values() if talk.lease.owner]
        talk = held[number % len(held)]
        fence, owner = talk.lease
        assert owner is not None
        self.store.lease(talk.name, Hold(owner, 0.002 if runs_out else 0, fence))
        talk.lease = Lease(fence)
        if runs_out:
            soon(lambda: self.take(talk, "somebody"), "a lease that runs out")
            with pytest.raises(LeaseLost):
                self.store.lease(talk.name, Hold(owner, LONG_S, fence))

    def take(self, talk: Spoken, owner: str) -> int | None:
        try:
            fence = self.store.lease(talk.name, Hold(owner, LONG_S))
        except Busy:
            return None
        assert fence == talk.lease.fence + 1
        talk.lease = Lease(fence, owner)
        return fence

    # -- the rest -------------------------------------------------------------------------------

    @precondition(lambda self: self.there)
    @rule(number=ANY, stand=ANY, new=st.sampled_from([*NAMES, "c", "d", "e"]))
    def fork(self, number: int, stand: int, new: str) -> None:
        """Part from a conversation where it was between two turns."""
        talk = self.pick(number)
        fork = talk.at(stand % len(talk.stands), new, self.fresh("i"))
        if new in self.there:
            with pytest.raises(RevisionConflict):
                self.store.fork(talk.name, new, fork.head)
            return
        for _ in range(2):
            assert self.store.fork(talk.name, new, fork.head) == Receipt(fork.head.revision)
        self.there[new] = fork

    @precondition(lambda self: self.there)
    @rule(number=ANY)
    def delete(self, number: int) -> None:
        talk = self.pick(number)
        for _ in range(2):
            self.store.delete(talk.name)
        del self.there[talk.name]
        # The first would make it again, as it did.
        self.gone += [made for made in talk.appends if made.page.first]
        with pytest.raises(NoSuchConversation):
            self.store.pages(talk.name)

    @precondition(lambda self: self.there)
    @rule(
        number=ANY,
        title=st.sampled_from(["", "Fox"]),
        user=st.sampled_from(["", "u1", "u2"]),
        tags=st.lists(st.sampled_from(["x", "y", "x,y"]), unique=True),
    )
    def describe(self, number: int, title: str, user: str, tags: list[str]) -> None:
        talk = self.pick(number)
        talk.metadata = Metadata(title, user, tuple(tags))
        self.store.describe(talk.name, talk.metadata)

    @precondition(lambda self: self.store.durability != "none")
    @rule(closing=st.booleans())
    def open_again(self, closing: bool) -> None:
        """Open the place again, whether or not whoever had it has closed it."""
        if closing:
            self.store.close()
        else:
            self.left.append(self.store)
        self.store = self.opened()

    # -- what holds at all times ------------------------------------------------------------------

    @precondition(lambda self: self.there)
    @rule(number=ANY, turn_id=st.sampled_from([*TURN_IDS, "none"]), after=ANY)
    def look(self, number: int, turn_id: str, after: int) -> None:
        """Read all of a conversation."""
        talk = self.pick(number)
        expect_conversation(self.store, talk)
        assert self.store.find(talk.name, turn_id) == talk.began(turn_id)
        after %= talk.head.seq + 2
        whole = [page for page in self.store.pages(talk.name) if page.next > after]
        assert list(self.store.pages(talk.name, after=after)) == whole

    @invariant()
    def lists_what_is_there(self) -> None:
        there = [self.there[name] for name in sorted(self.there)]
        right = tuple([Listed(talk.name, talk.head.revision, talk.metadata) for talk in there])
        assert self.store.list().conversations == right

    @rule(
        where=st.builds(
            Metadata,
            st.sampled_from(["", "Fox"]),
            st.sampled_from(["", "u1"]),
            st.lists(st.sampled_from(["x", "y"]), unique=True).map(tuple),
        ),
        prefix=st.sampled_from(["", "a", "a/", "%"]),
        limit=st.integers(1, 3),
    )
    def find(self, where: Metadata, prefix: str, limit: int) -> None:
        """Find conversations by what is known of them, part by part."""
        right = [
            name
            for name, talk in sorted(self.there.items())
            if name.startswith(prefix)
            and where.title in ("", talk.metadata.title)
            and where.user in ("", talk.metadata.user)
            and {*where.tags} <= {*talk.metadata.tags}
        ]
        found: list[str] = []
        after = None
        while True:
            part = self.store.list(prefix=prefix, where=where, after=after, limit=limit)
            found += [each.conversation for each in part.conversations]
            after = part.after
            if after is None:
                break
        assert found == right


def play(opening: Opening, **chosen: Any) -> None:
    class GameOnStore(Game):
        def opened(self) -> Store:
            return opening(self.place)

    given: dict[str, Any] = {
        "max_examples": scale(40, 600),
        "stateful_step_count": 50,
        "suppress_health_check": list(HealthCheck),
        "report_multiple_bugs": False,
        **chosen,
    }
    run_state_machine_as_test(GameOnStore, settings=settings(**given))


@pytest.mark.parametrize("name", STORES)
def test_a_store_does_what_a_plain_model_says(name: str) -> None:
    play(STORES[name])


@pytest.mark.parametrize(
    "broken",
    [
        broken_stores.TakesAnyPlace,
        broken_stores.MixesUpNames,
        broken_stores.KnowsTheLastCommitAlone,
        broken_stores.AsksForTheLeaseFirst,
        broken_stores.SharesLeases,
        broken_stores.AppendsWithoutALease,
        broken_stores.LosesTheLastPage,
        broken_stores.ForgetsTurns,
        broken_stores.ForksTheEnd,
        broken_stores.ForksOnce,
        broken_stores.ForksWithMetadata,
        broken_stores.NeverLetsGo,
        broken_stores.ForgetsWhoIsMadeOne,
        broken_stores.ForgetsWhenItIsOpened,
    ],
)
def test_a_broken_store_loses_the_game(broken: type[ToyStore]) -> None:
    with pytest.raises((Exception, pytest.fail.Exception)) as lost:
        play(broken, max_examples=400, derandomize=True, database=None, phases=[Phase.generate])
    assert not isinstance(lost.value, (AttributeError, TypeError, NameError)), lost.value


# -- many at once ----------------------------------------------------------------------------------

THREADS = 4


@pytest.mark.parametrize("name", STORES)
def test_of_what_many_append_at_once_nothing_is_lost_or_doubled(
    name: str, rng: Random, tmp_path: Path
) -> None:
    """Each thread appends to any conversation, now and then twice, as if the answer was lost."""
    store = STORES[name](tmp_path)
    names = ["a", "b", "c"]
    for each in names:
        Talk(each).turn(f"{each} begin").to(store)
    said: Counter[str] = Counter({f"{each} begin": 1 for each in names})
    forks: list[tuple[str, Talk]] = []
    lock = threading.Lock()

    def work(number: int, rng: Random) -> None:
        for turn in range(scale(15, 150)):
            conversation = rng.choice(names)
            text = f"{conversation} {number} {turn}"
            size = rng.choice([0, 0, 500, 20_000])
            talk = append(store, conversation, f"{text}{' ' * size}", twice=rng.random() < 0.3)
            with lock:
                said[text] += 1
            if rng.random() < 0.1:
                fork = talk.fork(f"fork {number} {turn}")
                store.fork(conversation, fork.name, fork.head)
                fork.turn("elsewhere").to(store)
                with lock:
                    forks.append((conversation, fork))

    with ThreadPoolExecutor(THREADS) as threads:
        seeds = [Random(rng.random()) for _ in range(THREADS)]
        for _ in threads.map(work, range(THREADS), seeds):
            pass

    found: Counter[str] = Counter()
    logs = {}
    for each in names:
        loading = store.read(each)
        assert loading is not None
        log = logs[each] = log_of(store, Talk.loaded(each, loading))
        assert [entry.seq for entry in log] == list(range(loading.head.seq))
        found += texts(log)
    assert found == said
    for conversation, fork in forks:
        expect_conversation(store, fork)
        log, parted = log_of(store, fork), fork.stands[0][1].seq
        assert encode_entries(log[:parted]) == encode_entries(logs[conversation][:parted])
    store.close()


def append(store: Store, conversation: str, text: str, *, twice: bool) -> Talk:
    """Append a turn where the conversation is now, again and again until it is."""
    while True:
        loading = store.read(conversation)
        assert loading is not None
        talk = Talk.loaded(conversation, loading)
        made = talk.turn(text)
        try:
            receipt = made.to(store)
        except RevisionConflict:
            continue
        if twice:
            assert made.to(store) == receipt
        return talk


def texts(log: object) -> Counter[str]:
    """What was said by users."""
    assert isinstance(log, list)
    openai = Talk().dialect
    said = [entry for entry in log if isinstance(entry, Said) and entry.author == "input"]
    return Counter([openai.message(bytes(entry.raw)).text.rstrip() for entry in said])
