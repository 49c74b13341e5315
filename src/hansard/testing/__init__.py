"""Test tools that are public: whoever builds on Hansard can test without a provider.

A program is tested with a model that answers from a script:

    from hansard.testing import ScriptedModel, call, say

    model = ScriptedModel(say(calls=[call("get_weather", city="Tokyo")]), "It rains.")

A dialect is checked by a class of tests:

    from hansard.testing import DialectConformance, DialectSamples, MessageSample

    class TestMyDialect(DialectConformance):
        dialect = MyDialect()
        samples = DialectSamples(messages=(MessageSample(raw=b'{"role":"user"}'),), ...)

So is a store, blocking or not:

    from hansard.testing import StoreConformance

    class TestMyStore(StoreConformance):
        def open(self, place):
            return MyStore(place / "chats.db")
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
from .store_conformance import (
    AsyncStoreConformance,
    StoreConformance,
    check_async_store,
    check_store,
)
from .wire_server import WireServer

__all__ = [
    "AnswerSample",
    "AsyncStoreConformance",
    "DialectConformance",
    "DialectSamples",
    "MessageSample",
    "ScriptEnded",
    "ScriptedModel",
    "ScriptedRequest",
    "StoreConformance",
    "StreamSample",
    "WireServer",
    "blocked",
    "call",
    "check_async_store",
    "check_store",
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
