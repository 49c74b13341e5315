"""Test tools that are public: whoever extends Hansard can check what they wrote.

A dialect is checked by a class of tests:

    from hansard.testing import DialectConformance, DialectSamples, MessageSample

    class TestMyDialect(DialectConformance):
        dialect = MyDialect()
        samples = DialectSamples(messages=(MessageSample(raw=b'{"role":"user"}'),), ...)
"""

from __future__ import annotations

from .dialect_conformance import DialectConformance
from .dialect_samples import AnswerSample, DialectSamples, MessageSample, StreamSample

__all__ = [
    "AnswerSample",
    "DialectConformance",
    "DialectSamples",
    "MessageSample",
    "StreamSample",
]
