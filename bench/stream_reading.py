"""Reading a streamed answer: CPU for each chunk, beside the official OpenAI client.

Both get the same bytes. The client keeps no unknown fields and assembles no message here, which it
would have to do on top.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import openai as official

import hansard

from .timing import contest, row

CHUNKS = 400
_CHUNK = (
    b'data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion.chunk",'
    b'"created":1741570283,"model":"gpt-5-mini","service_tier":"default","system_fingerprint":'
    b'"fp_44709d6fcb","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,'
    b'"finish_reason":null}],"obfuscation":"pYhNDSgf8eQk"}\n\n'
)
BODY = b"".join(
    [
        _CHUNK.replace(
            b'{"content":" word%d"}', b'{"role":"assistant","content":"","refusal":null}'
        ),
        *[_CHUNK % n for n in range(CHUNKS)],
        _CHUNK.replace(b'{"content":" word%d"}', b"{}").replace(b":null}]", b':"stop"}]'),
        b"data: [DONE]\n\n",
    ]
)


class _Cut(httpx2.SyncByteStream):
    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(BODY), self.size):
            yield BODY[start : start + self.size]


def _ours(size: int) -> Callable[[], object]:
    dialect = hansard.dialect("openai")
    pieces = [BODY[start : start + size] for start in range(0, len(BODY), size)]

    def read() -> object:
        reader = dialect.stream()
        text = "".join([event.text for piece in pieces for event in reader.feed(piece)])
        return text, reader.close()

    return read


def _theirs(size: int) -> Callable[[], object]:
    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, headers={"content-type": "text/event-stream"}, stream=_Cut(size)
        )

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    client = official.OpenAI(api_key="none", base_url="http://bench/v1", http_client=http)
    return _reading(client)


def _reading(client: official.OpenAI) -> Callable[[], object]:
    def read() -> object:
        stream = client.chat.completions.create(
            model="gpt-5-mini", messages=[{"role": "user", "content": "x"}], stream=True
        )
        return "".join([c.choices[0].delta.content or "" for c in stream if c.choices])

    return read


class _Server(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(BODY)))
        self.end_headers()
        for start in range(0, len(BODY), 4096):
            self.wfile.write(BODY[start : start + 4096])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _loopback(base: str) -> dict[str, Callable[[], object]]:
    client = official.OpenAI(api_key="none", base_url=f"{base}/v1")
    http = httpx2.Client()
    dialect = hansard.dialect("openai")

    def ours() -> object:
        reader = dialect.stream()
        said: list[str] = []
        with http.stream("POST", f"{base}/v1/chat/completions", content=b"{}") as response:
            for piece in response.iter_raw():
                said += [event.text for event in reader.feed(piece)]
        return "".join(said), reader.close()

    return {"ours": ours, "theirs": _reading(client)}


def run(*, quick: bool = False) -> Iterator[str]:
    """Yield the table."""
    yield "## Reading a stream (µs of CPU a chunk)"
    yield row("how the bytes come", "ours", "openai client", "ratio")
    yield row(*["---"] * 4)
    rounds = 1 if quick else 5
    for name, size in (("whole", len(BODY)), ("4,096 bytes", 4096), ("97 bytes", 97)):
        times = contest(
            {"ours": _ours(size), "theirs": _theirs(size)}, rounds=rounds, clock=time.process_time
        )
        yield _line(name, times)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    times = contest(
        _loopback(f"http://127.0.0.1:{server.server_port}"), rounds=rounds, clock=time.process_time
    )
    server.shutdown()
    yield _line("over loopback, both ends", times)


def _line(name: str, times: dict[str, float]) -> str:
    ours, theirs = times["ours"] / CHUNKS, times["theirs"] / CHUNKS
    return row(name, ours, theirs, theirs / ours)
