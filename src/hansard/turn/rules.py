"""What a turn is run by: the tools, and how far to go."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import msgspec

from ..tools.policies import Policy
from ..tools.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Rules"]


class Rules(msgspec.Struct, frozen=True):
    """How a turn is run. It may be another one each time the same turn goes on.

    ``rounds_max`` bounds the calls of the model that have valid answers, ``retries`` how often an
    invalid answer is asked for again, ``concurrent_max`` how many tools run at once. Without
    ``run_tools`` all calls are the caller's to answer. ``transactions`` says that the writes of a
    tool and its outcome can be committed together here; where they cannot, a ``transactional``
    tool is one that runs ``once``.
    """

    tools: Mapping[str, Tool] = msgspec.field(default_factory=dict)
    default_policy: Policy = "once"
    rounds_max: int = 10
    retries: int = 2
    concurrent_max: int = 8
    run_tools: bool = True
    transactions: bool = False

    def policy(self, tool: Tool) -> Policy:
        """What happens to a tool's calls after a crash."""
        policy = tool.policy or self.default_policy
        return "once" if policy == "transactional" and not self.transactions else policy

    def left_to_people(self, tool: Tool) -> Rules:
        """These rules, where a tool could not say what became of a call: then a person has to."""
        tools = {**self.tools, tool.name: dataclasses.replace(tool, on_unknown=None)}
        return msgspec.structs.replace(self, tools=tools)
