"""What happens to a call after a crash, when its outcome is not on the record.

| policy | |
| --- | --- |
| `reads` | run (again): it changes nothing |
| `keyed` | run (again), with the same ``context.idempotency_key`` |
| `transactional` | its writes, through ``context.transaction``, and its outcome commit together |
| `once` | not started: run. Started: never again, until somebody says what became of it |
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from ..errors import Invalid

__all__ = [
    "DEFAULT_POLICY",
    "POLICIES",
    "Policy",
    "check_policy",
    "may_be_left",
    "needs_intent",
    "runs_again",
]

Policy: TypeAlias = Literal["reads", "keyed", "transactional", "once"]

POLICIES: tuple[Policy, ...] = get_args(Policy)

DEFAULT_POLICY: Policy = "once"
"""For whoever declares nothing: the one that never does a thing twice."""


def needs_intent(policy: Policy) -> bool:
    """Whether the record must say that a call is about to start, before it does."""
    return policy in ("once", "transactional")


def runs_again(policy: Policy) -> bool:
    """Whether a call that may have run can simply be run again: what it did counts once."""
    return policy != "once"


def may_be_left(policy: Policy) -> bool:
    """Whether a run that did not end is over for the model: it changes nothing if it still does.

    What a transactional one has written is taken back.
    """
    return policy in ("reads", "transactional")


def check_policy(policy: str) -> None:
    """Raise `Invalid` for what is no policy."""
    if policy not in POLICIES:
        raise Invalid(f"expected policy= one of {', '.join(POLICIES)}, found {policy!r}")
