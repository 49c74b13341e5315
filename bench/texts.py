"""Conversations of varied text, the same in every run."""

from __future__ import annotations

import json
import random
from functools import cache

__all__ = ["ASCII", "MIXED", "conversation", "exchanges"]

ASCII: tuple[str, ...] = ("",)
MIXED: tuple[str, ...] = ("café ", "naïve — ", "東京 ", "🙂 ")


def conversation(turns: int, others: tuple[str, ...] = ASCII) -> list[bytes]:
    """Questions of about 200 bytes and answers of about 800, as Chat Completions messages."""
    dice = random.Random(turns)
    words = [
        "".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randint(2, 9)))
        for _ in range(999)
    ]
    messages = []
    for _ in range(turns):
        for role, size in (("user", 200), ("assistant", 800)):
            text = ""
            while len(text) < size:
                text += dice.choice(words) + " "
                if dice.random() < 0.05:
                    text += dice.choice(others)
            said = {"role": role, "content": text[:size]}
            messages.append(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode())
    return messages


@cache
def exchanges(turns: int) -> list[tuple[str, str]]:
    """What is asked and answered in a conversation, as text."""
    said = [json.loads(message)["content"] for message in conversation(turns)]
    return [*zip(said[::2], said[1::2], strict=True)]
