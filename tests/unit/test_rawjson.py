"""Raw JSON: the gate, the slices, the spellings. What varies is in ``tests/property``."""

from __future__ import annotations

import math
import subprocess
import sys
import tracemalloc

import msgspec
import pytest

from hansard import rawjson
from hansard.errors import DecodeError


def refusal(data: bytes) -> DecodeError:
    """Give the error with which ``compact`` refuses."""
    with pytest.raises(DecodeError) as caught:
        rawjson.compact(data)
    return caught.value


class TestCompact:
    def test_only_white_space_between_tokens_is_removed(self) -> None:
        data = b' {"a b" :\t[ 1e5 , 1.50,-0 ],\r\n"\\u0041\\/" : " \\ud800 " } '
        assert rawjson.compact(data) == b'{"a b":[1e5,1.50,-0],"\\u0041\\/":" \\ud800 "}'

    def test_duplicate_keys_stay(self) -> None:
        assert rawjson.compact(b'{"a":1, "a":2}') == b'{"a":1,"a":2}'

    @pytest.mark.parametrize(
        "data",
        [
            *[b"", b" ", b"{", b"[1,]", b'{"a":1,}', b"01", b"1.", b"+1", b"nul", b"1 2", b"'a'"],
            *[b"NaN", b"[Infinity]", b"-Infinity", b'{"a" 1}', b'"\n"', b'"\\x"'],
            *[b'"\\ud800', b'["\\ud800",]'],
        ],
    )
    def test_what_is_not_json_is_refused(self, data: bytes) -> None:
        assert refusal(data).reason == "not_json"

    @pytest.mark.parametrize("data", [b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b"[\x80]"])
    def test_what_is_not_utf8_is_refused_with_the_offset(self, data: bytes) -> None:
        error = refusal(data)
        assert error.reason == "not_utf8"
        assert f"byte 0x{data[1]:02x} at offset 1" in str(error)

    def test_a_refusal_does_not_repeat_what_was_said(self) -> None:
        assert "secret" not in str(refusal(b'{"password": "secret" '))

    def test_the_limit_of_depth_is_the_last_that_is_accepted(self) -> None:
        deepest = b"[" * rawjson.DEPTH_MAX + b"]" * rawjson.DEPTH_MAX
        assert rawjson.compact(deepest) == deepest
        assert refusal(b"[" + deepest + b"]").reason == "too_deep"

    @pytest.mark.parametrize("inside", [b"", b'"\\ud800"'])
    def test_nesting_beyond_all_reason_is_refused_and_crashes_nothing(self, inside: bytes) -> None:
        assert refusal(b"[" * 100_000 + inside + b"]" * 100_000).reason == "too_deep"
        assert refusal(b'{"a":' * 100_000).reason == "too_deep"

    def test_a_refusal_names_the_limit_that_was_given(self) -> None:
        for inside in (b"", b'"\\ud800"'):
            with pytest.raises(DecodeError, match="at most 7 deep"):
                rawjson.compact(b"[" * 5000 + inside + b"]" * 5000, depth_max=7)

    def test_brackets_in_text_are_not_depth(self) -> None:
        data = rawjson.quote("[{" * 1000)
        assert rawjson.compact(data, depth_max=1) == data

    def test_the_callers_own_stack_is_never_blamed_on_the_data(self) -> None:
        data = b"[" * rawjson.DEPTH_MAX + b"]" * rawjson.DEPTH_MAX

        def climb(levels: int) -> bytes:
            return climb(levels - 1) if levels else rawjson.compact(data)

        for levels in range(0, sys.getrecursionlimit(), 50):
            try:
                assert climb(levels) == data
            except RecursionError:
                assert levels > 50
                break

    def test_large_text_with_brackets_takes_no_more_memory_than_a_few_copies(self) -> None:
        data = rawjson.quote('f(x[1]);{ "a" } ' * 20_000)
        for raw in (b"[" + data + b"]", b'["\\ud800",' + data + b"]"):
            tracemalloc.start()
            try:
                rawjson.compact(raw)
                rawjson.members(b'{"a":' + raw + b"}")
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert peak < 8 * len(raw)


class TestSlices:
    def test_fields_are_raw_and_of_duplicates_the_last(self) -> None:
        raw = b'{"a":1e5,"b":[1.50],"a":{"c":"\\/"}}'
        assert rawjson.fields(raw) == {"a": b'{"c":"\\/"}', "b": b"[1.50]"}

    def test_members_are_in_order_with_duplicates(self) -> None:
        raw = b'{"a":1,"\\u0061":2,"b":{}}'
        assert rawjson.members(raw) == [("a", b"1"), ("a", b"2"), ("b", b"{}")]

    def test_a_name_that_is_half_a_surrogate_pair_is_found(self) -> None:
        raw = b'{"\\ud800":"{","a":["\\udfff",{"]":1}]}'
        assert rawjson.fields(raw) == {"\ud800": b'"{"', "a": b'["\\udfff",{"]":1}]'}

    def test_elements_are_raw(self) -> None:
        assert rawjson.elements(b'[1.50,"\\ud800,",[],{"a":[1,2]}]') == [
            b"1.50",
            b'"\\ud800,"',
            b"[]",
            b'{"a":[1,2]}',
        ]

    @pytest.mark.parametrize("raw", [b"[]", b"{}"])
    def test_nothing_has_no_parts(self, raw: bytes) -> None:
        assert (rawjson.members if raw == b"{}" else rawjson.elements)(raw) == []

    def test_slices_do_not_hold_on_to_what_they_were_cut_from(self) -> None:
        part = rawjson.fields(b'{"a":"x"}')["a"]
        assert type(part) is bytes

    @pytest.mark.parametrize(
        ("raw", "found"),
        [
            *[(b"[]", "an array"), (b'"a"', "a string"), (b"true", "true"), (b"false", "false")],
            *[(b"null", "null"), (b"-1", "a number")],
        ],
    )
    def test_what_is_no_object_is_named_and_not_repeated(self, raw: bytes, found: str) -> None:
        for take in (rawjson.fields, rawjson.members):
            with pytest.raises(DecodeError, match=f"expected an object, found {found}$") as caught:
                take(raw)
            assert caught.value.reason == "unexpected_type"

    def test_what_is_no_array_or_string_is_named(self) -> None:
        with pytest.raises(DecodeError, match="expected an array, found an object"):
            rawjson.elements(b"{}")
        with pytest.raises(DecodeError, match="expected a string, found a number"):
            rawjson.unquote(b"1")


class TestValue:
    def test_numbers_too_large_for_python_are_infinite(self) -> None:
        parsed = rawjson.value(b"[1e400,-1e400," + b"9" * 5000 + b",-" + b"9" * 5000 + b"]")
        assert parsed == [math.inf, -math.inf, math.inf, -math.inf]

    def test_whole_numbers_keep_every_digit(self) -> None:
        assert rawjson.value(b"[18446744073709551616,9007199254740993]") == [2**64, 2**53 + 1]

    def test_lone_surrogates_stay_and_pairs_meet(self) -> None:
        assert rawjson.value(b'["\\ud800","\\ud83d\\ude00"]') == ["\ud800", "\U0001f600"]

    def test_nan_is_refused_in_few_words(self) -> None:
        with pytest.raises(DecodeError, match=r"^expected JSON, found NaN$") as caught:
            rawjson.value(b"[NaN]")
        assert caught.value.reason == "not_json"


class TestSpelling:
    def test_text_is_raw_utf8_with_escapes_only_where_json_demands_them(self) -> None:
        assert rawjson.quote('é😀/\u2028"\\\n\x00') == '"é😀/\u2028\\"\\\\\\n\\u0000"'.encode()

    def test_half_a_pair_is_escaped(self) -> None:
        assert rawjson.quote("é\ud800") == '"é\\ud800"'.encode()

    def test_raw_json_is_spliced_in_also_beside_lone_surrogates(self) -> None:
        raw = msgspec.Raw(b'{"n":1e5}')
        assert rawjson.dump({"a": raw, "b": "x"}) == b'{"a":{"n":1e5},"b":"x"}'
        assert rawjson.dump({"a": raw, "b": "\ud800"}) == b'{"a":{"n":1e5},"b":"\\ud800"}'

    @pytest.mark.parametrize(
        "parsed", [1e16, 1.5, 2**70, math.nan, math.inf, None, True, (1, 2), {}, {1: "a"}]
    )
    def test_half_a_pair_changes_the_spelling_of_nothing_beside_it(self, parsed: object) -> None:
        assert rawjson.dump([parsed, "\ud800"]) == b"[" + rawjson.dump(parsed) + b',"\\ud800"]'

    @pytest.mark.parametrize(
        "parsed", [math.nan, [-math.inf], {"a": {"b": (1.5, math.inf)}}, {"\ud83d": math.nan}]
    )
    def test_a_number_that_json_has_not_is_refused_by_whoever_minds(self, parsed: object) -> None:
        with pytest.raises(ValueError, match="no number for"):
            rawjson.dump_finite(parsed)

    @pytest.mark.parametrize("parsed", [None, [None, 1.5], "null", {"a": msgspec.Raw(b"null")}])
    def test_null_that_is_meant_is_said_all_the_same(self, parsed: object) -> None:
        assert rawjson.dump_finite(parsed) == rawjson.dump(parsed)

    def test_half_a_pair_can_be_a_key(self) -> None:
        assert rawjson.dump({"\ud800": [1]}) == b'{"\\ud800":[1]}'

    def test_objects_and_arrays_are_joined_as_given(self) -> None:
        assert rawjson.join_object({"a": b"1e5", "\ud800": b"[]"}) == b'{"a":1e5,"\\ud800":[]}'
        assert rawjson.join_object([("a", b"1"), ("a", b"2")]) == b'{"a":1,"a":2}'
        assert rawjson.join_object({}) == b"{}"
        assert rawjson.join_array([b"1e5", b"{}"]) == b"[1e5,{}]"
        assert rawjson.join_array([]) == b"[]"

    def test_halves_of_a_pair_meet_again_when_literals_are_joined(self) -> None:
        joined = rawjson.join_strings([b'"a\\ud83d"', b'""', b'"\\ude00"'])
        assert joined == b'"a\\ud83d\\ude00"'
        assert rawjson.unquote(joined) == "a\U0001f600"

    def test_replace_changes_leaves_out_and_keeps_the_rest_in_order(self) -> None:
        raw = b'{"a":1e5,"b":2,"c":{"d":1.50}}'
        assert rawjson.replace(raw, {"b": b"[3]"}) == b'{"a":1e5,"b":[3],"c":{"d":1.50}}'
        assert rawjson.replace(raw, {"a": None, "z": b"0"}) == b'{"b":2,"c":{"d":1.50}}'


RACE = """
import sys, threading
import msgspec
from hansard import rawjson

sys.setswitchinterval(1e-6)
for number in range(200):
    inner = msgspec.defstruct(f"Inner{number}", [("a", "int"), ("b", "tuple[int, ...]")])
    middle = msgspec.defstruct("Middle", [("inner", inner), ("more", "list[str]")])
    outer = msgspec.defstruct("Outer", [("middle", middle), ("c", "dict[str, int]")])
    start = threading.Barrier(3)
    said = b'{"middle":{"inner":{"a":1,"b":[1]},"more":["x"]},"c":{"y":1}}'

    def decode():
        start.wait()
        msgspec.json.decode(said, type=rawjson.prepared(outer))

    threads = [threading.Thread(target=decode) for _ in range(3)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
"""


def test_threads_that_first_decode_a_type_at_once_do_not_end_the_process() -> None:
    """Msgspec lets one use what another has half found out of a type, unless it is prepared."""
    subprocess.run([sys.executable, "-c", RACE], check=True, timeout=60)
