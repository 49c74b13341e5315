"""What comes instead of an answer is an error of ours, which says what it is."""

from __future__ import annotations

import pickle
import socket
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

import pytest

import hansard
from hansard import dialect
from hansard.errors import (
    ContextOverflow,
    Invalid,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
    Unreachable,
)
from hansard.transports.http.call import World
from tests.support.http_server import Said, serving
from tests.unit.transports.calling import CALLERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hansard.dialects.dialect import Dialect
    from tests.support.http_server import HttpServer
    from tests.unit.transports.conftest import Connect

SHORT_S = 0.2
"""Short enough to be waited through. Nothing here depends on what can be done in this time."""


def failing(status: int, body: str = "", **headers: str) -> Said:
    named = tuple([(name.replace("_", "-"), value) for name, value in headers.items()])
    return Said(status, (body.encode(),), named)


@pytest.fixture
def nobody() -> Iterator[str]:
    """Give an address at which nobody listens, and nobody will."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


# -- a provider that says what is wrong ---------------------------------------------------------

OPENAI = '{"error":{"message":"%s","type":"%s","code":%s}}'
ANTHROPIC = '{"type":"error","error":{"type":"%s","message":"%s"},"request_id":"req_1"}'
GEMINI = '{"error":{"code":%d,"message":"%s","status":"%s"}}'

SAID = [
    ("openai", 429, OPENAI % ("slower", "requests", '"rate_limit_exceeded"'), RateLimited),
    ("openai", 429, OPENAI % ("pay", "insufficient_quota", '"insufficient_quota"'), NotAuthorized),
    ("openai", 401, OPENAI % ("no", "invalid_request_error", '"invalid_api_key"'), NotAuthorized),
    ("openai", 500, OPENAI % ("oh", "server_error", "null"), Overloaded),
    ("openai", 503, "<html>busy</html>", Overloaded),
    ("openai", 400, OPENAI % ("long", "x", '"context_length_exceeded"'), ContextOverflow),
    ("openai", 404, OPENAI % ("who?", "x", '"model_not_found"'), ProviderError),
    ("openai-responses", 429, OPENAI % ("slower", "tokens", "null"), RateLimited),
    ("openai-responses", 403, OPENAI % ("not you", "x", "null"), NotAuthorized),
    ("openai-responses", 502, "", Overloaded),
    (
        "openai-responses",
        400,
        OPENAI % ("Your input exceeds the context window of this model.", "x", "null"),
        ContextOverflow,
    ),
    ("anthropic", 429, ANTHROPIC % ("rate_limit_error", "slower"), RateLimited),
    ("anthropic", 401, ANTHROPIC % ("authentication_error", "no"), NotAuthorized),
    ("anthropic", 529, ANTHROPIC % ("overloaded_error", "Overloaded"), Overloaded),
    (
        "anthropic",
        400,
        ANTHROPIC % ("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
        ContextOverflow,
    ),
    ("anthropic", 413, ANTHROPIC % ("request_too_large", "too many bytes"), ContextOverflow),
    ("anthropic", 400, ANTHROPIC % ("invalid_request_error", "odd"), ProviderError),
    ("gemini", 429, GEMINI % (429, "slower", "RESOURCE_EXHAUSTED"), RateLimited),
    ("gemini", 403, GEMINI % (403, "no", "PERMISSION_DENIED"), NotAuthorized),
    ("gemini", 503, GEMINI % (503, "overloaded", "UNAVAILABLE"), Overloaded),
    (
        "gemini",
        400,
        GEMINI
        % (
            400,
            "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            "INVALID_ARGUMENT",
        ),
        ContextOverflow,
    ),
    ("gemini", 400, GEMINI % (400, "odd", "INVALID_ARGUMENT"), ProviderError),
]


@pytest.mark.parametrize("said", SAID, ids=lambda said: f"{said[0]}-{said[1]}-{said[3].__name__}")
def test_each_providers_failures_are_told_apart(
    said: tuple[str, int, str, type[ProviderError]], server: HttpServer, connect: Connect
) -> None:
    spoken, status, body, kind = said
    server.says(failing(status, body))
    caller = connect(server.url, dialect=dialect(spoken), retries=0)

    with pytest.raises(ProviderError) as sent:
        caller.send()
    with pytest.raises(ProviderError) as streamed, caller.stream():
        pytest.fail("there is no answer to stream")

    for error in (sent.value, streamed.value):
        assert type(error) is kind
        assert (error.status, error.body) == (status, body.encode())
    assert pickle.loads(pickle.dumps(sent.value)).args == sent.value.args  # noqa: S301 - ours


def test_every_dialect_was_tried() -> None:
    assert {spoken for spoken, *_ in SAID} == set(hansard.dialects())


def test_a_custom_dialect_says_which_error_an_error_is(
    server: HttpServer, connect: Connect
) -> None:
    class Told(type(dialect("openai"))):  # type: ignore[misc]
        def failure(self, status: int, body: bytes, headers: object = None) -> ProviderError:
            return RateLimited(f"{status} {body!r} {type(headers).__name__}")

    custom: Dialect = Told()
    server.says(failing(418, "tea"))

    with pytest.raises(RateLimited, match="418 b'tea' dict"):
        connect(server.url, dialect=custom).send()


def test_no_more_of_an_error_is_read_than_anyone_wants(
    server: HttpServer, connect: Connect
) -> None:
    server.says(Said(400, (b"x" * 65_536,), then="trickle"))

    with pytest.raises(ProviderError) as raised:
        connect(server.url).send()
    assert len(raised.value.body) == 1 << 20
    assert len(str(raised.value)) < 1_000


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_says_what_to_do(
    status: int, server: HttpServer, connect: Connect
) -> None:
    with serving() as elsewhere:
        server.says(failing(status, location=elsewhere.url))
        with pytest.raises(ProviderError, match=r"leads elsewhere.*set base_url"):
            connect(server.url).send()

    assert elsewhere.connections == 0
    assert len(server.heard) == 1


# -- no answer ----------------------------------------------------------------------------------


def test_nobody_there(nobody: str, connect: Connect) -> None:
    caller = connect(nobody)
    with pytest.raises(Unreachable, match=r"no connection.*check the address") as raised:
        caller.send()

    assert isinstance(raised.value.__cause__, ConnectionRefusedError)
    assert len(caller.pauses) == 2


def test_a_name_that_is_nobodys(connect: Connect) -> None:
    with pytest.raises(Unreachable, match=r"nobody\.invalid, found no connection"):
        connect("http://nobody.invalid", retries=0).send()


@pytest.mark.parametrize("wire", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 200 OK\r\nconten"])
def test_something_that_is_no_http(wire: bytes, server: HttpServer, connect: Connect) -> None:
    server.says(Said(wire=wire))

    with pytest.raises(Unreachable, match="ended too early, or something that is no HTTP"):
        connect(server.url).send()


def test_an_answer_cut_in_the_middle_is_no_answer(server: HttpServer, connect: Connect) -> None:
    short = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}"
    server.says(Said(then="cut"), Said(wire=short), Said())
    caller = connect(server.url)

    # Nothing of it was given to anybody, so it is asked for again.
    assert caller.send() == b"{}"
    assert len(caller.pauses) == 2


def test_an_answer_cut_each_time_says_so(server: HttpServer, connect: Connect) -> None:
    server.says(Said(then="cut"))

    with pytest.raises(Unreachable, match="ended too early") as raised:
        connect(server.url).send()
    assert raised.value.__notes__ == ["It was tried 3 times."]


def test_a_stream_cut_in_the_middle_gives_what_came_and_is_not_asked_for_again(
    server: HttpServer, connect: Connect
) -> None:
    server.says(Said(pieces=(b"data: 1\n\n",), then="cut"))
    caller = connect(server.url)
    came: list[bytes] = []

    with caller.stream() as pieces, pytest.raises(Unreachable, match="after 9 bytes of it"):
        came.extend(pieces)
    assert came == [b"data: 1\n\n"]
    assert (len(server.heard), caller.pauses) == (1, [])


def test_a_stream_cut_before_its_first_piece_is_asked_for_again(
    server: HttpServer, connect: Connect
) -> None:
    server.says(Said(pieces=(), then="cut"), Said(pieces=(b"data: 1\n\n",)))

    with connect(server.url).stream() as pieces:
        assert b"".join(pieces) == b"data: 1\n\n"
    assert len(server.heard) == 2


# -- no answer in time --------------------------------------------------------------------------

SLOW = {
    "before its head": Said(pieces=(), then="stall"),
    "in its body": Said(then="stall"),
    "while it comes in drops": Said(then="trickle"),
    "in an error": Said(500, then="stall"),
    "while an error comes in drops": Said(500, then="trickle"),
}


@pytest.mark.parametrize("said", SLOW.values(), ids=SLOW)
def test_the_time_of_a_call_is_kept_to_the_last_read(
    said: Said, server: HttpServer, connect: Connect
) -> None:
    server.says(Said(), said)
    caller = connect(server.url, retries=100)
    caller.send()

    with pytest.raises(Unreachable, match=r"none within 0\.2 s.*allow more time"):
        caller.send(timeout_s=SHORT_S)
    server.await_leaving()
    assert (server.connections, caller.pauses) == (1, [])


@pytest.mark.parametrize("then", ["stall", "trickle"])
def test_the_time_of_a_stream_is_kept_to_the_last_read(
    then: str, server: HttpServer, connect: Connect
) -> None:
    server.says(Said(pieces=(b"data: 1\n\n",), then=then))  # type: ignore[arg-type]
    later_s = [0.0]
    world = World(clock=lambda: monotonic() + later_s[0])

    with connect(server.url, timeout_s=600, world=world).stream() as pieces:
        first = next(pieces)
        later_s[0] = 600 - SHORT_S
        with pytest.raises(Unreachable, match=r"none within 600 s, after \d+ bytes of it"):
            list(pieces)
        server.await_hanging_up()
    assert first.startswith(b"data: 1\n\n")


def test_a_request_that_nobody_takes_in_ends_with_its_time(connect: Connect) -> None:
    # The system accepts the connection, and no program ever reads from it.
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        caller = connect(f"http://127.0.0.1:{deaf.getsockname()[1]}")
        with pytest.raises(Unreachable, match=r"none within 0\.2 s"):
            caller.send(hansard.Request("/chat/completions", b" " * 20_000_000), timeout_s=SHORT_S)


def test_a_longest_silence_ends_a_try_and_not_the_call(
    server: HttpServer, connect: Connect
) -> None:
    server.says(Said(pieces=(), then="stall"), Said())
    caller = connect(server.url, read_timeout_s=SHORT_S, retries=100)

    assert caller.send() == b"{}"
    assert len(caller.pauses) >= 1


def test_time_that_is_over_before_it_began_asks_nobody(
    server: HttpServer, connect: Connect
) -> None:
    with pytest.raises(Unreachable, match="none within 0 s"):
        connect(server.url).send(timeout_s=0)
    assert server.connections == 0


def test_a_call_may_take_for_ever(server: HttpServer, connect: Connect) -> None:
    assert connect(server.url, timeout_s=float("inf")).send() == b"{}"


@pytest.mark.parametrize("kind", CALLERS)
@pytest.mark.parametrize(
    "option",
    [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"connect_timeout_s": -1}, {"retries": -1}],
    ids=str,
)
def test_limits_that_make_no_sense_are_refused(kind: str, option: dict[str, float]) -> None:
    with pytest.raises(Invalid, match=f"expected .*{next(iter(option))}"):
        CALLERS[kind]("http://127.0.0.1", **option)


# -- trying again -------------------------------------------------------------------------------

CHANCE = World(chance=lambda: 1.0)
"""Every pause is as long as it may be."""


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529, 599])
def test_what_may_pass_is_tried_again(status: int, server: HttpServer, connect: Connect) -> None:
    server.says(failing(status), failing(status), Said())
    caller = connect(server.url, world=CHANCE)

    assert caller.send() == b"{}"
    assert caller.pauses == [0.5, 1.0]
    assert len({heard.body for heard in server.heard}) == 1


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 451])
def test_what_will_not_pass_is_raised_at_once(
    status: int, server: HttpServer, connect: Connect
) -> None:
    # The words do not make a refusal something that passes.
    server.says(failing(status, OPENAI % ("try again", "server_error", "null"), retry_after="1"))

    with pytest.raises(ProviderError) as raised:
        connect(server.url).send()
    assert raised.value.status == status
    assert len(server.heard) == 1


@pytest.mark.parametrize("retries", [0, 1, 4])
def test_a_call_is_tried_so_often_and_then_says_how_often(
    retries: int, server: HttpServer, connect: Connect
) -> None:
    server.says(failing(503))
    caller = connect(server.url, retries=retries, world=CHANCE)

    with pytest.raises(Overloaded) as raised, caller.stream():
        pytest.fail("there is no answer to stream")
    assert len(server.heard) == retries + 1
    assert caller.pauses == [0.5, 1.0, 2.0, 4.0][:retries]
    assert getattr(raised.value, "__notes__", []) == (
        [f"It was tried {retries + 1} times."] if retries else []
    )


NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "pause_s"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "7.5"}, 7.5),
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": "Thu, 19 Nov 2026 12:00:10 GMT"}, 10.0),
        (
            {
                "retry_after": "Thu, 19 Nov 2026 12:00:10 GMT",
                "date": "Thu, 19 Nov 2026 12:00:07 GMT",
            },
            3.0,
        ),
        ({"retry_after": "Thu, 19 Nov 2026 11:00:00 GMT"}, 0.5),
        ({"retry_after": "soon"}, 0.5),
        ({"retry_after": "-3"}, 0.5),
        ({"retry_after": "nan"}, 0.5),
    ],
    ids=str,
)
def test_it_waits_as_long_as_it_was_asked_to(
    headers: dict[str, str], pause_s: float, server: HttpServer, connect: Connect
) -> None:
    server.says(failing(429, **headers), Said())
    caller = connect(server.url, world=World(wall_clock=NOON.timestamp, chance=lambda: 1.0))

    assert caller.send() == b"{}"
    assert caller.pauses == [pause_s]


@pytest.mark.parametrize("asked_s", ["61", "31"], ids=["too long", "beyond the call's time"])
def test_it_does_not_wait_in_vain(asked_s: str, server: HttpServer, connect: Connect) -> None:
    server.says(failing(429, retry_after=asked_s))
    caller = connect(server.url)

    with pytest.raises(RateLimited) as raised:
        caller.send(timeout_s=30)
    assert raised.value.retry_after_s == float(asked_s)
    assert (len(server.heard), caller.pauses) == (1, [])


def test_pauses_count_in_the_time_of_the_call(server: HttpServer, connect: Connect) -> None:
    now = [0.0]
    server.says(failing(503, retry_after="20"))
    caller = connect(server.url, retries=9, world=World(clock=lambda: now[0]), timeout_s=50)
    caller.pauses = Passing(now)

    with pytest.raises(Overloaded):
        caller.send()
    assert now == [40.0]
    assert len(server.heard) == 3


class Passing(list[float]):
    """Pauses that let a clock go on."""

    def __init__(self, now: list[float]) -> None:
        super().__init__()
        self._now = now

    def append(self, pause_s: float) -> None:
        super().append(pause_s)
        self._now[0] += pause_s


@pytest.mark.parametrize(
    ("status", "wish", "requests"), [(400, "true", 2), (503, "false", 1), (503, "maybe", 2)]
)
def test_a_provider_that_says_whether_to_try_again_is_believed(
    status: int, wish: str, requests: int, server: HttpServer, connect: Connect
) -> None:
    server.says(failing(status, x_should_retry=wish))

    with pytest.raises(ProviderError):
        connect(server.url, retries=1).send()
    assert len(server.heard) == requests
