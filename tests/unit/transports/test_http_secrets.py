"""Keys, and what is said, leave for the wire alone: no log, no error and no repr has them."""

from __future__ import annotations

import gc
import logging
import pickle
import re
import socket
import traceback
from typing import TYPE_CHECKING, Any

import pytest

from hansard import Request, dialect
from hansard.errors import HansardError, Invalid, ProviderError
from hansard.transports.http.address import Address
from tests.support.http_server import Said
from tests.unit.transports.calling import CALLERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.http_server import HttpServer
    from tests.unit.transports.conftest import Connect

KEY = "kq7-Zx0PqR-very-secret-0123456789"
SAID = "my-own-words-to-the-model"
ANSWER = "its-own-words-to-me"
SECRETS = (KEY, SAID, ANSWER, "s3cr3t-p4ssword")

ASKED = Request("/chat/completions", f'{{"messages":["{SAID}"]}}'.encode())
LET_IN: list[dict[str, str]] = [
    {"authorization": f"Bearer {KEY}"},
    {"x-api-key": KEY},
    {"x-goog-api-key": KEY},
    {"api-key": KEY},
]
HAPPENINGS = {
    "an answer": Said(pieces=(ANSWER.encode(),)),
    "a refusal": Said(400, (b'{"error":{"message":"odd"}}',)),
    "a refusal that may pass": Said(503),
    "a key that is repeated": Said(401, (f'{{"error":{{"message":"wrong: {KEY}"}}}}'.encode(),)),
    "a redirect": Said(307, headers=(("location", "https://x.test/"),)),
    "a cut": Said(pieces=(ANSWER.encode(),), then="cut"),
    "a silence": Said(pieces=(ANSWER.encode(),), then="stall"),
    "no HTTP": Said(wire=b"SSH-2.0\r\n"),
}


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Let every logger there is say all that it has to say."""
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    before = [(logger, logger.level, logger.disabled) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.disabled = False
    caplog.set_level(logging.DEBUG)
    yield caplog
    for logger, level, disabled in before:
        logger.setLevel(level)
        logger.disabled = disabled


def all_of(error: BaseException) -> str:
    """All that an error tells, with all errors that it leads to."""
    told, seen = "", [error]
    while seen:
        each = seen.pop()
        told += "".join(traceback.format_exception(each, chain=False))
        told += f"{each!r} {each.__dict__} {each.args!r}"
        seen += [more for more in (each.__cause__, each.__context__) if more is not None]
    return told


def ask_both_ways(caller: Any) -> list[ProviderError]:
    errors = []
    try:
        caller.send(ASKED)
    except ProviderError as error:
        errors.append(error)
    try:
        with caller.stream(ASKED) as pieces:
            for _ in pieces:
                pass
    except ProviderError as error:
        errors.append(error)
    return errors


@pytest.mark.parametrize("said", HAPPENINGS.values(), ids=HAPPENINGS)
@pytest.mark.parametrize("headers", LET_IN, ids=lambda headers: next(iter(headers)))
def test_whatever_happens_nothing_secret_is_logged_or_told(
    said: Said,
    headers: dict[str, str],
    server: HttpServer,
    connect: Connect,
    logged: pytest.LogCaptureFixture,
) -> None:
    server.says(said)
    timeout_s = 0.2 if said.then == "stall" else 60.0
    caller = connect(server.url, headers=headers, timeout_s=timeout_s, retries=1)
    errors = ask_both_ways(caller)

    assert server.heard or said.then == "stall"
    for heard in server.heard:
        assert heard.body == ASKED.body
        assert headers.items() <= heard.headers.items()
    assert len(errors) == (0 if said.status == 200 and said.then == "end" and not said.wire else 2)
    lines = [f"{record.getMessage()} {record.__dict__}" for record in logged.records]
    assert {"httpcore2.http11", "httpcore2.connection"} <= {each.name for each in logged.records}
    assert not [line for line in lines for secret in SECRETS if secret in line]
    for error in errors:
        told = all_of(error) + all_of(pickle.loads(pickle.dumps(error)))  # noqa: S301 - ours
        assert not [secret for secret in SECRETS if secret in told]
        assert "authorization" not in told.lower()


def test_a_further_try_is_logged_with_where_why_and_when(
    server: HttpServer, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hansard")
    server.says(Said(503), Said())
    connect(server.url).send(ASKED)

    [told] = [record.getMessage() for record in caplog.records if record.name.startswith("hansard")]
    assert re.fullmatch(
        r"no answer from 127\.0\.0\.1:\d+ \(Overloaded, status 503\): trying again in 0\.\d{3} s",
        told,
    )


def test_no_error_leads_to_one_of_the_library_that_holds_the_request(
    server: HttpServer, connect: Connect
) -> None:
    server.says(Said(then="cut"))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{bound.getsockname()[1]}"
        errors = [error for url in (server.url, nobody) for error in ask_both_ways(connect(url))]

    assert len(errors) == 4
    for error in errors:
        assert error.__context__ is None or isinstance(error.__context__, HansardError)
        assert error.__cause__ is None or type(error.__cause__) is ConnectionRefusedError
        for each in (error, error.__cause__):
            assert not [held for held in gc.get_referents(each) if "httpx2" in repr(type(held))]


@pytest.mark.parametrize("kind", CALLERS)
@pytest.mark.parametrize("headers", LET_IN, ids=lambda headers: next(iter(headers)))
def test_the_repr_shows_the_address_alone(kind: str, headers: dict[str, str]) -> None:
    made = CALLERS[kind]("https://me:s3cr3t-p4ssword@api.test/v1", headers=headers)
    made.end()

    assert repr(made.transport).endswith("HttpTransport to https://api.test/v1>")
    assert repr(Address("https://me:s3cr3t-p4ssword@api.test", headers)) == (
        "<Address https://api.test>"
    )


@pytest.mark.parametrize("kind", CALLERS)
@pytest.mark.parametrize(
    ("url", "headers", "expected"),
    [
        ("api.test/v1", {}, "a base URL such as"),
        ("ftp://api.test", {}, "a base URL such as"),
        ("https://", {}, "a base URL such as"),
        ("https://api.test/\n", {}, "a base URL such as"),
        (f"https://api.test?key={KEY}", {}, "paths can be added"),
        ("https://api.test", {"authorization": f"Bearer {KEY}\n"}, "a line break at the end"),
        ("https://api.test", {"x-api-key": f"{KEY}ü"}, "header x-api-key"),
        ("https://api.test", {"x api key": KEY}, "'x api key'"),
    ],
)
def test_what_cannot_be_an_address_is_refused_without_repeating_it(
    kind: str, url: str, headers: dict[str, str], expected: str
) -> None:
    with pytest.raises(Invalid, match=expected) as raised:
        CALLERS[kind](url, headers=headers)
    assert KEY not in all_of(raised.value)


def test_short_values_are_not_blotted_out_of_what_a_provider_says() -> None:
    address = Address("https://api.test", {"authorization": "Bearer abc", "x-own": KEY})

    assert address.blot(f"abc {KEY}".encode()) == f"abc {KEY}".encode()


def test_a_key_of_somebody_else_is_blotted_out_of_a_message_too() -> None:
    body = b'{"error":{"message":"Incorrect API key provided: sk-proj-abcdefghijklmnop1234"}}'
    error = dialect("openai").failure(401, body)

    assert "Incorrect API key provided: ***" in str(error)
