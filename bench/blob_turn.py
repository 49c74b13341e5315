"""A turn on a state that the caller keeps: decode, append two messages, build the request, encode.

The floor does the same four steps with bare msgspec on a list of raw messages. It does not check
that the text is UTF-8, and would not notice a damaged state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import msgspec

import hansard
from hansard import Ask
from hansard.record.entries import Said

from .texts import ASCII, MIXED, conversation
from .timing import contest, row

QUESTION = b'{"role":"user","content":"' + b"where was I " * 16 + b'"}'
ANSWER = b'{"role":"assistant","content":"' + b"you were in the theatre " * 33 + b'"}'
openai = hansard.dialect("openai")


class _Blob(msgspec.Struct):
    version: int
    provider: str
    processed_length: int
    messages: list[msgspec.Raw]


class _Body(msgspec.Struct):
    model: str
    messages: list[msgspec.Raw]


_decode = msgspec.json.Decoder(_Blob).decode
_encode = msgspec.json.Encoder().encode


def _go(messages: list[bytes]) -> bytes:
    raws = [msgspec.Raw(message) for message in messages]
    return _encode(_Blob(1, "openai", len(messages), raws))


def _floor(blob: bytes) -> Callable[[], object]:
    question, answer = msgspec.Raw(QUESTION), msgspec.Raw(ANSWER)

    def turn() -> object:
        state = _decode(blob)
        state.messages.append(question)
        body = _encode(_Body("gpt-5-mini", state.messages))
        state.messages.append(answer)
        return body, _encode(state)

    return turn


def _json(blob: bytes) -> Callable[[], object]:
    question, answer = json.loads(QUESTION), json.loads(ANSWER)

    def turn() -> object:
        state = json.loads(blob)
        state["messages"].append(question)
        body = json.dumps({"model": "gpt-5-mini", "messages": state["messages"]}).encode()
        state["messages"].append(answer)
        return body, json.dumps(state).encode()

    return turn


def _ours(blob: bytes, version: int) -> Callable[[], object]:
    question, answer = msgspec.Raw(QUESTION), msgspec.Raw(ANSWER)

    def turn() -> object:
        loaded = hansard.load(blob, openai, conversation="c")
        record = loaded.record
        asked = Said(seq=record.length, role="user", author="append", raw=question)
        record = record.apply(asked)
        body = openai.request(Ask("gpt-5-mini", record.context.segments(openai))).body
        said = Said(seq=record.length, role="assistant", author="model", raw=answer)
        return body, hansard.save(record.apply(said), version=version)

    return turn


def run(*, quick: bool = False) -> Iterator[str]:
    """Yield the table."""
    yield "## A turn on a state (µs)"
    yield row(
        "text",
        "turns",
        "blob kB",
        "floor",
        "version 2",
        "× floor",
        "version 1",
        "× floor",
        "json ×",
    )
    yield row(*["---"] * 9)
    for name, others in (("ASCII", ASCII), ("mixed", MIXED)):
        for turns in (10, 1000) if quick else (10, 100, 1000, 5000):
            go = _go(conversation(turns, others))
            loaded = hansard.load(go, openai, conversation="c")
            times = contest(
                {
                    "floor": _floor(go),
                    "ours": _ours(hansard.save(loaded.record), 2),
                    "go": _ours(go, 1),
                    "json": _json(go),
                },
                rounds=2 if quick else 9,
            )
            yield row(
                name,
                turns,
                len(go) // 1000,
                times["floor"],
                times["ours"],
                times["ours"] / times["floor"],
                times["go"],
                times["go"] / times["floor"],
                times["json"] / times["ours"],
            )
