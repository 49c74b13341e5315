"""Hypothesis strategies for JSON as it is spelled on wires: made as text, so that spelling varies.

`json_documents` is the widest. `json_objects` and `json_arrays` have that shape outermost,
`string_literals` are strings in every spelling. All of them give bytes, as a socket would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

ANY_TEXT = st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=20)
"""Every Python string, with lone surrogates too."""

SPACES = st.text(alphabet=" \t\r\n", max_size=3)

NUMBERS = st.one_of(
    st.sampled_from(
        [
            *["0", "-0", "-0.0", "1e5", "1E+5", "1.50", "1e-7", "1e400", "-1E400", "1e-400"],
            *["0e0", "0.1", "5E-324", "18446744073709551616", "9007199254740993"],
        ]
    ),
    st.from_regex(r"-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,3})?", fullmatch=True),
)

_PLAIN = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters='"\\')
_SHORT_ESCAPES = st.sampled_from(["\\" + mark for mark in '"\\/bfnrt'])
_HEX = st.integers(0, 0xFFFF)
_SURROGATES = st.integers(0xD800, 0xDFFF)


def _escape(code: int, upper: bool) -> str:
    return f"\\u{code:04X}" if upper else f"\\u{code:04x}"


ESCAPES = st.builds(_escape, st.one_of(_HEX, _SURROGATES, st.just(0x41)), st.booleans())
PAIRS = st.builds(
    lambda high, low: f"\\u{high:04x}\\u{low:04X}",
    st.integers(0xD800, 0xDBFF),
    st.integers(0xDC00, 0xDFFF),
)

STRING_UNITS = st.one_of(_PLAIN, _SHORT_ESCAPES, ESCAPES, PAIRS)
"""What a string literal is made of: a character, or one whole escape."""


def string_texts(*, units_max: int = 8) -> SearchStrategy[str]:
    """String literals as text."""
    units = st.lists(STRING_UNITS, max_size=units_max)
    return units.map(lambda found: '"' + "".join(found) + '"')


def string_literals(*, units_max: int = 8) -> SearchStrategy[bytes]:
    """String literals: raw characters, escapes short and long in either case, lone surrogates."""
    return string_texts(units_max=units_max).map(str.encode)


_KEYS = st.one_of(
    st.sampled_from(['"a"', '"b"', '"\\u0061"', '"role"', '"index"', '""', '"\\ud800"', '"\\/"']),
    string_texts(units_max=3),
)
"""Keys, drawn from few enough that they repeat, and that one key comes in two spellings."""

_SCALARS = st.one_of(NUMBERS, string_texts(), st.sampled_from(["true", "false", "null"]))


@st.composite
def _spaced(draw: st.DrawFn, tokens: Sequence[str]) -> str:
    return "".join([draw(SPACES) + token for token in tokens]) + draw(SPACES)


def _between(opening: str, items: Sequence[Sequence[str]], closing: str) -> list[str]:
    tokens = [opening]
    for position, item in enumerate(items):
        tokens += [",", *item] if position else item
    return [*tokens, closing]


def _arrays(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    items = st.lists(inner.map(lambda text: [text]), max_size=4)
    return items.flatmap(lambda found: _spaced(_between("[", found, "]")))


def _objects(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    member = st.builds(lambda key, text: [key, ":", text], _KEYS, inner)
    members = st.lists(member, max_size=4)
    return members.flatmap(lambda found: _spaced(_between("{", found, "}")))


def _nested(text: str, depth: int, brackets: str) -> str:
    for level in range(depth):
        text = f"[{text}]" if brackets[level % len(brackets)] == "[" else f'{{"a":{text}}}'
    return text


_TREES = st.recursive(
    _SCALARS, lambda inner: st.one_of(_arrays(inner), _objects(inner)), max_leaves=12
)
_DEEP = st.builds(
    _nested, _SCALARS, st.integers(20, 240), st.text(alphabet="[{", min_size=1, max_size=4)
)


def json_documents() -> SearchStrategy[bytes]:
    """Any JSON: odd numbers and escapes, white space anywhere, duplicate keys, deep nesting."""
    padded = _TREES.flatmap(lambda text: _spaced([text]))
    return st.one_of(padded, padded, padded, _DEEP).map(str.encode)


def json_objects() -> SearchStrategy[bytes]:
    """Any JSON object."""
    return _objects(_TREES).map(str.encode)


def json_arrays() -> SearchStrategy[bytes]:
    """Any JSON array."""
    return _arrays(_TREES).map(str.encode)


@st.composite
def broken_documents(draw: st.DrawFn) -> bytes:
    """JSON with a few bytes changed: mostly no JSON any more, sometimes still."""
    document = bytearray(draw(json_documents()))
    for _ in range(draw(st.integers(1, 3))):
        position = draw(st.integers(0, len(document)))
        piece = draw(st.sampled_from(_SPLINTERS))
        document[position : position + draw(st.integers(0, 2))] = piece
    return bytes(document)


_SPLINTERS = [
    *[bytes([byte]) for byte in b'{}[]:,"\\ud8eE+-.019 \n\x00\x1f\x0c\x7f\x80\xc3\xed'],
    *[b"", b"\\u", b"\\ud800", b"NaN", b"-Infinity", b"nul", b"\xef\xbb\xbf", b"\xed\xa0\x80"],
]


@st.composite
def objects_with_unknown_fields(draw: st.DrawFn, known: bytes) -> bytes:
    """The compact object ``known`` with more members at its end, whose names begin with ``zz_``."""
    names = draw(st.lists(st.from_regex(r"zz_[a-z]{1,4}", fullmatch=True), min_size=1, max_size=3))
    more = [b'"' + name.encode() + b'":' + draw(_TREES).encode() for name in names]
    inside = known[1:-1]
    return b"{" + b",".join([inside, *more] if inside else more) + b"}"


@st.composite
def cuttings(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """``data`` in pieces; joined they are ``data`` again."""
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
