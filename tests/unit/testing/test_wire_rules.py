"""Each rule of the wire-checking server refuses its example over HTTP, and takes its neighbour.

The two differ in nothing but what the rule is about, and nothing else is wrong with either.
"""

from __future__ import annotations

import ast
import http.client
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hansard.testing import wire_rules
from hansard.testing.wire_rules import RULEBOOKS, examples, table
from hansard.testing.wire_rules.rule import Rule, Rulebook, WireRequest
from hansard.testing.wire_server import WireServer

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

DOCS = Path(__file__).parents[3] / "docs"


def post(server: WireServer, request: WireRequest) -> tuple[int, bytes]:
    host, _, port = server.url.removeprefix("http://").removesuffix("/v1").partition(":")
    connection = http.client.HTTPConnection(host, int(port))
    try:
        connection.request("POST", request.path, request.body, dict(request.headers))
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def ask(
    book: Rulebook, request: WireRequest, *, strict: bool = True
) -> tuple[int, bytes, WireServer]:
    """Send an example to a server that has given the answers that the example is about."""
    with WireServer(book.wire_format, *request.earlier, "OK", strict=strict) as server:
        for _ in request.earlier:
            assert post(server, book.right)[0] == 200
        status, said = post(server, request)
    return status, said, server


def words(wire_format: str, said: bytes) -> str:
    """Give what a provider says of an error, where its own client looks for it."""
    parsed = json.loads(said)
    assert (parsed.get("type") == "error") == (wire_format == "anthropic")
    assert parsed["error"]["status" if wire_format == "gemini" else "type"]
    text: str = parsed["error"]["message"]
    return text


def rules(**wanted: bool) -> list[ParameterSet]:
    return [
        pytest.param(book, rule, id=f"{book.wire_format}: {rule.says}")
        for book, rule in examples()
        if all(getattr(rule, key) is value for key, value in wanted.items())
    ]


@pytest.mark.parametrize(("book", "rule"), rules())
def test_what_breaks_a_rule_is_refused_in_the_providers_shape(book: Rulebook, rule: Rule) -> None:
    request = book.example(rule.refused)
    status, said, server = ask(book, request)
    assert status == rule.status
    assert [refusal.rule for refusal in server.refusals] == [rule.says]
    assert words(book.wire_format, said) == server.refusals[0].words


@pytest.mark.parametrize(("book", "rule"), rules())
def test_the_neighbour_of_what_is_refused_is_answered(book: Rulebook, rule: Rule) -> None:
    status, _, server = ask(book, book.example(rule.accepted))
    assert (status, server.refusals) == (200, [])


@pytest.mark.parametrize(("book", "rule"), rules())
def test_nothing_else_is_wrong_with_what_a_rule_refuses(book: Rulebook, rule: Rule) -> None:
    broken = book.broken(book.example(rule.refused), strict=True)
    assert [each.says for each, _ in broken] == [rule.says]


@pytest.mark.parametrize(("book", "rule"), rules(strict=True))
def test_a_lenient_server_takes_what_only_the_strict_refuse(book: Rulebook, rule: Rule) -> None:
    status, _, server = ask(book, book.example(rule.refused), strict=False)
    assert (status, server.refusals) == (200, [])


@pytest.mark.parametrize("book", RULEBOOKS.values(), ids=RULEBOOKS)
def test_no_two_rules_of_a_format_say_the_same(book: Rulebook) -> None:
    said = [rule.says for rule in book.rules]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize("book", RULEBOOKS.values(), ids=RULEBOOKS)
@pytest.mark.parametrize("given", [None, [], "text", 3, {}, [None], [3], [[]], [{}], [{"": None}]])
def test_no_value_anywhere_makes_a_rule_raise(book: Rulebook, given: Any) -> None:
    for place in places(book.right.json):
        request = book.example(((place, given),))
        assert all(words for _, words in book.broken(request, strict=True))


def places(given: Any, where: str = "") -> list[str]:
    """Give every place in a body."""
    inside = given.items() if isinstance(given, dict) else enumerate(given)
    found = []
    for key, value in inside:
        found.append(f"{where}{key}")
        if isinstance(value, dict | list):
            found += places(value, f"{where}{key}.")
    return found


def test_the_page_lists_every_rule() -> None:
    assert table() in (DOCS / "wire-server.md").read_text(encoding="utf-8")


def test_the_rules_know_nothing_of_what_they_check() -> None:
    """They import each other, and of the rest only the names of types."""
    folder = Path(wire_rules.__file__).parent
    imported = {
        (node.level, node.module)
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level > 1
    }
    assert imported == {(3, "rawjson")}
