"""What a dialect promises of streamed answers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from .. import rawjson
from ..dialects.events import CallComplete
from ..dialects.sse import EventLines
from ..errors import DecodeError
from .dialect_suite import expect, no_exception
from .dialect_suite_answers import AnswerChecks
from .json_variants import bounded, odd_value, unknown_element, unknown_member, variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ..dialects.dialect import Answer
    from ..dialects.events import StreamEvent
    from .dialect_samples import StreamSample

__all__ = ["StreamChecks"]

_CUTS_MAX, _CUTTINGS, _VARIANTS_MAX = 400, 20, 200
_GARBAGE = (b"{", b"nonsense", b'{"a":"\xff"}', b"[" * 10_000)
_ODD_EVENTS = (b"{}", b"[]", b"null", b"7", b'""', b"[null]", b'{"type":"zz_unknown"}')


class StreamChecks(AnswerChecks):
    """Streams: cut anywhere, broken off, broken."""

    def test_a_stream_is_read_as_the_sample_says(self, stream_sample: StreamSample) -> None:
        """Message, text, finish and problems are those that the author of the sample saw."""
        answer, _ = self.read_stream([stream_sample.body])
        self.check_answer(answer, stream_sample)
        self.check_message(answer)

    def test_what_is_shown_is_what_was_said(self, stream_sample: StreamSample) -> None:
        """The events' text is the answer's text; each call is told once, as the answer has it.

        Also where no blank line ends the last event: `StreamReader.last_events` has it then.
        Half of a surrogate pair that never got its other half need not be shown.
        """
        for body in (stream_sample.body, stream_sample.body.rstrip(b"\r\n")):
            if _events(body):
                self.check_shown(*self.read_stream([body]))

    def check_shown(self, answer: Answer, events: Sequence[StreamEvent]) -> None:
        """Compare what was shown with the answer that it comes to."""
        if answer.raw is None:
            return
        message = self.dialect.message(answer.raw)
        said = "".join([event.text for event in events])
        half = "\ud800" <= message.text[-1:] <= "\udbff"
        wanted = message.text[: len(message.text) - half]
        expect(said == wanted, f"events that show {wanted!r}", said)
        calls = [event.call for event in events if isinstance(event, CallComplete)]
        expect(all(call in message.tool_calls for call in calls), "calls of the answer", calls)
        expect(
            not answer.valid or len(calls) == len(message.tool_calls), "every call told once", calls
        )

    def test_how_a_stream_is_cut_changes_nothing(self, stream_sample: StreamSample) -> None:
        """In one piece, byte by byte, cut once anywhere or often: the same answer and events."""
        body = stream_sample.body
        whole = self.read_stream([body])
        for pieces in self._cuttings(body):
            found = self.read_stream(pieces)
            expect(found == whole, f"the same answer from {len(pieces)} pieces", found)

    def test_line_ends_change_nothing(self, stream_sample: StreamSample) -> None:
        """CRLF for LF, comments and a byte order mark are nothing to the answer."""
        lf = stream_sample.body.replace(b"\r\n", b"\n")
        whole = self.read_stream([lf])
        crlf = lf.replace(b"\n", b"\r\n")
        noisy = b"\xef\xbb\xbf: hello\n\n" + lf.replace(b"\n\n", b"\n\n: ping\n\nretry: 9\n\n")
        for body in (crlf, noisy):
            found = self.read_stream([body])
            expect(found == whole, "the same answer with other line ends", found)
            expect(self.read_stream(_singly(crlf)) == whole, "the same byte by byte", found)

    def test_a_stream_that_breaks_off_is_recognised(self, stream_sample: StreamSample) -> None:
        """After every event and every byte: what is not marked as cut has the whole message."""
        body = stream_sample.body.replace(b"\r\n", b"\n")
        whole, _ = self.read_stream([body])
        text = self.text_of(whole)
        ends = {end + 2 for end in range(len(body)) if body.startswith(b"\n\n", end)}
        places = range(len(body)) if len(body) <= _CUTS_MAX else sorted(ends - {len(body)})
        for place in places:
            with no_exception(f"a stream cut at {place}"):
                answer, _ = self.read_stream([body[:place]])
            if not answer.cut:
                expect(answer.raw == whole.raw, f"an answer cut at {place} to say so", answer)
            else:
                expect(not answer.valid, "a cut answer to be invalid", answer)
                begun = self.text_of(answer).encode("utf-8", "surrogatepass")[:-3]
                said = text.encode("utf-8", "surrogatepass")
                expect(said.startswith(begun), f"the beginning of {text!r}", begun)
                self.check_message(answer)

    def test_closing_twice_is_harmless(self, stream_sample: StreamSample) -> None:
        """The second answer is the first."""
        reader = self.dialect.stream()
        reader.feed(stream_sample.body[: len(stream_sample.body) // 2])
        expect(reader.close() == reader.close(), "the same answer twice")

    def test_streams_know_nothing_of_each_other(self, stream_sample: StreamSample) -> None:
        """Two that are read in turns give what each gives alone."""
        body = stream_sample.body
        alone, _ = self.read_stream([body])
        first, second = self.dialect.stream(), self.dialect.stream()
        half = len(body) // 2
        for piece in (body[:half], body[half:]):
            first.feed(piece)
            second.feed(piece)
        expect(first.close() == second.close() == alone, "the answer of each alone", first.close())

    def test_unknown_fields_in_a_stream_change_nothing_else(
        self, stream_sample: StreamSample
    ) -> None:
        """Wherever a provider adds a field, the answer says the same."""
        events = _events(stream_sample.body)
        whole, _ = self.read_stream([stream_sample.body])
        for changed in self._changed(events, (unknown_member,)):
            with no_exception(changed):
                answer, _ = self.read_stream([_framed(changed)])
            said = [problem.code for problem in answer.problems]
            wanted = [problem.code for problem in whole.problems]
            expect(said == wanted, f"the problems {wanted}", (said, changed))
            expect(self.text_of(answer) == self.text_of(whole), "the same text", changed)
            self.check_message(answer)

    def test_odd_events_never_raise(self, stream_sample: StreamSample) -> None:
        """Values of other types, and events of kinds nobody knew, are problems or nothing."""
        events = _events(stream_sample.body)
        odd = [[*events[:at], data, *events[at:]] for at in (0, 1, -1) for data in _ODD_EVENTS]
        for changed in [*self._changed(events, (odd_value, unknown_element)), *odd]:
            with no_exception(changed):
                answer, _ = self.read_stream([_framed(changed)])
                expect(answer.raw is not None or not answer.valid, "a problem", changed)
                self.check_message(answer)
                cut, _ = self.read_stream([_framed(changed[: len(changed) // 2])])
                self.check_message(cut)

    def test_broken_events_are_problems(self, stream_sample: StreamSample) -> None:
        """What is no JSON makes the answer invalid, and hides nothing of the rest."""
        events = _events(stream_sample.body)
        text = self.text_of(self.read_stream([stream_sample.body])[0])
        for garbage in _GARBAGE if events else ():
            with no_exception(garbage[:20]):
                answer, _ = self.read_stream([_framed([*events[:1], garbage, *events[1:]])])
            codes = [problem.code for problem in answer.problems]
            expect("malformed_event" in codes, f"malformed_event for {garbage[:20]!r}", codes)
            expect(self.text_of(answer) == text, "the text of the other events", answer)

    def test_nothing_at_all_is_a_cut_answer(self) -> None:
        """An empty body has no message."""
        for body in (b"", b"\n\n", b": ping\n\n"):
            answer, events = self.read_stream([body])
            expect(answer.cut and answer.raw is None and not events, "a cut answer", answer)

    def read_stream(self, pieces: Iterable[bytes]) -> tuple[Answer, list[StreamEvent]]:
        """Feed a new reader, and close it."""
        reader = self.dialect.stream()
        events = [event for piece in pieces for event in reader.feed(piece)]
        return reader.close(), [*events, *reader.last_events]

    def _cuttings(self, body: bytes) -> Iterator[list[bytes]]:
        chance = random.Random(len(body))  # noqa: S311 -- always the same, and no secret
        places = range(len(body) + 1)
        yield _singly(body)
        for place in places if len(body) <= _CUTS_MAX else chance.sample(places, _CUTS_MAX // 4):
            yield [body[:place], body[place:]]
        for _ in range(_CUTTINGS):
            cuts = sorted(chance.choices(places, k=chance.randint(1, 12)))
            bounds = zip([0, *cuts], [*cuts, len(body)], strict=True)
            yield [body[start:end] for start, end in bounds]

    def _changed(
        self, events: list[bytes], changes: Iterable[Callable[[bytes], Iterable[bytes]]]
    ) -> Iterator[list[bytes]]:
        """The events, with one of them changed in one place."""
        limit = 1 + _VARIANTS_MAX // (1 + len(events))
        for at, data in enumerate(events):
            try:
                raw = rawjson.compact(data)
            except DecodeError:
                continue
            for change in changes:
                for changed in bounded(variants(raw, change), limit):
                    yield [*events[:at], changed, *events[at + 1 :]]


_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def _events(body: bytes) -> list[bytes]:
    """The data of all events; none where the body is something else, such as a bare error."""
    if not all(line.startswith(_FIELDS) for line in body.splitlines() if line):
        return []
    lines = EventLines()
    return lines.feed(body) + lines.close()


def _framed(events: Iterable[bytes]) -> bytes:
    """Events from their data, which may be of several lines."""
    lines = [b"data: " + data.replace(b"\n", b"\ndata: ") for data in events]
    return b"".join([line + b"\n\n" for line in lines])


def _singly(body: bytes) -> list[bytes]:
    return [body[place : place + 1] for place in range(len(body))]
