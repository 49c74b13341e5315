"""A server on loopback that refuses what a provider's service refuses.

It knows the wire formats by rules of its own, in `wire_rules`, and nothing of the dialects: so it
checks them. What it answers is given as for a scripted model, or as bodies and events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from .. import rawjson
from ..errors import Invalid
from .script import Fail, Play, ScriptEnded, forever
from .wire_answers_spelling import members
from .wire_rules import RULEBOOKS
from .wire_rules.rule import WireRequest
from .wire_server_answers import Reply, WireAnswer, refuse, spell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from ..rawjson import JSON, JSONObject

__all__ = ["Refusal", "WireServer"]

WireAnswers: TypeAlias = "WireAnswer | Callable[[WireRequest], WireAnswer]"


@dataclass(frozen=True)
class Refusal:
    """A request that was refused, the rule that it broke, and the words of the refusal."""

    request: WireRequest = field(repr=False)
    rule: str
    words: str
    status: int = 400


class WireServer:
    """Speaks one wire format, and checks every request before it answers.

    ``answers`` are given one after the other; a function is given the request, and one that is
    alone is called each time. Without any, all that is right is answered alike. ``expecting`` are
    the bodies that the requests have to have, but for what asks for a stream. ``strict=False`` lets
    pass what only the newest models refuse.

    ``requests`` are all that came, ``refusals`` those that were wrong. On leaving, whatever went
    wrong in the server itself is raised: more requests than answers, or a function that raised.
    """

    def __init__(
        self,
        wire_format: str,
        *answers: WireAnswers,
        expecting: Sequence[JSONObject] = (),
        strict: bool = True,
    ) -> None:
        if wire_format not in RULEBOOKS:
            raise Invalid(f"expected one of {', '.join(RULEBOOKS)}, found {wire_format!r}")
        self.wire_format = wire_format
        self.strict = strict
        self.requests: list[WireRequest] = []
        self.refusals: list[Refusal] = []
        self._answers = answers or (forever("OK"),)
        self._expecting = tuple(expecting)
        self._given: list[JSONObject] = []
        self._answered = 0
        self._lock = threading.Lock()
        self._failures: list[Exception] = []
        self._http = _Listener(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=[0.01], daemon=True)

    @classmethod
    def replay(cls, wire_format: str, folder: Path, *, strict: bool = True) -> WireServer:
        """Play a conversation that is kept in files, and expect its requests.

        The files are ``request_1.json``, ``answer_1.json`` and so on.
        """
        requests, answers = _bodies(folder, "request"), _bodies(folder, "answer")
        return cls(wire_format, *answers, expecting=requests, strict=strict)

    @property
    def url(self) -> str:
        """The base URL, as the provider's own client wants it."""
        below = "/v1" if self.wire_format.startswith("openai") else ""
        return f"http://127.0.0.1:{self._http.server_port}{below}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()
        if self._failures and error is None:
            raise self._failures[0]

    def reply(self, came: WireRequest) -> Reply:
        """Check a request, write it down, and say what happens after it."""
        with self._lock:
            request = replace(came, earlier=tuple(self._given))
            self.requests.append(request)
            refusal = self._refusal(request)
            if refusal is not None:
                self.refusals.append(refusal)
                return refuse(self.wire_format, Fail(refusal.status, message=refusal.words))
            try:
                return self._answer(request)
            except Exception as error:  # noqa: BLE001 - raised where the test can see it
                self._failures.append(error)
                return refuse(self.wire_format, Fail(400, message=f"the test failed: {error}"))

    def _refusal(self, request: WireRequest) -> Refusal | None:
        for rule, words in RULEBOOKS[self.wire_format].broken(request, strict=self.strict):
            return Refusal(request, rule.says, words, rule.status)
        for expected in self._expecting[self._answered : self._answered + 1]:
            for words in _differences(
                _bare(expected, request), _bare(request.json, request), "body"
            ):
                return Refusal(request, "The request is the expected one.", words)
        return None

    def _answer(self, request: WireRequest) -> Reply:
        given = self._answers[min(self._answered, len(self._answers) - 1)]
        alone = len(self._answers) == 1
        repeats = given.repeats if isinstance(given, Play) else alone and callable(given)
        if self._answered >= len(self._answers) and not repeats:
            raise ScriptEnded(
                f"expected no more requests than answers, of which there are {len(self._answers)}; "
                f"found another one, to {request.path}: give more answers, or forever(…)"
            )
        self._answered += 1
        answer = given(request) if callable(given) else given
        reply = spell(self.wire_format, answer, request, self._answered)
        if reply.whole:
            self._given.append(reply.whole)
        return reply


# -- what is expected -------------------------------------------------------------------------


def _bodies(folder: Path, kind: str) -> list[JSONObject]:
    files = sorted(folder.glob(f"{kind}_*.json"), key=lambda file: (len(file.name), file.name))
    if not files:
        raise Invalid(f"expected files such as {kind}_1.json in {folder}, found none")
    return [members(rawjson.value(file.read_bytes())) for file in files]


def _bare(body: JSON, request: WireRequest) -> JSON:
    """Leave out of a body what asks for a stream, and nulls, which a stream does not bring."""
    if not request.stream:
        return body
    if isinstance(body, list):
        return [_bare(item, request) for item in body]
    if not isinstance(body, dict):
        return body
    kept = {key: _bare(value, request) for key, value in body.items() if value is not None}
    return {key: kept[key] for key in kept if key not in ("stream", "stream_options")}


def _differences(expected: JSON, found: JSON, where: str) -> Iterator[str]:
    """Say where a value is another than was expected."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *[key for key in found if key not in expected]]:
            one, other = (each.get(key, _NOTHING) for each in (expected, found))
            yield from _differences(one, other, f"{where}.{key}")
    elif isinstance(expected, list) and isinstance(found, list):
        pairs = zip_longest(expected, found, fillvalue=_NOTHING)
        for place, (one, other) in enumerate(pairs):
            yield from _differences(one, other, f"{where}[{place}]")
    elif expected != found:
        shown = [rawjson.dump(value).decode() for value in (expected, found)]
        yield f"{where}: expected {shown[0]}, found {shown[1]}"


_NOTHING: Final = "(nothing)"


# -- HTTP -------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        wire = cast("_Listener", self.server).wire
        reply = wire.reply(WireRequest(self.path, headers, body))
        if reply.until is not None:
            reply.until.wait()
        time.sleep(reply.wait_s)
        self._send(reply)
        self.close_connection = reply.broken

    def _send(self, reply: Reply) -> None:
        if reply.broken and not reply.stream:
            return
        self.send_response(reply.status)
        kind = "text/event-stream" if reply.stream else "application/json"
        self.send_header("content-type", kind)
        if reply.retry_after_s is not None:
            self.send_header("retry-after", f"{reply.retry_after_s:g}")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in filter(None, reply.pieces):
            time.sleep(reply.wait_each_s)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if not reply.broken:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's
        """Print nothing."""


class _Listener(ThreadingHTTPServer):
    def __init__(self, wire: WireServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wire = wire

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up."""
