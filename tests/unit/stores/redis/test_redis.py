"""What is `RedisStore`'s own; what all stores promise is in tests/conformance."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from redis.crc import key_slot

from hansard.errors import Invalid, MissingExtra, StoreCorrupt, StoreUnavailable
from hansard.stores.redis import AsyncRedisStore, RedisStore
from hansard.stores.redis.operations import Operations
from hansard.stores.store import Hold
from tests.conftest import scale
from tests.support.appending import Growing
from tests.support.cutting_proxy import CuttingProxy
from tests.support.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.stores.redis.operations import Call

REPOSITORY = Path(__file__).parents[4]


@pytest.fixture
def prefix() -> str:
    return f"{{{uuid4()}}}:"


@pytest.fixture
def store(redis_server: RedisServer, prefix: str) -> Iterator[RedisStore]:
    with RedisStore(redis_server.url, prefix=prefix) as store:
        yield store


def configured(server: RedisServer, name: str, value: str) -> str:
    """Set something of a server, and give what it was."""
    with server.client() as client:
        [before] = client.config_get(name).values()
        client.config_set(name, value)
    return str(before)


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("appendfsync", "everysec", "'appendfsync always' of a server .* found 'yes' and 'every"),
        ("appendonly", "no", "'appendonly yes' .* found 'no' and 'always': set them"),
        ("maxmemory-policy", "allkeys-lru", "'maxmemory-policy noeviction' .* which drops"),
    ],
)
def test_full_durability_is_looked_up(
    redis_server: RedisServer, prefix: str, name: str, value: str, found: str
) -> None:
    memory = configured(redis_server, "maxmemory", "1000000000")
    before = configured(redis_server, name, value)
    try:
        with pytest.raises(Invalid, match=found):
            RedisStore(redis_server.url, prefix=prefix)
        with pytest.raises(Invalid, match=found):
            asyncio.run(opened(AsyncRedisStore(redis_server.url, prefix=prefix)))
        with RedisStore(redis_server.url, prefix=prefix, durability="normal") as store:
            assert store.durability == "normal"
    finally:
        configured(redis_server, name, before)
        configured(redis_server, "maxmemory", memory)


async def opened(store: AsyncRedisStore) -> None:
    """Open it by `async with`, or fail and let go."""
    try:
        async with store:
            pass
    finally:
        await store.close()


def test_whoever_may_not_look_it_up_can_say_it(redis_server: RedisServer, prefix: str) -> None:
    with redis_server.client() as client:
        client.acl_setuser(
            "limited",
            enabled=True,
            passwords=["+secret"],
            keys=["*"],
            commands=["+@all", "-config"],
        )
    url = redis_server.url.replace("unix://", "unix://limited:secret@")
    with pytest.raises(Invalid, match="say so with assured=True") as refused:
        RedisStore(url, prefix=prefix)
    assert "secret" not in str(refused.value)
    with RedisStore(url, prefix=prefix, assured=True) as store:
        Growing(store).turn()
        assert store.durability == "full"
        assert "secret" not in repr(store)


def test_memory_is_not_what_this_is_for(redis_server: RedisServer) -> None:
    with pytest.raises(Invalid, match="durability 'full' or 'normal', found 'none'"):
        RedisStore(redis_server.url, durability="none")


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingExtra, match=r"pip install 'hansard\[redis\]'"):
        RedisStore("redis://localhost")


def test_nobody_there_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable, match="see that it is up, and try again") as caught:
        RedisStore("redis://:secret@127.0.0.1:1")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is not None


def test_all_keys_are_in_one_slot_and_all_go(
    store: RedisStore, redis_server: RedisServer, prefix: str
) -> None:
    talk = Growing(store, "a}{b")
    for number in range(40):
        talk.turn("long " * 500, turn_id=f"t{number}", hold=Hold("me", 60))
    fork = talk.fork("fork", 100)
    fork.turn()
    with redis_server.client() as client:
        keys = [*client.scan_iter(f"{prefix}*")]
        assert len({key_slot(key) for key in keys}) == 1
        assert len(keys) > 8
        store.delete("a}{b")
        fork.check()
        store.delete("fork")
        assert [*client.scan_iter(f"{prefix}*")] == []


def test_a_server_that_has_forgotten_its_scripts_learns_them_again(
    store: RedisStore, redis_server: RedisServer
) -> None:
    talk = Growing(store)
    talk.turn()
    with redis_server.client() as client:
        client.script_flush()
    talk.turn()
    talk.check()


def test_a_run_that_two_merge_is_merged_once(redis_server: RedisServer, prefix: str) -> None:
    """Each has appended and was told to merge; the other is not, by then."""
    with RedisStore(redis_server.url, prefix=prefix) as store, redis_server.client() as client:
        talk = Growing(store)
        operations = Operations(prefix)
        merging: list[Call] = []
        while not merging:
            page, head = talk.next_page("long " * 1000)
            append = operations.append("c", page, head, None, None)
            reply = client.execute_command(*next(append).whole())
            with suppress(StopIteration):
                merging.append(append.send(reply))
        talk.turn("in between")

        replies = [client.execute_command(*merging[0].whole()) for _ in range(2)]

        assert replies in ([1, 0], [0, 0])
        talk.check()


def test_what_others_have_put_there_is_refused(
    store: RedisStore, redis_server: RedisServer, prefix: str
) -> None:
    with redis_server.client() as client:
        client.set(f"{prefix}c:c", "mine")
    with pytest.raises(StoreCorrupt, match="give each application its own prefix"):
        store.head("c")
    with pytest.raises(StoreCorrupt, match="give each application its own prefix"):
        Growing(store).turn()


@pytest.mark.parametrize("left", [-1, 10, 30])
def test_what_is_cut_off_is_corrupt(
    store: RedisStore, redis_server: RedisServer, prefix: str, left: int
) -> None:
    Growing(store).turn()
    with redis_server.client() as client:
        [key] = client.scan_iter(f"{prefix}run:*")
        client.set(key, client.get(key)[:left])
    with pytest.raises(StoreCorrupt, match="cut off"):
        store.read("c")


def test_a_head_that_is_none_is_corrupt(
    store: RedisStore, redis_server: RedisServer, prefix: str
) -> None:
    Growing(store).turn()
    with redis_server.client() as client:
        client.hset(f"{prefix}c:c", "head", "{")
    with pytest.raises(StoreCorrupt, match="expected what was written"):
        store.head("c")


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_a_name_that_is_none_is_refused(store: RedisStore, name: str) -> None:
    with pytest.raises(Invalid, match="expected a conversation's name"):
        store.head(name)


def test_a_server_that_only_follows_another_cannot_write(
    store: RedisStore, redis_server: RedisServer
) -> None:
    talk = Growing(store)
    talk.turn()
    page, head = talk.next_page()
    with redis_server.client() as client:
        client.replicaof("127.0.0.1", "1")
        try:
            with pytest.raises(StoreUnavailable, match="give the address of the primary"):
                store.append("c", page, head)
        finally:
            client.replicaof("NO", "ONE")
    store.append("c", page, head)
    talk.check()


def test_a_server_without_memory_cannot_write(store: RedisStore, redis_server: RedisServer) -> None:
    talk = Growing(store)
    talk.turn()
    page, head = talk.next_page()
    before = configured(redis_server, "maxmemory", "1")
    try:
        with pytest.raises(StoreUnavailable, match="give it more memory"):
            store.append("c", page, head)
    finally:
        configured(redis_server, "maxmemory", before)
    store.append("c", page, head)
    talk.check()


def test_a_connection_that_is_cut_before_the_answer(redis_server: RedisServer, prefix: str) -> None:
    with CuttingProxy(redis_server.socket) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}"
        with RedisStore(url, prefix=prefix) as store:
            talk = Growing(store)
            for hold in (None, Hold("me", 60)):
                page, head = talk.next_page("find me")
                proxy.cut_answer_to(b"find me")
                with pytest.raises(StoreUnavailable):
                    store.append("c", page, head, hold=hold)
                receipt = store.append("c", page, head, hold=hold)
                assert receipt.revision == head.revision
                assert receipt.fence == (1 if hold else 0)
            talk.check()


def test_a_connection_that_is_cut_before_the_answer_under_asyncio(
    redis_server: RedisServer, prefix: str
) -> None:
    async def main(proxy: CuttingProxy, talk: Growing) -> None:
        async with AsyncRedisStore(f"redis://127.0.0.1:{proxy.port}", prefix=prefix) as store:
            page, head = talk.next_page("find me")
            proxy.cut_answer_to(b"find me")
            with pytest.raises(StoreUnavailable):
                await store.append("c", page, head)
            assert (await store.append("c", page, head)).revision == head.revision

    with (
        CuttingProxy(redis_server.socket) as proxy,
        RedisStore(redis_server.url, prefix=prefix) as store,
    ):
        talk = Growing(store)
        asyncio.run(main(proxy, talk))
        talk.check()


def test_a_server_that_is_killed_under_load_loses_nothing_it_has_acknowledged(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    server = RedisServer(tmp_path_factory.mktemp("r")).start()
    begun, over = threading.Barrier(5), threading.Event()

    def work(number: int, store: RedisStore) -> tuple[Growing, int]:
        talk, cut = Growing(store, f"c{number}"), 0
        talk.turn()
        begun.wait()
        while not over.is_set():
            page, head = talk.next_page()
            while True:
                try:
                    assert store.append(talk.name, page, head).revision == head.revision
                    break
                except StoreUnavailable:
                    cut += 1
        return talk, cut

    try:
        with RedisStore(server.url) as store, ThreadPoolExecutor(4) as threads:
            working = [threads.submit(work, number, store) for number in range(4)]
            begun.wait()
            for _ in range(scale(4, 20)):
                server.kill()
                server.start()
                Growing(store, str(uuid4())).turn()
            over.set()
            results = [each.result() for each in working]
            for talk, _ in results:
                talk.check()
        assert sum([cut for _, cut in results]) > 0
    finally:
        over.set()
        server.kill()


FORKING = """
import os, sys
from hansard.stores.redis import RedisStore
from tests.support.appending import Growing

store = RedisStore(sys.argv[1], prefix=sys.argv[2])
Growing(store, "before").turn()
child = os.fork()
talk = Growing(store, "parent" if child else "child")
for _ in range(50):
    talk.turn()
talk.check()
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert len(store.list().conversations) == 3
"""


def test_a_store_goes_on_in_a_process_that_was_forked(
    redis_server: RedisServer, prefix: str
) -> None:
    command = [sys.executable, "-c", FORKING, redis_server.url, prefix]
    subprocess.run(command, cwd=REPOSITORY, check=True, timeout=60)


def test_a_closed_store_says_so(redis_server: RedisServer, prefix: str) -> None:
    store = RedisStore(redis_server.url, prefix=prefix)
    for _ in range(2):
        store.close()
    with pytest.raises(Invalid, match="which is closed: open it again"):
        store.list()
