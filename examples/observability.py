"""What a conversation costs, and what its tools do: for those who run it.

Observers are told of every step, with numbers and without content: what they write down or log can
be kept and shared, whatever has been said. What tools report for people comes apart from that, by
``on_action=`` as it happens and in ``reply.actions``.

Run it with the name of a model (``openai:gpt-5-mini``), or without one for a script.
"""

from __future__ import annotations

import logging
import sys

from hansard import Chat, Model, ModelCalled, Observation, ToolContext, ToolRan, Usage, tool
from hansard.testing import ScriptedModel, call, empty, say

LOG = logging.getLogger("lighthouse")


class Ledger:
    """An observer that adds up, by model and by tool, what it is told."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[int, int, Usage, float]] = {}

    def __call__(self, seen: Observation) -> None:
        """Count a step. A turn is none: its parts are."""
        if isinstance(seen, ModelCalled):
            self._add(seen.model, bool(seen.error), seen.usage or Usage(), seen.duration_s)
        elif isinstance(seen, ToolRan):
            self._add(f"{seen.name}()", seen.status != "ok", Usage(), seen.duration_s)

    def _add(self, name: str, failed: bool, usage: Usage, duration_s: float) -> None:  # noqa: FBT001
        calls, failures, used, took_s = self.rows.get(name, (0, 0, Usage(), 0.0))
        self.rows[name] = (calls + 1, failures + failed, used + usage, took_s + duration_s)

    def __str__(self) -> str:
        width = max(map(len, self.rows), default=0)
        lines = [f"{'':<{width}}{'calls':>7}{'failed':>8}{'tokens in':>11}{'out':>6}{'ms':>9}"]
        for name, (calls, failed, used, took_s) in self.rows.items():
            tokens = f"{used.input_tokens or '':>11}{used.output_tokens or '':>6}"
            lines.append(f"{name:<{width}}{calls:>7}{failed:>8}{tokens}{took_s * 1_000:>9.1f}")
        return "\n".join(lines)


def log(seen: Observation) -> None:
    """Log a step, in one line."""
    took_ms = seen.duration_s * 1_000
    if isinstance(seen, ModelCalled):
        ended = seen.error or seen.finish
        LOG.info("model %s: %d messages, %s, %.1f ms", seen.model, seen.messages, ended, took_ms)
    elif isinstance(seen, ToolRan):
        LOG.info("tool %s: %s, %.1f ms", seen.name, seen.status, took_ms)
    else:
        LOG.info(
            "turn %d: %s after %d rounds, %.1f ms", seen.turn, seen.status, seen.rounds, took_ms
        )


@tool(policy="reads")
def read_gauge(name: str) -> float:
    """Read a gauge of the lighthouse, in its own unit."""
    return {"wind": 21.5, "oil": 0.4}[name]


@tool
def light_lamp(context: ToolContext) -> str:
    """Light the lamp."""
    context.log("Lit the lamp")
    return "It burns."


def main(model: str | Model) -> Ledger:
    """Keep a lighthouse for two turns."""
    ledger = Ledger()
    with Chat(
        model,
        system="You keep a lighthouse. Be brief.",
        tools=[read_gauge, light_lamp],
        observers=[ledger, log],
        on_action=lambda action: print(f"  * {action}"),
    ) as chat:
        state = None
        for question in ("Is it stormy? What of the oil?", "Light the lamp, please."):
            print(f"> {question}")
            reply = chat.send(state, question)
            state = reply.state
            used, calls = reply.usage, len(reply.usages)
            print(f"{reply.text}\n  {used.total_tokens} tokens in {calls} calls of the model\n")
    print(ledger)
    return ledger


def script() -> ScriptedModel:
    """Give a model that misspells a gauge, and once says nothing at all."""
    first = say(
        calls=[call("read_gauge", name="wind"), call("read_gauge", name="oyl")],
        usage=Usage(input_tokens=90, output_tokens=30),
    )
    return ScriptedModel(
        first,
        say("A fresh wind. I cannot see the oil.", usage=Usage(input_tokens=140, output_tokens=12)),
        empty(usage=Usage(input_tokens=165, output_tokens=1)),
        say(calls=[call("light_lamp")], usage=Usage(input_tokens=165, output_tokens=10)),
        say("It burns.", usage=Usage(input_tokens=190, output_tokens=4)),
        name="keeper",
    )


if __name__ == "__main__":
    logging.basicConfig(format="  %(name)s: %(message)s")
    LOG.setLevel(logging.INFO)
    main(sys.argv[1] if sys.argv[1:] else script())
