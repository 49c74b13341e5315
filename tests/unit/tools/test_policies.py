"""What happens to a call after a crash."""

from __future__ import annotations

import pytest

from hansard.errors import Invalid
from hansard.tools.policies import DEFAULT_POLICY, POLICIES, check_policy, needs_intent


def test_whoever_declares_nothing_never_does_a_thing_twice() -> None:
    assert DEFAULT_POLICY == "once"


def test_calls_that_may_run_again_need_no_intent() -> None:
    assert [policy for policy in POLICIES if needs_intent(policy)] == ["transactional", "once"]


@pytest.mark.parametrize("policy", ["", "Once", "never", "onc"])
def test_what_is_no_policy_is_refused_with_those_that_there_are(policy: str) -> None:
    with pytest.raises(Invalid, match="one of reads, keyed, transactional, once, found"):
        check_policy(policy)


def test_every_policy_is_one() -> None:
    for policy in POLICIES:
        check_policy(policy)
