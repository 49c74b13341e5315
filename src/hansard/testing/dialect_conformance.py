"""One suite of tests for every dialect, whoever wrote it.

Derive a class from `DialectConformance` in a file of tests, and give it a dialect and samples:

    class TestMyDialect(DialectConformance):
        dialect = MyDialect()
        samples = DialectSamples(messages=(…), answers=(…), streams=(…))

pytest then runs every check, once for each sample that it is about. A check fails with an
`AssertionError` that says what was promised and what was found. All is deterministic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .dialect_suite import expect
from .dialect_suite_messages import MessageChecks
from .dialect_suite_requests import RequestChecks
from .dialect_suite_results import ResultChecks
from .dialect_suite_saying import DRAFTS, SayingChecks
from .dialect_suite_streams import StreamChecks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from .dialect_samples import AnswerSample, MessageSample, StreamSample

__all__ = ["DialectConformance"]


class DialectConformance(MessageChecks, SayingChecks, ResultChecks, RequestChecks, StreamChecks):
    """All checks. Set ``dialect`` and ``samples``; add tests of your own beside them."""

    def cases(self, fixture: str) -> Mapping[str, object]:
        """What a check that takes this argument is run with, by name."""
        if fixture == "draft":
            return DRAFTS
        samples: dict[str, Sequence[MessageSample | AnswerSample | StreamSample]] = {
            "message_sample": self.samples.messages,
            "answer_sample": self.samples.answers,
            "stream_sample": self.samples.streams,
        }
        return {
            sample.name or f"{fixture}{place}": sample
            for place, sample in enumerate(samples.get(fixture, ()))
        }

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each check once for each of its samples."""
        for fixture in ("message_sample", "answer_sample", "stream_sample", "draft"):
            if fixture in metafunc.fixturenames:
                cases = self.cases(fixture)
                metafunc.parametrize(fixture, list(cases.values()), ids=list(cases))

    def test_there_are_samples_of_everything(self) -> None:
        """Without samples the other checks prove nothing."""
        messages = self.sample_messages
        answers = [self.dialect.parse(sample.body) for sample in self.samples.answers]
        streams = [self.read_stream([sample.body])[0] for sample in self.samples.streams]
        for found, what in (
            ({message.role for message in messages} >= {"user", "assistant"}, "both sides"),
            (any(message.tool_calls for message in messages), "a message with a tool call"),
            (any(message.tool_results for message in messages), "a message with a result"),
            (any(answer.valid for answer in answers), "a valid answer"),
            (any(answer.valid for answer in streams), "a valid stream"),
        ):
            expect(found, f"samples of {what}", "none")
