"""Whether to try again, and after what pause, is decided without any clock or chance."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hansard.errors import (
    ContextOverflow,
    NotAuthorized,
    Overloaded,
    ProviderError,
    RateLimited,
    Unreachable,
)
from hansard.transports.retry import Backoff, may_pass, with_seconds

BUSY = Overloaded("busy", status=503)
CHANCES = st.floats(0, 1)


def test_pauses_double_up_to_the_longest_and_then_end() -> None:
    backoff = Backoff(retries=6, first_s=1.0, longest_s=8.0)
    pauses = [backoff.pause_s(BUSY, tried=tried, left_s=inf, chance=1.0) for tried in range(1, 9)]

    assert pauses == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0, None, None]


@given(chance=CHANCES, tried=st.integers(1, 10_000))
def test_chance_spreads_a_pause_from_nothing_to_its_bound(chance: float, tried: int) -> None:
    backoff = Backoff(retries=10_000)
    bound_s = backoff.pause_s(BUSY, tried=tried, left_s=inf, chance=1.0)

    assert bound_s is not None
    assert bound_s <= backoff.longest_s
    assert backoff.pause_s(BUSY, tried=tried, left_s=inf, chance=chance) == chance * bound_s


@given(
    asked_s=st.none() | st.floats(0, 1e9),
    left_s=st.floats(0, 1e9),
    tried=st.integers(1, 5),
    chance=CHANCES,
)
def test_no_pause_is_shorter_than_asked_for_or_longer_than_what_is_left(
    asked_s: float | None, left_s: float, tried: int, chance: float
) -> None:
    failure = RateLimited("slower", status=429, retry_after_s=asked_s)
    pause_s = Backoff().pause_s(failure, tried=tried, left_s=left_s, chance=chance)

    if pause_s is not None:
        assert (asked_s or 0.0) <= pause_s < left_s
        assert pause_s <= 60.0
        assert tried <= 2


@pytest.mark.parametrize(
    ("failure", "passes"),
    [
        (Unreachable("nobody"), True),
        (RateLimited("slower", status=429), True),
        (NotAuthorized("no money left", status=429), False),
        (Overloaded("busy", status=500), True),
        (Overloaded("its code says so", status=400), False),
        (RateLimited("its code says so", status=403), False),
        (Overloaded("in an answer of 200", status=200), True),
        (Overloaded("without a status"), True),
        (ContextOverflow("too long", status=500), False),
        (ProviderError("gave up", status=408), True),
        (ProviderError("met another", status=409), True),
        (ProviderError("too early", status=425), True),
        (ProviderError("no such model", status=404), False),
        (ProviderError("odd"), False),
    ],
    ids=repr,
)
def test_what_may_pass_by_itself(failure: ProviderError, passes: bool) -> None:
    assert may_pass(failure) is passes
    assert may_pass(failure, {"x-should-retry": "true"}) is True
    assert may_pass(failure, {"x-should-retry": "false"}) is False
    assert may_pass(failure, {"x-should-retry": "perhaps"}) is passes


@given(st.dictionaries(st.sampled_from(["Retry-After", "Date", "date", "x"]), st.text()))
def test_any_headers_are_taken(headers: dict[str, str]) -> None:
    found = with_seconds(headers, now_s=0.0)

    assert set(found) == {name.lower() for name in headers}


@pytest.mark.parametrize(
    "date",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
    ],
)
def test_each_spelling_of_an_http_date_is_understood(date: str) -> None:
    assert with_seconds({"Retry-After": date}, now_s=784_111_770.0)["retry-after"] == "7.000"
