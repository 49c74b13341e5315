"""Server-sent events, line by line. Cutting at random is in ``tests/property``."""

from __future__ import annotations

import tracemalloc

import pytest

from hansard.dialects.sse import EventLines


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a \n\n", [b" a "]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"event: x\nid: 1\nretry: 5\n: ping\ndata: a\n\n", [b"a"]),
        (b": ping\n\nevent: x\n\n\n\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"database: a\n\n", []),
        (b"data: caf\xc3\xa9\xe2\x80\xa8\n\n", [b"caf\xc3\xa9\xe2\x80\xa8"]),
        (b"data: a\x0b\x0c\x1c\x85b\n\n", [b"a\x0b\x0c\x1c\x85b"]),
        (b"", []),
    ],
)
def test_events_are_the_data_lines_before_a_blank_one(stream: bytes, events: list[bytes]) -> None:
    lines = EventLines()
    assert lines.feed(stream) == events
    assert lines.close() == []


@pytest.mark.parametrize("rest", [b"data: a", b"data: a\n", b"data: a\r", b"data: a\r\n"])
def test_what_has_no_blank_line_after_it_comes_at_the_close(rest: bytes) -> None:
    lines = EventLines()
    assert lines.feed(rest) == []
    assert lines.close() == [b"a"]
    assert lines.close() == []


def test_a_comment_at_the_end_is_not_an_event() -> None:
    lines = EventLines()
    assert lines.feed(b"data: a\n\n: bye") == [b"a"]
    assert lines.close() == []


def test_a_long_line_in_many_pieces_takes_a_few_copies_of_memory() -> None:
    lines = EventLines()
    size = 200_000
    tracemalloc.start()
    try:
        for _ in range(size):
            lines.feed(b"x")
        lines.feed(b"\n\n")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * size
