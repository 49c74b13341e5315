"""What was cut out of pages and put back in is as if it had never been away."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hansard import rawjson
from hansard.errors import DecodeError
from hansard.record.bodies import Cutter, digests_in, filled
from hansard.record.pages import Page
from tests.property.strategies import json_arrays, string_literals

LIMIT = 12
MINE, YOURS = Cutter.of("me", LIMIT), Cutter.of("you", LIMIT)
META = b'[{"kind":"m"}]\n[]\n[]\n[]'


def stands_for(inside: bytes, cutter: Cutter = MINE) -> bytes:
    """The literal that stands for a body."""
    digest = blake2b(inside, digest_size=32, key=cutter.key).digest()
    return b'"~hansard-body:' + digest.hex().encode() + b'"'


LONG = string_literals(units_max=40)
ODD = st.one_of(
    LONG,
    LONG.map(lambda literal: stands_for(literal[1:-1])),
    LONG.map(lambda literal: rawjson.quote(stands_for(literal[1:-1]).decode())),
    LONG.map(lambda literal: b'{"\\\\":' + stands_for(stands_for(literal)[1:-1]) + b"}"),
    st.just(b'"\\\\"'),
    st.integers(0, 40).map(lambda count: b"[" + b"1," * count + b"1]"),
)
PARTS = st.lists(st.one_of(ODD, json_arrays().map(rawjson.compact)), max_size=8).map(b",".join)
PAGES = st.builds(
    lambda entries, body: Page(0, 4, b"[%b]\n[]\n[]\n[]" % entries, body), PARTS, PARTS
)


@given(PAGES)
def test_filling_is_the_inverse_of_cutting(page: Page) -> None:
    cut, bodies = MINE.cut(page)

    assert filled(cut, bodies) == page
    assert digests_in(cut) == [*cut.bodies] == [*bodies]


@given(PAGES)
def test_nothing_long_is_left_but_what_stands_for_it(page: Page) -> None:
    cut, bodies = MINE.cut(page)

    assert all([len(body) >= LIMIT for body in bodies.values()])
    left = rawjson.compact(b"[%b,%b]" % (cut.meta.partition(b"\n")[0], b"[%b]" % cut.body))
    for literal in literals(left):
        assert len(literal) < LIMIT + 2 or literal in {
            b'"~hansard-body:' + digest.hex().encode() + b'"' for digest in bodies
        }


@given(PAGES)
def test_what_is_cut_twice_is_filled_twice(page: Page) -> None:
    """As if a conversation was about what a database holds."""
    once, inner = MINE.cut(page)
    twice, outer = MINE.cut(replace(once, bodies=()))

    assert filled(replace(filled(twice, outer), bodies=once.bodies), inner) == page


@given(PAGES)
def test_bodies_of_different_owners_do_not_meet(page: Page) -> None:
    (mine, my_bodies), (yours, your_bodies) = MINE.cut(page), YOURS.cut(page)

    assert not {*my_bodies} & {*your_bodies}
    assert [*my_bodies.values()] == [*your_bodies.values()]
    assert filled(mine, {**my_bodies, **your_bodies}) == filled(yours, your_bodies) == page


def literals(raw: bytes) -> list[bytes]:
    """All string literals of a JSON text, keys too."""
    if raw.startswith(b'"'):
        return [raw]
    if raw.startswith(b"["):
        return [each for part in rawjson.elements(raw) for each in literals(part)]
    if raw.startswith(b"{"):
        inside = rawjson._split(raw)  # noqa: SLF001 -- keys as they are spelled
        return [each for part in inside for each in literals(part)]
    return []


# -- by example ----------------------------------------------------------------------------------


def test_equal_bodies_are_one() -> None:
    page = Page(0, 4, META, b'{"a":"%b","b":["%b","x"]}' % (b"x" * LIMIT, b"x" * LIMIT))
    cut, bodies = MINE.cut(page)

    assert [*bodies.values()] == [b"x" * LIMIT]
    assert cut.body == b'{"a":%b,"b":[%b,"x"]}' % ((stands_for(b"x" * LIMIT),) * 2)


def test_what_is_not_long_is_the_very_same_page() -> None:
    page = Page(0, 4, META, b'{"a":"%b"}' % (b"x" * (LIMIT - 1)))

    assert MINE.cut(page)[0] is page
    assert filled(page, {}) is page


def test_a_page_that_stands_alone_is_not_cut() -> None:
    page = Page(0, 4, META, b'"%b"' % (b"x" * LIMIT), alone=True)

    assert MINE.cut(page) == (page, {})


def test_what_stands_beside_the_messages_is_not_cut() -> None:
    meta = b'[]\n[]\n[[0,"%b"]]\n[]' % (b"x" * LIMIT)
    cut, _ = MINE.cut(Page(0, 4, meta, b'"%b"' % (b"x" * LIMIT)))

    assert cut.meta == meta
    assert cut.commit_at(0) == "x" * LIMIT


def test_a_body_that_is_missing_is_an_error() -> None:
    cut, _ = MINE.cut(Page(0, 4, META, b'"%b"' % (b"x" * LIMIT)))

    with pytest.raises(DecodeError, match=r"expected the body [0-9a-f]{64} of the page") as failed:
        filled(cut, {})
    assert failed.value.reason == "missing_body"


def test_what_looks_like_a_body_in_a_page_that_has_none_is_left_alone() -> None:
    page = Page(0, 4, META, stands_for(b"x"))

    assert filled(page, {}) is page
