"""Answers that were damaged on their way, and what has to be true of whatever comes of them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import hansard
from hansard.dialects.dialect import Answer, Ask
from hansard.errors import DecodeError
from hansard.messages import Message
from tests.fuzz.hunting import Case
from tests.fuzz.mutate import Specimen, damaged
from tests.support.conversations import wire_bodies, wire_streams

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from hansard.dialects.dialect import Dialect

SIZE_MAX = 8_000
"""Longer streams would make the cases few, and no case another."""


@cache
def streams(name: str) -> tuple[Specimen, ...]:
    return tuple([Specimen(body) for body in wire_streams(name) if len(body) <= SIZE_MAX])


@cache
def bodies(name: str) -> tuple[Specimen, ...]:
    return tuple([Specimen(body) for body in wire_bodies(name)])


def judge(dialect: Dialect, answer: Answer) -> None:
    """Its message is one of the dialect, compact already, and can be sent."""
    if answer.raw is None:
        assert not answer.valid
        return
    message = Message(dialect, answer.raw)
    assert message.role is not None
    assert message.parts is not None
    assert dialect.message(answer.raw).raw == answer.raw
    sent = dialect.project(answer.raw)
    dialect.request(Ask("some-model", [] if sent is None else [dialect.splice(sent)]))


def read(dialect: Dialect, body: bytes, cuts: list[int]) -> Answer:
    reader = dialect.stream()
    start = 0
    for cut in [*cuts, len(body)]:
        reader.feed(body[start:cut])
        start = cut
    return reader.close()


def streamed(dialect: Dialect, cuts: list[int]) -> Callable[[bytes], object]:
    def judged(body: bytes) -> None:
        answer = read(dialect, body, cuts)
        judge(dialect, answer)
        assert read(dialect, body, []) == answer

    return judged


def parsed(dialect: Dialect) -> Callable[[bytes], object]:
    def judged(body: bytes) -> None:
        try:
            answer = dialect.parse(body)
        except DecodeError:
            return
        judge(dialect, answer)

    return judged


def damaged_stream(name: str, rng: random.Random) -> Case:
    body = damaged(rng, rng.choice(streams(name)), streams(name))
    cuts = sorted([rng.randrange(len(body) + 1) for _ in range(rng.randrange(4))])
    return Case(body, streamed(hansard.dialect(name), cuts))


def damaged_body(name: str, rng: random.Random) -> Case:
    body = damaged(rng, rng.choice(bodies(name)), bodies(name))
    return Case(body, parsed(hansard.dialect(name)))
