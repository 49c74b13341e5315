"""The frame that all streams share, and what joins their pieces."""

from __future__ import annotations

import pytest

from hansard import rawjson
from hansard.dialects.dialect import Answer, Problem
from hansard.dialects.events import StreamEvent, TextDelta
from hansard.dialects.stream import ObjectDelta, StreamReader, StringDelta


class WordsReader(StreamReader):
    """Every event is a word in quotes; ``[DONE]`` says that it was the last."""

    def __init__(self) -> None:
        super().__init__()
        self.words = StringDelta()
        self.assembled = 0

    def _take(self, data: bytes, events: list[StreamEvent]) -> None:
        if data == b"[DONE]":
            self._done = True
        else:
            events.append(TextDelta(self.words.add(rawjson.compact(data))))

    def _answer(self) -> Answer:
        self.assembled += 1
        return Answer(self.words.literal, problems=tuple(self._problems), cut=self.cut)


def test_events_come_as_they_are_complete() -> None:
    reader = WordsReader()
    assert reader.feed(b'data: "a"\n\ndata: "b') == [TextDelta("a")]
    assert reader.feed(b'"\n\n') == [TextDelta("b")]


def test_an_answer_that_was_said_to_be_done_is_valid() -> None:
    reader = WordsReader()
    reader.feed(b'data: "a"\n\ndata: [DONE]\n\n')
    assert not reader.cut
    assert reader.close() == Answer(b'"a"')


def test_an_answer_that_was_cut_says_so_and_keeps_what_came() -> None:
    reader = WordsReader()
    reader.feed(b'data: "a"\n\n')
    assert reader.cut
    answer = reader.close()
    assert answer.cut
    assert answer.raw == b'"a"'
    assert [problem.code for problem in answer.problems] == ["cut"]


def test_closing_twice_gives_the_same_answer_and_assembles_once() -> None:
    reader = WordsReader()
    reader.feed(b'data: "a"\n\n')
    assert reader.close() is reader.close()
    assert reader.assembled == 1


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n"])
def test_the_last_event_counts_without_its_blank_line(end: bytes) -> None:
    reader = WordsReader()
    reader.feed(b'data: "a"\r\n\r\ndata: [DONE]' + end)
    assert reader.close() == Answer(b'"a"')


def test_what_only_the_end_made_whole_is_told_when_the_reader_is_closed() -> None:
    reader = WordsReader()
    assert reader.feed(b'data: "a"\n\ndata: "b"\n') == [TextDelta("a")]
    told = [reader.last_events]
    for _ in range(2):
        reader.close()
        told.append(reader.last_events)
    assert told == [(), (TextDelta("b"),), (TextDelta("b"),)]


def test_a_stream_that_ends_with_a_blank_line_has_nothing_more_to_tell() -> None:
    reader = WordsReader()
    reader.feed(b'data: "a"\n\n')
    reader.close()
    assert reader.last_events == ()


@pytest.mark.parametrize("rest", [b'data: "b', b"data: [DON", b"data:", b"dat", b'data: "b\xc3'])
def test_an_event_cut_off_in_the_middle_is_not_a_broken_one(rest: bytes) -> None:
    reader = WordsReader()
    reader.feed(b'data: "a"\n\n' + rest)
    answer = reader.close()
    assert answer.raw == b'"a"'
    assert [problem.code for problem in answer.problems] == ["cut"]


@pytest.mark.parametrize("broken", [b"{", b"nonsense", b'"\xff"', b"{}", b"7"])
def test_a_broken_event_is_a_problem_of_the_answer_and_stops_nothing(broken: bytes) -> None:
    reader = WordsReader()
    stream = b'data: "a"\n\ndata: ' + broken + b'\n\ndata: "b"\n\ndata: [DONE]\n\n'
    assert reader.feed(stream) == [TextDelta("a"), TextDelta("b")]
    answer = reader.close()
    assert answer.raw == b'"ab"'
    assert [problem.code for problem in answer.problems] == ["malformed_event"]


def test_the_same_problem_is_told_once_with_its_first_detail() -> None:
    reader = WordsReader()
    reader.feed(b"data: {\n\ndata: [\n\ndata: [DONE]\n\n")
    (problem,) = reader.close().problems
    assert isinstance(problem, Problem)
    assert "expected JSON" in problem.detail


class TestStringDelta:
    def test_half_a_pair_is_shown_when_the_other_half_came(self) -> None:
        delta = StringDelta()
        assert [delta.add(piece) for piece in (b'"a\\ud83d"', b'""', b'"\\ude00b"')] == [
            "a",
            "",
            "\U0001f600b",
        ]
        assert delta.literal == b'"a\\ud83d\\ude00b"'

    def test_half_a_pair_that_stays_alone_is_shown_with_what_follows(self) -> None:
        delta = StringDelta()
        assert delta.add(b'"\\ud83d"') == ""
        assert delta.add(b'"b"') == "\ud83db"

    def test_escapes_stay_as_they_were_spelled(self) -> None:
        delta = StringDelta()
        assert delta.add(b'"\\u0041"') + delta.add(b'"\\/"') == "A/"
        assert delta.literal == b'"\\u0041\\/"'

    def test_nothing_is_empty(self) -> None:
        delta = StringDelta()
        assert not delta
        delta.add(b'""')
        assert not delta
        assert delta.literal == b'""'
        delta.add(b'"a"')
        assert delta


def merged(*pieces: bytes, once: frozenset[str] = frozenset()) -> bytes:
    """The object that the pieces make."""
    delta = ObjectDelta(once)
    for piece in pieces:
        delta.add(piece)
    return delta.literal


class TestObjectDelta:
    def test_strings_append(self) -> None:
        assert merged(b'{"a":"x"}', b'{"a":"\\u0041"}') == b'{"a":"x\\u0041"}'

    def test_a_repeated_name_does_not_append_where_it_counts_once(self) -> None:
        once = frozenset({"id"})
        assert merged(b'{"id":"x"}', b'{"id":"x"}', once=once) == b'{"id":"x"}'
        assert merged(b'{"id":""}', b'{"id":"x"}', b'{"id":""}', once=once) == b'{"id":"x"}'
        assert merged(b'{"id":null}', b'{"id":"x"}', b'{"id":null}', once=once) == b'{"id":"x"}'

    def test_a_null_never_replaces_and_is_always_replaced(self) -> None:
        assert merged(b'{"a":null,"b":1}', b'{"a":"x","b":null}') == b'{"a":"x","b":1}'

    def test_numbers_are_replaced_and_keep_their_spelling(self) -> None:
        assert merged(b'{"a":1}', b'{"a":1.50e5}') == b'{"a":1.50e5}'

    def test_objects_merge_at_any_level(self) -> None:
        assert merged(b'{"a":{"b":{"c":"x"}}}', b'{"a":{"b":{"c":"y","d":1}}}') == (
            b'{"a":{"b":{"c":"xy","d":1}}}'
        )

    def test_lists_merge_by_index_with_gaps_and_repeats_in_one_piece(self) -> None:
        first = b'{"a":[{"index":2,"t":"x"},{"index":0,"t":"y"},{"index":2,"t":"z"}]}'
        second = b'{"a":[{"index":0,"t":"!"}]}'
        assert merged(first, second) == b'{"a":[{"index":2,"t":"xz"},{"index":0,"t":"y!"}]}'

    @pytest.mark.parametrize("item", [b'{"t":"x"}', b'{"index":null,"t":"x"}', b"1", b'"x"', b"[]"])
    def test_a_list_without_indexes_extends(self, item: bytes) -> None:
        piece = b'{"a":[' + item + b"]}"
        assert merged(piece, piece) == b'{"a":[' + item + b"," + item + b"]}"

    def test_members_keep_the_order_of_their_first_appearance(self) -> None:
        assert merged(b'{"b":1,"a":2}', b'{"a":3,"c":4,"b":5}') == b'{"b":5,"a":3,"c":4}'

    def test_another_type_replaces(self) -> None:
        assert merged(b'{"a":"x"}', b'{"a":{"b":1}}', b'{"a":[1]}') == b'{"a":[1]}'

    def test_a_member_shows_its_text_as_it_comes(self) -> None:
        delta = ObjectDelta(frozenset({"id"}))
        assert [delta.put("a", raw) for raw in (b"null", b'"x"', b'"y"', b"null")] == [
            "",
            "x",
            "y",
            "",
        ]
        assert delta.put("id", b'"x"') == ""
        assert delta.get("a") == b'"xy"'
        assert delta.get("b") is None

    def test_what_nests_as_deep_as_it_may_neither_fails_nor_is_lost(self) -> None:
        deep = b'{"a":' * rawjson.DEPTH_MAX + b"1.50" + b"}" * rawjson.DEPTH_MAX
        listed = b'{"a":[' * (rawjson.DEPTH_MAX // 2) + b"]}" * (rawjson.DEPTH_MAX // 2)
        assert merged(deep, deep) == deep
        assert rawjson.compact(merged(listed, listed))
