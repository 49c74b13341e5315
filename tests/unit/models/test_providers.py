"""Where a model is asked, and what lets a caller in: given, or from the environment."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from hansard import models
from hansard.chat import Chat
from hansard.errors import Invalid, NotAuthorized, Overloaded, Unreachable
from hansard.messages import user
from tests.support.http_server import Said, serving
from tests.unit.models.asking import arrived, request_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hansard.models import Model
    from tests.support.http_server import HttpServer

CLIENTS_VARIABLES = ("OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_")

MAKERS: dict[str, Callable[..., Model]] = {
    "openai": models.openai,
    "openai-responses": models.openai_responses,
    "anthropic": models.anthropic,
    "gemini": models.gemini,
}
BASE_URLS = {
    "openai": ("OPENAI_BASE_URL", "/v1", "/v1/chat/completions"),
    "openai-responses": ("OPENAI_BASE_URL", "/v1", "/v1/responses"),
    "anthropic": ("ANTHROPIC_BASE_URL", "", "/v1/messages"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "", "/v1/models/m-1:generateContent"),
}
KEYS = {
    "openai": ("OPENAI_API_KEY", "authorization", "Bearer k-12345678"),
    "openai-responses": ("OPENAI_API_KEY", "authorization", "Bearer k-12345678"),
    "anthropic": ("ANTHROPIC_API_KEY", "x-api-key", "k-12345678"),
    "gemini": ("GEMINI_API_KEY", "x-goog-api-key", "k-12345678"),
}


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in os.environ:
        if variable.startswith(CLIENTS_VARIABLES):
            monkeypatch.delenv(variable)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with serving() as server:
        yield server


@pytest.fixture(params=MAKERS)
def name(request: pytest.FixtureRequest) -> str:
    given: str = request.param
    return given


# -- addresses --------------------------------------------------------------------------------


def test_a_base_url_is_what_the_official_client_of_the_provider_takes(
    name: str, server: HttpServer
) -> None:
    _, below, path = BASE_URLS[name]
    for end in ("", "/"):
        model = MAKERS[name]("m-1", base_url=server.url + below + end)
        assert arrived(server, model)[0] == path


def test_a_base_url_can_stand_in_the_environment(
    name: str, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, below, path = BASE_URLS[name]
    monkeypatch.setenv(variable, server.url + below)
    assert arrived(server, MAKERS[name]("m-1"))[0] == path


def test_a_base_url_that_is_given_wins_over_the_environment(
    name: str, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, below, path = BASE_URLS[name]
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    assert arrived(server, MAKERS[name]("m-1", base_url=server.url + below))[0] == path


@pytest.mark.parametrize(
    ("below", "variable", "version"),
    [
        ("", None, "/v1"),
        ("", "v1alpha", "/v1alpha"),
        ("", "beta", "/v1beta"),
        ("/v1beta", None, "/v1beta"),
        ("/v1beta", "v1alpha", "/v1beta"),
        ("/gateway", None, "/gateway/v1"),
    ],
)
def test_gemini_s_version_is_that_of_the_base_url_or_the_environment_or_the_stable_one(
    below: str,
    variable: str | None,
    version: str,
    server: HttpServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if variable is not None:
        monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", variable)
    path, _ = arrived(server, models.gemini("m-1", base_url=server.url + below))
    assert path == f"{version}/models/m-1:generateContent"


def test_a_base_url_that_is_none_is_invalid_before_anything_is_sent(name: str) -> None:
    model = MAKERS[name]("m-1", base_url="no-url", api_key="")
    with pytest.raises(Invalid, match="expected a base URL"):
        model.blocking()


# -- keys -------------------------------------------------------------------------------------


def test_a_key_goes_into_the_header_that_the_provider_reads(name: str, server: HttpServer) -> None:
    _, below, _ = BASE_URLS[name]
    _, header, value = KEYS[name]
    model = MAKERS[name]("m-1", base_url=server.url + below, api_key="k-12345678")
    path, headers = arrived(server, model)
    assert headers[header] == value
    assert "k-12345678" not in path
    assert "k-12345678" not in repr(model) + repr(model.transport)


def test_a_key_is_read_from_the_environment_when_the_model_is_first_called(
    name: str, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, header, value = KEYS[name]
    model = MAKERS[name]("m-1", base_url=server.url)
    monkeypatch.setenv(variable, "k-12345678\n")
    assert arrived(server, model)[1][header] == value


def test_a_key_that_is_given_wins_over_the_environment(
    name: str, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, header, value = KEYS[name]
    monkeypatch.setenv(variable, "another")
    model = MAKERS[name]("m-1", base_url=server.url, api_key="k-12345678")
    assert arrived(server, model)[1][header] == value


def test_an_empty_key_sends_none(
    name: str, server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, header, _ = KEYS[name]
    monkeypatch.setenv(variable, "another")
    assert header not in arrived(server, MAKERS[name]("m-1", base_url=server.url, api_key=""))[1]


def test_a_server_elsewhere_may_want_no_key(name: str, server: HttpServer) -> None:
    _, header, _ = KEYS[name]
    assert header not in arrived(server, MAKERS[name]("m-1", base_url=server.url))[1]


def test_of_google_s_two_variables_the_one_counts_that_its_client_prefers(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "second")
    monkeypatch.setenv("GOOGLE_API_KEY", "first")
    model = models.gemini("m-1", base_url=server.url)
    assert arrived(server, model)[1]["x-goog-api-key"] == "first"


def test_without_a_key_the_error_names_the_variable_when_the_model_is_first_called(
    name: str,
) -> None:
    variable, _, _ = KEYS[name]
    model = MAKERS[name]("m-1")
    for called in (model.blocking, model.asyncio):
        with pytest.raises(NotAuthorized, match=rf"set the environment variable .*{variable}"):
            called()


def test_a_missing_key_is_found_before_anything_is_recorded() -> None:
    checkpoints: list[bytes] = []
    with pytest.raises(NotAuthorized):
        Chat("openai:m-1").send(None, user("Hello"), checkpoint=checkpoints.append)
    assert checkpoints == []


def test_headers_of_the_caller_s_own_win(server: HttpServer) -> None:
    given = {"authorization": "Bearer of my own", "x-team": "seven"}
    model = models.openai("m-1", base_url=server.url, api_key="k", headers=given)
    _, headers = arrived(server, model)
    assert headers["authorization"] == "Bearer of my own"
    assert headers["x-team"] == "seven"


# -- what else is given -----------------------------------------------------------------------


def test_parameters_go_into_every_request(name: str, server: HttpServer) -> None:
    parameters: dict[str, Any] = {"zz_new": [1, {"a": None}]}
    arrived(server, MAKERS[name]("m-1", base_url=server.url, **parameters))
    assert json.loads(server.heard[0].body)["zz_new"] == [1, {"a": None}]


def test_a_model_without_a_name_is_invalid(name: str) -> None:
    with pytest.raises(Invalid, match="expected the name of a model"):
        MAKERS[name]("")


@pytest.mark.parametrize("retries", [0, 1])
def test_it_is_tried_again_as_often_as_was_said(retries: int, server: HttpServer) -> None:
    server.says(Said(503, headers=(("retry-after-ms", "1"),)))
    model = models.openai("m-1", base_url=server.url, retries=retries)
    with model, pytest.raises(Overloaded):
        model.blocking().send(request_to(model))
    assert len(server.heard) == retries + 1


def test_a_timeout_of_the_model_bounds_its_calls(server: HttpServer) -> None:
    server.says(Said(then="stall"))
    model = models.openai("m-1", base_url=server.url, timeout_s=0.2, retries=0)
    with model, pytest.raises(Unreachable, match=r"none within 0\.2 s"):
        model.blocking().send(request_to(model))
