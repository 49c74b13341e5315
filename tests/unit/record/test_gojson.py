"""JSON is taken, refused and spelled as Go does, by walking it once."""

from __future__ import annotations

import pytest

from hansard.errors import DecodeError
from hansard.record import gojson
from hansard.record.gojson import Scanner


def whole(data: bytes, *, depth_max: int = gojson.DEPTH_MAX) -> bytes:
    scanner = Scanner(data, depth_max=depth_max)
    value = scanner.value()
    scanner.end()
    return value


@pytest.mark.parametrize(
    ("data", "spelled"),
    [
        (b' \t\r\n{ "a" : [ 1 , {} , [ ] ] , "b" : null } \n', b'{"a":[1,{},[]],"b":null}'),
        (b'" a  b "', b'" a  b "'),
        (b'["<>&", "\xe2\x80\xa8\xe2\x80\xa9"]', rb'["\u003c\u003e\u0026","\u2028\u2029"]'),
        (b'{"<":1}', rb'{"\u003c":1}'),
        (rb'"\u003C \/ \u0041 \ud83d\uDE00"', rb'"\u003C \/ \u0041 \ud83d\uDE00"'),
        (rb'["\ud800", "\udc00\ud800"]', rb'["\ud800","\udc00\ud800"]'),
        (b"[-0, 1E+2, 1.50, 1e999, 12345678901234567890]",) * 2,
        (b'"\x7f \xc3\xa9 \xf0\x9f\x98\x80"',) * 2,
        (b"true", b"true"),
        (b"{}", b"{}"),
    ],
)
def test_only_white_space_and_what_html_could_misread_is_respelled(
    data: bytes, spelled: bytes
) -> None:
    expected = spelled if spelled is not data else data.replace(b", ", b",")
    assert whole(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        *[b"", b" ", b"[", b"]", b"{", b"[1", b"[1,", b"[1,]", b"[,1]", b"[1 2]", b"[1}"],
        *[b'{"a":1]', b'{"a"}', b'{"a":}', b'{"a" 1}', b'{"a":1,}', b"{1:2}", b"{,}", b"{a:1}"],
        *[b"01", b"+1", b".5", b"1.", b"1.e5", b"-", b"1e", b"1e+", b"0x1", b"NaN", b"Infinity"],
        *[b"nul", b"nulll", b"True", b"tru", b"1 1", b"[] []", b"{}x", b"1,", b"//1", b"[1/**/]"],
        *[b'"', b'"a', b'"\\', b'"\\"', b'"\\x"', b'"\\u12"', b'"\\u12g4"', b'"\\U0041"'],
        *[b'"\n"', b'"\x00"', b'"\x1f"', b"{'a':1}", b"a"],
        *[b"\xef\xbb\xbf1", b"\x0c1", b"\x0b1", b"\xc2\xa01", b"1\x00"],
    ],
)
def test_what_go_refuses_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        whole(data)
    assert caught.value.reason == "not_json"


def nest(depth: int, opening: bytes, inside: bytes, closing: bytes) -> bytes:
    return opening * depth + inside + closing * depth


@pytest.mark.parametrize(
    "pair", [(b"[", b"", b"]"), (b'["[",', b"0", b",2]"), (b'{"a":', b"{}", b"}")]
)
def test_nesting_is_taken_up_to_the_limit_and_not_beyond(pair: tuple[bytes, bytes, bytes]) -> None:
    opening, inside, closing = pair
    own = 1 if b"{" in inside else 0
    deepest = nest(gojson.DEPTH_MAX - own, opening, inside, closing)
    assert whole(deepest) == deepest
    with pytest.raises(DecodeError) as caught:
        whole(nest(gojson.DEPTH_MAX - own + 1, opening, inside, closing))
    assert caught.value.reason == "too_deep"


def test_the_brackets_around_members_and_elements_count_for_the_limit() -> None:
    scanner = Scanner(b'{"a":[[[]]]}', depth_max=3)
    next(scanner.members())
    with pytest.raises(DecodeError) as caught:
        list(scanner.elements())
    assert caught.value.reason == "too_deep"


def test_members_are_taken_one_by_one_with_their_keys_as_spelled() -> None:
    scanner = Scanner(rb' { "a" : [ 1 ] , "\u0061" : "x" } ')
    assert [(key, scanner.value()) for key in scanner.members()] == [
        (b'"a"', b"[1]"),
        (rb'"\u0061"', b'"x"'),
    ]
    scanner.end()


def test_elements_are_taken_one_by_one() -> None:
    scanner = Scanner(b'[ 1 , [ 2 , 3 ] , {"a" : 4} ]')
    assert list(scanner.elements()) == [b"1", b"[2,3]", b'{"a":4}']
    scanner.end()


@pytest.mark.parametrize("data", [b"{}", b" { } "])
def test_an_empty_object_has_no_members(data: bytes) -> None:
    scanner = Scanner(data)
    assert list(scanner.members()) == []
    scanner.end()


@pytest.mark.parametrize("data", [b"[1,]", b"[,]", b"[1", b"[1 2]", b"{}", b"[1}"])
def test_broken_arrays_are_refused_while_their_elements_are_taken(data: bytes) -> None:
    with pytest.raises(DecodeError):
        list(Scanner(data).elements())


@pytest.mark.parametrize(
    "data", [b'{"a":1,}', b"{,}", b'{"a"', b'{"a" 1}', b"[]", b'{"a":1]', b"{1:1}"]
)
def test_broken_objects_are_refused_while_their_members_are_taken(data: bytes) -> None:
    scanner = Scanner(data)
    with pytest.raises(DecodeError):
        [scanner.value() for _ in scanner.members()]


def test_a_refusal_says_where_and_does_not_repeat_what_strings_say() -> None:
    with pytest.raises(DecodeError) as caught:
        whole(b'["secret" "secret"]')
    assert str(caught.value).startswith("expected ',' at byte 10 of 19, found a string;")


def test_long_strings_of_escapes_are_walked_in_little_memory() -> None:
    """A regular expression that remembered each escape would need a hundred times the text."""
    text = b'"' + rb"\n" * 500_000 + b'"'
    assert whole(text) == text


def test_quoting_uses_short_escapes_and_raw_text() -> None:
    text = '\x00\x07\b\t\n\x0b\f\r\x1f"\\/\x7f\x80é\u2027\u2028\u2029\ufffe😀<>&'
    assert gojson.quote(text).decode() == (
        r'"\u0000\u0007\b\t\n\u000b\f\r\u001f\"\\/' + "\x7f\x80é\u2027"
        r"\u2028\u2029" + "\ufffe😀" + r'\u003c\u003e\u0026"'
    )


def test_lone_surrogates_are_quoted_in_lower_case() -> None:
    assert gojson.quote("a\ud83db\udc00<\x01") == rb'"a\ud83db\udc00\u003c\u0001"'


@pytest.mark.parametrize("key", ["messages", "MESSAGES", "Me\u017fsage\u017f", "mESSages"])
def test_keys_in_any_case_fold_to_the_same(key: str) -> None:
    assert gojson.fold(key) == "messages"


@pytest.mark.parametrize(
    "key", ["me\u00dfages", "messages ", "message", "me\ufb06ages", "mess\u0430ges"]
)
def test_keys_that_only_look_alike_do_not(key: str) -> None:
    assert gojson.fold(key) != "messages"


def test_the_kelvin_sign_folds_to_the_letter() -> None:
    assert gojson.fold("\u212aey") == "key"
