"""What the turns of `turn_overhead` have in common, whoever runs them."""

from __future__ import annotations

import json
from typing import NamedTuple

__all__ = [
    "ANSWER",
    "ARGUMENTS",
    "QUESTION",
    "WORD",
    "Task",
    "bodies",
    "get_weather",
    "get_weather_later",
    "pieces",
    "whole",
]

QUESTION = "where was I " * 16
ANSWER = "you were in the theatre " * 33
WORD = " word"
ARGUMENTS = '{"city":"Tokyo"}'


class Task(NamedTuple):
    """What a turn is to have: earlier turns, rounds of tools, and chunks, if it is streamed.

    With ``wire`` a peer reads the bytes of its answers too.
    """

    earlier: int
    rounds: int = 0
    chunks: int = 0
    wire: bool = False


def get_weather(city: str) -> str:  # noqa: ARG001 - it is the same everywhere
    """The weather in a city."""
    return "sunny"


async def get_weather_later(city: str) -> str:  # noqa: ARG001 - it is the same everywhere
    """The weather in a city."""
    return "sunny"


def whole(message: dict[str, object], finish: str) -> bytes:
    """The bytes of an answer that is not streamed."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    usage = {
        "prompt_tokens": 19,
        "completion_tokens": 10,
        "total_tokens": 29,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
    said = {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1741569952,
        "model": "gpt-5-mini",
        "choices": [choice],
        "usage": usage,
        "service_tier": "default",
    }
    return json.dumps(said, separators=(",", ":")).encode()


_CHUNK = (
    b'data: {"id":"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG","object":"chat.completion.chunk",'
    b'"created":1741570283,"model":"gpt-5-mini","service_tier":"default","system_fingerprint":'
    b'"fp_44709d6fcb","choices":[{"index":0,"delta":%b,"logprobs":null,"finish_reason":%b}],'
    b'"obfuscation":"pYhNDSgf8eQk"}\n\n'
)


def bodies(task: Task) -> list[bytes]:
    """The answers of one turn."""
    calls = [
        {"id": f"call_{n}", "type": "function"}
        | {"function": {"name": "get_weather", "arguments": ARGUMENTS}}
        for n in range(task.rounds)
    ]
    called = {"role": "assistant", "content": None, "refusal": None, "annotations": []}
    asked = [whole({**called, "tool_calls": [call]}, "tool_calls") for call in calls]
    return [*asked, whole({**called, "content": ANSWER}, "stop")]


def pieces(task: Task) -> list[bytes]:
    """The streamed answer of one turn, an event a piece."""
    return [
        _CHUNK % (b'{"role":"assistant","content":"","refusal":null}', b"null"),
        *[_CHUNK % (json.dumps({"content": WORD}).encode(), b"null")] * task.chunks,
        _CHUNK % (b"{}", b'"stop"'),
        b"data: [DONE]\n\n",
    ]
