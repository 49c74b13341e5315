"""Which entry may follow which, and what a turn leaves behind: two tables.

The record is always in one `Phase`. An entry is a `Step`; some kinds of entry are several steps,
depending on what they say. `NEXT` gives, for each phase, the steps that are legal and the phase
they lead to; whatever is not in it is refused. `KEEPS` says what the views contain of a turn.

The reader, the writer, the stores and the diagram in the docs all use these tables.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["KEEPS", "NEXT", "Keeps", "Phase", "Step", "TurnStatus"]

Phase: TypeAlias = Literal["idle", "asking", "calling", "answered"]
"""Between turns; the model is to be called; calls are pending; the turn can end."""

Step: TypeAlias = Literal[
    "begin",  # a turn starts
    "said",  # somebody other than the model said something
    "answer",  # a valid answer without calls
    "paused",  # a valid answer that the model wants back to go on with
    "calls",  # a valid answer with calls
    "invalid",  # an answer with problems
    "attempt",  # a call of the model that gave nothing
    "intent",  # a call is about to start
    "outcome",  # a call ended, others are pending
    "last_outcome",  # a call ended, and none is pending
    "late_outcome",  # the outcome of a call that has one, or whose turn is over
    "decision",  # somebody decided about a call
    "end",  # the turn is over
    "compaction",
    "mark",
    "rewind",
    "slice",
]

NEXT: dict[Phase, dict[Step, Phase]] = {
    "idle": {
        "begin": "asking",
        "said": "idle",
        "late_outcome": "idle",
        "compaction": "idle",
        "mark": "idle",
        "rewind": "idle",
        "slice": "idle",
    },
    "asking": {
        "said": "asking",
        "answer": "answered",
        "paused": "asking",
        "calls": "calling",
        "invalid": "asking",
        "attempt": "asking",
        "late_outcome": "asking",
        "compaction": "asking",
        "end": "idle",
        "slice": "asking",
    },
    "calling": {
        "said": "calling",
        "intent": "calling",
        "outcome": "calling",
        "last_outcome": "asking",
        "late_outcome": "calling",
        "decision": "calling",
        "end": "idle",
        "slice": "calling",
    },
    "answered": {
        "said": "answered",
        "late_outcome": "answered",
        "end": "idle",
        "slice": "answered",
    },
}

TurnStatus: TypeAlias = Literal["open", "done", "failed", "abandoned"]
Keeps: TypeAlias = Literal["all", "appended"]
"""All valid messages and the results of calls, or only what was appended meanwhile."""

KEEPS: dict[tuple[TurnStatus, bool], Keeps] = {
    ("open", False): "all",
    ("open", True): "all",
    ("done", True): "all",
    ("failed", True): "all",
    ("failed", False): "appended",
    ("abandoned", True): "all",
    ("abandoned", False): "appended",
}
"""What the context and the curated history contain of a turn: by its status, and by whether the
model has given it a valid answer. Invalid answers are in neither, ever; the comprehensive
history has every message. Calls that are pending when a turn ends are answered as interrupted.
A turn cannot be done without a valid answer."""
