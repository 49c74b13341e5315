"""Every built-in dialect keeps what `Dialect` promises, over real bytes of its provider.

The bytes are in ``tests/data/wire``: ``message_*.json`` (of Gemini ``content_*.json``),
``answer_*.json`` and ``*.sse``. What each is read as is tested beside the dialects; here it is
what must hold for all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hansard.dialects.registry import dialect
from hansard.testing import (
    AnswerSample,
    DialectConformance,
    DialectSamples,
    MessageSample,
    StreamSample,
)

if TYPE_CHECKING:
    from hansard.messages import Role

_ROLES: dict[str, Role] = {"answer_compaction": "user"}
"""A compacted conversation begins with what the user said."""

_WIRE = Path(__file__).parent.parent / "data" / "wire"


def samples(provider: str) -> DialectSamples:
    """Load the samples of a provider."""

    def load(pattern: str) -> dict[str, bytes]:
        return {path.stem: path.read_bytes() for path in sorted((_WIRE / provider).glob(pattern))}

    return DialectSamples(
        messages=tuple(
            [
                MessageSample(raw=raw, name=name)
                for pattern in ("message_*.json", "content_*.json")
                for name, raw in load(pattern).items()
            ]
        ),
        answers=tuple(
            [
                AnswerSample(
                    body=body, role=_ROLES.get(name, "assistant"), problems=None, name=name
                )
                for name, body in load("answer_*.json").items()
            ]
        ),
        streams=tuple(
            [
                StreamSample(body=body, problems=None, name=name)
                for name, body in load("*.sse").items()
            ]
        ),
    )


class TestOpenAIChat(DialectConformance):
    """Chat Completions."""

    dialect = dialect("openai")
    samples = samples("openai_chat")


class TestOpenAIResponses(DialectConformance):
    """Responses."""

    dialect = dialect("openai-responses")
    samples = samples("openai_responses")


class TestAnthropic(DialectConformance):
    """Messages."""

    dialect = dialect("anthropic")
    samples = samples("anthropic")


class TestGemini(DialectConformance):
    """generateContent."""

    dialect = dialect("gemini")
    samples = samples("gemini")
