"""What each wire format refuses, as data: a sentence, a check, and an example of both answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .anthropic import MESSAGES
from .gemini import GENERATE
from .openai_chat import CHAT
from .openai_responses import RESPONSES
from .rule import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .rule import Rule, Rulebook

__all__ = ["RULEBOOKS", "examples", "table"]

RULEBOOKS: Mapping[str, Rulebook] = {
    book.wire_format: book for book in (CHAT, RESPONSES, MESSAGES, GENERATE)
}
"""The rules of each wire format, by the name of the dialect that speaks it."""


def examples() -> Iterator[tuple[Rulebook, Rule]]:
    """Give every rule with the book that it is in."""
    return ((book, rule) for book in RULEBOOKS.values() for rule in book.rules)


def table() -> str:
    """Tabulate all rules for the docs, each with what is refused."""
    lines: list[str] = []
    for name, book in RULEBOOKS.items():
        lines += [
            f"### {name}",
            "",
            "| what is demanded | refused | status |",
            "| --- | --- | --- |",
        ]
        for rule in book.rules:
            strict = " *(strict)*" if rule.strict else ""
            refused = in_words(rule.refused).replace("|", "\\|")
            lines.append(f"| {rule.says}{strict} | {refused} | {rule.status} |")
        lines.append("")
    return "\n".join(lines)
