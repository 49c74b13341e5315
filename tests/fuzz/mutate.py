"""Cheap ways to damage bytes, hundreds of thousands of times.

Half of the damage is done to bytes (flipped bits, cuts, splices, ranges twice, other digits), half
to whole JSON values, which become others: that leaves JSON which is wrong in some other way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Generator, Sequence

__all__ = ["Specimen", "damaged"]

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]|[^\s"\[\]{}:,]+')
_DIGIT = re.compile(rb"[0-9]")

VALUES = (
    *(b"null", b"true", b"false", b"[]", b"{}", b'""', b"[[]]", b'{"":null}', b"[null]"),
    *(b"0", b"1", b"-1", b"-0.0", b"1.5", b"1e999", b"9223372036854775808", b"9" * 400),
    *(b'"\\ud800"', b'"\\u0000"', b'"a"', b'"user"', b'"assistant"', b'"\xf0\x9f\x9c\x81"'),
    *(b'{"role":"assistant"}', b'{"type":"text"}', b'[{"text":1}]', b'{"type":[]}'),
    *(b"[" * 250 + b"]" * 250, b'{"a":' * 260 + b"1" + b"}" * 260),
)
"""What values are changed into: every kind, and of each some that are easily forgotten."""

BYTES = (
    *[b"", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u"],
    b"\xed\xa0\x80",
    b"\n\n",
    b"\0",
)


@dataclass(frozen=True)
class Specimen:
    """Sound bytes to damage, and where JSON values stand in them."""

    data: bytes
    values: tuple[tuple[int, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(_values(self.data)))


def _values(data: bytes) -> Generator[tuple[int, int]]:
    """Say where each value begins and ends, keys among them, wherever JSON is in these bytes."""
    opened: list[int] = []
    for token in _TOKEN.finditer(data):
        if token.group() in (b"[", b"{"):
            opened.append(token.start())
        elif token.group() not in (b"]", b"}"):
            yield token.span()
        elif opened:
            yield opened.pop(), token.end()


def damaged(rng: random.Random, specimen: Specimen, donors: Sequence[Specimen]) -> bytes:
    """Damage bytes in one to three ways; now and then in none."""
    data = specimen.data
    if specimen.values and rng.random() < 0.5:
        start, end = rng.choice(specimen.values)
        data = data[:start] + _other_value(rng, specimen, donors) + data[end:]
        if rng.random() < 0.7:
            return data
    for _ in range(rng.randrange(1, 3)):
        data = rng.choice(_WAYS)(rng, data, donors)
    return data


def _other_value(rng: random.Random, specimen: Specimen, donors: Sequence[Specimen]) -> bytes:
    if rng.random() < 0.5:
        return rng.choice(VALUES)
    donor = rng.choice((specimen, rng.choice(donors)))
    start, end = rng.choice(donor.values) if donor.values else (0, 0)
    return donor.data[start:end]


def _flipped(rng: random.Random, data: bytes, _: Sequence[Specimen]) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _cut(rng: random.Random, data: bytes, _: Sequence[Specimen]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.8 else data[at:]


def _shortened(rng: random.Random, data: bytes, _: Sequence[Specimen]) -> bytes:
    start, end = _range(rng, data)
    return data[:start] + data[end:]


def _twice(rng: random.Random, data: bytes, _: Sequence[Specimen]) -> bytes:
    start, end = _range(rng, data)
    return data[:end] + data[start:]


def _spliced(rng: random.Random, data: bytes, donors: Sequence[Specimen]) -> bytes:
    donor = rng.choice(donors).data
    start, end = _range(rng, donor)
    at = rng.randrange(len(data) + 1)
    return data[:at] + donor[start:end] + data[at + rng.randrange(2) * (end - start) :]


def _pierced(rng: random.Random, data: bytes, _: Sequence[Specimen]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(BYTES) + data[at + rng.randrange(3) :]


def _recounted(rng: random.Random, data: bytes, _: Sequence[Specimen]) -> bytes:
    digits = [found.start() for found in _DIGIT.finditer(data)]
    if not digits:
        return data
    at = rng.choice(digits)
    return data[:at] + str(rng.choice((0, 1, 9, 10**18))).encode() + data[at + 1 :]


def _range(rng: random.Random, data: bytes) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 3, 20, 200)))


_WAYS = (_flipped, _cut, _shortened, _twice, _spliced, _pierced, _recounted)
