"""JSON stays as it was spelled, whatever its spelling."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hansard import rawjson
from hansard.errors import DecodeError
from tests.property.strategies import (
    ANY_TEXT,
    broken_documents,
    json_arrays,
    json_documents,
    json_objects,
    objects_with_unknown_fields,
    string_literals,
)


def tokens(text: str) -> list[str]:
    """Cut JSON text into tokens, with nothing of what the library does it with."""
    found: list[str] = []
    position = 0
    while position < len(text):
        end = position + 1
        if text[position] == '"':
            while text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            end += 1
        elif text[position] not in "{}[]:, \t\r\n":
            while end < len(text) and text[end] not in '{}[]:," \t\r\n':
                end += 1
        if text[position] not in " \t\r\n":
            found.append(text[position:end])
        position = end
    return found


def depth(text: str) -> int:
    """How deep JSON text nests."""
    deep = deepest = 0
    for token in tokens(text):
        deep += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
        deepest = max(deepest, deep)
    return deepest


def is_json(data: bytes) -> bool:
    """What Python's own parser accepts, but for the three words that are not JSON."""

    def refuse(word: str) -> object:
        raise ValueError(word)

    try:
        json.loads(data.decode(), parse_constant=refuse)
    except ValueError:
        return False
    return True


@given(json_documents())
def test_compact_keeps_every_token_and_nothing_else(data: bytes) -> None:
    tight = rawjson.compact(data).decode()
    assert tokens(tight) == tokens(data.decode())
    assert "".join(tokens(tight)) == tight


@given(json_documents())
def test_compact_leaves_alone_what_is_compact(data: bytes) -> None:
    tight = rawjson.compact(data)
    assert rawjson.compact(tight) == tight


@given(broken_documents())
@example(b"NaN")
@example(b"[-Infinity]")
@example(b"\xef\xbb\xbf1")
@example(b'"\\ud800')
@example(b'["\\ud800", 01]')
@example(b'"\xed\xa0\x80"')
def test_compact_accepts_what_python_accepts_but_for_nan_and_infinity(data: bytes) -> None:
    if is_json(data):
        assert tokens(rawjson.compact(data).decode()) == tokens(data.decode())
    else:
        with pytest.raises(DecodeError) as caught:
            rawjson.compact(data)
        assert caught.value.reason in ("not_json", "not_utf8")


@given(json_documents(), st.integers(0, 30))
def test_compact_refuses_exactly_what_nests_deeper_than_it_may(data: bytes, limit: int) -> None:
    if depth(data.decode()) <= limit:
        assert rawjson.compact(data, depth_max=limit)
    else:
        with pytest.raises(DecodeError) as caught:
            rawjson.compact(data, depth_max=limit)
        assert caught.value.reason == "too_deep"


def check_slices(raw: bytes) -> None:
    """Every way to take a value apart gives the same slices, down to its leaves."""
    if raw.startswith(b"{"):
        members = rawjson.members(raw)
        pairs = json.loads(raw, object_pairs_hook=lambda found: found)
        assert [key for key, _ in members] == [key for key, _ in pairs]
        assert list(rawjson.fields(raw).items()) == list(dict(members).items())
        for _, part in members:
            check_slices(part)
    elif raw.startswith(b"["):
        parts = rawjson.elements(raw)
        # A lone surrogate sends the array down the slow road.
        longer = raw[:-1] + (b"," if parts else b"") + b'"\\ud800"]'
        assert rawjson.elements(longer) == [*parts, b'"\\ud800"']
        assert rawjson.join_array(parts) == raw
        for part in parts:
            check_slices(part)


@given(json_documents())
@example(b'{"a":{},"b":[],"":[[]]}')
@example(b'{"a":1,"\\u0061":2,"a":3}')
@example(b'["\\ud800",["\\udc00{"],{"]":"\\ud800"}]')
def test_all_ways_to_take_a_value_apart_agree(data: bytes) -> None:
    check_slices(rawjson.compact(data))


@given(json_documents())
def test_only_an_object_has_members_and_only_an_array_has_elements(data: bytes) -> None:
    raw = rawjson.compact(data)
    for take, bracket in (
        (rawjson.fields, b"{"),
        (rawjson.members, b"{"),
        (rawjson.elements, b"["),
        (rawjson.unquote, b'"'),
    ):
        if raw.startswith(bracket):
            take(raw)
            continue
        with pytest.raises(DecodeError) as caught:
            take(raw)
        assert caught.value.reason == "unexpected_type"


@given(json_documents())
def test_a_value_is_what_python_parses(data: bytes) -> None:
    parsed = rawjson.value(rawjson.compact(data))
    assert repr(parsed) == repr(json.loads(data))


def without_infinities(parsed: object) -> bool:
    """Whether all numbers fit."""
    if isinstance(parsed, float):
        return math.isfinite(parsed)
    if isinstance(parsed, dict):
        return all(without_infinities(item) for item in parsed.values())
    return not isinstance(parsed, list) or all(without_infinities(item) for item in parsed)


def paired(text: str) -> str:
    """The text, with the halves of surrogate pairs that stand side by side put together.

    JSON has one spelling for both: a pair of halves always reads as one character.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@given(json_documents())
def test_what_is_dumped_reads_as_the_same_value(data: bytes) -> None:
    parsed = json.loads(data)
    if without_infinities(parsed):
        spelled = rawjson.dump(parsed)
        assert rawjson.compact(spelled) == spelled
        assert rawjson.value(spelled) == parsed


@given(ANY_TEXT)
@example("\ud83d\ude00")
@example("\ude00\ud83d")
@example('\ud800"\\\x00\x7f\u2028é😀')
def test_every_text_survives_being_quoted(text: str) -> None:
    literal = rawjson.quote(text)
    assert rawjson.compact(literal) == literal
    assert rawjson.unquote(literal) == paired(text)


@given(ANY_TEXT.filter(str.isprintable))
def test_quote_escapes_only_what_it_must(text: str) -> None:
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    assert rawjson.quote(text) == b'"' + plain.encode() + b'"'


@given(string_literals())
def test_a_literal_reads_as_python_reads_it(literal: bytes) -> None:
    assert rawjson.unquote(literal) == json.loads(literal)


@given(st.lists(string_literals(), max_size=4))
def test_joined_literals_read_as_the_joined_text(literals: list[bytes]) -> None:
    whole = "".join([rawjson.unquote(literal) for literal in literals])
    assert rawjson.unquote(rawjson.join_strings(literals)) == paired(whole)


@given(json_objects(), st.sampled_from(["a", "b", "role", "absent"]))
def test_replace_changes_the_named_member_and_no_other(data: bytes, name: str) -> None:
    raw = rawjson.compact(data)
    before = rawjson.members(raw)
    changed = rawjson.members(rawjson.replace(raw, {name: b"1e5"}))
    assert changed == [(key, b"1e5" if key == name else part) for key, part in before]
    left = rawjson.members(rawjson.replace(raw, {name: None}))
    assert left == [(key, part) for key, part in before if key != name]


@given(objects_with_unknown_fields(b'{"role":"user"}'))
def test_fields_nobody_knew_stay_as_they_are(data: bytes) -> None:
    raw = rawjson.compact(data)
    assert raw.startswith(b'{"role":"user","zz_')
    assert rawjson.fields(raw)["role"] == b'"user"'
    assert len(rawjson.members(raw)) >= 2


@given(json_arrays())
def test_elements_join_to_what_they_were(data: bytes) -> None:
    raw = rawjson.compact(data)
    assert rawjson.join_array(rawjson.elements(raw)) == raw
