"""Test tools that are public: whoever builds on Hansard can test without a provider.

A program is tested with a model that answers from a script:

    from hansard.testing import ScriptedModel, call, say

    model = ScriptedModel(say(calls=[call("get_weather", city="Tokyo")]), "It rains.")

A dialect is checked by a class of tests:

    from hansard.testing import DialectConformance, DialectSamples, MessageSample

    class TestMyDialect(DialectConformance):
        dialect = MyDialect()
        samples = DialectSamples(messages=(MessageSample(raw=b'{"role":"user"}'),), ...)
"""

from __future__ import annotations

from .dialect_conformance import DialectConformance
from .dialect_samples import AnswerSample, DialectSamples, MessageSample, StreamSample
from .script import (
    ScriptEnded,
    blocked,
    call,
    cut_after,
    delay,
    empty,
    fail,
    fail_after,
    forever,
    hold,
    overflow,
    raw,
    say,
    unreachable,
)
from .scripted import ScriptedModel
from .scripted_request import ScriptedRequest
from .wire_server import WireServer

__all__ = [
    "AnswerSample",
    "DialectConformance",
    "DialectSamples",
    "MessageSample",
    "ScriptEnded",
    "ScriptedModel",
    "ScriptedRequest",
    "StreamSample",
    "WireServer",
    "blocked",
    "call",
    "cut_after",
    "delay",
    "empty",
    "fail",
    "fail_after",
    "forever",
    "hold",
    "overflow",
    "raw",
    "say",
    "unreachable",
]
