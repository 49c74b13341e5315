"""What a turn is run by: the tools, and how far to go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..tools.policies import Policy
from ..tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..messages import ToolCall

__all__ = ["Rules"]


class Rules(msgspec.Struct, frozen=True):
    """How a turn is run. It may be another one each time the same turn goes on.

    ``rounds_max`` bounds the calls of the model that have valid answers, ``retries`` how often an
    invalid answer is asked for again, ``concurrent_max`` how many tools run at once. Without
    ``run_tools`` all calls are the caller's to answer. ``transactions`` says that the writes of a
    tool and its outcome can be committed together here; where they cannot, a ``transactional``
    tool is one that runs ``once``. ``to_settle`` are calls that may have run, by answer and
    position, of which nobody but a person can say more while these rules hold.
    """

    tools: Mapping[str, Tool] = msgspec.field(default_factory=dict)
    default_policy: Policy = "once"
    rounds_max: int = 10
    retries: int = 2
    concurrent_max: int = 8
    run_tools: bool = True
    transactions: bool = False
    to_settle: frozenset[tuple[int, int]] = frozenset()

    def policy(self, tool: Tool) -> Policy:
        """What happens to a tool's calls after a crash."""
        policy = tool.policy or self.default_policy
        return "once" if policy == "transactional" and not self.transactions else policy

    def left_to_people(self, answer: int, call: ToolCall) -> Rules:
        """These rules, where a tool could not say what became of a call: then a person has to."""
        to_settle = self.to_settle | {(answer, call.position)}
        return msgspec.structs.replace(self, to_settle=to_settle)
