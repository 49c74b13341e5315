"""The providers' own clients carry our bytes, and bring back the provider's, unchanged.

Each is the real client, and talks to a real server on loopback.
"""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import inspect
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import anthropic
import google.auth.credentials
import openai
import pytest
from google import genai

from hansard import models, rawjson
from hansard.dialects.dialect import Ask
from hansard.errors import (
    ContextOverflow,
    Invalid,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
    Unreachable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from hansard.dialects.dialect import Request
    from hansard.models import Model

KEY = "k-that-nobody-may-see"

ODD = rb'{"id": "r1", "zz": [1e5, 1.50, -0.0, 1E+400, "\/\u00e9\ud800"],  "choices":[]}'
"""An answer spelled as no library would spell it."""

EVENTS = (("content-type", "text/event-stream"),)
PIECES = (b"data: " + ODD + b"\n\n", b": ping\r\n\r\n", b"data: [DONE]\n\n")


@dataclass(frozen=True)
class Said:
    """What a server is to say: a status, headers, and a body in pieces."""

    status: int = 200
    pieces: tuple[bytes, ...] = (ODD,)
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    hold: threading.Event | None = None
    """Set before the last piece is sent."""
    drop: bool = False
    """Whether to hang up where the end should come."""


@dataclass(frozen=True)
class Heard:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    url: str
    script: list[Said] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)

    def next(self, heard: Heard) -> Said:
        self.heard.append(heard)
        return self.script.pop(0) if self.script else Said()


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = state.next(Heard(self.path, headers, body))
            self.send_response_only(said.status)
            for header in said.headers:
                self.send_header(*header)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for at, piece in enumerate(said.pieces):
                if said.hold is not None and at == len(said.pieces) - 1:
                    said.hold.wait()
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.close_connection = said.drop
            if not said.drop:
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of clients that hang up: some tests are about that."""

    with Quiet(("127.0.0.1", 0), Handler) as serving:
        state = Server(f"http://127.0.0.1:{serving.server_port}")
        thread = threading.Thread(target=serving.serve_forever, args=[0.01])
        thread.start()
        yield state
        serving.shutdown()
        thread.join()


# -- each way to ask --------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """A client, what makes a model of it, and what makes our own of the same server."""

    client: Callable[[str], Any]
    through: Callable[..., Model]
    root: str = ""


def _genai(url: str) -> genai.Client:
    return genai.Client(api_key=KEY, http_options={"base_url": url})


WAYS = {
    "OpenAI": Way(
        lambda url: openai.OpenAI(base_url=f"{url}/v1", api_key=KEY), models.openai, "/v1"
    ),
    "AsyncOpenAI": Way(
        lambda url: openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY), models.openai, "/v1"
    ),
    "OpenAI responses": Way(
        lambda url: openai.OpenAI(base_url=f"{url}/v1", api_key=KEY),
        models.openai_responses,
        "/v1",
    ),
    "AsyncOpenAI responses": Way(
        lambda url: openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY),
        models.openai_responses,
        "/v1",
    ),
    "Anthropic": Way(lambda url: anthropic.Anthropic(base_url=url, api_key=KEY), models.anthropic),
    "AsyncAnthropic": Way(
        lambda url: anthropic.AsyncAnthropic(base_url=url, api_key=KEY), models.anthropic
    ),
    "genai": Way(_genai, models.gemini),
    "genai.aio": Way(lambda url: _genai(url).aio, models.gemini),
}
RETRYING = [name for name in WAYS if not name.startswith("genai")]

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")

OURS = (b'{"role":"user","content":"h\\u0069 \xc3\xa9","zz":[1e5,1.50,-0.0]}',)


def request_of(model: Model, *, stream: bool = False) -> Request:
    """Ask with a message that no library would spell so."""
    if model.dialect.name == "gemini":
        raw = b'{"role":"user","parts":[{"text":"h\\u0069 \xc3\xa9"}],"zz":[1e5,1.50,-0.0]}'
    else:
        raw = OURS[0]
    return model.dialect.request(Ask(model.name, [raw], stream=stream))


@dataclass
class Calls:
    """Calls models by the side that their clients have, in one event loop, and closes clients."""

    runner: asyncio.Runner
    clients: list[Any] = field(default_factory=list)

    def keep(self, client: Any) -> Any:
        self.clients.append(client)
        return client

    def send(self, model: Model, *, timeout_s: float | None = None) -> bytes:
        request = request_of(model)
        if model.transport is not None:
            return model.transport.send(request, timeout_s=timeout_s)
        return self.runner.run(model.asyncio().send(request, timeout_s=timeout_s))

    def stream(
        self,
        model: Model,
        *,
        timeout_s: float | None = None,
        seen: threading.Event | None = None,
        take: int | None = None,
    ) -> bytes:
        """Take so many pieces of a stream, or all, and tell when the first has come."""
        request = request_of(model, stream=True)
        seen = seen or threading.Event()
        found: list[bytes] = []
        if model.transport is not None:
            with model.transport.stream(request, timeout_s=timeout_s) as pieces:
                for piece in pieces:
                    found.append(piece)
                    seen.set()
                    if len(found) == take:
                        break
            return b"".join(found)

        async def under_asyncio() -> bytes:
            async with model.asyncio().stream(request, timeout_s=timeout_s) as pieces:
                async for piece in pieces:
                    found.append(piece)
                    seen.set()
                    if len(found) == take:
                        break
            return b"".join(found)

        return self.runner.run(under_asyncio())

    def close(self) -> None:
        async def closed() -> None:
            for client in self.clients:
                closing = client.aclose() if hasattr(client, "aclose") else client.close()
                if inspect.isawaitable(closing):
                    await closing

        self.runner.run(closed())


@pytest.fixture
def calls() -> Iterator[Calls]:
    with asyncio.Runner() as runner:
        calls = Calls(runner)
        yield calls
        calls.close()


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


@pytest.fixture
def model(way: Way, server: Server, calls: Calls) -> Model:
    return way.through("m-1", client=calls.keep(way.client(server.url)))


@pytest.fixture
def own(way: Way, server: Server) -> Iterator[Model]:
    """Give the same model, by our own transport."""
    with way.through("m-1", base_url=server.url + way.root, api_key=KEY) as model:
        yield model


# -- bytes ------------------------------------------------------------------------------------


def test_a_request_goes_out_as_by_our_own_transport(
    calls: Calls, model: Model, own: Model, server: Server
) -> None:
    assert calls.send(model) == own.blocking().send(request_of(own)) == ODD
    theirs, ours = server.heard
    assert theirs.body == ours.body == request_of(model).body
    assert theirs.path == ours.path
    assert theirs.headers.get("anthropic-version") == ours.headers.get("anthropic-version")
    for heard in (theirs, ours):
        # Anthropic takes a key in either of two headers.
        assert {heard.headers.get(name) for name in KEY_HEADERS} & {KEY, f"Bearer {KEY}"}
    assert theirs.headers["content-type"] == ours.headers["content-type"] == "application/json"


def test_a_streaming_request_goes_out_as_by_our_own_transport(
    calls: Calls, model: Model, own: Model, server: Server
) -> None:
    server.script += [Said(pieces=PIECES, headers=EVENTS)] * 2
    theirs_said = calls.stream(model)
    with own.blocking().stream(request_of(own, stream=True)) as pieces:
        assert b"".join(pieces) == theirs_said == b"".join(PIECES)
    theirs, ours = server.heard
    assert theirs.body == ours.body == request_of(model, stream=True).body
    assert theirs.path == ours.path


def test_under_asyncio_our_own_transport_does_the_same(
    calls: Calls, way: Way, server: Server
) -> None:
    own = way.through("m-1", base_url=server.url + way.root, api_key=KEY)
    own = dataclasses.replace(own, transport=None)
    server.script += [Said(), Said(pieces=PIECES, headers=EVENTS)]
    assert calls.send(own) == ODD
    assert calls.stream(own) == b"".join(PIECES)
    assert [heard.body for heard in server.heard] == [
        request_of(own).body,
        request_of(own, stream=True).body,
    ]
    calls.runner.run(own.aclose())


def test_an_answer_comes_back_as_it_was(calls: Calls, model: Model) -> None:
    assert calls.send(model) == ODD


def test_a_compressed_answer_comes_back_as_it_was(
    calls: Calls, model: Model, server: Server
) -> None:
    server.script.append(
        Said(pieces=(gzip.compress(ODD),), headers=(("content-encoding", "gzip"),))
    )
    assert calls.send(model) == ODD


def test_a_stream_comes_back_as_it_was(calls: Calls, model: Model, server: Server) -> None:
    server.script.append(Said(pieces=PIECES, headers=EVENTS))
    assert calls.stream(model) == b"".join(PIECES)


def test_a_stream_is_given_as_it_comes(calls: Calls, model: Model, server: Server) -> None:
    """The last piece is sent only after the first one was seen."""
    seen = threading.Event()
    server.script.append(Said(pieces=PIECES, headers=EVENTS, hold=seen))
    assert calls.stream(model, seen=seen) == b"".join(PIECES)


def test_leaving_a_stream_early_leaves_the_client_usable(
    calls: Calls, model: Model, server: Server
) -> None:
    over = threading.Event()
    server.script.append(Said(pieces=PIECES, headers=EVENTS, hold=over))
    try:
        assert calls.stream(model, take=1)
    finally:
        over.set()
    assert calls.send(model) == ODD


# -- errors -----------------------------------------------------------------------------------

DATES = (
    ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"),
)


def test_a_date_until_when_to_wait_is_read_as_our_own_transport_reads_it(
    calls: Calls, way: Way, server: Server
) -> None:
    client = calls.keep(way.client(server.url))
    if hasattr(client, "with_options"):
        client = client.with_options(max_retries=0)
    server.script += [Said(429, (b"{}",), DATES)] * 2
    theirs = raised(lambda: calls.send(way.through("m-1", client=client)))
    with way.through("m-1", base_url=server.url + way.root, api_key=KEY, retries=0) as own:
        ours = raised(lambda: calls.send(own))
    assert theirs.retry_after_s == ours.retry_after_s == 60


FAILURES = [
    (401, b'{"error":{"message":"no such key"}}', NotAuthorized),
    (400, b'{"error":{"message":"maximum context length is 8"}}', ContextOverflow),
    (418, b"not JSON", ProviderError),
]


def raised(ask: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        ask()
    return caught.value


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: str(failure[0]))
@pytest.mark.parametrize("ask", [Calls.send, Calls.stream])
def test_an_error_is_that_of_our_own_transport_with_theirs_as_its_cause(  # noqa: PLR0917
    ask: Callable[[Calls, Model], bytes],
    calls: Calls,
    model: Model,
    own: Model,
    server: Server,
    failure: tuple[int, bytes, type[ProviderError]],
) -> None:
    status, body, kind = failure
    server.script += [Said(status, (body,))] * 2
    theirs = raised(lambda: ask(calls, model))
    ours = raised(lambda: ask(calls, own))
    assert type(theirs) is type(ours) is kind
    assert (theirs.status, theirs.body) == (ours.status, ours.body) == (status, body)
    assert (theirs.code, theirs.retry_after_s) == (ours.code, ours.retry_after_s)
    assert str(theirs) == str(ours)
    cause = type(theirs.__cause__).__module__.partition(".")[0]
    assert cause in ("openai", "anthropic", "google")


def test_a_key_that_the_provider_repeats_is_in_no_error(
    calls: Calls, model: Model, own: Model, server: Server
) -> None:
    body = f'{{"error":{{"message":"no such key: {KEY}!"}}}}'.encode()
    server.script += [Said(401, (body,))] * 2
    theirs = raised(lambda: calls.send(model))
    ours = raised(lambda: calls.send(own))
    assert "no such key: ***!" in str(theirs)
    assert str(theirs) == str(ours)
    assert theirs.body == ours.body
    assert KEY.encode() not in theirs.body


def test_nobody_there_is_unreachable(calls: Calls, way: Way) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as taken:
        url = f"http://127.0.0.1:{taken.server_port}"
    client = calls.keep(way.client(url))
    if hasattr(client, "with_options"):
        client = client.with_options(max_retries=0)
    error = raised(lambda: calls.send(way.through("m-1", client=client)))
    assert type(error) is Unreachable
    assert error.__cause__ is not None


def test_a_stream_that_breaks_off_is_unreachable_after_what_came(
    calls: Calls, model: Model, server: Server
) -> None:
    server.script.append(Said(pieces=PIECES, headers=EVENTS, drop=True))
    seen = threading.Event()
    error = raised(lambda: calls.stream(model, seen=seen))
    assert type(error) is Unreachable
    assert seen.is_set()
    assert len(server.heard) == 1, "what has begun is not asked for again"


@pytest.mark.parametrize("way", [WAYS[name] for name in RETRYING], ids=RETRYING)
def test_the_client_tries_again_as_it_was_told_to(
    calls: Calls, model: Model, server: Server
) -> None:
    again = (("retry-after-ms", "1"), ("content-type", "application/json"))
    server.script += [Said(529, (b"{}",), again), Said(429, (b"{}",), again)]
    assert calls.send(model) == ODD
    assert len({heard.body for heard in server.heard}) == 1
    assert len(server.heard) == 3


@pytest.mark.parametrize("way", [WAYS[name] for name in RETRYING], ids=RETRYING)
def test_a_client_that_may_not_try_again_does_not(calls: Calls, way: Way, server: Server) -> None:
    server.script += [Said(429, (b"{}",))]
    client = calls.keep(way.client(server.url)).with_options(max_retries=0)
    error = raised(lambda: calls.send(way.through("m-1", client=client)))
    assert type(error) is RateLimited
    assert len(server.heard) == 1


@pytest.mark.parametrize("timeout_s", [None, 60])
@pytest.mark.parametrize("way", [WAYS[name] for name in RETRYING], ids=RETRYING)
def test_the_client_s_retries_are_all_there_are(
    calls: Calls, model: Model, server: Server, timeout_s: float | None
) -> None:
    again = (("retry-after-ms", "1"), ("content-type", "application/json"))
    server.script += [Said(503, (b"{}",), again)] * 9
    error = raised(lambda: calls.send(model, timeout_s=timeout_s))
    assert type(error) is Overloaded
    assert len(server.heard) == 3


@pytest.mark.parametrize("way", [WAYS[name] for name in RETRYING], ids=RETRYING)
def test_a_time_limit_leaves_the_client_its_retries(
    calls: Calls, model: Model, server: Server
) -> None:
    again = (("retry-after-ms", "1"), ("content-type", "application/json"))
    server.script += [Said(503, (b"{}",), again), Said(409, (b"{}",), again)]
    assert calls.send(model, timeout_s=60) == ODD


@pytest.mark.parametrize("way", [WAYS[name] for name in RETRYING], ids=RETRYING)
def test_a_provider_that_wants_no_retries_is_heard(
    calls: Calls, model: Model, server: Server
) -> None:
    server.script += [Said(503, (b"{}",), (("x-should-retry", "false"),))]
    assert type(raised(lambda: calls.send(model, timeout_s=60))) is Overloaded
    assert len(server.heard) == 1


def _google_that_retries(url: str) -> genai.Client:
    retries = {"attempts": 3, "initial_delay": 0.001, "max_delay": 0.002, "jitter": 0.001}
    options = {"base_url": url, "retry_options": retries}
    return genai.Client(api_key=KEY, http_options=options)  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout_s", [None, 60])
@pytest.mark.parametrize("asyncio_", [False, True])
def test_google_s_client_tries_again_as_it_was_told_to_and_no_oftener(
    calls: Calls, server: Server, timeout_s: float | None, *, asyncio_: bool
) -> None:
    client = calls.keep(_google_that_retries(server.url))
    calls.keep(client.aio)
    model = models.gemini("m-1", client=client.aio if asyncio_ else client)
    server.script += [Said(503, (b"{}",))] * 2
    assert calls.send(model, timeout_s=timeout_s) == ODD
    server.script += [Said(503, (b"{}",))] * 9
    error = raised(lambda: calls.send(model, timeout_s=timeout_s))
    assert type(error) is Overloaded
    assert len(server.heard) == 6


def test_google_s_client_begins_no_pause_beyond_a_time_limit(calls: Calls, server: Server) -> None:
    options = {"base_url": server.url, "retry_options": {"initial_delay": 60.0, "max_delay": 60.0}}
    client = calls.keep(genai.Client(api_key=KEY, http_options=options))  # type: ignore[arg-type]
    calls.keep(client.aio)
    server.script += [Said(503, (b"{}",))]
    error = raised(lambda: calls.send(models.gemini("m-1", client=client), timeout_s=10))
    assert type(error) is Overloaded
    assert len(server.heard) == 1


BLOCKING = [name for name in RETRYING if not name.startswith("Async")]


@pytest.mark.parametrize("way", [WAYS[name] for name in BLOCKING], ids=BLOCKING)
def test_no_pause_goes_beyond_a_time_limit(calls: Calls, model: Model, server: Server) -> None:
    """The server asks for a pause of a minute and there are ten seconds: it is not waited for.

    Under asyncio the whole call is bounded, its pauses too.
    """
    server.script += [Said(503, (b"{}",), (("retry-after", "60"),))]
    error = raised(lambda: calls.send(model, timeout_s=10))
    assert type(error) is Overloaded
    assert len(server.heard) == 1


@pytest.mark.parametrize("ask", [Calls.send, Calls.stream])
def test_an_answer_that_does_not_come_in_time_is_unreachable(
    ask: Callable[..., bytes], calls: Calls, model: Model, server: Server
) -> None:
    over = threading.Event()
    server.script += [Said(pieces=PIECES, hold=over)] * 6
    try:
        assert type(raised(lambda: ask(calls, model, timeout_s=0.3))) is Unreachable
    finally:
        over.set()


# -- clients ----------------------------------------------------------------------------------


def test_a_blocking_client_is_for_blocking_calls_alone(calls: Calls, server: Server) -> None:
    for name, made in (("OpenAI", models.openai), ("Anthropic", models.anthropic)):
        model = made("m-1", client=calls.keep(WAYS[name].client(server.url)))
        assert model.blocking() is model.transport
        with pytest.raises(Invalid, match="async client"):
            model.asyncio()


def test_an_asyncio_client_is_for_asyncio_alone(calls: Calls, server: Server) -> None:
    for name, made in (("AsyncAnthropic", models.anthropic), ("genai.aio", models.gemini)):
        model = made("m-1", client=calls.keep(WAYS[name].client(server.url)))
        assert model.asyncio() is model.async_transport
        with pytest.raises(Invalid, match="blocking client"):
            model.blocking()


def test_google_s_client_is_for_both(calls: Calls, server: Server) -> None:
    client = calls.keep(_genai(server.url))
    calls.keep(client.aio)
    model = models.gemini("m-1", client=client)
    assert model.blocking().send(request_of(model)) == ODD
    assert calls.runner.run(model.asyncio().send(request_of(model))) == ODD


def test_a_client_of_another_provider_is_refused(calls: Calls, server: Server) -> None:
    with pytest.raises(Invalid, match=r"anthropic\.Anthropic .* found openai\.OpenAI"):
        models.anthropic("m-1", client=calls.keep(WAYS["OpenAI"].client(server.url)))
    with pytest.raises(Invalid, match=r"found builtins\.str"):
        models.openai("m-1", client="a client")


def test_what_a_client_brings_is_not_given_beside_it(calls: Calls, server: Server) -> None:
    client = calls.keep(WAYS["OpenAI"].client(server.url))
    with pytest.raises(Invalid, match="found api_key, retries beside it"):
        models.openai("m-1", client=client, api_key=KEY, retries=1)


def test_closing_a_model_leaves_its_client_open(calls: Calls, model: Model) -> None:
    calls.runner.run(model.aclose())
    assert calls.send(model) == ODD


def test_no_repr_shows_a_key(calls: Calls, way: Way, server: Server) -> None:
    model = way.through("m-1", client=calls.keep(way.client(server.url)))
    for shown in (model, model.transport, model.async_transport):
        assert KEY not in repr(shown)
        assert len(repr(shown)) < 80


def test_a_client_without_credentials_is_not_authorized(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, server: Server, tmp_path: Path
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("ANTHROPIC_CONFIG_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    client = calls.keep(anthropic.Anthropic(base_url=server.url, api_key=None))
    error = raised(lambda: calls.send(models.anthropic("m-1", client=client)))
    assert type(error) is NotAuthorized
    assert server.heard == []


def test_middleware_of_the_client_runs(calls: Calls, server: Server) -> None:
    seen: list[str] = []

    def note(request: Any, call_next: Any) -> Any:
        seen.append(request.url)
        return call_next(request)

    client = calls.keep(anthropic.Anthropic(base_url=server.url, api_key=KEY, middleware=[note]))
    model = models.anthropic("m-1", client=client)
    assert calls.send(model) == ODD
    assert calls.stream(model) == ODD
    assert seen == ["/v1/messages"] * 2


# -- the clouds' variants ---------------------------------------------------------------------


@pytest.mark.parametrize("kind", [openai.AzureOpenAI, openai.AsyncAzureOpenAI])
def test_azure_names_the_deployment_in_the_path(kind: Any, calls: Calls, server: Server) -> None:
    client = calls.keep(
        kind(azure_endpoint=server.url, api_key=KEY, api_version="2026-01-01", max_retries=0)
    )
    model = models.openai("my model", client=client)
    assert calls.send(model) == ODD
    assert server.heard[0].path == (
        "/openai/deployments/my%20model/chat/completions?api-version=2026-01-01"
    )
    assert server.heard[0].body == request_of(model).body
    assert server.heard[0].headers["api-key"] == KEY


def test_a_client_for_one_deployment_keeps_it(calls: Calls, server: Server) -> None:
    client = calls.keep(
        openai.AzureOpenAI(
            azure_endpoint=server.url,
            azure_deployment="mine",
            api_key=KEY,
            api_version="2026-01-01",
        )
    )
    assert calls.send(models.openai("m-1", client=client)) == ODD
    assert server.heard[0].path.startswith("/openai/deployments/mine/chat/completions?")


@pytest.mark.parametrize("kind", [anthropic.AnthropicVertex, anthropic.AsyncAnthropicVertex])
@pytest.mark.parametrize(
    ("ask", "verb"), [(Calls.send, "rawPredict"), (Calls.stream, "streamRawPredict")]
)
def test_vertex_moves_the_model_into_the_path_and_leaves_the_messages(
    ask: Callable[[Calls, Model], bytes], verb: str, kind: Any, calls: Calls, server: Server
) -> None:
    client = calls.keep(kind(region="eu", project_id="p", access_token="t", base_url=server.url))
    model = models.anthropic("claude@1", client=client)
    assert ask(calls, model) == ODD
    heard = server.heard[0]
    where = "/projects/p/locations/eu/publishers/anthropic/models"
    assert heard.path == f"{where}/claude@1:{verb}"
    fields = rawjson.fields(heard.body)
    assert fields["messages"] == b"[" + OURS[0] + b"]"
    assert fields["anthropic_version"] == b'"vertex-2023-10-16"'
    assert "model" not in fields


@pytest.mark.parametrize("kind", [anthropic.AnthropicBedrock, anthropic.AsyncAnthropicBedrock])
def test_bedrock_moves_the_model_into_the_path_and_leaves_the_messages(
    kind: Any, calls: Calls, server: Server
) -> None:
    client = calls.keep(kind(aws_region="eu-west-1", api_key=KEY, base_url=server.url))
    model = models.anthropic("anthropic.claude:0", client=client)
    assert calls.send(model) == ODD
    heard = server.heard[0]
    assert heard.path == "/model/anthropic.claude:0/invoke"
    fields = rawjson.fields(heard.body)
    assert fields["messages"] == b"[" + OURS[0] + b"]"
    assert fields["anthropic_version"] == b'"bedrock-2023-05-31"'
    assert not fields.keys() & {"model", "stream"}


def test_a_version_of_the_caller_s_own_reaches_the_cloud(calls: Calls, server: Server) -> None:
    client = calls.keep(
        anthropic.AnthropicBedrock(aws_region="eu-west-1", api_key=KEY, base_url=server.url)
    )
    model = models.anthropic("claude", client=client)
    ask = Ask("claude", [OURS[0]], parameters={"anthropic_version": "2031-01-01"})
    assert model.blocking().send(model.dialect.request(ask)) == ODD
    assert rawjson.fields(server.heard[0].body)["anthropic_version"] == b'"2031-01-01"'


class Token(google.auth.credentials.Credentials):
    """Credentials that never run out, as of a service account that was just let in."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.token = "t"

    def refresh(self, _: object) -> None:
        raise AssertionError


@pytest.mark.parametrize("asyncio_", [False, True])
def test_gemini_on_vertex_gets_a_token_and_our_bytes(
    calls: Calls, server: Server, *, asyncio_: bool
) -> None:
    client = calls.keep(
        genai.Client(
            vertexai=True,
            project="p",
            location="eu",
            credentials=Token(),
            http_options={"base_url": server.url},
        )
    )
    calls.keep(client.aio)
    model = models.gemini("gemini-1", client=client.aio if asyncio_ else client)
    assert calls.send(model) == ODD
    assert calls.stream(model) == ODD
    plain, streamed = server.heard
    where = "/v1beta1/projects/p/locations/eu/publishers/google/models/gemini-1"
    assert plain.path == f"{where}:generateContent"
    assert streamed.path == f"{where}:streamGenerateContent?alt=sse"
    assert plain.headers["authorization"] == "Bearer t"
    assert plain.body == request_of(model).body
