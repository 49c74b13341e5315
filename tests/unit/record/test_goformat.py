"""Version 1 blobs are read and written as Go does; the data comes from Go itself.

`reading.json` and `spelling.json` were answered by `reference.go`, with Go 1.25.0 and 1.27.3,
which agree on all of it.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hansard.errors import DecodeError
from hansard.record import goformat, gojson, gomessages
from tests.support.goblobs import DATA, cases, is_utf8, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = (DATA / "01_openai_plain.json").read_bytes()
APPENDED = (DATA / "03_openai_appended.json").read_bytes()

HEAD = b'{"version":1,"provider":"openai","processed_length":2,"messages":['


def walked(data: bytes) -> bytes:
    """The same blob as only the slow walk takes it."""
    return b'{"x":[],' + data.removeprefix(b"{")


def rewrite(blob: goformat.GoBlob) -> bytes:
    return goformat.write(
        provider=blob.provider, processed_length=blob.processed_length, messages=[blob.view]
    )


def refusal(data: bytes) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        goformat.read(data)
    return caught.value


REASONS = {
    "syntax": {"not_json", "too_deep"},
    "type": {"unexpected_type", "version"},
    "version": {"version"},
}


@pytest.mark.parametrize("case", cases("reading.json"))
def test_blobs_are_taken_refused_and_rewritten_as_go_does(case: dict[str, Any]) -> None:
    data = text_of(case, "blob")
    if not is_utf8(data):
        assert refusal(data).reason == "not_utf8"
    elif case.get("refused") in REASONS:
        assert refusal(data).reason in REASONS[case["refused"]]
    elif any(not isinstance(each, dict | None) for each in messages_of(case)):
        assert refusal(data).reason == "corrupt_message"
    else:
        # Where Go refuses a message for the type of a field, we take it as it stands.
        blob = goformat.read(data)
        assert rewrite(blob) == text_of(case, "rewritten")
        assert blob.provider == case["provider"]
        assert blob.processed_length == case["processed_length"]
        assert blob.count == case["count"]


def messages_of(case: dict[str, Any]) -> list[Any]:
    found = json.loads(text_of(case, "rewritten"))["messages"]
    assert isinstance(found, list)
    return found


def test_the_data_has_many_blobs_of_every_outcome() -> None:
    found = [case.values[0].get("refused") for case in cases("reading.json")]
    for outcome in (None, "syntax", "type", "version", "message"):
        assert found.count(outcome) > 10, outcome


@pytest.mark.parametrize(("data", "seen", "count"), [(PLAIN, 2, 2), (APPENDED, 11, 13)])
def test_real_blobs_come_back_byte_for_byte(data: bytes, seen: int, count: int) -> None:
    blob = goformat.read(data)
    assert (blob.provider, blob.processed_length, blob.count) == ("openai", seen, count)
    assert rewrite(blob) == data


def test_messages_are_the_slice_between_the_brackets() -> None:
    assert goformat.read(PLAIN).messages == PLAIN.split(b'"messages":[')[1].removesuffix(b"]}")


def test_messages_are_shown_without_a_copy() -> None:
    blob = goformat.read(PLAIN)
    assert blob.view.obj is PLAIN
    assert blob.view == blob.messages


def test_what_go_wrote_is_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow walk is for foreign spellings only, and white space does not make it one."""
    monkeypatch.setattr(gojson, "Scanner", None)
    assert goformat.read(PLAIN).count == 2
    assert goformat.read(APPENDED).count == 13
    spaced = json.dumps(json.loads(PLAIN), indent=1, ensure_ascii=False).encode()
    assert goformat.read(spaced) == goformat.read(PLAIN)
    with pytest.raises(TypeError):
        goformat.read(walked(PLAIN))


def test_blobs_of_releases_that_did_not_count_yet_have_no_processed_length() -> None:
    blob = goformat.read(PLAIN.replace(b'"processed_length":2,', b""))
    assert blob.processed_length == 0
    assert rewrite(blob) == PLAIN.replace(b'"processed_length":2,', b'"processed_length":0,')


@pytest.mark.parametrize(
    "byte", [b" ", b"\n", b"<", b"_", b"\0", b"\\", b'"', b"{", b"]", b",", b"1"]
)
def test_a_byte_more_anywhere_is_judged_by_what_it_does(byte: bytes) -> None:
    """White space between tokens goes, in strings it stays, and nothing broken gets through."""
    for at in range(len(PLAIN) + 1):
        data = PLAIN[:at] + byte + PLAIN[at:]
        value = parsed(data)
        if value is None or value.get("version") != 1:
            assert refusal(data).reason in ("not_utf8", "not_json", "version")
        else:
            written = rewrite(goformat.read(data))
            assert json.loads(written)["messages"] == value.get("messages", [])
            assert b"<" not in written
            if byte.isspace() and value == json.loads(PLAIN):
                assert written == PLAIN


def parsed(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except ValueError:
        return None
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("lead", [b"", b" "])
def test_nesting_is_taken_as_deep_as_go_takes_it(beyond: int, lead: bytes) -> None:
    levels = gojson.DEPTH_MAX - 3 + beyond
    data = lead + HEAD + b'{"x":' + b"[" * levels + b"]" * levels + b"}]}"
    if beyond:
        assert refusal(data).reason == "too_deep"
    else:
        assert rewrite(goformat.read(data)) == data.strip()


@pytest.fixture
def deep_stack() -> Iterator[None]:
    """Let the interpreter recurse further than Go lets JSON nest."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(3 * gojson.DEPTH_MAX)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("deep_stack")
def test_the_limit_of_nesting_is_not_the_interpreters() -> None:
    test_nesting_is_taken_as_deep_as_go_takes_it(0, b"")
    test_nesting_is_taken_as_deep_as_go_takes_it(1, b"")


@pytest.mark.usefixtures("deep_stack")
def test_many_shallow_messages_are_not_deep() -> None:
    run = b",".join([b'{"x":[{},{},[]]}'] * gojson.DEPTH_MAX)
    assert goformat.read(HEAD + run + b"]}").count == gojson.DEPTH_MAX


def test_a_caller_can_allow_less_nesting() -> None:
    data = HEAD + b'{"x":[[]]}]}'
    assert goformat.read(data, depth_max=5).count == 1
    with pytest.raises(DecodeError) as caught:
        goformat.read(data, depth_max=4)
    assert caught.value.reason == "too_deep"


@pytest.mark.parametrize("lead", [b"", b" "])
def test_a_caller_can_allow_fewer_messages(lead: bytes) -> None:
    data = lead + HEAD + b"null,{},{}]}"
    assert goformat.read(data, messages_max=3).count == 3
    with pytest.raises(DecodeError) as caught:
        goformat.read(data, messages_max=2)
    assert (caught.value.reason, caught.value.path) == ("too_large", "messages")


def test_messages_that_are_said_twice_count_twice() -> None:
    data = HEAD + b'{},{}],"messages":[{}]}'
    assert goformat.read(data, messages_max=3).count == 1
    with pytest.raises(DecodeError, match="more than the limit"):
        goformat.read(data, messages_max=2)


@pytest.mark.parametrize(
    ("data", "reason", "path"),
    [
        (b'{"version":2,"provider":"openai","messages":"elsewhere"}', "version", "version"),
        (b'{"provider":"openai"}', "version", "version"),
        (b"null", "version", "version"),
        (b"[]", "unexpected_type", ""),
        (b'{"version":1,"provider":5}', "unexpected_type", "provider"),
        (b'{"version":1,"processed_length":1.0}', "unexpected_type", "processed_length"),
        (b'{"version":1,"messages":{}}', "unexpected_type", "messages"),
        (HEAD + b'{},"said"]}', "corrupt_message", "messages[1]"),
        (HEAD + b'{"role":"user","content":"caf\xe9"}]}', "not_utf8", ""),
        (HEAD, "not_json", ""),
        (b"\xef\xbb\xbf" + PLAIN, "not_json", ""),
        (PLAIN + b"x", "not_json", ""),
        (b"", "not_json", ""),
    ],
)
def test_a_refusal_says_why_and_where(data: bytes, reason: str, path: str) -> None:
    error = refusal(data)
    assert (error.reason, error.path) == (reason, path)


def test_a_refusal_does_not_repeat_what_was_said() -> None:
    for data in (HEAD + b'"secret"]}', b'{"version":"secret"}', HEAD + b'{"secret" "secret"}]}'):
        assert "secret" not in str(refusal(data))


def test_a_byte_that_is_not_utf8_is_found_where_it_stands() -> None:
    data = HEAD + b'{"content":"' + "é".encode() * 100_000 + b'"},{"content":"\xff"}]}'
    assert f"at byte {data.index(0xFF)};" in str(refusal(data))


def test_messages_of_any_shape_are_kept_where_go_would_refuse_them() -> None:
    message = b'{"role":"user","content":[{"type":"text","text":"x"}],"refusal":null}'
    blob = goformat.read(HEAD + message + b"]}")
    assert blob.messages == message


def test_an_empty_conversation_has_an_empty_array() -> None:
    empty = b'{"version":1,"provider":"openai","processed_length":0,"messages":[]}'
    assert goformat.write(provider="openai", processed_length=0) == empty
    assert goformat.write(provider="openai", processed_length=0, messages=[b"", b""]) == empty
    assert goformat.read(empty) == goformat.GoBlob("openai", 0, 0, memoryview(b""))


def test_runs_of_messages_are_joined() -> None:
    runs = [b'{"role":"a"},null', b"", b'{"role":"b"}']
    data = goformat.write(provider="p", processed_length=-3, messages=runs)
    assert data == (
        b'{"version":1,"provider":"p","processed_length":-3,'
        b'"messages":[{"role":"a"},null,{"role":"b"}]}'
    )
    assert goformat.read(data).count == 3


def test_a_turn_appended_here_reads_as_if_go_had_appended_it() -> None:
    messages = json.loads(APPENDED)["messages"]
    later = [gomessages.spell(json.dumps(message).encode()) for message in messages[2:]]
    data = goformat.write(
        provider="openai", processed_length=11, messages=[goformat.read(PLAIN).messages, *later]
    )
    assert data == APPENDED
