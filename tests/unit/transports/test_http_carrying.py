"""Bytes go out as they are and come back as they are, over connections that are used again."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING

import pytest

from hansard.errors import Invalid, Unreachable
from tests.support.http_server import Heard, Said, serving
from tests.unit.transports.calling import request

if TYPE_CHECKING:
    from tests.support.http_server import HttpServer
    from tests.unit.transports.conftest import Connect

ODD = rb'{"id": "r1", "zz": [1e5, 1.50, -0.0, 1E+400, "\/\u00e9\ud800"],  "choices":[]}'
"""Spelled as no library would spell it."""


def echo(heard: Heard) -> Said:
    return Said(pieces=(heard.body,))


def test_bodies_travel_byte_for_byte_both_ways(server: HttpServer, connect: Connect) -> None:
    server.says(echo)
    body = ODD + b"\x00\xff\r\n0\r\n\r\n" * 1_000

    assert connect(server.url).send(request(body)) == body
    assert server.heard[0].body == body


def test_a_request_is_posted_below_the_base_url(server: HttpServer, connect: Connect) -> None:
    connect(f"{server.url}/some/v1/").send(request(path="/models/m:generate?alt=sse"))

    assert server.heard[0].line == "POST /some/v1/models/m:generate?alt=sse HTTP/1.1"


def test_the_callers_headers_win_over_those_of_the_dialect(
    server: HttpServer, connect: Connect
) -> None:
    headers = {"Content-Type": "application/odd", "x-own": "1"}
    connect(server.url, headers=headers).send(request())

    heard = server.heard[0].headers
    assert (heard["content-type"], heard["x-own"]) == ("application/odd", "1")
    assert heard["user-agent"] == "hansard"


def test_a_user_in_the_base_url_becomes_a_header(server: HttpServer, connect: Connect) -> None:
    connect(server.url.replace("//", "//me:p%40ss@")).send()

    assert server.heard[0].headers["authorization"] == "Basic bWU6cEBzcw=="


def test_calls_one_after_the_other_share_a_connection(server: HttpServer, connect: Connect) -> None:
    caller = connect(server.url)
    for _ in range(3):
        caller.send()
    for _ in range(3):
        with caller.stream() as pieces:
            assert b"".join(pieces) == b"{}"

    assert len(server.heard) == 6
    assert server.connections == 1


def test_a_connection_is_used_again_after_an_error(server: HttpServer, connect: Connect) -> None:
    server.says(Said(503), Said())
    connect(server.url).send()

    assert [heard.connection for heard in server.heard] == [1, 1]


def test_a_connection_that_the_server_has_closed_is_not_asked_again(
    server: HttpServer, connect: Connect
) -> None:
    server.says(Said(then="leave"))
    caller = connect(server.url)
    caller.send()
    caller.send()

    assert (len(server.heard), server.connections) == (2, 2)


def test_calls_at_the_same_time_get_each_its_own_answer(
    server: HttpServer, connect: Connect
) -> None:
    server.says(echo)
    bodies = [b'{"n":%d}' % number for number in range(16)]
    caller = connect(server.url)

    for _ in range(3):
        assert caller.send_at_once([request(body) for body in bodies]) == bodies
    assert server.connections <= len(bodies)


def test_a_stream_gives_each_piece_when_it_comes(server: HttpServer, connect: Connect) -> None:
    # The server says no more until the client hangs up: who waits for the end waits in vain.
    server.says(Said(pieces=(b"data: 1\n\n", b"data: 2\n\n"), then="stall"))
    came = b""
    with connect(server.url).stream() as pieces:
        while not came.endswith(b"2\n\n"):
            came += next(pieces)

    assert came == b"data: 1\n\ndata: 2\n\n"


def test_an_empty_answer_is_empty(server: HttpServer, connect: Connect) -> None:
    server.says(Said(pieces=()))
    caller = connect(server.url)

    assert caller.send() == b""
    with caller.stream() as pieces:
        assert list(pieces) == []


def test_a_compressed_answer_is_given_as_it_was_before(
    server: HttpServer, connect: Connect
) -> None:
    body = ODD * 200
    zipped = gzip.compress(body)
    cut = len(zipped) // 2
    server.says(Said(pieces=(zipped[:cut], zipped[cut:]), headers=(("content-encoding", "gzip"),)))
    caller = connect(server.url)

    assert caller.send() == body
    with caller.stream() as pieces:
        assert b"".join(pieces) == body
    assert "gzip" in server.heard[0].headers["accept-encoding"]


def test_broken_compression_is_an_answer_that_did_not_come(
    server: HttpServer, connect: Connect
) -> None:
    server.says(Said(pieces=(b"no gzip at all",), headers=(("content-encoding", "gzip"),)))

    with pytest.raises(Unreachable, match="compression is broken"):
        connect(server.url).send()


def test_cookies_of_one_call_are_not_told_in_the_next(server: HttpServer, connect: Connect) -> None:
    server.says(Said(headers=(("set-cookie", "who=me; path=/"),)))
    caller = connect(server.url)
    caller.send()
    caller.send()

    assert "cookie" not in server.heard[1].headers


def test_this_machine_is_reached_directly_whatever_proxy_there_is(
    server: HttpServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    with serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        connect(server.url).send()
        connect("http://model.test").send()

    assert [heard.line for heard in server.heard] == ["POST /chat/completions HTTP/1.1"]
    assert [heard.line for heard in proxy.heard] == [
        "POST http://model.test/chat/completions HTTP/1.1"
    ]


@pytest.mark.parametrize(
    ("proxy", "found"),
    [
        ("socks5://127.0.0.1:1", "a SOCKS proxy, for which"),
        ("gopher://127.0.0.1:1", "a proxy or a file of certificates that cannot be used"),
    ],
)
def test_a_proxy_of_the_environment_that_cannot_be_used_is_said_so(
    proxy: str, found: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)

    with pytest.raises(Invalid, match=f"{found}.*; look at HTTP_PROXY"):
        connect("http://model.test").send()
