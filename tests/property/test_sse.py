"""A stream may be cut anywhere: the events in it stay the same."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from hansard.dialects.sse import EventLines
from tests.property.strategies import cuttings

_LINE = st.binary(max_size=12).map(lambda line: re.sub(rb"[\r\n]", b"", line))
_SKIPPED = st.one_of(
    _LINE.map(lambda text: b":" + text),
    st.sampled_from([b"event: delta", b"id: 7", b"retry: 10", b"data", b"dat", b"unknown: x"]),
)
_DATA = st.one_of(
    _LINE.filter(lambda text: not text.startswith(b" ")).map(lambda text: b"data:" + text),
    _LINE.map(lambda text: b"data: " + text),
)
_EVENT = st.lists(st.one_of(_DATA, _DATA, _SKIPPED), max_size=4)


@st.composite
def streams(draw: st.DrawFn) -> bytes:
    """Events, comments and blank lines, ended by LF or CRLF, the last line perhaps by neither."""
    lines = [line for event in draw(st.lists(_EVENT, max_size=5)) for line in [*event, b""]]
    ends = [draw(st.sampled_from([b"\n", b"\r\n"])) for _ in lines]
    start = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    rest = draw(st.sampled_from([b"", b"\n", b"data: rest", b"data: rest\r\n", b": rest", b"da"]))
    return start + b"".join([a + b for a, b in zip(lines, ends, strict=True)]) + rest


def expected(stream: bytes) -> list[bytes]:
    """The data of all events, read from the whole stream at once."""
    blocks = re.split(rb"(?:^|(?<=\n))\r?\n", stream.removeprefix(b"\xef\xbb\xbf"))
    data = re.compile(rb"^data:[ ]?([^\r\n]*)", re.MULTILINE)
    found = [data.findall(block) for block in blocks]
    return [b"\n".join(lines) for lines in found if lines]


def read(pieces: list[bytes]) -> list[bytes]:
    """The data of all events, read piece by piece."""
    lines = EventLines()
    return [data for piece in pieces for data in lines.feed(piece)] + lines.close()


@given(streams())
@example(b"data: a\r\n\r\ndata: b\r\n\r\n")
@example(b"\xef\xbb\xbfdata: a\n\n")
@example(b"data: a\ndata:  b\n\n\n\ndata:\n\n")
@example(b"data: [DONE]\r")
def test_all_events_are_found_and_nothing_else(stream: bytes) -> None:
    assert read([stream]) == expected(stream)


@given(streams().flatmap(cuttings))
def test_any_cutting_gives_the_same_events(pieces: list[bytes]) -> None:
    assert read(pieces) == read([b"".join(pieces)])


@given(streams())
def test_one_byte_at_a_time_gives_the_same_events(stream: bytes) -> None:
    assert read([bytes([byte]) for byte in stream]) == read([stream])


@given(streams().filter(lambda stream: b"\r" not in stream))
def test_line_ends_do_not_matter(stream: bytes) -> None:
    assert read([stream.replace(b"\n", b"\r\n")]) == read([stream])


@given(streams(), streams())
def test_events_come_as_soon_as_their_blank_line_came(first: bytes, second: bytes) -> None:
    first += b"\n\n"
    lines = EventLines()
    early = lines.feed(first)
    assert early == expected(first)
    assert [*early, *lines.feed(second), *lines.close()] == expected(first + second)
