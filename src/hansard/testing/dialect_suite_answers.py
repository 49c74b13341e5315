"""What a dialect promises of complete answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import rawjson
from ..errors import DecodeError
from .dialect_suite import DialectSuite, expect, no_exception
from .json_variants import (
    MARK,
    bounded,
    odd_value,
    spaced,
    unknown_element,
    unknown_member,
    variants,
)

if TYPE_CHECKING:
    from ..dialects.dialect import Answer
    from .dialect_samples import AnswerSample, StreamSample

__all__ = ["AnswerChecks"]

_VARIANTS_MAX = 250


class AnswerChecks(DialectSuite):
    """Parsing whole bodies."""

    def test_an_answer_is_read_as_the_sample_says(self, answer_sample: AnswerSample) -> None:
        """Message, text, finish and problems are those that the author of the sample saw."""
        self.check_answer(self.dialect.parse(answer_sample.body), answer_sample)

    def test_an_answer_is_a_message_ready_to_be_sent(self, answer_sample: AnswerSample) -> None:
        """Its bytes are compact, of the dialect, and the same however the body was spaced."""
        answer = self.dialect.parse(answer_sample.body)
        self.check_message(answer)
        again = self.dialect.parse(spaced(rawjson.compact(answer_sample.body)))
        expect(again == answer, "the same answer in another spacing", again)

    def test_an_answer_is_verbatim(self, answer_sample: AnswerSample) -> None:
        """A field that nobody knew, anywhere in the message, is in the answer as it was spelled."""
        body = rawjson.compact(answer_sample.body)
        plain = self.dialect.parse(body)
        if plain.raw is None:
            return
        whole = plain.raw in body
        for part in [plain.raw] if whole else _put_together(plain.raw):
            expect(part in body, "the bytes of the provider in the answer", part)
            if body.count(part) > 1:
                continue
            for changed in bounded(variants(part, unknown_member), _VARIANTS_MAX):
                found = self.dialect.parse(body.replace(part, changed)).raw
                expect(found == plain.raw.replace(part, changed), changed.decode(), found)

    def test_unknown_fields_change_nothing_else(self, answer_sample: AnswerSample) -> None:
        """Wherever a provider adds a field, the answer says the same."""
        body = rawjson.compact(answer_sample.body)
        plain = self.dialect.parse(body)
        for changed in bounded(variants(body, unknown_member), _VARIANTS_MAX):
            with no_exception(changed):
                answer = self.dialect.parse(changed)
            same = (answer.finish, answer.cut, [problem.code for problem in answer.problems])
            said = (plain.finish, plain.cut, [problem.code for problem in plain.problems])
            # What was empty but for a new field, or broken by its absence, may be valid with it.
            expect(same == said or not plain.valid, f"{said} with {MARK}", (same, changed))
            expect(self.text_of(answer) == self.text_of(plain), "the same text", changed)

    def test_odd_answers_are_problems_and_no_exceptions(self, answer_sample: AnswerSample) -> None:
        """Whatever JSON comes, `parse` gives an answer; one without problems has a message."""
        body = rawjson.compact(answer_sample.body)
        odd = bounded(variants(body, odd_value), _VARIANTS_MAX)
        for changed in [*odd, *bounded(variants(body, unknown_element), _VARIANTS_MAX)]:
            with no_exception(changed):
                answer = self.dialect.parse(changed)
                expect(answer.raw is not None or not answer.valid, "a problem", changed)
                self.check_message(answer)

    def test_what_is_no_answer_is_a_problem(self) -> None:
        """Empty objects and errors are answers that are not valid."""
        for body in (b"{}", b"[]", b"null", b"7", b'""', b'{"error":{"message":"no"}}'):
            with no_exception(body):
                answer = self.dialect.parse(body)
                expect(not answer.valid, f"a problem of {body!r}", answer)
                self.check_message(answer)

    def test_what_is_not_json_is_refused(self) -> None:
        """With a `DecodeError`: a proxy's HTML is no answer."""
        for body in (b"", b"<html>", b"{", b'{"a":"\xff"}', b"[" * 10_000):
            try:
                answer = self.dialect.parse(body)
            except DecodeError:
                continue
            expect(False, f"a DecodeError for {body[:20]!r}", answer)  # noqa: FBT003

    def check_answer(self, answer: Answer, sample: AnswerSample | StreamSample) -> None:
        """Compare an answer with what its sample says of it."""
        codes = tuple([problem.code for problem in answer.problems])
        if sample.problems is not None:
            expect(codes == sample.problems, f"the problems {sample.problems}", answer.problems)
        expect(not answer.cut or "cut" in codes, "cut to be a problem", answer)
        if sample.finish is not None:
            expect(answer.finish == sample.finish, f"the finish {sample.finish!r}", answer.finish)
        if sample.message is not None:
            message = self.dialect.message(sample.message).raw
            expect(answer.raw == message, f"the message {message!r}", answer.raw)
        if sample.role is not None and answer.raw is not None:
            role = self.dialect.message(answer.raw).role
            expect(role == sample.role, f"the role {sample.role!r}", role)
        if sample.text is not None:
            text = self.text_of(answer)
            expect(text == sample.text, f"the text {sample.text!r}", text)

    def check_message(self, answer: Answer) -> None:
        """What an answer holds can go on the record, and be read there."""
        if answer.raw is not None:
            message = self.dialect.message(answer.raw)
            expect(message.raw == answer.raw, "a compact message", answer.raw)

    def text_of(self, answer: Answer) -> str:
        """The text of an answer; of none, nothing.

        Halves of a surrogate pair that stand in two parts count as the character they make.
        """
        text = "" if answer.raw is None else self.dialect.message(answer.raw).text
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _put_together(raw: bytes) -> list[bytes]:
    """The values in a message whose outermost level is the dialect's own work."""
    if raw.startswith(b"["):
        return rawjson.elements(raw)
    return [part for _, part in rawjson.members(raw) if part.startswith((b"{", b"["))]
